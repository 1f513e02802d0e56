// Rules about single actions: fields, places, duplicates, missing ones, and the
// order of computes that depend on each other.
#include <algorithm>

#include "chimera/schedule/cell.h"
#include "chimera/schedule/validate_rules.h"

namespace chimera::validating {

Rules::Rules(const Schedule& schedule, std::vector<Violation>& violations)
    : schedule_(schedule),
      violations_(violations),
      lowered_(is_lowered(schedule)),
      asynchronous_(is_asynchronous(schedule)),
      index_(schedule),
      graph_(static_cast<int>(num_actions(schedule))),
      pipe_of_(schedule.micros, kNone),
      last_weight_(schedule.workers()),
      sum_at_(schedule.workers()),
      updates_at_(schedule.workers()),
      vote_at_(schedule.workers(), kNone),
      verdict_at_(schedule.workers(), kNone),
      bad_(num_actions(schedule), false) {
  // A node of the wait graph stands for an action: they are numbered list after
  // list.
  int node = 0;
  for (const ActionList& list : schedule.actions) {
    first_node_.push_back(node);
    worker_at_.insert(worker_at_.end(), list.size(),
                      static_cast<int>(first_node_.size()) - 1);
    node += static_cast<int>(list.size());
  }
  first_node_.push_back(node);
  for (auto* table : {&forward_, &recompute_, &send_forward_, &post_forward_}) {
    table->assign(index_.cells(), kNone);
  }
  for (auto* table : {&gradient_, &weight_, &send_gradient_, &post_gradient_}) {
    table->assign(index_.cells() * schedule.parts, kNone);
  }
}

Rules::Where Rules::where(int node) const {
  const int worker = worker_at_[node];
  return {worker, node - first_node_[worker]};
}

const Action& Rules::at(int node) const {
  const Where place = where(node);
  return schedule_.actions[place.worker][place.position];
}

bool Rules::on_one_worker(int a, int b) const {
  return worker_at_[a] == worker_at_[b];
}

std::string Rules::name(int node) const {
  const Where place = where(node);
  return to_cell(at(node)) + " (worker " + std::to_string(place.worker) +
         ", action " + std::to_string(place.position) + ")";
}

constexpr int kMostReported = 100;

bool Rules::may_report(const char* code) {
  return ++reported_[code] <= kMostReported;
}

void Rules::count_unreported() {
  for (const auto& [code, count] : reported_) {
    if (count <= kMostReported) continue;
    violations_.push_back(
        {code, kNone, kNone, Action{},
         "and " + std::to_string(count - kMostReported) + " more like these"});
  }
}

void Rules::report(const char* code, int node, const std::string& reason) {
  bad_[node] = true;
  if (!may_report(code)) return;
  const Where place = where(node);
  violations_.push_back({code, place.worker, place.position, at(node), reason});
}

void Rules::report_missing(const char* code, int worker, const Action& action,
                           const std::string& reason) {
  if (!may_report(code)) return;
  violations_.push_back({code, worker, kNone, action, reason});
}

std::string Rules::group_field_error(const Action& action) const {
  if (action.op == Op::kG) {
    const int groups = static_cast<int>(schedule_.groups.size());
    if (action.group < 0 || action.group >= groups) {
      return "there is no group " + std::to_string(action.group);
    }
  }
  if (action.stage != kNone || action.pipe != kNone || action.part != 0) {
    return "sums and votes have neither stage, pipe nor part";
  }
  return {};
}

std::string Rules::verdict_field_error(const Action& action) const {
  if (asynchronous_) return "an asynchronous update is never undone";
  if (action.step != -1) return "waits for the vote of the step before: ~1";
  if (action.micro != kNone || action.peer != kNone || action.group != kNone) {
    return "a vote has neither micro-batch, peer nor group";
  }
  return group_field_error(action);
}

// The mistake in a single action's fields; empty if there is none.
std::string Rules::field_error(const Action& action) const {
  if (action.op == Op::kV) return verdict_field_error(action);
  if (action.step > 0 || (action.step < 0 && !asynchronous_)) {
    return "a step of " + std::to_string(action.step) +
           (action.step > 0 ? " lies in the future"
                            : " needs an asynchronous scheme");
  }
  if (action.peer != kNone && !is_message(action.op) && action.op != Op::kR) {
    return "only messages and R have a peer";
  }
  if (action.group != kNone && action.op != Op::kG) {
    return "only sums have a group";
  }
  const bool may_lack_micro =
      action.op == Op::kG || action.op == Op::kN || action.op == Op::kU;
  if (action.micro < (may_lack_micro ? kNone : 0) ||
      action.micro >= schedule_.micros) {
    return "there is no such micro-batch; micros = " +
           std::to_string(schedule_.micros);
  }
  if (action.op == Op::kG || action.op == Op::kN) {
    return group_field_error(action);
  }
  if (action.pipe < 0 || action.pipe >= schedule_.pipes()) {
    return "there is no pipe " + std::to_string(action.pipe);
  }
  if (action.stage < 0 || action.stage >= schedule_.stages()) {
    return "there is no such stage; stages = " +
           std::to_string(schedule_.stages());
  }
  const bool has_part =
      is_backward(action.op) || action.op == Op::kSB || action.op == Op::kRB;
  if (action.part >= (has_part ? schedule_.parts : 1)) {
    return "there is no part " + std::to_string(action.part);
  }
  return {};
}

bool Rules::belongs_to_kind(const Action& action) const {
  if (action.op == Op::kU) return lowered_ || asynchronous_;
  return lowered_ || action.op < Op::kU;
}

void Rules::check_actions() {
  for (int node = 0; node < first_node_.back(); ++node) {
    const Action& action = at(node);
    if (const std::string error = field_error(action); !error.empty()) {
      report("E301", node, error);
    } else if (!belongs_to_kind(action)) {
      report("E301", node,
             "an update of a synchronous scheme stands in a list without "
             "messages and sums");
    } else {
      file_action(node);
    }
  }
}

void Rules::file_action(int node) {
  const Action& action = at(node);
  const int worker = where(node).worker;
  if (is_vote(action.op)) {
    claim((action.op == Op::kN ? vote_at_ : verdict_at_)[worker], node);
    return;
  }
  if (action.op == Op::kG) {
    file_sum(node);
    return;
  }
  if (worker_of(action) != worker) {
    report("E302", node,
           "stage " + std::to_string(action.stage) + " of pipe " +
               std::to_string(action.pipe) + " is on worker " +
               std::to_string(worker_of(action)));
    return;
  }
  if (action.op == Op::kU) {
    updates_at_[worker][action.stage].push_back(node);
  } else {
    file_micro_action(node);
  }
}

int& Rules::table_entry(const Action& action) {
  const size_t cell = index_.cell(action.stage, action.micro);
  switch (action.op) {
    case Op::kF:
      return forward_[cell];
    case Op::kR:
      return recompute_[cell];
    case Op::kSF:
      return send_forward_[cell];
    case Op::kRF:
      return post_forward_[cell];
    case Op::kSB:
      return send_gradient_[cell_part(action)];
    case Op::kRB:
      return post_gradient_[cell_part(action)];
    case Op::kW:
      return weight_[cell_part(action)];
    default:
      return gradient_[cell_part(action)];
  }
}

void Rules::claim(int& entry, int node) {
  if (entry == kNone) {
    entry = node;
  } else {
    report("E304", node, "is there already: " + name(entry));
  }
}

void Rules::file_micro_action(int node) {
  const Action& action = at(node);
  int& pipe = pipe_of_[action.micro];
  if (pipe == kNone) pipe = action.pipe;
  if (pipe != action.pipe) {
    report("E305", node,
           "micro-batch " + std::to_string(action.micro) +
               " goes through pipe " + std::to_string(pipe) + " elsewhere");
    return;
  }
  claim(table_entry(action), node);
  if (bad_[node] || !gives_weight_gradient(action.op)) return;
  // A whole backward is its own weight half.
  if (action.op == Op::kB) claim(weight_[cell_part(action)], node);
  last_weight_[worker_at_[node]][action.stage] = node;
}

void Rules::check_complete() {
  for (int micro = 0; micro < schedule_.micros; ++micro) check_micro(micro);
}

void Rules::check_micro(int micro) {
  const int pipe = pipe_of_[micro];
  if (pipe == kNone) {
    report_missing("E303", kNone, {.op = Op::kF, .micro = micro},
                   "micro-batch " + std::to_string(micro) + " appears nowhere");
    return;
  }
  for (int stage = 0; stage < schedule_.stages(); ++stage) {
    if (forward_[index_.cell(stage, micro)] == kNone) {
      const Action missing{
          .op = Op::kF, .pipe = pipe, .stage = stage, .micro = micro};
      report_missing("E303", worker_of(missing), missing,
                     to_cell(missing) + " is missing");
    }
    check_backward(pipe, stage, micro);
  }
}

void Rules::check_backward(int pipe, int stage, int micro) {
  for (int part = 0; part < schedule_.parts; ++part) {
    Action missing{.op = Op::kB,
                   .part = static_cast<std::uint8_t>(part),
                   .pipe = pipe,
                   .stage = stage,
                   .micro = micro};
    const int gradient = gradient_[cell_part(missing)];
    const int weight = weight_[cell_part(missing)];
    if (gradient != kNone && weight != kNone) continue;
    if (gradient != kNone) missing.op = Op::kW;
    if (weight != kNone) missing.op = Op::kI;
    report_missing("E303", worker_of(missing), missing,
                   to_cell(missing) + " is missing");
  }
}

void Rules::needs(int first, int second, const char* what) {
  if (first == kNone || second == kNone) return;
  const int first_step = at(first).step;
  const int second_step = at(second).step;
  if (second_step < first_step) return;  // made in an earlier round
  if (second_step > first_step) {
    report("E306", second,
           std::string("runs in an earlier round than ") + what + ", " +
               name(first));
  } else if (first >= second && on_one_worker(first, second)) {
    report("E306", second,
           std::string("stands before ") + what + ", " + name(first));
  } else {
    // If the two actions are on different workers, no list says which comes
    // first: the wait goes into the graph, which is searched for cycles once it
    // has all waits.
    graph_.add_wait(first, second);
  }
}

// Checks dependencies within a worker, and in compute-only schedules, which
// have no messages, also between workers.
void Rules::check_compute_order() {
  for (int stage = 0; stage < schedule_.stages(); ++stage) {
    for (int micro = 0; micro < schedule_.micros; ++micro) {
      const size_t cell = index_.cell(stage, micro);
      const int forward = forward_[cell];
      const int recompute = recompute_[cell];
      needs(forward, recompute, "its forward");
      const auto direct = [&](int first, int second) {
        if (first == kNone || second == kNone) return false;
        return !lowered_ || on_one_worker(first, second);
      };
      if (stage > 0) {
        const int below = forward_[index_.cell(stage - 1, micro)];
        if (direct(below, forward)) needs(below, forward, "its input");
      }
      for (int part = 0; part < schedule_.parts; ++part) {
        const int gradient = gradient_[cell * schedule_.parts + part];
        const int weight = weight_[cell * schedule_.parts + part];
        needs(forward, gradient, "its forward");
        needs(recompute, gradient, "its recomputation");
        if (weight != gradient) needs(gradient, weight, "its input half");
        if (stage + 1 == schedule_.stages()) continue;
        const size_t above = index_.cell(stage + 1, micro);
        const int incoming = gradient_[above * schedule_.parts + part];
        if (direct(incoming, gradient)) {
          needs(incoming, gradient, "the gradient it needs");
        }
      }
    }
  }
}

}  // namespace chimera::validating
