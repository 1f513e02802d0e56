// Synchronous training is exact: loss and every gradient equal the unsplit
// model's, and replicas are equal bit by bit, for every synchronous scheme and
// layout, within the tolerances of docs/correctness.md, in float32 and float64.
//
// Every (scheme, D, N, chunks, pipes, scale) runs with one combination of
// width, recomputation, tied embeddings, dropout, sync mode and model in turn;
// with CHIMERA_GRID=full, with all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "chimera/base/files.h"
#include "chimera/schedule/forms.h"
#include "chimera/train/verify.h"
#include "tests/grid.h"
#include "tests/training_cases.h"

namespace chimera {
namespace {

using testing::combination;
using testing::config_of;
using testing::expect_same_bits;
using testing::Extras;
using testing::kCombinations;
using testing::outcome_of;
using testing::setup_of;

std::string worst(const VerifyReport& report) {
  const TensorCheck& check = report.checks.front();
  std::string text =
      fmt::format("worst tensor {} step {}: {} of {} allowed", check.name,
                  check.step, check.difference, check.allowed);
  for (const std::string& name : report.unequal_replicas) {
    text += ", replicas differ in " + name;
  }
  return text;
}

void expect_exact(const RunSetup& setup) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const VerifyReport report = verify(setup, {.steps = 2, .dtype = dtype});
    EXPECT_TRUE(report.passes()) << worst(report);
    EXPECT_FALSE(report.checks.empty());
  }
}

// One scheme at one depth: a separate test, so that the full grid, which takes
// an hour, shows its progress and can be sharded (GTEST_TOTAL_SHARDS).
struct Share {
  const Scheme* scheme = nullptr;
  int depth = 0;
  int first = 0;  // number of its first layout among all
  std::vector<ScheduleSpec> layouts;
};

void PrintTo(const Share& share, std::ostream* out) {
  *out << share.layouts.size() << " layouts";
}

std::vector<Share> synchronous_layouts() {
  std::vector<Share> shares;
  int number = 0;
  for (const Scheme& scheme : schemes()) {
    if (!scheme.is_synchronous()) continue;
    for (const int depth : {1, 2, 4}) {
      Share share{.scheme = &scheme, .depth = depth, .first = number};
      const std::vector<int> micros = {depth - 1,     depth,     depth + 1,
                                       2 * depth - 1, 2 * depth, 2 * depth + 1};
      for (const ScheduleSpec& spec : testing::layouts(scheme, depth, micros)) {
        if (resolve(spec)->chunks * depth <= 8) share.layouts.push_back(spec);
      }
      number += static_cast<int>(share.layouts.size());
      if (!share.layouts.empty()) shares.push_back(std::move(share));
    }
  }
  return shares;
}

class EverySynchronousLayout : public ::testing::TestWithParam<Share> {};

