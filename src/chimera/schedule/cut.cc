#include "chimera/schedule/cut.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "chimera/base/check.h"
#include "chimera/base/text.h"

namespace chimera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The best cut of the first n layers into k stages, for all n and k, by dynamic
// programming. No stage may cost more than `limit`; `join` combines the cost of
// the last stage with the value of those before it.
class BestCut {
 public:
  template <class Join>
  BestCut(std::span<const double> costs, int stages, double limit,
          const Join& join)
      : layers_(static_cast<int>(costs.size())),
        value_((stages + 1) * (costs.size() + 1), kInfinity),
        last_(value_.size(), 0) {
    std::vector<double> before = {0};
    for (const double cost : costs) before.push_back(before.back() + cost);
    value_[0] = 0;
    for (int stage = 1; stage <= stages; ++stage) {
      for (int end = stage; end <= layers_; ++end) {
        for (int first = stage - 1; first < end; ++first) {
          const double cost = before[end] - before[first];
          if (cost > limit) continue;
          const double value = join(value_[at(stage - 1, first)], cost);
          if (value < value_[at(stage, end)]) {
            value_[at(stage, end)] = value;
            last_[at(stage, end)] = first;
          }
        }
      }
    }
  }

  [[nodiscard]] double value(int stages) const {
    return value_[at(stages, layers_)];
  }
  [[nodiscard]] std::vector<int> cut(int stages) const {
    std::vector<int> firsts(stages);
    int end = layers_;
    for (int stage = stages; stage > 0; --stage) {
      end = last_[at(stage, end)];
      firsts[stage - 1] = end;
    }
    return firsts;
  }

 private:
  [[nodiscard]] int at(int stage, int end) const {
    return stage * (layers_ + 1) + end;
  }

  int layers_;
  std::vector<double> value_;  // [stages + 1, layers + 1]
  std::vector<int> last_;      // first layer of the last stage
};

bool ascends_from_0(std::span<const int> cut) {
  return cut.front() == 0 &&
         std::adjacent_find(cut.begin(), cut.end(), std::greater_equal<>()) ==
             cut.end();
}

// The cut as "0, 3, 5", shortened to fit a message.
std::string shown_list(std::span<const int> cut) {
  std::vector<std::string> words;
  for (const int layer : cut) words.push_back(std::to_string(layer));
  return shown(join(words, ", "));
}

}  // namespace

std::vector<int> balanced_cut(std::span<const double> costs, int stages) {
  CHIMERA_CHECK(stages >= 1 && stages <= static_cast<int>(costs.size()),
                "every stage needs a layer");
  // Two passes: the first finds the least possible cost of the most expensive
  // stage, the second the most even cut in which no stage costs more than that.
  const BestCut least(costs, stages, kInfinity, [](double so_far, double cost) {
    return std::max(so_far, cost);
  });
  const BestCut even(
      costs, stages, least.value(stages),
      [](double so_far, double cost) { return so_far + cost * cost; });
  return even.cut(stages);
}

Diagnostics check_cut(std::span<const int> cut, int stages, int layers) {
  Diagnostics found;
  const auto refuse = [&](const char* code, std::string what,
                          std::string needed, std::string hint) {
    found.push_back({.code = code,
                     .where = "schedule.cut",
                     .found = std::move(what),
                     .needed = std::move(needed),
                     .hint = std::move(hint)});
  };
  const std::string all = "the model's " + std::to_string(layers) + " layers";
  if (stages > layers) {
    refuse("E550", std::to_string(stages) + " stages",
           "must be at most " + all + " (blocks, embeddings and head)",
           "lower depth or chunks");
  }
  if (cut.empty()) return found;
  if (static_cast<int>(cut.size()) != stages) {
    refuse("E551", std::to_string(cut.size()) + " entries",
           "must be one for each of " + std::to_string(stages) + " stages",
           "leave cut out for a balanced one");
  }
  if (!ascends_from_0(cut)) {
    refuse("E552", shown_list(cut), "must ascend from 0",
           "list the first layer of each stage");
  }
  const int highest = *std::max_element(cut.begin(), cut.end());
  if (highest >= layers) {
    refuse("E553", "layer " + std::to_string(highest), "must be below " + all,
           "layers count from 0: embeddings, blocks, head");
  }
  return found;
}

}  // namespace chimera
