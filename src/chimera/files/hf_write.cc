#include "chimera/files/hf_write.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "chimera/base/files.h"
#include "chimera/files/hf_index.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

// A folder beside the target, removed with its contents on destruction.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& target)
      : name_(target.string() + ".XXXXXX") {
    if (mkdtemp(name_.data()) == nullptr) {
      throw IoError("cannot create " + name_ + ": " + std::strerror(errno));
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(name_, ignored);
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

Diagnostics check_target(const fs::path& target) {
  const auto refuse = [&](const char* needed) {
    return Diagnostics{{.kind = DiagnosticKind::kData,
                        .code = "E543",
                        .where = "",
                        .found = "directory \"" + target.string() + "\"",
                        .needed = needed,
                        .hint = "name another one, or remove it"}};
  };
  if (!fs::exists(target)) return {};
  if (!fs::is_directory(target)) return refuse("must be a directory");
  if (!fs::is_empty(target)) return refuse("must be empty");
  return {};
}

// In an untied BERT, transformers adds cls.predictions.decoder.bias; older
// versions add cls.predictions.bias. Both are written, with the same values.
std::vector<TensorView> with_decoder_bias(const HfShape& shape,
                                          std::span<const TensorView> tensors) {
  std::vector<TensorView> all(tensors.begin(), tensors.end());
  if (shape.model.kind != ModelKind::kBert || shape.model.tie_embeddings) {
    return all;
  }
  const auto find = [&](const char* name) {
    return std::ranges::find(all, name, &TensorView::name);
  };
  constexpr const char* kDecoderBias = "cls.predictions.decoder.bias";
  const auto bias = find("cls.predictions.bias");
  if (bias == all.end() || find(kDecoderBias) != all.end()) return all;
  TensorView copy = *bias;
  copy.name = kDecoderBias;
  all.push_back(copy);
  return all;
}

std::vector<std::span<const TensorView>> cut(
    std::span<const TensorView> tensors, size_t max_bytes) {
  std::vector<std::span<const TensorView>> shards;
  size_t begin = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t more = tensors[i].bytes();
    if (i > begin && bytes + more > max_bytes) {
      shards.push_back(tensors.subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += more;
  }
  shards.push_back(tensors.subspan(begin));
  return shards;
}

void write_weights(const std::string& folder,
                   std::span<const TensorView> tensors, size_t max_bytes) {
  const SafetensorsMetadata metadata = {{"format", "pt"}};
  const std::vector<std::span<const TensorView>> shards =
      cut(tensors, max_bytes);
  if (shards.size() == 1) {
    write_safetensors(folder + "/model.safetensors", tensors, metadata);
    return;
  }
  HfIndex index;
  size_t total_bytes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name =
        fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    write_safetensors(folder + "/" + name, shards[i], metadata);
    for (const TensorView& tensor : shards[i]) {
      index[tensor.name] = name;
      total_bytes += tensor.bytes();
    }
  }
  write_durably(folder + "/model.safetensors.index.json",
                hf_index_text(index, total_bytes));
}

// `path` with symbolic links followed and without a slash at the end.
fs::path resolved(const std::string& path) {
  const fs::path target = fs::weakly_canonical(fs::absolute(path));
  return target.has_filename() ? target : target.parent_path();
}

}  // namespace

Diagnostics write_hf_directory(const std::string& path, const HfShape& shape,
                               std::span<const TensorView> tensors,
                               const HfWriteOptions& options) {
  try {
    const fs::path target = resolved(path);
    Diagnostics errors = check_target(target);
    if (!errors.empty()) return errors;
    fs::create_directories(target.parent_path());
    const TemporaryFolder outer(target);
    // Makes a folder inside mkdtemp's private one, so that it gets the user's
    // usual mode.
    const std::string folder = outer.name() + "/model";
    fs::create_directory(folder);
    if (shape.model.layers > 0) {
      write_durably(folder + "/config.json", hf_config_text(shape));
    }
    write_weights(folder, with_decoder_bias(shape, tensors),
                  options.max_shard_bytes);
    for (const HfExtraFile& file : options.extra) {
      write_durably(folder + "/" + file.name, file.text);
    }
    sync_directory(folder);
    fs::rename(folder, target);
    sync_directory(target.parent_path());
  } catch (const fs::filesystem_error& error) {
    throw IoError("cannot write " + path + ": " + error.code().message());
  }
  return {};
}

}  // namespace chimera
