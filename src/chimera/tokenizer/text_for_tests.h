// Random text for property tests: letters, numbers, marks and spaces of many
// kinds close together.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "chimera/base/text.h"

namespace chimera {

inline rc::Gen<std::string> strange_text() {
  const auto code = rc::gen::weightedOneOf<char32_t>(
      {{6, rc::gen::element<char32_t>('a', 'b', 's', 'L', '1', '2', '\'', '.',
                                      '<', '|', 'e', 0x301, 0x327, 0xE9)},
       {6, rc::gen::element<char32_t>(' ', ' ', '\n', '\r', '\t', 0xA0, 0x85,
                                      0x2003, 0x3000, 0)},
       {3, rc::gen::element<char32_t>(0x4E2D, 0x1112, 0x1161, 0x11AB, 0xAC00,
                                      0x661, 0x17F, 0x130, 0x1F600, 0x200D)},
       {2, rc::gen::inRange<char32_t>(0, 0xD800)},
       {1, rc::gen::inRange<char32_t>(0xE000, 0x110000)}});
  return rc::gen::map(rc::gen::container<std::vector<char32_t>>(code),
                      [](const std::vector<char32_t>& codes) {
                        std::string text;
                        for (const char32_t c : codes) append_utf8(c, text);
                        return text;
                      });
}

}  // namespace chimera
