// A checkpoint on disk (checkpoints/step-00000010 of a run directory), opened
// for reading. Any layout can read it, whatever layout wrote it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/checkpoint/manifest.h"
#include "chimera/files/safetensors.h"

namespace chimera {

class Checkpoint {
 public:
  // Checks everything except the numbers themselves: sizes, headers, and that
  // every parameter is complete. Codes E580 to E583.
  [[nodiscard]] static Result<Checkpoint> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }

  // Compares all numbers with their hashes: E582 for each tensor that differs.
  [[nodiscard]] Diagnostics verify() const;

  // The shape of a parameter's tensor of this kind; null if there is none.
  [[nodiscard]] const std::vector<std::int64_t>* find(
      const std::string& kind, const std::string& parameter) const;
  // Copies the tensor into `out` and checks its hash. REQUIRES: find() returns
  // the tensor, and `out` has its size in float32.
  [[nodiscard]] Diagnostics read(const std::string& kind,
                                 const std::string& parameter,
                                 std::span<std::byte> out) const;

 private:
  struct Range {
    const SafetensorsFile* file = nullptr;
    const TensorInfo* info = nullptr;
    std::size_t tensor = 0;  // index in manifest_
  };
  using Name = std::pair<std::string, std::string>;  // kind and parameter

  explicit Checkpoint(std::string path, Manifest manifest)
      : path_(std::move(path)), manifest_(std::move(manifest)) {}
  [[nodiscard]] Diagnostics open_files();
  [[nodiscard]] Diagnostics open_file(const ManifestFile& file);
  [[nodiscard]] Diagnostics find_tensors();
  [[nodiscard]] Diagnostic damaged(const Range& range) const;
  [[nodiscard]] bool is_sound(const Range& range) const;

  std::string path_;
  Manifest manifest_;
  // In the manifest's order.
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<Name, std::vector<Range>> ranges_;  // by first element
};

}  // namespace chimera
