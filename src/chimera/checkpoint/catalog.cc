#include "chimera/checkpoint/catalog.h"

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

// Files that interrupted saves and recoveries left behind.
std::vector<fs::path> leftovers(const std::string& run_dir) {
  std::vector<fs::path> paths;
  std::error_code none_yet;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(checkpoints_path(run_dir), none_yet)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".")) paths.push_back(entry.path());
  }
  return paths;
}

// See recovery.h.
bool is_of_recovery(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == ".recovery" || name.ends_with(".recovering");
}

// Returns a free name, "step-00000020.damaged" or ".damaged.2" and so on:
// damaged checkpoints are never removed.
std::string place_aside(const std::string& checkpoint) {
  std::string place = checkpoint + ".damaged";
  for (int number = 2; fs::exists(place); ++number) {
    place = fmt::format("{}.damaged.{}", checkpoint, number);
  }
  return place;
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
  const std::string folder = checkpoints_path(run_dir);
  try {
    if (!fs::exists(folder)) return {};
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::optional<int> step = step_of(entry.path().filename().string());
      if (step && entry.is_directory()) {
        entries.push_back({*step, entry.path().string()});
      }
    }
  } catch (const fs::filesystem_error& error) {
    // Throws, because an unreadable directory must not look like one without
    // checkpoints: the run would start from step 0.
    throw IoError(std::string("cannot list checkpoints: ") + error.what());
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

std::vector<std::string> tidy_checkpoints(const std::string& run_dir,
                                          const std::vector<Skipped>& skipped) {
  std::vector<std::string> warnings;
  try {
    for (const fs::path& path : leftovers(run_dir)) {
      try {
        fs::remove_all(path);
      } catch (const fs::filesystem_error& error) {
        // A leftover recovery folder must not stay: the next recovery would
        // take the old reports for new ones.
        if (is_of_recovery(path)) throw;
        warnings.push_back(fmt::format(
            "what a save has left is still there: {}", error.what()));
      }
    }
    for (const Skipped& checkpoint : skipped) {
      fs::rename(checkpoint.path, place_aside(checkpoint.path));
    }
  } catch (const fs::filesystem_error& error) {
    throw IoError(std::string("cannot tidy up checkpoints: ") + error.what());
  }
  return warnings;
}

}  // namespace chimera
