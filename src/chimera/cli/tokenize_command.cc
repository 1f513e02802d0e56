// chimera tokenize: turns text files into a file of token ids.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "chimera/base/exit_codes.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/corpus/tokenize_corpus.h"
#include "chimera/tokenizer/open_tokenizer.h"

namespace chimera {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A line on a terminal that is redrawn ten times a second.
class ProgressBar {
 public:
  ProgressBar() : is_terminal_(isatty(STDERR_FILENO) != 0) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() {
    if (drawn_ > 0) std::cerr << "\r\033[K" << std::flush;
  }

  void show(const CorpusProgress& progress) {
    const double elapsed = seconds_since(start_);
    if (!is_terminal_ || elapsed < 0.1 * (drawn_ + 1)) return;
    drawn_ = static_cast<int>(elapsed / 0.1);
    std::cerr << "\r\033[K" << text(progress, elapsed) << std::flush;
  }

 private:
  static std::string text(const CorpusProgress& progress, double elapsed) {
    constexpr double kWidth = 30;
    const auto done = static_cast<double>(progress.bytes);
    const auto total = std::max(done, static_cast<double>(progress.total));
    const double share = total == 0 ? 1 : done / total;
    const auto bars = static_cast<size_t>(share * kWidth);
    return fmt::format(
        "[{}{}] {:.0f} of {:.0f} MB  {:.1f} MB/s  {:.2f}M tokens  left {}",
        std::string(bars, '='), std::string(30 - bars, ' '), done / 1e6,
        total / 1e6, done / elapsed / 1e6,
        static_cast<double>(progress.tokens) / 1e6,
        share == 0 ? "?" : time_text(elapsed / share - elapsed));
  }

  bool is_terminal_;
  Clock::time_point start_ = Clock::now();
  int drawn_ = 0;  // time of the last drawing, in tenths of a second
};

struct TokenizeCommand {
  std::vector<std::string> inputs;
  std::string output, tokenizer, threads;

  int run(Values& values) const;
};

int refuse_data(const Diagnostics& errors) {
  print_errors(errors);
  return kExitData;
}

void require(Values& values, bool given, const char* what) {
  if (given) return;
  values.refuse({.code = "E402",
                 .found = what,
                 .needed = "is missing",
                 .hint = "chimera tokenize a.txt -o a.bin --tokenizer gpt2"});
}

// Refuses to replace a file that has the name of the output's description but
// was not written by this command.
Diagnostics check_description(const std::string& output) {
  const std::string path = description_path(output);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto description = read_description(output);
  // A broken description was written by this command too, and may be replaced.
  if (!description || description->has_value()) return {};
  return {{.kind = DiagnosticKind::kData,
           .code = "E713",
           .where = path,
           .found = "the file",
           .needed = "would be replaced by the description of " + output,
           .hint = "choose another name with -o, or move the file away"}};
}

int TokenizeCommand::run(Values& values) const {
  require(values, !inputs.empty(), "what to tokenize");
  require(values, !output.empty(), "-o");
  require(values, !tokenizer.empty(), "--tokenizer");
  if (!output.empty() && !output.ends_with(".bin")) {
    values.refuse({.code = "E403",
                   .found = "-o " + output,
                   .needed = "must end in .bin",
                   .hint = "`train` takes files of other names for text"});
  }
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const int num_threads =
      values.integer("--threads", threads).value_or(static_cast<int>(cores));
  if (num_threads < 1) {
    values.refuse({.code = "E403",
                   .found = "--threads " + threads,
                   .needed = "must be at least 1"});
  }
  if (!values.errors().empty()) return print_errors(values.errors());

  const Result<Tokenizer> opened = open_tokenizer(tokenizer);
  if (!opened) return refuse_data(opened.errors());
  const Result<std::vector<InputFile>> files = find_inputs(inputs);
  if (!files) return refuse_data(files.errors());
  const Diagnostics errors = check_description(output);
  if (!errors.empty()) return refuse_data(errors);
  const Clock::time_point start = Clock::now();
  ProgressBar bar;
  const Result<CorpusSummary> summary = tokenize_corpus(
      *files, *opened,
      {.output = output,
       .num_threads = num_threads,
       .on_progress = [&](const CorpusProgress& at) { bar.show(at); }});
  if (!summary) return refuse_data(summary.errors());
  write_result(
      fmt::format("{}: {} tokens of {} documents, {}, in {:.1f} s\n", output,
                  summary->tokens, summary->documents,
                  summary->wide ? "uint32" : "uint16", seconds_since(start)),
      "");
  return kExitDone;
}

}  // namespace

void add_tokenize_command(Command& program) {
  const auto self = std::make_shared<TokenizeCommand>();
  Command& command =
      program.add_command("tokenize", "Turn text into a file of token ids");
  command.add_values("inputs", self->inputs,
                     "text or .jsonl files, also .gz or .zst; directories",
                     "IN");
  command.add_value("-o,--output", self->output,
                    "the ids, raw; a .json and an .idx beside it describe them",
                    "corpus.bin");
  command.add_value("--tokenizer", self->tokenizer,
                    "a Hugging Face directory, a tokenizer.json, GPT-2's "
                    "vocab.json (merges.txt beside it), BERT's vocab.txt",
                    "PATH");
  command.add_value("--threads", self->threads, "default: all cores", "K");
  command.set_footer(
      "A text file is a document, and so is the \"text\" of each line of a\n"
      ".jsonl file. Each is followed by the tokenizer's end-of-document\n"
      "token, if it has one; nothing else is added. Ids are uint16, or\n"
      "uint32 where the vocabulary needs it. docs/data.md says more.\n"
      "\nExamples:\n"
      "  chimera tokenize book.txt -o book.bin --tokenizer gpt2/\n"
      "  chimera tokenize corpus/ more.jsonl.zst -o corpus.bin \\\n"
      "    --tokenizer llama/tokenizer.json");
  command.set_work([self](Values& values) { return self->run(values); });
}

}  // namespace chimera
