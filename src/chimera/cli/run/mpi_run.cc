#include "chimera/cli/run/mpi_run.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <optional>

#include "chimera/cli/console.h"
#include "chimera/cli/exit_codes.h"
#include "chimera/cli/run/build_id.h"
#include "chimera/cli/run/failure.h"
#include "chimera/cli/run/last_words.h"
#include "chimera/cli/run/run_config.h"
#include "chimera/cli/run/training.h"
#include "chimera/cli/run/watchdog.h"
#include "chimera/comm/bytes_payload.h"
#include "chimera/comm/comm_error.h"
#include "chimera/comm/mpi/mpi_transport.h"
#include "chimera/comm/mpi/session.h"
#include "chimera/exec/progress.h"
#include "chimera/train/handshake.h"

namespace chimera {
namespace {

// Beyond the steps of training, evaluation and what brings results together.
constexpr int kLastWordStep = (1 << 30) - 20;

// What rank 0 decides before the first step.
struct Verdict {
  int exit_code = 0;
  std::string run_dir;
  std::vector<std::string> hosts;  // [rank]
};

std::string pack_verdict(const Verdict& verdict) {
  std::vector<std::string> texts{std::to_string(verdict.exit_code),
                                 verdict.run_dir};
  texts.insert(texts.end(), verdict.hosts.begin(), verdict.hosts.end());
  return pack(texts);
}

Verdict unpack_verdict(const std::string& bytes) {
  const std::vector<std::string> texts = unpack_texts(bytes);
  return {.exit_code = std::stoi(texts.at(0)),
          .run_dir = texts.at(1),
          .hosts = {texts.begin() + 2, texts.end()}};
}

// A rank's own mistakes; where all ranks have the same ones, they are told
// once.
int print_own_errors(const std::vector<RankReport>& reports) {
  int exit_code = kExitDone;
  const auto& first = reports[0];
  bool all_same = true;
  for (const RankReport& report : reports) {
    if (report.exit_code == 0) {
      all_same = false;
      continue;
    }
    all_same = all_same && report.errors == first.errors;
    exit_code = exit_code == 0 ? report.exit_code
                               : std::min(exit_code, report.exit_code);
  }
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const RankReport& report = reports[rank];
    if (report.errors.empty()) continue;
    if (all_same) {
      std::cerr << report.errors;
      break;
    }
    std::cerr << fmt::format("on rank {} ({}):\n{}", rank, report.host,
                             report.errors);
  }
  return exit_code;
}

// One process of the run, from handshake to exit code.
class RankRun {
 public:
  RankRun(MpiSession& session, Signals& signals, Launcher launcher)
      : session_(session), signals_(signals), launcher_(launcher) {}

  int run(const Result<RunConfig>& config);

 private:
  [[nodiscard]] RankReport prepare(const Result<RunConfig>& config);
  [[nodiscard]] RankReport set_up_run(const Result<RunConfig>& config);
  [[nodiscard]] Verdict judge(const std::vector<RankReport>& reports);
  [[nodiscard]] bool has_right_size();
  void greet() const;
  [[nodiscard]] int train();
  [[nodiscard]] int take_part(Transport& transport, Flights& flights);
  [[nodiscard]] MpiOptions transport_options();
  [[nodiscard]] std::vector<std::string> rank_names() const;
  [[nodiscard]] bool is_first() const { return session_.rank() == 0; }
  [[nodiscard]] const Schedule& schedule() const { return setup_->schedule; }

