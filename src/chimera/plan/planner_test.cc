#include "chimera/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "chimera/config/parse.h"
#include "chimera/config/presets.h"
#include "chimera/config/print.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/plan/candidate_cost.h"
#include "chimera/plan/candidate_judge.h"
#include "chimera/plan/candidates.h"
#include "chimera/plan/model_layers.h"
#include "chimera/plan/paper_model.h"
#include "chimera/plan/time_bound.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

using ::testing::HasSubstr;

PlanRequest request_for(const char* preset, int workers, int batch) {
  return {.model = find_preset(preset).value(),
          .profile = builtin_profile("p100").value(),
          .workers = workers,
          .batch = batch,
          .memory_bytes = 16e9};
}

StagedModel model_of(const PlanRequest& request, const Candidate& candidate) {
  const ScheduleSpec& spec = candidate.spec;
  return staged_model(request.model, request.profile,
                      {.stages = spec.depth * *spec.chunks,
                       .micro_batch = candidate.micro_batch,
                       .parts = spec.scale == Scale::kHalving ? 2 : 1});
}

// The row of a report in which the candidate competes.
std::string row_of(const Candidate& candidate) {
  return is_data_parallel(candidate) ? "data parallel" : candidate.spec.scheme;
}

std::string refusal(const PlanRequest& request) {
  const Result<PlanReport> report = make_plans(request);
  return report ? "" : to_string(report.errors()[0]);
}

TEST(PlanSpace, HoldsEveryWayToDealWorkersAndSamples) {
  const auto space = candidates_of(request_for("bert-48", 8, 16)).value();
  std::set<std::string> schemes;
  for (const Candidate& candidate : space) {
    const ScheduleSpec& spec = candidate.spec;
    EXPECT_EQ(spec.depth * spec.width, 8);
    EXPECT_EQ(spec.width * spec.micros * candidate.micro_batch, 16);
    schemes.insert(spec.scheme);
  }
  EXPECT_TRUE(schemes.contains("chimera"));
  EXPECT_TRUE(schemes.contains("zb-v"));
  EXPECT_FALSE(schemes.contains("pipedream"));  // asynchronous: only if named
}

// Bounds never rule out the best candidate.
void expect_bounds_hold(const char* preset, int ranks_per_node) {
  PlanRequest request = request_for(preset, 4, 16);
  request.profile.link = {.latency_s = 1e-4, .s_per_byte = 1e-8};
  request.profile.sum = {.latency_s = 2e-4, .s_per_byte = 2e-8};
  request.profile.node = NodeProfile{ranks_per_node, 1e-5, 1e-9};
  if (ranks_per_node == 0) request.profile.node.reset();
  std::vector<Candidate> space = candidates_of(request).value();
  request.schemes = {"pipedream", "pipedream-2bw"};
  // Asynchronous schemes refuse tied weights.
  request.model.tie_embeddings = false;
  const std::vector<Candidate> stale = candidates_of(request).value();
  space.insert(space.end(), stale.begin(), stale.end());
  for (const Candidate& candidate : space) {
    const StagedModel model = model_of(request, candidate);
    const Schedule schedule = make_schedule(candidate.spec).value();
    const double time =
        candidate_cost(candidate, schedule, model.costs, {}).step_s *
        (1 + 1e-9);
    EXPECT_LE(time_bound(candidate, model.costs), time)
        << candidate.spec.scheme << candidate.spec.depth;
    EXPECT_LE(order_bound(candidate, schedule, model.costs), time)
        << candidate.spec.scheme << candidate.spec.depth;
  }
}

TEST(TimeBound, IsNeverAboveTheSimulator) {
  for (const char* preset : {"bert-tiny", "gpt2-tiny"}) {
    expect_bounds_hold(preset, 0);
  }
}

TEST(TimeBound, IsNeverAboveTheSimulatorWithNodes) {
  for (const int ranks : {2, 3, 4}) expect_bounds_hold("gpt2-tiny", ranks);
}

