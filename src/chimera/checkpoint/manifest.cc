#include "chimera/checkpoint/manifest.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

constexpr const char* kFormat = "chimera-checkpoint-1";
constexpr const char* kHashKey = ",\n\"hash\":";

std::string hash_of_text(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text)));
}

std::string file_json(const ManifestFile& file) {
  return fmt::format("{{\"name\":{},\"bytes\":{},\"head\":{}}}",
                     json_string(file.name), file.bytes,
                     json_string(file.head));
}

std::string tensor_json(const ManifestTensor& tensor) {
  return fmt::format(
      "{{\"kind\":{},\"parameter\":{},\"shape\":{},\"first\":{},\"count\":{},"
      "\"file\":{},\"hash\":{}}}",
      json_string(tensor.kind), json_string(tensor.parameter),
      shape_text(tensor.shape), tensor.first, tensor.count, tensor.file,
      json_string(tensor.hash));
}

// Accepts plain file names only, so that a manifest cannot name a file outside
// its checkpoint.
bool is_part_name(const std::string& name) {
  constexpr std::string_view kBegin = "part-";
  constexpr std::string_view kEnd = ".safetensors";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  const std::string_view digits = std::string_view(name).substr(
      kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return !digits.empty() && digits.size() < 10 &&
         std::all_of(digits.begin(), digits.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// Number of elements; nullopt if it overflows.
std::optional<std::int64_t> elements(const std::vector<std::int64_t>& shape) {
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
  }
  const std::optional<size_t> bytes = tensor_bytes(TensorType::kF64, shape);
  if (!bytes) return std::nullopt;
  return static_cast<std::int64_t>(*bytes / type_bytes(TensorType::kF64));
}

class ManifestReader {
 public:
  ManifestReader(const std::string& text, const std::string& file_name)
      : file_name_(file_name),
        reader_(text, file_name, errors_,
                {.syntax = "E580",
                 .type = "E580",
                 .range = "E580",
                 .key = "E580",
                 .kind = DiagnosticKind::kCheckpoint}) {}

  Result<Manifest> read();

 private:
  void read_member(const std::string& key);
  void read_file();
  void read_tensor();
  void check();
  void refuse(const std::string& found, const std::string& needed) {
    errors_.push_back({.kind = DiagnosticKind::kCheckpoint,
                       .code = "E580",
                       .where = file_name_,
                       .found = found,
                       .needed = needed});
  }
  template <class T>
  void store(T& place, const std::optional<T>& value) {
    if (value) place = *value;
  }

  std::string file_name_;
  Diagnostics errors_;
  JsonReader reader_;
  std::string format_;
  Manifest manifest_;
};

Result<Manifest> ManifestReader::read() {
  reader_.object("the manifest",
                 [this](const std::string& key) { read_member(key); });
  reader_.finish();
  if (errors_.empty()) check();
  if (!errors_.empty()) return errors_;
  return std::move(manifest_);
}

void ManifestReader::read_member(const std::string& key) {
  Manifest& m = manifest_;
  if (key == "format") {
    store(format_, reader_.string(key));
  } else if (key == "step") {
    store(m.step, reader_.integer(key));
  } else if (key == "samples") {
    store(m.samples, reader_.integer64(key));
  } else if (key == "updates") {
    store(m.updates, reader_.integer64(key));
  } else if (key == "seed") {
    store(m.seed, reader_.integer64(key));
  } else if (key == "schedule") {
    store(m.schedule, reader_.string(key));
  } else if (key == "config") {
    store(m.config, reader_.string(key));
  } else if (key == "model") {
    store(m.model, reader_.string(key));
  } else if (key == "files") {
    reader_.array(key, [this] { read_file(); });
  } else if (key == "tensors") {
    reader_.array(key, [this] { read_tensor(); });
  } else if (key == "hash") {
    (void)reader_.string(key);
  } else {
    reader_.unknown_key(
        key, {"format", "step", "samples", "updates", "seed", "schedule",
              "config", "model", "files", "tensors"});
  }
}

void ManifestReader::read_file() {
  ManifestFile file;
  reader_.object("a file", [&](const std::string& key) {
    if (key == "name") {
      store(file.name, reader_.string(key));
    } else if (key == "bytes") {
      store(file.bytes, reader_.integer64(key));
    } else if (key == "head") {
      store(file.head, reader_.string(key));
    } else {
      reader_.unknown_key(key, {"name", "bytes", "head"});
    }
  });
  manifest_.files.push_back(std::move(file));
}

void ManifestReader::read_tensor() {
  ManifestTensor tensor;
  reader_.object("a tensor", [&](const std::string& key) {
    if (key == "kind") {
      store(tensor.kind, reader_.string(key));
    } else if (key == "parameter") {
      store(tensor.parameter, reader_.string(key));
    } else if (key == "shape") {
      reader_.array(key, [&] {
        if (const auto size = reader_.integer64("a size")) {
          tensor.shape.push_back(*size);
        }
      });
    } else if (key == "first") {
      store(tensor.first, reader_.integer64(key));
    } else if (key == "count") {
      store(tensor.count, reader_.integer64(key));
    } else if (key == "file") {
      store(tensor.file, reader_.integer(key));
    } else if (key == "hash") {
      store(tensor.hash, reader_.string(key));
    } else {
      reader_.unknown_key(key, {"kind", "parameter", "shape", "first", "count",
                                "file", "hash"});
    }
  });
  manifest_.tensors.push_back(std::move(tensor));
}

// Checks conditions that span several fields and on which the manifest's users
// rely.
void ManifestReader::check() {
  if (format_ != kFormat) {
    refuse("format \"" + shown(format_) + "\"",
           std::string("must be \"") + kFormat + "\"");
  }
  // The limit is far above any real count, and small enough that sums of a few
  // counts do not overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  const auto check_count = [&](const char* name, std::int64_t count) {
    if (count >= 0 && count <= kMost) return;
    refuse(fmt::format("{} = {}", name, count),
           fmt::format("must be from 0 to {}", kMost));
  };
  check_count("step", manifest_.step);
  check_count("samples", manifest_.samples);
  check_count("updates", manifest_.updates);
  for (const ManifestFile& file : manifest_.files) {
    if (is_part_name(file.name) && file.bytes >= 0) continue;
    refuse("file \"" + shown(file.name) + "\"",
           "must be part-NUMBER.safetensors and have a size");
  }
  const auto files = static_cast<int>(manifest_.files.size());
  for (const ManifestTensor& tensor : manifest_.tensors) {
    const std::optional<std::int64_t> whole = elements(tensor.shape);
    const bool is_range = whole && tensor.first >= 0 && tensor.count > 0 &&
                          tensor.first <= *whole &&
                          tensor.count <= *whole - tensor.first;
    if (is_range && tensor.file >= 0 && tensor.file < files) continue;
    refuse("tensor \"" + shown(tensor.kind + "/" + tensor.parameter) + "\"",
           "must lie in its parameter and in one of the files");
    if (errors_.size() > 20) return;
  }
}

}  // namespace