TEST_P(EverySynchronousLayout, EqualsTheUnsplitModel) {
  const int repeats = testing::full_grid() ? kCombinations : 1;
  int number = GetParam().first * repeats;
  for (const ScheduleSpec& spec : GetParam().layouts) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      // 5 and 144 are coprime, so neighbouring layouts differ in every choice.
      const Extras extras = combination(number++ * 5 % kCombinations);
      SCOPED_TRACE(testing::text_of(spec) + text_of(extras));
      expect_exact(*setup_of(config_of(spec, extras)));
      if (HasFailure()) return;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<Share>& info) {
  std::string name(info.param.scheme->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format("{}_{}", name, info.param.depth);
}

INSTANTIATE_TEST_SUITE_P(Parity, EverySynchronousLayout,
                         ::testing::ValuesIn(synchronous_layouts()), name_of);

// Every scheme at a depth in bf16, with one combination of extras each.
TEST_P(EverySynchronousLayout, EqualsTheUnsplitModelInBf16) {
  const Share& share = GetParam();
  const std::size_t step = testing::full_grid() ? 1 : 4;
  for (std::size_t at = 0; at < share.layouts.size(); at += step) {
    const int number = share.first + static_cast<int>(at);
    Extras extras = combination(number * 5 % kCombinations);
    extras.precision = Precision::kBf16;
    const ScheduleSpec& spec = share.layouts[at];
    SCOPED_TRACE(testing::text_of(spec) + text_of(extras));
    const VerifyReport report =
        verify(*setup_of(config_of(spec, extras)), {.steps = 2});
    EXPECT_TRUE(report.passes()) << worst(report);
    if (HasFailure()) return;
  }
}

// Every scheme with each member of the Llama family in turn.
TEST(Parity, EverySchemeTrainsALlama) {
  int number = 0;
  for (const Scheme& scheme : schemes()) {
    if (!scheme.is_synchronous()) continue;
    const std::vector<ScheduleSpec> layouts =
        testing::layouts(scheme, 2, {2, 4});
    ASSERT_FALSE(layouts.empty()) << scheme.name;
    RunConfig config = config_of(
        layouts.front(),
        {.tied = number % 2 == 0, .sync = "eager-opt", .kind = "llama"});
    config.model.variant = static_cast<LlamaVariant>(number++ % 4);
    SCOPED_TRACE(testing::text_of(layouts.front()));
    expect_exact(*setup_of(config));
  }
}

// Replaces every B of this part by I and W.
void split_backwards(ActionList& list, int part) {
  ActionList split;
  for (Action action : list) {
    if (action.op != Op::kB || action.part != part) {
      split.push_back(action);
      continue;
    }
    for (const Op half : {Op::kI, Op::kW}) {
      action.op = half;
      split.push_back(action);
    }
  }
  list = std::move(split);
}

// Each half of a micro-batch has a separate backward, whole or split.
TEST(Parity, OneHalfOfABackwardMayBeSplit) {
  const ScheduleSpec spec{
      .scheme = "chimera", .depth = 2, .micros = 2, .scale = Scale::kHalving};
  for (const int split : {0, 1}) {
    Schedule schedule = make_schedule(spec).value();
    for (ActionList& list : schedule.actions) split_backwards(list, split);
    RunConfig config = config_of(spec, {});
    config.schedule.file = ::testing::TempDir() + "halves.sched";
    write_file(config.schedule.file, to_sched(schedule));
    SCOPED_TRACE(split);
    expect_exact(*setup_of(config));
  }
}

TEST(Parity, AsynchronousSchemesAreAsStaleInBf16) {
  for (const char* scheme : {"pipedream", "pipedream-2bw"}) {
    const auto setup =
        setup_of(config_of({.scheme = scheme, .depth = 4, .micros = 4},
                           {.width = 2, .precision = Precision::kBf16}));
    const VerifyReport report = verify(*setup, {.steps = 3});
    EXPECT_TRUE(report.passes()) << scheme << ": " << worst(report);
  }
}

// Gradients must use weights that are as many updates old as the papers say.
TEST(Parity, AsynchronousSchemesAreAsStaleAsTheySay) {
  for (const char* scheme : {"pipedream", "pipedream-2bw"}) {
    for (const int depth : {2, 4}) {
      for (const int micros : {1, depth, 2 * depth}) {
        const ScheduleSpec spec{
            .scheme = scheme, .depth = depth, .micros = micros};
        if (!resolve(spec)) continue;
        for (const Extras& extras :
             {Extras{.width = 2, .kind = "bert"},
              Extras{.recompute = true, .dropout = true}}) {
          SCOPED_TRACE(testing::text_of(spec) + text_of(extras));
          const auto setup = setup_of(config_of(spec, extras));
          for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
            const VerifyReport report =
                verify(*setup, {.steps = micros == 1 ? 6 : 2, .dtype = dtype});
            EXPECT_TRUE(report.passes()) << worst(report);
          }
        }
      }
    }
  }
}

// R draws the same dropout and computes the same numbers as its forward did.
TEST(Parity, RecomputationGivesTheSameBits) {
  for (const ScheduleSpec& spec :
       {ScheduleSpec{.scheme = "chimera", .depth = 2, .micros = 4},
        ScheduleSpec{.scheme = "zb-v", .depth = 2, .micros = 4}}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
      Extras extras{.tied = true, .dropout = true, .precision = precision};
      const auto kept = outcome_of(*setup_of(config_of(spec, extras)));
      for (const Recompute recompute :
           {Recompute::first(1), Recompute::first(2), Recompute(true)}) {
        extras.recompute = recompute;
        SCOPED_TRACE(testing::text_of(spec) + text_of(extras));
        expect_same_bits(outcome_of(*setup_of(config_of(spec, extras))), kept);
      }
    }
  }
}

// A planned order depends on how long R takes.
TEST(Parity, PlannedOrdersRecomputeInPart) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
    for (const int layers : {1, 2}) {
      const Extras extras{.recompute = Recompute::first(layers),
                          .tied = true,
                          .dropout = true,
                          .precision = precision};
      SCOPED_TRACE(text_of(extras));
      expect_exact(*setup_of(
          config_of({.scheme = "planned", .depth = 4, .micros = 8}, extras)));
    }
  }
}

