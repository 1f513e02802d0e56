#include "chimera/search/draws.h"

#include <algorithm>
#include <cmath>

#include "chimera/schedule/list_scheduling/rules.h"
#include "chimera/search/random.h"

namespace chimera::ordering {
namespace {

struct Draw {
  bool is_timed = true;  // true: rule `time`, false: rule `kind`
  TimeRule time;
  KindRule kind;
  // Share of the room that a slot may fill: `share` at the first stage, falling
  // to `least_share` at the last.
  bool has_quotas = false;
  double share = 1;
  double least_share = 0;
  double wait = 0;   // in units of the longest action and message
  double noise = 0;  // added to the keys, in units of the longest action
  std::uint64_t noise_seed = 0;

  double value = 0;  // of the resulting order; less is better
};

class Drawing {
 public:
  Drawing(const Problem& problem, const DrawOptions& options, Pool& pool)
      : problem_(problem),
        options_(options),
        pool_(pool),
        scheduler_(problem),
        dearest_(problem.dearest()),
        longest_hop_(problem.longest_hop()) {}

  void run() {
    for (int turn = 0; turn < options_.draws; ++turn) {
      if (pool_.is_perfect(options_.bound)) return;
      if (options_.on_share && turn % 64 == 0) {
        options_.on_share(static_cast<double>(turn) / options_.draws);
      }
      // A seed per turn: a search with more draws begins with the same ones.
      Random random(static_cast<std::uint64_t>(turn));
      const bool is_near = good_.size() == kGood && turn % 2 == 1;
      const bool fills_windows = options_.aim == Aim::kSteady
                                     ? turn % 4 == 0
                                     : pool_.best().span <= options_.bound;
      Draw draw = is_near         ? near(good_[random.below(kGood)], random)
                  : fills_windows ? in_windows(random)
                                  : anywhere(random);
      play(draw);
      keep(draw);
    }
  }

 private:
  static constexpr int kGood = 8;

  static Draw anywhere(Random& random) {
    constexpr RankBy kForward[] = {RankBy::kDeepest, RankBy::kMicro,
                                   RankBy::kNumber, RankBy::kDiagonal};
    constexpr RankBy kInputGrad[] = {RankBy::kMicro, RankBy::kDeepest,
                                     RankBy::kShallowest, RankBy::kNumber};
    Draw draw;
    draw.is_timed = !random.one_in(4);
    draw.time.pace = random.between(0.3, 1.2);
    draw.time.input_delay = random.between(-1.5, 1.5);
    draw.time.weight_delay = random.between(0, 1.5);
    draw.time.weight_last = random.one_in(3);
    draw.time.room_is_urgent = random.one_in(2);
    draw.kind = {.forward_first = random.one_in(2),
                 .room_is_urgent = random.one_in(2),
                 .forward = kForward[random.below(4)],
                 .input_grad = kInputGrad[random.below(4)]};
    draw.has_quotas = !random.one_in(4);
    draw.share = random.between(0.3, 1.1);
    draw.least_share = random.between(0, 0.3);
    draw.wait = random.one_in(3) ? 0 : random.between(0, 1);
    draw.noise = random.one_in(4) ? random.between(0, 6) : 0;
    draw.noise_seed = static_cast<std::uint64_t>(random.below(1 << 30));
    return draw;
  }

  // A draw for steps that follow one another without a gap: forwards mostly
  // first, weight gradients last.
  static Draw in_windows(Random& random) {
    Draw draw;
    draw.time = {.pace = random.between(0.8, 1.1),
                 .input_delay = random.between(0.9, 1.6),
                 .weight_last = true,
                 .room_is_urgent = true};
    draw.has_quotas = true;
    draw.share = random.between(0.4, 0.9);
    draw.least_share = random.between(0, 0.35);
    draw.noise = random.between(0, 4);
    draw.noise_seed = static_cast<std::uint64_t>(random.below(1 << 30));
    return draw;
  }

  static Draw near(Draw draw, Random& random) {
    const auto shift = [&](double& value, double by) {
      if (random.one_in(2)) value += random.between(-by, by);
    };
    shift(draw.time.pace, 0.15);
    shift(draw.time.input_delay, 0.3);
    shift(draw.time.weight_delay, 0.3);
    shift(draw.share, 0.15);
    shift(draw.least_share, 0.1);
    shift(draw.wait, 0.25);
    if (random.one_in(4)) {
      draw.noise_seed = static_cast<std::uint64_t>(random.below(1 << 30));
    }
    return draw;
  }

  void play(Draw& draw) {
    if (draw.is_timed) {
      set_keys(problem_, draw.time, policy_);
    } else {
      set_keys(problem_, draw.kind, policy_);
    }
    if (draw.is_timed && draw.noise > 0) add_noise(draw);
    set_quotas(draw);
    const double longest = static_cast<double>(dearest_ + longest_hop_);
    policy_.wait = static_cast<Ticks>(std::max(0.0, draw.wait) * longest);
    scheduler_.run(policy_, order_);
    const Ticks time = options_.aim == Aim::kStep ? order_.span : order_.period;
    draw.value = static_cast<double>(time) +
                 static_cast<double>(order_.lateness) / problem_.workers;
    pool_.offer(order_);
  }

  void add_noise(const Draw& draw) {
    Random random(draw.noise_seed);
    const double most = draw.noise * static_cast<double>(dearest_);
    for (double& key : policy_.keys) key += random.between(0, most);
  }

  void set_quotas(const Draw& draw) {
    policy_.quotas.clear();
    if (!draw.has_quotas) return;
    for (const Slot& slot : problem_.slots) {
      const double depth = static_cast<double>(slot.stage) / problem_.stages;
      const double share = (1 - depth) * draw.share + draw.least_share;
      const double most =
          static_cast<double>(problem_.room) / static_cast<double>(slot.size);
      policy_.quotas.push_back(
          std::max(1, static_cast<int>(std::ceil(most * share))));
    }
  }

  void keep(const Draw& draw) {
    const auto place = std::upper_bound(
        good_.begin(), good_.end(), draw,
        [](const Draw& a, const Draw& b) { return a.value < b.value; });
    good_.insert(place, draw);
    if (good_.size() > kGood) good_.pop_back();
  }

  const Problem& problem_;
  const DrawOptions& options_;
  Pool& pool_;
  ListScheduler scheduler_;
  ListPolicy policy_;
  ListedOrder order_;
  std::vector<Draw> good_;  // best first
  Ticks dearest_;
  Ticks longest_hop_;
};

}  // namespace

void draw_orders(const Problem& problem, const DrawOptions& options,
                 Pool& pool) {
  Drawing(problem, options, pool).run();
}

}  // namespace chimera::ordering
