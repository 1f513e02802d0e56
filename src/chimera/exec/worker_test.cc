// Tests of failures, stops and late votes. (tests/runtime_test.cc shows that
// every schedule runs.)
#include "chimera/exec/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "chimera/comm/comm_error.h"
#include "chimera/exec/emulated.h"
#include "chimera/exec/run_threads.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

using ::testing::HasSubstr;

Schedule lowered(const std::string& scheme, const LowerOptions& options = {}) {
  return lower(
      make_schedule({.scheme = scheme, .depth = 4, .micros = 4}).value(),
      options);
}

// Emulated stages with single actions that a test can change.
class Meddler final : public StageCompute {
 public:
  explicit Meddler(const Schedule& schedule)
      : inner_(make_emulated(schedule,
                             std::vector<EmulatedStage>(schedule.stages()))) {}

  std::function<void(const Work&)> before_forward;
  std::function<void(const UpdateOrder&)> before_update;
  std::function<void(Ballot&, int step)> on_ballot;
  std::set<int> refused;         // steps whose updates the vote rejects
  int undone = 0;                // updates
  std::size_t shard_floats = 0;  // size of gathers after updates
  std::vector<const Ballot*> votes_seen;

  WeightsPtr initial_weights(int stage) override {
    auto weights = std::make_shared<Numbers>();
    weights->values.resize(shard_floats);
    newest_[stage] = weights.get();
    return weights;
  }
  ForwardResult forward(const Work& work, const WeightsPtr& weights,
                        PayloadPtr input, Keep keep) override {
    if (before_forward) before_forward(work);
    return inner_->forward(work, weights, std::move(input), keep);
  }
  void recompute(const Work& work, Stash& stash) override {
    inner_->recompute(work, stash);
  }
  PayloadPtr backward(const Work& work, Stash& stash,
                      PayloadPtr gradient) override {
    return inner_->backward(work, stash, std::move(gradient));
  }
  PayloadPtr input_grad(const Work& work, Stash& stash,
                        PayloadPtr gradient) override {
    return inner_->input_grad(work, stash, std::move(gradient));
  }
  void weight_grad(const Work& work, Stash& stash) override {
    inner_->weight_grad(work, stash);
  }
  NumberBuffer gradient(const SumGroup& group) override {
    return inner_->gradient(group);
  }
  WeightsPtr update(const UpdateOrder& order,
                    const WeightsPtr& current) override {
    if (before_update) before_update(order);
    votes_seen.push_back(order.vote);
    (void)inner_->update(order, current);
    return current;
  }
  // The vote of step k carries k as its loss: each of the 4 ranks adds its
  // part.
  bool confirms(const Ballot& vote) const override {
    return !refused.contains(static_cast<int>(vote.loss) / 4);
  }
  void undo_update(int stage, const WeightsPtr& weights) override {
    ++undone;
    inner_->undo_update(stage, weights);
  }
  NumberBuffer updated_shards(const SumGroup& group, int stage) override {
    // Tied weights are updated together with the first stage.
    if (is_tied(group) && stage > 0) return {};
    std::vector<float>& values =
        is_tied(group) ? tied_ : newest_[stage]->values;
    values.resize(shard_floats);
    return {values.data(), values.size()};
  }
  Ballot ballot(int step, bool training) override {
    Ballot ballot = inner_->ballot(step, training);
    ballot.loss = step;
    if (on_ballot) on_ballot(ballot, step);
    return ballot;
  }
  PayloadPtr empty_payload(const Work& work, bool is_gradient) override {
    return inner_->empty_payload(work, is_gradient);
  }

 private:
  struct Numbers final : Weights {
    std::vector<float> values;
  };

  std::unique_ptr<StageCompute> inner_;
  std::map<int, Numbers*> newest_;  // by stage
  std::vector<float> tied_;
};

// Records which gathers a rank has started and not yet waited for.
class GatherWatch final : public Transport {
 public:
  explicit GatherWatch(Transport& inner) : inner_(inner) {}

