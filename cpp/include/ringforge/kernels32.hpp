// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract of limbs in 32-bit words, for primes 2^16 < q < 2^31. The common rules and the order are those of
// kernels.hpp; inputs and outputs are canonical everywhere. Each set of `Kernels` has one of the same name.
#pragma once

#include "ringforge/kernels.hpp"

namespace ringforge::kernels {

/// Primes below this bound fit 32-bit words: sums of two residues do not overflow.
inline constexpr unsigned kMaxBits32 = 31;

/// Twiddle factors of one transform: the numbers of NttTable and their companions floor(w * 2^32 / q). In cyclic
/// transforms, and in no others, w[1] is 1, and the factors of a level are the first ones of the last level.
struct NttTable32 {
  std::size_t n = 0;
  unsigned log_n = 0;
  Modulus mod;
  const u32* w = nullptr;
  const u32* ws = nullptr;
  const u32* iw = nullptr;
  const u32* iws = nullptr;
  u32 n_inv = 0, n_inv_s = 0;     ///< 1/n and its companion
  u32 n_inv_w = 0, n_inv_ws = 0;  ///< iw[1]/n and its companion, for the last stage
};

/// One kernel set; operations are those of `Kernels` with the same name where nothing else is said. Every pointer is
/// set.
struct Kernels32 {
  const char* name;

  void (*ntt_forward)(u32* dst, const u32* src, const NttTable32& t) noexcept;
  /// ntt_forward of `count` words, at most n/2, that zeros follow. Words of src beyond are not read.
  void (*ntt_forward_short)(u32* dst, const u32* src, std::size_t count, const NttTable32& t) noexcept;
  void (*ntt_forward_lift)(u32* dst, const u32* src, u32 p, const NttTable32& t) noexcept;
  void (*ntt_inverse)(u32* dst, const u32* src, const NttTable32& t) noexcept;
  /// The product of two polynomials of `count` words, at most n/2, modulo what the transform splits: n words, all of
  /// the product where it is cyclic or negacyclic. dst and work, n words each, are apart from a and b, which may be the
  /// same.
  void (*ntt_product)(u32* dst, const u32* a, const u32* b, std::size_t count, u32* work, const NttTable32& t) noexcept;

  /// Sum and difference of any n words at any address, with q = 0 modulo 2^32; dst may be a or b, or overlap neither.
  void (*add)(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept;
  void (*sub)(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept;
  void (*neg)(u32* dst, const u32* a, std::size_t n, const Modulus& m) noexcept;
  void (*mul)(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept;
  void (*mul_add)(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept;
  /// dst = [dst +] sum of x[d] * y[d] over d < count, one reduction for all. A few terms at a time (8) keep the streams
  /// in the caches.
  void (*dot)(u32* dst, const u32* const* x, const u32* const* y, std::size_t count, bool accumulate, std::size_t n,
              const Modulus& m) noexcept;
  void (*reduce_signed)(u32* dst, const i64* a, std::size_t n, const Modulus& m) noexcept;

  void (*automorphism_coeff)(u32* dst, const u32* src, u64 g, std::size_t n, const Modulus& m) noexcept;
  void (*automorphism_eval)(u32* dst, const u32* src, const u32* index, std::size_t n) noexcept;
};

/// The set of this name, or nullptr when this CPU cannot run it.
const Kernels32* find32(const char* name) noexcept;
/// That of active().
const Kernels32& active32();

}  // namespace ringforge::kernels
