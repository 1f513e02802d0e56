#include "chimera/train/checkpoint/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "chimera/base/files.h"
#include "chimera/base/text.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::optional<int> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return parse_int(std::string_view(name).substr(kPrefix.size()));
}

}  // namespace

std::string checkpoints_path(const std::string& run_dir) {
  return run_dir + "/checkpoints";
}

std::string checkpoint_path(const std::string& run_dir, int step) {
  return fmt::format("{}/{}{:08}", checkpoints_path(run_dir), kPrefix, step);
}

std::string saving_path(const std::string& run_dir, int step) {
  return fmt::format("{}/.{}{:08}.saving", checkpoints_path(run_dir), kPrefix,
                     step);
}

std::vector<CheckpointEntry> list_checkpoints(const std::string& run_dir) {
  std::vector<CheckpointEntry> entries;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(checkpoints_path(run_dir), error)) {
    const std::optional<int> step = step_of(entry.path().filename().string());
    if (step && entry.is_directory(error)) {
      entries.push_back({*step, entry.path().string()});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const CheckpointEntry& a, const CheckpointEntry& b) {
              return a.step > b.step;
            });
  return entries;
}

Newest find_newest(const std::string& run_dir) {
  Newest newest;
  for (const CheckpointEntry& entry : list_checkpoints(run_dir)) {
    const Result<Checkpoint> opened = Checkpoint::open(entry.path);
    const Diagnostics reasons = opened ? opened->verify() : opened.errors();
    if (reasons.empty()) {
      newest.path = entry.path;
      break;
    }
    newest.skipped.push_back({entry.path, reasons});
  }
  return newest;
}

void tidy_checkpoints(const std::string& run_dir,
                      const std::vector<Skipped>& skipped) {
  try {
    std::vector<fs::path> left_over;
    std::error_code none_yet;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(checkpoints_path(run_dir), none_yet)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(".")) left_over.push_back(entry.path());
    }
    for (const fs::path& path : left_over) fs::remove_all(path);
    for (const Skipped& checkpoint : skipped) {
      const std::string aside = checkpoint.path + ".damaged";
      fs::remove_all(aside);
      fs::rename(checkpoint.path, aside);
    }
  } catch (const fs::filesystem_error& error) {
    throw IoError(std::string("cannot tidy up checkpoints: ") + error.what());
  }
}

}  // namespace chimera
