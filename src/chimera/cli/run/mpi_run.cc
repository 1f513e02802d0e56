#include "chimera/cli/run/mpi_run.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <optional>

#include "chimera/cli/run/admission.h"
#include "chimera/cli/run/background_stderr.h"
#include "chimera/cli/run/failure.h"
#include "chimera/cli/run/last_words.h"
#include "chimera/cli/run/rescue.h"
#include "chimera/cli/run/training.h"
#include "chimera/cli/run/watchdog.h"
#include "chimera/comm/bytes_payload.h"
#include "chimera/comm/comm_error.h"
#include "chimera/console/console.h"
#include "chimera/console/exit_codes.h"
#include "chimera/exec/gather.h"
#include "chimera/exec/progress.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"

namespace chimera {
namespace {

// Beyond the steps of training, evaluation and what brings results together.
constexpr int kLastWordStep = (1 << 30) - 20;

Cause cause_of_failure() {
  const Failure failure = current_failure();
  // Replicas that differ: nobody's weights can be relied upon.
  return {.exit_code = failure.exit_code,
          .reason = failure.text,
          .can_recover = failure.exit_code != kExitNumeric};
}

// All ranks make their communicators together: MPI waits for each, for ever.
std::unique_ptr<MpiTransport> make_transport(const MpiOptions& options,
                                             Watchdog::Say say) {
  const Watchdog watchdog("setting up communicators", options.deadline,
                          std::move(say));
  return make_mpi_transport(options);
}

// Without destructors, which may wait for threads that are stuck.
[[noreturn]] void leave(int exit_code) {
  flush_stderr(std::chrono::seconds(1));
  _exit(exit_code);
}

// MPI from its beginning to its end around `work`, which gives the exit code.
// Where that fails nobody can be relied upon any more, MPI_Finalize included.
int within_session(std::chrono::duration<double> deadline,
                   const std::function<int(MpiSession& session)>& work) {
  std::optional<MpiSession> session;
  try {
    {
      const Watchdog watchdog("MPI_Init", deadline);
      session.emplace();
    }
    const int exit_code = work(*session);
    const Watchdog watchdog("MPI_Finalize", deadline);
    session.reset();
    return exit_code;
  } catch (const TimeoutError& error) {
    std::cerr << fmt::format("error: {}: {}: rank {}\n", host_name(),
                             error.what(), error.peer());
    leave(kExitTimeout);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << fmt::format("error: {}: {}\n", host_name(), failure.text);
    leave(failure.exit_code);
  }
}

// One process of the run, from its admission to its exit code.
class RankRun {
 public:
  RankRun(MpiSession& session, Signals& signals, Admission admission)
      : session_(session),
        signals_(signals),
        admission_(std::move(admission)) {}

  int run(Launcher launcher);

 private:
  void greet(Launcher launcher) const;
  [[nodiscard]] int train();
  [[nodiscard]] int take_part(Transport& transport, Flights& flights,
                              Rescue& rescue);
  [[nodiscard]] MpiOptions transport_options();
  [[nodiscard]] std::vector<std::string> rank_names() const;
  [[nodiscard]] bool is_first() const { return session_.rank() == 0; }
  [[nodiscard]] const Schedule& schedule() const {
    return admission_.setup->schedule;
  }

