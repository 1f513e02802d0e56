// Dense numbers for the values that pass between stages: the activation of
// (stage, micro) and the gradient of (stage, micro, part). A micro-batch goes
// through one pipe, so the pipe is not part of the number.
#pragma once

#include <cstddef>
#include <limits>

#include "chimera/schedule/schedule.h"

namespace chimera {

class MicroIndex {
 public:
  static constexpr size_t kNothing = std::numeric_limits<size_t>::max();

  explicit MicroIndex(const Schedule& schedule)
      : stages_(schedule.stages()),
        micros_(schedule.micros),
        parts_(schedule.parts) {}

  // The number of values.
  [[nodiscard]] size_t size() const { return cells() * (1 + parts_); }
  // The number of (stage, micro) pairs, which are called cells.
  [[nodiscard]] size_t cells() const {
    return static_cast<size_t>(stages_) * micros_;
  }
  [[nodiscard]] size_t cell(int stage, int micro) const {
    return static_cast<size_t>(stage) * micros_ + micro;
  }
  [[nodiscard]] size_t activation(int stage, int micro) const {
    return cell(stage, micro);
  }
  [[nodiscard]] size_t gradient(int stage, int micro, int part) const {
    return cells() + cell(stage, micro) * parts_ + part;
  }

  // The value that a compute action produces for a neighbouring stage, and the
  // one it needs from a neighbour; kNothing if there is none. The last stage's
  // backward needs only its forward, which its worker's list ensures. R needs
  // the gradient only if it names the gradient's sender.
  [[nodiscard]] size_t made_by(const Action& action) const {
    if (action.op == Op::kF) return activation(action.stage, action.micro);
    if (!gives_gradient(action.op)) return kNothing;
    return gradient(action.stage, action.micro, action.part);
  }
  [[nodiscard]] size_t needed_by(const Action& action) const {
    if (action.op == Op::kF && action.stage > 0) {
      return activation(action.stage - 1, action.micro);
    }
    const bool takes_gradient = gives_gradient(action.op) ||
                                (action.op == Op::kR && action.peer != kNone);
    if (takes_gradient && action.stage + 1 < stages_) {
      return gradient(action.stage + 1, action.micro, action.part);
    }
    return kNothing;
  }

 private:
  int stages_;
  int micros_;
  int parts_;
};

}  // namespace chimera
