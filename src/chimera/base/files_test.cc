#include "chimera/base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

namespace {
int umask_calls = 0;
}

// Replaces the C library's umask, to count calls.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++umask_calls;
  return static_cast<mode_t>(syscall(SYS_umask, mask));
}

namespace chimera {
namespace {

namespace fs = std::filesystem;

// A new, empty folder for each test.
std::string new_folder() {
  std::string name = ::testing::TempDir() + "chimera_files.XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

size_t entries(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(WholeFile, AppearsAtTheEnd) {
  const std::string folder = new_folder();
  const std::string path = folder + "/a";
  WholeFile file(path);
  file.write("one ");
  file.write("");
  file.write("two");
  EXPECT_FALSE(fs::exists(path));
  file.finish();
  EXPECT_EQ(*read_file(path), "one two");
  EXPECT_EQ(entries(folder), 1U);
}

TEST(WholeFile, LeavesNothingBehindIfNeverFinished) {
  const std::string folder = new_folder();
  { WholeFile(folder + "/a").write("half"); }
  EXPECT_EQ(entries(folder), 0U);
}

TEST(WholeFile, KeepsTheOldFileUntilTheEnd) {
  const std::string path = new_folder() + "/a";
  write_file(path, "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  WholeFile file(path);
  file.write("new");
  EXPECT_EQ(*read_file(path), "old");
  file.finish();
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(fs::status(path).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// Reading the umask sets it for all threads. When two threads did so at once,
// the second one restored the first one's temporary value: no umask at all.
TEST(WholeFile, LeavesTheUmaskToTheKernel) {
  const std::string path = new_folder() + "/a";
  const mode_t before = umask(027);
  const int calls = umask_calls;
  write_file(path, "new");
  write_file(path, "newer");
  EXPECT_EQ(umask_calls, calls);
  umask(before);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
}

TEST(WholeFile, AReplacedFileKeepsWhatTheUmaskWouldTake) {
  const std::string path = new_folder() + "/a";
  write_file(path, "old");
  fs::permissions(path, fs::perms(0666));
  const mode_t before = umask(077);
  write_file(path, "new");
  umask(before);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0666));
}

TEST(WholeFile, FollowsLinksAndWritesDevicesInPlace) {
  const std::string folder = new_folder();
  write_file(folder + "/a", "old");
  fs::create_symlink("a", folder + "/link");
  write_file(folder + "/link", "new");
  EXPECT_TRUE(fs::is_symlink(folder + "/link"));
  EXPECT_EQ(*read_file(folder + "/a"), "new");
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WholeFile, ThrowsWhereNothingCanBeWritten) {
  EXPECT_THROW(write_file(new_folder() + "/no/a", "x"), IoError);
  EXPECT_THROW(write_file("/dev/full", "x"), IoError);
}

}  // namespace
}  // namespace chimera
