#include "chimera/report/terminal.h"

#include <fmt/format.h>

namespace chimera {

std::string painted(std::string_view text, const Paint& paint) {
  return fmt::format("\x1b[38;5;{};48;5;{}m{}\x1b[0m",
                     terminal_colour(paint.ink), terminal_colour(paint.fill),
                     text);
}

std::string dimmed(std::string_view text) {
  constexpr int kMiddleGrey = 244;
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", kMiddleGrey, text);
}

}  // namespace chimera
