#include "chimera/run/ranks/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "chimera/base/check.h"
#include "chimera/base/hash.h"
#include "chimera/config/print.h"
#include "chimera/schedule/forms.h"

namespace chimera {
namespace {

using Field = std::string RankReport::*;

constexpr std::array<Field, 8> kFields = {
    &RankReport::host,   &RankReport::version,  &RankReport::build,
    &RankReport::config, &RankReport::schedule, &RankReport::model,
    &RankReport::data,   &RankReport::errors};

// Removes what may differ between ranks: the run directory and the number of
// threads.
std::string comparable(RunConfig config) {
  config.run.dir.clear();
  config.train.threads.reset();
  return print_run_config(config);
}

// Hashes some blocks of a file, the first and the last among them, since it may
// have many gigabytes.
std::uint64_t hash_of_file(const std::filesystem::path& path,
                           std::uintmax_t size) {
  constexpr std::uintmax_t kBlocks = 8;
  std::string block(1 << 16, '\0');
  const std::uintmax_t last = size > block.size() ? size - block.size() : 0;
  std::ifstream file(path, std::ios::binary);
  std::uint64_t hash = hash_of("");
  for (std::uintmax_t i = 0; i < kBlocks; ++i) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(last / (kBlocks - 1) * i));
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash = hash_of(std::string_view(block).substr(0, file.gcount()), hash);
  }
  return hash;
}

// Describes files by name, size and a hash of some blocks.
std::string files_in(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::uintmax_t size = entry.file_size(error);
    files.push_back(fmt::format("{} {} {:016x}\n",
                                entry.path().filename().string(), size,
                                hash_of_file(entry.path(), size)));
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& file : files) text += file;
  return text;
}

std::string describe_model(const RunSetup& setup) {
  std::string text;
  for (const auto& layer : setup.model.layers) {
    text += layer->name() + "\n";
    for (const ParameterSpec& spec : layer->parameters()) {
      text += fmt::format("{} {}\n", spec.name, numel(spec));
    }
  }
  for (const int layer : setup.cut) text += fmt::format("{} ", layer);
  // model.init is not read when a checkpoint supplies all weights.
  const std::string& init = setup.config.model.init;
  const bool is_read = !init.empty() && setup.start.restored == nullptr;
  return is_read ? text + files_in(init) : text;
}

// Hashes some samples of one epoch, starting at `first_step`.
std::uint64_t hash_of_samples(const BatchSource& data, std::int64_t first_step,
                              std::int64_t global_batch) {
  constexpr std::int64_t kSamples = 64;
  const std::int64_t steps = data.num_samples() / global_batch;
  std::uint64_t hash = hash_of("");
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const Batch batch = data.read(first_step + steps * i / kSamples, 0, 1);
    for (const auto* ids : {&batch.inputs, &batch.targets}) {
      hash = hash_of({reinterpret_cast<const char*>(ids->data()),
                      ids->size() * sizeof(std::int64_t)},
                     hash);
    }
  }
  return hash;
}

std::string describe_data(const RunSetup& setup) {
  if (!setup.data) return "none";
  const auto describe = [&](const BatchSource& data, int first_step) {
    return fmt::format("{} samples ({:016x})", data.num_samples(),
                       hash_of_samples(data, first_step, setup.global_batch()));
  };
  std::string text = describe(*setup.data, setup.start.step);
  if (setup.evaluation) {
    text += ", to evaluate " + describe(*setup.evaluation, 0);
  }
  return text;
}

std::string hash_text(const std::string& text) {
  return fmt::format("{:016x}", hash_of(text));
}

// The first pair of lines that differ between two configurations.
std::pair<std::string, std::string> first_difference(const std::string& mine,
                                                     const std::string& first) {
  const std::vector<std::string> a = key_lines(mine);
  const std::vector<std::string> b = key_lines(first);
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto [at_a, at_b] = std::mismatch(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shorter), b.begin());
  const auto text = [](const std::vector<std::string>& keys, auto at) {
    return at == keys.end() ? "nothing more" : *at;
  };
  return {text(a, at_a), text(b, at_b)};
}

class Comparison {
 public:
  explicit Comparison(const RankReport& first) : first_(first) {}

  void add(int rank, const RankReport& report) {
    rank_ = rank;
    report_ = &report;
    check(&RankReport::version, "chimera", "install one version everywhere");
    if (report.version == first_.version) {
      check(&RankReport::build, "build",
            "run the same binary everywhere; others may give other bits");
    }
    if (report.config != first_.config) {
      const auto [found, needed] =
          first_difference(report.config, first_.config);
      refuse(found, needed, "give every rank the same run.toml and flags");
      return;  // everything derived from it differs too
    }
    check(&RankReport::schedule, "the schedule",
          "is schedule.file the same everywhere?");
    check(&RankReport::model, "the model",
          "is model.init the same everywhere?");
    check(&RankReport::data, "data:", "is data.path the same file everywhere?");
  }

  Diagnostics errors;

 private:
  void check(Field field, const std::string& what, const std::string& hint) {
    const std::string& found = report_->*field;
    const std::string& needed = first_.*field;
    if (found != needed) refuse(what + " " + found, what + " " + needed, hint);
  }

  void refuse(const std::string& found, const std::string& needed,
              const std::string& hint) {
    errors.push_back(
        {.code = "E572",
         .where = fmt::format("rank {} ({})", rank_, report_->host),
         .found = found + ",",
         .needed = fmt::format("but rank 0 ({}) has {}", first_.host, needed),
         .hint = hint});
  }

  const RankReport& first_;
  int rank_ = 0;
  const RankReport* report_ = nullptr;
};

}  // namespace

RankReport report_of(const RunSetup& setup) {
  return {.config = comparable(setup.config),
          .schedule = hash_text(to_json(setup.schedule)),
          .model = hash_text(describe_model(setup)),
          .data = describe_data(setup)};
}

// "5:hello3:abc...".
std::string pack(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    bytes += fmt::format("{}:{}", text.size(), text);
  }
  return bytes;
}

std::vector<std::string> unpack_texts(const std::string& bytes) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t colon = bytes.find(':', at);
    CHIMERA_CHECK(colon != std::string::npos, "a message is cut short");
    const std::size_t size = std::stoul(bytes.substr(at, colon - at));
    texts.push_back(bytes.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  return texts;
}

std::string pack(const RankReport& report) {
  std::vector<std::string> texts{std::to_string(report.code)};
  for (const Field field : kFields) texts.push_back(report.*field);
  return pack(texts);
}

// A rank of another version may send more or fewer texts, but its version comes
// first.
RankReport unpack(const std::string& bytes) {
  const std::vector<std::string> texts = unpack_texts(bytes);
  CHIMERA_CHECK(!texts.empty(), "a report is empty");
  RankReport report{.code = static_cast<ExitCode>(std::stoi(texts[0]))};
  const std::size_t fields = std::min(kFields.size(), texts.size() - 1);
  for (std::size_t i = 0; i < fields; ++i) report.*kFields[i] = texts[i + 1];
  return report;
}

Diagnostics compare(const std::vector<RankReport>& reports) {
  Comparison comparison(reports.at(0));
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    comparison.add(static_cast<int>(rank), reports[rank]);
  }
  return comparison.errors;
}

}  // namespace chimera
