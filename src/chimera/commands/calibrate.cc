// chimera calibrate: measures a model on this machine and writes a
// profile.toml.
#include "chimera/train/calibrate.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <set>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/config/parse.h"
#include "chimera/console/console.h"
#include "chimera/console/values.h"
#include "chimera/exec/program.h"
#include "chimera/exec/run_threads.h"
#include "chimera/model/device_clock.h"
#include "chimera/plan/profile_text.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/run/cores.h"
#include "chimera/run/failure.h"
#include "chimera/run/host_memory.h"
#include "chimera/run/launcher.h"
#include "chimera/run/ranks.h"
#include "chimera/train/devices.h"
#include "chimera/train/link_bench.h"
#include "chimera/train/model_setup.h"

namespace chimera {
namespace {

struct Ready {
  CalibrateOptions options;  // completed by describe_host
  int ranks = 1;
  bool is_rank = false;  // ranks are processes
  DeviceKind device = DeviceKind::kCpu;
  std::string workers_are;  // "threads" or "processes"
  std::chrono::duration<double> deadline{300};
};

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with("model name")) continue;
    return std::string(trim(line.substr(line.find(':') + 1)));
  }
  return "unknown processor";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::localtime(&now));
  return text;
}

// Redraws a bar on a terminal; elsewhere prints lines.
void show_progress(double share, const std::string& next) {
  if (isatty(STDERR_FILENO) == 0) {
    if (!next.empty()) std::cerr << "measuring " << next << '\n';
    return;
  }
  constexpr int kWidth = 30;
  const int done = static_cast<int>(share * kWidth);
  std::cerr << fmt::format("\r\033[K[{}{}] {:3.0f} % {}",
                           std::string(done, '#'),
                           std::string(kWidth - done, ' '), 100 * share, next);
  if (next.empty()) std::cerr << '\n';
}

// The run's micro-batch size, half and twice that size, and single samples.
std::vector<int> default_sizes(int micro_batch) {
  std::set<int> sizes = {1, micro_batch, 2 * micro_batch};
  if (micro_batch > 1) sizes.insert(micro_batch / 2);
  return {sizes.begin(), sizes.end()};
}

