// The models again as a composition of ordinary torch operations, weights by
// name and gradients by plain autograd: nothing of ours but the names.
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
  // Head by head.
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
  // The padding row is a constant to the embedding.
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

class PlainModel : public testing::TestWithParam<std::tuple<ModelKind, bool>> {
};

INSTANTIATE_TEST_SUITE_P(All, PlainModel,
                         testing::Combine(testing::Values(ModelKind::kGpt2,
                                                          ModelKind::kBert),
                                          testing::Bool()));

TEST_P(PlainModel, HasTheSameLossAndGradients) {
  const auto [kind, tied] = GetParam();
  OwnedModel ours(tiny_details(kind, tied, 0));
  const Batch batch = tiny_batch(ours.model.details.shape, 3);
  const TensorBatch tensors = to_tensors(batch, count_targets(batch));
  const double our_loss = ours.step(tensors);

  Named weights;
  for (const auto& [name, leaf] : ours.by_name) {
    weights[name] = leaf.detach().clone().requires_grad_();
  }
  const Plain plain{weights, ours.model.details, tensors};
  const at::Tensor loss =
      kind == ModelKind::kGpt2 ? plain_gpt2(plain) : plain_bert(plain);
  torch::autograd::backward({loss}, {});
  EXPECT_NEAR(our_loss, loss.item<double>(), 1e-13 * our_loss);
  for (const auto& [name, leaf] : weights) {
    EXPECT_LT(parity(ours.by_name[name].grad(), leaf.grad(), ours.buffer), 1)
        << name;
  }
}

}  // namespace
}  // namespace chimera
