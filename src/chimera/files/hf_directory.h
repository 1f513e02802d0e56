// An open Hugging Face directory: config.json and the weights beside it, in
// model.safetensors or in the shards that model.safetensors.index.json names.
// The files are untrusted; safetensors.h says how that is handled.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/files/hf_config.h"
#include "chimera/files/safetensors.h"

namespace chimera {

// One tensor and its file: file->copy_as_float(*info, out) reads it.
struct StoredTensor {
  const SafetensorsFile* file = nullptr;
  const TensorInfo* info = nullptr;
};

// An open directory. Movable; its StoredTensors stay valid until it is
// destroyed.
class HfDirectory {
 public:
  [[nodiscard]] static Result<HfDirectory> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const HfShape& shape() const { return shape_; }
  // The tensors of all shards, each name once, named as in the files.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const {
    return tensors_;
  }

 private:
  HfDirectory() = default;
  Diagnostics open_weights();
  Diagnostics open_shards(const std::string& index_path);
  Diagnostics open_file(const std::string& path);
  void list_tensors();

  std::string path_;
  HfShape shape_;
  std::vector<SafetensorsFile> files_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace chimera
