// The parameters of a stage in one piece of memory, and their gradients in
// another: a sum, a norm or an update then is one pass over contiguous
// numbers. Parameters are views into it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/exec/train_state.h"
#include "chimera/model/optimizer.h"
#include "chimera/model/parameter_spec.h"
#include "chimera/model/restored_state.h"

namespace chimera {

// One version of a block's values.
struct BlockValues {
  at::Tensor flat;                 // (size)
  std::vector<at::Tensor> leaves;  // by parameter; require gradients
};

using ParameterInit = std::function<at::Tensor(const ParameterSpec& spec)>;

// Which part of a block this rank answers for.
struct Sharing {
  int index = 0;    // of this rank among the holders
  int holders = 1;  // over all copies
};

class ParameterBlock {
 public:
  // Parameters that decay come first, then the others, each kind padded to
  // whole grains: any shard then meets both kinds at whole grains.
  ParameterBlock(std::vector<ParameterSpec> specs, at::ScalarType dtype,
                 const Sharing& sharing);

  [[nodiscard]] const std::vector<ParameterSpec>& specs() const {
    return specs_;
  }
  // Of `values`, by parameter.
  [[nodiscard]] std::vector<at::Tensor> gradients() const {
    return gradient_views_;
  }
  // For the sum over its holders; `only_shard`: this rank's shard of it is
  // enough.
  [[nodiscard]] NumberBuffer gradient_to_sum(bool only_shard);
  [[nodiscard]] NumberBuffer value_buffer(const BlockValues& values) const;

  // Values from `init`. Where a layer owns a tensor, that one takes them and
  // lies in the block from then on.
  [[nodiscard]] BlockValues make_values(
      const ParameterInit& init, const std::vector<at::Tensor>& owned) const {
    return values_in(make_numbers(init), owned);
  }
  // The same in two halves: the numbers, which holders may share, and what a
  // holder has of its own.
  [[nodiscard]] at::Tensor make_numbers(const ParameterInit& init) const;
  [[nodiscard]] BlockValues values_in(
      const at::Tensor& numbers, const std::vector<at::Tensor>& owned) const;
  // A new version with the same values.
  [[nodiscard]] BlockValues copy_values(const BlockValues& values) const;

  // Before anything adds to the gradient or reads it: after an update it
  // starts from zero, even if no micro-batch comes this way in the next step.
  void begin_gradient();
  // Of this rank's shard of the gradient.
  [[nodiscard]] double squared_norm() const;

  struct Update {
    const Optimizer& optimizer;
    std::int64_t step = 0;
    double gradient_scale = 1;
    bool own_shard_only = false;
  };
  // Uses the gradient up.
  void update(const Update& update, const BlockValues& values);
  // The same without changing any value.
  void skip_update() { is_used_up_ = true; }
  [[nodiscard]] std::int64_t updates() const { return updates_; }

  // Goes on from a saved state: before the first update.
  void restore(const RestoredState& saved, const Optimizer& optimizer,
               bool own_shard_only);
  // What the holder `sharing` saves, so that all holders save each number
  // once. A whole parameter goes to the holder whose shard it begins in; where
  // each holder has the optimizer's states of its shard only, it saves those.
  [[nodiscard]] std::vector<StatePiece> values_to_save(
      const char* kind, const BlockValues& values,
      const Sharing& sharing) const;
  [[nodiscard]] std::vector<StatePiece> states_to_save(
      const Optimizer& optimizer, const Sharing& sharing) const;

 private:
  [[nodiscard]] at::Tensor view(const at::Tensor& flat,
                                std::size_t parameter) const;
  void update_range(const Update& update, const BlockValues& values,
                    const Shard& range, bool decays);
  void update_chunk(const Update& update, const BlockValues& values,
                    const Shard& chunk, bool decays);
  [[nodiscard]] Shard range_to_update(bool own_shard_only) const;
  [[nodiscard]] std::vector<StatePiece> whole_pieces(
      const std::string& kind, const at::Tensor& flat,
      const Sharing& sharing) const;
  [[nodiscard]] std::vector<StatePiece> pieces_of_range(
      const std::string& kind, const at::Tensor& state) const;

  std::vector<ParameterSpec> specs_;
  Sharing sharing_;
  std::vector<std::int64_t> offsets_;  // by parameter
  std::int64_t decaying_ = 0;          // numbers before this decay
  std::int64_t size_ = 0;
  at::Tensor gradient_;  // (size)
  std::vector<at::Tensor> gradient_views_;
  bool is_used_up_ = false;      // the gradient is to be started anew
  bool has_only_shard_ = false;  // of the gradient: zeros elsewhere
  std::int64_t updates_ = 0;
  Shard state_range_;               // what states_ hold
  std::vector<at::Tensor> states_;  // made by the first update
};

}  // namespace chimera
