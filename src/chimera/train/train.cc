#include "chimera/train/train.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "chimera/checkpoint/catalog.h"
#include "chimera/comm/comm_error.h"
#include "chimera/exec/run_threads.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/train/rank_training.h"
#include "chimera/train/replicas.h"
#include "chimera/train/resume.h"

namespace chimera {
namespace {

class Training {
 public:
  Training(const RunSetup& setup, const TrainHooks& hooks,
           const TrainSite& site)
      : setup_(setup), hooks_(hooks), site_(site), start_(setup.start) {}

  TrainOutcome run();

 private:
  void run_ranks();
  void run_rank(const RankSite& site);
  void survive(RankTraining& rank);
  [[nodiscard]] int wait_for_lost() const;
  void go_on_after(const std::string& reason);
  [[nodiscard]] const std::string& run_dir() const {
    return site_.run_dir.empty() ? setup_.config.run.dir : site_.run_dir;
  }

  // Besides the number of the rank that has failed.
  static constexpr int kNobody = -1;
  static constexpr int kAll = -2;  // nobody's weights can be relied upon

  const RunSetup& setup_;
  const TrainHooks& hooks_;
  const TrainSite& site_;
  StartPoint start_;
  std::optional<TorchComputeOptions> compute_;  // not if emulated
  TrainOutcome outcome_;  // written by rank 0, or the one rank that is here
  // Where ranks are threads, and one has failed.
  std::atomic<int> lost_ = kNobody;
  std::mutex mutex_;
  std::optional<Recovered> recovered_;  // guarded by mutex_ while they run
  int last_recovery_ = -1;              // the step that it went on from
};

TrainOutcome Training::run() {
  for (bool done = false; !done;) {
    try {
      run_ranks();
      done = true;
    } catch (const std::exception& error) {
      go_on_after(error.what());
    }
  }
  if (!outcome_.bad) {
    adopt_weights(setup_.model, outcome_.weights);
  }
  return std::move(outcome_);
}

void Training::run_ranks() {
  if (!setup_.is_emulated()) {
    TorchComputeOptions options = compute_options(setup_, at::kFloat);
    options.init = start_.init;
    options.restored = start_.restored;
    compute_.emplace(std::move(options));
  }
  const auto make = [this](int rank) {
    return setup_.is_emulated()
               ? make_emulated(setup_.schedule, setup_.emulated)
               : make_torch_compute(*compute_, rank);
  };
  if (site_.own == nullptr) {
    return run_threads(
        {.ranks = num_ranks(setup_.schedule),
         .deadline = std::chrono::duration<double>(setup_.config.run.timeout_s),
         .links = link_speed(setup_)},
        make, [this](const RankSite& site) { run_rank(site); });
  }
  std::unique_ptr<StageCompute> compute;
  try {
    compute = make(site_.own->rank());
    run_rank({*site_.own, *compute});
  } catch (const std::exception& error) {
    site_.own->abort(error.what());
    throw;
  }
}

void Training::run_rank(const RankSite& site) {
  RankTraining rank({.setup = setup_,
                     .hooks = hooks_,
                     .site = site_,
                     .start = start_,
                     .options = compute_ ? &*compute_ : nullptr,
                     .run_dir = run_dir()},
                    site);
  try {
    rank.run(outcome_);
  } catch (const AbortedError&) {
    if (setup_.recovers) survive(rank);
    throw;
  } catch (const ReplicaError&) {
    lost_ = kAll;
    throw;
  } catch (const std::exception&) {
    int before = kNobody;
    const bool is_first =
        lost_.compare_exchange_strong(before, site.transport.rank());
    if (!is_first && setup_.recovers) rank.renounce(before);
    throw;
  }
}

void Training::survive(RankTraining& rank) {
  const std::optional<Recovered> recovered =
      rank.survive(site_.lost ? site_.lost() : wait_for_lost());
  if (!recovered) return;
  if (site_.own != nullptr) {
    if (hooks_.on_recovered) hooks_.on_recovered(*recovered);
    return;
  }
  const std::lock_guard lock(mutex_);
  recovered_ = recovered;
}

// Of threads: it has woken the others before it could say so.
int Training::wait_for_lost() const {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  while (lost_ == kNobody && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lost_;
}

// In a catch block: all threads have ended, and if the others could save the
// run without the one that failed, all begin again from there. What fails again
// at the same step is thrown.
void Training::go_on_after(const std::string& reason) {
  if (!recovered_ || recovered_->step <= last_recovery_) throw;
  last_recovery_ = recovered_->step;
  recovered_->reason = reason;
  if (hooks_.on_recovered) hooks_.on_recovered(*recovered_);
  start_ = read_start(setup_, recovered_->path).value();
  tidy_checkpoints(run_dir(), {});
  recovered_.reset();
  lost_ = kNobody;
  outcome_ = {};
}

}  // namespace

TrainOutcome train(const RunSetup& setup, const TrainHooks& hooks,
                   const TrainSite& site) {
  return Training(setup, hooks, site).run();
}

LinkSpeed link_speed(const RunSetup& setup) {
  if (!setup.is_emulated()) return {};
  const Costs costs = emulated_costs(setup.config, setup.schedule);
  return {.latency_s = costs.latency, .s_per_byte = costs.time_per_byte};
}

}  // namespace chimera
