// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract: one table of operations on arrays of 64-bit residues, implemented by several
// kernel sets (`ref`, `avx2`, `avx512`) that agree bit for bit.
//
// Common rules, unless an operation says otherwise:
//   * arrays hold one limb: `n` residues, n a multiple of 16, base address aligned to 64 bytes;
//   * inputs and outputs are canonical, in [0, q); a lazy range is named where it is allowed;
//   * `dst` may be the same array as any input; partial overlap is not allowed;
//   * moduli are odd primes, 2^16 < q < 2^61;
//   * nothing allocates, throws, or depends on the values in its running time, except where noted.
//
// Order: a polynomial in Eval form holds at index i its value at psi^(2*brv(i)+1), where brv reverses
// log2(n) bits and psi is the smallest primitive 2n-th root of unity modulo q.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ringforge::kernels {

using u64 = std::uint64_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;

/// Primes below this bound take the 52-bit multiply-add (IFMA) path where the CPU has one.
inline constexpr unsigned kFastBits = 50;
/// Largest supported prime size in bits.
inline constexpr unsigned kMaxBits = 61;

/// A prime with the constants that Barrett and Shoup reductions need.
struct Modulus {
  u64 q = 0;          ///< the prime
  u64 ratio_hi = 0;   ///< high word of floor(2^128 / q)
  u64 ratio_lo = 0;   ///< low word of floor(2^128 / q)
  u64 mu52 = 0;       ///< floor(2^(bits+50) / q) for bits <= 50, else 0
  unsigned bits = 0;  ///< 2^(bits-1) < q < 2^bits
};

/// A constant factor w in [0, q) with its Shoup quotients.
struct Factor {
  u64 w = 0;    ///< the factor
  u64 w64 = 0;  ///< floor(w * 2^64 / q)
  u64 w52 = 0;  ///< floor(w * 2^52 / q); meaningful for q < 2^50 only
};

/// Twiddle factors of one transform. Entry m+i of the forward tables is the factor of block i of the stage with m
/// blocks, psi^brv(m+i) (brv on log2(n) bits) for a negacyclic transform; entry m+i of the inverse tables its inverse;
/// index 0 is unused. With the factors of another split of X^n + c, such as those of X^n - 1, the same kernels compute
/// that transform: they take the tables as they are.
/// The *64 and *52 arrays hold the Shoup quotients of the entries, as in `Factor`.
struct NttTable {
  std::size_t n = 0;
  unsigned log_n = 0;
  Modulus mod;
  const u64* w = nullptr;
  const u64* w64 = nullptr;
  const u64* w52 = nullptr;  ///< null when q >= 2^50
  const u64* iw = nullptr;
  const u64* iw64 = nullptr;
  const u64* iw52 = nullptr;  ///< null when q >= 2^50
  Factor n_inv;               ///< 1/n
  Factor n_inv_w;             ///< iw[1]/n, for the last stage
};

/// Twiddle factors of the encoder's complex transform of length n (slots): entry m+i, 1 <= m+i < n, is
/// the complex root used by block i of the stage with m blocks.
struct FftTable {
  std::size_t n = 0;
  unsigned log_n = 0;
  const double* re = nullptr;
  const double* im = nullptr;
};

/// Words of a transform that its second part does at once (ntt_finish).
inline constexpr std::size_t kNttTile = 1024;

/// One kernel set. Every pointer is set.
struct Kernels {
  const char* name;

