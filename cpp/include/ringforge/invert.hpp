// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inverses of ring elements modulo each prime of a basis.
#pragma once

#include <optional>

#include "ringforge/ring.hpp"

namespace ringforge {

/// 1/a modulo every prime of its basis; nothing when a has no inverse modulo one of them. In any ring, also where
/// primes do not split the cyclotomic polynomial, as those of padded rings rarely do.
///
/// Itoh and Tsujii (Information and Computation 78, 1988): modulo a prime p, a^p is the automorphism X -> X^p, of order
/// d; the product N of all d conjugates lies in a product of fields of p elements, so that 1/N = N^(p-2), and
/// 1/a = N^(p-2) * (the product of the other conjugates). About 2*log2(d) + 1.2*log2(p) products a prime, each prime a
/// task of its own on at most `threads` threads. What is computed does not depend on the value of a, which may be
/// secret; intermediate values are wiped.
template <class Word>
std::optional<Poly<Coeff, Word>> invert(const Poly<Coeff, Word>& a, unsigned threads = 1);

}  // namespace ringforge
