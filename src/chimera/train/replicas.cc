#include "chimera/train/replicas.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/checkpoint/manifest.h"
#include "chimera/comm/exchange.h"
#include "chimera/exec/progress.h"
#include "chimera/model/tensor_copies.h"

namespace chimera {
namespace {

struct StageHash {
  std::int64_t stage = 0;
  std::uint64_t hash = 0;
};

std::uint64_t hash_of_stage(const ReplicaCheck& check, int stage,
                            const Weights& weights) {
  std::vector<at::Tensor> values;
  for (const NamedTensor& tensor :
       named_weights(check.options, stage, weights)) {
    values.push_back(tensor.value);
  }
  std::string text;
  for (const at::Tensor& value : to_host(values)) {
    text += content_hash({static_cast<const std::byte*>(value.const_data_ptr()),
                          value.nbytes()});
  }
  return content_number(std::as_bytes(std::span(text)));
}

std::string differences(const Schedule& schedule,
                        const std::vector<std::vector<StageHash>>& all) {
  std::map<std::int64_t, std::map<std::uint64_t, std::vector<std::string>>>
      holders;  // [stage][hash]: workers that hold it
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (const StageHash& held : all[rank]) {
      holders[held.stage][held.hash].push_back(
          describe_rank(schedule, static_cast<int>(rank)));
    }
  }
  std::vector<std::string> texts;
  for (const auto& [stage, by_hash] : holders) {
    if (by_hash.size() == 1) continue;
    std::vector<std::string> camps;
    for (const auto& [hash, ranks] : by_hash) {
      camps.push_back(join(ranks, ", "));
    }
    texts.push_back(
        fmt::format("stage {}: {}", stage, join(camps, " against ")));
  }
  return join(texts, "; ");
}

}  // namespace

void compare_replicas(const ReplicaCheck& check, Worker& worker,
                      Transport& transport) {
  std::vector<StageHash> mine;
  for (const int stage : check.program.stages()) {
    mine.push_back(
        {stage, hash_of_stage(check, stage, *worker.weights(stage))});
  }
  const auto all = gather_values(
      transport, mine, {.step = check.step, .channel = Channel::kReplicas});
  if (transport.rank() != 0) return;
  const std::string found = differences(check.program.schedule(), all);
  if (found.empty()) return;
  throw ReplicaError(fmt::format(
      "after step {} the replicas of a stage differ: {}; a faulty memory or "
      "processor? Go on from an earlier checkpoint on other hosts",
      check.step, found));
}

}  // namespace chimera