  // ---- transforms -------------------------------------------------------------------------------
  /// Forward negacyclic NTT, natural order to Eval order. src in [0, 4q), dst in [0, q).
  void (*ntt_forward)(u64* dst, const u64* src, const NttTable& t) noexcept;
  /// Forward NTT of the centred lift of residues modulo another prime p: src in [0, p), transformed as
  /// src - p*[src > p/2] modulo q. Saves key switching and ModDown a pass over memory.
  void (*ntt_forward_lift)(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept;
  /// The same in two parts, for many transforms that do not fit a cache together and are multiplied tile by tile.
  /// First part: from residues of `bits` bits each, 1 to 32, packed as packing.hpp does (n*bits/8 bytes, none beyond
  /// are read; src need not be aligned) to words that only the second part of the same kernel set understands. dst and
  /// `work`, n words each, aligned to 64 bytes, are different; dst is written past the caches where that is faster.
  void (*ntt_packed_head)(u64* dst, u64* work, const std::uint8_t* src, unsigned bits, u64 p,
                          const NttTable& t) noexcept;
  /// Second part, in place: words [first, first + count) of the transform, each word once. Both are multiples of
  /// kNttTile, or 0 and n where n is below. The same words of `soon`, unless it is null, are fetched into the cache.
  void (*ntt_finish)(u64* x, std::size_t first, std::size_t count, const u64* soon, const NttTable& t) noexcept;
  /// Inverse negacyclic NTT including the factor 1/n, Eval order to natural order. src in [0, 2q).
  void (*ntt_inverse)(u64* dst, const u64* src, const NttTable& t) noexcept;

  // ---- pointwise --------------------------------------------------------------------------------
  void (*add)(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept;
  void (*sub)(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept;
  void (*neg)(u64* dst, const u64* a, std::size_t n, const Modulus& m) noexcept;
  void (*mul)(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept;
  /// dst = dst + a*b.
  void (*mul_add)(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept;
  /// dst = a + c for a constant c in [0, q).
  void (*add_scalar)(u64* dst, const u64* a, u64 c, std::size_t n, const Modulus& m) noexcept;
  /// dst = a*f. a may be any value below 2^52 if q < 2^50, and any 64-bit value otherwise.
  void (*mul_scalar)(u64* dst, const u64* a, const Factor& f, std::size_t n, const Modulus& m) noexcept;
  /// dst = (a - b)*f: the last step of rescaling and ModDown. b may be in [0, 4q) (a canonical).
  void (*sub_mul_scalar)(u64* dst, const u64* a, const u64* b, const Factor& f, std::size_t n,
                         const Modulus& m) noexcept;
  /// dst = a mod q for any 64-bit a.
  void (*reduce)(u64* dst, const u64* a, std::size_t n, const Modulus& m) noexcept;
  /// dst = a mod q, in [0, q), for signed |a| < 2^62.
  void (*reduce_signed)(u64* dst, const i64* a, std::size_t n, const Modulus& m) noexcept;

  // ---- fused inner product ----------------------------------------------------------------------
  /// out0 = [out0 +] sum_{d<count} x[d]*y0[d], out1 = [out1 +] sum_{d<count} x[d]*y1[d]; one pass.
  /// Digits x evaluation key (x the digits), and plaintexts x ciphertexts (x the plaintexts). The terms
  /// in brackets are present when `accumulate`. out0, out1 must not alias the inputs. Any count >= 0; x[d] need not be
  /// aligned.
  void (*dot2)(u64* out0, u64* out1, const u64* const* x, const u64* const* y0, const u64* const* y1, std::size_t count,
               bool accumulate, std::size_t n, const Modulus& m) noexcept;
  /// The same at two places one apart: out[0] = sum_{d<count} x[d]*y0[d], out[1] of y1; out[2] = sum x[d]*y0[d + 1],
  /// out[3] of y1. count + 1 rows of y; every row is read once. For rows that are in the second-level cache, and differ
  /// in their places modulo 4096 bytes.
  void (*dot2_twice)(u64* const out[4], const u64* const* x, const u64* const* y0, const u64* const* y1,
                     std::size_t count, std::size_t n, const Modulus& m) noexcept;

  // ---- matrix product ---------------------------------------------------------------------------
  /// out[r*stride + c] = sum_{t<count} a[t*rows + r]*b[t*cols + c]: the transpose of a (count x rows) times b
  /// (count x cols), stored by rows. rows and cols are multiples of 16, stride >= cols is one of 8: with a power
  /// of two, a column of the result falls into few sets of a cache. out must not alias the inputs. Any count >= 0.
  void (*matmul)(u64* out, std::size_t stride, const u64* a, const u64* b, std::size_t rows, std::size_t cols,
                 std::size_t count, const Modulus& m) noexcept;

  // ---- automorphisms ----------------------------------------------------------------------------
  /// Coefficient form: dst(X) = src(X^g) mod X^n+1, g odd in [1, 2n). dst must not alias src.
  void (*automorphism_coeff)(u64* dst, const u64* src, u64 g, std::size_t n, const Modulus& m) noexcept;
  /// Eval form: dst[i] = src[index[i]]. The index table of an automorphism maps aligned blocks of 8 to
  /// aligned blocks of 8: index[8k..8k+7] are the 8 members of one block. dst must not alias src.
  void (*automorphism_eval)(u64* dst, const u64* src, const u32* index, std::size_t n) noexcept;
  /// Eval form with accumulation: dst[i] = dst[i] + src[index[i]].
  void (*automorphism_eval_add)(u64* dst, const u64* src, const u32* index, std::size_t n, const Modulus& m) noexcept;

  // ---- base conversion --------------------------------------------------------------------------
  /// Centred change of modulus for one source prime: dst = x - p*[x > p/2] mod q, x in [0, p).
  void (*lift_centered)(u64* dst, const u64* src, u64 p, std::size_t n, const Modulus& m) noexcept;
  /// v = round(sum_i y[i]*inv[i]) where inv[i] = 1/p_i as a double; the sum runs in the order of i, one
  /// rounded multiplication and one rounded addition each (no fused multiply-add), then + 0.5, floor.
  void (*convert_quotient)(u64* v, const u64* const* y, const double* inv, std::size_t k, std::size_t n) noexcept;
  /// dst = sum_i y[i]*c[i] - v*p_mod_q mod q (v may be null: no correction). y[i] < 2^y_bits, y_bits <= 61,
  /// c[i] = (P/p_i) mod q in [0, q), v < 2^16, p_mod_q = P mod q, k <= 64.
  void (*base_convert)(u64* dst, const u64* const* y, const u64* c, std::size_t k, unsigned y_bits, const u64* v,
                       u64 p_mod_q, std::size_t n, const Modulus& m) noexcept;

  // ---- encoder ----------------------------------------------------------------------------------
  // Complex numbers are split arrays. A product (a+bi)(c+di) is (a*c - b*d) + (a*d + b*c)i with every
  // operation rounded separately; all kernel sets perform the same operations on the same operands.
  /// In place; stage with m = 1, 2, 4, ... blocks: (u, v) -> (u + w*v, u - w*v), w = table[m + block].
  void (*fft_forward)(double* re, double* im, const FftTable& t) noexcept;
  /// In place; the stages of fft_forward undone in reverse order: (u, v) -> (u + v, conj(w)*(u - v)),
  /// then both parts multiplied by 1/n.
  void (*fft_inverse)(double* re, double* im, const FftTable& t) noexcept;
  /// dst = x*scale rounded to the nearest integer, ties to even. Returns false, dst unspecified, when
  /// some |x*scale| >= 2^62 or is not finite. Running time may depend on the values.
  bool (*scale_round)(i64* dst, const double* x, double scale, std::size_t n) noexcept;
};

/// The kernel set in use: the best one this CPU supports, or the one named by RINGFORGE_KERNELS.
/// @throws ringforge::ParameterError when RINGFORGE_KERNELS names a set that does not exist or that this
///         CPU cannot run.
const Kernels& active();

/// All sets this CPU can run, `ref` first.
std::span<const Kernels* const> available();

/// A set by name, or nullptr when it does not exist or this CPU cannot run it.
const Kernels* find(const char* name) noexcept;

/// Constants of a prime. q must be odd, 2^16 < q < 2^61 (not checked for primality).
Modulus make_modulus(u64 q) noexcept;
/// Shoup constants of w in [0, q).
Factor make_factor(u64 w, const Modulus& m) noexcept;

}  // namespace ringforge::kernels