// The planner is compared with a loop that judges every candidate, with every
// number of recomputed layers. planned_choice_test.cc does so for planned
// orders, which are not among these.
TEST(Planner, IsTheBestOfTheWholeSpace) {
  for (const double memory : {1e12, 12e6, 6e6}) {
    PlanRequest request = request_for("gpt2-tiny", 4, 8);
    request.memory_bytes = memory;
    CandidateJudge judge(request);
    std::map<std::string, double> best;
    const std::vector<Candidate> space = candidates_of(request).value();
    for (const Candidate& candidate : space) {
      if (candidate.spec.scheme == "planned") continue;
      const Schedule schedule = make_schedule(candidate.spec).value();
      for (int layers = 0; layers <= num_layers(request.model); ++layers) {
        Candidate some = candidate;
        some.recompute = Recompute::first(layers);
        Plan plan = judge.sized(some, schedule);
        if (!judge.fits(plan)) continue;
        judge.time(schedule, plan);
        const auto [place, added] =
            best.emplace(row_of(candidate), plan.step_s);
        if (!added) place->second = std::min(place->second, plan.step_s);
      }
    }
    const Result<PlanReport> report = make_plans(request);
    ASSERT_TRUE(report.ok() || best.empty());
    if (!report) continue;
    EXPECT_LE(report->judged, report->candidates);
    std::set<std::string> rows;
    for (const Plan& plan : report->plans) {
      const std::string row = row_of(plan.candidate);
      EXPECT_TRUE(rows.insert(row).second) << row;
      EXPECT_LE(plan.peak.total(), memory);
      if (plan.candidate.spec.scheme == "planned") continue;
      EXPECT_NEAR(plan.step_s, best.at(row), 1e-9 * plan.step_s) << row;
    }
    for (const auto& [row, time] : best) {
      EXPECT_TRUE(rows.contains(row)) << row;
    }
  }
}

// 7 billion parameters on 64 H100, without planned orders, which take seconds.
TEST(Planner, EveryLayoutForManyNodesFitsAndNodesHelp) {
  PlanRequest request = request_for("gpt2-64", 64, 256);
  request.model.layers = 32;
  request.model.hidden = 4096;
  request.model.heads = 32;
  request.model.ffn = 16384;
  request.model.seq = request.model.positions = 2048;
  request.profile = builtin_profile("h100").value();
  request.memory_bytes = 80e9;
  request.schemes = {"chimera", "1f1b", "interleaved", "zb-v", "v-half"};
  double last = 0;
  for (const int ranks : {64, 8, 1}) {
    request.profile.node->ranks = ranks;
    const auto report = make_plans(request).value();
    for (const Plan& plan : report.plans) {
      EXPECT_LE(plan.peak.total(), 80e9) << plan.candidate.spec.scheme;
    }
    EXPECT_GT(report.plans[0].step_s, last) << ranks;
    last = report.plans[0].step_s;
  }
}

TEST(Planner, SaysWhereTheTimeGoes) {
  const auto report = make_plans(request_for("bert-48", 8, 32)).value();
  double last = 0;
  for (const Plan& plan : report.plans) {
    const PlanTimes& times = plan.times;
    EXPECT_NEAR(times.compute + times.recompute + times.bubble + times.message +
                    times.sum,
                plan.step_s, 1e-9 * plan.step_s);
    EXPECT_GE(plan.step_s, last);
    EXPECT_GE(times.bubble, -1e-9);
    EXPECT_GE(times.memory, 0);
    last = plan.step_s;
  }
}

TEST(Planner, TheFormulaJudgesWhatItKnows) {
  PlanRequest request = request_for("bert-48", 8, 32);
  request.cost_model = CostModel::kPaper;
  const auto report = make_plans(request).value();
  for (const Plan& plan : report.plans) {
    const Candidate& candidate = plan.candidate;
    EXPECT_DOUBLE_EQ(
        plan.step_s,
        paper_time(candidate.spec, model_of(request, candidate).costs,
                   {.recompute = bool{candidate.recompute}, .sync = plan.sync})
            .total());
  }
}

// Between the memory of no and of full recomputation, a plan recomputes some
// layers, and not one more than it must.
TEST(Planner, RecomputesNoMoreThanItMust) {
  PlanRequest request = request_for("bert-48", 4, 32);
  request.schemes = {"1f1b"};
  CandidateJudge judge(request);
  const ScheduleSpec spec{.scheme = "1f1b",
                          .depth = 4,
                          .micros = 8,
                          .pipes = 1,
                          .chunks = 1,
                          .shape = Shape::kLinear};
  const Schedule order = make_schedule(spec).value();
  const auto bytes = [&](Recompute recompute) {
    return judge.sized({spec, 4, recompute}, order).peak.total();
  };
  for (const int layers : {2, 3, 6, 9, 11}) {
    const double fits = bytes(Recompute::first(layers));
    EXPECT_LT(bytes(true), fits);
    EXPECT_LT(fits, bytes(Recompute::first(layers - 1)));
    request.memory_bytes = fits;
    EXPECT_EQ(judge.least_recompute({spec, 4, true}, order),
              Recompute::first(layers));
  }
  request.memory_bytes = bytes(false);
  EXPECT_EQ(judge.least_recompute({spec, 4, true}, order), Recompute(false));
  request.memory_bytes = bytes(true);
  EXPECT_EQ(judge.least_recompute({spec, 4, true}, order), Recompute(true));
}

