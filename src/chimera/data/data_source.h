// Data files as the endless sequence of a run's mini-batches. docs/data.md
// explains files, samples and orders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/names.h"
#include "chimera/data/batch.h"
#include "chimera/data/mixture.h"
#include "chimera/data/packed_samples.h"
#include "chimera/data/pair_samples.h"
#include "chimera/data/prepared_samples.h"
#include "chimera/data/window_samples.h"

namespace chimera {

// The part of each file's samples to read, if eval_fraction is above 0.
enum class DataPart { kTraining, kEvaluation };

struct DataOptions {
  std::vector<std::string> paths;     // files and patterns
  ModelKind kind = ModelKind::kGpt2;  // not emulated, which needs no data
  // "bytes" or a path: the tokenizer for text files, or the one that made a
  // corpus.
  std::string tokenizer = "bytes";
  SampleOrder order = SampleOrder::kShuffled;
  TokenType token_type = TokenType::kAuto;
  Packing pack = Packing::kWindows;
  std::vector<double> weights = {};  // one per path; empty: by size
  double eval_fraction = 0;          // last part of each file's samples
  DataPart part = DataPart::kTraining;
  int seq = 0;
  int vocab = 0;
  int type_vocab = 2;             // token types; BERT only
  std::int64_t global_batch = 1;  // G; may exceed the number of samples
  // For a run that resumes with another G: the number that the first sample of
  // step 0 would have if all mini-batches had this size. It may be negative,
  // but not for any step that is read.
  std::int64_t shift = 0;
  std::int64_t seed = 0;
  Scan scan = Scan::kWhole;
};

// Immutable, so any number of threads may read at once. Evaluation uses a
// separate source with order = kSequential: its step k holds samples k*G ..
// (k+1)*G-1, modulo num_samples().
class DataSource : public BatchSource {
 public:
  // sample_ids are numbered over the whole run (step*G + shift + i), so that a
  // sample's dropout differs between epochs. REQUIRES: 0 <= first, 0 <= count,
  // first + count <= G.
  [[nodiscard]] Batch read(std::int64_t step, std::int64_t first,
                           std::int64_t count) const override;
  [[nodiscard]] std::vector<std::int64_t> sample_ids(
      std::int64_t step, std::int64_t first, std::int64_t count) const override;
  [[nodiscard]] TargetCount targets(std::int64_t step) const override;

  [[nodiscard]] bool has_segments() const override { return has_segments_; }
  [[nodiscard]] std::int64_t num_samples() const override {
    return mixture_.size();
  }
  // Tokens in the files, including dropped tails.
  [[nodiscard]] std::int64_t num_tokens() const;

  using Samples =
      std::variant<WindowSamples, PackedSamples, PairSamples, PreparedSamples>;

 private:
  friend Result<std::shared_ptr<const DataSource>> open_data(
      const DataOptions& options);

  // An open file, of which samples first .. first + count - 1 are read.
  struct File {
    Samples samples;
    size_t entry = 0;  // index in DataOptions::paths
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  // REQUIRES: the files have at least one sample in total.
  DataSource(const DataOptions& options, std::vector<File> files);
  struct Found {
    const File& file;
    Draw draw;  // sample number within the file
  };
  // Finds the n-th draw of the run.
  [[nodiscard]] Found find(std::int64_t number) const;

  int seq_;
  std::int64_t global_batch_;
  std::int64_t shift_;
  std::vector<File> files_;
  std::vector<std::int64_t> ends_;  // running totals of the files' samples
  bool has_segments_ = false;
  Mixture mixture_;
};

// Maps the files and checks all of them, so that mistakes are reported before
// anything trains. REQUIRES: seq, vocab and global_batch are at least 1.
[[nodiscard]] Result<std::shared_ptr<const DataSource>> open_data(
    const DataOptions& options);

}  // namespace chimera
