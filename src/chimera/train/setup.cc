#include "chimera/train/setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "chimera/config/paths.h"
#include "chimera/data/data_source.h"
#include "chimera/data/token_file.h"
#include "chimera/model/bf16_products.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/schedule/cut.h"
#include "chimera/schedule/scheme.h"
#include "chimera/train/devices.h"
#include "chimera/train/model_setup.h"
#include "chimera/train/optimizers.h"
#include "chimera/train/peak_flops.h"
#include "chimera/train/resume.h"

namespace chimera {
namespace {

void append(Diagnostics& errors, const Diagnostics& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

// Refuses what needs weights, which an emulated model does not have.
Diagnostics check_possible(const RunConfig& config) {
  if (config.model.kind != ModelKind::kEmulated) return {};
  Diagnostics errors;
  const auto refuse = [&](const std::string& found) {
    errors.push_back({.code = "E564",
                      .found = found,
                      .needed = "is for models with weights: an emulated one "
                                "has nothing to save"});
  };
  if (config.run.save_every > 0) refuse("run.save_every");
  if (config.run.recover) refuse("run.recover");
  return errors;
}

Diagnostics set_up_cut(RunSetup& setup) {
  const std::vector<int>& asked = setup.config.schedule.cut;
  const int stages = setup.schedule.stages();
  const int layers = static_cast<int>(setup.model.layers.size());
  Diagnostics errors = check_cut(asked, stages, layers);
  if (!errors.empty()) return errors;
  setup.cut =
      asked.empty() ? balanced_cut(forward_flops(setup.model), stages) : asked;
  setup.config.schedule.cut = setup.cut;
  return {};
}

// Warns if pretrained weights are trained on bytes: their ids are those of
// another tokenizer.
void note_bytes(RunSetup& setup) {
  constexpr int kMostForBytes = 1024;  // 256 and some special ids
  const ModelShape& shape = setup.model.details.shape;
  const DataConfig& data = setup.config.data;
  const DataFormat format = format_of(data.path[0]);
  const bool is_text = format == DataFormat::kText ||
                       (format == DataFormat::kJsonl && is_causal(shape.kind));
  if (setup.config.model.init.empty() || !is_text) return;
  if (data.tokenizer != "bytes" || shape.vocab <= kMostForBytes) return;
  setup.notices.push_back(fmt::format(
      "data.path is text, and every byte of it is a token (data.tokenizer = "
      "\"bytes\"), but model.init knows {} others: set data.tokenizer, often "
      "to the directory of model.init",
      shape.vocab));
}

void note_slow_products(RunSetup& setup) {
  if (setup.config.train.precision != Precision::kBf16) return;
  if (has_bf16_products()) return;
  setup.notices.push_back(fmt::format(
      "this CPU has no instructions for bf16 matrix products: train.precision "
      "= \"{}\" is slower here than float32 (chimera doctor measures both)",
      name_of(Precision::kBf16)));
}

// Checks that evaluation and what it needs are given together.
Diagnostics check_evaluation(RunSetup& setup) {
  const DataConfig& data = setup.config.data;
  const bool evaluates = setup.config.train.eval_every > 0;
  const bool has_data = !data.eval_path.empty() || data.eval_fraction > 0;
  if (evaluates && !has_data) {
    return {{.code = "E569",
             .found = "train.eval_every",
             .needed = "needs data.eval_path or data.eval_fraction"}};
  }
  if (has_data && !evaluates) {
    const char* unused = data.eval_path.empty()
                             ? "what data.eval_fraction keeps apart"
                             : "data.eval_path";
    setup.notices.push_back(
        fmt::format("train.eval_every = 0: {} is not used", unused));
  }
  return {};
}

Diagnostics set_up_data(RunSetup& setup, bool scans) {
  const ModelShape& shape = setup.model.details.shape;
  const DataConfig& data = setup.config.data;
  DataOptions options{.paths = data.path,
                      .kind = shape.kind,
                      .tokenizer = data.tokenizer,
                      .order = data.order,
                      .token_type = data.token_type,
                      .pack = data.pack,
                      .weights = data.weights,
                      .eval_fraction = data.eval_fraction,
                      .seq = shape.seq,
                      .vocab = shape.vocab,
                      .type_vocab = setup.model.details.type_vocab,
                      .global_batch = setup.global_batch(),
                      .shift = setup.start.sample_shift,
                      .seed = setup.config.train.seed,
                      .scan = scans ? Scan::kWhole : Scan::kTrusted};
  Diagnostics errors;
  const auto open = [&](std::shared_ptr<const BatchSource>& source) {
    Result<std::shared_ptr<const DataSource>> opened = open_data(options);
    if (opened) {
      source = *opened;
    } else {
      append(errors, opened.errors());
    }
  };
  open(setup.data);
  note_bytes(setup);
  append(errors, check_evaluation(setup));
  // Every evaluation reads the same samples: in order, from the first one,
  // wherever training stands.
  options.order = SampleOrder::kSequential;
  options.shift = 0;
  options.weights.clear();
  if (!data.eval_path.empty()) {
    options.paths = {data.eval_path};
    open(setup.evaluation);
  } else if (data.eval_fraction > 0) {
    options.part = DataPart::kEvaluation;
    options.scan = Scan::kTrusted;  // the same files
    if (errors.empty()) open(setup.evaluation);
  }
  return errors;
}

Diagnostics set_up_schedule(RunSetup& setup, const SetupOptions& options) {
  const bool emulated = setup.config.model.kind == ModelKind::kEmulated;
  setup.tied = !emulated && setup.config.model.tie_embeddings.value_or(false);
  Result<Schedule> schedule =
      make_run_schedule(setup.config, {.tied = setup.tied});
  if (!schedule) return schedule.errors();
  setup.schedule = std::move(schedule).value();
  const ScheduleConfig& asked = setup.config.schedule;
  if (asked.replan_after > 0 && !asked.file.empty()) {
    Result<Schedule> later = make_replanned_schedule(
        setup.config, {.tied = setup.tied, .running = &setup.schedule});
    if (!later) return later.errors();
    setup.later = std::move(later).value();
  }
  const int ranks = options.ranks_here > 0
                        ? options.ranks_here
                        : setup.schedule.workers() * setup.schedule.width;
  setup.threads = setup.config.train.threads.value_or(
      std::max(1, options.host_cores / ranks));
  Result<std::vector<at::Device>> devices =
      choose_devices({.kind = setup.config.run.device,
                      .ranks = setup.schedule.workers() * setup.schedule.width,
                      .ranks_here = options.ranks_here,
                      .local_rank = options.local_rank,
                      .emulated = emulated},
                     count_devices());
  if (!devices) return devices.errors();
  setup.devices = std::move(devices).value();
  // Records the settled value of a key that run.toml left open.
  setup.config.train.threads = setup.threads;
  if (setup.config.run.recover) {
    const std::string reason = why_no_recovery(setup.config, setup.schedule);
    setup.recovers = reason.empty();
    if (!reason.empty()) {
      setup.notices.push_back("run.recover is off: " + reason);
    }
  }
  ScheduleSpec& settled = setup.config.schedule.spec;
  settled.depth = setup.schedule.depth;
  settled.micros = setup.schedule.micros;
  settled.width = setup.schedule.width;
  settled.scheme = setup.schedule.scheme;
  if (asked.file.empty()) {
    const Layout layout = resolve(settled).value();
    settled.pipes = layout.pipes;
    settled.chunks = layout.chunks;
    settled.shape = layout.shape;
    settled.cap = layout.cap;
  }
  return {};
}

// Returns an empty SavedRun if there is no checkpoint to resume from.
Result<SavedRun> open_start(const SetupOptions& options) {
  if (options.checkpoint.empty()) return SavedRun{};
  return open_saved(options.checkpoint);
}

}  // namespace

std::int64_t RunSetup::global_batch() const {
  return std::int64_t{schedule.width} * schedule.micros *
         *config.schedule.micro_batch;
}

Result<std::unique_ptr<RunSetup>> set_up(const RunConfig& config,
                                         const SetupOptions& options) {
  auto setup = std::make_unique<RunSetup>();
  setup->config = config;
  setup->notices = config.notes;
  note_slow_products(*setup);
  Diagnostics errors = check_possible(config);
  const Result<SavedRun> saved = open_start(options);
  if (!saved) return saved.errors();
  const bool emulated = config.model.kind == ModelKind::kEmulated;
  if (!emulated) {
    append(errors,
           set_up_model(*setup, saved->shape ? &*saved->shape : nullptr));
  }
  append(errors, set_up_schedule(*setup, options));
  if (!errors.empty()) {
    // Data cannot be opened without a model, but missing [data] keys can be
    // reported already.
    for (const ConfigKey* key : missing_inputs(config)) {
      if (key->section == "data") errors.push_back(missing_input(*key, config));
    }
    return errors;
  }
  if (emulated) {
    setup->emulated =
        emulated_stages(emulated_costs(setup->config, setup->schedule));
    return setup;
  }
  // Sets up the parts in this order, because a cut needs model and schedule, a
  // checkpoint is compared with all of them, and data starts where the
  // checkpoint ends.
  append(errors, set_up_cut(*setup));
  if (saved->checkpoint) append(errors, set_up_resume(*setup, *saved));
  append(errors, set_up_data(*setup, options.scans_data));
  if (!errors.empty()) return errors;
  return setup;
}

Result<std::unique_ptr<RunSetup>> set_up(const RunConfig& config,
                                         const SetupOptions& options,
                                         OwnModel own) {
  auto setup = std::make_unique<RunSetup>();
  setup->config = config;
  setup->notices = config.notes;
  note_slow_products(*setup);
  setup->config.model = {};
  Diagnostics errors = check_as_file(config);
  if (!errors.empty()) return errors;
  append(errors, check_possible(config));
  append(errors, set_up_schedule(*setup, options));
  if (!errors.empty()) return errors;
  append(errors, check_own_model(own, setup->schedule));
  setup->model = model_of(std::move(own.layers));
  append(errors, set_up_cut(*setup));
  if (!errors.empty()) return errors;
  setup->start.init = init_from(setup->model, config.train.seed);
  const Result<SavedRun> saved = open_start(options);
  if (!saved) return saved.errors();
  if (saved->checkpoint) {
    append(errors, set_up_resume(*setup, *saved));
    if (errors.empty() && setup->start.sample_shift != 0) {
      errors.push_back({.code = "E564",
                        .found = "another mini-batch size than the "
                                 "checkpoint's",
                        .needed = "is not possible with data of one's own"});
    }
    if (!errors.empty()) return errors;
  }
  setup->data = own.data ? own.data : numbered_samples(setup->global_batch());
  setup->evaluation = own.evaluation;
  const std::int64_t samples = *config.schedule.micro_batch;
  // A receiver in another process must know the shapes in advance.
  Result<std::vector<BoundaryShape>> boundaries = find_boundaries(
      setup->model,
      to_tensors(setup->data->read(0, 0, samples), setup->data->targets(0)));
  if (!boundaries) return boundaries.errors();
  setup->model.boundaries = std::move(boundaries).value();
  return setup;
}

TorchComputeOptions compute_options(const RunSetup& setup,
                                    const Formats& formats) {
  const TrainConfig& train = setup.config.train;
  return {.model = setup.model,
          .cut = setup.cut,
          .schedule = setup.schedule,
          .micro_batch = *setup.config.schedule.micro_batch,
          .seed = train.seed,
          .formats = formats,
          .devices = setup.devices,
          .threads = setup.threads,
          .init = setup.start.init,
          .training = setup.data,
          .evaluation = setup.evaluation,
          .optimizer = make_optimizer(train),
          .clip = train.clip,
          .on_nan = train.on_nan,
          .shard_update = train.shard_update,
          .restored = setup.start.restored,
          .shared = std::make_shared<SharedWeights>(),
          .on_gradient = {}};
}

}  // namespace chimera
