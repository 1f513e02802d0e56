// The smallest possible models, with tensors named as by Hugging Face.
#pragma once

#include <string>
#include <vector>

#include "chimera/files/hf_config.h"
#include "chimera/files/hf_files_for_tests.h"
#include "chimera/files/hf_match.h"

namespace chimera {

inline HfShape tiny_shape(ModelKind kind, bool tied) {
  return {.model = {.kind = kind,
                    .layers = 1,
                    .hidden = 2,
                    .heads = 1,
                    .vocab = 3,
                    .seq = 4,
                    .positions = 4,
                    .ffn = 5,
                    .tie_embeddings = tied},
          .type_vocab = kind == ModelKind::kBert ? 2 : 0};
}

inline std::vector<ExpectedTensor> expected_gpt2(bool tied) {
  const std::string h = "transformer.h.0.";
  std::vector<ExpectedTensor> expected = {
      {"transformer.wte.weight", {3, 2}}, {"transformer.wpe.weight", {4, 2}},
      {h + "ln_1.weight", {2}},           {h + "ln_1.bias", {2}},
      {h + "attn.c_attn.weight", {2, 6}}, {h + "attn.c_attn.bias", {6}},
      {h + "attn.c_proj.weight", {2, 2}}, {h + "attn.c_proj.bias", {2}},
      {h + "ln_2.weight", {2}},           {h + "ln_2.bias", {2}},
      {h + "mlp.c_fc.weight", {2, 5}},    {h + "mlp.c_fc.bias", {5}},
      {h + "mlp.c_proj.weight", {5, 2}},  {h + "mlp.c_proj.bias", {2}},
      {"transformer.ln_f.weight", {2}},   {"transformer.ln_f.bias", {2}}};
  if (!tied) expected.push_back({"lm_head.weight", {3, 2}});
  return expected;
}

inline void expect_dense(std::vector<ExpectedTensor>& out,
                         const std::string& name, std::int64_t rows,
                         std::int64_t columns, bool may_be_missing = false) {
  out.push_back({name + ".weight", {rows, columns}, may_be_missing});
  out.push_back({name + ".bias", {rows}, may_be_missing});
}

inline void expect_norm(std::vector<ExpectedTensor>& out,
                        const std::string& name, bool may_be_missing = false) {
  out.push_back({name + ".weight", {2}, may_be_missing});
  out.push_back({name + ".bias", {2}, may_be_missing});
}

inline std::vector<ExpectedTensor> expected_bert(bool tied) {
  const std::string layer = "bert.encoder.layer.0.";
  std::vector<ExpectedTensor> out = {
      {"bert.embeddings.word_embeddings.weight", {3, 2}},
      {"bert.embeddings.position_embeddings.weight", {4, 2}},
      {"bert.embeddings.token_type_embeddings.weight", {2, 2}}};
  expect_norm(out, "bert.embeddings.LayerNorm");
  for (const char* name : {"query", "key", "value"}) {
    expect_dense(out, layer + "attention.self." + name, 2, 2);
  }
  expect_dense(out, layer + "attention.output.dense", 2, 2);
  expect_norm(out, layer + "attention.output.LayerNorm");
  expect_dense(out, layer + "intermediate.dense", 5, 2);
  expect_dense(out, layer + "output.dense", 2, 5);
  expect_norm(out, layer + "output.LayerNorm");
  expect_dense(out, "bert.pooler.dense", 2, 2, true);
  out.push_back({"cls.predictions.bias", {3}, true});
  expect_dense(out, "cls.predictions.transform.dense", 2, 2, true);
  expect_norm(out, "cls.predictions.transform.LayerNorm", true);
  if (!tied) out.push_back({"cls.predictions.decoder.weight", {3, 2}, true});
  expect_dense(out, "cls.seq_relationship", 2, 2, true);
  return out;
}

// Tensors whose values are all different, so that each can be recognised.
inline std::vector<OwnedTensor> tensors_of(
    const std::vector<ExpectedTensor>& expected) {
  std::vector<OwnedTensor> tensors;
  for (const ExpectedTensor& one : expected) {
    const size_t count = *tensor_bytes(TensorType::kU8, one.shape);
    OwnedTensor tensor{one.name, one.shape, std::vector<float>(count)};
    for (size_t i = 0; i < count; ++i) {
      tensor.values[i] = static_cast<float>(tensors.size() * 100 + i);
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

inline std::vector<float> floats_of(const StoredTensor& stored) {
  std::vector<float> values(*tensor_bytes(TensorType::kU8, stored.info->shape));
  stored.file->copy_as_float(*stored.info, values);
  return values;
}

}  // namespace chimera
