// One process of a run, from its admission to its exit code.
#include <fmt/format.h>

#include <atomic>

#include "chimera/comm/bytes_payload.h"
#include "chimera/comm/exchange.h"
#include "chimera/exec/program.h"
#include "chimera/exec/progress.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/run/cores.h"
#include "chimera/run/failure.h"
#include "chimera/run/ranks.h"
#include "chimera/run/ranks/admission.h"
#include "chimera/run/ranks/exit_report.h"
#include "chimera/run/ranks/session.h"
#include "chimera/run/ranks/watchdog.h"
#include "chimera/run/run_writer.h"
#include "chimera/schedule/micro_index.h"
#include "chimera/train/peak_flops.h"

namespace chimera {
namespace {

class RankRun final : EndingHandler {
 public:
  RankRun(MpiSession& session, Signals& signals, Admission admission,
          Launcher launcher, RunObserver& observer);

  [[nodiscard]] RunEnd run();

 private:
  [[nodiscard]] Cause cause_of_exception() override {
    return cause_of_failure();
  }
  void report(const Ending& ending) override;
  [[noreturn]] void leave(FailureKind kind) override;

  [[nodiscard]] std::string ranks_text() const;
  void say_binding() const;
  void handle_signals();
  void on_terminate(int sender);
  [[nodiscard]] MpiOptions transport_options();
  [[nodiscard]] double measure_peak();
  [[nodiscard]] RunEnd train();
  [[nodiscard]] const RunSetup& setup() const { return *admission_.setup; }
  [[nodiscard]] const std::string& run_dir() const {
    return setup().config.run.dir;
  }

