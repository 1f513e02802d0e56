#include "chimera/train/setup.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "chimera/base/text.h"
#include "chimera/model/cut.h"
#include "chimera/model/hf_directory.h"
#include "chimera/model/hf_match.h"
#include "chimera/model/initial_weights.h"
#include "chimera/train/data/data_source.h"
#include "chimera/train/optimizers.h"
#include "chimera/train/run_schedule.h"

namespace chimera {
namespace {

void append(Diagnostics& errors, const Diagnostics& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

// Keys of the contract whose work is not built yet must not be passed over.
Diagnostics check_possible(const RunConfig& config) {
  Diagnostics errors;
  const auto refuse = [&](const std::string& found, const std::string& needed) {
    errors.push_back({.code = "E564", .found = found, .needed = needed});
  };
  if (config.run.transport == TransportKind::kMpi) {
    refuse("run.transport = \"mpi\"",
           "is not built in: workers are threads of one process");
  }
  if (config.run.save_every > 0) {
    refuse("run.save_every", "is to come: weights are written at the end");
  }
  if (config.run.recover) refuse("run.recover", "is to come");
  if (config.schedule.replan_after > 0) {
    refuse("schedule.replan_after", "is to come");
  }
  return errors;
}

// What the directory says fills what run.toml leaves open; what both say must
// agree.
Diagnostics adopt_shape(const HfShape& hf, ModelConfig& model) {
  Diagnostics errors;
  const auto adopt = [&](const char* name, auto& mine, const auto& theirs) {
    if (!mine) {
      mine = theirs;
    } else if (*mine != theirs) {
      errors.push_back({.code = "E565",
                        .found = "model." + std::string(name) + " = " +
                                 std::to_string(*mine),
                        .needed = "must agree with " + model.init +
                                  ", which has " + std::to_string(theirs),
                        .hint = "leave it out"});
    }
  };
  if (hf.model.kind != model.kind) {
    errors.push_back(
        {.code = "E565",
         .found = "model.kind = \"" + std::string(name_of(model.kind)) + "\"",
         .needed = "must agree with " + model.init + ", which holds a " +
                   std::string(name_of(hf.model.kind))});
    return errors;
  }
  adopt("layers", model.layers, hf.model.layers);
  adopt("hidden", model.hidden, hf.model.hidden);
  adopt("heads", model.heads, hf.model.heads);
  adopt("vocab", model.vocab, hf.model.vocab);
  adopt("positions", model.positions, hf.model.positions);
  adopt("ffn", model.ffn, hf.model.ffn);
  adopt("tie_embeddings", model.tie_embeddings, hf.model.tie_embeddings);
  if (!model.seq) model.seq = hf.model.positions;
  if (*model.seq > hf.model.positions) {
    errors.push_back({.code = "E565",
                      .found = "model.seq = " + std::to_string(*model.seq),
                      .needed = "must not be above the " +
                                std::to_string(hf.model.positions) +
                                " positions of " + model.init});
  }
  return errors;
}

std::vector<ExpectedTensor> expected_tensors(const Model& model) {
  std::map<std::string, ExpectedTensor> expected;
  for (const std::unique_ptr<Layer>& layer : model.layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      const bool head = spec.name.starts_with("cls.") ||
                        spec.name.starts_with("bert.pooler.");
      expected[spec.name] = {
          .name = spec.name, .shape = spec.shape, .may_be_missing = head};
    }
  }
  std::vector<ExpectedTensor> list;
  for (auto& [name, tensor] : expected) list.push_back(tensor);
  return list;
}

at::Tensor read_tensor(const StoredTensor& stored) {
  at::Tensor values = at::empty(stored.info->shape, at::kFloat);
  stored.file->copy_as_float(*stored.info,
                             {values.mutable_data_ptr<float>(),
                              static_cast<std::size_t>(values.numel())});
  return values;
}

std::string fresh_notice(const std::string& init,
                         const std::vector<std::string>& fresh) {
  return init + " has no " + join(fresh, ", ") +
         ": these start with fresh weights";
}

// Opens model.init and makes `setup.init` read from it.
Diagnostics load_init(std::shared_ptr<const HfDirectory> directory,
                      RunSetup& setup) {
  const std::vector<ExpectedTensor> expected = expected_tensors(setup.model);
  const Result<MatchedTensors> matched = match_tensors(*directory, expected);
  if (!matched) return matched.errors();
  if (!matched->fresh.empty()) {
    setup.notices.push_back(fresh_notice(directory->path(), matched->fresh));
  }
  std::map<std::string, StoredTensor> stored;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    stored[expected[i].name] = matched->tensors[i];
  }
  const std::int64_t seed = setup.config.train.seed;
  setup.init = [directory, stored, seed](const ParameterSpec& spec) {
    const StoredTensor& tensor = stored.at(spec.name);
    if (tensor.info == nullptr) return init_parameter(spec, seed, at::kFloat);
    return read_tensor(tensor);
  };
  return {};
}

ModelDetails details_of(const RunSetup& setup, const HfDirectory* directory) {
  ModelDetails details =
      default_details(shape_of(setup.config.model), setup.config.model.dropout);
  if (directory == nullptr) return details;
  details.norm_eps = directory->shape().layer_norm_epsilon;
  if (details.shape.kind == ModelKind::kBert) {
    details.type_vocab = directory->shape().type_vocab;
    details.padding_id = directory->shape().padding_id;
  }
  return details;
}

HfShape written_shape(const ModelDetails& details) {
  return {.model = details.shape,
          .layer_norm_epsilon = details.norm_eps,
          .type_vocab =
              details.shape.kind == ModelKind::kBert ? details.type_vocab : 0,
          .padding_id = details.padding_id,
          .embedding_dropout = details.dropout,
          .hidden_dropout = details.dropout,
          .attention_dropout = details.dropout};
}

Diagnostics set_up_model(RunSetup& setup) {
  std::shared_ptr<HfDirectory> directory;
  ModelConfig& model = setup.config.model;
  if (!model.init.empty()) {
    Result<HfDirectory> opened = HfDirectory::open(model.init);
    if (!opened) return opened.errors();
    directory = std::make_shared<HfDirectory>(std::move(opened).value());
    const Diagnostics errors = adopt_shape(directory->shape(), model);
    if (!errors.empty()) return errors;
  }
  setup.model = make_model(details_of(setup, directory.get()));
  setup.hf_shape = written_shape(setup.model.details);
  if (directory) return load_init(directory, setup);
  const std::int64_t seed = setup.config.train.seed;
  setup.init = [seed](const ParameterSpec& spec) {
    return init_parameter(spec, seed, at::kDouble);
  };
  return {};
}

Diagnostics set_up_cut(RunSetup& setup) {
  const std::vector<int>& asked = setup.config.schedule.cut;
  const int stages = setup.schedule.stages();
  const int layers = static_cast<int>(setup.model.layers.size());
  Diagnostics errors = check_cut(asked, stages, layers);
  if (!errors.empty()) return errors;
  setup.cut =
      asked.empty() ? balanced_cut(forward_flops(setup.model), stages) : asked;
  return {};
}

Diagnostics set_up_data(RunSetup& setup) {
  const ModelShape& shape = setup.model.details.shape;
  DataOptions options{.path = setup.config.data.path,
                      .kind = shape.kind,
                      .tokenizer = setup.config.data.tokenizer,
                      .order = setup.config.data.order,
                      .seq = shape.seq,
                      .vocab = shape.vocab,
                      .global_batch = setup.global_batch(),
                      .seed = setup.config.train.seed};
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
  if (!setup.config.data.eval_path.empty()) {
    options.path = setup.config.data.eval_path;
    options.order = SampleOrder::kSequential;
    open(setup.evaluation);
  }
  return errors;
}

Diagnostics set_up_schedule(RunSetup& setup, const SetupOptions& options) {
  const bool emulated = setup.config.model.kind == ModelKind::kEmulated;
  const bool tied = setup.config.model.tie_embeddings.value_or(false);
  Result<Schedule> schedule =
      make_run_schedule(setup.config, {.tied = !emulated && tied});
  if (!schedule) return schedule.errors();
  setup.schedule = std::move(schedule).value();
  const int ranks = setup.schedule.workers() * setup.schedule.width;
  setup.threads = setup.config.train.threads.value_or(
      std::max(1, options.host_cores / ranks));
  return {};
}

void set_up_emulated(RunSetup& setup) {
  const Costs costs = emulated_costs(setup.config, setup.schedule);
  for (const StageCosts& stage : costs.stages) {
    setup.emulated.push_back(
        {.forward_s = stage.forward,
         .input_grad_s = stage.input_grad,
         .weight_grad_s = stage.weight_grad,
         .update_s = stage.update,
         .boundary_bytes = static_cast<std::size_t>(stage.boundary_bytes),
         .gradient_bytes = static_cast<std::size_t>(stage.gradient_bytes)});
  }
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
  Diagnostics errors = check_possible(config);
  const bool emulated = config.model.kind == ModelKind::kEmulated;
  if (!emulated) append(errors, set_up_model(*setup));
  append(errors, set_up_schedule(*setup, options));
  if (!errors.empty()) return errors;
  if (emulated) {
    set_up_emulated(*setup);
    return setup;
  }
  append(errors, set_up_cut(*setup));
  append(errors, set_up_data(*setup));
  if (!errors.empty()) return errors;
  return setup;
}

Result<std::unique_ptr<RunSetup>> set_up(const RunConfig& config,
                                         const SetupOptions& options,
                                         OwnModel own) {
  auto setup = std::make_unique<RunSetup>();
  setup->config = config;
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
  setup->init = init_from(setup->model, config.train.seed);
  setup->data = own.data ? own.data : numbered_samples(setup->global_batch());
  setup->evaluation = own.evaluation;
  return setup;
}

TorchComputeOptions compute_options(const RunSetup& setup,
                                    at::ScalarType dtype) {
  const TrainConfig& train = setup.config.train;
  return {.model = setup.model,
          .cut = setup.cut,
          .schedule = setup.schedule,
          .micro_batch = *setup.config.schedule.micro_batch,
          .seed = train.seed,
          .dtype = dtype,
          .threads = setup.threads,
          .init = setup.init,
          .training = setup.data,
          .evaluation = setup.evaluation,
          .optimizer = make_optimizer(train),
          .clip = train.clip,
          .on_nan = train.on_nan,
          .shard_update = train.shard_update,
          .on_gradient = {}};
}

}  // namespace chimera
