// Reads any bytes as JSONL data. The number of mistakes is bounded; accepted
// samples stay in the ranges that a model relies on, and never take more memory
// than the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "chimera/data/jsonl.h"
#include "chimera/data/prepared_samples.h"

namespace {

constexpr int kSeq = 8;

void must(bool condition) {
  if (!condition) std::abort();
}

void must_be_few(const chimera::Diagnostics& errors) {
  must(!errors.empty() && errors.size() <= 10);
  for (const chimera::Diagnostic& error : errors) {
    must(error.code.starts_with("E5") && error.where.starts_with("fuzz"));
  }
}

void use_text(const chimera::JsonlText& jsonl, int vocab) {
  const auto texts = chimera::join_documents(jsonl, vocab);
  if (!texts) return must_be_few(texts.errors());
  const std::vector<char>& bytes = texts->bytes;
  must(!bytes.empty() && bytes.size() <= jsonl.text.size());
  for (const char c : bytes) {
    must(static_cast<std::uint8_t>(c) < vocab || c == '\n');
  }
  must(texts->ends.back() == static_cast<std::int64_t>(bytes.size()));
}

void use_prepared(const chimera::JsonlText& jsonl, int vocab) {
  const auto samples =
      chimera::read_prepared(jsonl, {.seq = kSeq, .vocab = vocab});
  if (!samples) return must_be_few(samples.errors());
  must(samples->num_tokens() == samples->size() * kSeq);
  for (std::int64_t sample = 0; sample < samples->size(); ++sample) {
    chimera::Batch batch;
    samples->append({.sample = sample}, batch);
    std::int64_t targets = 0;
    for (size_t i = 0; i < kSeq; ++i) {
      const std::int64_t target = batch.targets[i];
      must(batch.inputs[i] >= 0 && batch.inputs[i] < vocab);
      must(batch.token_types[i] == 0 || batch.token_types[i] == 1);
      must(batch.segments.empty() || batch.segments[i] == 0 ||
           target == chimera::kIgnoredTarget);
      if (target == chimera::kIgnoredTarget) continue;
      must(target >= 0 && target < vocab);
      ++targets;
    }
    must(samples->num_targets({.sample = sample}) == targets);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const chimera::JsonlText jsonl{
      .text = {reinterpret_cast<const char*>(data), size}, .path = "fuzz"};
  for (const int vocab : {128, 256}) {
    use_text(jsonl, vocab);
    use_prepared(jsonl, vocab);
  }
  (void)chimera::is_prepared(jsonl);
  return 0;
}