  MpiSession& session_;
  Signals& signals_;
  Admission admission_;
  Launcher launcher_;
  RunObserver& observer_;
  int rank_;
  std::chrono::duration<double> deadline_;
  Flights flights_;
  ExitReport report_;
  SurvivorSave survivors_;
  // The transport, once it exists.
  std::atomic<MpiTransport*> at_work_ = nullptr;
};

RankRun::RankRun(MpiSession& session, Signals& signals, Admission admission,
                 Launcher launcher, RunObserver& observer)
    : session_(session),
      signals_(signals),
      admission_(std::move(admission)),
      launcher_(launcher),
      observer_(observer),
      rank_(session.rank()),
      deadline_(setup().config.run.timeout_s),
      flights_(rank_, 1),
      report_({.schedule = setup().schedule,
               .rank = rank_,
               .rank_names = setup().rank_names,
               .run_dir = run_dir(),
               .flights = flights_,
               .observer = observer}),
      survivors_({.is_on = setup().recovers,
                  .run_dir = run_dir(),
                  .rank = rank_,
                  .ranks = session.size(),
                  .first_step = setup().start.step,
                  .patience = deadline_},
                 observer) {}

std::string RankRun::ranks_text() const {
  return fmt::format("MPI ranks on {} host{} ({}, {})", session_.hosts(),
                     session_.hosts() == 1 ? "" : "s", name_of(launcher_),
                     session_.library());
}

void RankRun::say_binding() const {
  const int cores = usable_cores();
  if (cores >= setup().threads) return;
  observer_.say(
      fmt::format("note: each rank has {} threads but is bound to {} of the "
                  "host's cores: start mpirun with --bind-to none\n",
                  setup().threads, cores));
}

// A launcher's SIGTERM may mean that a peer is dead and that this process will
// be killed soon.
void RankRun::on_terminate(int sender) {
  MpiTransport* transport = at_work_;
  if (transport == nullptr) {
    report_.report({.kind = FailureKind::kPeerLost,
                    .origin = rank_,
                    .reason = "asked to end (SIGTERM) before the first step"});
    leave_process(kExitPeer, observer_);
  }
  if (!is_mpirun(sender)) return;
  transport->expect_kill(
      std::chrono::duration_cast<Clock::duration>(mpirun_kill_delay()));
  if (rank_ == 0) report_.warn();
}

void RankRun::handle_signals() {
  Signals::Handlers handlers{
      .on_terminate = [this](int sender) { on_terminate(sender); },
      .on_quit =
          [this] { flights_.write(run_dir(), setup().rank_names, "SIGQUIT"); }};
  if (rank_ == 0) {
    handlers.say = [this](const std::string& text) { observer_.say(text); };
  }
  signals_.handle(handlers);
}

MpiOptions RankRun::transport_options() {
  return {.deadline = deadline_,
          .links = link_times(setup()),
          .groups = group_ranks(setup().schedule),
          .peers = peer_ranks(setup().schedule, rank_),
          .messages = std::max(
              MpiOptions::kFewMessages,
              static_cast<std::int64_t>(MicroIndex(setup().schedule).size())),
          .handler = *this};
}

void RankRun::report(const Ending& ending) {
  report_.report(ending);
  MpiTransport* transport = at_work_;
  if (transport != nullptr && survivors_.begin(ending)) {
    transport->release(ending.reason);
  }
}

void RankRun::leave(FailureKind kind) {
  const std::optional<int> saved = survivors_.wait();
  if (saved) report_.leave_saved(*saved);
  report_.leave(exit_code_of(kind));
}

// All ranks measure at the same time, because they share caches and memory.
double RankRun::measure_peak() {
  if (setup().is_emulated()) return 0;
  const int ranks_here = session_.ranks_here();
  const double cores = std::min<double>(
      setup().threads, 1.0 * cores_of_ranks(ranks_here) / ranks_here);
  return sum_of_peaks(*at_work_, [&] {
    return cores *
           measure_core_flops(setup().threads, setup().config.train.precision);
  });
}

RunEnd RankRun::train() {
  const RunStart start = {.setup = setup(),
                          .ranks = ranks_text(),
                          .run_dir = run_dir(),
                          .resumed = admission_.resumed,
                          .hosts = admission_.hosts,
                          .version = admission_.version,
                          .flops_per_step = flops_per_step(setup()),
                          .peak_flops = measure_peak()};
  if (rank_ == 0) {
    observer_.on_start(start);
    say_binding();
    observer_.say(SurvivorSave::warning(setup(), launcher_));
  }
  RunWriter writer(
      {.start = start,
       .directory = admission_.directory ? &*admission_.directory : nullptr,
       .flights = flights_,
       .signals = signals_,
       .observer = observer_,
       .survivors = &survivors_});
  writer.start();
  const TrainOutcome outcome = chimera::train(setup(), writer, at_work_);
  RunEnd end{.code = writer.finish(outcome),
             .steps = outcome.steps,
             .run_dir = run_dir()};
  if (rank_ == 0) observer_.on_end(end);
  return end;
}

RunEnd RankRun::run() {
  handle_signals();
  std::unique_ptr<MpiTransport> transport = make_transport(
      transport_options(), observer_, [this](const std::string& text) {
        report_.report(
            {.kind = FailureKind::kTimeout, .origin = rank_, .reason = text});
      });
  report_.set_transport(*transport);
  at_work_ = transport.get();
  RunEnd end;
  try {
    end = train();
    report_.settle();
    // By now rank 0 has written everything.
    end.code =
        broadcast_value(*transport, end.code, {.channel = Channel::kExit});
  } catch (const std::exception& error) {
    transport->abort(error.what());  // ends the process
    // Reached only if survivors save the run first.
    survivors_.give_up(error.what());
    SurvivorSave::wait_for_the_end();
  }
  // A transport ends together with those of its peers, one of which may hang.
  const Watchdog watchdog("leaving the run", deadline_, observer_);
  signals_.handle({});
  transport.reset();
  return end;
}

}  // namespace

RunEnd run_as_rank(const Result<RunConfig>& config, const RunOptions& options,
                   Launcher launcher, RunObserver& observer) {
  Signals signals;  // before MPI's own threads
  const std::chrono::duration<double> deadline(config ? config->run.timeout_s
                                                      : 300);
  RunEnd end;
  end.code = within_session(deadline, observer, [&](MpiSession& session) {
    Admission admission = admit(session, config, options, observer);
    if (admission.code != kExitDone) return admission.code;
    end = RankRun(session, signals, std::move(admission), launcher, observer)
              .run();
    return end.code;
  });
  return end;
}

}  // namespace chimera
