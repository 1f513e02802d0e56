#include "chimera/run/run_directory_lock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "chimera/base/files.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

class RunDirectoryLockTest : public testing::Test {
 protected:
  RunDirectoryLockTest() {
    std::string name = testing::TempDir() + "lock.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~RunDirectoryLockTest() override { fs::remove_all(folder_); }

  std::string folder_;
};

TEST_F(RunDirectoryLockTest, OneRunAtATime) {
  const std::string path = folder_ + "/runs/mine";  // made with its parents
  Result<RunDirectoryLockPtr> first = lock_run_directory(path);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->path(), path);
  EXPECT_TRUE(lock_run_directory(folder_ + "/runs/other"));
  const Result<RunDirectoryLockPtr> second = lock_run_directory(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.errors()[0].code, "E575");
  EXPECT_EQ(second.errors()[0].where, path);
}

TEST_F(RunDirectoryLockTest, IsReleasedWithTheLastOfItsOwners) {
  RunDirectoryLockPtr first = *lock_run_directory(folder_);
  RunDirectoryLockPtr shared = first;
  first.reset();
  EXPECT_FALSE(lock_run_directory(folder_));
  shared.reset();
  EXPECT_TRUE(lock_run_directory(folder_));
}

TEST_F(RunDirectoryLockTest, ThrowsWhereNoDirectoryCanBe) {
  write_file(folder_ + "/file", "in the way");
  EXPECT_THROW((void)lock_run_directory(folder_ + "/file"), IoError);
  EXPECT_THROW((void)lock_run_directory(folder_ + "/file/run"), IoError);
}

}  // namespace
}  // namespace chimera
