#include "chimera/train/own_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "chimera/config/parse.h"
#include "chimera/config/print.h"
#include "chimera/model/initial_weights.h"

namespace chimera {
namespace {

class NumberedSamples final : public BatchSource {
 public:
  explicit NumberedSamples(std::int64_t global_batch)
      : global_batch_(global_batch) {}

  Batch read(std::int64_t step, std::int64_t first,
             std::int64_t count) const override {
    Batch batch{.samples = static_cast<int>(count)};
    for (std::int64_t i = 0; i < count; ++i) {
      batch.sample_ids.push_back(step * global_batch_ + first + i);
    }
    return batch;
  }
  TargetCount targets(std::int64_t) const override {
    return {.tokens = global_batch_, .samples = global_batch_};
  }
  std::int64_t num_samples() const override { return global_batch_; }

 private:
  std::int64_t global_batch_;
};

// The tensors of each module's parameters, by name.
std::map<std::string, at::Tensor> module_weights(const Model& model) {
  std::map<std::string, at::Tensor> weights;
  for (const std::unique_ptr<Layer>& layer : model.layers) {
    const std::vector<at::Tensor> own = layer->own_weights();
    for (std::size_t i = 0; i < own.size(); ++i) {
      weights[layer->parameters()[i].name] = own[i].detach();
    }
  }
  return weights;
}

}  // namespace

std::shared_ptr<const BatchSource> numbered_samples(std::int64_t global_batch) {
  return std::make_shared<NumberedSamples>(global_batch);
}

Diagnostics check_as_file(RunConfig config) {
  // [model] and [data] are not read for user-defined layers, so these stand-ins
  // only have to be valid.
  config.model = {.layers = 1,
                  .hidden = 1,
                  .heads = 1,
                  .vocab = 2,
                  .seq = 1,
                  .positions = 1,
                  .ffn = 1,
                  .tie_embeddings = false};
  config.data = {.path = {"/dev/null"}};
  const Result<RunConfig> parsed =
      parse_training_config(print_run_config(config), "", {});
  if (parsed) return {};
  Diagnostics errors = parsed.errors();
  for (Diagnostic& error : errors) error.where.clear();  // there is no file
  return errors;
}

Diagnostics check_own_model(const OwnModel& own, const Schedule& schedule) {
  Diagnostics errors;
  std::set<std::string> names;
  for (const std::unique_ptr<Layer>& layer : own.layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      if (names.insert(spec.name).second) continue;
      errors.push_back({.code = "E568",
                        .found = "two parameters \"" + spec.name + "\"",
                        .needed = "must have names of their own",
                        .hint = "give each layer another name"});
    }
    if (!is_asynchronous(schedule) || layer->supports_versions()) continue;
    errors.push_back({.code = "E561",
                      .found = "the module \"" + layer->name() + "\"",
                      .needed = "has one version of its weights, and " +
                                schedule.scheme + " needs several",
                      .hint = "use a synchronous scheme"});
  }
  return errors;
}

Model model_of(std::vector<std::unique_ptr<Layer>> layers) {
  Model model;
  model.details.shape.seq = 1;  // a sample counts as one token
  model.layers = std::move(layers);
  return model;
}

Result<std::vector<BoundaryShape>> find_boundaries(const Model& model,
                                                   const TensorBatch& batch) {
  const at::NoGradGuard no_grad;
  const auto samples = static_cast<std::int64_t>(batch.sample_ids.size());
  std::vector<BoundaryShape> boundaries;
  Diagnostics errors;
  at::Tensor x;
  for (std::size_t i = 0; i + 1 < model.layers.size(); ++i) {
    const std::unique_ptr<Layer> clone = model.layers[i]->replica();
    const Layer& layer = clone ? *clone : *model.layers[i];
    std::vector<at::Tensor> weights = layer.own_weights();
    if (weights.empty()) {
      for (const ParameterSpec& spec : layer.parameters()) {
        weights.push_back(at::zeros(spec.shape));
      }
    }
    x = layer.forward(
        x, weights,
        {.batch = batch, .training = false, .layer = static_cast<int>(i)});
    if (x.dim() == 0 || x.size(0) != samples) {
      errors.push_back(
          {.code = "E568",
           .found = fmt::format("the output of layer \"{}\", of shape [{}],",
                                layer.name(), fmt::join(x.sizes(), ", ")),
           .needed = fmt::format("needs the {} samples of a micro-batch in its "
                                 "first dimension",
                                 samples)});
      return errors;
    }
    boundaries.push_back({x.sizes().slice(1).vec(), x.scalar_type()});
  }
  return boundaries;
}

ParameterInit init_from(const Model& model, std::int64_t seed) {
  return [weights = module_weights(model), seed](const ParameterSpec& spec) {
    const auto found = weights.find(spec.name);
    return found == weights.end() ? init_parameter(spec, seed, at::kDouble)
                                  : found->second;
  };
}

void adopt_weights(const Model& model, WeightReader& weights) {
  const at::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> places = module_weights(model);
  const std::vector<ParameterSpec>& parameters = weights.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = places.find(parameters[i].name);
    if (found != places.end()) found->second.copy_(weights.read(i));
  }
}

}  // namespace chimera