  std::set<int> open_groups;

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  void post_receive(const MessageId& id, int from,
                    const PayloadMaker& make) override {
    inner_.post_receive(id, from, make);
  }
  void send(const MessageId& id, int to, PayloadPtr payload) override {
    inner_.send(id, to, std::move(payload));
  }
  Received receive(const MessageId& id, int from) override {
    return inner_.receive(id, from);
  }
  void start_collective(const CollectiveId& id, std::span<const int> members,
                        const NumberBuffer& buffer) override {
    if (id.kind == CollectiveId::Kind::kAllGather) open_groups.insert(id.group);
    inner_.start_collective(id, members, buffer);
  }
  Span wait_collective(const CollectiveId& id) override {
    if (id.kind == CollectiveId::Kind::kAllGather) open_groups.erase(id.group);
    return inner_.wait_collective(id);
  }
  void start_vote(const VoteId& id, const Ballot& ballot) override {
    inner_.start_vote(id, ballot);
  }
  CountedVote wait_vote(const VoteId& id) override {
    return inner_.wait_vote(id);
  }
  void report_progress(std::uint64_t progress) override {
    inner_.report_progress(progress);
  }
  [[nodiscard]] std::uint64_t progress_of(int rank) const override {
    return inner_.progress_of(rank);
  }
  [[nodiscard]] double silence_of(int rank) const override {
    return inner_.silence_of(rank);
  }
  void abort(const std::string& reason) noexcept override {
    inner_.abort(reason);
  }

 private:
  Transport& inner_;
};

struct Setup {
  std::function<void(Meddler&, int rank)> meddle = [](Meddler&, int) {};
  std::chrono::duration<double> deadline = std::chrono::seconds(60);
  int steps = 6;
};

// Returns for each rank the step after the last one that it ran.
std::vector<int> run(const Schedule& schedule, const Setup& setup) {
  std::vector<int> ends(num_ranks(schedule));
  run_workers(
      {.ranks = num_ranks(schedule), .deadline = setup.deadline},
      [&](int rank) {
        auto compute = std::make_unique<Meddler>(schedule);
        setup.meddle(*compute, rank);
        return compute;
      },
      [&](Transport& transport, StageCompute& compute) {
        Worker worker(transport, compute, {});
        const int rank = transport.rank();
        ends[rank] = worker.run(Program(schedule, rank), {.end = setup.steps});
      });
  return ends;
}

TEST(Worker, AFailureEndsEveryRankWithItsReason) {
  for (const char* scheme : {"chimera", "gpipe", "zb-h1", "pipedream"}) {
    const Schedule schedule = lowered(scheme);
    const auto fail = [](Meddler& compute, int rank) {
      if (rank != 2) return;
      compute.before_forward = [](const Work& work) {
        if (work.step == 3) throw std::runtime_error("the lights went out");
      };
    };
    try {
      run(schedule, {.meddle = fail});
      ADD_FAILURE() << scheme << " went on without a worker";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the lights went out") << scheme;
    }
  }
}

// A rank gathers weights into memory that its Worker owns, so no other rank may
// write there once the Worker is destroyed.
TEST(Worker, NothingTouchesWhatAFailedRankLeaves) {
  const Schedule schedule = lowered("chimera");
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto fail = [](Meddler& compute, int rank) {
      compute.shard_floats = 1 << 17;
      if (rank != 1) return;
      compute.before_update = [](const UpdateOrder& order) {
        if (order.step == 1) throw std::runtime_error("gone");
      };
    };
    EXPECT_THROW(run(schedule, {.meddle = fail}), std::runtime_error);
  }
}

// Weights shared with another stage count too: here the last stage of a worker
// runs before the first, whose update changes the tied weights.
TEST(Worker, AForwardWaitsForAllShardsOfItsWeights) {
  const Schedule schedule = lowered("gems", {.tied = true});
  std::atomic<int> checked = 0;
  run_workers(
      {.ranks = 4},
      [&](int) {
        auto compute = std::make_unique<Meddler>(schedule);
        compute->shard_floats = 64;
        return compute;
      },
      [&](Transport& transport, StageCompute& compute) {
        const Program program(schedule, transport.rank());
        GatherWatch watch(transport);
        dynamic_cast<Meddler&>(compute).before_forward = [&](const Work& work) {
          for (const int group : program.groups_of(work.stage)) {
            EXPECT_FALSE(watch.open_groups.contains(group))
                << "stage " << work.stage << ", group " << group;
            ++checked;
          }
        };
        Worker worker(watch, compute, {});
        worker.run(program, {.end = 3});
        EXPECT_TRUE(watch.open_groups.empty());
      });
  // Every stage has a group; the first and the last have one more.
  EXPECT_EQ(checked, 3 * 4 * (4 + 2));
}

