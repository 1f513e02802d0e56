// The few SVG elements a chart consists of; each function appends one to a
// string.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

// A rectangle by its edges rather than its size: boxes that touch still touch
// after their coordinates are rounded.
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

// A coordinate with at most two decimals: "12", "3.25".
[[nodiscard]] std::string coordinate(double value);

// Text made safe for XML text and attributes; bytes other than printable ASCII
// become '?', so that no title can break the file.
[[nodiscard]] std::string escape_xml(std::string_view text);

// Appends a rectangle. `fill` is a colour or a url; an empty tooltip is left
// out.
void append_rect(const Box& box, std::string_view fill,
                 std::string_view tool_tip, std::string* svg);

// Appends a text. `attributes`: further XML attributes, verbatim; may be empty.
void append_text(const Point& at, std::string_view text,
                 std::string_view attributes, std::string* svg);

void append_line(const Point& from, const Point& to, std::string* svg);

// The approximate width of a line of text in a sans-serif font.
[[nodiscard]] double text_width(std::string_view text, double font_size);

}  // namespace chimera
