// A checkpoint is complete exactly if it has its final name. The order of the
// writes ensures this, whenever the machine crashes:
//   1. Each rank writes its tensors and then its own manifest, both flushed to
//      disk. A part counts once this manifest exists.
//   2. Rank 0 merges these manifests into manifest.json, flushes it and the
//      folder, renames the folder, and flushes the folder above.
//   3. Only then are old checkpoints removed. Each is renamed first, so that no
//      reader finds half of one.
#include "chimera/checkpoint/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "chimera/base/check.h"
#include "chimera/base/files.h"
#include "chimera/checkpoint/catalog.h"
#include "chimera/files/safetensors_write.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

std::string data_name(int rank) {
  return fmt::format("part-{:04}.safetensors", rank);
}

std::string manifest_name(const std::string& folder, int rank) {
  return fmt::format("{}/part-{:04}.json", folder, rank);
}

std::span<const std::byte> bytes_in(const StatePiece& piece) {
  return {static_cast<const std::byte*>(piece.numbers.data),
          piece.numbers.bytes()};
}

// Refuses weights that are not finite. The votes of an asynchronous run do not
// see its last updates, and a save of bad weights would replace an older, valid
// checkpoint.
void check_finite(const StatePiece& piece) {
  if (piece.kind != kWeightsKind) return;
  const auto* numbers = static_cast<const float*>(piece.numbers.data);
  for (std::size_t i = 0; i < piece.numbers.count; ++i) {
    if (std::isfinite(numbers[i])) continue;
    throw IoError("weights are not numbers: " + piece.parameter);
  }
}

// The manifest entry of a piece, without its hash.
ManifestTensor tensor_of(const StatePiece& piece) {
  CHIMERA_CHECK(piece.numbers.type == NumberType::kFloat32,
                "checkpoints hold float32");
  return {.kind = piece.kind,
          .parameter = piece.parameter,
          .shape = piece.shape,
          .first = piece.first,
          .count = static_cast<std::int64_t>(piece.numbers.count)};
}

// Merges the manifests of all ranks' parts.
Manifest merge_parts(const CommitOrder& order) {
  Manifest whole;
  for (const int rank : order.ranks) {
    const std::string name = manifest_name(order.folder, rank);
    const Result<std::string> text = read_file(name);
    if (!text) throw IoError(name + " cannot be read");
    const Result<Manifest> part = parse_manifest(*text, name);
    if (!part) throw IoError(to_string(part.errors().front()));
    const auto first_file = static_cast<int>(whole.files.size());
    const Manifest before = std::move(whole);
    whole = *part;
    whole.files.insert(whole.files.begin(), before.files.begin(),
                       before.files.end());
    for (ManifestTensor& tensor : whole.tensors) tensor.file += first_file;
    whole.tensors.insert(whole.tensors.begin(), before.tensors.begin(),
                         before.tensors.end());
  }
  const Diagnostics missing = check_complete(whole, order.folder);
  if (!missing.empty()) throw IoError(to_string(missing.front()));
  return whole;
}

// Renames the checkpoint before removing it, so that readers see either all of
// it or nothing.
void remove_checkpoint(const std::string& run_dir,
                       const CheckpointEntry& entry) {
  const std::string aside = fmt::format("{}/.step-{:08}.removing",
                                        checkpoints_path(run_dir), entry.step);
  fs::remove_all(aside);
  fs::rename(entry.path, aside);
  fs::remove_all(aside);
}

// Returns why an old checkpoint could not be removed; empty if all were. The
// new checkpoint is complete either way.
std::string remove_old(const CommitOrder& order) {
  std::vector<CheckpointEntry> entries;
  try {
    entries = list_checkpoints(order.run_dir);
  } catch (const IoError& error) {
    return error.what();
  }
  std::string reason;
  for (std::size_t i = order.keep; i < entries.size(); ++i) {
    try {
      remove_checkpoint(order.run_dir, entries[i]);
    } catch (const fs::filesystem_error& error) {
      reason =
          fmt::format("an old checkpoint is still there: {}", error.what());
    }
  }
  return reason;
}

}  // namespace

void write_part(const PartOrder& order, const std::vector<StatePiece>& pieces) {
  std::error_code error;
  fs::create_directories(order.folder, error);
  if (error) {
    throw IoError("cannot make " + order.folder + ": " + error.message());
  }
  Manifest part = order.head;
  std::vector<TensorView> views;
  for (const StatePiece& piece : pieces) {
    if (piece.copy) piece.copy->wait();
    ManifestTensor tensor = tensor_of(piece);
    check_finite(piece);
    views.push_back({.name = key_of(tensor), .data = bytes_in(piece)});
    if (is_whole(tensor)) {
      views.back().shape = tensor.shape;
    } else {
      views.back().shape = {tensor.count};
    }
    tensor.hash = content_hash(bytes_in(piece));
    part.tensors.push_back(std::move(tensor));
  }
  const std::string path = order.folder + "/" + data_name(order.rank);
  write_safetensors(path, views, {{"format", "pt"}});
  // Reopens the file to hash its header, because the manifest lists that hash
  // too.
  const Result<SafetensorsFile> written = SafetensorsFile::open(path);
  if (!written) throw IoError(to_string(written.errors().front()));
  part.files = {{.name = data_name(order.rank),
                 .bytes = static_cast<std::int64_t>(written->head().size()) +
                          bytes_of(pieces),
                 .head = content_hash(written->head())}};
  write_durably(manifest_name(order.folder, order.rank), to_json(part));
}

bool has_part(const std::string& folder, int rank) {
  std::error_code error;
  return fs::exists(manifest_name(folder, rank), error);
}

Committed commit_parts(const CommitOrder& order) {
  const Manifest manifest = merge_parts(order);
  const std::string path = checkpoint_path(order.run_dir, manifest.step);
  try {
    write_durably(order.folder + "/manifest.json", to_json(manifest));
    for (const int rank : order.ranks) {
      fs::remove(manifest_name(order.folder, rank));
    }
    sync_directory(order.folder);
    fs::rename(order.folder, path);
    sync_directory(checkpoints_path(order.run_dir));
    sync_directory(order.run_dir);  // in case checkpoints/ is new
  } catch (const fs::filesystem_error& error) {
    throw IoError(error.what());
  }
  return {.path = path, .warning = remove_old(order)};
}

void give_up_parts(const std::string& folder) noexcept {
  std::error_code error;
  fs::remove_all(folder, error);
}

std::int64_t bytes_of(const std::vector<StatePiece>& pieces) {
  std::int64_t bytes = 0;
  for (const StatePiece& piece : pieces) {
    bytes += static_cast<std::int64_t>(piece.numbers.bytes());
  }
  return bytes;
}

}  // namespace chimera
