// Reads metrics.jsonl while it grows: curves of bounded size, and the run's
// totals.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/page/curve.h"
#include "chimera/page/mark.h"

namespace chimera {

// A curve of the page, by its key in metrics.jsonl.
struct CurveName {
  std::string_view key;
  std::string_view title;
  std::string_view unit;
};
inline constexpr auto kCurveNames = std::to_array<CurveName>({
    {"loss", "Loss", ""},
    {"eval_loss", "Evaluation loss", ""},
    {"grad_norm", "Gradient norm", ""},
    {"lr", "Learning rate", ""},
    {"tokens_per_s", "Tokens per second", "tok/s"},
    {"mfu", "MFU", "%"},
    {"step_s", "Step time", "s"},
    {"bubble", "Bubble", "%"},
});

// The content of the lines so far. Lines that are not an object with a step are
// counted and skipped.
class Metrics {
 public:
  explicit Metrics(std::size_t most_groups);

  void add_line(std::string_view line);

  [[nodiscard]] const Curve& curve(std::size_t index) const {
    return curves_[index];
  }
  // REQUIRES: `key` is one of kCurveNames.
  [[nodiscard]] const Curve& curve(std::string_view key) const;

  [[nodiscard]] int steps() const { return steps_; }  // the highest one
  [[nodiscard]] double tokens() const { return tokens_; }
  [[nodiscard]] double seconds() const { return seconds_; }  // of all steps
  // True if the newest loss was not finite.
  [[nodiscard]] bool has_lost_loss() const { return has_lost_loss_; }
  [[nodiscard]] int bad_lines() const { return bad_lines_; }
  // Steps that were skipped or not finite, at most kMostMarks.
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
  // Sum of all group sizes. It changes whenever older points change.
  [[nodiscard]] int group_sizes() const;

 private:
  void mark(int step, const char* kind, const char* text);

  std::array<Curve, kCurveNames.size()> curves_;
  int steps_ = 0;
  double tokens_ = 0;
  double seconds_ = 0;
  bool has_lost_loss_ = false;
  int bad_lines_ = 0;
  std::vector<Mark> marks_;
};

// Follows the file. Memory is bounded by the curves and the longest accepted
// line.
class MetricsFile {
 public:
  MetricsFile(std::string path, std::size_t most_groups)
      : path_(std::move(path)),
        most_groups_(most_groups),
        metrics_(most_groups) {}

  // Reads the new complete lines. A file that was truncated or replaced (a run
  // was resumed from an earlier step) is read again from its start.
  void read_more();

  [[nodiscard]] const Metrics& metrics() const { return metrics_; }
  // How often the file was read again from its start.
  [[nodiscard]] int restarts() const { return restarts_; }

 private:
  [[nodiscard]] bool is_other_file(int descriptor) const;
  void take(std::string_view bytes);

  std::string path_;
  std::size_t most_groups_;
  Metrics metrics_;
  std::int64_t offset_ = 0;  // bytes read so far
  std::string tail_;         // last bytes read, to recognise the file
  std::string line_;         // beginning of an incomplete line
  bool is_too_long_ = false;
  int restarts_ = 0;
};

}  // namespace chimera
