#include "chimera/model/held_stages.h"

#include <algorithm>

#include "chimera/exec/program.h"

namespace chimera {

HeldStages::HeldStages(const TorchComputeOptions& options, int rank)
    : options_(options), rank_(rank) {
  const std::vector<int> stages = stages_of(
      options_.schedule.placement, place_of(options_.schedule, rank_).worker);
  make_tied_block(stages);
  make_stages(stages);
  if (options_.restored) restore();
}

// Makes nothing for a model of one stage, which shares no weight with another.
void HeldStages::make_tied_block(const std::vector<int>& stages) {
  if (options_.schedule.stages() == 1) return;
  for (const int stage : stages) {
    std::vector<ParameterSpec> specs =
        tied_parameters(layers_of(options_.model, options_.cut, stage));
    if (specs.empty()) continue;
    // A single block serves both ends of the model. A rank that holds both ends
    // updates the block with the first of them.
    const Sharing sharing = sharing_of({0, options_.schedule.stages() - 1});
    tied_ =
        std::make_unique<ParameterBlock>(std::move(specs), options_.formats,
                                         sharing, device_of(options_, rank_));
    tied_values_ = tied_->make_values(options_.init, {});
    tied_stage_ = stage;
    return;
  }
}

void HeldStages::make_stages(const std::vector<int>& stages) {
  for (const int stage : stages) {
    const auto layers = layers_of(options_.model, options_.cut, stage);
    stages_[stage] = std::make_unique<TorchStage>(TorchStage::Options{
        .layers = layers,
        .first_layer = options_.cut[stage],
        .formats = options_.formats,
        .device = device_of(options_, rank_),
        .sharing = sharing_of({stage}),
        .tied = tied_parameters(layers).empty() ? nullptr : tied_.get()});
  }
}

void HeldStages::restore() {
  const auto go_on = [this](ParameterBlock& block) {
    block.restore(*options_.restored, *options_.optimizer,
                  options_.shard_update);
  };
  for (const auto& [number, stage] : stages_) go_on(stage->block());
  if (tied_) go_on(*tied_);
}

// Returns the number of ranks that hold any of `stages`, and the index of this
// rank among them.
Sharing HeldStages::sharing_of(const std::vector<int>& stages, int lost) const {
  SumGroup group;
  for (int pipe = 0; pipe < options_.schedule.pipes(); ++pipe) {
    for (const int stage : stages) group.members.push_back({pipe, stage});
  }
  std::vector<int> ranks = member_ranks(options_.schedule, group);
  // Removes a lost rank, so that the others divide its share of the save.
  std::erase(ranks, lost);
  const auto mine = std::find(ranks.begin(), ranks.end(), rank_);
  return {.index = static_cast<int>(mine - ranks.begin()),
          .holders = static_cast<int>(ranks.size())};
}

std::shared_ptr<TorchWeights> HeldStages::make_weights(
    int stage, SharedWeights* shared) const {
  return stages_.at(stage)->make_weights(options_.init, &tied_values_, shared);
}

std::shared_ptr<TorchWeights> HeldStages::make_previous(int stage) const {
  const RestoredState& saved = *options_.restored;
  if (!saved.has_previous) return make_weights(stage, nullptr);
  return stages_.at(stage)->make_weights(
      [&](const ParameterSpec& spec) {
        return saved.read(kPreviousKind, spec);
      },
      &tied_values_, nullptr);
}

std::vector<StatePiece> HeldStages::state(const StateOrder& order) const {
  std::vector<StatePiece> pieces;
  const auto add = [&](const std::vector<StatePiece>& more) {
    pieces.insert(pieces.end(), more.begin(), more.end());
  };
  const auto add_block = [&](const ParameterBlock& block,
                             const BlockValues& values,
                             const Sharing& sharing) {
    add(block.values_to_save(kWeightsKind, values, sharing));
    add(block.states_to_save(*options_.optimizer, sharing));
  };
  const ParameterBlock& block = stages_.at(order.stage)->block();
  const Sharing sharing = sharing_of({order.stage}, order.lost);
  const auto& newest = dynamic_cast<const TorchWeights&>(order.newest);
  add_block(block, newest.own, sharing);
  if (order.previous != nullptr) {
    const auto& previous = dynamic_cast<const TorchWeights&>(*order.previous);
    add(block.values_to_save(kPreviousKind, previous.own, sharing));
  }
  if (tied_updated_with(order.stage) != nullptr) {
    add_block(*tied_, tied_values_,
              sharing_of({0, options_.schedule.stages() - 1}, order.lost));
  }
  return pieces;
}

std::int64_t HeldStages::state_bytes(int stage, int versions) const {
  const auto states =
      static_cast<int>(options_.optimizer->state_names().size());
  std::int64_t bytes = stages_.at(stage)->block().bytes_to_save(
      {.values = versions,
       .states = states,
       .own_shard_only = options_.shard_update},
      sharing_of({stage}));
  if (const ParameterBlock* tied = tied_updated_with(stage)) {
    bytes += tied->bytes_to_save(
        {.states = states, .own_shard_only = options_.shard_update},
        sharing_of({0, options_.schedule.stages() - 1}));
  }
  return bytes;
}

void HeldStages::begin_gradients(int stage) {
  at(stage).block().begin_gradient();
  if (ParameterBlock* tied = at(stage).tied()) tied->begin_gradient();
}

ParameterBlock& HeldStages::block_of(const SumGroup& group) {
  return is_tied(group) ? *tied_ : at(group.members.front().stage).block();
}

std::vector<at::Tensor> HeldStages::squared_norms() const {
  std::vector<at::Tensor> norms;
  for (const auto& [number, stage] : stages_) {
    norms.push_back(stage->block().squared_norm());
  }
  if (tied_) norms.push_back(tied_->squared_norm());
  return norms;
}

NumberBuffer HeldStages::updated_shards(const SumGroup& group, int stage,
                                        const TorchWeights& newest) const {
  if (!is_tied(group)) {
    return stages_.at(stage)->block().value_buffer(newest.own);
  }
  // Both ends of the model are members of the group, but only the stage that
  // updates the tied block has new shards to pass on.
  const ParameterBlock* tied = tied_updated_with(stage);
  return tied != nullptr ? tied->value_buffer(tied_values_) : NumberBuffer{};
}

void HeldStages::take_shards(const SumGroup& group, int stage,
                             const TorchWeights& newest) const {
  if (is_tied(group)) {
    tied_->round_other_shards(tied_values_);
  } else if (!newest.is_shared) {
    stages_.at(stage)->block().round_other_shards(newest.own);
  }
}

}  // namespace chimera
