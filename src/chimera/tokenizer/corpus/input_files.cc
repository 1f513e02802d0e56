#include "chimera/tokenizer/corpus/input_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace chimera {
namespace {

namespace fs = std::filesystem;

// True if the file's extension means that it holds no text.
bool is_named_as_data(std::string_view name) {
  constexpr std::array<std::string_view, 10> kEnds = {
      ".bin",   ".idx", ".npy", ".npz", ".parquet",
      ".arrow", ".pt",  ".zip", ".tar", ".safetensors"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

void add_file(const fs::path& path, std::vector<InputFile>& files,
              Diagnostics& errors) {
  InputFile file{.path = path.string()};
  std::string_view name = file.path;
  if (name.ends_with(".gz")) {
    file.compression = Compression::kGzip;
    name.remove_suffix(3);
  } else if (name.ends_with(".zst")) {
    file.compression = Compression::kZstd;
    name.remove_suffix(4);
  }
  if (name.ends_with(".jsonl")) file.documents = DocumentKind::kJsonLine;
  if (is_named_as_data(name)) {
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = "E711",
                      .where = file.path,
                      .found = "the file",
                      .needed = "is not text, by its name",
                      .hint = "leave it out, or move it out of the directory"});
    return;
  }
  std::error_code error;
  file.bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  if (error) {
    errors.push_back(unreadable(file.path, error.message()));
    return;
  }
  files.push_back(std::move(file));
}

// All regular files below a directory, sorted.
std::vector<fs::path> files_below(const fs::path& directory,
                                  Diagnostics& errors) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error);
  for (; !error && at != fs::recursive_directory_iterator();
       at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (at->is_regular_file(ignored)) found.push_back(at->path());
  }
  if (error) errors.push_back(unreadable(directory.string(), error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Diagnostic unreadable(const std::string& path, const std::string& reason) {
  return {.kind = DiagnosticKind::kData,
          .code = "E501",
          .where = path,
          .found = "the file",
          .needed = "cannot be read: " + reason,
          .hint = "check the path and its permissions"};
}

Result<std::vector<InputFile>> find_inputs(
    const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  Diagnostics errors;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      const std::vector<fs::path> below = files_below(path, errors);
      for (const fs::path& file : below) add_file(file, files, errors);
    } else if (fs::is_regular_file(status)) {
      add_file(path, files, errors);
    } else {
      errors.push_back(unreadable(
          path, error ? error.message() : "not a file or directory"));
    }
  }
  if (errors.empty() && files.empty()) {
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = "E502",
                      .found = "no file",
                      .needed = "is in what was named",
                      .hint = "name text or JSONL files, or a directory"});
  }
  if (!errors.empty()) return errors;
  return files;
}

}  // namespace chimera
