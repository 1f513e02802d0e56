// The instruction multiplies pairs: each 32-bit lane of a factor holds two bf16
// numbers that are neighbours along the summed dimension. A left factor has
// them side by side in its rows already. A right factor must be packed, and
// since pairs are read and written as 32-bit words, strides must be even.
#include "chimera/model/bf16_products.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>

#include "chimera/model/avx512.h"

namespace chimera {
namespace {

using at::BFloat16;

// Sixteen rows of sixteen pairs of numbers, and then their transpose.
struct Block {
  __m512i line[16];
};

// Loads pairs of columns, from `pair` on, of the rows from `first` on. Places
// outside of the matrix are 0.
CHIMERA_AVX512 inline Block load_block(const Rows& rows, const RowSizes& sizes,
                                       std::int64_t first, std::int64_t pair) {
  const __mmask16 pairs = first_lanes(sizes.width / 2 - pair);
  Block block;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    block.line[i] =
        first + i < sizes.count
            ? _mm512_maskz_loadu_epi32(pairs, rows.row(first + i) + 2 * pair)
            : _mm512_setzero_si512();
  }
  return block;
}

// Transposes in registers: four steps, each of which doubles the size of the
// squares that are in place. Gathering the columns from memory takes three
// times as long.
CHIMERA_AVX512 inline Block transposed(const Block& from) {
  Block pairs;
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs.line[i] = _mm512_unpacklo_epi32(from.line[i], from.line[i + 1]);
    pairs.line[i + 1] = _mm512_unpackhi_epi32(from.line[i], from.line[i + 1]);
  }
  Block quads;  // line 4i+j: rows 4i to 4i+3 of columns j, j+4, ...
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512i* two = pairs.line + i;
    quads.line[i] = _mm512_unpacklo_epi64(two[0], two[2]);
    quads.line[i + 1] = _mm512_unpackhi_epi64(two[0], two[2]);
    quads.line[i + 2] = _mm512_unpacklo_epi64(two[1], two[3]);
    quads.line[i + 3] = _mm512_unpackhi_epi64(two[1], two[3]);
  }
  Block to;
  constexpr int kEven = 0x88, kOdd = 0xdd;  // 128-bit lanes to pick
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i* four = quads.line + i;
    const __m512i low = _mm512_shuffle_i32x4(four[0], four[4], kEven);
    const __m512i low_odd = _mm512_shuffle_i32x4(four[0], four[4], kOdd);
    const __m512i high = _mm512_shuffle_i32x4(four[8], four[12], kEven);
    const __m512i high_odd = _mm512_shuffle_i32x4(four[8], four[12], kOdd);
    to.line[i] = _mm512_shuffle_i32x4(low, high, kEven);
    to.line[i + 4] = _mm512_shuffle_i32x4(low_odd, high_odd, kEven);
    to.line[i + 8] = _mm512_shuffle_i32x4(low, high, kOdd);
    to.line[i + 12] = _mm512_shuffle_i32x4(low_odd, high_odd, kOdd);
  }
  return to;
}

// Calls store(pair, row, words) with each pair of columns of sixteen rows.
template <class Store>
CHIMERA_AVX512 inline void for_each_pair(const Rows& rows,
                                         const RowSizes& sizes,
                                         const Store& store) {
  const std::int64_t pairs = sizes.width / 2;
  for (std::int64_t row = 0; row < sizes.padded; row += kLanes) {
    for (std::int64_t pair = 0; pair < pairs; pair += kLanes) {
      const Block block = transposed(load_block(rows, sizes, row, pair));
      const std::int64_t count = std::min(kLanes, pairs - pair);
      for (std::int64_t i = 0; i < count; ++i) {
        store(pair + i, row, block.line[i]);
      }
    }
  }
}

bool is_readable(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && x.dim() == 2 &&
         x.stride(1) == 1 && x.stride(0) % 2 == 0;
}

Rows rows_of(const at::Tensor& x) {
  return {static_cast<BFloat16*>(x.data_ptr()), x.stride(0)};
}

// What the user allows oneDNN, which computes the products, in upper case;
// empty: everything. Products that the processor has but oneDNN may not use
// would fail.
std::string allowed_instructions() {
  const char* allowed = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (allowed == nullptr) allowed = std::getenv("DNNL_MAX_CPU_ISA");
  std::string isa = allowed == nullptr ? "" : allowed;
  for (char& letter : isa) {
    letter =
        static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return isa;
}

}  // namespace

