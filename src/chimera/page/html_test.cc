#include "chimera/page/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chimera/page/run_directory_for_tests.h"

namespace chimera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestRun;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";

std::string page_of(const std::vector<const TestRun*>& runs) {
  const PageBudget budget = budget_for(runs.size());
  std::vector<RunRecord> records;
  std::vector<MetricsFile> metrics;
  for (const TestRun* run : runs) {
    records.push_back(read_run(run->path(), budget).value());
    metrics.emplace_back(run->file("metrics.jsonl"), budget.curve_groups);
    metrics.back().read_more();
  }
  std::vector<PageRun> parts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    parts.push_back({records[i], metrics[i].metrics()});
  }
  return make_page(parts);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Html, SummaryNeedsNoScript) {
  const TestRun run;
  run.write_config();
  run.write_schedule();
  run.add_steps(1, 10);
  run.write("state.json", R"({"state":"done","step":10,"exit":0})");
  const std::string page = page_of({&run});
  const std::string summary = page.substr(0, page.find("id=\"data\""));
  EXPECT_THAT(summary, HasSubstr("<dt>Loss</dt><dd>0.5</dd>"));
  EXPECT_THAT(summary, HasSubstr("<td>chimera</td>"));
  EXPECT_THAT(summary, HasSubstr("<dd>10 of 100</dd>"));
}

// The summary of several runs has a table of what differs; what they have in
// common is listed once and folded. It needs no script.
TEST(Html, ComparesWhatDiffers) {
  const TestRun run;
  run.write_config();
  run.write_schedule();
  run.add_steps(1, 10);
  const TestRun other("other");
  other.write_config();
  other.write_schedule();
  other.add_steps(1, 20);
  const std::string page = page_of({&run, &other});
  const std::string summary = page.substr(0, page.find("id=\"data\""));
  const std::size_t fold = summary.find("The same in all 2 runs");
  ASSERT_NE(fold, std::string::npos);
  const std::string table = summary.substr(0, fold);
  EXPECT_THAT(table, HasSubstr("<td>10 of 100</td><td>20 of 100</td>"));
  EXPECT_THAT(table, Not(HasSubstr("Hidden size")));
  EXPECT_EQ(count(summary.substr(fold), "Hidden size"), 1u);
}

TEST(Html, LoadsNothing) {
  const TestRun run;
  run.write_config();
  const std::string page = page_of({&run});
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
}

TEST(Html, TextOfStrangersIsNeverMarkup) {
  const TestRun run("a<b>&'\"");
  run.write("config.toml", std::string("# ") + kHostile +
                               "\n[model]\nkind = \"emulated\"\n"
                               "forward_ms = 1\ninput_grad_ms = 1\n"
                               "weight_grad_ms = 1\n[schedule]\n"
                               "scheme = \"chimera\"\ndepth = 4\nmicros = 4\n"
                               "micro_batch = 1\n[train]\nsteps = 1\n");
  run.write("machine.json", std::string("{\"hosts\":[{\"name\":\"") + kHostile +
                                "\",\"ranks\":[0]}]}");
  run.write("events.jsonl", std::string("{\"step\":1,\"kind\":\"") + kHostile +
                                "\",\"text\":\"" + kHostile + "\"}\n");
  run.write("state.json",
            std::string("{\"state\":\"") + kHostile + "\",\"step\":1}");
  run.write("flight/rank_0.txt", kHostile);
  const std::string page = page_of({&run});
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b>&")));
  EXPECT_EQ(count(page, "</script>"), 2u);  // one for data, one for script
}

TEST(Html, ComparesRunsInOneTable) {
  const TestRun first("first");
  const TestRun second("second");
  for (const TestRun* run : {&first, &second}) run->write_config();
  first.add_steps(1, 10);
  second.add_steps(1, 20);
  const std::string page = page_of({&first, &second});
  EXPECT_THAT(page, HasSubstr("<td>10 of 100</td><td>20 of 100</td>"));
  EXPECT_THAT(page, HasSubstr("first and 1 more"));
}

TEST(Html, TenThousandStepsStayBelowTwoMegabytes) {
  const TestRun run;
  run.write_config();
  std::string lines;
  for (int step = 1; step <= 10000; ++step) {
    const double x = 1.0 / 3 + step;
    lines += "{\"step\":" + std::to_string(step);
    for (const CurveName& curve : kCurveNames) {
      lines += ",\"" + std::string(curve.key) + "\":" + std::to_string(x);
    }
    lines += "}\n";
  }
  run.write("metrics.jsonl", lines);
  EXPECT_LT(page_of({&run}).size(), 1000000u);
}

}  // namespace
}  // namespace chimera
