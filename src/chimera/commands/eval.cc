// chimera eval: computes the loss of a trained model on a data file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/commands/model_source.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/console/console.h"
#include "chimera/console/values.h"
#include "chimera/data/data_source.h"
#include "chimera/run/failure.h"
#include "chimera/train/evaluate.h"

namespace chimera {
namespace {

// Tokens per forward, enough to keep the cores busy.
constexpr int kBatchTokens = 4096;
// Default limit of the tokens per sample: the cost of attention grows with the
// square of a sample's length.
constexpr int kMostSeq = 1024;

struct EvalOptions {
  int seq = 0;  // 0 = value of the run or the model
  bool as_json = false;
};

EvalOptions read_options(const RunRequest& request, Values& values) {
  EvalOptions options;
  const auto need = [&](const std::string& given, const char* what) {
    if (!given.empty()) return;
    values.refuse({.code = "E402",
                   .found = what,
                   .needed = "is missing",
                   .hint = "chimera eval runs/mine --data held-out.txt"});
  };
  need(request.run_dir, "the directory of a model");
  need(request.data, "--data");
  options.seq = values.integer("--seq", request.seq).value_or(0);
  if (!request.seq.empty() && options.seq < 1) {
    values.refuse({.code = "E403",
                   .found = "--seq " + request.seq,
                   .needed = "must be at least 1"});
  }
  options.as_json =
      values.choice("--format", request.format, {"text", "json"}) == 1;
  return options;
}

std::string result_text(const Evaluation& result, bool causal, bool as_json) {
  const double rate = static_cast<double>(result.tokens) / result.seconds;
  const double perplexity = std::exp(result.loss);
  if (as_json) {
    return fmt::format(
        "{{\"loss\":{:.9g},\"perplexity\":{},\"tokens\":{},\"samples\":{},"
        "\"tokens_per_s\":{:.6g}}}\n",
        result.loss, causal ? fmt::format("{:.9g}", perplexity) : "null",
        result.tokens, result.samples, rate);
  }
  return fmt::format(
      "loss {:.6f}{}, {} tokens in {} samples, {:.0f} tokens/s\n", result.loss,
      causal ? fmt::format(", perplexity {:.4g}", perplexity) : "",
      result.tokens, result.samples, rate);
}

// Shows how far an evaluation is: several times a second on a terminal, else a
// line every ten seconds.
class ProgressLine {
 public:
  explicit ProgressLine(std::int64_t tokens) : tokens_(tokens) {}

  void show(std::int64_t done, double seconds) {
    if (done >= tokens_) {
      if (is_drawn_) std::cerr << "\r\033[K";
      return;
    }
    if (seconds < next_s_) return;
    next_s_ = seconds + (is_terminal_ ? 0.2 : 10);
    const double rate = static_cast<double>(done) / seconds;
    const std::string line = fmt::format(
        "{:.0f} % of the tokens, {:.0f} tokens/s, {:.0f} s left",
        100.0 * static_cast<double>(done) / static_cast<double>(tokens_), rate,
        static_cast<double>(tokens_ - done) / rate);
    if (is_terminal_) {
      std::cerr << "\r\033[K" << line << std::flush;
      is_drawn_ = true;
    } else {
      std::cerr << line << '\n';
    }
  }

 private:
  const std::int64_t tokens_;  // of the whole file
  const bool is_terminal_ = isatty(STDERR_FILENO) != 0;
  double next_s_ = is_terminal_ ? 0.5 : 10;
  bool is_drawn_ = false;
};

int eval(const RunRequest& request, const EvalOptions& options) {
  const Result<ModelSource> source = find_model(request.run_dir);
  if (!source) return print_run_errors(source.errors());
  const int run_seq = source->run ? source->run->model.seq.value_or(0) : 0;
  const int asked = options.seq > 0 ? options.seq : run_seq;
  const Result<OpenModel> opened =
      open_model(source->weights, {.asked = asked, .most = kMostSeq});
  if (!opened) return print_run_errors(opened.errors());
  const ModelDetails& details = opened->model.details();
  const ModelShape& shape = details.shape;
  const Result<std::string> tokenizer =
      find_tokenizer(*source, request.tokenizer, shape.vocab);
  // Files of token ids need no tokenizer.
  const bool is_text = format_of(request.data) != DataFormat::kBin;
  if (is_text && !tokenizer) return print_run_errors(tokenizer.errors());
  // Reads the data as the run read it in training: a model that never saw two
  // documents in one sample must not be judged by such samples.
  const DataConfig how = source->run ? source->run->data : DataConfig{};
  const int batch = std::max(1, kBatchTokens / shape.seq);
  const Result<std::shared_ptr<const DataSource>> data =
      open_data({.paths = {request.data},
                 .kind = shape.kind,
                 .tokenizer = tokenizer ? *tokenizer : "bytes",
                 .order = SampleOrder::kSequential,
                 .token_type = how.token_type,
                 .pack = how.pack,
                 .seq = shape.seq,
                 .vocab = shape.vocab,
                 .type_vocab = details.type_vocab,
                 .global_batch = batch});
  if (!data) return print_run_errors(data.errors());
  ProgressLine progress((*data)->num_samples() * shape.seq);
  const Evaluation result = evaluate(opened->model, **data, batch,
                                     [&](std::int64_t tokens, double seconds) {
                                       progress.show(tokens, seconds);
                                     });
  write_result(result_text(result, is_causal(shape.kind), options.as_json), "");
  return kExitDone;
}

}  // namespace

int run_eval(const RunRequest& request) {
  Values values;
  const EvalOptions options = read_options(request, values);
  if (!values.errors().empty()) return print_errors(values.errors());
  try {
    return eval(request, options);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    return failure.code();
  }
}

}  // namespace chimera
