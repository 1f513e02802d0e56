// The parameters of a stage in one contiguous buffer, and their gradients in
// another, so that a sum, a norm or an update is one pass over contiguous
// numbers. Parameters are views into the buffer.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/exec/train_state.h"
#include "chimera/model/formats.h"
#include "chimera/model/optimizer.h"
#include "chimera/model/parameter_spec.h"
#include "chimera/model/restored_state.h"

namespace chimera {

// The numbers of a block: the trained values, and a copy in the format of
// matrix products, which every update renews. The copy is undefined if the
// formats are the same.
struct BlockNumbers {
  at::Tensor flat;     // (size)
  at::Tensor rounded;  // (size)
};

// One version of a block's values.
struct BlockValues {
  BlockNumbers numbers;
  std::vector<at::Tensor> masters;  // [parameter]: views into numbers.flat
  // [parameter]: what layers compute with: views into one of the two buffers of
  // `numbers`. They require gradients, which are in the format of numbers.flat.
  std::vector<at::Tensor> leaves;
};

using ParameterInit = std::function<at::Tensor(const ParameterSpec& spec)>;

// The part of a block that this rank updates and saves.
struct Sharing {
  int index = 0;    // index of this rank among the holders
  int holders = 1;  // number of holders over all copies
};

class ParameterBlock {
 public:
  // Lays out the parameters that decay first, then the others, each kind padded
  // to a multiple of kShardGrain. Any shard then splits into both kinds at
  // whole grains.
  ParameterBlock(std::vector<ParameterSpec> specs, const Formats& formats,
                 const Sharing& sharing, at::Device device = at::kCPU);

  [[nodiscard]] const std::vector<ParameterSpec>& specs() const {
    return specs_;
  }
  // [parameter]: the gradients, in the shapes of `values`.
  [[nodiscard]] std::vector<at::Tensor> gradients() const {
    return gradient_views_;
  }
  // The gradient, to be summed over its holders. `only_shard`: only this rank's
  // shard of the result is needed.
  [[nodiscard]] NumberBuffer gradient_to_sum(bool only_shard);
  [[nodiscard]] NumberBuffer value_buffer(const BlockValues& values) const;

  // Makes values from `init`. A tensor that a layer owns is filled with them
  // and becomes a view into the block.
  [[nodiscard]] BlockValues make_values(
      const ParameterInit& init, const std::vector<at::Tensor>& owned) const {
    return values_in(make_numbers(init), owned);
  }
  // make_values in two halves: the numbers, which holders may share, and the
  // leaves, which each holder needs for itself.
  [[nodiscard]] BlockNumbers make_numbers(const ParameterInit& init) const;
  [[nodiscard]] BlockValues values_in(
      const BlockNumbers& numbers, const std::vector<at::Tensor>& owned) const;
  // A new version with equal values.
  [[nodiscard]] BlockValues copy_values(const BlockValues& values) const;

  // Must be called before the gradient is added to or read: zeroes it after an
  // update, even if no micro-batch contributes in the next step.
  void begin_gradient();
  // The squared norm of this rank's shard of the gradient: a number in double,
  // on the device.
  [[nodiscard]] at::Tensor squared_norm() const;

  struct Update {
    const Optimizer& optimizer;
    std::int64_t step = 0;
    double gradient_scale = 1;
    bool own_shard_only = false;
    // True: keeps the gradient and a copy of everything that changes, for
    // undo_update.
    bool can_be_undone = false;
  };
  // Updates `values` and consumes the gradient.
  void update(const Update& update, const BlockValues& values);
  // Renews the rounded copy of what other holders have updated and sent.
  void round_other_shards(const BlockValues& values) const;
  // Takes back the last update. REQUIRES: it was made with can_be_undone, and
  // no gradient was added since. ENSURES: values, states and gradient are as
  // before it.
  void undo_update(const BlockValues& values);
  // Consumes the gradient without changing any value.
  void skip_update() { is_used_up_ = true; }
  [[nodiscard]] std::int64_t updates() const { return updates_; }

  // Continues from a saved state. REQUIRES: called before the first update.
  void restore(const RestoredState& saved, const Optimizer& optimizer,
               bool own_shard_only);
  // The pieces that the holder described by `sharing` saves. ENSURES: the
  // holders together save each number once. A whole parameter is saved by the
  // holder in whose shard it starts; sharded optimizer states are saved by the
  // holder that has them.
  [[nodiscard]] std::vector<StatePiece> values_to_save(
      const char* kind, const BlockValues& values,
      const Sharing& sharing) const;
  [[nodiscard]] std::vector<StatePiece> states_to_save(
      const Optimizer& optimizer, const Sharing& sharing) const;
  // Bytes of all pieces once updates have made the states.
  struct SavedKinds {
    int values = 1;  // versions of the values
    int states = 0;  // of the optimizer
    bool own_shard_only = false;
  };
  [[nodiscard]] std::int64_t bytes_to_save(const SavedKinds& kinds,
                                           const Sharing& sharing) const;

 private:
  [[nodiscard]] at::Tensor view(const at::Tensor& flat,
                                std::size_t parameter) const;
  void update_range(const Update& update, const BlockValues& values,
                    const Shard& range, bool decays);
  void update_chunk(const Update& update, const BlockValues& values,
                    const Shard& chunk, bool decays);
  [[nodiscard]] Shard own_shard() const;
  [[nodiscard]] Shard range_to_update(bool own_shard_only) const;
  void make_room_to_undo();
  // True if the holder described by `sharing` saves this whole parameter.
  [[nodiscard]] bool is_saved_by(const Sharing& sharing,
                                 std::size_t parameter) const;
  [[nodiscard]] std::vector<StatePiece> whole_pieces(
      const std::string& kind, const at::Tensor& flat,
      const Sharing& sharing) const;
  [[nodiscard]] std::vector<StatePiece> pieces_of_range(
      const std::string& kind, const at::Tensor& state) const;

  std::vector<ParameterSpec> specs_;
  bool rounds_ = false;  // a rounded copy exists
  at::ScalarType rounded_type_;
  Sharing sharing_;
  std::vector<std::int64_t> offsets_;  // [parameter]
  std::int64_t decaying_ = 0;          // index at which the decaying ones end
  std::int64_t size_ = 0;
  std::optional<c10::Stream> sum_stream_;  // stream of a device's collectives
  at::Tensor gradient_;                    // (size)
  std::vector<at::Tensor> gradient_views_;
  bool is_used_up_ = false;      // the gradient must be zeroed before use
  bool has_only_shard_ = false;  // the gradient is zero outside the shard
  std::int64_t updates_ = 0;
  Shard state_range_;               // the range that states_ cover
  std::vector<at::Tensor> states_;  // empty until the first update
  // The overwritten numbers of state_range_, kept for undo_update: the values,
  // then each of states_. Empty if the last update cannot be undone.
  std::vector<at::Tensor> before_;
};

}  // namespace chimera
