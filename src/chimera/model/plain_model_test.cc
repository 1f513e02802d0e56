// The models once more, composed of ordinary torch operations: weights by name,
// gradients by plain autograd. They share nothing with the code under test but
// the names of the parameters.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "chimera/model/model_test_support.h"

namespace chimera {
namespace {

using Named = std::map<std::string, at::Tensor>;

struct Plain {
  const Named& weights;
  const ModelDetails& details;
  const TensorBatch& batch;

  at::Tensor get(const std::string& name) const { return weights.at(name); }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor centered = x - x.mean(-1, true);
    const at::Tensor variance = centered.square().mean(-1, true);
    return centered / (variance + details.norm_eps).sqrt() *
               get(name + ".weight") +
           get(name + ".bias");
  }
  at::Tensor conv1d(const at::Tensor& x, const std::string& name) const {
    return at::matmul(x, get(name + ".weight")) + get(name + ".bias");
  }
  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    return at::linear(x, get(name + ".weight"), get(name + ".bias"));
  }
  // Computes one head after the other.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& v, bool causal) const {
    const int heads = details.shape.heads;
    const std::int64_t width = details.shape.hidden / heads;
    std::vector<at::Tensor> outputs;
    for (int head = 0; head < heads; ++head) {
      const auto part = [&](const at::Tensor& x) {
        return x.narrow(-1, head * width, width);
      };
      at::Tensor scores =
          at::matmul(part(q), part(k).transpose(1, 2)) / std::sqrt(width);
      if (causal) {
        scores = scores + at::full_like(scores[0], -1e30).triu(1);
      }
      outputs.push_back(at::matmul(at::softmax(scores, -1), part(v)));
    }
    return at::cat(outputs, -1);
  }
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets) const {
    const at::Tensor flat = targets.reshape({-1});
    const at::Tensor kept = flat.ne(kIgnoredTarget);
    const at::Tensor picked = at::log_softmax(logits, -1)
                                  .reshape({-1, logits.size(-1)})
                                  .gather(1, flat.clamp_min(0).unsqueeze(1))
                                  .squeeze(1);
    return -(picked * kept).sum() / kept.sum();
  }
};

at::Tensor plain_gpt2(const Plain& m) {
  const std::string root = "transformer.";
  at::Tensor x =
      m.get(root + "wte.weight").index({m.batch.inputs}) +
      m.get(root + "wpe.weight").narrow(0, 0, m.batch.inputs.size(1));
  for (int layer = 0; layer < m.details.shape.layers; ++layer) {
    const std::string name = root + "h." + std::to_string(layer);
    const auto qkv =
        m.conv1d(m.norm(x, name + ".ln_1"), name + ".attn.c_attn").chunk(3, -1);
    x = x +
        m.conv1d(m.attend(qkv[0], qkv[1], qkv[2], true), name + ".attn.c_proj");
    const at::Tensor h =
        m.conv1d(m.norm(x, name + ".ln_2"), name + ".mlp.c_fc");
    const at::Tensor gelu =
        0.5 * h *
        (1 + at::tanh(std::sqrt(2 / M_PI) * (h + 0.044715 * h.pow(3))));
    x = x + m.conv1d(gelu, name + ".mlp.c_proj");
  }
  const bool tied = m.details.shape.tie_embeddings;
  const at::Tensor head = m.get(tied ? root + "wte.weight" : "lm_head.weight");
  return m.loss(at::matmul(m.norm(x, root + "ln_f"), head.t()),
                m.batch.targets);
}

at::Tensor erf_gelu(const at::Tensor& h) {
  return 0.5 * h * (1 + at::erf(h / std::sqrt(2.0)));
}

at::Tensor plain_bert(const Plain& m) {
  const std::string embeddings = "bert.embeddings.";
  const at::Tensor words = m.get(embeddings + "word_embeddings.weight");
  // The embedding treats the padding row as a constant.
  const at::Tensor padding = m.batch.inputs.eq(0).unsqueeze(-1);
  const at::Tensor found = words.index({m.batch.inputs});
  at::Tensor x = m.norm(at::where(padding, found.detach(), found) +
                            m.get(embeddings + "position_embeddings.weight")
                                .narrow(0, 0, m.batch.inputs.size(1)) +
                            m.get(embeddings + "token_type_embeddings.weight")
                                .index({m.batch.token_types}),
                        embeddings + "LayerNorm");
  for (int layer = 0; layer < m.details.shape.layers; ++layer) {
    const std::string name =
        "bert.encoder.layer." + std::to_string(layer) + ".";
    const std::string self = name + "attention.self.";
    const at::Tensor mixed =
        m.attend(m.linear(x, self + "query"), m.linear(x, self + "key"),
                 m.linear(x, self + "value"), false);
    x = m.norm(x + m.linear(mixed, name + "attention.output.dense"),
               name + "attention.output.LayerNorm");
    const at::Tensor wide = erf_gelu(m.linear(x, name + "intermediate.dense"));
    x = m.norm(x + m.linear(wide, name + "output.dense"),
               name + "output.LayerNorm");
  }
  const at::Tensor transformed =
      m.norm(erf_gelu(m.linear(x, "cls.predictions.transform.dense")),
             "cls.predictions.transform.LayerNorm");
  const at::Tensor decoder = m.details.shape.tie_embeddings
                                 ? words
                                 : m.get("cls.predictions.decoder.weight");
  const at::Tensor logits =
      at::linear(transformed, decoder, m.get("cls.predictions.bias"));
  const at::Tensor pooled =
      at::tanh(m.linear(x.select(1, 0), "bert.pooler.dense"));
  return m.loss(logits, m.batch.targets) +
         m.loss(m.linear(pooled, "cls.seq_relationship"),
                m.batch.next_sentence);
}

