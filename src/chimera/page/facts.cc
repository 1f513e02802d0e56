#include "chimera/page/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chimera/base/text.h"
#include "chimera/plan/model_layers.h"

namespace chimera {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Writes "2026-11-18T01:02:03Z" as "2026-11-18 01:02 UTC"; returns other text
// unchanged.
std::string readable_time(const std::string& stamp) {
  constexpr std::size_t kLength = 20;
  if (stamp.size() != kLength || stamp[10] != 'T') return stamp;
  return stamp.substr(0, 10) + " " + stamp.substr(11, 5) + " UTC";
}

// Examples: "4 ms"; "2 to 6 ms" if stages differ.
std::string milliseconds(const std::vector<double>& stages) {
  const auto [least, most] = std::minmax_element(stages.begin(), stages.end());
  if (*least == *most) return fmt::format("{:g} ms", *least);
  return fmt::format("{:g} to {:g} ms", *least, *most);
}

double parameters_of(const ModelShape& shape) {
  double parameters = 0;
  double tied = 0;
  for (const ModelLayer& layer : layers_of(shape)) {
    parameters += layer.parameters;
    tied = std::max(tied, layer.tied_parameters);
  }
  return parameters + tied;
}

class FactList {
 public:
  FactList(const RunRecord& record, const Metrics& metrics)
      : record_(record), metrics_(metrics) {}

  std::vector<Fact> run() {
    add_result();
    if (record_.config) {
      add_model(record_.config->model);
      add_layout();
      add_training(*record_.config);
    }
    add_machine();
    return std::move(facts_);
  }

 private:
  void add(const std::string& label, const std::string& value) {
    facts_.push_back({group_, label, value, false});
  }
  void add_headline(const std::string& label, const std::string& value) {
    facts_.push_back({group_, label, value, true});
  }

  void add_result() {
    group_ = "Result";
    std::string state = record_.state.state;
    if (state.empty()) state = "unknown";
    if (record_.state.exit.value_or(0) != 0) {
      state += fmt::format(", exit {}", *record_.state.exit);
    }
    add_headline("State", state);
    std::string steps = std::to_string(metrics_.steps());
    if (record_.config && record_.config->train.steps) {
      steps += fmt::format(" of {}", *record_.config->train.steps);
    }
    add_headline("Steps", steps);
    add_losses();
    if (metrics_.seconds() > 0 && metrics_.tokens() > 0) {
      add_headline("Tokens/s",
                   short_number(metrics_.tokens() / metrics_.seconds()));
    }
    add_mean("mfu", "MFU");
    add_mean("bubble", "Bubble");
    add_step_times();
    if (record_.state.state == "running") {
      add("Last sign of life", readable_time(record_.state.written));
    }
    add("Time of all steps", short_time(metrics_.seconds()));
    if (metrics_.tokens() > 0) {
      add("Tokens", short_number(metrics_.tokens()));
    }
    add_memory();
  }

  void add_losses() {
    const Curve& loss = metrics_.curve("loss");
    if (metrics_.has_lost_loss()) {
      add_headline("Loss", "not a number");
    } else if (!loss.is_flat_zero()) {
      add_headline("Loss", fmt::format("{:.4g}", loss.newest().value));
    }
    const Curve& evaluation = metrics_.curve("eval_loss");
    if (evaluation.empty()) return;
    add_headline("Evaluation loss",
                 fmt::format("{:.4g}", evaluation.newest().value));
    add("Lowest evaluation loss",
        fmt::format("{:.4g} after step {}", evaluation.lowest().value,
                    evaluation.lowest().step));
  }

  void add_mean(const char* key, const char* label) {
    const Curve& curve = metrics_.curve(key);
    if (!curve.is_flat_zero()) add_headline(label, percent(curve.mean()));
  }

  // The mean time of the measured steps, and the planned time of one.
  void add_step_times() {
    const Curve& time = metrics_.curve("step_s");
    if (!time.empty()) add_headline("Step time", short_time(time.mean()));
    if (record_.time_unit != "s") return;
    for (const Timeline& timeline : record_.timelines) {
      if (timeline.kind != "planned") continue;
      add("Step time, planned", short_time(makespan(timeline.trace)));
    }
  }

  void add_memory() {
    const std::vector<double>& peaks = record_.memory.peak_bytes;
    if (!peaks.empty()) {
      add("Most memory of a worker, measured",
          short_bytes(*std::max_element(peaks.begin(), peaks.end())));
    }
    const auto most = std::max_element(
        record_.predicted_bytes.begin(), record_.predicted_bytes.end(),
        [](const WorkerBytes& a, const WorkerBytes& b) {
          return a.total() < b.total();
        });
    if (most != record_.predicted_bytes.end()) {
      add("Most memory of a worker, predicted", short_bytes(most->total()));
    }
  }

