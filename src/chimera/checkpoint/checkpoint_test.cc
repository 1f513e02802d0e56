#include "chimera/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <thread>

#include "chimera/base/files.h"
#include "chimera/checkpoint/catalog.h"
#include "chimera/checkpoint/recovery.h"
#include "chimera/checkpoint/saver.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The training state of two ranks, each of which saves a part.
struct SmallState {
  std::vector<float> weights{1, 2, 3, 4, 5, 6};
  std::vector<float> mean_low{10, 20};  // rank 0's range of `mean`
  std::vector<float> mean_high{30, 40, 50, 60};
  std::vector<float> bias{7, 8};

  static StatePiece piece(const char* kind, const char* parameter,
                          std::vector<std::int64_t> shape, std::int64_t first,
                          std::vector<float>& numbers) {
    return {.kind = kind,
            .parameter = parameter,
            .shape = std::move(shape),
            .first = first,
            .numbers = {.data = numbers.data(), .count = numbers.size()}};
  }
  std::vector<StatePiece> of_rank(int rank) {
    if (rank == 0) {
      return {piece("weights", "w", {2, 3}, 0, weights),
              piece("mean", "w", {2, 3}, 0, mean_low)};
    }
    return {piece("weights", "b", {2}, 0, bias),
            piece("mean", "w", {2, 3}, 2, mean_high)};
  }
};

// Reads everything from a named pipe; empty if nobody begins to write.
std::string read_pipe(const std::string& path) {
  constexpr int kPatienceMs = 10'000;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  pollfd waiting{.fd = descriptor, .events = POLLIN};
  std::string bytes;
  std::vector<char> block(1 << 16);
  while (poll(&waiting, 1, kPatienceMs) > 0) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count <= 0) break;
    bytes.append(block.data(), static_cast<std::size_t>(count));
  }
  close(descriptor);
  return bytes;
}

// Drops root's right to access any file, for this thread and those that it
// starts. An ordinary user does not have that right anyway.
class AsUser {
 public:
  explicit AsUser(const std::string& folder) {
    if (geteuid() != 0) return;
    EXPECT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
    setfsuid(kNobody);
    EXPECT_EQ(setfsuid(kNobody), kNobody);
  }
  ~AsUser() { setfsuid(geteuid()); }

 private:
  static constexpr int kNobody = 65534;
};

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    std::string name = testing::TempDir() + "checkpoint.XXXXXX";
    run_dir_ = mkdtemp(name.data());
  }
  ~CheckpointTest() override { fs::remove_all(run_dir_); }

  // Saves through the savers of both ranks.
  SaveResult save(int step, int keep = 2) {
    Saver first({.run_dir = run_dir_, .rank = 0, .ranks = 2, .keep = keep});
    Saver second({.run_dir = run_dir_, .rank = 1, .ranks = 2, .keep = keep});
    const Manifest head{.step = step, .samples = 8 * step, .updates = step};
    first.start(head, state_.of_rank(0));
    second.start(head, state_.of_rank(1));
    const bool good = first.wait_part() == Saver::Part::kWritten;
    const bool both = second.wait_part() == Saver::Part::kWritten && good;
    first.settle(both);
    second.settle(both);
    return *first.result(/*wait=*/true);
  }
  [[nodiscard]] std::vector<int> steps() const {
    std::vector<int> steps;
    for (const CheckpointEntry& entry : list_checkpoints(run_dir_)) {
      steps.push_back(entry.step);
    }
    return steps;
  }
  static std::vector<float> read(const Checkpoint& checkpoint, const char* kind,
                                 const char* parameter, std::size_t count) {
    std::vector<float> numbers(count);
    EXPECT_THAT(checkpoint.read(kind, parameter,
                                std::as_writable_bytes(std::span(numbers))),
                IsEmpty());
    return numbers;
  }
  static void change(const std::string& file, std::size_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const auto old = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(old ^ 0x10));
  }

  std::string run_dir_;
  SmallState state_;
};

