// The few SVG elements that a chart is made of, appended to a string.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

// Edges rather than sizes: what meets stays met after rounding.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

struct Point {
  double x = 0;
  double y = 0;
};

// With at most two decimals: "12", "3.25".
[[nodiscard]] std::string coordinate(double value);

// Fit for text and for attributes; bytes other than printable ASCII become
// '?', so that no title can break the file.
[[nodiscard]] std::string escape_xml(std::string_view text);

// `fill` is a colour or a url. A tool tip is added unless it is empty.
void append_rect(const Box& box, std::string_view fill,
                 std::string_view tool_tip, std::string* svg);

// `attributes`: more of them, as they stand in XML; may be empty.
void append_text(const Point& at, std::string_view text,
                 std::string_view attributes, std::string* svg);

void append_line(const Point& from, const Point& to, std::string* svg);

// About how wide a line of text is in a sans-serif font.
[[nodiscard]] double text_width(std::string_view text, double font_size);

}  // namespace chimera
