#include "chimera/cli/run/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <iostream>

#include "chimera/cli/run/build_id.h"
#include "chimera/cli/run/failure.h"
#include "chimera/cli/run/resume_point.h"
#include "chimera/cli/run/run_config.h"
#include "chimera/console/console.h"
#include "chimera/console/exit_codes.h"
#include "chimera/exec/program.h"
#include "chimera/train/handshake.h"

namespace chimera {
namespace {

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

class Admitting {
 public:
  Admitting(MpiSession& session, bool resume)
      : session_(session), resume_(resume) {}

  [[nodiscard]] Admission run(const Result<RunConfig>& config);

 private:
  [[nodiscard]] RankReport prepare(const Result<RunConfig>& config);
  [[nodiscard]] RankReport set_up_run(const Result<RunConfig>& config);
  [[nodiscard]] bool has_right_size();
  [[nodiscard]] Verdict judge(const std::vector<RankReport>& reports);
  // An exit code and the path of a checkpoint.
  using Choice = std::vector<std::string>;
  [[nodiscard]] Choice find_checkpoint(const Result<RunConfig>& config);
  [[nodiscard]] int choose_checkpoint(const Result<RunConfig>& config,
                                      std::chrono::seconds deadline);

  MpiSession& session_;
  bool resume_;
  ResumePoint point_;  // rank 0's; on others only which checkpoint
  Admission admission_;
};

Admission Admitting::run(const Result<RunConfig>& config) {
  const std::chrono::seconds deadline(
      config ? static_cast<long>(std::ceil(config->run.timeout_s)) : 300);
  if (resume_) {
    admission_.exit_code = choose_checkpoint(config, deadline);
    if (admission_.exit_code != kExitDone) return std::move(admission_);
  }
  const RankReport mine = prepare(config);
  std::vector<RankReport> reports;
  for (const std::string& bytes : session_.gather(pack(mine), deadline)) {
    reports.push_back(unpack(bytes));
  }
  Verdict verdict;
  if (session_.rank() == 0) verdict = judge(reports);
  verdict = unpack_verdict(session_.broadcast(pack_verdict(verdict), deadline));
  admission_.exit_code = verdict.exit_code;
  admission_.run_dir = verdict.run_dir;
  admission_.hosts = verdict.hosts;
  return std::move(admission_);
}

// Rank 0 reads them, and all take the one that it finds. That may take longer
// than any deadline, so it tells the others now and then that it is at work.
int Admitting::choose_checkpoint(const Result<RunConfig>& config,
                                 std::chrono::seconds deadline) {
  const Choice at_work;
  Choice choice;
  if (session_.rank() == 0) {
    std::future<Choice> chosen =
        std::async(std::launch::async, [&] { return find_checkpoint(config); });
    const std::chrono::duration<double> patience = deadline;
    while (chosen.wait_for(patience / 4) != std::future_status::ready) {
      (void)session_.broadcast(pack(at_work), deadline);
    }
    choice = chosen.get();
    (void)session_.broadcast(pack(choice), deadline);
  } else {
    do {
      choice = unpack_texts(session_.broadcast("", deadline));
    } while (choice == at_work);
  }
  point_.checkpoint = choice.at(1);
  return std::stoi(choice.at(0));
}

Admitting::Choice Admitting::find_checkpoint(const Result<RunConfig>& config) {
  if (!config) return {std::to_string(kExitDone), ""};  // prepare() says it
  try {
    const Result<ResumePoint> found = find_resume_point(config->run.dir);
    if (!found) return {std::to_string(print_run_errors(found.errors())), ""};
    point_ = *found;
    return {std::to_string(kExitDone), point_.checkpoint};
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    return {std::to_string(failure.exit_code), ""};
  }
}

// What is thrown here is a report, too: the others wait for one.
RankReport Admitting::prepare(const Result<RunConfig>& config) {
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

RankReport Admitting::set_up_run(const Result<RunConfig>& config) {
  Result<std::unique_ptr<RunSetup>> setup =
      config ? set_up_here(*config, point_.checkpoint, session_.ranks_here())
             : config.errors();
  RankReport report;
  if (setup) {
    admission_.setup = std::move(setup).value();
    report = report_of(*admission_.setup);
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
bool Admitting::has_right_size() {
  const Schedule& schedule = admission_.setup->schedule;
  const int needed = num_ranks(schedule);
  if (session_.size() == needed) return true;
  print_errors(
      {{.code = "E571",
        .where = fmt::format("rank {} ({})", session_.rank(), host_name()),
        .found = fmt::format("{} MPI ranks,", session_.size()),
        .needed = fmt::format("but width {} x depth {} is {} workers",
                              schedule.width, schedule.workers(), needed),
        .hint = fmt::format("mpirun -n {}", needed)}});
  return false;
}

Verdict Admitting::judge(const std::vector<RankReport>& reports) {
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
  verdict.run_dir = admission_.setup->config.run.dir;
  try {
    Result<RunDirectory> created = open_run_directory(
        verdict.run_dir, *admission_.setup, resume_ ? &point_ : nullptr);
    if (created) {
      admission_.directory.emplace(std::move(created).value());
      if (resume_) admission_.resumed = resume_text(point_, *admission_.setup);
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

}  // namespace

Admission admit(MpiSession& session, const Result<RunConfig>& config,
                bool resume) {
  return Admitting(session, resume).run(config);
}

}  // namespace chimera