std::vector<int> read_sizes(const RunRequest& request, int micro_batch,
                            Values& values) {
  if (request.micro_batches.empty()) return default_sizes(micro_batch);
  std::set<int> sizes;
  for (const std::string_view word : split(request.micro_batches, ',')) {
    const int size =
        values.required_integer("--micro-batches", std::string(trim(word)));
    if (size >= 1) {
      sizes.insert(size);
    } else if (values.errors().empty()) {
      values.refuse({.code = "E403",
                     .found = "--micro-batches " + shown(word),
                     .needed = "must be at least 1"});
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::string description_of(const Ready& ready,
                           const CalibrateOptions& options) {
  const ModelDetails& model = options.model;
  const ModelShape& shape = model.shape;
  return fmt::format(
      "{}, hidden {}, heads {}, ffn {}, seq {}, vocab {}, dropout {}; {} "
      "workers as {}, {} threads each; libtorch {}; {}",
      name_of(shape.kind), shape.hidden, shape.heads, shape.ffn, shape.seq,
      shape.vocab, model.dropout.hidden, ready.ranks, ready.workers_are,
      options.threads, TORCH_VERSION, today());
}

// The device of each rank, chosen as in training.
Result<std::vector<at::Device>> devices_of(const Ready& ready,
                                           const HostPlace& place) {
  return choose_devices({.kind = ready.device,
                         .ranks = ready.ranks,
                         .ranks_here = ready.is_rank ? place.ranks : 0,
                         .local_rank = place.local_rank},
                        count_devices());
}

// Sets the cores that `ranks_here` ranks share, divided as in training, and the
// memory of each.
void describe_host(const Ready& ready, int ranks_here,
                   CalibrateOptions& options) {
  options.cores = ready.is_rank ? cores_of_ranks(ranks_here) : usable_cores();
  options.threads =
      options.train.threads.value_or(std::max(1, options.cores / ranks_here));
  options.memory_bytes = options.device.is_cpu()
                             ? total_memory() / ranks_here
                             : DeviceMemory(options.device).total_bytes();
  options.machine = processor_name();
  options.description = description_of(ready, options);
}

Result<Ready> prepare(const RunRequest& request, bool as_ranks) {
  if (request.config.empty()) {
    return Diagnostic{.code = "E402",
                      .found = "-c",
                      .needed = "is missing; it names the run.toml",
                      .hint = "chimera calibrate -c run.toml -o profile.toml"};
  }
  const Result<std::string> text = read_file(request.config);
  if (!text) return text.errors();
  const Result<RunConfig> config =
      parse_run_config(*text, request.config, request.overrides);
  if (!config) return config.errors();
  const ScheduleConfig& schedule = config->schedule;
  if (config->model.kind == ModelKind::kEmulated || !schedule.micro_batch) {
    return Diagnostic{
        .code = "E605",
        .where = request.config,
        .found = schedule.micro_batch ? "an emulated model" : "no [schedule]",
        .needed = "leaves nothing to measure",
        .hint = "give a model, depth, micros and micro_batch"};
  }
  Values values;
  RunSetup setup;
  setup.config = *config;
  values.refuse(set_up_model(setup));
  // set_up_model() above has settled whether the embeddings are tied.
  const Result<Schedule> lowered = make_run_schedule(
      setup.config, {.tied = setup.config.model.tie_embeddings});
  if (!lowered) values.refuse(lowered.errors());
  Ready ready;
  ready.options.micro_batches =
      read_sizes(request, *schedule.micro_batch, values);
  if (!values.errors().empty()) return values.errors();
  // A run for a cluster has more workers than one host can run as threads.
  constexpr int kMostThreads = 8;
  ready.ranks = num_ranks(*lowered);
  if (!as_ranks && ready.ranks > kMostThreads) {
    std::cerr << fmt::format(
        "note: {} workers are measured here, as threads; the run has {}\n",
        kMostThreads, ready.ranks);
    ready.ranks = kMostThreads;
  }
  ready.deadline = std::chrono::duration<double>(config->run.timeout_s);
  CalibrateOptions& options = ready.options;
  options.model = setup.model.details;
  options.train = config->train;
  ready.is_rank = as_ranks;
  ready.device = config->run.device;
  ready.workers_are =
      as_ranks ? "processes (" + mpi_library() + ")" : "threads";
  options.source = "chimera calibrate, " CHIMERA_VERSION;
  constexpr double kMostSeconds = 150;
  if (request.micro_batches.empty()) options.most_seconds = kMostSeconds;
  options.on_progress = show_progress;
  return ready;
}

// Returns "error: ..." if the layers do not fit into memory, else an empty
// string. For ranks that are threads.
std::string refuse_memory(const Ready& ready) {
  CalibrateOptions options = ready.options;
  describe_host(ready, ready.ranks, options);
  const int busy =
      std::min(ready.ranks, std::max(1, options.cores / options.threads));
  const double needed = busy * LayerBench::bytes_needed(
                                   {.model = options.model,
                                    .train = options.train,
                                    .micro_batch = options.micro_batches.back(),
                                    .threads = options.threads});
  const double free = free_memory();
  if (free == 0 || needed <= free) return "";
  return fmt::format(
      "error: measuring one layer of each kind takes about {:.1f} GB at "
      "micro-batches of {}, and {:.1f} GB are free; give smaller ones with "
      "--micro-batches\n",
      needed / 1e9, options.micro_batches.back(), free / 1e9);
}

// An observer that prints errors, the only lines that ranks say here.
class ErrorsOnly final : public RunObserver {
 public:
  void say(const std::string& lines) override { std::cerr << lines; }
};

}  // namespace

int run_calibrate(const RunRequest& request) {
  const Launcher launcher = find_launcher();
  const Result<bool> is_rank = is_mpi_rank(TransportKind::kAuto, launcher);
  if (!is_rank) return print_errors(is_rank.errors());
  const Result<Ready> ready = prepare(request, *is_rank);
  if (!ready) return print_run_errors(ready.errors());
  const auto check = [&](const HostPlace& place) {
    const Result<std::vector<at::Device>> devices = devices_of(*ready, place);
    return devices ? Diagnostics{} : devices.errors();
  };
  const HostPlace one_process{.ranks = ready->ranks};
  if (!*is_rank) {
    const Diagnostics errors = check(one_process);
    if (!errors.empty()) return print_run_errors(errors);
  }
  const bool is_on_host = !*is_rank && ready->device == DeviceKind::kCpu;
  const std::string too_large = is_on_host ? refuse_memory(*ready) : "";
  if (!too_large.empty()) {
    std::cerr << too_large;
    return kExitMemory;
  }
  const auto body = [&](Transport& transport, const HostPlace& place) {
    CalibrateOptions options = ready->options;
    options.device = devices_of(*ready, place)->at(transport.rank());
    describe_host(*ready, place.ranks, options);
    const Profile profile = calibrate(transport, options);
    if (transport.rank() == 0) {
      write_result(print_profile(profile), request.output);
    }
  };
  if (*is_rank) {
    ErrorsOnly observer;
    return work_as_rank({.ranks = ready->ranks,
                         .deadline = ready->deadline,
                         .groups = bench_groups(ready->ranks),
                         .check = check},
                        launcher, observer, body);
  }
  try {
    run_threads({.ranks = ready->ranks, .deadline = ready->deadline},
                [&](Transport& transport) { body(transport, one_process); });
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    return failure.code();
  }
  return kExitDone;
}

}  // namespace chimera
