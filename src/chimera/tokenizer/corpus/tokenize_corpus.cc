#include "chimera/tokenizer/corpus/tokenize_corpus.h"

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "chimera/base/files.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/corpus/megatron_index.h"
#include "chimera/tokenizer/corpus/piece_encoder.h"
#include "chimera/tokenizer/corpus/piece_reader.h"

namespace chimera {
namespace {

// Encodes pieces on several threads and writes them in order. A thread that is
// far ahead of the writer waits, so that memory stays bounded.
class CorpusJob {
 public:
  CorpusJob(const std::vector<InputFile>& files, const Tokenizer& tokenizer,
            const CorpusOptions& options, WholeFile& output)
      : tokenizer_(tokenizer),
        options_(options),
        reader_(files, tokenizer),
        output_(output),
        most_ahead_(4 * static_cast<size_t>(options.num_threads)) {
    for (const InputFile& file : files) progress_.total += file.bytes;
  }

  void run() {
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < options_.num_threads; ++i) {
        threads.emplace_back([this] { work(); });
      }
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  [[nodiscard]] const Diagnostics& errors() const { return errors_; }
  [[nodiscard]] const CorpusSummary& summary() const { return summary_; }
  [[nodiscard]] const std::vector<std::int64_t>& document_ends() const {
    return document_ends_;
  }

 private:
  void work() {
    try {
      PieceEncoder encoder(tokenizer_);
      size_t index = 0;
      while (std::optional<Piece> piece = take(index)) {
        EncodedPiece encoded = encoder.encode(*piece);
        const std::lock_guard lock(mutex_);
        deliver(index, std::move(encoded));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop();
    }
  }

  // Takes the next piece and sets its index; nullopt if none is left.
  std::optional<Piece> take(size_t& index) {
    const std::lock_guard reading(reader_mutex_);
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] {
        return stopped_ || next_taken_ < next_written_ + most_ahead_;
      });
      if (stopped_) return std::nullopt;
      index = next_taken_++;
    }
    Result<std::optional<Piece>> piece = reader_.next();
    if (piece.ok()) return std::move(piece).value();
    const std::lock_guard lock(mutex_);
    deliver(index, {.errors = piece.errors()});
    return std::nullopt;
  }

  // REQUIRES: mutex_ is held.
  void deliver(size_t index, EncodedPiece piece) {
    finished_.emplace(index, std::move(piece));
    while (!stopped_ && !finished_.empty() &&
           finished_.begin()->first == next_written_) {
      write(finished_.begin()->second);
      finished_.erase(finished_.begin());
      ++next_written_;
    }
    room_.notify_all();
  }

  void write(const EncodedPiece& piece) {
    if (!piece.errors.empty()) {
      errors_ = piece.errors;
      stop();
      return;
    }
    output_.write(piece.bytes);
    for (const std::int64_t end : piece.document_ends) {
      document_ends_.push_back(summary_.tokens + end);
    }
    summary_.tokens += piece.tokens;
    summary_.documents = static_cast<std::int64_t>(document_ends_.size());
    progress_.tokens = summary_.tokens;
    progress_.bytes = piece.position;
    if (options_.on_progress) options_.on_progress(progress_);
  }

  void stop() {
    stopped_ = true;
    room_.notify_all();
  }

  const Tokenizer& tokenizer_;
  const CorpusOptions& options_;

  std::mutex reader_mutex_;  // taken before mutex_
  PieceReader reader_;       // guarded by reader_mutex_

  std::mutex mutex_;  // guards all below
  std::condition_variable room_;
  WholeFile& output_;
  const size_t most_ahead_;
  size_t next_taken_ = 0, next_written_ = 0;
  std::map<size_t, EncodedPiece> finished_;  // encoded but not yet written
  bool stopped_ = false;
  std::exception_ptr failure_;
  Diagnostics errors_;
  CorpusSummary summary_;
  std::vector<std::int64_t> document_ends_;  // in tokens
  CorpusProgress progress_;
};

CorpusDescription description(const CorpusSummary& summary,
                              const Tokenizer& tokenizer) {
  return {.wide = summary.wide,
          .tokens = summary.tokens,
          .documents = summary.documents,
          .vocab = static_cast<std::int64_t>(tokenizer.num_ids()),
          .end_of_document = tokenizer.end_of_document(),
          .tokenizer_hash = hash_text(tokenizer)};
}

}  // namespace

Result<CorpusSummary> tokenize_corpus(const std::vector<InputFile>& files,
                                      const Tokenizer& tokenizer,
                                      const CorpusOptions& options) {
  WholeFile output(options.output);
  CorpusJob job(files, tokenizer, options, output);
  job.run();
  if (!job.errors().empty()) return job.errors();
  CorpusSummary summary = job.summary();
  summary.wide = needs_wide_ids(tokenizer);
  // An old description or index must not be left beside a new corpus.
  std::error_code ignored;
  std::filesystem::remove(description_path(options.output), ignored);
  std::filesystem::remove(index_path(options.output), ignored);
  output.finish();
  write_megatron_index(index_path(options.output),
                       {.bytes_per_id = summary.wide ? 4 : 2,
                        .tokens = summary.tokens,
                        .document_ends = job.document_ends()});
  CorpusDescription described = description(summary, tokenizer);
  described.source_hash = options.source_hash;
  write_file(description_path(options.output), print(described));
  return summary;
}

}  // namespace chimera