// verify must notice a difference, or its result would mean nothing.
TEST(Parity, ADifferenceIsFound) {
  const auto setup =
      setup_of(config_of({.scheme = "chimera", .depth = 2, .micros = 2}, {}));
  std::atomic<int> calls = 0;
  const ParameterInit init = setup->start.init;
  // One replica of one tensor starts with a relative error of 1e-6.
  setup->start.init = [&](const ParameterSpec& spec) {
    at::Tensor value = init(spec);
    if (spec.name == "transformer.h.2.mlp.c_fc.weight" && calls++ == 0) {
      value = value * (1 + 1e-6);
    }
    return value;
  };
  EXPECT_FALSE(verify(*setup, {.steps = 1}).passes());
}

TEST(Parity, TheSameRunTwiceGivesTheSameBits) {
  for (const int number : {9, 47, 68, 95, 141}) {
    RunConfig config = config_of({.scheme = "chimera", .depth = 4, .micros = 8},
                                 combination(number));
    config.train.steps = 5;
    config.train.clip = 1;
    const auto setup = setup_of(config);
    SCOPED_TRACE(number);
    expect_same_bits(outcome_of(*setup), outcome_of(*setup));
  }
}

RunConfig replanned_config(Shape shape, bool tied) {
  RunConfig config =
      config_of({.scheme = "planned", .depth = 4, .micros = 6, .shape = shape},
                {.tied = tied, .dropout = true, .sync = "eager-opt"});
  config.train.steps = 5;
  config.train.clip = 0.5;
  config.data.eval_path = config.data.path.at(0);
  config.train.eval_every = 2;
  return config;
}

// Every stage processes its micro-batches in turn whatever the order between
// stages, so a run may change to another order.
TEST(Parity, PlanningAgainChangesNoBit) {
  for (const Shape shape : {Shape::kLinear, Shape::kVee}) {
    RunConfig config = replanned_config(shape, /*tied=*/false);
    const testing::Outcome as_begun = outcome_of(*setup_of(config));
    config.schedule.replan_after = 3;
    expect_same_bits(as_begun, outcome_of(*setup_of(config)));
  }
}

// A worker that holds both ends of a tied model adds their gradients as they
// come, so there the order changes bits. The saved order repeats the run.
TEST(Parity, ASavedOrderRepeatsTheRun) {
  RunConfig config = replanned_config(Shape::kLinear, /*tied=*/true);
  config.schedule.replan_after = 3;
  config.run.trace = true;
  struct : TrainObserver {
    void on_replan(const Replanned& next) override { replanned = next; }
    std::optional<Replanned> replanned;
  } observer;
  const TrainOutcome outcome = train(*setup_of(config), observer);
  const std::optional<Replanned>& replanned = observer.replanned;
  ASSERT_TRUE(replanned);
  EXPECT_EQ(replanned->step, 3);
  EXPECT_LE(replanned->after_s, replanned->before_s * (1 + 1e-9));
  // The trace belongs to the new order.
  EXPECT_EQ(outcome.schedule, replanned->lowered);
  EXPECT_FALSE(outcome.trace.events.empty());
  for (const Event& event : outcome.trace.events) EXPECT_GE(event.step, 3);

  config.schedule.file = ::testing::TempDir() + "replanned.sched";
  write_file(config.schedule.file, to_sched(replanned->lowered));
  expect_same_bits({{}, outcome.weights},
                   {{}, outcome_of(*setup_of(config)).weights});
}

// Updating by shards gives the same bits as updating everything on each holder.
TEST(Parity, ShardedUpdatesGiveTheSameBits) {
  for (const char* scheme : {"chimera", "1f1b", "zb-v"}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
      RunConfig config = config_of({.scheme = scheme, .depth = 4, .micros = 4},
                                   {.width = 2,
                                    .tied = true,
                                    .dropout = true,
                                    .sync = "eager",
                                    .precision = precision});
      config.train.steps = 5;
      config.train.decay_all = precision == Precision::kFloat32;
      const auto whole = setup_of(config);
      config.train.shard_update = true;
      const auto sharded = setup_of(config);
      SCOPED_TRACE(scheme);
      expect_same_bits(outcome_of(*whole), outcome_of(*sharded));
    }
  }
}

// verify compares all replicas before every update, so weights that differ by
// one bit after 20 steps are found in the last step at the latest.
TEST(Parity, ReplicasStayEqualOverTwentySteps) {
  for (const char* scheme : {"chimera", "dualpipe", "gems"}) {
    RunConfig config = config_of(
        {.scheme = scheme, .depth = 4, .micros = 8},
        {.width = 2, .tied = true, .dropout = true, .sync = "eager-opt"});
    config.train.clip = 0.5;
    const VerifyReport report = verify(*setup_of(config), {.steps = 20});
    EXPECT_TRUE(report.unequal_replicas.empty()) << worst(report);
    EXPECT_EQ(report.losses.size(), 20U);
  }
}

}  // namespace
}  // namespace chimera
