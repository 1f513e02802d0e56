#include "chimera/page/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "chimera/base/check.h"
#include "chimera/base/json_reader.h"

namespace chimera {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;
constexpr std::size_t kTail = 64;

// One line of the file; NaN for a value that is missing or null.
struct StepLine {
  int step = -1;
  std::array<double, kCurveNames.size()> values;
  double tokens = 0;
  bool is_skipped = false;
  bool has_null_loss = false;
};

std::size_t curve_index(std::string_view key) {
  const auto name =
      std::find_if(kCurveNames.begin(), kCurveNames.end(),
                   [&](const CurveName& curve) { return curve.key == key; });
  return static_cast<std::size_t>(name - kCurveNames.begin());
}

void read_member(JsonReader& reader, const std::string& key, StepLine& line) {
  const std::size_t curve = curve_index(key);
  if (key == "step") {
    line.step = reader.integer(key).value_or(-1);
  } else if (reader.null()) {
    line.has_null_loss = line.has_null_loss || key == "loss";
  } else if (curve < kCurveNames.size()) {
    line.values[curve] = reader.real(key).value_or(line.values[curve]);
  } else if (key == "tokens") {
    line.tokens = reader.real(key).value_or(0);
  } else if (key == "skipped") {
    line.is_skipped = reader.boolean(key).value_or(false);
  } else {
    reader.skip();
  }
}

std::optional<StepLine> parse_line(std::string_view text) {
  StepLine line;
  line.values.fill(std::numeric_limits<double>::quiet_NaN());
  Diagnostics errors;
  JsonReader reader(text, "metrics.jsonl", errors);
  reader.object("the line", [&](const std::string& key) {
    read_member(reader, key, line);
  });
  reader.finish();
  if (!errors.empty() || line.step < 0) return std::nullopt;
  return line;
}

}  // namespace

Metrics::Metrics(std::size_t most_groups) { curves_.fill(Curve(most_groups)); }

const Curve& Metrics::curve(std::string_view key) const {
  const std::size_t index = curve_index(key);
  CHIMERA_CHECK(index < curves_.size(), "a curve that nobody knows");
  return curves_[index];
}

int Metrics::group_sizes() const {
  int sum = 0;
  for (const Curve& curve : curves_) sum += curve.group_size();
  return sum;
}

void Metrics::mark(int step, const char* kind, const char* text) {
  if (marks_.size() < kMostMarks) marks_.push_back({step, kind, text});
}

void Metrics::add_line(std::string_view text) {
  const std::optional<StepLine> line = parse_line(text);
  if (!line) {
    ++bad_lines_;
    return;
  }
  for (std::size_t i = 0; i < curves_.size(); ++i) {
    if (std::isfinite(line->values[i])) {
      curves_[i].add(line->step, line->values[i]);
    }
  }
  has_lost_loss_ = line->has_null_loss;
  steps_ = std::max(steps_, line->step);
  tokens_ += line->tokens;
  const double seconds = line->values[curve_index("step_s")];
  if (std::isfinite(seconds)) seconds_ += seconds;
  if (line->is_skipped) {
    mark(line->step, "warning", "update skipped: not a number");
  } else if (line->has_null_loss) {
    mark(line->step, "fault", "the loss is not a number");
  }
}

// True if the bytes before offset_ are no longer those that were read.
bool MetricsFile::is_other_file(int descriptor) const {
  std::string now(tail_.size(), '\0');
  const auto from = offset_ - static_cast<std::int64_t>(tail_.size());
  const ssize_t got = pread(descriptor, now.data(), now.size(), from);
  return got != static_cast<ssize_t>(now.size()) || now != tail_;
}

void MetricsFile::take(std::string_view bytes) {
  offset_ += static_cast<std::int64_t>(bytes.size());
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  tail_.erase(0, tail_.size() - std::min(tail_.size(), kTail));
  while (true) {
    const std::size_t end = bytes.find('\n');
    if (line_.size() + std::min(end, bytes.size()) > kLongestLine) {
      is_too_long_ = true;
      line_.clear();
    }
    if (!is_too_long_) line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    metrics_.add_line(line_);  // an empty line if too long: counted as bad
    line_.clear();
    is_too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
}

void MetricsFile::read_more() {
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;  // does not exist yet
  if (is_other_file(descriptor)) {
    const int restarts = restarts_ + 1;
    *this = MetricsFile(path_, most_groups_);
    restarts_ = restarts;
  }
  std::array<char, 64 << 10> buffer;
  ssize_t got = 0;
  while ((got = pread(descriptor, buffer.data(), buffer.size(), offset_)) > 0) {
    take({buffer.data(), static_cast<std::size_t>(got)});
  }
  close(descriptor);
}

}  // namespace chimera
