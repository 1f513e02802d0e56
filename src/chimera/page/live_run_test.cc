#include "chimera/page/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "chimera/base/json_reader.h"
#include "chimera/page/run_directory_for_tests.h"

namespace chimera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestRun;

std::string version_of(const LiveRun& run) {
  const std::string text = run.run();
  Diagnostics errors;
  JsonReader reader(text, "run.json", errors);
  std::string version;
  reader.object("the run", [&](const std::string& key) {
    if (key == "version") {
      version = reader.string(key).value_or("");
    } else {
      reader.skip();
    }
  });
  reader.finish();
  EXPECT_TRUE(errors.empty());
  return version;
}

// refresh() reads again after 200 ms at the earliest.
void refresh(LiveRun& run) {
  std::this_thread::sleep_for(std::chrono::milliseconds(210));
  run.refresh();
}

TEST(LiveRun, AnswersWithWhatIsNew) {
  const TestRun files;
  files.write_config();
  files.write_schedule();
  files.add_steps(1, 3);
  files.write("state.json", R"({"state":"running","step":3})");
  LiveRun run = LiveRun::open(files.path()).value();
  const std::string version = version_of(run);
  EXPECT_THAT(run.update(version, 3),
              HasSubstr(R"("from":3,"steps":[3],"values":[1.66667])"));
  files.add_steps(4, 5);
  refresh(run);
  EXPECT_EQ(version_of(run), version);
  EXPECT_THAT(run.update(version, 3), HasSubstr(R"("steps":[3,1,1])"));
  EXPECT_THAT(run.update(version, 3), HasSubstr(R"("steps":5)"));
  EXPECT_EQ(run.update("another", 3), R"({"reload":true})");
}

TEST(LiveRun, NewTraceMeansANewVersion) {
  const TestRun files;
  files.write_config();
  files.write_schedule();
  LiveRun run = LiveRun::open(files.path()).value();
  const std::string version = version_of(run);
  EXPECT_THAT(run.run(), Not(HasSubstr("the last")));
  files.write_trace(1);
  refresh(run);
  EXPECT_NE(version_of(run), version);
  EXPECT_THAT(run.run(), HasSubstr("the last"));
}

}  // namespace
}  // namespace chimera
