// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernels of small rings: `ref` against the definitions, and every set against `ref`, bit for bit.
#include <functional>
#include <limits>

#include "ringforge/small_tables.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using kernels::Cut;
using kernels::CutPoly;
using kernels::SmallKernels;
using kernels::SmallNtt;

/// Words of W, aligned.
template <class W>
class Words {
 public:
  explicit Words(std::size_t n) : size_(n), data_((n * sizeof(W) + 7) / 8 + 8) { data_.zero(); }
  W* data() { return reinterpret_cast<W*>(data_.data()); }
  const W* data() const { return reinterpret_cast<const W*>(data_.data()); }
  W& operator[](std::size_t i) { return data()[i]; }
  W operator[](std::size_t i) const { return data()[i]; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  WordBuffer data_;
};

enum class Fill { Mixed, Most, Limits };

/// Residues: random with edges, all q - 1, or those at the limits of digits.
template <class W>
Words<W> residues(std::size_t n, W q, std::mt19937_64& rng, Fill fill = Fill::Mixed) {
  Words<W> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto kind = rng() % 16;
    x[i] = static_cast<W>(rng() % q);
    if (kind == 0) x[i] = q - 1;
    if (kind == 1) x[i] = 0;
    if (kind == 2) x[i] = q / 2;
    if (kind == 3) x[i] = q / 2 + 1;
    if (fill == Fill::Most) x[i] = q - 1;
    if (fill == Fill::Limits)
      x[i] = (i & 1) == 0 ? q / 2 + kind % 2 : static_cast<W>((W{1} << (rng() % 20)) - kind % 2);
  }
  return x;
}

/// Cuts that fill q, leave digits over, drop bits, and are plain.
std::vector<Cut> cuts(unsigned bits) {
  std::vector<Cut> list;
  for (const unsigned log_base : {1U, 5U, 7U, 9U, 16U, 27U}) {
    if (log_base > bits || (log_base == 1 && bits > 40)) continue;
    const unsigned count = (bits + log_base - 1) / log_base;
    list.push_back({log_base, count, 0, true});
    list.push_back({log_base, count, 0, false});
    if (count > 1) {
      list.push_back({log_base, count - 1, bits - log_base * (count - 1), true});
      list.push_back({log_base, count + 1, 0, true});
      list.push_back({log_base, count + 1, 0, false});
    }
  }
  list.push_back({bits, 1, 0, true});
  list.push_back({bits, 1, 0, false});
  list.push_back({4, 2, bits - 8, true});
  return list;
}

struct Case {
  unsigned bits;
  u64 q = 0;  ///< the largest prime of that size if 0
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.bits << " bits"; }

