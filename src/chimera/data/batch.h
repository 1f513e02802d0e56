// The samples of one micro-batch as plain numbers, torch-free. The data module
// makes them from files; tests make them up.
#pragma once

#include <cstdint>
#include <vector>

namespace chimera {

// A target that does not count in the loss.
inline constexpr std::int64_t kIgnoredTarget = -100;

struct Batch {
  int samples = 0;
  int seq = 0;
  // (samples); numbered over all copies, the keys of dropout.
  std::vector<std::int64_t> sample_ids;
  std::vector<std::int64_t> inputs;   // (samples, seq)
  std::vector<std::int64_t> targets;  // (samples, seq); may be kIgnoredTarget
  std::vector<std::int64_t> token_types;    // (samples, seq); BERT only
  std::vector<std::int64_t> next_sentence;  // (samples); BERT only
  // (samples, seq): two positions of a sample see each other only if their
  // segments are equal. Empty: they always do.
  std::vector<std::int64_t> segments;
  // (samples, seq); empty: 0 .. seq - 1 in each sample.
  std::vector<std::int64_t> positions;

  bool operator==(const Batch&) const = default;
};

// The target counts of a whole mini-batch over all copies, by which losses are
// divided.
struct TargetCount {
  std::int64_t tokens = 0;   // targets that count
  std::int64_t samples = 0;  // next-sentence targets

  bool operator==(const TargetCount&) const = default;
};

// Gives the samples of each step. Pure: the same arguments give the same
// samples, on every worker and from any thread. Steps and samples count from 0;
// a step has G samples.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // Reads samples first .. first + count - 1 of a step.
  [[nodiscard]] virtual Batch read(std::int64_t step, std::int64_t first,
                                   std::int64_t count) const = 0;
  // The ids of samples first .. first + count - 1, for stages that need nothing
  // else.
  [[nodiscard]] virtual std::vector<std::int64_t> sample_ids(
      std::int64_t step, std::int64_t first, std::int64_t count) const {
    return read(step, first, count).sample_ids;
  }
  [[nodiscard]] virtual TargetCount targets(std::int64_t step) const = 0;
  // True if read() returns segments, which every stage needs.
  [[nodiscard]] virtual bool has_segments() const { return false; }
  // Samples of one epoch; at least 1.
  [[nodiscard]] virtual std::int64_t num_samples() const = 0;
};

}  // namespace chimera