TEST(Worker, AMissedDeadlineIsToldInTermsOfTheSchedule) {
  const Schedule schedule = lowered("1f1b");
  const auto stall = [](Meddler& compute, int rank) {
    if (rank != 1) return;
    compute.before_forward = [](const Work& work) {
      if (work.step != 1 || work.micro != 2) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
    };
  };
  try {
    run(schedule,
        {.meddle = stall, .deadline = std::chrono::milliseconds(200)});
    ADD_FAILURE() << "nobody missed the stalled worker";
  } catch (const TimeoutError& error) {
    // The first worker to give up, next to the stalled one or further away,
    // reports its own place and the last action of the worker it waits for.
    EXPECT_THAT(error.what(), HasSubstr("step 2, "));
    EXPECT_THAT(error.what(), HasSubstr(": waited in vain for "));
    EXPECT_THAT(error.what(), HasSubstr("whose last action was: step "));
    EXPECT_GE(error.peer(), 0);
  }
}

// Unless the vote gates updates, the vote of step k is read during step k + 1.
TEST(Worker, AllStopAfterTheSameStep) {
  const auto stop_in_step_2 = [](Meddler& compute, int rank) {
    if (rank != 3) return;
    compute.on_ballot = [](Ballot& ballot, int step) {
      if (step == 2) ballot.stop = 1;
    };
  };
  for (const char* scheme : {"chimera", "interleaved", "pipedream-2bw"}) {
    EXPECT_EQ(run(lowered(scheme), {.meddle = stop_in_step_2}),
              std::vector<int>(4, 4))
        << scheme;
  }
  for (const bool late : {false, true}) {
    const Schedule schedule =
        lowered("chimera", {.vote_gates_update = true, .late_vote = late});
    EXPECT_EQ(run(schedule, {.meddle = stop_in_step_2}), std::vector<int>(4, 3))
        << late;
  }
}

// Emulated stages check that nothing from an undone forward is used: results of
// forwards carry the number of updates that their stage had seen.
TEST(Worker, ALateVoteUndoesAndRepeats) {
  for (const char* scheme :
       {"chimera", "1f1b", "gpipe", "interleaved", "zb-v", "planned"}) {
    const Schedule schedule = lowered(scheme, {.recompute = true,
                                               .tied = true,
                                               .vote_gates_update = true,
                                               .late_vote = true});
    std::size_t before_verdict = 0;  // forwards before V, of all workers
    std::size_t stages_held = 0;
    for (const ActionList& list : schedule.actions) {
      for (const Action& action : list) {
        if (action.op == Op::kV) break;
        before_verdict += action.op == Op::kF ? 1 : 0;
      }
      stages_held += std::count_if(
          list.begin(), list.end(),
          [](const Action& action) { return action.op == Op::kU; });
    }
    ASSERT_GT(before_verdict, 0) << scheme;
    std::atomic<std::size_t> forwards = 0;
    std::atomic<std::size_t> undone = 0;
    // The vote changes the updates of the first step, of two consecutive steps,
    // and of the last step, after which no forward has begun.
    const std::set<int> refused = {0, 2, 3, 5};
    run_workers(
        {.ranks = 4},
        [&](int) {
          auto compute = std::make_unique<Meddler>(schedule);
          compute->refused = refused;
          // A Meddler gathers a tied weight only if all holders of the weight
          // hold stage 0, which takes two pipes.
          compute->shard_floats = schedule.pipes() > 1 ? 64 : 0;
          compute->before_forward = [&](const Work&) { ++forwards; };
          return compute;
        },
        [&](Transport& transport, StageCompute& compute) {
          Worker worker(transport, compute, {});
          worker.run(Program(schedule, transport.rank()), {.end = 6});
          undone += dynamic_cast<Meddler&>(compute).undone;
        });
    EXPECT_EQ(undone, refused.size() * stages_held) << scheme;
    EXPECT_EQ(forwards,
              6 * schedule.stages() * schedule.micros + 3 * before_verdict)
        << scheme;
  }
}

