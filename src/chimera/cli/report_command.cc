// chimera report: makes one page from run directories.
#include <iostream>
#include <memory>
#include <vector>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"
#include "chimera/page/html.h"
#include "chimera/page/metrics.h"
#include "chimera/page/run_record.h"

namespace chimera {
namespace {

struct ReportCommand {
  std::vector<std::string> run_dirs;
  std::string output;

  int run(Values& values) const;
};

int ReportCommand::run(Values& values) const {
  if (run_dirs.empty()) {
    values.refuse({.code = "E402",
                   .found = "RUN_DIR",
                   .needed = "is missing: what `train` has written",
                   .hint = "chimera report runs/a -o report.html"});
  }
  const PageBudget budget = budget_for(run_dirs.size());
  std::vector<RunRecord> records;
  std::vector<MetricsFile> metrics;
  for (const std::string& path : run_dirs) {
    Result<RunRecord> record = read_run(path, budget);
    if (!record) {
      values.refuse(record.errors());
      continue;
    }
    records.push_back(std::move(record).value());
    metrics.emplace_back(path + "/metrics.jsonl", budget.curve_groups);
    metrics.back().read_more();
  }
  if (!values.errors().empty()) return print_errors(values.errors());
  std::vector<PageRun> runs;
  for (std::size_t i = 0; i < records.size(); ++i) {
    runs.push_back({records[i], metrics[i].metrics()});
  }
  const std::string path = output.empty() ? "report.html" : output;
  write_result(make_page(runs), path);
  if (path != "-") std::cerr << "wrote " << path << '\n';
  return kExitDone;
}

}  // namespace

void add_report_command(Command& program) {
  Command& command = program.add_command(
      "report", "Make one HTML page of a run, or of several side by side");
  auto state = std::make_shared<ReportCommand>();
  command.add_values("run_dir", state->run_dirs, "what `train` has written",
                     "RUN_DIR...");
  command.add_value("-o,--output", state->output,
                    "the page (default report.html; - is stdout)", "FILE");
  command.set_footer(
      "The page is one file that loads nothing: summary, curves, a step as\n"
      "planned and as measured (run.trace = true), where each worker's time "
      "and\n"
      "memory went, what happened, config and schedule. docs/report.md\n"
      "\nExamples:\n"
      "  chimera report runs/a                       writes report.html\n"
      "  chimera report runs/a runs/b -o both.html   side by side\n"
      "  chimera watch runs/a                        the same page, live");
  command.set_work([state](Values& values) { return state->run(values); });
}

}  // namespace chimera
