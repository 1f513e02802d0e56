#include "chimera/train/resume.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/exec/train_state.h"
#include "chimera/train/optimizers.h"
#include "chimera/train/resume_changes.h"

namespace chimera {
namespace {

std::map<std::string, ParameterSpec> parameters_of(const Model& model) {
  std::map<std::string, ParameterSpec> parameters;
  for (const auto& layer : model.layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      parameters.emplace(spec.name, spec);
    }
  }
  return parameters;
}

// Every parameter must be in the checkpoint, and no other. Only the first few
// errors are listed.
Diagnostics check_model(const Checkpoint& checkpoint,
                        const std::map<std::string, ParameterSpec>& model) {
  constexpr std::size_t kEnough = 5;
  Diagnostics errors;
  const auto refuse = [&](const std::string& found, const std::string& needed) {
    if (errors.size() >= kEnough) return;
    errors.push_back({.kind = DiagnosticKind::kCheckpoint,
                      .code = "E584",
                      .where = checkpoint.path(),
                      .found = found,
                      .needed = needed,
                      .hint = "this is a checkpoint of another model"});
  };
  for (const auto& [name, spec] : model) {
    const auto* shape = checkpoint.find(kWeightsKind, name);
    if (shape == nullptr) {
      refuse(name, "is missing, but [model] has it");
    } else if (*shape != spec.shape) {
      refuse(name + " " + shape_text(*shape),
             "must be " + shape_text(spec.shape) + " as in [model]");
    }
  }
  for (const ManifestTensor& tensor : checkpoint.manifest().tensors) {
    if (tensor.kind == kWeightsKind && !model.contains(tensor.parameter)) {
      refuse(shown(tensor.parameter), "is not in [model]");
    }
  }
  return errors;
}

Diagnostics check_optimizer(const Checkpoint& checkpoint,
                            const std::map<std::string, ParameterSpec>& model,
                            const TrainConfig& train) {
  if (checkpoint.manifest().updates == 0) return {};
  Diagnostics errors;
  for (const std::string& kind : make_optimizer(train)->state_names()) {
    for (const auto& [name, spec] : model) {
      const auto* shape = checkpoint.find(kind, name);
      if (shape != nullptr && *shape == spec.shape) continue;
      errors.push_back({.kind = DiagnosticKind::kCheckpoint,
                        .code = "E585",
                        .where = checkpoint.path(),
                        .found = kind + " of " + name,
                        .needed = "is missing: it was trained by another "
                                  "optimizer",
                        .hint = "set train.optimizer and momentum as in its "
                                "config"});
      return errors;
    }
  }
  return errors;
}

at::Tensor read_tensor(const Checkpoint& checkpoint, const std::string& kind,
                       const ParameterSpec& spec) {
  at::Tensor tensor = at::empty(spec.shape, at::kFloat);
  const Diagnostics errors = checkpoint.read(
      kind, spec.name,
      {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()});
  if (!errors.empty()) throw IoError(to_string(errors[0]));
  return tensor;
}

void note_changes(RunSetup& setup, const Manifest& manifest) {
  if (manifest.seed != setup.config.train.seed) {
    setup.notices.push_back(fmt::format(
        "train.seed = {}, but the run was begun with {}: samples and dropout "
        "go on in another order",
        setup.config.train.seed, manifest.seed));
  }
  if (setup.start.sample_shift != 0) {
    setup.notices.push_back(fmt::format(
        "the mini-batch has another size than before: going on at sample {}",
        manifest.samples));
  }
}

// The checkpoint must have every tensor that this model and optimizer need, and
// no more steps than the run.
Diagnostics check_fit(const RunSetup& setup, const Checkpoint& checkpoint) {
  const auto parameters = parameters_of(setup.model);
  Diagnostics errors = check_model(checkpoint, parameters);
  if (errors.empty()) {
    errors = check_optimizer(checkpoint, parameters, setup.config.train);
  }
  const int step = checkpoint.manifest().step;
  if (step > *setup.config.train.steps) {
    errors.push_back({.kind = DiagnosticKind::kCheckpoint,
                      .code = "E586",
                      .where = checkpoint.path(),
                      .found = fmt::format("the checkpoint's step {}", step),
                      .needed = fmt::format("is beyond train.steps = {}",
                                            *setup.config.train.steps),
                      .hint = fmt::format("--set train.steps={} or more goes "
                                          "on, another --run-dir starts anew",
                                          step + 1)});
  }
  return errors;
}

StartPoint start_at(const RunSetup& setup, const CheckpointPtr& checkpoint) {
  const Manifest& manifest = checkpoint->manifest();
  StartPoint start{.step = manifest.step};
  // Not 0 if the mini-batch has had another size: the step then no longer tells
  // how many samples were drawn, and training goes on at the next one.
  start.sample_shift = manifest.samples - manifest.step * setup.global_batch();
  start.init = [checkpoint](const ParameterSpec& spec) {
    return read_tensor(*checkpoint, kWeightsKind, spec);
  };
  auto restored = std::make_shared<RestoredState>();
  restored->updates = manifest.updates;
  restored->has_previous = std::any_of(
      manifest.tensors.begin(), manifest.tensors.end(),
      [](const auto& tensor) { return tensor.kind == kPreviousKind; });
  restored->read = [checkpoint](const std::string& kind,
                                const ParameterSpec& spec) {
    return read_tensor(*checkpoint, kind, spec);
  };
  start.restored = std::move(restored);
  return start;
}

}  // namespace

Result<SavedRun> open_saved(const std::string& path) {
  Result<Checkpoint> opened = Checkpoint::open(path);
  if (!opened) return opened.errors();
  SavedRun saved{.checkpoint = std::make_shared<const Checkpoint>(
                     std::move(opened).value())};
  const std::string& model = saved.checkpoint->manifest().model;
  if (model.empty()) return saved;
  const Result<HfShape> shape = parse_hf_config(model, path);
  if (!shape) {
    return Diagnostic{.kind = DiagnosticKind::kCheckpoint,
                      .code = "E580",
                      .where = path + "/manifest.json",
                      .found = "its model",
                      .needed = "cannot be read: " + shape.errors()[0].found +
                                " " + shape.errors()[0].needed};
  }
  saved.shape = *shape;
  return saved;
}

Result<StartPoint> read_start(const RunSetup& setup, const std::string& path) {
  const Result<SavedRun> saved = open_saved(path);
  if (!saved) return saved.errors();
  Diagnostics errors = check_fit(setup, *saved->checkpoint);
  if (!errors.empty()) return errors;
  return start_at(setup, saved->checkpoint);
}

Diagnostics set_up_resume(RunSetup& setup, const SavedRun& saved) {
  const Changes changes = changes_since(saved, setup);
  if (!changes.errors.empty()) return changes.errors;
  Diagnostics errors = check_fit(setup, *saved.checkpoint);
  if (!errors.empty()) return errors;
  setup.start = start_at(setup, saved.checkpoint);
  note_changes(setup, saved.checkpoint->manifest());
  setup.notices.insert(setup.notices.end(), changes.notes.begin(),
                       changes.notes.end());
  return {};
}

}  // namespace chimera
