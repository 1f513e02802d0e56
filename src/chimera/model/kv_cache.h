// Keys and values of the tokens that a model has read, so that generation
// computes each token once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace chimera {

struct Projections {
  at::Tensor query, key, value;
};

// Used by one thread. A forward with a cache reads either the first tokens of a
// text or exactly one more token; the caller then adds their number to
// `length`.
class KvCache {
 public:
  // Reserves room for `capacity` tokens of a model of `layers` layers.
  KvCache(std::size_t layers, std::int64_t capacity)
      : pairs_(layers), capacity_(capacity) {}

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  void add_length(std::int64_t tokens) { length_ += tokens; }
  void clear() { length_ = 0; }

  // Appends a layer's new keys and values. Returns the query with all keys and
  // values so far. Tensors are (B, H, T, D). REQUIRES: length() is 0 or T is 1,
  // and length() + T does not exceed the capacity.
  [[nodiscard]] Projections extend(int layer, const Projections& by_head);

 private:
  struct Pair {
    at::Tensor keys, values;  // (B, H, capacity, D)
  };
  std::vector<Pair> pairs_;  // [layer]; undefined without attention
  std::int64_t capacity_;
  std::int64_t length_ = 0;
};

}  // namespace chimera
