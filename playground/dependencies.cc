#include "dependencies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace chimera::playground {
namespace {

// Kinds of results that others wait for. A whole backward gives a gradient and
// a weight gradient.
enum Kind {
  kForward,
  kRecomputed,
  kGradient,
  kWeights,
  kActivationSent,
  kGradientSent
};

// (kind, step, stage, micro, part); a micro-batch goes through one pipe.
using Key = std::tuple<int, int, int, int, int>;

class Needs {
 public:
  Needs(const Schedule& lowered, const Trace& trace)
      : schedule_(lowered), events_(trace.events) {
    for (int i = 0; i < static_cast<int>(events_.size()); ++i) note(i);
  }

  [[nodiscard]] std::vector<int> of(int index) {
    needs_.clear();
    const Event& event = events_[index];
    switch (event.action.op) {
      case Op::kF:
        add_input(event, -1);
        break;
      case Op::kB:
      case Op::kI:
        add_input(event, +1);
        if (!add(kRecomputed, event)) add(kForward, event);
        break;
      case Op::kW:
        add(kGradient, event);
        break;
      case Op::kR:
        add(kForward, event);
        if (event.action.peer != kNone) add_input(event, +1);
        break;
      case Op::kSF:
        add(kForward, event);
        break;
      case Op::kSB:
        add(kGradient, event);
        break;
      case Op::kG:
        add_contributions(event);
        break;
      case Op::kU:
        add_sums(event);
        break;
      default:
        break;
    }
    return needs_;
  }

 private:
  static int part_of(Kind kind, const Action& action) {
    const bool has_parts =
        kind == kGradient || kind == kWeights || kind == kGradientSent;
    return has_parts ? action.part : 0;
  }
  static Key key(Kind kind, const Event& event, int stage) {
    return {kind, event.step, stage, event.action.micro,
            part_of(kind, event.action)};
  }

  void note(int index) {
    const Event& event = events_[index];
    const Op op = event.action.op;
    const auto made = [&](Kind kind) {
      made_[key(kind, event, event.action.stage)] = index;
    };
    if (op == Op::kF) made(kForward);
    if (op == Op::kR) made(kRecomputed);
    if (gives_gradient(op)) made(kGradient);
    if (gives_weight_gradient(op)) {
      made(kWeights);
      note_last(index);
    }
    if (op == Op::kSF) made(kActivationSent);
    if (op == Op::kSB) made(kGradientSent);
    if (op == Op::kG) {
      sums_[{event.worker, event.step, event.action.micro}].push_back(index);
    }
    if (op == Op::kN) votes_[{event.worker, event.step}] = index;
  }

  // Keeps the latest contribution of a stage to its sum.
  void note_last(int index) {
    const Event& event = events_[index];
    const auto [place, is_new] = last_.insert(
        {{event.step, event.action.pipe, event.action.stage}, index});
    if (!is_new && events_[place->second].end < event.end) {
      place->second = index;
    }
  }

  bool add(Kind kind, const Event& event, int stage) {
    const auto found = made_.find(key(kind, event, stage));
    if (found == made_.end()) return false;
    needs_.push_back(found->second);
    return true;
  }
  bool add(Kind kind, const Event& event) {
    return add(kind, event, event.action.stage);
  }

  // What comes from the stage before (-1) or after (+1): a message, or the
  // compute itself if both stages are on one worker.
  void add_input(const Event& event, int direction) {
    const int other = event.action.stage + direction;
    if (other < 0 || other >= schedule_.stages()) return;
    const bool forwards = direction < 0;
    if (!add(forwards ? kActivationSent : kGradientSent, event, other)) {
      add(forwards ? kForward : kGradient, event, other);
    }
  }

  void add_last(int step, const Member& member) {
    const auto found = last_.find({step, member.pipe, member.stage});
    if (found != last_.end()) needs_.push_back(found->second);
  }

  void add_contributions(const Event& event) {
    for (const Member& member : schedule_.groups[event.action.group].members) {
      if (event.action.micro == kNone) {
        add_last(event.step, member);
      } else {
        add(kWeights, event, member.stage);
      }
    }
  }

  void add_sums(const Event& event) {
    const Action& action = event.action;
    bool is_summed = false;
    for (const int sum : sums_[{event.worker, event.step, action.micro}]) {
      const SumGroup& group = schedule_.groups[events_[sum].action.group];
      is_summed |= std::any_of(group.members.begin(), group.members.end(),
                               [&](const Member& member) {
                                 if (member.stage != action.stage) return false;
                                 needs_.push_back(sum);
                                 return true;
                               });
    }
    if (!is_summed && action.micro != kNone) add(kWeights, event);
    if (!is_summed && action.micro == kNone) {
      for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
        if (schedule_.placement.worker(pipe, action.stage) == event.worker) {
          add_last(event.step, {pipe, action.stage});
        }
      }
    }
    const auto vote = votes_.find({event.worker, event.step});
    if (vote != votes_.end()) needs_.push_back(vote->second);
  }

  const Schedule& schedule_;
  const std::vector<Event>& events_;
  std::map<Key, int> made_;
  std::map<std::tuple<int, int, int>, int> last_;  // (step, pipe, stage)
  // (worker, step, micro)
  std::map<std::tuple<int, int, int>, std::vector<int>> sums_;
  std::map<std::pair<int, int>, int> votes_;  // (worker, step)
  std::vector<int> needs_;
};

}  // namespace

std::vector<std::vector<int>> direct_needs(const Schedule& lowered,
                                           const Trace& trace) {
  Needs needs(lowered, trace);
  std::vector<std::vector<int>> all;
  all.reserve(trace.events.size());
  for (int i = 0; i < static_cast<int>(trace.events.size()); ++i) {
    all.push_back(needs.of(i));
  }
  return all;
}

}  // namespace chimera::playground
