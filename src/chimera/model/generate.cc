#include "chimera/model/generate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "chimera/base/check.h"
#include "chimera/base/counter_random.h"

namespace chimera {
namespace {

std::vector<std::int64_t> last_of(const std::vector<std::int64_t>& text,
                                  std::int64_t count) {
  const auto size = static_cast<std::int64_t>(text.size());
  return {text.end() - std::min(count, size), text.end()};
}

// Returns how many of the most probable tokens to keep: the fewest whose
// probabilities reach top_p. `sums` holds the running totals.
std::int64_t kept_by(double top_p, const double* sums, std::int64_t count) {
  const double* end = sums + count;
  const double* reached = std::lower_bound(sums, end, top_p * sums[count - 1]);
  return std::min<std::int64_t>(reached - sums + 1, count);
}

}  // namespace

std::int64_t choose_token(const at::Tensor& logits, const TokenChoice& choice,
                          std::uint64_t index) {
  if (choice.temperature == 0) return logits.argmax().item<std::int64_t>();
  const std::int64_t all = logits.numel();
  const std::int64_t most =
      choice.top_k == 0 ? all : std::min<std::int64_t>(choice.top_k, all);
  const auto [sorted, ids] = at::sort(
      logits.to(at::kDouble) / choice.temperature, /*stable=*/true, 0, true);
  const at::Tensor sums =
      at::softmax(sorted.narrow(0, 0, most), 0).cumsum(0).contiguous();
  const auto* data = sums.const_data_ptr<double>();
  const std::int64_t kept = kept_by(choice.top_p, data, most);
  const CounterRandom random(RandomUse::kTokenChoice, {choice.seed});
  const double drawn = random.uniform(index) * data[kept - 1];
  const std::int64_t place = std::upper_bound(data, data + kept, drawn) - data;
  return ids[std::min(place, kept - 1)].item<std::int64_t>();
}

std::int64_t context_length(const ModelShape& shape) {
  const int window = shape.llama.window;
  return window > 0 ? std::min(window, shape.positions) : shape.positions;
}

void generate(const WholeModel& model, std::vector<std::int64_t> prompt,
              const GenerateOptions& options,
              const std::function<bool(std::int64_t token)>& take) {
  CHIMERA_CHECK(!prompt.empty(), "a text starts with a token");
  std::vector<std::int64_t> text = std::move(prompt);
  const auto whole = static_cast<std::int64_t>(text.size()) + options.tokens;
  const std::int64_t room =
      std::min(whole, context_length(model.details().shape));
  KvCache cache(model.num_layers(), room);
  for (int index = 0; index < options.tokens; ++index) {
    const bool from_start = index == 0 || !options.use_cache;
    const bool is_full = cache.length() == room;
    const std::int64_t again = from_start ? room : (room + 1) / 2;
    if (from_start || is_full) cache.clear();
    const std::int64_t unread = cache.length() == 0 ? again : 1;
    const at::Tensor logits = model.next_logits(last_of(text, unread), cache);
    text.push_back(choose_token(logits, options.choice,
                                static_cast<std::uint64_t>(index)));
    if (!take(text.back())) return;
  }
}

}  // namespace chimera