bool has_bf16_products() {
  const std::string isa = allowed_instructions();
  const bool is_enough = isa.empty() || isa == "DEFAULT" || isa == "ALL" ||
                         isa.starts_with("AVX512_CORE_BF16") ||
                         isa.starts_with("AVX512_CORE_FP16") ||
                         isa.starts_with("AVX512_CORE_AMX") ||
                         isa.starts_with("AVX10");
  return is_enough && __builtin_cpu_supports("avx512bf16") != 0;
}

CHIMERA_AVX512 void pack_columns(const Rows& rows, const RowSizes& sizes,
                                 std::uint32_t* to) {
  for_each_pair(
      rows, sizes,
      [&](std::int64_t pair, std::int64_t row, __m512i words) CHIMERA_AVX512 {
        _mm512_storeu_si512(to + pair * sizes.padded + row, words);
      });
}

CHIMERA_AVX512 void transpose(const Rows& rows, const RowSizes& sizes,
                              BFloat16* to) {
  for_each_pair(rows, sizes,
                [&](std::int64_t pair, std::int64_t row, __m512i words)
                    CHIMERA_AVX512 {
                      BFloat16* even = to + 2 * pair * sizes.padded + row;
                      _mm256_storeu_si256(reinterpret_cast<__m256i*>(even),
                                          _mm512_cvtepi32_epi16(words));
                      _mm256_storeu_si256(
                          reinterpret_cast<__m256i*>(even + sizes.padded),
                          _mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
                    });
}

CHIMERA_AVX512 void pack_rows(const Rows& rows, const RowSizes& sizes,
                              std::uint32_t* to) {
  const auto load = [&](std::int64_t row, std::int64_t column) CHIMERA_AVX512 {
    if (row >= sizes.count) return _mm512_setzero_si512();
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(rows.row(row) + column)));
  };
  for (std::int64_t row = 0; row < sizes.padded; row += 2) {
    for (std::int64_t column = 0; column < sizes.width; column += kLanes) {
      const __m512i high = _mm512_slli_epi32(load(row + 1, column), 16);
      _mm512_storeu_si512(to + row / 2 * sizes.width + column,
                          _mm512_or_si512(load(row, column), high));
    }
  }
}

Multiplier::~Multiplier() { at::native::cpublas::brgemm_release(); }

void Multiplier::multiply(const Product& product, const BFloat16* left,
                          const std::uint32_t* right, float* result) {
  at::native::cpublas::brgemm(
      product.rows, product.columns, product.depth, product.left_stride,
      product.right_stride, product.result_stride, product.adds, left,
      reinterpret_cast<const BFloat16*>(right), result, /*is_vnni=*/true);
}

bool add_bf16_product(const at::Tensor& sum, const at::Tensor& left,
                      const at::Tensor& right) {
  static const bool kHasProducts = has_bf16_products();
  const bool can = kHasProducts && is_readable(left) && is_readable(right) &&
                   sum.scalar_type() == at::kFloat && sum.stride(1) == 1 &&
                   left.size(1) % 2 == 0 && right.size(1) % kLanes == 0;
  if (!can) return false;
  // A micro-batch of BERT may have no masked position, and oneDNN has no
  // product of depth 0.
  if (left.size(0) == 0) return true;
  // Computes the result in tiles that stay in a cache together with their
  // factors.
  constexpr std::int64_t kRows = 64, kColumns = 256;
  const std::int64_t rows = left.size(1), columns = right.size(1);
  const std::int64_t depth = (left.size(0) + kLanes - 1) / kLanes * kLanes;
  const auto turned = std::make_unique_for_overwrite<BFloat16[]>(rows * depth);
  transpose(rows_of(left), {left.size(0), depth, rows}, turned.get());
  const Rows all = rows_of(right);
  auto* result = sum.mutable_data_ptr<float>();
  const std::int64_t blocks = (columns + kColumns - 1) / kColumns;
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    const auto packed =
        std::make_unique_for_overwrite<std::uint32_t[]>(depth / 2 * kColumns);
    Multiplier multiplier;
    for (std::int64_t first = begin * kColumns;
         first < std::min(end * kColumns, columns); first += kColumns) {
      const std::int64_t width = std::min(kColumns, columns - first);
      pack_rows({all.data + first, all.stride}, {right.size(0), depth, width},
                packed.get());
      for (std::int64_t row = 0; row < rows; row += kRows) {
        multiplier.multiply({std::min(kRows, rows - row), width, depth, depth,
                             width, sum.stride(0), true},
                            &turned[row * depth], packed.get(),
                            result + row * sum.stride(0) + first);
      }
    }
  });
  return true;
}

}  // namespace chimera
