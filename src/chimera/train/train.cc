#include "chimera/train/train.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "chimera/checkpoint/catalog.h"
#include "chimera/comm/comm_error.h"
#include "chimera/exec/emulated_links.h"
#include "chimera/exec/run_threads.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/train/rank_training.h"
#include "chimera/train/replicas.h"
#include "chimera/train/resume.h"

namespace chimera {
namespace {

class Training {
 public:
  Training(const RunSetup& setup, TrainObserver& observer, Transport* own)
      : setup_(setup), observer_(observer), own_(own), start_(setup.start) {}

  TrainOutcome run();

 private:
  void run_ranks();
  void run_rank(Transport& transport, StageCompute& compute);
  void survive(RankTraining& rank);
  [[nodiscard]] int wait_for_lost() const;
  void go_on_after(const std::string& reason);

  // Special values of lost_, which otherwise is the number of the failed rank.
  static constexpr int kNobody = -1;
  static constexpr int kAll = -2;  // no rank's weights can be trusted

  const RunSetup& setup_;
  TrainObserver& observer_;
  Transport* own_;  // null: all ranks are threads of this process
  StartPoint start_;
  std::optional<TorchComputeOptions> compute_;  // empty if emulated
  TrainOutcome outcome_;  // written by rank 0, or by this process's only rank
  // Used if ranks are threads: the rank that failed.
  std::atomic<int> lost_ = kNobody;
  std::mutex mutex_;
  std::optional<Recovered> recovered_;  // guarded by mutex_ while ranks run
  int last_recovery_ = -1;              // step of the last recovery
};

TrainOutcome Training::run() {
  // If one of several threads is lost and the others have saved the run, all
  // start again from there. Any other failure is thrown again by go_on_after().
  for (bool done = false; !done;) {
    try {
      run_ranks();
      done = true;
    } catch (const std::exception& error) {
      go_on_after(error.what());
    }
  }
  return std::move(outcome_);
}

void Training::run_ranks() {
  if (!setup_.is_emulated()) {
    TorchComputeOptions options =
        compute_options(setup_, formats_of(setup_.config.train.precision));
    options.init = start_.init;
    options.restored = start_.restored;
    if (own_ != nullptr) options.shared = nullptr;  // only rank of its process
    compute_.emplace(std::move(options));
  }
  const auto make = [this](int rank) {
    return setup_.is_emulated()
               ? make_emulated(setup_.schedule, setup_.emulated)
               : make_torch_compute(*compute_, rank);
  };
  if (own_ == nullptr) {
    return run_workers(
        {.ranks = num_ranks(setup_.schedule),
         .deadline = std::chrono::duration<double>(setup_.config.run.timeout_s),
         .links = link_times(setup_)},
        make, [this](Transport& transport, StageCompute& compute) {
          run_rank(transport, compute);
        });
  }
  std::unique_ptr<StageCompute> compute;
  try {
    compute = make(own_->rank());
    run_rank(*own_, *compute);
  } catch (const std::exception& error) {
    own_->abort(error.what());
    throw;
  }
}

void Training::run_rank(Transport& transport, StageCompute& compute) {
  RankTraining rank({.setup = setup_,
                     .observer = observer_,
                     .start = start_,
                     .options = compute_ ? &*compute_ : nullptr,
                     .is_process = own_ != nullptr},
                    transport, compute);
  try {
    rank.run(outcome_);
  } catch (const AbortedError&) {
    if (setup_.recovers) survive(rank);
    throw;
  } catch (const ReplicaError&) {
    lost_ = kAll;
    throw;
  } catch (const std::exception&) {
    // The first rank that fails is the one that is lost. A second one leaves
    // too few to save everything, so it tells the others not to wait for it.
    int before = kNobody;
    const bool is_first =
        lost_.compare_exchange_strong(before, transport.rank());
    if (!is_first && setup_.recovers) rank.withdraw(before);
    throw;
  }
}

void Training::survive(RankTraining& rank) {
  const std::optional<Recovered> recovered =
      rank.survive(own_ != nullptr ? observer_.lost_rank() : wait_for_lost());
  if (!recovered) return;
  if (own_ != nullptr) return observer_.on_recovered(*recovered);
  const std::lock_guard lock(mutex_);
  recovered_ = recovered;
}

// Waits until the failed thread has set lost_, which it does after it has woken
// the others.
int Training::wait_for_lost() const {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  while (lost_ == kNobody && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lost_;
}

// Called in a catch block after all threads have ended. If the others could
// save the run without the failed rank, all ranks start again from that save.
// An error that occurs again at the same step is rethrown.
void Training::go_on_after(const std::string& reason) {
  if (!recovered_ || recovered_->step <= last_recovery_) throw;
  last_recovery_ = recovered_->step;
  recovered_->reason = reason;
  observer_.on_recovered(*recovered_);
  start_ = read_start(setup_, recovered_->path).value();
  tidy_checkpoints(setup_.config.run.dir, {});
  recovered_.reset();
  lost_ = kNobody;
  outcome_ = {};
}

}  // namespace

TrainOutcome train(const RunSetup& setup, TrainObserver& observer,
                   Transport* own) {
  return Training(setup, observer, own).run();
}

TrainOutcome train(const RunSetup& setup) {
  TrainObserver nobody;
  return train(setup, nobody);
}

LinkTimesPtr link_times(const RunSetup& setup) {
  if (!setup.is_emulated()) return nullptr;
  return make_emulated_links(emulated_costs(setup.config, setup.schedule),
                             num_ranks(setup.schedule));
}

}  // namespace chimera
