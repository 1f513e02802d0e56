#include "chimera/schedule/asap.h"

#include <algorithm>

#include "chimera/base/check.h"
#include "chimera/schedule/micro_index.h"

namespace chimera {
namespace {

class AsapPass {
 public:
  AsapPass(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        index_(schedule),
        made_(index_.size()),
        cursor_(schedule.workers(), 0),
        free_at_(schedule.workers(), 0.0) {
    for (const ActionList& list : schedule.actions) {
      times_.start.emplace_back(list.size());
      times_.end.emplace_back(list.size());
      for (const Action& action : list) note_step(action);
    }
  }

  AsapTimes run() {
    for (int worker = 0; worker < schedule_.workers(); ++worker) {
      runnable_.push_back(worker);
    }
    // Workers may advance in any order: the times depend on the lists alone.
    while (!runnable_.empty()) {
      const int worker = runnable_.back();
      runnable_.pop_back();
      advance(worker);
    }
    CHIMERA_CHECK_EQ(times_.order.size(), num_actions(schedule_));
    // The walk above is one valid order. Sorting it by start gives another:
    // nothing starts before what it waits for, and equal starts keep their
    // order.
    std::stable_sort(
        times_.order.begin(), times_.order.end(),
        [&](const Place& a, const Place& b) { return start(a) < start(b); });
    return std::move(times_);
  }

 private:
  // The result of an action for another stage: an activation or a gradient.
  struct Made {
    bool done = false;
    int step = 0;
    double at = 0;
    int waiting_worker = kNone;
  };

  [[nodiscard]] double start(const Place& place) const {
    return times_.start[place.worker][place.position];
  }

  void note_step(const Action& action) {
    const size_t slot = index_.made_by(action);
    if (slot != MicroIndex::kNothing) made_[slot].step = action.step;
  }

  void advance(int worker) {
    const ActionList& list = schedule_.actions[worker];
    while (cursor_[worker] < static_cast<int>(list.size())) {
      const int position = cursor_[worker];
      const Action& action = list[position];
      double ready = free_at_[worker];
      const size_t needed = index_.needed_by(action);
      // Results of another round are available already.
      if (needed != MicroIndex::kNothing && made_[needed].step == action.step) {
        if (!made_[needed].done) {
          made_[needed].waiting_worker = worker;
          return;
        }
        ready = std::max(ready, made_[needed].at);
      }
      run_action(action, {worker, position}, ready);
      ++cursor_[worker];
    }
  }

  void run_action(const Action& action, const Place& place, double ready) {
    const double end = ready + compute_time(costs_, action, schedule_.parts);
    times_.start[place.worker][place.position] = ready;
    times_.end[place.worker][place.position] = end;
    times_.order.push_back(place);
    free_at_[place.worker] = end;
    const size_t slot = index_.made_by(action);
    if (slot == MicroIndex::kNothing) return;
    made_[slot].done = true;
    made_[slot].at = end;
    const int waiting = made_[slot].waiting_worker;
    if (waiting != kNone) runnable_.push_back(waiting);
  }

  const Schedule& schedule_;
  const Costs& costs_;
  MicroIndex index_;
  std::vector<Made> made_;
  std::vector<int> cursor_;
  std::vector<double> free_at_;
  std::vector<int> runnable_;
  AsapTimes times_;
};

}  // namespace

AsapTimes asap(const Schedule& schedule, const Costs& costs) {
  return AsapPass(schedule, costs).run();
}

}  // namespace chimera
