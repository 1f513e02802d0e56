// The actions of a schedule. An action has one meaning wherever it stands in a
// list; no flag elsewhere changes it.
#pragma once

#include <cstdint>
#include <string_view>

namespace chimera {

enum class Op : std::uint8_t {
  // Compute:
  kF,  // forward of a stage
  kB,  // whole backward (input half, then weight half)
  kI,  // input-gradient half of the backward
  kW,  // weight-gradient half of the backward
  // Update of a stage's weights: waits for the sums of its groups, and for the
  // vote if N stands before it in its list and the list has no V.
  kU,
  // Added by lowering:
  // Recompute a forward. Needs no gradient, so it may run early; if it names a
  // peer, it waits for the gradient from there (of part 0).
  kR,
  kRF,  // post the receive of an activation; never blocks
  kRB,  // post the receive of a gradient; never blocks
  kSF,  // send an activation; may block until the receive is posted
  kSB,  // send a gradient; may block until the receive is posted
  kG,   // start the gradient sum of a group
  kN,   // start the step's vote once this worker's sums are complete
  // Wait for the vote of the step before (its step is -1). If the vote asks for
  // another update, undo that step's updates, apply them again as voted, and
  // run the actions before V again.
  kV,
};
inline constexpr int kNumOps = 13;

inline constexpr int kNone = -1;

// One action. Fields that its op does not use hold kNone. A message names the
// stage at its own end: RF stage 1 receives what SF stage 0 sent.
struct Action {
  Op op = Op::kF;
  std::uint8_t part = 0;  // 0 or 1 in backward halving, else 0
  std::int16_t step = 0;  // step offset <= 0 relative to the round that runs it
  std::int32_t pipe = kNone;
  std::int32_t stage = kNone;
  std::int32_t micro = kNone;  // numbered over all pipes
  // RF RB SF SB: the worker at the other end; R: see kR.
  std::int32_t peer = kNone;
  std::int32_t group = kNone;  // G: index into Schedule::groups

  bool operator==(const Action&) const = default;
};

[[nodiscard]] std::string_view op_name(Op op);

[[nodiscard]] constexpr bool is_backward(Op op) {
  return op == Op::kB || op == Op::kI || op == Op::kW;
}
// True if the op produces the input gradient that the stage below waits for.
[[nodiscard]] constexpr bool gives_gradient(Op op) {
  return op == Op::kB || op == Op::kI;
}
// True if the op completes the weight gradient that the gradient sum waits for.
[[nodiscard]] constexpr bool gives_weight_gradient(Op op) {
  return op == Op::kB || op == Op::kW;
}
[[nodiscard]] constexpr bool is_receive(Op op) {
  return op == Op::kRF || op == Op::kRB;
}
[[nodiscard]] constexpr bool is_send(Op op) {
  return op == Op::kSF || op == Op::kSB;
}
[[nodiscard]] constexpr bool is_message(Op op) {
  return is_receive(op) || is_send(op);
}
// True if the op concerns the whole step, not a stage of a pipe.
[[nodiscard]] constexpr bool is_vote(Op op) {
  return op == Op::kN || op == Op::kV;
}
// True if the op occupies its worker for some time.
[[nodiscard]] constexpr bool is_compute(Op op) {
  return op == Op::kF || op == Op::kR || op == Op::kU || is_backward(op);
}

}  // namespace chimera
