#include "chimera/exec/progress.h"

namespace chimera {
namespace {

const char* deed(Op op) {
  switch (op) {
    case Op::kF:
      return "forward";
    case Op::kB:
      return "backward";
    case Op::kI:
      return "input gradient";
    case Op::kW:
      return "weight gradient";
    case Op::kU:
      return "update";
    case Op::kR:
      return "recomputation";
    case Op::kRF:
      return "receive of an activation";
    case Op::kRB:
      return "receive of a gradient";
    case Op::kSF:
      return "send of an activation";
    case Op::kSB:
      return "send of a gradient";
    case Op::kG:
      return "gradient sum";
    case Op::kN:
      return "vote";
    case Op::kV:
      return "wait for the vote";
  }
  return "";
}

// The bit that marks an evaluation, whose steps and lists are not training's.
constexpr std::uint64_t kEvaluation = std::uint64_t{1} << 63;

}  // namespace

// Encodes positions from 1, so that 0 means "not started".
std::uint64_t encode(const Progress& progress) {
  const std::uint64_t step = static_cast<std::uint32_t>(progress.step);
  return (progress.training ? 0 : kEvaluation) | step << 32 |
         static_cast<std::uint32_t>(progress.position + 1);
}

int steps_before(std::uint64_t progress) {
  if ((progress & kEvaluation) == 0) return static_cast<int>(progress >> 32);
  return static_cast<int>(static_cast<std::uint32_t>(progress) - 1);
}

std::string describe(const Action& action) {
  std::string text = deed(action.op);
  if (action.group != kNone) {
    return text + " of group " + std::to_string(action.group);
  }
  if (action.stage != kNone)
    text += " of stage " + std::to_string(action.stage);
  if (action.micro != kNone) {
    text += ", micro-batch " + std::to_string(action.micro);
  }
  return text;
}

std::string describe_rank(const Schedule& schedule, int rank) {
  const RankPlace place = place_of(schedule, rank);
  std::string text = "worker " + std::to_string(place.worker);
  if (schedule.width > 1) text += " of copy " + std::to_string(place.copy);
  return text;
}

std::string describe_progress(const Schedule& schedule, int rank,
                              std::uint64_t progress) {
  if (progress == 0) return "before the first step";
  const std::uint64_t step = ((progress & ~kEvaluation) >> 32) + 1;
  if ((progress & kEvaluation) != 0) {
    return "evaluation, batch " + std::to_string(step);
  }
  if (static_cast<std::uint32_t>(progress) == 0) {
    return "after step " + std::to_string(step - 1);
  }
  const auto position = static_cast<std::uint32_t>(progress) - 1;
  const ActionList& list = schedule.actions[place_of(schedule, rank).worker];
  // The rank may walk a list other than `schedule`'s: it may train while this
  // rank evaluates, or run an order that was replanned.
  return "step " + std::to_string(step) + ", " +
         (position < list.size() ? describe(list[position])
                                 : "action " + std::to_string(position));
}

}  // namespace chimera
