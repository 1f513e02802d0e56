#include "chimera/report/event_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

namespace chimera {
namespace {

// The bytes that TensorBoard 2's RecordWriter and protocol buffers write for
// the same events.
constexpr const char* kVersionRecord =
    "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a"
    "28646c";
constexpr const char* kScalarsRecord =
    "2600000000000000734fe30009000000000000f83f10ac022a180a0b0a046c6f7373150000"
    "20400a090a026c72150000003e8bd1d198";
constexpr const char* kTextRecord =
    "2e00000000000000c5cb57fa09000000000000f83f10012a210a1f0a06636f6e666967420b"
    "08071200420561203d20314a080a060a0474657874337f37d8";

class EventFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string hex(const std::string& path) {
    std::string text;
    const std::string bytes = read_file(path).value();
    for (const char c : bytes) {
      text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return text;
  }

  std::string folder_ = std::filesystem::temp_directory_path() /
                        ("event_file_test_" + std::to_string(getpid()));
};

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
}

TEST_F(EventFileTest, WritesTheBytesThatTensorBoardWrites) {
  EventFile file(folder_ + "/tensorboard", "host.7", 1.5);
  EXPECT_EQ(file.path(),
            folder_ + "/tensorboard/events.out.tfevents.0000000001.host.7");
  EXPECT_EQ(hex(file.path()), kVersionRecord);
  file.add_scalars(300, 1.5, {{"loss", 2.5}, {"lr", 0.125}});
  file.add_text(1, 1.5, "config", "a = 1");
  EXPECT_EQ(hex(file.path()),
            std::string(kVersionRecord) + kScalarsRecord + kTextRecord);
}

TEST_F(EventFileTest, TakesWhatIsNotANumber) {
  EventFile file(folder_, "host.7", 1.5);
  file.add_scalars(1, 1.5, {{"loss", std::nan("")}});
  EXPECT_NE(hex(file.path()).find("150000c07f"), std::string::npos);
}

TEST_F(EventFileTest, DirectoryThatCannotBeMadeIsAnError) {
  EXPECT_THROW(EventFile("/proc/none", "host.7", 1.5), IoError);
}

}  // namespace
}  // namespace chimera
