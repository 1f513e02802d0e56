#include "chimera/data/prepared_samples.h"

#include <algorithm>
#include <optional>

namespace chimera {
namespace {

struct PreparedLine {
  std::vector<int> input_ids;
  std::vector<int> token_type_ids;
  std::vector<int> labels;
  std::vector<int> attention_mask;
  std::optional<int> next_sentence_label;
};

struct Range {
  int least = 0;
  int most = 0;
  std::optional<int> other = std::nullopt;  // also legal
};

std::string to_text(const Range& range) {
  std::string text = std::to_string(range.least);
  if (range.most > range.least) text += " to " + std::to_string(range.most);
  if (range.other) text += " or " + std::to_string(*range.other);
  return text;
}

class PreparedLineReader {
 public:
  PreparedLineReader(JsonReader& json, const PreparedOptions& options)
      : json_(json), options_(options) {}

  PreparedLine run() {
    json_.object("the line", [&](const std::string& key) { read(key); });
    if (json_.failed()) return line_;
    check_length("input_ids", line_.input_ids);
    check_length("token_type_ids", line_.token_type_ids);
    check_length("labels", line_.labels);
    if (!line_.next_sentence_label) missing("next_sentence_label");
    if (!line_.attention_mask.empty()) check_padding();
    return line_;
  }

 private:
  void read(const std::string& key) {
    const Range ids{.least = 0, .most = options_.vocab - 1};
    if (key == "input_ids") {
      read_numbers(key, ids, line_.input_ids);
    } else if (key == "token_type_ids") {
      read_numbers(key, {.least = 0, .most = options_.type_vocab - 1},
                   line_.token_type_ids);
    } else if (key == "labels") {
      const auto ignored = static_cast<int>(kIgnoredTarget);
      read_numbers(key, {.least = 0, .most = ids.most, .other = ignored},
                   line_.labels);
    } else if (key == "next_sentence_label") {
      line_.next_sentence_label = read_number(key, {.least = 0, .most = 1});
    } else if (key == "attention_mask") {
      read_numbers(key, {.least = 0, .most = 1}, line_.attention_mask);
    } else {
      json_.skip();
    }
  }

  void read_numbers(const std::string& key, const Range& range,
                    std::vector<int>& numbers) {
    numbers.clear();
    json_.array(key, [&] { numbers.push_back(read_number(key, range)); });
  }

  int read_number(const std::string& key, const Range& range) {
    const std::optional<int> number = json_.integer(key);
    if (!number) return 0;
    const bool inside = *number >= range.least && *number <= range.most;
    if (inside || number == range.other) return *number;
    json_.refuse("E511", std::to_string(*number) + " in " + key,
                 "must be " + to_text(range));
    return 0;
  }

  void check_length(const std::string& key, const std::vector<int>& numbers) {
    if (numbers.size() == static_cast<size_t>(options_.seq)) return;
    if (numbers.empty()) {
      missing(key);
      return;
    }
    json_.refuse("E510",
                 key + " of " + std::to_string(numbers.size()) + " numbers",
                 "must be as long as seq = " + std::to_string(options_.seq),
                 "prepare the file anew, or change model.seq");
  }

  // Padding must have no targets, so that its outputs do not matter.
  void check_padding() {
    check_length("attention_mask", line_.attention_mask);
    if (json_.failed() || line_.attention_mask.size() != line_.labels.size()) {
      return;
    }
    for (size_t at = 0; at < line_.labels.size(); ++at) {
      const bool counts =
          at == 0 || line_.labels[at] != static_cast<int>(kIgnoredTarget);
      if (line_.attention_mask[at] == 1 || !counts) continue;
      json_.refuse("E511", "attention_mask 0 at " + std::to_string(at),
                   "must be 1 at the first position and at every label",
                   "padding stands behind the text, with labels of -100");
      return;
    }
  }

  void missing(const std::string& key) {
    json_.refuse("E509", "a prepared line without \"" + key + "\"",
                 "is not a sample",
                 "a prepared line has input_ids, token_type_ids, labels and "
                 "next_sentence_label");
  }

  JsonReader& json_;
  const PreparedOptions& options_;
  PreparedLine line_;
};

}  // namespace

Result<PreparedSamples> read_prepared(const JsonlText& jsonl,
                                      const PreparedOptions& options) {
  PreparedSamples samples;
  samples.seq_ = options.seq;
  bool is_padded = false;
  const Diagnostics errors = read_lines(jsonl, [&](JsonReader& json) {
    const PreparedLine line = PreparedLineReader(json, options).run();
    const auto append = [](const std::vector<int>& from, auto& to) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(line.input_ids, samples.inputs_);
    append(line.token_type_ids, samples.token_types_);
    append(line.labels, samples.targets_);
    append({line.next_sentence_label.value_or(0)}, samples.next_sentence_);
    // Puts text into segment 0 and padding into segment 1, because positions
    // see only their own segment.
    samples.segments_.resize(samples.inputs_.size(), 0);
    for (size_t at = 0; at < line.attention_mask.size(); ++at) {
      if (line.attention_mask[at] == 1) continue;
      samples.segments_[samples.inputs_.size() - line.input_ids.size() + at] =
          1;
      is_padded = true;
    }
  });
  if (!errors.empty()) return errors;
  if (!is_padded) samples.segments_.clear();
  return samples;
}

void PreparedSamples::append(const Draw& draw, Batch& batch) const {
  const auto copy_row = [&](const auto& from, std::vector<std::int64_t>& to) {
    const auto row = from.begin() + draw.sample * seq_;
    to.insert(to.end(), row, row + seq_);
  };
  copy_row(inputs_, batch.inputs);
  copy_row(targets_, batch.targets);
  copy_row(token_types_, batch.token_types);
  if (has_segments()) copy_row(segments_, batch.segments);
  batch.next_sentence.push_back(
      next_sentence_[static_cast<size_t>(draw.sample)]);
}

std::int64_t PreparedSamples::num_targets(const Draw& draw) const {
  const auto row = targets_.begin() + draw.sample * seq_;
  return seq_ - std::count(row, row + seq_, kIgnoredTarget);
}

}  // namespace chimera