TEST_F(CheckpointTest, WeightsThatAreNotNumbersAreNotSaved) {
  EXPECT_EQ(save(3).error, "");
  state_.mean_low[0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(save(4).error, "");  // optimizer states may be infinite
  state_.weights[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(save(5).error, HasSubstr("weights are not numbers: w"));
  EXPECT_THAT(steps(), ElementsAre(4, 3));
}

TEST_F(CheckpointTest, GivesBackWhatRanksSavedTogether) {
  const SaveResult saved = save(3);
  EXPECT_EQ(saved.error, "");
  const Result<Checkpoint> opened = Checkpoint::open(saved.path);
  ASSERT_TRUE(opened) << to_string(opened.errors()[0]);
  EXPECT_EQ(opened->manifest().step, 3);
  EXPECT_EQ(opened->manifest().samples, 24);
  EXPECT_THAT(opened->verify(), IsEmpty());
  EXPECT_EQ(read(*opened, "weights", "w", 6), state_.weights);
  EXPECT_EQ(read(*opened, "weights", "b", 2), state_.bias);
  EXPECT_THAT(read(*opened, "mean", "w", 6),
              ElementsAre(10, 20, 30, 40, 50, 60));
  EXPECT_EQ(opened->find("mean", "b"), nullptr);
}

TEST_F(CheckpointTest, KeepsTheNewestAndNothingElse) {
  for (const int step : {1, 2, 3, 4}) EXPECT_EQ(save(step).error, "");
  EXPECT_THAT(steps(), ElementsAre(4, 3));
  int entries = 0;
  for (const auto& entry : fs::directory_iterator(checkpoints_path(run_dir_))) {
    entries += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(entries, 2);
}

TEST_F(CheckpointTest, TheCopyIsTakenAtOnce) {
  Saver saver({.run_dir = run_dir_, .rank = 0, .ranks = 1, .keep = 1});
  std::vector<float> numbers(1000, 1.0F);
  saver.start({.step = 1},
              {SmallState::piece("weights", "w", {1000}, 0, numbers)});
  std::fill(numbers.begin(), numbers.end(), 2.0F);  // as the next update would
  EXPECT_EQ(saver.wait_part(), Saver::Part::kWritten);
  saver.settle(true);
  const Result<Checkpoint> opened =
      Checkpoint::open(saver.result(/*wait=*/true)->path);
  ASSERT_TRUE(opened);
  EXPECT_EQ(read(*opened, "weights", "w", 1000),
            std::vector<float>(1000, 1.0F));
}

// A save must first stop the thread that zeroes new memory, or that thread
// would overwrite the copied state.
TEST_F(CheckpointTest, ASaveStartsWhileItsMemoryIsBeingMade) {
  std::vector<float> numbers(1 << 22, 1.0F);
  const std::size_t bytes = numbers.size() * sizeof(float);
  int step = 0;
  for (const std::size_t prepared : {bytes, bytes / 2}) {
    Saver saver({.run_dir = run_dir_, .rank = 0, .ranks = 1, .keep = 1});
    saver.prepare(prepared);
    saver.start({.step = ++step},
                {SmallState::piece("weights", "w", {1 << 22}, 0, numbers)});
    EXPECT_EQ(saver.wait_part(), Saver::Part::kWritten);
    saver.settle(true);
    const Result<Checkpoint> opened =
        Checkpoint::open(saver.result(/*wait=*/true)->path);
    ASSERT_TRUE(opened);
    EXPECT_EQ(read(*opened, "weights", "w", numbers.size()), numbers);
  }
}

// The part's file is a pipe, so nothing is written until somebody reads.
TEST_F(CheckpointTest, AFailedWorkerLeavesTheCopyUntilItIsWritten) {
  const std::string folder = saving_path(run_dir_, 1);
  const std::string file = folder + "/part-0000.safetensors";
  fs::create_directories(folder);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  std::string written;
  std::thread reader([&] {
    // The Saver is destroyed during this pause. It must not free the copy
    // before the copy is written.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    written = read_pipe(file);
  });
  std::vector<float> numbers(1 << 20, 1.0F);
  {
    Saver saver({.run_dir = run_dir_, .rank = 0, .ranks = 1, .keep = 1});
    saver.start({.step = 1},
                {SmallState::piece("weights", "w", {1 << 20}, 0, numbers)});
  }
  reader.join();
  const std::size_t bytes = numbers.size() * sizeof(float);
  ASSERT_GT(written.size(), bytes);
  EXPECT_EQ(
      std::memcmp(&written[written.size() - bytes], numbers.data(), bytes), 0);
}

TEST_F(CheckpointTest, AnOldOneThatCannotBeRemovedIsAWarning) {
  const AsUser user(run_dir_);
  EXPECT_EQ(save(1, 1).warning, "");
  const fs::perms usual =
      fs::status(checkpoint_path(run_dir_, 1)).permissions();
  fs::permissions(checkpoint_path(run_dir_, 1), fs::perms(0500));
  const SaveResult saved = save(2, 1);
  EXPECT_EQ(saved.path, checkpoint_path(run_dir_, 2));
  EXPECT_EQ(saved.error, "");
  EXPECT_THAT(saved.warning, HasSubstr("Permission denied"));
  EXPECT_THAT(steps(), ElementsAre(2));  // the old one is no longer listed
  // The next run that resumes here removes the leftover folder.
  const std::string left =
      checkpoints_path(run_dir_) + "/.step-00000001.removing";
  EXPECT_THAT(tidy_checkpoints(run_dir_, {}), ElementsAre(HasSubstr(left)));
  fs::permissions(left, usual);
  EXPECT_THAT(tidy_checkpoints(run_dir_, {}), IsEmpty());
  EXPECT_FALSE(fs::exists(left));
}

// Recovery reports that stay behind would mislead the next recovery.
TEST_F(CheckpointTest, ARecoveryThatCannotBeRemovedIsNoWarning) {
  const AsUser user(run_dir_);
  const Recovery recovery({.run_dir = run_dir_, .rank = 0, .survivors = {0}});
  (void)recovery.agree({.steps = 1});
  const std::string left = checkpoints_path(run_dir_) + "/.recovery";
  fs::permissions(left, fs::perms(0500));
  EXPECT_THROW(tidy_checkpoints(run_dir_, {}), IoError);
  fs::permissions(left, fs::perms(0700));
}

// Changes every byte of every file in turn, and every change is found.
TEST_F(CheckpointTest, FindsEveryChangedByte) {
  const std::string path = save(1).path;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string file = entry.path().string();
    for (std::size_t at = 0; at < fs::file_size(file); ++at) {
      change(file, at);
      const Result<Checkpoint> opened = Checkpoint::open(path);
      const Diagnostics errors = opened ? opened->verify() : opened.errors();
      EXPECT_THAT(errors, testing::Not(IsEmpty())) << file << " byte " << at;
      change(file, at);
    }
  }
  EXPECT_TRUE(Checkpoint::open(path));
}

TEST_F(CheckpointTest, FindsEveryCut) {
  const std::string path = save(1).path;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string file = entry.path().string();
    const std::string whole = *read_file(file);
    for (std::size_t size = 0; size < whole.size(); size += 7) {
      write_file(file, whole.substr(0, size));
      EXPECT_FALSE(Checkpoint::open(path)) << file << " cut to " << size;
    }
    write_file(file, whole);
  }
  EXPECT_TRUE(Checkpoint::open(path));
}

TEST_F(CheckpointTest, FindsSwappedAndMissingParts) {
  const std::string path = save(1).path;
  const std::string first = path + "/part-0000.safetensors";
  const std::string second = path + "/part-0001.safetensors";
  fs::rename(first, path + "/x");
  fs::rename(second, first);
  fs::rename(path + "/x", second);
  EXPECT_THAT(Checkpoint::open(path).errors()[0].code, "E581");
  fs::remove(second);
  EXPECT_THAT(Checkpoint::open(path).errors().back().needed,
              HasSubstr("cannot be read"));
}

TEST_F(CheckpointTest, AnOlderOneIsFoundBehindDamagedOnes) {
  for (const int step : {1, 2, 3}) EXPECT_EQ(save(step, 9).error, "");
  change(checkpoint_path(run_dir_, 3) + "/manifest.json", 20);
  change(checkpoint_path(run_dir_, 2) + "/part-0001.safetensors", 800);
  fs::resize_file(checkpoint_path(run_dir_, 2) + "/part-0001.safetensors", 100);
  const Newest newest = find_newest(run_dir_);
  EXPECT_EQ(newest.path, checkpoint_path(run_dir_, 1));
  ASSERT_EQ(newest.skipped.size(), 2);
  EXPECT_EQ(newest.skipped[0].reasons[0].code, "E580");
  EXPECT_EQ(newest.skipped[1].reasons[0].code, "E581");
  EXPECT_THAT(tidy_checkpoints(run_dir_, newest.skipped), IsEmpty());
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_TRUE(fs::exists(checkpoint_path(run_dir_, 3) + ".damaged"));
}

TEST_F(CheckpointTest, EveryDamagedOneIsKept) {
  const std::string path = checkpoint_path(run_dir_, 3);
  for (const char* name : {"", ".2", ".3"}) {
    EXPECT_EQ(save(3, 9).error, "");
    change(path + "/manifest.json", 20);
    std::ofstream(path + "/which") << name;
    EXPECT_THAT(tidy_checkpoints(run_dir_, find_newest(run_dir_).skipped),
                IsEmpty());
  }
  for (const std::string name : {"", ".2", ".3"}) {
    EXPECT_EQ(read_file(path + ".damaged" + name + "/which").value(), name);
  }
  EXPECT_THAT(steps(), IsEmpty());
}

TEST_F(CheckpointTest, ASaveThatCannotBeWrittenLeavesTheOldOne) {
  EXPECT_EQ(save(1).error, "");
  // Puts a file in the way, where the checkpoint's folder would be made.
  write_file(saving_path(run_dir_, 2), "in the way");
  const SaveResult failed = save(2);
  EXPECT_EQ(failed.path, "");
  EXPECT_THAT(failed.error, HasSubstr("cannot make"));
  EXPECT_EQ(find_newest(run_dir_).path, checkpoint_path(run_dir_, 1));
}

TEST_F(CheckpointTest, SurvivorsSaveWhatOneOfThemHasSeen) {
  std::vector<std::string> paths(2);
  std::vector<int> agreed(2);
  std::vector<std::thread> ranks;
  for (const int rank : {0, 1}) {  // rank 2 is lost
    ranks.emplace_back([&, rank] {
      const Recovery recovery(
          {.run_dir = run_dir_, .rank = rank, .survivors = {0, 1}});
      SurvivorReport mine{.steps = 4 + rank};
      mine.vote.squared_norm = 0.1 + rank;
      const SurvivorReport best = recovery.agree(mine);
      EXPECT_EQ(best.vote.squared_norm, 1.1);
      agreed[rank] = best.steps;
      paths[rank] = recovery.save({.step = best.steps}, state_.of_rank(rank));
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_THAT(agreed, ElementsAre(5, 5));
  EXPECT_EQ(paths[0], paths[1]);
  EXPECT_EQ(find_newest(run_dir_).path, paths[0]);
}

// Rank 0 has found no checkpoint and waits for rank 1. Rank 1 finds one,
// because a save from before the loss was committed in between.
TEST_F(CheckpointTest, SurvivorsFindASaveThatIsCommittedMeanwhile) {
  std::string path;
  std::thread front([&] {
    const Recovery recovery({.run_dir = run_dir_,
                             .rank = 0,
                             .survivors = {0, 1},
                             .patience = std::chrono::seconds(20)});
    path = recovery.save({.step = 5}, state_.of_rank(0));
  });
  const std::string part =
      checkpoints_path(run_dir_) + "/.step-00000005.recovering/part-0000.json";
  while (!fs::exists(part)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(save(5).path, checkpoint_path(run_dir_, 5));
  front.join();
  EXPECT_EQ(path, checkpoint_path(run_dir_, 5));
}

TEST_F(CheckpointTest, SurvivorsDoNotWaitForOneThatDiesWhileItSaves) {
  std::vector<std::thread> ranks;
  for (const int rank : {0, 1, 2}) {
    ranks.emplace_back([&, rank] {
      const Recovery recovery({.run_dir = run_dir_,
                               .rank = rank,
                               .survivors = {0, 1, 2},
                               .patience = std::chrono::milliseconds(500)});
      (void)recovery.agree({.steps = 5});
      if (rank == 2) return;  // dies
      EXPECT_THROW((void)recovery.save({.step = 5}, state_.of_rank(rank)),
                   IoError);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST_F(CheckpointTest, SurvivorsDoNotWaitForEver) {
  const Recovery recovery({.run_dir = run_dir_,
                           .rank = 0,
                           .survivors = {0, 1},
                           .patience = std::chrono::milliseconds(20)});
  EXPECT_THROW((void)recovery.agree({}), IoError);
}

TEST(Manifest, RefusesNamesOutsideOfTheCheckpoint) {
  const Manifest manifest{
      .files = {{.name = "part-0000.safetensors/../../x", .bytes = 1}}};
  const Result<Manifest> parsed = parse_manifest(to_json(manifest), "m.json");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.errors()[0].code, "E580");
}

TEST(Manifest, RefusesCountsThatNoRunReaches) {
  for (const std::int64_t count :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    for (const Manifest& manifest :
         {Manifest{.samples = count}, Manifest{.updates = count}}) {
      const Result<Manifest> parsed =
          parse_manifest(to_json(manifest), "m.json");
      ASSERT_FALSE(parsed) << count;
      EXPECT_EQ(parsed.errors()[0].code, "E580");
    }
  }
}

TEST(Manifest, RefusesRangesThatNoParameterHas) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const auto& [shape, first, count] : std::vector<
           std::tuple<std::vector<std::int64_t>, std::int64_t, std::int64_t>>{
           {{4}, 2, 3},
           {{4}, -1, 2},
           {{4}, 0, 0},
           {{kHuge, kHuge}, 0, 1},
           {{-4}, 0, 1}}) {
    const Manifest manifest{
        .files = {{.name = "part-0000.safetensors", .bytes = 1}},
        .tensors = {{.kind = "weights",
                     .parameter = "w",
                     .shape = shape,
                     .first = first,
                     .count = count}}};
    EXPECT_FALSE(parse_manifest(to_json(manifest), "m.json"));
  }
}

TEST(Manifest, IsTheSameAfterReading) {
  const Manifest manifest{.step = 7,
                          .samples = 70,
                          .updates = 6,
                          .seed = -3,
                          .schedule = "abc",
                          .config = "[model]\nkind = \"gpt2\"\n",
                          .model = "{\"n_layer\": 4}\n",
                          .files = {{"part-0000.safetensors", 12, "ff"}},
                          .tensors = {{.kind = "weights",
                                       .parameter = "a.b",
                                       .shape = {2, 2},
                                       .count = 4,
                                       .hash = "00"}}};
  EXPECT_EQ(*parse_manifest(to_json(manifest), "m.json"), manifest);
}

}  // namespace
}  // namespace chimera