  void add_model(const ModelConfig& model) {
    group_ = "Model";
    std::string kind(name_of(model.kind));
    if (!model.preset.empty()) kind += ", preset " + model.preset;
    if (!model.init.empty()) kind += ", from " + model.init;
    add("Kind", kind);
    const auto add_number = [&](const char* label, std::optional<int> value) {
      if (value) add(label, std::to_string(*value));
    };
    if (model.kind == ModelKind::kEmulated) return add_emulated();
    if (model.layers && model.hidden && model.heads && model.vocab &&
        model.seq && model.positions && model.ffn && model.tie_embeddings) {
      add("Parameters", short_number(parameters_of(shape_of(model))));
    }
    add_number("Layers", model.layers);
    add_number("Hidden size", model.hidden);
    add_number("Heads", model.heads);
    add_number("Sequence", model.seq);
    add_number("Vocabulary", model.vocab);
  }

  void add_emulated() {
    const EmulatedConfig& times = record_.config->emulated;
    const auto add_time = [&](const char* label,
                              const std::vector<double>& stages) {
      if (!stages.empty()) add(label, milliseconds(stages));
    };
    add_time("Forward of a stage", times.forward_ms);
    add_time("Input gradient of a stage", times.input_grad_ms);
    add_time("Weight gradient of a stage", times.weight_grad_ms);
  }

  void add_layout() {
    if (!record_.schedule) return;
    group_ = "Layout";
    const Schedule& schedule = *record_.schedule;
    const ScheduleConfig& config = record_.config->schedule;
    add("Scheme", schedule.scheme);
    std::string workers = std::to_string(schedule.workers() * schedule.width);
    if (schedule.width > 1) {
      workers +=
          fmt::format(" ({} copies of {})", schedule.width, schedule.workers());
    }
    add("Workers", workers);
    add("Pipes", std::to_string(schedule.pipes()));
    add("Stages", std::to_string(schedule.stages()));
    std::string micros = std::to_string(schedule.micros);
    if (config.micro_batch == 1) micros += " of 1 sample";
    if (config.micro_batch.value_or(1) > 1) {
      micros += fmt::format(" of {} samples", *config.micro_batch);
    }
    add("Micro-batches", micros);
    if (config.micro_batch) {
      add("Samples per step",
          short_number(double{1} * schedule.micros * *config.micro_batch *
                       schedule.width));
    }
    add("Gradient sums", std::string(name_of(config.sync)));
    if (config.recompute) {
      add("Recomputation", config.recompute.is_all()
                               ? "yes"
                               : fmt::format("{} layers of each stage",
                                             config.recompute.layers()));
    }
  }

  void add_training(const RunConfig& config) {
    group_ = "Training";
    if (config.model.kind == ModelKind::kEmulated) return;
    add("Optimizer", std::string(name_of(config.train.optimizer)));
    if (config.train.lr) {
      add("Learning rate", fmt::format("{:g}, {}", *config.train.lr,
                                       name_of(config.train.decay)));
    }
    if (config.train.clip > 0) {
      add("Clipping", fmt::format("{:g}", config.train.clip));
    }
    add("Seed", std::to_string(config.train.seed));
    add("Data", join(config.data.path, ", "));
  }

  void add_machine() {
    group_ = "Machine";
    const MachineFile& machine = record_.machine;
    std::vector<std::string> names;
    int cores = 0;
    double bytes = 0;
    for (const Host& host : machine.hosts) {
      if (names.size() < 4) names.push_back(host.name);
      cores += std::max(0, host.cores);
      bytes += host.memory_bytes;
    }
    if (machine.hosts.size() > names.size()) {
      names.push_back(
          fmt::format("{} more", machine.hosts.size() - names.size()));
    }
    if (!names.empty()) add("Hosts", join(names, ", "));
    if (cores > 0) add("Cores", std::to_string(cores));
    if (bytes > 0) add("Memory", short_bytes(bytes));
    if (record_.config && record_.config->train.threads) {
      add("Threads per worker", std::to_string(*record_.config->train.threads));
    }
    if (record_.config &&
        record_.config->run.transport != TransportKind::kAuto) {
      add("Transport", std::string(name_of(record_.config->run.transport)));
    }
    if (!machine.version.empty()) add("Chimera", machine.version);
    if (!machine.started.empty())
      add("Started", readable_time(machine.started));
    add("Directory", record_.path);
  }

  const RunRecord& record_;
  const Metrics& metrics_;
  std::string group_;
  std::vector<Fact> facts_;
};

}  // namespace

std::string short_number(double value) {
  constexpr std::array<const char*, 5> kPrefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 1000 && prefix + 1 < kPrefixes.size()) {
    if (prefix == 0 && std::abs(value) < 10000) break;  // shows 4096, not 4.1 k
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.4g}{}", value, kPrefixes[prefix]);
}

std::string short_time(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", 1000 * seconds);
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<long long>(std::min(seconds, 1e15));
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60,
                     whole % 60);
}

std::string short_bytes(double bytes) {
  return short_number(bytes) + (bytes < 10000 ? " B" : "B");
}

std::vector<Fact> facts_of(const RunRecord& record, const Metrics& metrics) {
  return FactList(record, metrics).run();
}

}  // namespace chimera
