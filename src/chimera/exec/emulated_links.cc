#include "chimera/exec/emulated_links.h"

namespace chimera {
namespace {

// Treats all ranks, whatever their copy, as the workers of one copy, because
// Costs know only one.
class EmulatedLinks final : public LinkTimes {
 public:
  EmulatedLinks(const Costs& costs, int ranks) : costs_(costs), ranks_(ranks) {}

  [[nodiscard]] Message message(int from, int to,
                                std::size_t bytes) const override {
    const MessageTime time =
        message_time(costs_, {.from = from, .to = to, .workers = ranks_},
                     static_cast<double>(bytes));
    return {time.occupied, time.latency};
  }

  [[nodiscard]] double all_reduce(std::span<const int> members,
                                  std::size_t bytes) const override {
    const SumRanks ranks =
        sum_ranks(costs_, {members.begin(), members.end()}, ranks_, 1);
    return all_reduce_time(costs_, ranks, static_cast<double>(bytes));
  }

  [[nodiscard]] double vote() const override {
    return vote_time(costs_, ranks_);
  }

 private:
  Costs costs_;
  int ranks_;
};

bool takes_time(const Costs& costs) {
  return costs.latency > 0 || costs.time_per_byte > 0 ||
         (costs.node &&
          (costs.node->latency > 0 || costs.node->time_per_byte > 0));
}

}  // namespace

LinkTimesPtr make_emulated_links(const Costs& costs, int ranks) {
  if (!takes_time(costs)) return nullptr;
  return std::make_shared<EmulatedLinks>(costs, ranks);
}

}  // namespace chimera
