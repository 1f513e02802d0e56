// Late votes must give the same bits as updates that wait for the vote: with
// clipping in every step, in some and in none, with steps whose loss is not a
// number, and for every way in which stages are held and updated.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/training_cases.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::Extras;
using testing::setup_of;

constexpr int kSteps = 7;
// Norms of these runs are between 0.5 and 2.
constexpr double kAlways = 1e-3;
constexpr double kSometimes = 1;
constexpr double kNever = 1e6;

// The last layer of a model, whose loss is not a number in some steps.
class BadInSteps final : public Layer {
 public:
  BadInSteps(std::unique_ptr<Layer> inner, std::set<int> steps)
      : inner_(std::move(inner)), steps_(std::move(steps)) {}

  const std::string& name() const override { return inner_->name(); }
  const std::vector<ParameterSpec>& parameters() const override {
    return inner_->parameters();
  }
  at::Tensor forward(const at::Tensor& x, std::span<const at::Tensor> weights,
                     const LayerContext& context) const override {
    const at::Tensor loss = inner_->forward(x, weights, context);
    const bool is_bad =
        context.training && steps_.contains(static_cast<int>(context.step));
    return is_bad ? loss * std::numeric_limits<double>::quiet_NaN() : loss;
  }
  double forward_flops() const override { return inner_->forward_flops(); }

 private:
  std::unique_ptr<Layer> inner_;
  std::set<int> steps_;
};

struct Ran {
  std::vector<double> numbers;  // losses and norms; -1 stands for NaN
  std::vector<int> redone;      // steps, from 0
  TrainOutcome outcome;
};

Ran run(RunConfig config, VoteMode vote, const std::set<int>& bad) {
  config.train.vote = vote;
  const auto setup = setup_of(config);
  EXPECT_EQ(has_late_vote(setup->schedule.actions[0]), vote == VoteMode::kLate);
  auto& head = setup->model.layers.back();
  head = std::make_unique<BadInSteps>(std::move(head), bad);
  Ran ran;
  StepObserver keep([&](const StepReport& report) {
    for (const double number :
         {report.loss, report.grad_norm, report.evaluation_loss.value_or(0)}) {
      ran.numbers.push_back(std::isnan(number) ? -1 : number);
    }
    if (report.redone) ran.redone.push_back(report.step - 1);
  });
  ran.outcome = train(*setup, keep);
  return ran;
}

void expect_same(const Ran& wait, const Ran& late) {
  testing::expect_same_bits({wait.numbers, wait.outcome.weights},
                            {late.numbers, late.outcome.weights});
  EXPECT_EQ(wait.outcome.steps, late.outcome.steps);
  EXPECT_EQ(wait.outcome.peaks, late.outcome.peaks);
  EXPECT_TRUE(wait.redone.empty());
}

struct Case {
  ScheduleSpec spec;
  Extras extras;
  bool shard_update = false;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
};

std::vector<Case> cases() {
  return {{{.scheme = "chimera", .depth = 4, .micros = 8},
           {.tied = true, .dropout = true, .sync = "eager-opt"}},
          {{.scheme = "chimera", .depth = 4, .micros = 4},
           {.width = 2, .recompute = true, .tied = true},
           /*shard_update=*/true},
          {{.scheme = "1f1b", .depth = 4, .micros = 4}, {.width = 2}},
          {{.scheme = "zb-v", .depth = 2, .micros = 4},
           {.tied = true, .kind = "bert"},
           /*shard_update=*/false,
           OptimizerKind::kSgd},
          {{.scheme = "planned", .depth = 4, .micros = 6}, {.dropout = true}},
          {{.scheme = "chimera", .depth = 4, .micros = 4},
           {.width = 2, .tied = true, .precision = Precision::kBf16},
           /*shard_update=*/true}};
}

RunConfig config_for(const Case& layout) {
  RunConfig config = config_of(layout.spec, layout.extras);
  config.train.steps = kSteps;
  config.train.optimizer = layout.optimizer;
  config.train.shard_update = layout.shard_update;
  config.train.on_nan = OnNan::kSkip;
  // Stretches of steps end at evaluations, so some votes have no forwards
  // after them.
  config.train.eval_every = 3;
  config.data.eval_path = config.data.path.at(0);
  return config;
}

TEST(LateVote, GivesTheBitsOfWaiting) {
  std::size_t sometimes = 0;  // steps redone with clip = kSometimes
  for (const Case& layout : cases()) {
    for (const double clip : {kAlways, kSometimes, kNever}) {
      for (const std::set<int>& bad :
           {std::set<int>{}, std::set<int>{0, 3, 4, kSteps - 1}}) {
        SCOPED_TRACE(fmt::format("{}{}, clip {}, {} bad steps",
                                 layout.spec.scheme, text_of(layout.extras),
                                 clip, bad.size()));
        RunConfig config = config_for(layout);
        config.train.clip = clip;
        const Ran late = run(config, VoteMode::kLate, bad);
        expect_same(run(config, VoteMode::kWait, bad), late);
        std::set<int> redone(late.redone.begin(), late.redone.end());
        EXPECT_TRUE(std::includes(redone.begin(), redone.end(), bad.begin(),
                                  bad.end()));
        if (clip == kAlways) {
          EXPECT_EQ(redone.size(), kSteps);
        } else if (clip == kNever) {
          EXPECT_EQ(redone, bad);
        } else if (bad.empty()) {
          sometimes += redone.size();
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(sometimes, 0);
  EXPECT_LT(sometimes, cases().size() * kSteps);
}

// A run that stops because of a NaN does so after the same step, and with the
// same message, with a late vote.
TEST(LateVote, StopsWhereWaitingStops) {
  RunConfig config = config_for(cases().front());
  config.train.on_nan = OnNan::kStop;
  config.train.clip = kNever;
  const Ran wait = run(config, VoteMode::kWait, {4});
  const Ran late = run(config, VoteMode::kLate, {4});
  EXPECT_EQ(wait.numbers, late.numbers);
  for (const Ran* ran : {&wait, &late}) {
    EXPECT_EQ(ran->outcome.steps, 5);
    ASSERT_TRUE(ran->outcome.bad && ran->outcome.bad->place);
    EXPECT_EQ(ran->outcome.bad->step, 5);
    EXPECT_EQ(ran->outcome.bad->place->stage, 3);
  }
}

}  // namespace
}  // namespace chimera
