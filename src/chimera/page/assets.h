// The files of assets/, which the build embeds into the library
// (cmake/EmbedAssets.cmake).
#pragma once

#include <string_view>

namespace chimera {

extern const std::string_view kPageFrame;   // page.html
extern const std::string_view kPageStyle;   // page.css
extern const std::string_view kPageScript;  // all *.js, in order of name

}  // namespace chimera