bool is_whole(const ManifestTensor& tensor) {
  return elements(tensor.shape) == tensor.count;
}

std::string key_of(const ManifestTensor& tensor) {
  std::string key = tensor.kind + "/" + tensor.parameter;
  if (!is_whole(tensor)) key += fmt::format("@{}", tensor.first);
  return key;
}

std::uint64_t content_number(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string content_hash(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", content_number(bytes));
}

std::string to_json(const Manifest& manifest) {
  std::vector<std::string> files;
  for (const ManifestFile& file : manifest.files) {
    files.push_back(file_json(file));
  }
  std::vector<std::string> tensors;
  for (const ManifestTensor& tensor : manifest.tensors) {
    tensors.push_back(tensor_json(tensor));
  }
  const std::string text = fmt::format(
      "{{\"format\":\"{}\",\"step\":{},\"samples\":{},\"updates\":{},"
      "\"seed\":{},\n\"schedule\":{},\n\"config\":{},\n\"model\":{},"
      "\n\"files\":[\n{}],\n"
      "\"tensors\":[\n{}]",
      kFormat, manifest.step, manifest.samples, manifest.updates, manifest.seed,
      json_string(manifest.schedule), json_string(manifest.config),
      json_string(manifest.model), join(files, ",\n"), join(tensors, ",\n"));
  return fmt::format("{}{}\"{}\"}}\n", text, kHashKey, hash_of_text(text));
}

Result<Manifest> parse_manifest(const std::string& text,
                                const std::string& file_name) {
  const std::size_t end = text.rfind(kHashKey);
  const bool is_sound =
      end != std::string::npos &&
      text.substr(end) == fmt::format("{}\"{}\"}}\n", kHashKey,
                                      hash_of_text(text.substr(0, end)));
  if (!is_sound) {
    return Diagnostic{.kind = DiagnosticKind::kCheckpoint,
                      .code = "E580",
                      .where = file_name,
                      .found = "the manifest",
                      .needed = "is damaged: its hash does not fit its text"};
  }
  return ManifestReader(text, file_name).read();
}

Diagnostics check_complete(const Manifest& manifest, const std::string& where) {
  using Name = std::pair<std::string, std::string>;  // kind and parameter
  std::map<Name, std::vector<const ManifestTensor*>> parts;
  for (const ManifestTensor& tensor : manifest.tensors) {
    parts[{tensor.kind, tensor.parameter}].push_back(&tensor);
  }
  Diagnostics errors;
  for (auto& [name, tensors] : parts) {
    std::sort(tensors.begin(), tensors.end(),
              [](const ManifestTensor* a, const ManifestTensor* b) {
                return a->first < b->first;
              });
    std::int64_t next = 0;
    bool fits = true;
    for (const ManifestTensor* tensor : tensors) {
      fits =
          fits && tensor->first == next && tensor->shape == tensors[0]->shape;
      next = tensor->first + tensor->count;
    }
    if (fits && next == elements(tensors[0]->shape)) continue;
    errors.push_back({.kind = DiagnosticKind::kCheckpoint,
                      .code = "E583",
                      .where = where,
                      .found = shown(name.first + " of " + name.second),
                      .needed = "must be there in whole, each number once"});
    if (errors.size() >= 20) break;
  }
  return errors;
}

}  // namespace chimera
