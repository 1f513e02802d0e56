#include "chimera/search/list_search.h"

#include <algorithm>

#include "chimera/base/check.h"
#include "chimera/search/random.h"

namespace chimera::ordering {
namespace {

// Consecutive actions of a worker without idle time, on a critical path.
struct Block {
  int worker = 0;
  int first = 0;
  int last = 0;
};

struct Move {
  int worker = 0;
  int from = 0;
  int to = 0;
};

class ListSearch {
 public:
  ListSearch(const Problem& problem, const Goal& goal,
             const ListSearchOptions& options, CodeLists& lists)
      : problem_(problem),
        options_(options),
        random_(options.seed),
        best_(lists),
        lists_(lists),
        now_(problem, goal),
        trial_(problem, goal),
        number_(problem.workers),
        position_(problem.slots.size() * kSlotOps * problem.most_micros),
        count_(problem.slots.size() * kSlotOps) {}

  Ticks run() {
    CHIMERA_CHECK(now_.run(lists_, kNever), "a seed must play to its end");
    Ticks best = now_.span();
    energy_ = now_.energy();
    // How much worse a move may be. One longest action is enough to leave dead
    // ends.
    slack_ = problem_.dearest() * problem_.chunks;
    history_.assign(kHistory, energy_ + static_cast<double>(slack_));
    number_all();
    for (std::int64_t move = 0; move < options_.moves; ++move) {
      if (best <= options_.bound) break;
      // Late acceptance: a move is also compared with the lists of kHistory
      // moves ago, which may have been worse.
      double& past = history_[static_cast<size_t>(move) % kHistory];
      if (try_move(propose(), past) && now_.span() < best) {
        best = now_.span();
        best_ = lists_;
      }
      past = std::min(past, energy_);
    }
    return best;
  }

 private:
  static constexpr size_t kHistory = 1000;

  // Fills number_ and position_, which are inverse to each other.
  void number_all() {
    std::fill(count_.begin(), count_.end(), 0);
    for (int worker = 0; worker < problem_.workers; ++worker) {
      const CodeList& list = lists_[worker];
      number_[worker].resize(list.size());
      for (size_t position = 0; position < list.size(); ++position) {
        const int number = count_[list[position]]++;
        number_[worker][position] = number;
        position_[problem_.at(list[position], number)] =
            static_cast<int>(position);
      }
    }
  }

  // Draws one of the latest workers, sometimes any late one.
  int late_worker() {
    const int first = random_.below(problem_.workers);
    Ticks most = now_.excess(0);
    for (int worker = 1; worker < problem_.workers; ++worker) {
      most = std::max(most, now_.excess(worker));
    }
    for (int turn = 0;; ++turn) {
      const int worker = (first + turn) % problem_.workers;
      const Ticks excess = now_.excess(worker);
      if (excess == most || (excess > 0 && random_.one_in(4))) return worker;
    }
  }

  [[nodiscard]] bool follows_at_once(int worker, int position) const {
    const int before = lists_[worker][position - 1];
    return now_.start(worker, position - 1) +
               problem_.slots[slot_of(before)].cost[op_of(before)] ==
           now_.start(worker, position);
  }

  [[nodiscard]] bool started_on_arrival(int worker, int position) const {
    const int code = lists_[worker][position];
    return now_.input_at(code, number_[worker][position]) ==
           now_.start(worker, position);
  }

  // The action at which the path enters the block: its first action, or another
  // that started exactly when its input arrived.
  int entry_of(const Block& block) {
    if (random_.one_in(2)) return block.first;
    for (int turn = 0; turn < 4; ++turn) {
      const int position =
          block.first + random_.below(block.last - block.first + 1);
      if (started_on_arrival(block.worker, position)) return position;
    }
    return block.first;
  }

  // Follows a critical path back from the end of a late worker.
  void find_blocks() {
    blocks_.clear();
    int worker = late_worker();
    int last = static_cast<int>(lists_[worker].size()) - 1;
    for (;;) {
      int first = last;
      while (first > 0 && follows_at_once(worker, first)) --first;
      Block block{worker, first, last};
      block.first = entry_of(block);
      blocks_.push_back(block);
      const int code = lists_[worker][block.first];
      const Slot& slot = problem_.slots[slot_of(code)];
      const int source = op_of(code) == kF   ? slot.previous
                         : op_of(code) == kI ? slot.next
                                             : kNone;
      if (block.first == 0 || source == kNone) return;
      const int number = number_[worker][block.first];
      last = position_[problem_.at(code_of(source, op_of(code)), number)];
      worker = problem_.slots[source].worker;
    }
  }

  Move propose() {
    find_blocks();
    const Block& block =
        blocks_[random_.below(static_cast<int>(blocks_.size()))];
    const int size = static_cast<int>(lists_[block.worker].size());
    const int length = std::max(1, block.last - block.first);
    Move move{.worker = block.worker};
    switch (random_.below(5)) {
      case 0:  // moves the block's last action to an earlier place
        move.from = block.last;
        move.to = block.first + random_.below(length);
        break;
      case 1:  // moves its first action to a later place
        move.from = block.first;
        move.to = block.first + random_.below(length) + 1;
        break;
      case 2:  // moves an action into the gap before the block
        move.from =
            block.first + random_.below(std::min(size - block.first, 10));
        move.to = block.first - random_.below(3);
        break;
      case 3:  // moves any action of the block a little
        move.from = block.first + random_.below(block.last - block.first + 1);
        move.to = move.from + random_.below(17) - 8;
        break;
      default:  // moves any action of the worker a little
        move.from = random_.below(size);
        move.to = move.from + random_.below(17) - 8;
        break;
    }
    move.to = std::clamp(move.to, 0, size - 1);
    return move;
  }

  static void apply(const Move& move, CodeList& list) {
    const auto from = list.begin() + move.from;
    const auto to = list.begin() + move.to;
    if (move.from < move.to) {
      std::rotate(from, from + 1, to + 1);
    } else {
      std::rotate(to, from, from + 1);
    }
  }

  bool try_move(const Move& move, double past) {
    CodeList& list = lists_[move.worker];
    if (list[move.from] == list[move.to]) return false;
    apply(move, list);
    const Ticks above =
        static_cast<Ticks>(std::max(0.0, past - energy_)) + slack_;
    // The cheap check comes first, and the replay gives up on spans far above
    // what would be accepted.
    if (keeps_room(problem_, list, count_) &&
        trial_.run(lists_, now_.span() + above)) {
      const double energy = trial_.energy();
      if (energy <= energy_ || energy <= past) {
        energy_ = energy;
        now_.swap(trial_);
        number_all();
        return true;
      }
    }
    apply({move.worker, move.to, move.from}, list);
    return false;
  }

  const Problem& problem_;
  const ListSearchOptions& options_;
  Random random_;
  CodeLists& best_;
  CodeLists lists_;
  Replay now_;  // replay of lists_
  Replay trial_;
  double energy_ = 0;
  Ticks slack_ = 0;
  std::vector<double> history_;
  std::vector<Block> blocks_;
  std::vector<std::vector<int>> number_;  // [worker][position]
  std::vector<int> position_;             // [Problem::at(code, number)]
  std::vector<int> count_;                // [code]
};

}  // namespace

Ticks search_lists(const Problem& problem, const Goal& goal,
                   const ListSearchOptions& options, CodeLists& lists) {
  return ListSearch(problem, goal, options, lists).run();
}

}  // namespace chimera::ordering
