// manifest.json: lists what a checkpoint holds, with hashes of every byte.
//
//   {"format":"chimera-checkpoint-1","step":10,"samples":320,"updates":10,
//    "seed":0,"schedule":"9f0c...","config":"[model]\n...",
//   "model":"{\"model_type\":\"gpt2\",...}",
//   "files":[{"name":"part-0000.safetensors","bytes":840,"head":"ab12..."}],
//   "tensors":[{"kind":"weights","parameter":"ln_f.bias","shape":[64],
//     "first":0,"count":64,"file":0,"hash":"77aa..."}],
//   "hash":"..."}
//
// A tensor is a parameter's numbers of one kind (exec/train_state.h), or a
// range of them, in which case several make up the whole. Any worker may read
// what any other wrote. The last hash covers all text before it. Files are
// untrusted: nothing is allocated by a size that they claim.
//
// Codes:
//   E580 a manifest that cannot be read, or is damaged
//   E581 a file that is missing, damaged or not what the manifest says
//   E582 numbers that differ from their hash
//   E583 a parameter that is incomplete
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

struct ManifestFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string head;  // hash of the file's header

  bool operator==(const ManifestFile&) const = default;
};

struct ManifestTensor {
  std::string kind;
  std::string parameter;
  std::vector<std::int64_t> shape;  // shape of the whole parameter
  std::int64_t first = 0;           // index of the range's first element
  std::int64_t count = 0;
  int file = 0;      // in Manifest::files
  std::string hash;  // of its bytes

  bool operator==(const ManifestTensor&) const = default;
};

struct Manifest {
  int step = 0;              // steps done
  std::int64_t samples = 0;  // samples drawn from the data so far
  std::int64_t updates = 0;  // steps whose update was not skipped
  std::int64_t seed = 0;
  std::string schedule;  // hash
  std::string config;    // configuration of the run, as run.toml
  // The model as a Hugging Face config.json, for shapes that come from
  // model.init. Empty for user-defined layers.
  std::string model;
  std::vector<ManifestFile> files;
  std::vector<ManifestTensor> tensors;

  bool operator==(const Manifest&) const = default;
};

// True if the tensor is a whole parameter, false if it is a range of one.
[[nodiscard]] bool is_whole(const ManifestTensor& tensor);

// The tensor's name in its file: "kind/parameter", with "@first" for a range.
[[nodiscard]] std::string key_of(const ManifestTensor& tensor);

// The 64-bit XXH3 hash, as a number and as text, "77aa0123456789ab".
[[nodiscard]] std::uint64_t content_number(std::span<const std::byte> bytes);
[[nodiscard]] std::string content_hash(std::span<const std::byte> bytes);

[[nodiscard]] std::string to_json(const Manifest& manifest);
// `file_name` names the manifest in messages.
[[nodiscard]] Result<Manifest> parse_manifest(const std::string& text,
                                              const std::string& file_name);

// Reports E583 for every parameter whose tensors do not cover it.
[[nodiscard]] Diagnostics check_complete(const Manifest& manifest,
                                         const std::string& where);

}  // namespace chimera