TEST(Planner, LessMemoryIsNeverFaster) {
  PlanRequest request = request_for("bert-48", 8, 32);
  request.schemes = {"1f1b", "chimera"};
  double last = 0;
  for (const double memory : {1e12, 8e9, 5e9, 4e9}) {
    request.memory_bytes = memory;
    const auto report = make_plans(request);
    if (!report) break;
    EXPECT_GE(report->plans[0].step_s, last);
    last = report->plans[0].step_s;
  }
}

TEST(Planner, ImpossibleRequestsNameTheNearestThatWorks) {
  EXPECT_THAT(refusal(request_for("gpt2-64", 2048, 100)), HasSubstr("E610"));
  EXPECT_THAT(refusal(request_for("gpt2-tiny", 64, 4)), HasSubstr("E612"));
  PlanRequest small = request_for("gpt2-64", 8, 8);
  small.memory_bytes = 1e9;
  EXPECT_THAT(refusal(small), HasSubstr("E611"));
  PlanRequest odd = request_for("bert-48", 3, 9);
  odd.schemes = {"dualpipe"};
  EXPECT_THAT(refusal(odd), HasSubstr("E613"));
  odd.schemes = {"chimrea"};
  EXPECT_THAT(refusal(odd), HasSubstr("did you mean \"chimera\"?"));
}

// A plan with a planned order includes the order that was judged, and a run
// that reads it takes the predicted time.
TEST(Planner, HandsOverTheOrderThatItJudged) {
  PlanRequest request = request_for("bert-48", 8, 64);
  request.schemes = {"planned", "1f1b"};
  const auto report = make_plans(request).value();
  for (const Plan& plan : report.plans) {
    ASSERT_EQ(plan.order.has_value(), plan.candidate.spec.scheme == "planned");
    const RunConfig config = with_plan({}, plan, "mine.sched");
    EXPECT_EQ(config.schedule.file, plan.order ? "mine.sched" : "");
    if (!plan.order) continue;
    EXPECT_TRUE(validate(*plan.order).empty());
    const Schedule read =
        parse_schedule(to_sched(*plan.order), "mine.sched").value();
    const Schedule lowered =
        lower(read, {.sync = plan.sync,
                     .recompute = plan.candidate.recompute,
                     .tied = request.model.tie_embeddings});
    EXPECT_DOUBLE_EQ(
        simulate(lowered, model_of(request, plan.candidate).costs).makespan,
        plan.step_s);
  }
}

// With slow links a plan with fewer messages wins, and the report says so.
TEST(Planner, SaysWhatWouldChangeTheChoice) {
  PlanRequest request = request_for("bert-48", 8, 64);
  request.schemes = {"gpipe", "chimera"};
  request.profile.link = request.profile.sum = {1e-5, 1e-11};
  const auto report = make_plans(request).value();
  for (const PlanChange& change : report.changes) {
    EXPECT_GT(change.plan, 0U);
    EXPECT_LT(change.plan, report.plans.size());
    EXPECT_LT(change.step_s, change.first_step_s.value_or(1e9));
    if (change.what != PlanChange::What::kSlowerLinks) continue;
    PlanRequest slow = request;
    for (LinkProfile* link : {&slow.profile.link, &slow.profile.sum}) {
      link->latency_s *= change.factor;
      link->s_per_byte *= change.factor;
    }
    EXPECT_LE(make_plans(slow).value().plans[0].step_s,
              change.step_s * (1 + 1e-9));
  }
}

// A request that an error message offers is accepted.
RC_GTEST_PROP(Planner, TheNearestDoesWork, ()) {
  PlanRequest request = request_for("gpt2-tiny", *rc::gen::inRange(1, 300),
                                    *rc::gen::inRange(1, 300));
  const auto space = candidates_of(request);
  if (space.ok()) return;
  const std::string& hint = space.errors()[0].hint;
  int batch = 0, workers = 0;
  RC_ASSERT(std::sscanf(hint.c_str(), "use --batch %d or --workers %d", &batch,
                        &workers) == 2);
  PlanRequest other = request;
  other.batch = batch;
  RC_ASSERT(candidates_of(other).ok());
  other = request;
  other.workers = workers;
  RC_ASSERT(candidates_of(other).ok());
}

TEST(Planner, WritesARunThatReadsBack) {
  const PlanRequest request = request_for("bert-48", 8, 32);
  const auto report = make_plans(request).value();
  RunConfig base =
      parse_run_config("[model]\npreset = \"bert-48\"\n", "", {}).value();
  for (const Plan& plan : report.plans) {
    const RunConfig config = with_plan(base, plan);
    EXPECT_EQ(parse_run_config(print_run_config(config), "", {}).value(),
              config);
    EXPECT_EQ(config.schedule.spec.depth * config.schedule.spec.width, 8);
  }
}

}  // namespace
}  // namespace chimera
