// Products of bf16 matrices with float32 results, on CPUs that have
// instructions for them (AVX512-BF16). libtorch's operators round the results
// to bf16.
//
// A right factor is packed: two of its rows in one row of pairs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace chimera {

// True if this CPU has the instructions and oneDNN, which computes products,
// may use them (ONEDNN_MAX_CPU_ISA). Everything below needs both.
[[nodiscard]] bool has_bf16_products();

// The rows of a matrix. REQUIRES: the stride is even, and the numbers of a row
// are contiguous.
struct Rows {
  at::BFloat16* data = nullptr;
  std::int64_t stride = 0;

  [[nodiscard]] at::BFloat16* row(std::int64_t index) const {
    return data + index * stride;
  }
};

// Sizes of a matrix to pack or transpose: `count` rows of `width` numbers,
// followed by zeros up to `padded` rows. REQUIRES: `padded` is a multiple of 16
// (of 2 for pack_rows), `width` is even (a multiple of 16 for pack_rows).
struct RowSizes {
  std::int64_t count = 0;
  std::int64_t padded = 0;
  std::int64_t width = 0;
};

// Packs the rows: to[padded / 2][width].
void pack_rows(const Rows& rows, const RowSizes& sizes, std::uint32_t* to);
// Packs the transposed rows: to[width / 2][padded].
void pack_columns(const Rows& rows, const RowSizes& sizes, std::uint32_t* to);
// Transposes the rows: to[width][padded].
void transpose(const Rows& rows, const RowSizes& sizes, at::BFloat16* to);

struct Product {
  std::int64_t rows = 0, columns = 0, depth = 0;
  // Distance between rows: of the left factor, of the right factor (in pairs if
  // packed) and of the result.
  std::int64_t left_stride = 0, right_stride = 0, result_stride = 0;
  bool adds = false;  // to the result
};

// Multiplies on one thread, which runs no operator of libtorch meanwhile.
//
// On processors with AMX a product depends on the sizes that its thread has
// last given to the tile registers. Operators of libtorch give them others, so
// the destructor forgets the sizes. Otherwise the next product would not set
// them and would fail with an illegal instruction.
class Multiplier {
 public:
  Multiplier() = default;
  ~Multiplier();
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;

  // Computes left (rows, depth) times a packed right factor (depth / 2,
  // columns).
  void multiply(const Product& product, const at::BFloat16* left,
                const std::uint32_t* right, float* result);
};

// Adds the transpose of `left` (k, m) times `right` (k, n) to `sum` (m, n).
// Returns false, with `sum` unchanged, if the kernels do not support these
// tensors.
[[nodiscard]] bool add_bf16_product(const at::Tensor& sum,
                                    const at::Tensor& left,
                                    const at::Tensor& right);

}  // namespace chimera
