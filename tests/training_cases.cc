#include "tests/training_cases.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "chimera/base/counter_random.h"
#include "chimera/base/files.h"
#include "chimera/config/parse.h"

namespace chimera::testing {
namespace {

// A .bin file with 2,000 random ids below 50.
std::string token_file() {
  static const std::string kPath = [] {
    std::string bytes;
    const CounterRandom random(RandomUse::kSampleOrder, {7});
    for (int i = 0; i < 2000; ++i) {
      bytes.push_back(static_cast<char>(random.below(i, 50)));
      bytes.push_back('\0');
    }
    std::string path = ::testing::TempDir() + "chimera_parity_" +
                       std::to_string(getpid()) + ".bin";
    write_file(path, bytes);
    return path;
  }();
  return kPath;
}

}  // namespace

std::string text_of(const Extras& extras) {
  return fmt::format(
      " W={}{}{}{} {} {} {}", extras.width,
      extras.recompute ? " recompute=" + text_of(extras.recompute) : "",
      extras.tied ? " tied" : "", extras.dropout ? " dropout" : "", extras.sync,
      extras.kind, name_of(extras.precision));
}

Extras combination(int number) {
  const char* const syncs[] = {"end", "eager", "eager-opt"};
  Extras extras;
  extras.sync = syncs[number % 3];
  number /= 3;
  extras.width = 1 + number % 2;
  // Half of the combinations that recompute do so in part.
  if (number / 2 % 2 != 0) {
    const bool in_part = (number / 4 + number / 8) % 2 != 0;
    extras.recompute = in_part ? Recompute::first(1) : true;
  }
  extras.tied = number / 4 % 2 != 0;
  extras.dropout = number / 8 % 2 != 0;
  const char* const kinds[] = {"gpt2", "bert", "llama"};
  extras.kind = kinds[number / 16 % 3];
  return extras;
}
RunConfig config_of(const ScheduleSpec& spec, const Extras& extras) {
  const Layout layout = resolve(spec).value();
  // The kernel for bf16 attention needs heads of 16 numbers.
  const int heads = extras.precision == Precision::kBf16 ? 1 : 2;
  const std::string text = fmt::format(
      "[model]\nkind=\"{}\"\nlayers=6\nhidden=16\nheads={}\nvocab=50\nseq=12\n"
      "dropout={}\ntie_embeddings={}\n{}"
      "[schedule]\nscheme=\"{}\"\ndepth={}\nmicros={}\npipes={}\nchunks={}\n"
      "shape=\"{}\"\n"
      "scale=\"{}\"\nmicro_batch=2\nwidth={}\nrecompute={}\nsync=\"{}\"\n"
      "[train]\nsteps=2\nlr=0.01\nthreads=1\n[data]\npath=\"{}\"\n",
      extras.kind, heads, extras.dropout ? "0.1" : "0.0", extras.tied,
      std::string_view(extras.kind) == "llama" ? "kv_heads=1\nffn=40\n" : "",
      spec.scheme, spec.depth, spec.micros, layout.pipes, layout.chunks,
      name_of(layout.shape), name_of(spec.scale), extras.width,
      text_of(extras.recompute), extras.sync, token_file());
  const Result<RunConfig> config = parse_training_config(text, "test", {});
  if (!config) throw std::runtime_error(to_string(config.errors()[0]));
  RunConfig result = *config;
  result.train.precision = extras.precision;
  return result;
}

std::unique_ptr<RunSetup> setup_of(const RunConfig& config) {
  Result<std::unique_ptr<RunSetup>> setup = set_up(config, {.host_cores = 2});
  if (!setup) throw std::runtime_error(to_string(setup.errors()[0]));
  return std::move(setup).value();
}

Outcome outcome_of(const RunSetup& setup, Transport* own) {
  Outcome outcome;
  StepObserver keep([&](const StepReport& report) {
    outcome.numbers.push_back(report.loss);
    outcome.numbers.push_back(report.grad_norm);
  });
  outcome.weights = train(setup, keep, own).weights;
  return outcome;
}

void expect_same_bits(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.numbers, b.numbers);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    EXPECT_EQ(a.weights[i].name, b.weights[i].name);
    EXPECT_TRUE(at::equal(a.weights[i].value, b.weights[i].value))
        << a.weights[i].name;
  }
}

}  // namespace chimera::testing