template <class W>
void agree(const Case& c) {
  const SmallKernels<W>& ref = *kernels::small_find<W>("ref");
  for (const unsigned log_n : {8U, 9U, 10U, 11U, 12U}) {
    const std::size_t n = std::size_t{1} << log_n;
    const u64 prime = c.q != 0 ? c.q : primes_below(c.bits, 1, 2 * n)[0];
    if (prime % (2 * n) != 1) continue;
    const auto q = static_cast<W>(prime);
    const SmallTables<W> tables(q, log_n);
    const SmallNtt<W>& t = tables.ntt();
    std::vector<const SmallKernels<W>*> sets;
    for (const auto* each : kernels::available()) {
      sets.push_back(kernels::small_find<W>(each->name));
      ASSERT_STREQ(sets.back()->name, each->name);
    }
    {
      std::mt19937_64 rng(c.bits * 100 + log_n);
      const auto check = [&](const std::string& op, std::size_t size,
                             const std::function<void(const SmallKernels<W>&, W*)>& f) {
        Words<W> a(size), b(size);
        f(ref, a.data());
        for (const auto* set : sets) {
          f(*set, b.data());
          for (std::size_t i = 0; i < size; ++i) {
            ASSERT_EQ(a[i], b[i]) << op << " of " << set->name << " differs at " << i << ", n = " << n << ", q = " << q;
            ASSERT_LT(a[i], q) << op;
          }
        }
      };
      const auto in_place = [&](const Words<W>& x, W* o) { std::memcpy(o, x.data(), n * sizeof(W)); };
      for (const Fill fill : {Fill::Mixed, Fill::Most, Fill::Limits}) {
        if (fill == Fill::Limits && log_n > 10) continue;
        const auto x = residues(n, q, rng, fill), y = residues(n, q, rng);
        check("forward", n, [&](auto& k, W* o) { k.forward(o, x.data(), t); });
        check("inverse", n, [&](auto& k, W* o) { k.inverse(o, x.data(), t); });
        check("both in place", n, [&](auto& k, W* o) {
          in_place(x, o);
          k.forward(o, o, t);
          k.mul(o, o, o, t);
          k.inverse(o, o, t);
        });
        check("add", n, [&](auto& k, W* o) { k.add(o, x.data(), y.data(), t); });
        check("sub", n, [&](auto& k, W* o) { k.sub(o, x.data(), y.data(), t); });
        check("mul", n, [&](auto& k, W* o) { k.mul(o, x.data(), y.data(), t); });
        for (const W w : {W{0}, W{1}, static_cast<W>(q - 1), static_cast<W>(rng() % q)})
          check("mul_scalar", n, [&](auto& k, W* o) { k.mul_scalar(o, x.data(), w, t); });
        for (const std::size_t r : {std::size_t{0}, std::size_t{1}, std::size_t{16}, n - 1, n, n + 1, 2 * n - 1,
                                    static_cast<std::size_t>(rng() % (2 * n))}) {
          check("rotate", n, [&](auto& k, W* o) { k.rotate(o, x.data(), r, t); });
          check("rotate_sub", n, [&](auto& k, W* o) { k.rotate_sub(o, x.data(), r, t); });
          check("automorphism", n, [&](auto& k, W* o) { k.automorphism(o, x.data(), r | 1, t); });
        }
        for (const Cut& cut : cuts(c.bits)) {
          const std::string name = "cut by " + std::to_string(cut.log_base) + " drop " + std::to_string(cut.drop) +
                                   (cut.balanced ? " balanced" : " plain");
          check(name, n * cut.count, [&](auto& k, W* o) { k.cut(o, x.data(), cut, t); });
          const std::size_t rows = 2 * cut.count;
          if (rows > 64) continue;
          const auto key = residues(2 * n * rows, q, rng, fill == Fill::Limits ? Fill::Most : fill);
          Words<W> scratch(n * rows);
          check("gadget product, " + name, 2 * n, [&](auto& k, W* o) {
            const CutPoly<W> polys[] = {{x.data(), cut}, {y.data(), cut}};
            k.gadget_product(o, o + n, polys, 2, key.data(), scratch.data(), t);
          });
          check("gadget product in place, " + name, 2 * n, [&](auto& k, W* o) {
            in_place(x, o);
            in_place(y, o + n);
            const CutPoly<W> polys[] = {{o + n, cut}, {o, cut}};
            k.gadget_product(o, o + n, polys, 2, key.data(), scratch.data(), t);
          });
        }
        const Cut most{1, 32, 0, true};
        if (c.bits < 32) {
          const auto key = residues(128 * n, q, rng, fill);
          Words<W> scratch(64 * n);
          check("gadget product of 64 rows", 2 * n, [&](auto& k, W* o) {
            const CutPoly<W> polys[] = {{x.data(), most}, {y.data(), most}};
            k.gadget_product(o, o + n, polys, 2, key.data(), scratch.data(), t);
          });
        }
        for (const std::size_t count : {0U, 1U, 2U, 5U, 8U, 17U, 64U, 130U}) {
          const auto a = residues(count * n, q, rng, fill), b = residues(2 * count * n, q, rng, fill);
          for (const bool accumulate : {false, true})
            check("dot of " + std::to_string(count), 2 * n, [&](auto& k, W* o) {
              in_place(x, o);
              in_place(y, o + n);
              k.dot(o, o + n, a.data(), b.data(), count, accumulate, t);
            });
        }
      }
    }
  }
}

