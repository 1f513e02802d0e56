#include "chimera/simulate/link_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace chimera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct LinkUse {
  double before = kNever;  // earliest start of a message
  double busy = 0;         // time of all messages
  double after = kNever;   // shortest chain after a message has left the link
};

class LinkBound {
 public:
  LinkBound(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule), costs_(costs) {}

  double find() {
    std::vector<int> micros(schedule_.pipes(), 0);
    for (const ActionList& list : schedule_.actions) {
      for (const Action& action : list) {
        if (action.op == Op::kF && action.stage == 0) ++micros[action.pipe];
      }
    }
    for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
      if (micros[pipe] > 0) walk(pipe, micros[pipe]);
    }
    double bound = 0;
    for (const auto& [workers, use] : links_) {
      bound = std::max(bound, use.before + use.busy + use.after);
    }
    return bound;
  }

 private:
  // Adds the messages of a pipe. A micro-batch goes down all stages and back;
  // the weight gradient of stage 0 comes last.
  void walk(int pipe, int micros) {
    const int last = schedule_.stages() - 1;
    std::vector<MessageTime> down(last);
    std::vector<MessageTime> back(last);
    double all = costs_.stages[last].forward + costs_.stages[0].weight_grad +
                 costs_.stages[last].input_grad;
    for (int stage = 0; stage < last; ++stage) {
      down[stage] = time_of(pipe, stage, stage + 1);
      back[stage] = time_of(pipe, stage + 1, stage);
      all += costs_.stages[stage].forward + costs_.stages[stage].input_grad +
             down[stage].total() + back[stage].total();
    }
    double before = 0;  // time from the start to the end of F at `stage`
    double after = costs_.stages[0].weight_grad;  // time from I at `stage` on
    for (int stage = 0; stage < last; ++stage) {
      before += costs_.stages[stage].forward;
      after += costs_.stages[stage].input_grad;
      const int here = schedule_.placement.worker(pipe, stage);
      const int there = schedule_.placement.worker(pipe, stage + 1);
      const double busy = down[stage].occupied;
      // `all` is the way of one micro-batch without a wait. What it still has
      // to go after its message has left the link also follows the link's last
      // message.
      use(here, there, micros * busy, before, all - before - busy);
      const double gradient = back[stage].occupied;
      const double rest = back[stage].latency + after;
      use(there, here, micros * gradient, all - rest - gradient, rest);
      before += down[stage].total();
      after += back[stage].total();
    }
  }

  [[nodiscard]] MessageTime time_of(int pipe, int stage, int to) const {
    const int from_worker = schedule_.placement.worker(pipe, stage);
    const int to_worker = schedule_.placement.worker(pipe, to);
    if (from_worker == to_worker) return {};
    return message_time(costs_,
                        {.from = from_worker,
                         .to = to_worker,
                         .workers = schedule_.workers(),
                         .width = schedule_.width},
                        costs_.stages[std::min(stage, to)].boundary_bytes);
  }

  void use(int from, int to, double busy, double before, double after) {
    if (busy <= 0) return;
    LinkUse& link = links_[{from, to}];
    link.busy += busy;
    link.before = std::min(link.before, before);
    link.after = std::min(link.after, after);
  }

  const Schedule& schedule_;
  const Costs& costs_;
  std::map<std::pair<int, int>, LinkUse> links_;
};

}  // namespace

double link_bound(const Schedule& schedule, const Costs& costs) {
  return LinkBound(schedule, costs).find();
}

}  // namespace chimera
