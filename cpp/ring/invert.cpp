// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/invert.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "ringforge/constant_time.hpp"
#include "ringforge/threads.hpp"
#include "tensor.hpp"

namespace ringforge {
namespace {

/// Arithmetic on elements modulo one prime, in Coeff form.
template <class Word>
class Field {
 public:
  Field(const Ring& ring, const PrimeOf<Word>& prime)
      : ring_(ring), prime_(prime), frobenius_(prime.value() % ring.index()) {}

  ~Field() { prime_.transform().forget(); }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  std::size_t degree() const noexcept { return ring_.degree(); }

  /// dst = a * b; dst may be either.
  void multiply(Word* dst, const Word* a, const Word* b) { limb_product(dst, a, b, prime_); }
  /// dst = a^(p^k); dst is not a.
  void frobenius(Word* dst, const Word* a, u64 k) {
    prime_.transform().automorphism(dst, a, ring_.power(frobenius_, k));
  }
  /// The order of the automorphism X -> X^p.
  u64 order() const {
    u64 d = 1;
    for (u64 g = frobenius_; g != 1; g = ring_.compose(g, frobenius_)) ++d;
    return d;
  }
  /// dst = the product of a^(p^i) over i < count, count >= 1; dst is not a.
  void conjugates(Word* dst, const Word* a, u64 count) {
    SecretArray<Word> moved(degree());
    std::copy_n(a, degree(), dst);
    u64 done = 1;
    for (auto bit = static_cast<unsigned>(std::bit_width(count)) - 1; bit-- > 0;) {
      frobenius(moved.data(), dst, done);
      multiply(dst, dst, moved.data());
      done *= 2;
      if ((count >> bit & 1) == 0) continue;
      frobenius(moved.data(), dst, 1);
      multiply(dst, moved.data(), a);
      ++done;
    }
  }
  /// dst = a^e by windows of up to 4 bits, e > 0 public; dst is not a.
  void power(Word* dst, const Word* a, u64 e) {
    SecretArray<Word> odd(8 * degree()), square(degree());  // a, a^3, ..., a^15
    multiply(square.data(), a, a);
    std::copy_n(a, degree(), odd.data());
    for (std::size_t i = 1; i < 8; ++i)
      multiply(odd.data() + i * degree(), odd.data() + (i - 1) * degree(), square.data());
    bool begun = false;
    for (auto left = static_cast<unsigned>(std::bit_width(e)); left > 0;) {
      if ((e >> (left - 1) & 1) == 0) {
        multiply(dst, dst, dst);
        --left;
        continue;
      }
      unsigned low = left < 4 ? 0 : left - 4;
      while ((e >> low & 1) == 0) ++low;
      const Word* factor = odd.data() + (e >> low & ((u64{1} << (left - low)) - 1)) / 2 * degree();
      if (begun) {
        for (; left > low; --left) multiply(dst, dst, dst);
        multiply(dst, dst, factor);
      } else {
        std::copy_n(factor, degree(), dst);
        begun = true;
      }
      left = low;
    }
  }

 private:
  const Ring& ring_;
  const PrimeOf<Word>& prime_;
  u64 frobenius_;
};

/// Whether a has an inverse modulo the prime; it goes to dst.
template <class Word>
bool invert_limb(Word* dst, const Word* a, const Ring& ring, const PrimeOf<Word>& prime) {
  Field<Word> field(ring, prime);
  const std::size_t n = ring.degree();
  SecretArray<Word> others(n), norm(n), one(n);
  const u64 d = field.order();
  if (d == 1) {
    field.power(dst, a, prime.value() - 2);
  } else {
    field.conjugates(norm.data(), a, d - 1);
    field.frobenius(others.data(), norm.data(), 1);
    field.multiply(norm.data(), others.data(), a);
    field.power(dst, norm.data(), prime.value() - 2);
    field.multiply(dst, dst, others.data());
  }
  field.multiply(one.data(), a, dst);
  // 1 is X^0, or in tensor rings the product of -(zeta + ... + zeta^(p-1)) over the primes p of the index.
  const bool tensor = ring.kind() == RingKind::tensor;
  const Word first =
      tensor && TensorShape(ring.index()).dims() % 2 == 1 ? static_cast<Word>(prime.value() - 1) : Word{1};
  Word rest = one.data()[0] ^ first;
  for (std::size_t i = 1; i < n; ++i) rest |= one.data()[i] ^ (tensor ? first : Word{0});
  return declassified(rest == 0);  // what has no inverse is thrown away
}

}  // namespace

template <class Word>
std::optional<Poly<Coeff, Word>> invert(const Poly<Coeff, Word>& a, unsigned threads) {
  std::optional<Poly<Coeff, Word>> result(std::in_place, a.basis());
  std::atomic<bool> all{true};
  parallel_for(threads, a.limbs(), [&](std::size_t i) {
    if (!invert_limb(result->limb(i), a.limb(i), a.basis().ring(), a.basis()[i])) all = false;
  });
  if (!all) {
    result->wipe();
    result.reset();
  }
  return result;
}

template std::optional<Poly<Coeff, u32>> invert(const Poly<Coeff, u32>&, unsigned);
template std::optional<Poly<Coeff, u64>> invert(const Poly<Coeff, u64>&, unsigned);

}  // namespace ringforge
