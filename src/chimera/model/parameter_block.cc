#include "chimera/model/parameter_block.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "chimera/base/check.h"
#include "chimera/model/device_sum.h"
#include "chimera/model/kernels.h"
#include "chimera/model/tensor_copies.h"

namespace chimera {
namespace {

// Elements per thread: a megabyte of float32. A multiple of kShardGrain, so
// that the chunking does not change the bits.
constexpr std::size_t kUpdateChunk = std::size_t{1} << 18;

std::int64_t padded(std::int64_t size) {
  constexpr auto kGrain = static_cast<std::int64_t>(kShardGrain);
  return (size + kGrain - 1) / kGrain * kGrain;
}

void round(const BlockValues& values, const Shard& range) {
  const at::NoGradGuard no_grad;
  const auto begin = static_cast<std::int64_t>(range.begin);
  const auto length = static_cast<std::int64_t>(range.end - range.begin);
  values.numbers.rounded.narrow(0, begin, length)
      .copy_(values.numbers.flat.narrow(0, begin, length));
}

// Makes room for host copies of a device's numbers, for a checkpoint; null on
// the CPU.
std::shared_ptr<TensorCopies> copies_of(const at::Tensor& numbers) {
  return numbers.is_cpu() ? nullptr : std::make_shared<TensorCopies>();
}

StatePiece piece_of(StatePiece piece, const at::Tensor& numbers,
                    const std::shared_ptr<TensorCopies>& copies) {
  piece.numbers = buffer_of(copies ? copies->add(numbers) : numbers);
  piece.copy = copies;
  return piece;
}

}  // namespace

ParameterBlock::ParameterBlock(std::vector<ParameterSpec> specs,
                               const Formats& formats, const Sharing& sharing,
                               at::Device device)
    : specs_(std::move(specs)),
      rounded_type_(formats.products),
      sharing_(sharing),
      offsets_(specs_.size()) {
  for (const bool decays : {true, false}) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].decays != decays) continue;
      offsets_[i] = size_;
      size_ += numel(specs_[i]);
    }
    size_ = padded(size_);
    if (decays) decaying_ = size_;
  }
  rounds_ = formats.products != formats.numbers &&
            std::any_of(specs_.begin(), specs_.end(),
                        [](const auto& spec) { return spec.in_products; });
  gradient_ = at::zeros({size_}, at::device(device).dtype(formats.numbers));
  if (!device.is_cpu()) sum_stream_ = another_stream(device);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    gradient_views_.push_back(view(gradient_, i));
  }
}

at::Tensor ParameterBlock::view(const at::Tensor& flat,
                                std::size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  return flat.narrow(0, offsets_[parameter], numel(spec)).view(spec.shape);
}

NumberBuffer ParameterBlock::gradient_to_sum(bool only_shard) {
  has_only_shard_ = only_shard;
  NumberBuffer buffer = buffer_of(gradient_, sum_stream_);
  buffer.only_shard = only_shard;
  return buffer;
}

NumberBuffer ParameterBlock::value_buffer(const BlockValues& values) const {
  return buffer_of(values.numbers.flat, sum_stream_);
}

BlockNumbers ParameterBlock::make_numbers(const ParameterInit& init) const {
  BlockNumbers numbers{.flat = at::zeros_like(gradient_)};
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    view(numbers.flat, i).copy_(init(specs_[i]));
  }
  if (rounds_) numbers.rounded = numbers.flat.to(rounded_type_);
  return numbers;
}

BlockValues ParameterBlock::values_in(
    const BlockNumbers& numbers, const std::vector<at::Tensor>& owned) const {
  BlockValues values{.numbers = numbers};
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const at::Tensor place = view(numbers.flat, i);
    at::Tensor leaf = owned.empty() ? at::Tensor() : owned[i];
    // A module's own tensor must stay the same object, so only its data is
    // exchanged.
    if (leaf.defined()) {
      leaf.set_data(place);
    } else {
      const bool rounds = rounds_ && specs_[i].in_products;
      leaf = (rounds ? view(numbers.rounded, i) : place)
                 .detach()
                 .requires_grad_(true);
    }
    // Autograd adds in place to a gradient that exists. So all versions of the
    // weights add to the one flat gradient.
    leaf.mutable_grad() = gradient_views_[i];
    values.masters.push_back(place);
    values.leaves.push_back(leaf);
  }
  return values;
}

BlockValues ParameterBlock::copy_values(const BlockValues& values) const {
  const BlockNumbers& numbers = values.numbers;
  return values_in(
      {.flat = numbers.flat.clone(),
       .rounded = rounds_ ? numbers.rounded.clone() : at::Tensor()},
      {});
}

