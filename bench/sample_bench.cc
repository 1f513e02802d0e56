// Seconds of a text of 256 tokens, with the key-value cache and reading the
// whole text again for every token, and their ratio; on one thread.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "chimera/model/generate.h"
#include "chimera/model/initial_weights.h"

namespace chimera {
namespace {

constexpr int kTokens = 256;

ModelShape shape_of(ModelKind kind) {
  ModelShape shape{.kind = kind,
                   .layers = 4,
                   .hidden = 256,
                   .heads = 8,
                   .vocab = 1024,
                   .seq = 300,
                   .positions = 300,
                   .ffn = 768};
  if (kind == ModelKind::kLlama) shape.llama = {.kv_heads = 2, .head_dim = 32};
  return shape;
}

double seconds(const WholeModel& model, bool use_cache) {
  const auto start = std::chrono::steady_clock::now();
  generate(model, {1, 2, 3}, {.tokens = kTokens, .use_cache = use_cache},
           [](std::int64_t) { return true; });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void measure(ModelKind kind) {
  const WholeModel model(make_model(default_details(shape_of(kind), 0)),
                         [](const ParameterSpec& spec) {
                           return init_parameter(spec, 0, at::kFloat);
                         });
  (void)seconds(model, true);
  double with = seconds(model, true), without = seconds(model, false);
  for (int round = 0; round < 2; ++round) {
    with = std::min(with, seconds(model, true));
    without = std::min(without, seconds(model, false));
  }
  fmt::print("{}: {:.3f} s with the cache, {:.3f} s without: {:.1f} x\n",
             name_of(kind), with, without, without / with);
}

}  // namespace
}  // namespace chimera

int main() {
  at::set_num_threads(1);
  chimera::measure(chimera::ModelKind::kGpt2);
  chimera::measure(chimera::ModelKind::kLlama);
}
