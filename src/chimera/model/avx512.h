// Building blocks of kernels for CPUs that multiply bf16 matrices
// (AVX512-BF16). Call what is marked CHIMERA_AVX512 only if
// has_bf16_products().
#pragma once

#include <ATen/core/Tensor.h>
#include <immintrin.h>

#include <cstdint>

#define CHIMERA_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace chimera {

constexpr std::int64_t kLanes = 16;  // float32 numbers of a register

// A mask of the first `count` lanes, or of all lanes if `count` is larger.
CHIMERA_AVX512 inline __mmask16 first_lanes(std::int64_t count) {
  if (count >= kLanes) return 0xffff;
  return static_cast<__mmask16>(count <= 0 ? 0 : (1U << count) - 1);
}

CHIMERA_AVX512 inline __m512 load_bf16(const at::BFloat16* from,
                                       __mmask16 lanes = 0xffff) {
  const __m256i bits = _mm256_maskz_loadu_epi16(lanes, from);
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// Rounds to nearest even.
CHIMERA_AVX512 inline __m256i rounded(__m512 numbers) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(numbers));
}

CHIMERA_AVX512 inline void store_bf16(at::BFloat16* to, __m512 numbers,
                                      __mmask16 lanes = 0xffff) {
  _mm256_mask_storeu_epi16(to, lanes, rounded(numbers));
}

// e^x within two units in the last place; x below -87 counts as -87, x above 89
// gives infinity, and NaN stays NaN.
CHIMERA_AVX512 inline __m512 exp_of(__m512 x) {
  const __m512 bounded =
      _mm512_min_ps(_mm512_set1_ps(89), _mm512_max_ps(_mm512_set1_ps(-87), x));
  const __m512 power = _mm512_roundscale_ps(
      _mm512_mul_ps(bounded, _mm512_set1_ps(1.44269504F)), 8);
  // Subtracts power * ln 2 in two steps. ln 2 as the sum of two floats keeps
  // the digits that one float would lose.
  __m512 rest = _mm512_fnmadd_ps(power, _mm512_set1_ps(0.693359375F), bounded);
  rest = _mm512_fnmadd_ps(power, _mm512_set1_ps(-2.12194440e-4F), rest);
  __m512 sum = _mm512_set1_ps(1.0F / 720);
  for (const float term : {1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(term));
  }
  return _mm512_scalef_ps(sum, power);
}

}  // namespace chimera
