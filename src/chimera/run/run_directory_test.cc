#include "chimera/run/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "chimera/base/files.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() {
    std::string name = testing::TempDir() + "run.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~RunDirectoryTest() override { fs::remove_all(folder_); }

  // The content of metrics.jsonl after a run was resumed from two steps.
  std::string resumed(const std::string& metrics) {
    write_file(folder_ + "/metrics.jsonl", metrics);
    resume();
    return *read_file(folder_ + "/metrics.jsonl");
  }
  void resume() {
    (void)RunDirectory::resume(*lock_run_directory(folder_), {}, 2);
  }

  std::string folder_;
};

TEST_F(RunDirectoryTest, MetricsOfLaterStepsAreDropped) {
  const std::string two = "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n";
  EXPECT_EQ(resumed(two), two);
  EXPECT_EQ(resumed(two + "{\"step\":3,\"loss\":1}\n"), two);
  EXPECT_EQ(resumed(two + "{\"step\":3,\"lo"), two);  // cut short
  EXPECT_EQ(resumed(two + "{\"step\":2"), two);
  EXPECT_EQ(resumed(""), "");
}

TEST_F(RunDirectoryTest, MetricsThatCannotBeReadAreNotOverwritten) {
  fs::create_directory(folder_ + "/metrics.jsonl");  // even for root
  EXPECT_THROW(resume(), IoError);
  fs::remove(folder_ + "/metrics.jsonl");
  resume();
  EXPECT_EQ(*read_file(folder_ + "/metrics.jsonl"), "");
}

// A stopped rank may wake up after the others have saved the run without it. It
// must accept their "saved" as the end as well as "failed"; it used to
// overwrite "saved" with "running".
TEST_F(RunDirectoryTest, WhatOtherRanksHaveWrittenEndsTheRun) {
  const RunDirectory directory =
      std::move(RunDirectory::create(folder_, {})).value();
  EXPECT_FALSE(directory.was_ended());
  write_state(folder_, {"failed", 6, 5});
  EXPECT_TRUE(directory.was_ended());
  write_state(folder_, {"saved", 7, 75});
  EXPECT_TRUE(directory.was_ended());
  write_state(folder_, {"failed", 7, 130});
  EXPECT_FALSE(directory.was_ended());
}

// A limit on the size of files plays the full disk.
TEST_F(RunDirectoryTest, MetricsOfAFullDiskAreWrittenOnceThereIsSpace) {
  RunDirectory directory = std::move(RunDirectory::create(folder_, {})).value();
  directory.add_metrics({.step = 1});
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{.rlim_cur = fs::file_size(folder_ + "/metrics.jsonl") + 9,
                    .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_THROW(directory.add_metrics({.step = 2}), IoError);
  EXPECT_THROW(directory.add_metrics({.step = 3}), IoError);
  setrlimit(RLIMIT_FSIZE, &before);
  directory.add_metrics({.step = 4});
  std::istringstream metrics(*read_file(folder_ + "/metrics.jsonl"));
  std::vector<std::string> steps;
  for (std::string line; std::getline(metrics, line);) {
    steps.push_back(line.substr(0, line.find(',')));
  }
  EXPECT_THAT(steps, testing::ElementsAre("{\"step\":1", "{\"step\":2",
                                          "{\"step\":3", "{\"step\":4"));
}

}  // namespace
}  // namespace chimera
