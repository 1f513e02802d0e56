#include "chimera/report/svg_element.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "chimera/base/text.h"

namespace chimera {

namespace {

double snapped(double value) { return std::round(value * 100) / 100; }

}  // namespace

std::string coordinate(double value) { return number(snapped(value)); }

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c < 0x20 || c > 0x7e ? '?' : c;
    }
  }
  return out;
}

void append_rect(const Box& box, std::string_view fill,
                 std::string_view tool_tip, std::string* svg) {
  const double left = snapped(box.left);
  const double top = snapped(box.top);
  fmt::format_to(std::back_inserter(*svg),
                 R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}")",
                 coordinate(left), coordinate(top),
                 coordinate(snapped(box.right) - left),
                 coordinate(snapped(box.bottom) - top), fill);
  if (tool_tip.empty()) {
    *svg += "/>\n";
  } else {
    *svg += "><title>" + escape_xml(tool_tip) + "</title></rect>\n";
  }
}

void append_text(const Point& at, std::string_view text,
                 std::string_view attributes, std::string* svg) {
  fmt::format_to(std::back_inserter(*svg),
                 R"(<text x="{}" y="{}"{}{}>{}</text>)", coordinate(at.x),
                 coordinate(at.y), attributes.empty() ? "" : " ", attributes,
                 escape_xml(text));
  *svg += '\n';
}

void append_line(const Point& from, const Point& to, std::string* svg) {
  fmt::format_to(std::back_inserter(*svg),
                 R"(<line x1="{}" y1="{}" x2="{}" y2="{}"/>)",
                 coordinate(from.x), coordinate(from.y), coordinate(to.x),
                 coordinate(to.y));
  *svg += '\n';
}

double text_width(std::string_view text, double font_size) {
  return 0.57 * font_size * static_cast<double>(text.size());
}

}  // namespace chimera
