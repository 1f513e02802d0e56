#include "chimera/search/justify_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chimera/schedule/list_scheduling/rules.h"

namespace chimera::ordering {
namespace {

class JustifySearch {
 public:
  JustifySearch(const Problem& problem, const Goal& goal,
                const JustifyOptions& options)
      : problem_(problem),
        options_(options),
        justifier_(problem, goal, options.enough),
        random_(0) {}

  // A long search gets stuck where a short one does. So two thirds of a search
  // of several turns are short searches that begin anew, and the rest goes on
  // from the best orders of them all.
  std::vector<Played> run(const std::vector<CodeLists>& seeds,
                          const std::vector<Timetable>& wishes) {
    const std::int64_t turns = 2 * options_.passes / (3 * options_.turn);
    std::vector<Played> found;
    for (std::int64_t turn = 1; turn <= std::max<std::int64_t>(1, turns);
         ++turn) {
      end_ = turns > 1 ? turn * options_.turn : options_.passes;
      explore(seeds, wishes, turn == 1 ? kFailures : kNoLimit);
      found.insert(found.end(), best_.begin(), best_.end());
      if (is_over(options_.passes)) break;
      best_.clear();
    }
    best_.clear();
    end_ = options_.passes;
    for (Played& played : found) keep(std::move(played));
    go_on();
    return std::move(best_);
  }

 private:
  static constexpr std::size_t kMost = 8;
  // The first turn stops after this many starts in a row that found nothing
  // better, since its seeds are then better starts.
  static constexpr int kFailures = 10;
  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  void explore(const std::vector<CodeLists>& seeds,
               const std::vector<Timetable>& wishes, int most_failures) {
    for (const CodeLists& seed : seeds) {
      const Played start = justifier_.replayed(seed);
      keep(start);
      go_on_from(start);
    }
    for (const Timetable& times : wishes) begin_with(times, 0);
    const std::int64_t seeded = justifier_.passes_made();
    const std::int64_t starts = (end_ - seeded) / 3;
    for (int failed = 0; failed < most_failures && !is_over(seeded + starts);) {
      const Ticks before = least_excess();
      begin_anew();
      failed = least_excess() < before ? 0 : failed + 1;
    }
    go_on();
  }

  void go_on() {
    while (!best_.empty() && !is_over(end_)) {
      const Played start = one_of_the_best();
      go_on_from(start);
    }
  }

  [[nodiscard]] bool is_over(std::int64_t passes) const {
    return justifier_.passes_made() >= passes ||
           (!best_.empty() && best_.front().excess <= options_.enough);
  }

  // No run is longer than the whole search may be.
  [[nodiscard]] int at_most(int passes) const {
    return static_cast<int>(std::min<std::int64_t>(passes, options_.passes));
  }

  [[nodiscard]] Ticks least_excess() const {
    return best_.empty() ? kNever : best_.front().excess;
  }

  double power_of_ten(double low, double high) {
    return std::pow(10.0, random_.between(low, high));
  }

  // Draws one of the best orders, better ones more often.
  [[nodiscard]] const Played& one_of_the_best() {
    const int count = static_cast<int>(best_.size());
    const int first = random_.below(count);
    return best_[std::min(first, random_.below(count))];
  }

  void begin_anew() {
    set_keys(problem_,
             TimeRule{.pace = random_.between(0.4, 1.1),
                      .input_delay = random_.between(-0.5, 1.3)},
             policy_);
    begin_with({policy_.keys.begin(), policy_.keys.end()}, 2);
  }

  // Runs from `times`. The first `listed` passes follow the list rule.
  void begin_with(const Timetable& times, int listed) {
    if (is_over(end_)) return;
    keep(justifier_.run({.times = times},
                        {.passes = at_most(250),
                         .listed = listed,
                         .noise = power_of_ten(-0.8, 0.2),
                         .temperature = power_of_ten(-1.7, -0.6)},
                        random_));
  }

  void go_on_from(const Played& start) {
    if (is_over(end_)) return;
    keep(justifier_.run(start,
                        {.passes = at_most(1000),
                         .noise = power_of_ten(-1.5, 0),
                         .temperature = power_of_ten(-2, -0.8)},
                        random_));
  }

  void keep(Played played) {
    if (options_.on_share) {
      options_.on_share(
          std::min(1.0, static_cast<double>(justifier_.passes_made()) /
                            static_cast<double>(options_.passes)));
    }
    if (played.lists.empty()) return;  // every pass failed
    for (const Played& known : best_) {
      if (known.lists == played.lists) return;
    }
    const auto place = std::upper_bound(
        best_.begin(), best_.end(), played,
        [](const Played& a, const Played& b) { return a.is_better_than(b); });
    best_.insert(place, std::move(played));
    if (best_.size() > kMost) best_.pop_back();
  }

  const Problem& problem_;
  const JustifyOptions& options_;
  Justifier justifier_;
  Random random_;
  ListPolicy policy_;
  std::vector<Played> best_;  // best first
  std::int64_t end_ = 0;      // passes after which the present search ends
};

}  // namespace

std::vector<Played> search_by_justification(
    const Problem& problem, const Goal& goal,
    const std::vector<CodeLists>& seeds, const std::vector<Timetable>& wishes,
    const JustifyOptions& options) {
  return JustifySearch(problem, goal, options).run(seeds, wishes);
}

Timetable stretched(const Problem& small, const Timetable& times,
                    const Problem& large) {
  const int codes = static_cast<int>(large.slots.size()) * kSlotOps;
  Timetable wishes(large.at(codes, 0));
  for (int code = 0; code < codes; ++code) {
    const int few = small.slots[slot_of(code)].micros;
    const int many = large.slots[slot_of(code)].micros;
    const Ticks pace = large.busiest() / std::max(1, large.most_micros);
    for (int number = 0; number < many; ++number) {
      // Takes the times of micro-batch `number - later` of the small problem
      // and adds `later` paces.
      const int later = std::clamp(number - few / 2, 0, many - few);
      wishes[large.at(code, number)] =
          times[small.at(code, number - later)] + later * pace;
    }
  }
  return wishes;
}

}  // namespace chimera::ordering
