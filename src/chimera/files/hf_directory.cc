#include "chimera/files/hf_directory.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/files/hf_family.h"
#include "chimera/files/hf_index.h"

namespace chimera {
namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Diagnostic no_directory(const std::string& path, const std::string& needed) {
  return {.kind = DiagnosticKind::kData,
          .code = "E528",
          .where = path,
          .found = "the directory",
          .needed = needed,
          .hint = "name one that save_pretrained wrote"};
}

Diagnostic no_weights(const std::string& path) {
  for (const char* name :
       {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!is_there(path + "/" + name)) continue;
    return {.kind = DiagnosticKind::kData,
            .code = "E529",
            .where = path,
            .found = std::string("weights in ") + name,
            .needed = "must be in model.safetensors",
            .hint =
                "convert them: from_pretrained(...).save_pretrained(DIR, "
                "safe_serialization=True)"};
  }
  return no_directory(path, "no model.safetensors");
}

// Collects only the first few mistakes, because all of them have one cause.
class ShardErrors {
 public:
  void add(const std::string& where, const std::string& tensor,
           const std::string& needed) {
    constexpr size_t kEnough = 20;
    if (list.size() >= kEnough) return;
    list.push_back({.kind = DiagnosticKind::kData,
                    .code = "E535",
                    .where = where,
                    .found = "tensor \"" + shown(tensor) + "\"",
                    .needed = needed,
                    .hint = "index and shards are of different models"});
  }

  Diagnostics list;
};

// Compares the index with the shards: both must name the same tensors.
Diagnostics compare(
    const HfIndex& index, const std::string& index_path,
    const std::map<std::string, const SafetensorsFile*>& files) {
  ShardErrors errors;
  for (const auto& [tensor, name] : index) {
    if (files.at(name)->find(tensor) == nullptr) {
      errors.add(index_path, tensor, "is not in " + shown(name));
    }
  }
  for (const auto& [name, file] : files) {
    for (const TensorInfo& tensor : file->tensors()) {
      const auto entry = index.find(tensor.name);
      if (entry == index.end() || entry->second != name) {
        errors.add(file->path(), tensor.name, "is not there by the index");
      }
    }
  }
  return errors.list;
}

}  // namespace

Diagnostics HfDirectory::open_file(const std::string& path) {
  auto file = SafetensorsFile::open(path);
  if (!file) return file.errors();
  files_.push_back(std::move(file).value());
  return {};
}

Diagnostics HfDirectory::open_shards(const std::string& index_path) {
  const auto text = read_file(index_path);
  if (!text) return text.errors();
  const auto index = parse_hf_index(*text, index_path);
  if (!index) return index.errors();
  std::set<std::string> names;
  for (const auto& [tensor, name] : *index) names.insert(name);
  for (const std::string& name : names) {
    Diagnostics errors = open_file(path_ + "/" + name);
    if (!errors.empty()) return errors;
  }
  std::map<std::string, const SafetensorsFile*> files;
  for (size_t i = 0; const std::string& name : names) {
    files[name] = &files_[i++];
  }
  return compare(*index, index_path, files);
}

Diagnostics HfDirectory::open_weights() {
  const std::string single = path_ + "/model.safetensors";
  const std::string index = single + ".index.json";
  if (is_there(single)) return open_file(single);
  if (is_there(index)) return open_shards(index);
  return {no_weights(path_)};
}

void HfDirectory::list_tensors() {
  for (const SafetensorsFile& file : files_) {
    for (const TensorInfo& info : file.tensors()) {
      tensors_.push_back({.file = &file, .info = &info});
    }
  }
}

Result<HfDirectory> HfDirectory::open(const std::string& path) {
  const std::string config_path = path + "/config.json";
  if (!is_there(path)) return no_directory(path, "does not exist");
  if (!is_there(config_path)) return no_directory(path, "has no config.json");
  const auto text = read_file(config_path);
  if (!text) return text.errors();
  const auto shape = parse_hf_config(*text, config_path);
  if (!shape) return shape.errors();
  HfDirectory directory;
  directory.path_ = path;
  directory.shape_ = *shape;
  Diagnostics errors = directory.open_weights();
  if (!errors.empty()) return errors;
  directory.list_tensors();
  // The layer count is bounded by the number of tensors before anything
  // allocates by it.
  const auto layers = static_cast<size_t>(shape->model.layers);
  if (layers > directory.tensors_.size()) {
    return Diagnostic{
        .kind = DiagnosticKind::kData,
        .code = "E522",
        .where = config_path,
        .found = fmt::format("{} = {}", hf_family(shape->model).sizes[0].name,
                             layers),
        .needed = fmt::format("must be at most the number of tensors, {}",
                              directory.tensors_.size())};
  }
  return directory;
}

}  // namespace chimera
