// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Every kernel set of 32-bit words against `ref`, bit for bit, and `ref` against sums in exact integers.
#include "ringforge/kernels32.hpp"

#include "support.hpp"

namespace ringforge::test {
namespace {

using Words = std::vector<u32>;

std::vector<const kernels::Kernels32*> sets() {
  std::vector<const kernels::Kernels32*> all;
  for (const auto* k : kernels::available()) all.push_back(kernels::find32(k->name));
  return all;
}

Words random_words(std::size_t n, u32 bound, unsigned seed) {
  std::mt19937_64 rng(seed);
  Words x(n);
  for (auto& w : x) w = static_cast<u32>(rng() % bound);
  x[0] = bound - 1;
  x[n - 1] = 0;
  return x;
}

/// Rings whose transforms have 2^log_n words: for a padded one, a prime index above a quarter of that.
std::vector<Ring> rings(unsigned log_n) {
  u64 m = (u64{1} << (log_n - 2)) + 3;
  while (!is_prime(m)) m += 2;
  std::vector<Ring> r{Ring::negacyclic(log_n), Ring::cyclotomic(m)};
  if (log_n == 16) r.push_back(Ring::cyclotomic(65535));
  return r;
}

TEST(Kernels32, EverySetIsFoundByName) {
  for (const auto* k : kernels::available()) {
    ASSERT_NE(kernels::find32(k->name), nullptr);
    EXPECT_STREQ(kernels::find32(k->name)->name, k->name);
  }
  EXPECT_EQ(kernels::find32("none"), nullptr);
  EXPECT_STREQ(kernels::active32().name, kernels::active().name);
}

TEST(Kernels32, TransformsAgreeBitForBit) {
  const auto& ref = *kernels::find32("ref");
  for (unsigned log_n = 4; log_n <= 17; ++log_n)
    for (const Ring& ring : rings(log_n)) {
      const unsigned bits[] = {log_n > 14 ? 24U : 20U, 27, 31};
      for (const unsigned b : bits) {
        if (b != 31 && log_n > 13 && log_n != 16) continue;
        const auto prime = PrimeOf<u32>::get(primes_below(b, 1, ring.prime_step())[0], ring);
        const auto& t = prime->table();
        const std::size_t n = t.n;
        const auto q = static_cast<u32>(t.mod.q);
        ASSERT_EQ(n, std::size_t{1} << log_n);
        for (const Words& x : {random_words(n, q, log_n), Words(n, q - 1)}) {
          Words forward(n), inverse(n), half(n), part(n), y(n);
          ref.ntt_forward(forward.data(), x.data(), t);
          ref.ntt_inverse(inverse.data(), x.data(), t);
          ref.ntt_forward_short(half.data(), x.data(), n / 2, t);
          ref.ntt_forward_short(part.data(), x.data(), n / 4 + 1, t);
          Words zeros(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n / 2));
          zeros.resize(n);
          ref.ntt_forward(y.data(), zeros.data(), t);
          EXPECT_EQ(y, half);
          for (const auto* k : sets()) {
            const std::string what = std::string(k->name) + " " + ring.name() + " " + std::to_string(b);
            k->ntt_forward(y.data(), x.data(), t);
            EXPECT_TRUE(y == forward) << what;
            k->ntt_inverse(y.data(), y.data(), t);
            EXPECT_TRUE(y == x) << what;
            k->ntt_inverse(y.data(), x.data(), t);
            EXPECT_TRUE(y == inverse) << what;
            k->ntt_forward(y.data(), y.data(), t);
            EXPECT_TRUE(y == x) << what;
            k->ntt_forward_short(y.data(), x.data(), n / 2, t);
            EXPECT_TRUE(y == half) << what;
            y = x;
            k->ntt_forward_short(y.data(), y.data(), n / 2, t);
            EXPECT_TRUE(y == half) << what;
            k->ntt_forward_short(y.data(), x.data(), n / 4 + 1, t);
            EXPECT_TRUE(y == part) << what;
          }
        }
        const Words x = random_words(n, q, 1), other = random_words(n, q, 2);
        Words expected(n), square(n), y(n), work(n);
        for (const std::size_t count : {n / 2, n / 4 + 1}) {
          ref.ntt_forward_short(expected.data(), x.data(), count, t);
          ref.ntt_forward_short(y.data(), other.data(), count, t);
          ref.mul(square.data(), expected.data(), expected.data(), n, t.mod);
          ref.mul(expected.data(), expected.data(), y.data(), n, t.mod);
          ref.ntt_inverse(expected.data(), expected.data(), t);
          ref.ntt_inverse(square.data(), square.data(), t);
          for (const auto* k : sets()) {
            k->ntt_product(y.data(), x.data(), other.data(), count, work.data(), t);
            EXPECT_TRUE(y == expected) << k->name << " " << ring.name() << " " << b;
            k->ntt_product(y.data(), x.data(), x.data(), count, work.data(), t);
            EXPECT_TRUE(y == square) << k->name << " " << ring.name() << " " << b;
          }
        }
        for (const u32 p : {q, 0x7fffffffU, (u32{1} << 17) - 1}) {
          Words x = random_words(n, p, log_n + 1), lifted(n), y(n);
          x[1] = p / 2;
          x[2] = p / 2 + 1;
          for (std::size_t i = 0; i < n; ++i) {
            const i64 c = (i64{x[i]} - (x[i] > p / 2 ? i64{p} : 0)) % i64{q};
            lifted[i] = static_cast<u32>(c < 0 ? c + q : c);
          }
          ref.ntt_forward(lifted.data(), lifted.data(), t);
          for (const auto* k : sets()) {
            k->ntt_forward_lift(y.data(), x.data(), p, t);
            EXPECT_TRUE(y == lifted) << k->name << " " << n << " " << b << " " << p;
          }
        }
      }
    }
}

TEST(Kernels32, OperationsOnWordsAreExact) {
  for (const u64 q : {primes_below(17, 1, 16)[0], primes_below(27, 1, 16)[0], primes_below(31, 1, 16)[0]}) {
    const auto m = kernels::make_modulus(q);
    constexpr std::size_t n = 80;  // not a multiple of what the sets take at once
    const auto bound = static_cast<u32>(q);
    const Words a = random_words(n, bound, 1), c = random_words(n, bound, 3), top(n, bound - 1);
    Words b = random_words(n, bound, 2);
    b[0] = bound - 1;
    for (const auto* k : sets()) {
      for (std::size_t count = 1; count <= n; ++count) {
        Words sum(n + 1, 7), difference(n + 1, 7);
        k->add(sum.data() + 1, a.data() + (n - count), b.data() + (n - count), count, m);
        k->sub(difference.data() + 1, a.data() + (n - count), b.data() + (n - count), count, m);
        for (std::size_t i = 0; i < n; ++i) {
          const u64 x = a[(n - count + i) % n], y = b[(n - count + i) % n];
          ASSERT_EQ(sum[i + 1], i < count ? (x + y) % q : 7) << k->name;
          ASSERT_EQ(difference[i + 1], i < count ? (x + q - y) % q : 7) << k->name;
        }
      }
      Words y(n);
      k->neg(y.data(), a.data(), n, m);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], (q - a[i]) % q) << k->name;
      k->mul(y.data(), a.data(), b.data(), n, m);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], u64{a[i]} * b[i] % q) << k->name;
      y = c;
      k->mul_add(y.data(), a.data(), b.data(), n, m);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], (u64{a[i]} * b[i] + c[i]) % q) << k->name;
      for (const std::size_t count : {1, 2, 3, 8, 81, 1000})
        for (const bool accumulate : {false, true})
          for (const std::size_t size : {16, 32, 48, 80}) {
            std::vector<const u32*> xs, ys;
            for (std::size_t d = 0; d < count; ++d) {
              xs.push_back(d % 3 == 1 ? a.data() : top.data());
              ys.push_back(d % 3 == 1 ? b.data() : top.data());
            }
            y = c;
            k->dot(y.data(), xs.data(), ys.data(), count, accumulate, size, m);
            for (std::size_t i = 0; i < size; ++i) {
              u64 sum = accumulate ? c[i] : 0;
              for (std::size_t d = 0; d < count; ++d) sum = (sum + u64{xs[d][i]} * ys[d][i]) % q;
              ASSERT_EQ(y[i], sum) << k->name << " " << count << " terms";
            }
          }
      std::vector<i64> wide(n);
      std::mt19937_64 rng(5);
      for (auto& x : wide) x = static_cast<i64>(rng());
      k->reduce_signed(y.data(), wide.data(), n, m);
      for (std::size_t i = 0; i < n; ++i) {
        const i64 r = wide[i] % static_cast<i64>(q);
        ASSERT_EQ(y[i], r < 0 ? r + static_cast<i64>(q) : r) << k->name;
      }
      Words index(n);
      for (std::size_t i = 0; i < n; ++i) index[i] = static_cast<u32>(i * 7 % n);
      k->automorphism_eval(y.data(), a.data(), index.data(), n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], a[index[i]]) << k->name;
      k->automorphism_coeff(y.data(), a.data(), 5, 64, m);
      for (std::size_t i = 0; i < 64; ++i)
        ASSERT_EQ(y[i * 5 % 64], i * 5 % 128 < 64 ? a[i] : (q - a[i]) % q) << k->name;
    }
  }
}

}  // namespace
}  // namespace ringforge::test