class Small32 : public testing::TestWithParam<Case> {};
class Small64 : public testing::TestWithParam<Case> {};
TEST_P(Small32, SetsAgree) { agree<u32>(GetParam()); }
TEST_P(Small64, SetsAgree) { agree<u64>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(PrimeBits, Small32,
                         testing::Values(Case{20}, Case{26}, Case{27}, Case{28}, Case{29}, Case{30}, Case{31}));
INSTANTIATE_TEST_SUITE_P(PrimeBits, Small64,
                         testing::Values(Case{20}, Case{35}, Case{37}, Case{49}, Case{50}, Case{51},
                                         Case{54, 0x3FFFFFFFFED001}, Case{54}, Case{60}, Case{61}));

template <class W>
void check_definitions(unsigned bits) {
  const unsigned log_n = 8;
  const std::size_t n = std::size_t{1} << log_n;
  const auto q = static_cast<W>(primes_below(bits, 1, 2 * n)[0]);
  const SmallTables<W> tables(q, log_n);
  const SmallNtt<W>& t = tables.ntt();
  const SmallKernels<W>& k = kernels::small_active<W>();
  using Int = __int128;
  std::mt19937_64 rng(bits);
  const auto x = residues(n, q, rng), y = residues(n, q, rng);
  Words<W> a(n), b(n);
  k.forward(a.data(), x.data(), t);
  k.forward(b.data(), y.data(), t);
  k.mul(a.data(), a.data(), b.data(), t);
  k.inverse(a.data(), a.data(), t);
  for (std::size_t i = 0; i < n; ++i) {
    Int sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const Int term = static_cast<Int>(x[j]) * y[(i - j) & (n - 1)] % q;
      sum += j <= i ? term : q - term;
    }
    ASSERT_EQ(a[i], static_cast<W>(sum % q)) << "product at " << i;
  }
  for (const Cut& cut : cuts(bits)) {
    Words<W> digits(n * cut.count);
    k.cut(digits.data(), x.data(), cut, t);
    for (std::size_t i = 0; i < n; ++i) {
      Int sum = 0;
      for (unsigned j = 0; j < cut.count; ++j) {
        const Int raw = digits[j * n + i], d = cut.balanced && raw > q / 2 ? raw - q : raw;
        const Int base = Int{1} << cut.log_base;
        if (cut.balanced && base < q) {
          ASSERT_LE(d < 0 ? -d : d, base / 2);
        } else if (!cut.balanced) {
          ASSERT_LT(d, base);
        }
        sum += d << (cut.log_base * j + cut.drop);
      }
      Int rest = (sum - x[i]) % q;
      if (rest > q / 2) rest -= q;
      if (rest < -static_cast<Int>(q / 2)) rest += q;
      ASSERT_LE(rest < 0 ? -rest : rest, cut.drop == 0 ? 0 : Int{1} << (cut.drop - 1)) << "cut " << cut.log_base;
    }
  }
}

TEST(SmallKernels, FollowTheirDefinitions) {
  check_definitions<u32>(26);
  check_definitions<u32>(27);
  check_definitions<u32>(31);
  check_definitions<u64>(35);
  check_definitions<u64>(50);
  check_definitions<u64>(54);
}

TEST(SmallTables, RefuseWhatTheyCannotHold) {
  EXPECT_THROW(SmallTables<u32>(12289, 10), ParameterError);
  EXPECT_THROW(SmallTables<u32>(static_cast<u32>(primes_below(32, 1, 2048)[0]), 10), ParameterError);
  EXPECT_THROW(SmallTables<u32>(static_cast<u32>(primes_below(27, 1, 2048)[0]), 7), ParameterError);
  EXPECT_THROW(SmallTables<u64>(primes_below(50, 1, 2048)[0], 13), ParameterError);
  EXPECT_THROW(SmallTables<u64>(primes_below(50, 1, 2048)[0] - 2, 10), ParameterError);
}

}  // namespace
}  // namespace ringforge::test
