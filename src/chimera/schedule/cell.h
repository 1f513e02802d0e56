// An action as a short word, in the sched and csv formats and in messages.
//
//   cell   := [number] op [micro] ["." part] ["@" pipe] [">" peer | "<" peer]
//             ["~" lag]
//   number := the stage; for G the group
//   op     := F B I W U R RF RB SF SB G N V
//   lag    := how many steps the action lags behind its round (-step)
//
// Fields that are 0 or absent are left out: 0F0, 3B2@1, 3B2.1@1, 1RF0<0,
// 0SF0>1, 2G, 3U, 0B1~3, N, V~1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chimera/schedule/action.h"

namespace chimera {

[[nodiscard]] std::string to_cell(const Action& action);

// Parses a cell. Returns nullopt if `text` is not a cell or a number does not
// fit its field. validate decides whether the fields make sense together.
[[nodiscard]] std::optional<Action> parse_cell(std::string_view text);

// The op of that name; nullopt if there is none.
[[nodiscard]] std::optional<Op> parse_op(std::string_view name);

}  // namespace chimera
