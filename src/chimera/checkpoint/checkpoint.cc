#include "chimera/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "chimera/base/check.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"

namespace chimera {

Result<Checkpoint> Checkpoint::open(const std::string& path) {
  const std::string name = path + "/manifest.json";
  const Result<std::string> text = read_file(name);
  if (!text) {
    return Diagnostic{.kind = DiagnosticKind::kCheckpoint,
                      .code = "E580",
                      .where = path,
                      .found = "manifest.json",
                      .needed =
                          "cannot be read: the save was not finished, or "
                          "this is not a checkpoint"};
  }
  Result<Manifest> manifest = parse_manifest(*text, name);
  if (!manifest) return manifest.errors();
  Checkpoint checkpoint(path, std::move(manifest).value());
  // Checks run from cheap to expensive: the manifest's claims, then sizes and
  // headers of the files. Tensor hashes are compared only when the tensors are
  // read, since checkpoints may be terabytes.
  Diagnostics errors = check_complete(checkpoint.manifest_, name);
  if (errors.empty()) errors = checkpoint.open_files();
  if (errors.empty()) errors = checkpoint.find_tensors();
  if (!errors.empty()) return errors;
  return checkpoint;
}

Diagnostics Checkpoint::open_files() {
  Diagnostics errors;
  for (const ManifestFile& file : manifest_.files) {
    for (const Diagnostic& error : open_file(file)) errors.push_back(error);
  }
  return errors;
}

Diagnostics Checkpoint::open_file(const ManifestFile& file) {
  const std::string name = path_ + "/" + file.name;
  const auto refuse = [&](const std::string& found, const std::string& needed) {
    return Diagnostics{{.kind = DiagnosticKind::kCheckpoint,
                        .code = "E581",
                        .where = name,
                        .found = found,
                        .needed = needed}};
  };
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(name, error);
  if (error) return refuse("the file", "cannot be read: " + error.message());
  if (size != static_cast<std::uintmax_t>(file.bytes)) {
    return refuse(fmt::format("{} bytes", size),
                  fmt::format("must be {}: the file is cut short or another "
                              "save's",
                              file.bytes));
  }
  Result<SafetensorsFile> opened = SafetensorsFile::open(name);
  if (!opened) {
    const Diagnostic& first = opened.errors().front();
    return refuse("the header",
                  "is damaged: " + first.found + " " + first.needed);
  }
  if (content_hash(opened->head()) != file.head) {
    return refuse("the header",
                  "is damaged: its hash differs from the "
                  "manifest's");
  }
  files_.push_back(
      std::make_unique<SafetensorsFile>(std::move(opened).value()));
  return {};
}

Diagnostics Checkpoint::find_tensors() {
  Diagnostics errors;
  for (std::size_t i = 0; i < manifest_.tensors.size(); ++i) {
    const ManifestTensor& tensor = manifest_.tensors[i];
    const SafetensorsFile& file = *files_[tensor.file];
    const TensorInfo* info = file.find(key_of(tensor));
    const auto bytes = static_cast<std::size_t>(tensor.count) * sizeof(float);
    if (info == nullptr || info->type != TensorType::kF32 ||
        info->end - info->begin != bytes) {
      errors.push_back({.kind = DiagnosticKind::kCheckpoint,
                        .code = "E581",
                        .where = file.path(),
                        .found = "tensor \"" + shown(key_of(tensor)) + "\"",
                        .needed = "is missing or of another size"});
      continue;
    }
    ranges_[{tensor.kind, tensor.parameter}].push_back({&file, info, i});
  }
  for (auto& [name, ranges] : ranges_) {
    // Sharded optimizer states lie in several files. The ranges, sorted by
    // their first element, make up the tensor.
    std::sort(ranges.begin(), ranges.end(),
              [this](const Range& a, const Range& b) {
                return manifest_.tensors[a.tensor].first <
                       manifest_.tensors[b.tensor].first;
              });
  }
  return errors;
}

bool Checkpoint::is_sound(const Range& range) const {
  return content_hash(range.file->data(*range.info)) ==
         manifest_.tensors[range.tensor].hash;
}

Diagnostic Checkpoint::damaged(const Range& range) const {
  return {.kind = DiagnosticKind::kCheckpoint,
          .code = "E582",
          .where = range.file->path(),
          .found = fmt::format("tensor \"{}\", bytes {} to {} of the file,",
                               shown(range.info->name),
                               range.file->head().size() + range.info->begin,
                               range.file->head().size() + range.info->end),
          .needed = "is damaged: its hash differs from the manifest's"};
}

Diagnostics Checkpoint::verify() const {
  Diagnostics errors;
  for (const auto& [name, ranges] : ranges_) {
    for (const Range& range : ranges) {
      if (!is_sound(range)) errors.push_back(damaged(range));
    }
  }
  return errors;
}

const std::vector<std::int64_t>* Checkpoint::find(
    const std::string& kind, const std::string& parameter) const {
  const auto found = ranges_.find({kind, parameter});
  if (found == ranges_.end()) return nullptr;
  return &manifest_.tensors[found->second.front().tensor].shape;
}

Diagnostics Checkpoint::read(const std::string& kind,
                             const std::string& parameter,
                             std::span<std::byte> out) const {
  std::size_t at = 0;
  for (const Range& range : ranges_.at({kind, parameter})) {
    if (!is_sound(range)) return {damaged(range)};
    const std::span<const std::byte> bytes = range.file->data(*range.info);
    CHIMERA_CHECK(at + bytes.size() <= out.size(), "no place for a tensor");
    std::memcpy(out.data() + at, bytes.data(), bytes.size());
    at += bytes.size();
  }
  CHIMERA_CHECK_EQ(at, out.size());
  return {};
}

}  // namespace chimera
