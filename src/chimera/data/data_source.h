// A data file as the endless list of mini-batches of a run. docs/data.md says
// what files, samples and orders are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "chimera/base/result.h"
#include "chimera/config/names.h"
#include "chimera/data/batch.h"
#include "chimera/data/order.h"
#include "chimera/data/pair_samples.h"
#include "chimera/data/prepared_samples.h"
#include "chimera/data/window_samples.h"

namespace chimera {

struct DataOptions {
  std::string path;
  ModelKind kind = ModelKind::kGpt2;  // not emulated, which needs no data
  std::string tokenizer = "bytes";    // of text; other files are token ids
  SampleOrder order = SampleOrder::kShuffled;
  int seq = 0;
  int vocab = 0;
  int type_vocab = 2;             // token types; BERT only
  std::int64_t global_batch = 1;  // G; may be above the number of samples
  // Where a run goes on with another G: number of step 0's first sample, had
  // all mini-batches been of this size. May be negative; never of a step read.
  std::int64_t shift = 0;
  std::int64_t seed = 0;
  Scan scan = Scan::kWhole;
};

// Immutable, so any number of threads may read at once. Evaluation is a source
// of its own with order = kSequential: step k then holds samples k*G ..
// (k+1)*G-1, modulo num_samples().
class DataSource : public BatchSource {
 public:
  // sample_ids are numbers in the whole run (step*G + shift + i), so that a
  // sample's dropout differs between epochs. REQUIRES: 0 <= first, 0 <= count,
  // first + count <= G.
  [[nodiscard]] Batch read(std::int64_t step, std::int64_t first,
                           std::int64_t count) const override;
  [[nodiscard]] std::vector<std::int64_t> sample_ids(
      std::int64_t step, std::int64_t first, std::int64_t count) const override;
  [[nodiscard]] TargetCount targets(std::int64_t step) const override;

  [[nodiscard]] std::int64_t num_samples() const override {
    return order_.num_samples;
  }
  // In the file, those of a dropped tail included.
  [[nodiscard]] std::int64_t num_tokens() const;

 private:
  friend Result<std::shared_ptr<const DataSource>> open_data(
      const DataOptions& options);
  using Samples = std::variant<WindowSamples, PairSamples, PreparedSamples>;
  DataSource(const DataOptions& options, Samples samples);

  int seq_;
  std::int64_t global_batch_;
  std::int64_t shift_;
  Samples samples_;
  OrderOptions order_;
};

// Maps the file and checks all of it: whatever is wrong with it is said here,
// before anything trains. REQUIRES: seq, vocab and global_batch at least 1.
[[nodiscard]] Result<std::shared_ptr<const DataSource>> open_data(
    const DataOptions& options);

}  // namespace chimera
