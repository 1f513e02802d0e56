// Internals of validate, shared by its files: the place of every action, the
// collected violations, and the waits. Not for other modules.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "chimera/schedule/micro_index.h"
#include "chimera/schedule/validate.h"
#include "chimera/schedule/wait_graph.h"

namespace chimera::validating {

// Checks one schedule. A node is the number of an action, counted worker by
// worker; kNone means that there is none.
class Rules {
 public:
  Rules(const Schedule& schedule, std::vector<Violation>& violations);

  // The rules, in the order in which they run. A later rule ignores what an
  // earlier one has reported, so that one mistake gives one violation.
  void check_actions();   // fields in range, right worker, no duplicates
  void check_complete();  // no action is missing
  void check_compute_order();
  void check_messages();
  void check_sums();
  void check_updates();
  void check_asynchronous_updates();
  void check_votes();
  void check_verdicts();
  void check_cycles();
  void count_unreported();

 private:
  struct Where {
    int worker;
    int position;
  };

  [[nodiscard]] Where where(int node) const;
  [[nodiscard]] const Action& at(int node) const;
  [[nodiscard]] bool on_one_worker(int a, int b) const;
  [[nodiscard]] std::string name(int node) const;
  [[nodiscard]] int worker_of(const Action& action) const {
    return schedule_.placement.worker(action.pipe, action.stage);
  }
  [[nodiscard]] size_t cell_part(const Action& action) const {
    return index_.cell(action.stage, action.micro) * schedule_.parts +
           action.part;
  }

  void report(const char* code, int node, const std::string& reason);
  // Reports a missing action, or a violation of the schedule as a whole.
  void report_missing(const char* code, int worker, const Action& action,
                      const std::string& reason);
  // True if another violation of this kind should be listed.
  bool may_report(const char* code);

  // `second` needs `first`. Reports a violation if that is impossible: `second`
  // stands first in the same list, or runs in an earlier round.
  void needs(int first, int second, const char* what);

  // Parts of check_actions.
  [[nodiscard]] std::string field_error(const Action& action) const;
  [[nodiscard]] std::string group_field_error(const Action& action) const;
  [[nodiscard]] std::string verdict_field_error(const Action& action) const;
  [[nodiscard]] bool belongs_to_kind(const Action& action) const;
  void file_action(int node);
  void file_micro_action(int node);
  [[nodiscard]] int& table_entry(const Action& action);
  void claim(int& entry, int node);

  // Parts of check_complete.
  void check_micro(int micro);
  void check_backward(int pipe, int stage, int micro);

  // Parts of check_messages.
  struct Message {
    int maker;     // the F, B or I whose result is sent
    int consumer;  // the action that waits for it
    int send;
    int post;
  };
  void check_message(const Message& message, Op send_op, Op post_op);
  void check_stray_messages();
  void check_late_recompute(int node);

  // Parts of check_sums.
  struct SumKey {
    int group;
    int micro;  // kNone in synchronous schemes
    auto operator<=>(const SumKey&) const = default;
  };
  [[nodiscard]] bool groups_are_sound();
  [[nodiscard]] bool stages_are_summed_once();
  [[nodiscard]] std::string group_error(const SumGroup& group) const;
  void file_sum(int node);
  void find_holders();
  void check_group_holders(const SumGroup& group);
  void order_sums(int worker);
  void check_vote_place();
  void check_verdict(int worker);
  void check_same_side(int send, int post);
  void check_update(int worker, int stage, int node);
  void check_stage_sequence(int worker, int stage,
                            const std::vector<int>& nodes);
  void check_double_buffer(const std::vector<int>& nodes);

  [[nodiscard]] std::string describe_cycle(const std::vector<int>& cycle) const;

  const Schedule& schedule_;
  std::vector<Violation>& violations_;
  std::map<std::string, int> reported_;
  bool lowered_;
  bool asynchronous_;
  MicroIndex index_;
  std::vector<int> first_node_;  // [worker], and the end
  std::vector<int> worker_at_;   // [node]
  WaitGraph graph_;

  // Nodes by cell or by (cell, part); kNone if missing.
  std::vector<int> forward_, recompute_, send_forward_, post_forward_;
  std::vector<int> gradient_, weight_, send_gradient_, post_gradient_;
  std::vector<int> pipe_of_;                                 // [micro]
  std::vector<std::map<int, int>> last_weight_;              // [worker][stage]
  std::vector<std::map<SumKey, int>> sum_at_;                // [worker]
  std::vector<std::map<int, std::vector<int>>> updates_at_;  // [worker][stage]
  std::vector<int> vote_at_;                                 // [worker]
  std::vector<int> verdict_at_;                              // [worker]: V
  std::vector<std::vector<int>> groups_of_;                  // [stage]
  std::vector<std::set<int>> holders_;                       // [group]
  // node "the sum is complete" in the wait graph
  std::map<SumKey, int> sum_node_;
  int vote_node_ = kNone;
  std::vector<bool> bad_;  // [node]: already reported, left out of the tables
};

}  // namespace chimera::validating