void ParameterBlock::begin_gradient() {
  if (!is_used_up_) return;
  gradient_.zero_();
  is_used_up_ = false;
}

Shard ParameterBlock::own_shard() const {
  return shard_of(static_cast<std::size_t>(size_), sharing_.index,
                  sharing_.holders);
}

at::Tensor ParameterBlock::squared_norm() const {
  const Shard shard = own_shard();
  return sum_of_squares(
      gradient_.narrow(0, static_cast<std::int64_t>(shard.begin),
                       static_cast<std::int64_t>(shard.end - shard.begin)));
}

Shard ParameterBlock::range_to_update(bool own_shard_only) const {
  return own_shard_only ? own_shard()
                        : Shard{0, static_cast<std::size_t>(size_)};
}

void ParameterBlock::round_other_shards(const BlockValues& values) const {
  if (!rounds_) return;
  const Shard mine = own_shard();
  round(values, {0, mine.begin});
  round(values, {mine.end, static_cast<std::size_t>(size_)});
}

void ParameterBlock::update(const Update& update, const BlockValues& values) {
  const at::NoGradGuard no_grad;
  const auto size = static_cast<std::size_t>(size_);
  const Shard mine = range_to_update(update.own_shard_only);
  // The first update decides whether this rank keeps states for all numbers or
  // only for its shard.
  if (states_.empty()) {
    state_range_ = mine;
    const std::size_t count = update.optimizer.state_names().size();
    for (std::size_t i = 0; i < count; ++i) {
      states_.push_back(
          at::zeros({static_cast<std::int64_t>(mine.end - mine.begin)},
                    gradient_.options()));
    }
  }
  if (update.can_be_undone && before_.empty()) make_room_to_undo();
  const auto middle = static_cast<std::size_t>(decaying_);
  // The decaying parameters stand first, so a shard has at most one range of
  // each kind.
  update_range(update, values, {mine.begin, std::min(mine.end, middle)}, true);
  update_range(update, values, {std::max(mine.begin, middle), mine.end}, false);
  ++updates_;
  // The update has zeroed the gradient of its range, unless it can be undone.
  // Whatever it left must be zeroed before the next use.
  const bool all_mine = mine.begin == 0 && mine.end == size;
  is_used_up_ = update.can_be_undone || (!all_mine && !has_only_shard_);
}

void ParameterBlock::make_room_to_undo() {
  const auto length =
      static_cast<std::int64_t>(state_range_.end - state_range_.begin);
  for (std::size_t i = 0; i < 1 + states_.size(); ++i) {
    before_.push_back(at::empty({length}, gradient_.options()));
  }
}

void ParameterBlock::undo_update(const BlockValues& values) {
  const at::NoGradGuard no_grad;
  const auto begin = static_cast<std::int64_t>(state_range_.begin);
  values.numbers.flat.narrow(0, begin, before_[0].numel()).copy_(before_[0]);
  if (rounds_) round(values, state_range_);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].copy_(before_[1 + i]);
  }
  --updates_;
  // A block that was never updated saves no states.
  if (updates_ == 0) states_.clear();
  is_used_up_ = false;
}

// Updates in chunks, so that a chunk's weights are rounded and its gradient is
// zeroed while both are still in cache.
void ParameterBlock::update_range(const Update& update,
                                  const BlockValues& values, const Shard& range,
                                  bool decays) {
  const std::size_t most =
      kUpdateChunk * static_cast<std::size_t>(at::get_num_threads());
  for (std::size_t begin = range.begin; begin < range.end; begin += most) {
    update_chunk(update, values, {begin, std::min(begin + most, range.end)},
                 decays);
  }
}

void ParameterBlock::update_chunk(const Update& update,
                                  const BlockValues& values, const Shard& chunk,
                                  bool decays) {
  const auto begin = static_cast<std::int64_t>(chunk.begin);
  const auto length = static_cast<std::int64_t>(chunk.end - chunk.begin);
  OptimizerSlice slice{.weights = values.numbers.flat.narrow(0, begin, length),
                       .gradient = gradient_.narrow(0, begin, length),
                       .decays = decays,
                       .step = update.step,
                       .updates = updates_};
  const auto first = static_cast<std::int64_t>(state_range_.begin);
  for (const at::Tensor& state : states_) {
    slice.states.push_back(state.narrow(0, begin - first, length));
  }
  if (update.can_be_undone) {
    const auto keep = [&](at::Tensor& before, const at::Tensor& numbers) {
      before.narrow(0, begin - first, length).copy_(numbers);
    };
    keep(before_[0], slice.weights);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      keep(before_[1 + i], slice.states[i]);
    }
  }
  if (update.gradient_scale != 1) slice.gradient.mul_(update.gradient_scale);
  update.optimizer.update(slice);
  if (rounds_) round(values, chunk);
  if (!update.can_be_undone) slice.gradient.zero_();
}

