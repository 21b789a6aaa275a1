// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/barrett.hpp"

#include <algorithm>

#include "cyclotomic.hpp"
#include "limb_kernels.hpp"
#include "ringforge/error.hpp"

namespace ringforge {

template <class Word>
BarrettReductionOf<Word>::BarrettReductionOf(const Ring& ring, std::shared_ptr<const PrimeOf<Word>> prime)
    : degree_(ring.degree()), prime_(std::move(prime)), mu_(ring.transform_length()), phi_(ring.transform_length()) {
  if (ring.kind() != RingKind::padded || prime_->table().n != ring.transform_length())
    throw ParameterError("Barrett reduction is for a padded ring and a prime of it, not " + ring.name());
  if (sizeof(Word) == 8 && degree_ % 16 != 0)
    throw ParameterError("Barrett reduction in words of 64 bits takes degrees that 16 divides, not that of " +
                         ring.name());
  const CyclotomicReduction cyclotomic(ring.index());
  const auto& table = prime_->table();
  // Phi_m is a palindrome: mu is that of 1/Phi_m.
  mu_.zero();
  phi_.zero();
  cyclotomic.series(mu_.data(), degree_ + 1, true, table.mod);
  std::reverse(mu_.data(), mu_.data() + degree_ + 1);
  cyclotomic.series(phi_.data(), degree_ + 1, false, table.mod);
  limb_kernels<Word>().ntt_forward(mu_.data(), mu_.data(), table);
  limb_kernels<Word>().ntt_forward(phi_.data(), phi_.data(), table);
}

template <class Word>
void BarrettReductionOf<Word>::transform(Word* dst, const Word* src) const noexcept {
  const auto& table = prime_->table();
  if constexpr (sizeof(Word) == 4) {
    limb_kernels<Word>().ntt_forward_short(dst, src, degree_ - 1, table);
  } else {
    if (dst != src) std::copy_n(src, degree_ - 1, dst);
    std::fill(dst + degree_ - 1, dst + table.n, Word{0});
    limb_kernels<Word>().ntt_forward(dst, dst, table);
  }
}

template <class Word>
void BarrettReductionOf<Word>::reduce(Word* dst, const Word* a, Word* room) const noexcept {
  const auto& k = limb_kernels<Word>();
  const auto& table = prime_->table();
  transform(room, a + degree_);
  k.mul(room, room, mu_.data(), table.n, table.mod);
  k.ntt_inverse(room, room, table);
  std::copy_n(room + degree_, degree_ - 1, room);
  transform(room, room);
  k.mul(room, room, phi_.data(), table.n, table.mod);
  k.ntt_inverse(room, room, table);
  k.sub(dst, a, room, degree_, table.mod);
}

template class BarrettReductionOf<u32>;
template class BarrettReductionOf<u64>;

}  // namespace ringforge
