// The model of `sample` and `eval`: a run directory or a Hugging Face
// directory, with its tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/files/hf_config.h"
#include "chimera/model/whole_model.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

struct ModelSource {
  std::string weights;           // a Hugging Face directory
  std::optional<RunConfig> run;  // only for a run directory
};

// Finds the model in `path`, a run directory or a Hugging Face directory. E528
// if there is none.
[[nodiscard]] Result<ModelSource> find_model(const std::string& path);

// Returns "bytes" or the path of a tokenizer. It is the first that is known of:
// the one asked for, that of a run on text, the directory's own, and that of
// the directory from which the run was initialised.
[[nodiscard]] std::optional<std::string> known_tokenizer(
    const ModelSource& source, const std::string& asked);

// Returns the known tokenizer. If none is known: bytes if the vocabulary is
// small and the run did not read token ids, otherwise E413.
[[nodiscard]] Result<std::string> find_tokenizer(const ModelSource& source,
                                                 const std::string& asked,
                                                 int vocab);

// Converts text to ids and back.
class TextCodec {
 public:
  // `tokenizer` comes from find_tokenizer.
  [[nodiscard]] static Result<TextCodec> open(const std::string& tokenizer);

  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const;
  [[nodiscard]] std::string decode(const std::vector<std::int64_t>& ids) const;
  // The token that ends a document and may begin one.
  [[nodiscard]] std::optional<std::int64_t> end_of_document() const;

 private:
  explicit TextCodec(std::optional<Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  std::optional<Tokenizer> tokenizer_;  // empty: bytes
};

struct OpenModel {
  HfShape shape;
  WholeModel model;
};

// Reads the weights of a Hugging Face directory. `seq`: tokens per sample; 0 =
// as many as the model sees at once, but at most `most_seq`.
struct SeqChoice {
  int asked = 0;
  int most = 1 << 30;
};
[[nodiscard]] Result<OpenModel> open_model(const std::string& weights,
                                           const SeqChoice& seq);

}  // namespace chimera
