// chimera sample: generates text with a trained model.
#include <fmt/format.h>

#include <chrono>
#include <iostream>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/commands/model_source.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/console/console.h"
#include "chimera/console/values.h"
#include "chimera/model/generate.h"
#include "chimera/run/failure.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

using Ids = std::vector<std::int64_t>;

struct SampleOptions {
  GenerateOptions generate;
  bool as_json = false;
};

SampleOptions read_options(const RunRequest& request, Values& values) {
  SampleOptions options;
  GenerateOptions& generate = options.generate;
  const auto refuse = [&](bool wrong, const std::string& found,
                          const char* needed) {
    if (!wrong) return;
    values.refuse({.code = "E403", .found = found, .needed = needed});
  };
  if (request.run_dir.empty()) {
    values.refuse({.code = "E402",
                   .found = "the directory of a model",
                   .needed = "is missing",
                   .hint = "chimera sample runs/mine --prompt \"Once\""});
  }
  generate.tokens = values.integer("--tokens", request.tokens).value_or(100);
  refuse(generate.tokens < 1, "--tokens " + request.tokens,
         "must be at least 1");
  generate.choice.temperature =
      values.time("--temperature", request.temperature).value_or(0.8);
  generate.choice.top_k = values.integer("--top-k", request.top_k).value_or(0);
  refuse(generate.choice.top_k < 0, "--top-k " + request.top_k,
         "must be at least 0");
  generate.choice.top_p = values.time("--top-p", request.top_p).value_or(1);
  refuse(generate.choice.top_p <= 0 || generate.choice.top_p > 1,
         "--top-p " + request.top_p, "must be above 0 and at most 1");
  generate.choice.seed = static_cast<std::uint64_t>(
      values.integer("--seed", request.seed).value_or(0));
  options.as_json =
      values.choice("--format", request.format, {"text", "json"}) == 1;
  if (options.as_json && request.stream) {
    values.refuse({.code = "E406",
                   .found = "--stream",
                   .needed = "contradicts --format json"});
  }
  return options;
}

// The ids of the prompt. An empty prompt becomes the end-of-document token.
Result<Ids> read_prompt(const std::string& prompt, const TextCodec& codec,
                        int vocab) {
  Ids ids = codec.encode(prompt);
  if (ids.empty() && codec.end_of_document()) {
    ids.push_back(*codec.end_of_document());
  }
  if (ids.empty()) {
    return Diagnostic{.code = "E402",
                      .found = "--prompt",
                      .needed = "is missing or empty",
                      .hint = "--prompt \"Once upon a time\""};
  }
  for (const std::int64_t id : ids) {
    if (id < vocab) continue;
    return Diagnostic{
        .kind = DiagnosticKind::kData,
        .code = "E505",
        .found = "token " + std::to_string(id) + " of the prompt",
        .needed =
            "is beyond the model's vocabulary of " + std::to_string(vocab),
        .hint = "is it the tokenizer of this model? --tokenizer names another"};
  }
  return ids;
}

std::string id_list(const Ids& ids) {
  std::vector<std::string> words;
  words.reserve(ids.size());
  for (const std::int64_t id : ids) words.push_back(std::to_string(id));
  return "[" + join(words, ",") + "]";
}

std::string json_text(const std::string& text) {
  std::string storage;
  return json_string(repaired(text, storage));
}

// Writes a text as it grows. All tokens are decoded every time, because a token
// may end within a character or change how the one before it reads.
class TextStream {
 public:
  TextStream(const TextCodec& codec, bool is_on)
      : codec_(codec), is_on_(is_on) {}

  void add(const Ids& ids) {
    if (!is_on_) return;
    const std::string text = codec_.decode(ids);
    if (text.size() > written_) {
      std::cout << text.substr(written_) << std::flush;
      written_ = text.size();
    }
  }

 private:
  const TextCodec& codec_;
  bool is_on_;
  std::size_t written_ = 0;
};

int sample(const RunRequest& request, const SampleOptions& options) {
  const Result<ModelSource> source = find_model(request.run_dir);
  if (!source) return print_run_errors(source.errors());
  const Result<OpenModel> opened = open_model(source->weights, {});
  if (!opened) return print_run_errors(opened.errors());
  const ModelShape& shape = opened->shape.model;
  if (!is_causal(shape.kind)) {
    return print_run_errors({{.code = "E415",
                              .where = source->weights,
                              .found = "a BERT",
                              .needed = "fills gaps and writes no text",
                              .hint = "sample from a GPT-2 or a Llama"}});
  }
  const Result<std::string> tokenizer =
      find_tokenizer(*source, request.tokenizer, shape.vocab);
  if (!tokenizer) return print_run_errors(tokenizer.errors());
  const Result<TextCodec> codec = TextCodec::open(*tokenizer);
  if (!codec) return print_run_errors(codec.errors());
  const Result<Ids> prompt = read_prompt(request.prompt, *codec, shape.vocab);
  if (!prompt) return print_run_errors(prompt.errors());

  Ids ids;
  TextStream stream(*codec, request.stream);
  if (request.stream) std::cout << request.prompt << std::flush;
  const auto start = std::chrono::steady_clock::now();
  generate(opened->model, *prompt, options.generate, [&](std::int64_t id) {
    if (id == codec->end_of_document()) return false;
    ids.push_back(id);
    stream.add(ids);
    return true;
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  const double rate = static_cast<double>(ids.size()) / seconds;
  if (options.as_json) {
    write_result(
        fmt::format("{{\"prompt\":{},\"text\":{},\"prompt_tokens\":{},"
                    "\"tokens\":{},\"tokens_per_s\":{:.6g}}}\n",
                    json_text(request.prompt), json_text(codec->decode(ids)),
                    id_list(*prompt), id_list(ids), rate),
        "");
    return kExitDone;
  }
  write_result(
      request.stream ? "\n" : request.prompt + codec->decode(ids) + "\n", "");
  std::cerr << fmt::format("{} tokens in {:.2f} s, {:.1f} tokens/s\n",
                           ids.size(), seconds, rate);
  return kExitDone;
}

}  // namespace

int run_sample(const RunRequest& request) {
  Values values;
  const SampleOptions options = read_options(request, values);
  if (!values.errors().empty()) return print_errors(values.errors());
  try {
    return sample(request, options);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    return failure.code();
  }
}

}  // namespace chimera