  MpiSession& session_;
  Signals& signals_;
  Launcher launcher_;
  std::unique_ptr<RunSetup> setup_;
  std::optional<RunDirectory> directory_;  // of rank 0
  Verdict verdict_;
};

int RankRun::run(const Result<RunConfig>& config) {
  const RankReport mine = prepare(config);
  const std::chrono::seconds deadline(
      config ? static_cast<long>(std::ceil(config->run.timeout_s)) : 300);
  std::vector<RankReport> reports;
  for (const std::string& bytes : session_.gather(pack(mine), deadline)) {
    reports.push_back(unpack(bytes));
  }
  if (is_first()) verdict_ = judge(reports);
  verdict_ =
      unpack_verdict(session_.broadcast(pack_verdict(verdict_), deadline));
  if (verdict_.exit_code != kExitDone) return verdict_.exit_code;
  if (is_first()) greet();
  return train();
}

// What is thrown here is a report, too: the others wait for one.
RankReport RankRun::prepare(const Result<RunConfig>& config) {
  RankReport report;
  try {
    report = set_up_run(config);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    report = {.errors = "error: " + failure.text + "\n",
              .exit_code = failure.exit_code};
  }
  report.host = host_name();
  report.version = CHIMERA_VERSION;
  report.build = build_id();
  return report;
}

RankReport RankRun::set_up_run(const Result<RunConfig>& config) {
  Result<std::unique_ptr<RunSetup>> setup =
      config ? set_up_here(*config, session_.ranks_here()) : config.errors();
  RankReport report;
  if (setup) {
    setup_ = std::move(setup).value();
    report = report_of(*setup_);
    if (!has_right_size()) report.exit_code = kExitUsage;
  } else {
    for (const Diagnostic& error : setup.errors()) {
      report.errors += to_string(error) + "\n";
    }
    report.exit_code = exit_code_of(setup.errors());
  }
  return report;
}

// Said by every rank: under some launchers each has its own log.
bool RankRun::has_right_size() {
  const int needed = num_ranks(schedule());
  if (session_.size() == needed) return true;
  print_errors(
      {{.code = "E571",
        .where = fmt::format("rank {} ({})", session_.rank(), host_name()),
        .found = fmt::format("{} MPI ranks,", session_.size()),
        .needed = fmt::format("but width {} x depth {} is {} workers",
                              schedule().width, schedule().workers(), needed),
        .hint = fmt::format("mpirun -n {}", needed)}});
  return false;
}

Verdict RankRun::judge(const std::vector<RankReport>& reports) {
  Verdict verdict;
  for (const RankReport& report : reports) {
    verdict.hosts.push_back(report.host);
  }
  verdict.exit_code = print_own_errors(reports);
  if (verdict.exit_code != kExitDone) return verdict;
  const Diagnostics differences = compare(reports);
  if (!differences.empty()) {
    verdict.exit_code = print_errors(differences);
    return verdict;
  }
  verdict.run_dir = setup_->config.run.dir;
  try {
    Result<RunDirectory> created =
        RunDirectory::create(verdict.run_dir, setup_->config);
    if (created) {
      directory_.emplace(std::move(created).value());
    } else {
      verdict.exit_code = print_run_errors(created.errors());
    }
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    verdict.exit_code = failure.exit_code;
  }
  return verdict;
}

void RankRun::greet() const {
  for (const std::string& notice : setup_->notices) {
    std::cerr << "note: " << notice << '\n';
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 &&
      CPU_COUNT(&cores) < setup_->threads) {
    std::cerr << fmt::format(
        "note: each rank has {} threads but is bound to {} of the host's "
        "cores: start mpirun with --bind-to none\n",
        setup_->threads, CPU_COUNT(&cores));
  }
  const std::string ranks = fmt::format(
      "MPI ranks on {} host{} ({}, {})", session_.hosts(),
      session_.hosts() == 1 ? "" : "s", name_of(launcher_), session_.library());
  std::cerr << layout_text(*setup_, ranks)
            << "run directory: " << verdict_.run_dir << '\n';
}

std::vector<std::string> RankRun::rank_names() const {
  std::vector<std::string> names;
  names.reserve(session_.size());
  for (int rank = 0; rank < session_.size(); ++rank) {
    names.push_back(fmt::format("rank {} ({}, {})", rank, verdict_.hosts[rank],
                                describe_rank(schedule(), rank)));
  }
  return names;
}

MpiOptions RankRun::transport_options() {
  return {
      .deadline = std::chrono::duration<double>(setup_->config.run.timeout_s),
      .links = link_speed(*setup_),
      .groups = group_ranks(schedule()),
      .peers = peer_ranks(schedule(), session_.rank()),
      .cause = [] {
        const Failure failure = current_failure();
        return Cause{failure.exit_code, failure.text};
      }};
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
  transport.post_receive(id, 0, empty_bytes(sizeof exit_code));
  for (;;) {
    try {
      return from_payload<int>(*transport.receive(id, 0).payload);
    } catch (const TimeoutError&) {
      continue;
    }
  }
}

int RankRun::take_part(Transport& transport, Flights& flights) {
  const int exit_code =
      run_training({.setup = *setup_,
                    .directory = directory_ ? &*directory_ : nullptr,
                    .flights = flights,
                    .signals = signals_,
                    .site = {.own = &transport, .rank_names = rank_names()},
                    .hosts = session_.hosts()});
  if (is_first() && (exit_code == kExitDone || exit_code == kExitInterrupted)) {
    write_result(verdict_.run_dir + "\n", "");
  }
  return exit_code;
}

int RankRun::train() {
  const int rank = session_.rank();
  Flights flights(rank, 1);
  LastWords words({.schedule = schedule(),
                   .rank = rank,
                   .rank_names = rank_names(),
                   .run_dir = verdict_.run_dir,
                   .flights = flights});
  MpiOptions options = transport_options();
  options.speak = [&](const Ending& ending) { words.speak(ending); };
  options.leave = [&](int exit_code) { words.leave(exit_code); };
  // A failure before the first step is said and left like any other.
  const auto fail = [&](int exit_code, const std::string& reason) {
    words.speak({.exit_code = exit_code, .origin = rank, .reason = reason});
  };
  std::unique_ptr<MpiTransport> transport;
  std::atomic<MpiTransport*> ready = nullptr;
  signals_.handle(
      {.on_terminate =
           [&] {
             if (MpiTransport* at_work = ready) {
               at_work->hurry();
               if (is_first()) words.warn();
               return;
             }
             fail(kExitPeer, "asked to end (SIGTERM) before the first step");
             _exit(kExitPeer);
           },
       .on_quit =
           [&] { flights.write(verdict_.run_dir, rank_names(), "SIGQUIT"); },
       .is_quiet = !is_first()});
  {
    const Watchdog watchdog(
        "setting up communicators", options.deadline,
        [&](const std::string& text) { fail(kExitTimeout, text); });
    transport = make_mpi_transport(options);
  }
  words.set_transport(*transport);
  ready = transport.get();
  int exit_code = kExitDone;
  try {
    exit_code = take_part(*transport, flights);
    words.settle();
    exit_code = agree_on(exit_code, *transport);
  } catch (const std::exception& error) {
    transport->abort(error.what());  // ends the process
  }
  const Watchdog watchdog("leaving the run", options.deadline);
  signals_.handle({.is_quiet = true});
  transport.reset();
  return exit_code;
}

}  // namespace

int train_as_rank(const Result<RunConfig>& config, Launcher launcher) {
  Signals signals;  // before MPI's own threads
  const std::chrono::duration<double> deadline(config ? config->run.timeout_s
                                                      : 300);
  std::optional<MpiSession> session;
  try {
    {
      const Watchdog watchdog("MPI_Init", deadline);
      session.emplace();
    }
    const int exit_code = RankRun(*session, signals, launcher).run(config);
    const Watchdog watchdog("MPI_Finalize", deadline);
    session.reset();
    return exit_code;
  } catch (const TimeoutError& error) {
    // Nobody can be relied upon any more, MPI_Finalize included.
    std::cerr << fmt::format("error: {}: {}: rank {}\n", host_name(),
                             error.what(), error.peer());
    _exit(kExitTimeout);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << fmt::format("error: {}: {}\n", host_name(), failure.text);
    _exit(failure.exit_code);
  }
}

std::string mpi_library() { return MpiSession::library(); }

}  // namespace chimera
