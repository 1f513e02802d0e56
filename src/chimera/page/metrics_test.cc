#include "chimera/page/metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace chimera {
namespace {

class MetricsFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("metrics_test_" + std::to_string(getpid()) + ".jsonl");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void append(const std::string& text) const {
    std::ofstream(path_, std::ios::app) << text;
  }
  static std::string line(int step, double loss) {
    return "{\"step\":" + std::to_string(step) +
           ",\"loss\":" + std::to_string(loss) +
           ",\"tokens\":10,\"step_s\":0.5}\n";
  }

  std::filesystem::path path_;
};

TEST(Metrics, TakesNumbersAndMarksWhatIsNone) {
  Metrics metrics(64);
  metrics.add_line(R"({"step":1,"loss":2.5,"lr":0.1,"tokens":7,"step_s":2})");
  metrics.add_line(R"({"step":2,"loss":null,"grad_norm":null,"skipped":true})");
  metrics.add_line(R"({"step":3,"loss":null,"more":{"a":[1]}})");
  metrics.add_line("{\"step\":4,\"loss\":");
  metrics.add_line("not JSON");
  metrics.add_line(R"({"step":-4})");
  EXPECT_EQ(metrics.steps(), 3);
  EXPECT_TRUE(metrics.has_lost_loss());
  EXPECT_EQ(metrics.bad_lines(), 3);
  EXPECT_EQ(metrics.tokens(), 7);
  EXPECT_EQ(metrics.seconds(), 2);
  EXPECT_EQ(metrics.curve("loss").points(),
            (std::vector<CurvePoint>{{1, 2.5}}));
  ASSERT_EQ(metrics.marks().size(), 2u);
  EXPECT_EQ(metrics.marks()[0].kind, "warning");
  EXPECT_EQ(metrics.marks()[1].kind, "fault");
}

TEST_F(MetricsFileTest, FollowsWholeLinesAsTheyCome) {
  MetricsFile file(path_, 64);
  file.read_more();  // does not exist yet
  append(line(1, 5) + "{\"step\":2,");
  file.read_more();
  EXPECT_EQ(file.metrics().steps(), 1);
  append("\"loss\":4}\n" + line(3, 3));
  file.read_more();
  EXPECT_EQ(file.metrics().steps(), 3);
  EXPECT_EQ(file.metrics().bad_lines(), 0);
  EXPECT_EQ(file.restarts(), 0);
}

// A run that resumes from a checkpoint truncates the file and writes other
// lines.
TEST_F(MetricsFileTest, StartsAgainWhenTheFileWasCutAndGrewAgain) {
  MetricsFile file(path_, 64);
  append(line(1, 5) + line(2, 4) + line(3, 3));
  file.read_more();
  std::filesystem::resize_file(path_, line(1, 5).size());
  append(line(2, 4.5) + line(3, 3.5) + line(4, 2));
  file.read_more();
  EXPECT_EQ(file.restarts(), 1);
  EXPECT_EQ(file.metrics().steps(), 4);
  EXPECT_EQ(file.metrics().tokens(), 40);
  EXPECT_EQ(file.metrics().curve("loss").points()[1], (CurvePoint{2, 4.5}));
}

TEST_F(MetricsFileTest, AbsurdlyLongLineIsPassedOver) {
  MetricsFile file(path_, 64);
  append("{\"step\":1,\"x\":\"" + std::string(1 << 20, 'x') + "\"}\n");
  append(line(2, 1));
  file.read_more();
  EXPECT_EQ(file.metrics().bad_lines(), 1);
  EXPECT_EQ(file.metrics().steps(), 2);
}

}  // namespace
}  // namespace chimera
