#include "chimera/run/ranks/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "chimera/base/exit_codes.h"
#include "chimera/base/host_name.h"
#include "chimera/exec/program.h"
#include "chimera/exec/progress.h"
#include "chimera/run/build_id.h"
#include "chimera/run/failure.h"
#include "chimera/run/ranks/handshake.h"
#include "chimera/run/resume_point.h"
#include "chimera/run/setup_here.h"

namespace chimera {
namespace {

// Rank 0's decision before the first step.
struct Verdict {
  ExitCode code = kExitDone;
  std::string run_dir;
  std::vector<std::string> hosts;  // [rank]
};

std::string pack_verdict(const Verdict& verdict) {
  std::vector<std::string> texts{std::to_string(verdict.code), verdict.run_dir};
  texts.insert(texts.end(), verdict.hosts.begin(), verdict.hosts.end());
  return pack(texts);
}

Verdict unpack_verdict(const std::string& bytes) {
  const std::vector<std::string> texts = unpack_texts(bytes);
  return {.code = static_cast<ExitCode>(std::stoi(texts.at(0))),
          .run_dir = texts.at(1),
          .hosts = {texts.begin() + 2, texts.end()}};
}

// Reports the mistakes that ranks found by themselves; only once if all found
// the same.
ExitCode say_own_errors(const std::vector<RankReport>& reports,
                        RunObserver& observer) {
  ExitCode code = kExitDone;
  const auto& first = reports[0];
  bool all_same = true;
  for (const RankReport& report : reports) {
    if (report.code == kExitDone) {
      all_same = false;
      continue;
    }
    all_same = all_same && report.errors == first.errors;
    code = code == kExitDone ? report.code : std::min(code, report.code);
  }
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const RankReport& report = reports[rank];
    if (report.errors.empty()) continue;
    if (all_same) {
      observer.say(report.errors);
      break;
    }
    observer.say(
        fmt::format("on rank {} ({}):\n{}", rank, report.host, report.errors));
  }
  return code;
}

class Admitting {
 public:
  Admitting(MpiSession& session, const RunOptions& options,
            RunObserver& observer)
      : session_(session), options_(options), observer_(observer) {}

  [[nodiscard]] Admission run(const Result<RunConfig>& config);

 private:
  [[nodiscard]] RankReport prepare(const Result<RunConfig>& config);
  [[nodiscard]] RankReport set_up_run(const Result<RunConfig>& config);
  [[nodiscard]] bool has_right_size();
  void complete(const Verdict& verdict);
  [[nodiscard]] Verdict judge(const std::vector<RankReport>& reports);
  // The exit code, then the path of the checkpoint.
  using Choice = std::vector<std::string>;
  [[nodiscard]] Choice find_checkpoint(const Result<RunConfig>& config);
  [[nodiscard]] ExitCode choose_checkpoint(const Result<RunConfig>& config,
                                           std::chrono::seconds deadline);