// Lists that follow other systems run too: updates inside the step, and R that
// waits for its gradient.
TEST(Worker, RunsTheListsOfOtherSystems) {
  for (const char* scheme : {"1f1b", "gpipe", "zb-v", "chimera"}) {
    for (const Sync sync : {Sync::kDdp, Sync::kBlocking}) {
      const LowerOptions options{
          .sync = sync, .recompute = true, .recompute_late = true};
      if (sync == Sync::kDdp && std::string(scheme) == "chimera") continue;
      const Schedule schedule = lowered(scheme, options);
      for (const int end : run(schedule, {})) EXPECT_EQ(end, 6) << scheme;
    }
  }
}

// The vote stops the run and changes an update: the current step is dropped,
// not repeated.
TEST(Worker, ALateVoteMayUndoAndStop) {
  const Schedule schedule =
      lowered("chimera", {.vote_gates_update = true, .late_vote = true});
  const auto meddle = [](Meddler& compute, int rank) {
    compute.refused = {2};
    if (rank != 3) return;
    compute.on_ballot = [](Ballot& ballot, int step) {
      if (step == 2) ballot.stop = 1;
    };
  };
  EXPECT_EQ(run(schedule, {.meddle = meddle}), std::vector<int>(4, 3));
}

TEST(Worker, UpdatesSeeTheVoteExactlyIfItGatesThem) {
  for (const bool gated : {false, true}) {
    std::atomic<int> with_vote = 0;
    std::atomic<int> without = 0;
    const Schedule schedule = lowered("chimera", {.vote_gates_update = gated});
    run_workers(
        {.ranks = 4}, [&](int) { return std::make_unique<Meddler>(schedule); },
        [&](Transport& transport, StageCompute& compute) {
          Worker worker(transport, compute, {});
          worker.run(Program(schedule, transport.rank()), {.end = 2});
          for (const Ballot* vote :
               dynamic_cast<Meddler&>(compute).votes_seen) {
            ++(vote == nullptr ? without : with_vote);
          }
        });
    EXPECT_EQ(with_vote, gated ? 16 : 0);
    EXPECT_EQ(without, gated ? 0 : 16);
  }
}

TEST(Worker, VotesAreReadOnceAStepByEveryRank) {
  const Schedule schedule = lowered("chimera");
  std::vector<std::vector<int>> seen(4);
  run_workers(
      {.ranks = 4}, [&](int) { return std::make_unique<Meddler>(schedule); },
      [&](Transport& transport, StageCompute& compute) {
        std::vector<int>& mine = seen[transport.rank()];
        Worker worker(transport, compute,
                      {.on_vote = [&mine](const VoteResult& vote) {
                        mine.push_back(vote.step);
                      }});
        worker.run(Program(schedule, transport.rank()), {.end = 3});
      });
  for (const std::vector<int>& steps : seen) {
    EXPECT_EQ(steps, (std::vector<int>{0, 1, 2}));
  }
}

// Training, then an evaluation of two batches, then training again.
TEST(Worker, EvaluationRunsForwardsOnlyAndTrainingGoesOn) {
  for (const char* scheme : {"chimera", "zb-v", "pipedream-2bw", "gpipe"}) {
    const Schedule schedule = lowered(scheme);
    const Schedule evaluation = forward_only(schedule);
    std::atomic<int> forwards = 0;
    run_workers(
        {.ranks = 4},
        [&](int) {
          auto compute = std::make_unique<Meddler>(schedule);
          compute->before_forward = [&](const Work& work) {
            if (!work.training) ++forwards;
          };
          return compute;
        },
        [&](Transport& transport, StageCompute& compute) {
          Worker worker(transport, compute, {});
          const Program train(schedule, transport.rank());
          const Program evaluate(evaluation, transport.rank());
          worker.run(train, {.end = 2});
          worker.run(evaluate, {.end = 2, .training = false});
          worker.run(train, {.first = 2, .end = 4});
        });
    EXPECT_EQ(forwards, 2 * schedule.stages() * schedule.micros) << scheme;
  }
}

}  // namespace
}  // namespace chimera
