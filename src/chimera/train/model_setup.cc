#include "chimera/train/model_setup.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "chimera/base/text.h"
#include "chimera/files/hf_directory.h"
#include "chimera/model/initial_weights.h"
#include "chimera/train/stored_weights.h"

namespace chimera {
namespace {

// A directory or checkpoint that gives the shape of the model. It fills in the
// keys that run.toml leaves out, and contradicting keys are errors.
struct ShapeSource {
  const HfShape& hf;
  std::string name;
  DiagnosticKind kind;  // kind of error if run.toml contradicts it
  const char* code;
};

template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}
std::string text_of(LlamaVariant value) {
  return "\"" + std::string(name_of(value)) + "\"";
}

// Refuses samples that are longer than the model can see.
Diagnostics check_seq(const ShapeSource& source, int seq) {
  const ModelShape& theirs = source.hf.model;
  const auto refuse = [&](int most, const std::string& what) {
    return Diagnostics{
        {.kind = source.kind,
         .code = source.code,
         .found = "model.seq = " + std::to_string(seq),
         .needed = "must not be above the " + what + " of " + source.name,
         .hint = "set model.seq to at most " + std::to_string(most)}};
  };
  const int window = theirs.llama.window;
  if (seq > theirs.positions) {
    return refuse(theirs.positions,
                  fmt::format("{} positions", theirs.positions));
  }
  if (window > 0 && seq > window) {
    return refuse(window, fmt::format("sliding window of {} tokens", window));
  }
  return {};
}

Diagnostics adopt_shape(const ShapeSource& source, ModelConfig& model) {
  const HfShape& hf = source.hf;
  Diagnostics errors;
  const auto adopt = [&](const char* name, auto& mine, const auto& theirs) {
    if (!mine) {
      mine = theirs;
    } else if (*mine != theirs) {
      errors.push_back(
          {.kind = source.kind,
           .code = source.code,
           .found = fmt::format("model.{} = {}", name, text_of(*mine)),
           .needed = "must agree with " + source.name + ", which has " +
                     text_of(theirs),
           .hint = "leave it out"});
    }
  };
  if (hf.model.kind != model.kind) {
    errors.push_back(
        {.kind = source.kind,
         .code = source.code,
         .found = "model.kind = \"" + std::string(name_of(model.kind)) + "\"",
         .needed = "must agree with " + source.name + ", which holds a " +
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
  if (model.kind == ModelKind::kLlama) {
    const LlamaShape& llama = hf.model.llama;
    adopt("variant", model.variant, llama.variant);
    adopt("kv_heads", model.kv_heads, llama.kv_heads);
    adopt("head_dim", model.head_dim, llama.head_dim);
    adopt("rope_theta", model.rope_theta, llama.rope.theta);
    adopt("norm_eps", model.norm_eps, hf.layer_norm_epsilon);
  }
  if (!model.seq) model.seq = hf.model.positions;
  const Diagnostics too_long = check_seq(source, *model.seq);
  errors.insert(errors.end(), too_long.begin(), too_long.end());
  return errors;
}

std::string fresh_notice(const std::string& init,
                         const std::vector<std::string>& fresh) {
  return init + " has no " + join(fresh, ", ") +
         ": these start with fresh weights";
}

// Makes `setup.start.init` read from model.init.
Diagnostics load_init(const std::shared_ptr<const HfDirectory>& directory,
                      RunSetup& setup) {
  const Result<StoredWeights> stored =
      find_weights(directory, setup.model, setup.config.train.seed);
  if (!stored) return stored.errors();
  if (!stored->fresh.empty()) {
    setup.notices.push_back(fresh_notice(directory->path(), stored->fresh));
  }
  setup.start.init = stored->init;
  return {};
}

// `hf` describes the model of model.init; null without model.init.
ModelDetails details_of(const ModelConfig& model, const HfShape* hf) {
  ModelDetails details = hf == nullptr ? default_details(shape_of(model), 0)
                                       : details_of(*hf, *model.seq);
  if (model.norm_eps) details.norm_eps = *model.norm_eps;
  if (hf == nullptr || model.dropout) {
    details.dropout =
        default_details(details.shape, model.dropout.value_or(0)).dropout;
  }
  return details;
}

HfShape written_shape(const ModelDetails& details) {
  return {.model = details.shape,
          .layer_norm_epsilon = details.norm_eps,
          .type_vocab =
              details.shape.kind == ModelKind::kBert ? details.type_vocab : 0,
          .padding_id = details.padding_id,
          .embedding_dropout = details.dropout.embedding,
          .hidden_dropout = details.dropout.hidden,
          .attention_dropout = details.dropout.attention};
}

}  // namespace

Diagnostics set_up_model(RunSetup& setup, const HfShape* saved) {
  std::shared_ptr<HfDirectory> directory;
  const HfShape* hf = nullptr;
  ModelConfig& model = setup.config.model;
  if (!model.init.empty() && saved != nullptr) {
    hf = saved;
    Diagnostics errors = adopt_shape(
        {*hf, "the checkpoint", DiagnosticKind::kCheckpoint, "E584"}, model);
    if (!errors.empty()) return errors;
  } else if (!model.init.empty()) {
    Result<HfDirectory> opened = HfDirectory::open(model.init);
    if (!opened) return opened.errors();
    directory = std::make_shared<HfDirectory>(std::move(opened).value());
    hf = &directory->shape();
    Diagnostics errors =
        adopt_shape({*hf, model.init, DiagnosticKind::kUsage, "E565"}, model);
    if (!errors.empty()) return errors;
  }
  setup.model = make_model(details_of(model, hf));
  setup.hf_shape = written_shape(setup.model.details);
  if (hf != nullptr) {
    setup.hf_shape.bos_id = hf->bos_id;
    setup.hf_shape.eos_ids = hf->eos_ids;
  }
  if (directory) return load_init(directory, setup);
  const std::int64_t seed = setup.config.train.seed;
  setup.start.init = [seed](const ParameterSpec& spec) {
    return init_parameter(spec, seed, at::kDouble);
  };
  return {};
}

}  // namespace chimera
