// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials over GF(2) modulo Phi_m, for tests.
#pragma once

#include <vector>

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

/// Phi_m modulo 2 by division of X^m - 1, and products modulo it, bit by bit.
struct Gf2 {
  std::vector<int> phi;
  explicit Gf2(u64 m) : phi(of(m)) {}
  static std::vector<int> of(u64 m) {
    std::vector<int> r(m + 1, 0);
    r[0] = r[m] = 1;
    for (u64 d = 1; d < m; ++d) {
      if (m % d != 0) continue;
      const std::vector<int> by = d == 1 ? std::vector<int>{1, 1} : of(d);
      std::vector<int> quotient(r.size() - by.size() + 1, 0);
      for (std::size_t i = quotient.size(); i-- > 0;)
        if ((quotient[i] = r[i + by.size() - 1]) != 0)
          for (std::size_t k = 0; k < by.size(); ++k) r[i + k] ^= by[k];
      r = quotient;
    }
    return r;
  }
  Bits mul(const Bits& a, const Bits& b) const {
    const std::size_t n = phi.size() - 1;
    std::vector<int> r(2 * n, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (a[i] != 0)
        for (std::size_t k = 0; k < n; ++k) r[i + k] ^= b[k];
    for (std::size_t i = r.size(); i-- > n;)
      if (r[i] != 0)
        for (std::size_t k = 0; k <= n; ++k) r[i - n + k] ^= phi[k];
    return Bits(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(n));
  }
};

}  // namespace ringforge::ltv
