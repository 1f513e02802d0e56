#include "tests/brute_force_rules.h"

#include <algorithm>

namespace chimera::testing::brute_force {

bool updates_each_micro(const Schedule& s) { return s.scheme == "pipedream"; }
bool keeps_two_versions(const Schedule& s) {
  return s.scheme == "pipedream-2bw";
}
bool is_synchronous(const Schedule& s) {
  return !updates_each_micro(s) && !keeps_two_versions(s);
}

std::string describe(int worker, int step, const Action& a) {
  std::string text = "worker " + std::to_string(worker) + ", step " +
                     std::to_string(step) + ": " + std::string(op_name(a.op));
  const auto field = [&text](const char* name, int value) {
    if (value != kNone) text += std::string(name) + std::to_string(value);
  };
  field(" pipe ", a.pipe);
  field(" stage ", a.stage);
  field(" micro ", a.micro);
  if (a.part != 0) field(" part ", a.part);
  field(" peer ", a.peer);
  field(" group ", a.group);
  return text;
}

std::string describe(const Share& share) {
  return "stage " + std::to_string(share.stage) + " micro " +
         std::to_string(share.micro) + " part " + std::to_string(share.part);
}

void expect_once(const Tally& got, const std::set<Share>& want,
                 const std::string& what, Errors& errors) {
  for (const Share& share : want) {
    const auto found = got.find(share);
    const int count = found == got.end() ? 0 : found->second;
    if (count == 1) continue;
    errors.push_back(what + ": " + describe(share) + " is there " +
                     std::to_string(count) + " times");
  }
  for (const auto& [share, count] : got) {
    if (want.contains(share)) continue;
    errors.push_back(what + ": " + describe(share) + " does not belong there");
  }
}

std::set<Share> shares_of(const Schedule& s, int stage, int micro, int parts) {
  std::set<Share> shares;
  const int first = micro == kNone ? 0 : micro;
  const int last = micro == kNone ? s.micros - 1 : micro;
  for (int m = first; m <= last; ++m) {
    for (int part = 0; part < parts; ++part) shares.insert({stage, m, part});
  }
  return shares;
}

bool within(int value, int end) { return value >= 0 && value < end; }

int other_stage(const Action& a) {
  const bool up = a.op == Op::kSF || a.op == Op::kRB;
  return up ? a.stage + 1 : a.stage - 1;
}

std::vector<int> find_pipes(const Schedule& s) {
  std::vector<int> pipe_of(s.micros, kNone);
  for_each_action(s, [&](int, const Action& a) {
    if (a.op == Op::kF && pipe_of[a.micro] == kNone) pipe_of[a.micro] = a.pipe;
  });
  return pipe_of;
}

std::set<int> stages_on(const Schedule& s, int worker) {
  std::set<int> stages;
  for (const auto& workers : s.placement.worker_of) {
    for (int stage = 0; stage < s.stages(); ++stage) {
      if (workers[stage] == worker) stages.insert(stage);
    }
  }
  return stages;
}

std::set<int> stages_in(const SumGroup& group) {
  std::set<int> stages;
  for (const Member& member : group.members) stages.insert(member.stage);
  return stages;
}

namespace {

bool has_stage(Op op) { return op != Op::kG && op != Op::kN && op != Op::kV; }
bool has_micro(Op op) { return has_stage(op) && op != Op::kU; }
bool has_part(Op op) {
  return is_backward(op) || op == Op::kRB || op == Op::kSB;
}

// Why an action is meaningless; null if it is not.
const char* nonsense(const Schedule& s, Kind kind, int worker,
                     const Action& a) {
  if (kind == Kind::kComputeOnly && (!is_compute(a.op) || a.op == Op::kR)) {
    return "is not for compute-only lists";
  }
  if (a.step > 0) return "runs ahead of its round";
  if (a.op == Op::kV && (a.step != -1 || !is_synchronous(s))) {
    return "settles no vote";
  }
  if (has_stage(a.op) &&
      !(within(a.pipe, s.pipes()) && within(a.stage, s.stages()))) {
    return "has no such stage";
  }
  const bool is_whole_step = !has_micro(a.op) && a.micro == kNone;
  if (!is_whole_step && !within(a.micro, s.micros)) {
    return "has no such micro-batch";
  }
  if (a.part >= (has_part(a.op) ? s.parts : 1)) return "has no such part";
  if (is_message(a.op)) {
    if (!within(a.peer, s.workers()) || a.peer == worker) {
      return "has no such peer";
    }
    if (!within(other_stage(a), s.stages())) return "leaves the pipe";
  }
  if (a.op == Op::kR && a.peer != kNone &&
      (a.stage + 1 >= s.stages() || a.peer == worker ||
       a.peer != s.placement.worker(a.pipe, a.stage + 1))) {
    return "has no such peer";
  }
  if (a.op == Op::kG && !within(a.group, static_cast<int>(s.groups.size()))) {
    return "has no such group";
  }
  return nullptr;
}

bool is_member_of(const Schedule& s, const Member& member) {
  return within(member.pipe, s.pipes()) && within(member.stage, s.stages());
}

bool has_shape(const Schedule& s, const Costs& costs) {
  if (s.depth < 1 || s.width < 1 || s.stages() < 1) return false;
  if (s.micros < 1 || (s.parts != 1 && s.parts != 2)) return false;
  if (static_cast<int>(s.actions.size()) != s.workers()) return false;
  if (static_cast<int>(costs.stages.size()) != s.stages()) return false;
  for (const auto& stages : s.placement.worker_of) {
    if (static_cast<int>(stages.size()) != s.stages()) return false;
    for (int worker : stages) {
      if (!within(worker, s.workers())) return false;
    }
  }
  for (const SumGroup& group : s.groups) {
    for (const Member& member : group.members) {
      if (!is_member_of(s, member)) return false;
    }
  }
  return true;
}

void check_places(const Schedule& s, Errors& errors) {
  const std::vector<int> pipe_of = find_pipes(s);
  for_each_action(s, [&](int worker, const Action& a) {
    if (!has_stage(a.op)) return;
    if (s.placement.worker(a.pipe, a.stage) != worker) {
      errors.push_back(describe(worker, a.step, a) + " is on a wrong worker");
    }
    if (has_micro(a.op) && a.pipe != pipe_of[a.micro]) {
      errors.push_back(describe(worker, a.step, a) + " is in a second pipe");
    }
  });
}

// Checks that every forward and backward occurs exactly once. A backward is B,
// or I and W, both of whose halves must then occur.
void check_work(const Schedule& s, Errors& errors) {
  Tally forwards, input_halves, weight_halves;
  for_each_action(s, [&](int, const Action& a) {
    const Share share{a.stage, a.micro, a.part};
    if (a.op == Op::kF) ++forwards[share];
    if (gives_gradient(a.op)) ++input_halves[share];
    if (gives_weight_gradient(a.op)) ++weight_halves[share];
  });
  std::set<Share> whole, parts;
  for (int stage = 0; stage < s.stages(); ++stage) {
    whole.merge(shares_of(s, stage, kNone, 1));
    parts.merge(shares_of(s, stage, kNone, s.parts));
  }
  expect_once(forwards, whole, "forwards", errors);
  expect_once(input_halves, parts, "input halves", errors);
  expect_once(weight_halves, parts, "weight halves", errors);
}

void check_updates(const Schedule& s, Kind kind, Errors& errors) {
  const bool expected = kind == Kind::kLowered || !is_synchronous(s);
  for (int worker = 0; worker < s.workers(); ++worker) {
    Tally got;
    for (const Action& a : s.actions[worker]) {
      if (a.op == Op::kU) ++got[{a.stage, a.micro, 0}];
    }
    std::set<Share> want;
    for (int stage : stages_on(s, worker)) {
      if (!expected) break;
      want.merge(updates_each_micro(s) ? shares_of(s, stage, kNone, 1)
                                       : std::set<Share>{{stage, kNone, 0}});
    }
    expect_once(got, want, "updates of worker " + std::to_string(worker),
                errors);
  }
}

void check_votes(const Schedule& s, Errors& errors) {
  for (int worker = 0; worker < s.workers(); ++worker) {
    const auto votes =
        std::count_if(s.actions[worker].begin(), s.actions[worker].end(),
                      [](const Action& a) { return a.op == Op::kN; });
    if (votes == 1) continue;
    errors.push_back("worker " + std::to_string(worker) + " votes " +
                     std::to_string(votes) + " times a step");
  }
}

// Checks that either every worker settles its updates or none does.
void check_verdicts(const Schedule& s, Errors& errors) {
  for (int worker = 0; worker < s.workers(); ++worker) {
    const auto verdicts = [&](int of) {
      return std::count_if(s.actions[of].begin(), s.actions[of].end(),
                           [](const Action& a) { return a.op == Op::kV; });
    };
    if (verdicts(worker) <= 1 && verdicts(worker) == verdicts(0)) continue;
    errors.push_back("worker " + std::to_string(worker) + " settles " +
                     std::to_string(verdicts(worker)) + " votes a step");
  }
}

// True if the group has all holders of one stage, or of the first and the last
// stage (a tied weight).
bool is_whole(const Schedule& s, const SumGroup& group) {
  const std::set<int> stages = stages_in(group);
  const std::set<Member> got(group.members.begin(), group.members.end());
  std::set<Member> want;
  for (int pipe = 0; pipe < s.pipes(); ++pipe) {
    for (int stage : stages) want.insert({pipe, stage});
  }
  return got == want && got.size() == group.members.size() &&
         (stages.size() == 1 || stages == std::set<int>{0, s.stages() - 1});
}

void check_groups(const Schedule& s, Errors& errors) {
  std::set<std::set<int>> summed;
  for (size_t index = 0; index < s.groups.size(); ++index) {
    const std::string name = "group " + std::to_string(index);
    if (!is_whole(s, s.groups[index])) {
      errors.push_back(name + " does not hold exactly the holders of a stage");
    }
    if (!summed.insert(stages_in(s.groups[index])).second) {
      errors.push_back(name + " sums again what another group sums");
    }
  }
  if (s.pipes() * s.width == 1) return;
  for (int stage = 0; stage < s.stages(); ++stage) {
    if (summed.contains({stage})) continue;
    errors.push_back("no group sums stage " + std::to_string(stage));
  }
}

}  // namespace

bool check_sense(const Schedule& s, Kind kind, const Costs& costs,
                 Errors& errors) {
  if (!has_shape(s, costs)) {
    errors.push_back("placement, lists, groups and costs do not fit together");
    return false;
  }
  for_each_action(s, [&](int worker, const Action& a) {
    const char* reason = nonsense(s, kind, worker, a);
    if (reason == nullptr) return;
    errors.push_back(describe(worker, a.step, a) + " " + reason);
  });
  return errors.empty();
}

void check_contents(const Schedule& s, Kind kind, Errors& errors) {
  check_places(s, errors);
  check_work(s, errors);
  check_updates(s, kind, errors);
  if (kind == Kind::kComputeOnly) return;
  check_votes(s, errors);
  check_verdicts(s, errors);
  check_groups(s, errors);
}

}  // namespace chimera::testing::brute_force