void ParameterBlock::restore(const RestoredState& saved,
                             const Optimizer& optimizer, bool own_shard_only) {
  updates_ = saved.updates;
  if (updates_ == 0) return;  // states are made by the first update
  state_range_ = range_to_update(own_shard_only);
  const auto begin = static_cast<std::int64_t>(state_range_.begin);
  const auto length =
      static_cast<std::int64_t>(state_range_.end - state_range_.begin);
  for (const std::string& kind : optimizer.state_names()) {
    const at::Tensor whole = at::zeros_like(gradient_);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      view(whole, i).copy_(saved.read(kind, specs_[i]));
    }
    // A checkpoint returns states of whole parameters, whichever ranks saved
    // them.
    states_.push_back(length == size_ ? whole
                                      : whole.narrow(0, begin, length).clone());
  }
}

std::vector<StatePiece> ParameterBlock::values_to_save(
    const char* kind, const BlockValues& values, const Sharing& sharing) const {
  return whole_pieces(kind, values.numbers.flat, sharing);
}

std::vector<StatePiece> ParameterBlock::states_to_save(
    const Optimizer& optimizer, const Sharing& sharing) const {
  std::vector<StatePiece> pieces;
  const std::vector<std::string> names = optimizer.state_names();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const std::vector<StatePiece> more =
        states_[i].numel() == size_
            ? whole_pieces(names[i], states_[i], sharing)
            : pieces_of_range(names[i], states_[i]);
    pieces.insert(pieces.end(), more.begin(), more.end());
  }
  return pieces;
}

std::int64_t ParameterBlock::bytes_to_save(const SavedKinds& kinds,
                                           const Sharing& sharing) const {
  const Shard mine = range_to_update(kinds.own_shard_only);
  std::int64_t whole = 0;
  std::int64_t in_range = 0;  // excludes gaps between parameters
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (is_saved_by(sharing, i)) whole += numel(specs_[i]);
    const auto begin =
        std::max(offsets_[i], static_cast<std::int64_t>(mine.begin));
    const auto end = std::min(offsets_[i] + numel(specs_[i]),
                              static_cast<std::int64_t>(mine.end));
    in_range += std::max<std::int64_t>(0, end - begin);
  }
  const bool is_range = mine.end - mine.begin < static_cast<std::size_t>(size_);
  return (kinds.values * whole + kinds.states * (is_range ? in_range : whole)) *
         static_cast<std::int64_t>(gradient_.element_size());
}

bool ParameterBlock::is_saved_by(const Sharing& sharing,
                                 std::size_t parameter) const {
  const Shard shard =
      shard_of(static_cast<std::size_t>(size_), sharing.index, sharing.holders);
  // A parameter may span several shards, but it starts in exactly one.
  const auto offset = static_cast<std::size_t>(offsets_[parameter]);
  return offset >= shard.begin && offset < shard.end;
}

std::vector<StatePiece> ParameterBlock::whole_pieces(
    const std::string& kind, const at::Tensor& flat,
    const Sharing& sharing) const {
  const auto copies = copies_of(flat);
  std::vector<StatePiece> pieces;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (!is_saved_by(sharing, i)) continue;
    pieces.push_back(piece_of(
        {.kind = kind, .parameter = specs_[i].name, .shape = specs_[i].shape},
        flat.narrow(0, offsets_[i], numel(specs_[i])), copies));
  }
  return pieces;
}

// Cuts `state`, which holds the elements of state_range_, into one piece per
// parameter.
std::vector<StatePiece> ParameterBlock::pieces_of_range(
    const std::string& kind, const at::Tensor& state) const {
  const auto range_begin = static_cast<std::int64_t>(state_range_.begin);
  const auto range_end = static_cast<std::int64_t>(state_range_.end);
  const auto copies = copies_of(state);
  std::vector<StatePiece> pieces;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const std::int64_t begin = std::max(offsets_[i], range_begin);
    const std::int64_t end =
        std::min(offsets_[i] + numel(specs_[i]), range_end);
    if (begin >= end) continue;
    pieces.push_back(piece_of({.kind = kind,
                               .parameter = specs_[i].name,
                               .shape = specs_[i].shape,
                               .first = begin - offsets_[i]},
                              state.narrow(0, begin - range_begin, end - begin),
                              copies));
  }
  return pieces;
}

}  // namespace chimera