  MpiSession& session_;
  const RunOptions& options_;
  RunObserver& observer_;
  // Complete on rank 0; elsewhere only the checkpoint's path.
  ResumePoint point_;
  Admission admission_;
};

Admission Admitting::run(const Result<RunConfig>& config) {
  const std::chrono::seconds deadline(
      config ? static_cast<long>(std::ceil(config->run.timeout_s)) : 300);
  if (options_.resume) {
    admission_.code = choose_checkpoint(config, deadline);
    if (admission_.code != kExitDone) return std::move(admission_);
  }
  // Every rank reads its own files; rank 0 compares what all have read, and its
  // verdict decides for all.
  const RankReport mine = prepare(config);
  std::vector<RankReport> reports;
  for (const std::string& bytes : session_.gather(pack(mine), deadline)) {
    reports.push_back(unpack(bytes));
  }
  Verdict verdict;
  if (session_.rank() == 0) verdict = judge(reports);
  verdict = unpack_verdict(session_.broadcast(pack_verdict(verdict), deadline));
  admission_.code = verdict.code;
  if (verdict.code == kExitDone) complete(verdict);
  return std::move(admission_);
}

void Admitting::complete(const Verdict& verdict) {
  RunSetup& setup = *admission_.setup;
  setup.config.run.dir = verdict.run_dir;
  admission_.hosts = verdict.hosts;
  admission_.version = options_.version;
  for (int rank = 0; rank < session_.size(); ++rank) {
    setup.rank_names.push_back(
        fmt::format("rank {} ({}, {})", rank, verdict.hosts[rank],
                    describe_rank(setup.schedule, rank)));
  }
}

// Rank 0 reads the checkpoints and all ranks use the one that it finds. Reading
// may take longer than any deadline, so rank 0 regularly tells the others that
// it is still working.
ExitCode Admitting::choose_checkpoint(const Result<RunConfig>& config,
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
  return static_cast<ExitCode>(std::stoi(choice.at(0)));
}

Admitting::Choice Admitting::find_checkpoint(const Result<RunConfig>& config) {
  if (!config) return {std::to_string(kExitDone), ""};  // prepare() reports it
  try {
    const Result<ResumePoint> found = find_resume_point(config->run.dir);
    if (!found)
      return {std::to_string(say_errors(found.errors(), observer_)), ""};
    point_ = *found;
    return {std::to_string(kExitDone), point_.checkpoint};
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    observer_.say("error: " + failure.text + "\n");
    return {std::to_string(failure.code()), ""};
  }
}

// Exceptions become part of the report, because the other ranks wait for one.
RankReport Admitting::prepare(const Result<RunConfig>& config) {
  RankReport report;
  try {
    report = set_up_run(config);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    report = {.errors = "error: " + failure.text + "\n",
              .code = failure.code()};
  }
  report.host = host_name();
  report.version = options_.version;
  report.build = build_id();
  return report;
}

RankReport Admitting::set_up_run(const Result<RunConfig>& config) {
  Result<std::unique_ptr<RunSetup>> setup =
      config ? set_up_here(*config, {.checkpoint = point_.checkpoint,
                                     .ranks_here = session_.ranks_here(),
                                     .local_rank = session_.local_rank(),
                                     .own_model = options_.own_model,
                                     .scans_data = session_.rank() == 0})
             : config.errors();
  RankReport report;
  if (setup) {
    admission_.setup = std::move(setup).value();
    report = report_of(*admission_.setup);
    if (!has_right_size()) report.code = kExitUsage;
  } else {
    for (const Diagnostic& error : setup.errors()) {
      report.errors += to_string(error) + "\n";
    }
    report.code = exit_code_of(setup.errors());
  }
  return report;
}

// Every rank reports it: under some launchers each has its own log.
bool Admitting::has_right_size() {
  const Schedule& schedule = admission_.setup->schedule;
  const int needed = num_ranks(schedule);
  if (session_.size() == needed) return true;
  say_errors(
      {{.code = "E571",
        .where = fmt::format("rank {} ({})", session_.rank(), host_name()),
        .found = fmt::format("{} MPI ranks,", session_.size()),
        .needed = fmt::format("but width {} x depth {} is {} workers",
                              schedule.width, schedule.workers(), needed),
        .hint = fmt::format("mpirun -n {}", needed)}},
      observer_);
  return false;
}

Verdict Admitting::judge(const std::vector<RankReport>& reports) {
  Verdict verdict;
  for (const RankReport& report : reports) {
    verdict.hosts.push_back(report.host);
  }
  verdict.code = say_own_errors(reports, observer_);
  if (verdict.code != kExitDone) return verdict;
  const Diagnostics differences = compare(reports);
  if (!differences.empty()) {
    verdict.code = say_errors(differences, observer_);
    return verdict;
  }
  // Nothing of the run was written so far: that begins once all ranks agree.
  verdict.run_dir = admission_.setup->config.run.dir;
  try {
    Result<RunDirectory> created =
        open_run_directory(verdict.run_dir, *admission_.setup,
                           options_.resume ? &point_ : nullptr, observer_);
    if (created) {
      admission_.directory.emplace(std::move(created).value());
      if (options_.resume)
        admission_.resumed = resume_text(point_, *admission_.setup);
    } else {
      verdict.code = say_errors(created.errors(), observer_);
    }
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    observer_.say("error: " + failure.text + "\n");
    verdict.code = failure.code();
  }
  return verdict;
}

}  // namespace

Admission admit(MpiSession& session, const Result<RunConfig>& config,
                const RunOptions& options, RunObserver& observer) {
  return Admitting(session, options, observer).run(config);
}

}  // namespace chimera
