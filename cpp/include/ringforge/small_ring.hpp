// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Z_q[X]/(X^N + 1) for one prime q and N <= 4096, in words of 32 or 64 bits: the ring of third-generation schemes.
#pragma once

#include <memory>

#include "ringforge/memory.hpp"
#include "ringforge/random.hpp"
#include "ringforge/small_kernels.hpp"
#include "ringforge/small_tables.hpp"
#include "ringforge/spectral_tables.hpp"

namespace ringforge {

/// The ring with its transform tables and the kernels in use. Immutable; one object for each (q, N).
template <class W>
class SmallRing {
 public:
  /// The ring of degree 2^log_n modulo the prime q, q = 1 mod 2N, made once.
  /// @throws ParameterError when q is no such prime, is too wide for W, or log_n is outside 8 ... 12.
  static std::shared_ptr<const SmallRing> get(u64 q, unsigned log_n);

  std::size_t n() const noexcept { return table().n; }
  unsigned log_n() const noexcept { return table().log_n; }
  W q() const noexcept { return table().q; }
  unsigned bits() const noexcept { return table().mod.bits; }
  const kernels::SmallNtt<W>& table() const noexcept { return tables_.ntt(); }
  const kernels::SmallKernels<W>& kernels() const noexcept { return kernels_; }

  /// Exact products in double precision: kernels and tables, for words of 32 bits.
  const kernels::SpectralKernels& spectral_kernels() const noexcept
    requires(sizeof(W) == 4)
  {
    return kernels::spectral_active();
  }
  const kernels::SpectralTable& spectral_table() const noexcept
    requires(sizeof(W) == 4)
  {
    return spectral_->table();
  }

  void forward(W* dst, const W* src) const noexcept { kernels_.forward(dst, src, table()); }
  void inverse(W* dst, const W* src) const noexcept { kernels_.inverse(dst, src, table()); }
  /// The residue of a signed number.
  W lift(i64 x) const noexcept {
    const i64 r = x % static_cast<i64>(q());
    return static_cast<W>(r < 0 ? r + static_cast<i64>(q()) : r);
  }
  /// The residue of a secret number in (-q, q): no branch, no division.
  W lift_secret(i64 x) const noexcept { return static_cast<W>(x + (static_cast<i64>(q()) & (x >> 63))); }
  /// The representative in (-q/2, q/2).
  i64 centre(W x) const noexcept {
    return x > q() / 2 ? static_cast<i64>(x) - static_cast<i64>(q()) : static_cast<i64>(x);
  }
  /// a^e mod q, and the inverse of a non-zero residue.
  W power(W a, u64 e) const noexcept;
  W invert(W a) const noexcept { return power(a, static_cast<u64>(q()) - 2); }

  SmallRing(u64 q, unsigned log_n);

 private:
  SmallTables<W> tables_;
  std::unique_ptr<const SpectralTables> spectral_;  // null for words of 64 bits
  const kernels::SmallKernels<W>& kernels_;
};

/// Uniform residues: words of the stream (two 32-bit halves, low one first, for q < 2^31), masked to bits(q) bits,
/// rejected when >= q. `count` of them.
template <class W>
void sample_small(W* dst, std::size_t count, W q, unsigned bits, Stream& stream) noexcept;

}  // namespace ringforge
