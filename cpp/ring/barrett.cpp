// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/barrett.hpp"

#include <algorithm>

#include "cyclotomic.hpp"
#include "limb_kernels.hpp"
#include "ringforge/error.hpp"

namespace ringforge {

BarrettReduction::BarrettReduction(const Ring& ring, std::shared_ptr<const PrimeOf<u32>> prime)
    : degree_(ring.degree()), prime_(std::move(prime)), mu_(ring.transform_length()), phi_(ring.transform_length()) {
  if (ring.kind() != RingKind::padded || prime_->table().n != ring.transform_length())
    throw ParameterError("Barrett reduction is for a padded ring and a prime of it, not " + ring.name());
  const CyclotomicReduction cyclotomic(ring.index());
  const auto& table = prime_->table();
  // Phi_m is a palindrome: mu is that of 1/Phi_m.
  mu_.zero();
  phi_.zero();
  cyclotomic.series(mu_.data(), degree_ + 1, true, table.mod);
  std::reverse(mu_.data(), mu_.data() + degree_ + 1);
  cyclotomic.series(phi_.data(), degree_ + 1, false, table.mod);
  limb_kernels<u32>().ntt_forward(mu_.data(), mu_.data(), table);
  limb_kernels<u32>().ntt_forward(phi_.data(), phi_.data(), table);
}

void BarrettReduction::reduce(u32* dst, const u32* a, u32* room) const noexcept {
  const auto& k = limb_kernels<u32>();
  const auto& table = prime_->table();
  k.ntt_forward_short(room, a + degree_, degree_ - 1, table);
  k.mul(room, room, mu_.data(), table.n, table.mod);
  k.ntt_inverse(room, room, table);
  std::copy_n(room + degree_, degree_ - 1, room);
  k.ntt_forward_short(room, room, degree_ - 1, table);
  k.mul(room, room, phi_.data(), table.n, table.mod);
  k.ntt_inverse(room, room, table);
  k.sub(dst, a, room, degree_, table.mod);
}

}  // namespace ringforge