// Computes one head after the other, with angles from their definition.
struct PlainLlama {
  const Plain& m;

  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor mean = x.square().mean(-1, true);
    return x / (mean + m.details.norm_eps).sqrt() * m.get(name + ".weight");
  }
  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    const auto bias = m.weights.find(name + ".bias");
    const at::Tensor y = at::linear(x, m.get(name + ".weight"));
    return bias == m.weights.end() ? y : y + bias->second;
  }
  // Rotates x (B, T, D): element i of the first half and element i of the
  // second half form a pair.
  at::Tensor turn(const at::Tensor& x) const {
    const std::int64_t half = x.size(-1) / 2;
    std::vector<at::Tensor> firsts, seconds;
    for (std::int64_t i = 0; i < half; ++i) {
      const float frequency =
          1 / std::pow(10000.0F, 2.0F * float(i) / float(2 * half));
      const at::Tensor angles =
          at::arange(x.size(1), at::kFloat) * frequency;  // (T)
      const at::Tensor a = x.select(-1, i), b = x.select(-1, half + i);
      const at::Tensor cos = angles.cos().to(at::kDouble);
      const at::Tensor sin = angles.sin().to(at::kDouble);
      firsts.push_back(a * cos - b * sin);
      seconds.push_back(b * cos + a * sin);
    }
    firsts.insert(firsts.end(), seconds.begin(), seconds.end());
    return at::stack(firsts, -1);
  }
  at::Tensor attend(const at::Tensor& x, const std::string& name) const {
    const LlamaShape& llama = m.details.shape.llama;
    const int heads = m.details.shape.heads;
    const at::Tensor q = linear(x, name + "q_proj");
    const at::Tensor k = linear(x, name + "k_proj");
    const at::Tensor v = linear(x, name + "v_proj");
    const auto part = [&](const at::Tensor& all, int head) {
      return all.narrow(-1, std::int64_t{head} * llama.head_dim,
                        llama.head_dim);
    };
    std::vector<at::Tensor> outputs;
    for (int head = 0; head < heads; ++head) {
      const int shared = head / (heads / llama.kv_heads);
      at::Tensor query = part(q, head), key = part(k, shared);
      if (llama.has_qk_norm()) {
        query = norm(query, name + "q_norm");
        key = norm(key, name + "k_norm");
      }
      const at::Tensor scores =
          at::matmul(turn(query), turn(key).transpose(1, 2)) /
          std::sqrt(double(llama.head_dim));
      const at::Tensor future = at::full_like(scores[0], -1e30).triu(1);
      outputs.push_back(
          at::matmul(at::softmax(scores + future, -1), part(v, shared)));
    }
    return linear(at::cat(outputs, -1), name + "o_proj");
  }
};

at::Tensor plain_llama(const Plain& m) {
  const PlainLlama llama{m};
  at::Tensor x = m.get("model.embed_tokens.weight").index({m.batch.inputs});
  for (int layer = 0; layer < m.details.shape.layers; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    x = x + llama.attend(llama.norm(x, name + "input_layernorm"),
                         name + "self_attn.");
    const at::Tensor h = llama.norm(x, name + "post_attention_layernorm");
    const at::Tensor gate = llama.linear(h, name + "mlp.gate_proj");
    x = x + llama.linear(gate * at::sigmoid(gate) *
                             llama.linear(h, name + "mlp.up_proj"),
                         name + "mlp.down_proj");
  }
  const bool tied = m.details.shape.tie_embeddings;
  const at::Tensor head =
      m.get(tied ? "model.embed_tokens.weight" : "lm_head.weight");
  return m.loss(at::linear(llama.norm(x, "model.norm"), head), m.batch.targets);
}

at::Tensor plain_loss(const Plain& plain) {
  switch (plain.details.shape.kind) {
    case ModelKind::kGpt2:
      return plain_gpt2(plain);
    case ModelKind::kBert:
      return plain_bert(plain);
    default:
      return plain_llama(plain);
  }
}

struct PlainCase {
  ModelKind kind;
  LlamaVariant variant = {};
};

class PlainModel : public testing::TestWithParam<std::tuple<PlainCase, bool>> {
};

INSTANTIATE_TEST_SUITE_P(
    All, PlainModel,
    testing::Combine(
        testing::Values(PlainCase{ModelKind::kGpt2},
                        PlainCase{ModelKind::kBert},
                        PlainCase{ModelKind::kLlama},
                        PlainCase{ModelKind::kLlama, LlamaVariant::kQwen2},
                        PlainCase{ModelKind::kLlama, LlamaVariant::kQwen3}),
        testing::Bool()));

TEST_P(PlainModel, HasTheSameLossAndGradients) {
  const auto [wanted, tied] = GetParam();
  ModelDetails details = tiny_details(wanted.kind, tied, 0);
  details.shape.llama.variant = wanted.variant;
  OwnedModel ours(details);
  const Batch batch = tiny_batch(ours.model.details.shape, 3);
  const TensorBatch tensors = to_tensors(batch, count_targets(batch));
  const double our_loss = ours.step(tensors);

  Named weights;
  for (const auto& [name, leaf] : ours.by_name) {
    weights[name] = leaf.detach().clone().requires_grad_();
  }
  const Plain plain{weights, ours.model.details, tensors};
  const at::Tensor loss = plain_loss(plain);
  torch::autograd::backward({loss}, {});
  EXPECT_NEAR(our_loss, loss.item<double>(), 1e-13 * our_loss);
  for (const auto& [name, leaf] : weights) {
    EXPECT_LT(parity(ours.by_name[name].grad(), leaf.grad(), ours.buffer), 1)
        << name;
  }
}

}  // namespace
}  // namespace chimera