  MpiSession& session_;
  Signals& signals_;
  Admission admission_;
};

int RankRun::run(Launcher launcher) {
  if (is_first()) greet(launcher);
  return train();
}

void RankRun::greet(Launcher launcher) const {
  for (const std::string& notice : admission_.setup->notices) {
    std::cerr << "note: " << notice << '\n';
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 &&
      CPU_COUNT(&cores) < admission_.setup->threads) {
    std::cerr << fmt::format(
        "note: each rank has {} threads but is bound to {} of the host's "
        "cores: start mpirun with --bind-to none\n",
        admission_.setup->threads, CPU_COUNT(&cores));
  }
  const std::string ranks = fmt::format(
      "MPI ranks on {} host{} ({}, {})", session_.hosts(),
      session_.hosts() == 1 ? "" : "s", name_of(launcher), session_.library());
  std::cerr << layout_text(*admission_.setup, ranks)
            << "run directory: " << admission_.run_dir << '\n'
            << admission_.resumed
            << Rescue::warning(*admission_.setup, launcher);
}

std::vector<std::string> RankRun::rank_names() const {
  std::vector<std::string> names;
  names.reserve(session_.size());
  for (int rank = 0; rank < session_.size(); ++rank) {
    names.push_back(fmt::format("rank {} ({}, {})", rank,
                                admission_.hosts[rank],
                                describe_rank(schedule(), rank)));
  }
  return names;
}

MpiOptions RankRun::transport_options() {
  return {.deadline = std::chrono::duration<double>(
              admission_.setup->config.run.timeout_s),
          .links = link_speed(*admission_.setup),
          .groups = group_ranks(schedule()),
          .peers = peer_ranks(schedule(), session_.rank()),
          .cause = cause_of_failure};
}

// All ranks end with rank 0's code, once it has written what is to be written.
// That may take its time; if rank 0 is lost meanwhile, the transport says so.
int agree_on(int exit_code, Transport& transport) {
  const MessageId id{0, kLastWordStep};
  if (transport.rank() == 0) {
    for (int rank = 1; rank < transport.size(); ++rank) {
      transport.send(id, rank, to_payload(exit_code));
    }
    return exit_code;
  }
  return receive_value<int>(transport, id, 0, [] {});
}

int RankRun::take_part(Transport& transport, Flights& flights, Rescue& rescue) {
  const int exit_code = run_training(
      {.setup = *admission_.setup,
       .directory = admission_.directory ? &*admission_.directory : nullptr,
       .flights = flights,
       .signals = signals_,
       .site = {.own = &transport,
                .rank_names = rank_names(),
                .run_dir = admission_.run_dir,
                .lost = [&] { return rescue.lost(); }},
       .on_recovered =
           [&](const Recovered& recovered) { rescue.finish(recovered); },
       .hosts = session_.hosts()});
  if (is_first() && ends_well(exit_code)) {
    write_result(admission_.run_dir + "\n", "");
  }
  return exit_code;
}

int RankRun::train() {
  const int rank = session_.rank();
  Flights flights(rank, 1);
  LastWords words({.schedule = schedule(),
                   .rank = rank,
                   .rank_names = rank_names(),
                   .run_dir = admission_.run_dir,
                   .flights = flights});
  MpiOptions options = transport_options();
  std::unique_ptr<MpiTransport> transport;
  std::atomic<MpiTransport*> ready = nullptr;
  Rescue rescue({.is_on = admission_.setup->recovers,
                 .run_dir = admission_.run_dir,
                 .rank = rank,
                 .ranks = session_.size(),
                 .first_step = admission_.setup->start.step,
                 .patience = options.deadline});
  options.speak = [&](const Ending& ending) {
    words.speak(ending);
    MpiTransport* at_work = ready;
    if (at_work != nullptr && rescue.begin(ending)) {
      at_work->release(ending.reason);
    }
  };
  options.leave = [&](int exit_code) {
    const std::optional<int> saved = rescue.wait();
    if (saved) words.leave_saved(*saved);
    words.leave(exit_code);
  };
  // A failure before the first step is said and left like any other.
  const auto fail = [&](int exit_code, const std::string& reason) {
    words.speak({.exit_code = exit_code, .origin = rank, .reason = reason});
  };
  signals_.handle(
      {.on_terminate =
           [&](int sender) {
             if (MpiTransport* at_work = ready) {
               if (!is_mpirun(sender)) return;
               at_work->expect_kill(std::chrono::duration_cast<Clock::duration>(
                   mpirun_kill_delay()));
               if (is_first()) words.warn();
               return;
             }
             fail(kExitPeer, "asked to end (SIGTERM) before the first step");
             leave(kExitPeer);
           },
       .on_quit =
           [&] { flights.write(admission_.run_dir, rank_names(), "SIGQUIT"); },
       .is_quiet = !is_first()});
  transport = make_transport(
      options, [&](const std::string& text) { fail(kExitTimeout, text); });
  words.set_transport(*transport);
  ready = transport.get();
  int exit_code = kExitDone;
  try {
    exit_code = take_part(*transport, flights, rescue);
    words.settle();
    exit_code = agree_on(exit_code, *transport);
  } catch (const std::exception& error) {
    transport->abort(error.what());  // ends the process
    rescue.give_up(error.what());    // unless the run was to be saved first
    Rescue::wait_for_the_end();
  }
  const Watchdog watchdog("leaving the run", options.deadline);
  signals_.handle({.is_quiet = true});
  transport.reset();
  return exit_code;
}

// What a rank that takes part in no run says of the end.
std::string last_word(const Ending& ending, int rank) {
  const auto silence = [&] {
    return fmt::format("not heard for {:.1f} s", ending.silent_s);
  };
  const bool is_found_lost = ending.lost >= 0 && !ending.is_self_reported();
  if (is_found_lost && ending.lost == rank) {
    return fmt::format("{} by rank {}: was it stopped?", silence(),
                       ending.origin);
  }
  if (is_found_lost) {
    return fmt::format("lost rank {}: {}", ending.lost,
                       ending.is_dead ? "its process has died" : silence());
  }
  // Below 0: the thread that would have told the others has failed itself.
  if (ending.origin == rank || ending.origin < 0) return ending.reason;
  return fmt::format("ended by rank {}: {}", ending.origin, ending.reason);
}

MpiOptions work_options(const RankWork& work, const MpiSession& session) {
  const int rank = session.rank();
  std::vector<int> peers;
  for (int other = 0; other < session.size(); ++other) {
    if (other != rank) peers.push_back(other);
  }
  return {.deadline = work.deadline,
          .groups = work.groups,
          .peers = peers,
          .cause = cause_of_failure,
          .speak =
              [rank](const Ending& ending) {
                std::cerr << fmt::format("error: rank {} ({}): {}\n", rank,
                                         host_name(), last_word(ending, rank));
              },
          .leave = leave};
}

}  // namespace

int train_as_rank(const Result<RunConfig>& config, bool resume,
                  Launcher launcher) {
  Signals signals;  // before MPI's own threads
  const std::chrono::duration<double> deadline(config ? config->run.timeout_s
                                                      : 300);
  return within_session(deadline, [&](MpiSession& session) {
    Admission admission = admit(session, config, resume);
    if (admission.exit_code != kExitDone) return admission.exit_code;
    return RankRun(session, signals, std::move(admission)).run(launcher);
  });
}

int run_as_rank(
    const RankWork& work, Launcher launcher,
    const std::function<void(Transport& transport, int ranks_here)>& body) {
  return within_session(work.deadline, [&](MpiSession& session) -> int {
    if (session.size() != work.ranks) {
      if (session.rank() == 0) {
        print_errors({{.code = "E571",
                       .found = fmt::format("{} ranks by {}", session.size(),
                                            name_of(launcher)),
                       .needed = fmt::format("must be {}, one for each worker",
                                             work.ranks)}});
      }
      return kExitUsage;
    }
    std::unique_ptr<MpiTransport> transport =
        make_transport(work_options(work, session), {});
    try {
      body(*transport, session.ranks_here());
    } catch (const std::exception& error) {
      transport->abort(error.what());  // ends the process
    }
    const Watchdog watchdog("leaving the others", work.deadline);
    transport.reset();
    return kExitDone;
  });
}

std::string mpi_library() { return MpiSession::library(); }

}  // namespace chimera
