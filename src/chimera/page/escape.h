// Makes untrusted text (configs, host names, paths) safe for a page, so that
// none of it can be taken for markup or script.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

// Text for HTML, between tags or inside a quoted attribute. Bytes that are not
// UTF-8, and control characters other than line ends and tabs, become U+FFFD.
[[nodiscard]] std::string html_text(std::string_view text);

// A JSON string that may be placed inside a <script> element: besides what JSON
// requires, < > & and the line separators of JavaScript are escaped. Bytes that
// are not UTF-8 become U+FFFD.
[[nodiscard]] std::string script_string(std::string_view text);

}  // namespace chimera
