// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Every kernel set against `ref`, bit for bit, in C++ so that the sanitizers see the vector code. The
// property-based suite is python/tests/conformance.
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

#include "ringforge/packing.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using kernels::Kernels;

struct Data {
  std::size_t n;
  u64 q;
  std::mt19937_64 rng;
  WordBuffer residues(u64 limit) {
    WordBuffer b(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto kind = rng() % 8;
      b.data()[i] = kind == 0 ? limit - 1 : kind == 1 ? 0 : rng() % limit;
    }
    return b;
  }
};

void expect_same(const WordBuffer& a, const WordBuffer& b, const char* op, const Kernels& set, u64 q) {
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(a.data()[i], b.data()[i]) << op << " of " << set.name << " differs at " << i << ", q = " << q;
}

class KernelSets : public testing::TestWithParam<unsigned> {};

TEST_P(KernelSets, AgreeWithReference) {
  const unsigned bits = GetParam();
  const Kernels& ref = *kernels::find("ref");
  for (const unsigned log_n : {4U, 6U, 10U, 12U}) {
    const std::size_t n = std::size_t{1} << log_n;
    const Ring ring = Ring::negacyclic(log_n);
    const auto prime = Prime::get(primes_below(bits, 1, u64{2} << log_n)[0], ring);
    const auto other = Prime::get(primes_below(bits == 61 ? 60 : bits + 1, 1, u64{2} << log_n)[0], ring);
    const auto& m = prime->mod();
    const u64 q = m.q;
    for (const Kernels* set : kernels::available()) {
      Data d{n, q, std::mt19937_64(bits * 100 + log_n)};
      // out(set) computes one operation with one set; compared with the reference.
      const auto check = [&](const char* op, const std::function<void(const Kernels&, u64*)>& f) {
        WordBuffer a(n), b(n);
        a.zero();
        b.zero();
        f(ref, a.data());
        f(*set, b.data());
        expect_same(a, b, op, *set, q);
      };
      const WordBuffer x = d.residues(q), y = d.residues(q), acc = d.residues(q), lazy = d.residues(4 * q);
      const WordBuffer lazy2 = d.residues(2 * q);
      const WordBuffer small = d.residues((u64{1} << 19) - 1);
      const WordBuffer wide = d.residues(bits <= 50 ? u64{1} << 52 : std::numeric_limits<u64>::max());
      const auto factor = kernels::make_factor(q - 3, m);
      check("ntt", [&](const Kernels& k, u64* o) { k.ntt_forward(o, lazy.data(), prime->table()); });
      check("intt", [&](const Kernels& k, u64* o) { k.ntt_inverse(o, lazy2.data(), prime->table()); });
      check("ntt of a lift", [&](const Kernels& k, u64* o) { k.ntt_forward_lift(o, x.data(), q, other->table()); });
      check("ntt of a lift from below",
            [&](const Kernels& k, u64* o) { k.ntt_forward_lift(o, small.data(), (u64{1} << 19) - 1, prime->table()); });
      for (const unsigned packed : {1U, 17U, 20U, 31U, 32U}) {
        // At an odd place, as long as is read: the sanitizers see more.
        std::vector<u64> words(n);
        for (std::size_t i = 0; i < n; ++i) words[i] = small.data()[i] & ((u64{1} << packed) - 1);
        std::vector<std::uint8_t> bytes(1 + packed_bytes(n, packed));
        pack_bits(bytes.data() + 1, words.data(), n, packed);
        const u64 p = (u64{1} << 19) - 1;
        WordBuffer a(n), b(n), work(n);
        check("ntt of packed residues", [&](const Kernels& k, u64* o) {
          k.ntt_packed_head(o, work.data(), bytes.data() + 1, packed, p, prime->table());
          // From the last tile to the first: they have nothing to do with each other.
          const std::size_t tile = std::min(n, kernels::kNttTile);
          for (std::size_t first = n; first != 0; first -= tile)
            k.ntt_finish(o, first - tile, tile, first > tile ? o - tile : nullptr, prime->table());
        });
        std::copy(words.begin(), words.end(), a.data());
        ref.ntt_forward_lift(a.data(), a.data(), p, prime->table());
        ref.ntt_packed_head(b.data(), work.data(), bytes.data() + 1, packed, p, prime->table());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), n * 8), 0) << packed;
      }
      check("ntt in place", [&](const Kernels& k, u64* o) {
        std::memcpy(o, x.data(), n * 8);
        k.ntt_forward(o, o, prime->table());
        k.ntt_inverse(o, o, prime->table());
      });
      check("add", [&](const Kernels& k, u64* o) { k.add(o, x.data(), y.data(), n, m); });
      check("sub", [&](const Kernels& k, u64* o) { k.sub(o, x.data(), y.data(), n, m); });
      check("neg", [&](const Kernels& k, u64* o) { k.neg(o, x.data(), n, m); });
      check("mul", [&](const Kernels& k, u64* o) { k.mul(o, x.data(), y.data(), n, m); });
      check("mul_add", [&](const Kernels& k, u64* o) {
        std::memcpy(o, acc.data(), n * 8);
        k.mul_add(o, x.data(), y.data(), n, m);
      });
      check("add_scalar", [&](const Kernels& k, u64* o) { k.add_scalar(o, x.data(), q - 1, n, m); });
      check("mul_scalar", [&](const Kernels& k, u64* o) { k.mul_scalar(o, wide.data(), factor, n, m); });
      check("sub_mul_scalar",
            [&](const Kernels& k, u64* o) { k.sub_mul_scalar(o, x.data(), lazy.data(), factor, n, m); });
      WordBuffer any(n);
      for (std::size_t i = 0; i < n; ++i) any.data()[i] = d.rng();
      check("reduce", [&](const Kernels& k, u64* o) { k.reduce(o, any.data(), n, m); });
      std::vector<i64> signed_words(n);
      for (auto& w : signed_words) w = static_cast<i64>(d.rng()) >> 2;
      check("reduce_signed", [&](const Kernels& k, u64* o) { k.reduce_signed(o, signed_words.data(), n, m); });
      check("lift_centered", [&](const Kernels& k, u64* o) { k.lift_centered(o, x.data(), q, n, other->mod()); });
      const auto index = ring.eval_index(5);
      check("automorphism_coeff",
            [&](const Kernels& k, u64* o) { k.automorphism_coeff(o, x.data(), 2 * n - 1, n, m); });
      check("automorphism_eval", [&](const Kernels& k, u64* o) { k.automorphism_eval(o, x.data(), index->data(), n); });
      check("automorphism_eval_add", [&](const Kernels& k, u64* o) {
        std::memcpy(o, acc.data(), n * 8);
        k.automorphism_eval_add(o, x.data(), index->data(), n, m);
      });

      for (const std::size_t count : {0U, 1U, 3U, 8U, 9U, 15U, 16U, 65U, 130U}) {
        std::vector<WordBuffer> rows;
        for (std::size_t i = 0; i < 3 * count; ++i) rows.push_back(d.residues(q));
        std::vector<const u64*> px, p0, p1;
        for (std::size_t i = 0; i < count; ++i) {
          px.push_back(rows[3 * i].data());
          p0.push_back(rows[3 * i + 1].data());
          p1.push_back(rows[3 * i + 2].data());
        }
        for (const bool accumulate : {false, true}) {
          WordBuffer second(n);
          check("dot2", [&](const Kernels& k, u64* o) {
            std::memcpy(o, acc.data(), n * 8);
            std::memcpy(second.data(), y.data(), n * 8);
            k.dot2(o, second.data(), px.data(), p0.data(), p1.data(), count, accumulate, n, m);
            for (std::size_t i = 0; i < n; ++i) o[i] ^= second.data()[i] * 3;
          });
        }
        p0.push_back(x.data());
        p1.push_back(y.data());
        check("dot2_twice", [&](const Kernels& k, u64* o) {
          WordBuffer out1(n), out2(n), out3(n);
          u64* const out[4] = {o, out1.data(), out2.data(), out3.data()};
          k.dot2_twice(out, px.data(), p0.data(), p1.data(), count, n, m);
          for (std::size_t i = 0; i < n; ++i) o[i] ^= out1.data()[i] * 3 ^ out2.data()[i] * 5 ^ out3.data()[i] * 7;
        });
        if (count >= 1 && count <= 8) {
          std::vector<double> inverse(count, 1.0 / static_cast<double>(q));
          std::vector<u64> c;
          for (std::size_t i = 0; i < count; ++i) c.push_back(d.rng() % other->value());
          check("base_convert", [&](const Kernels& k, u64* o) {
            WordBuffer v(n);
            k.convert_quotient(v.data(), px.data(), inverse.data(), count, n);
            k.base_convert(o, px.data(), c.data(), count, bits, v.data(), q % other->value(), n, other->mod());
            for (std::size_t i = 0; i < n; ++i) o[i] ^= v.data()[i] << 32;
          });
          check("base_convert without quotient", [&](const Kernels& k, u64* o) {
            k.base_convert(o, px.data(), c.data(), count, bits, nullptr, 0, n, other->mod());
          });
        }
      }
    }
  }
}

/// Lengths differ in which passes they take, and in the pass that begins and ends them.
TEST_P(KernelSets, AgreeOnTransformsOfEveryLength) {
  const unsigned bits = GetParam();
  const Kernels& ref = *kernels::find("ref");
  for (unsigned log_n = 4; log_n <= 16 && log_n + 10 <= bits; ++log_n) {
    const std::size_t n = std::size_t{1} << log_n;
    const auto primes = primes_below(bits, 2, u64{2} << log_n);
    const Ring ring = Ring::negacyclic(log_n);
    const auto prime = Prime::get(primes[0], ring);
    const u64 q = primes[0], p = primes[1];
    Data d{n, q, std::mt19937_64(bits * 100 + log_n)};
    for (const Kernels* set : kernels::available()) {
      const auto check = [&](const char* op, u64 limit,
                             const std::function<void(const Kernels&, u64*, const u64*)>& f) {
        WordBuffer x = d.residues(limit), highest(n), a(n), b(n);
        for (std::size_t i = 0; i < n; ++i) highest.data()[i] = limit - 1;
        for (const WordBuffer* in : {&x, &highest}) {
          f(ref, a.data(), in->data());
          f(*set, b.data(), in->data());
          expect_same(a, b, op, *set, q);
        }
      };
      check("ntt", 4 * q, [&](const Kernels& k, u64* o, const u64* x) { k.ntt_forward(o, x, prime->table()); });
      check("intt", 2 * q, [&](const Kernels& k, u64* o, const u64* x) { k.ntt_inverse(o, x, prime->table()); });
      check("ntt of a lift", p,
            [&](const Kernels& k, u64* o, const u64* x) { k.ntt_forward_lift(o, x, p, prime->table()); });
      check("both in place", q, [&](const Kernels& k, u64* o, const u64* x) {
        std::memcpy(o, x, n * 8);
        k.ntt_forward(o, o, prime->table());
        k.ntt_inverse(o, o, prime->table());
        EXPECT_EQ(std::memcmp(o, x, n * 8), 0) << "2^" << log_n;
      });
    }
  }
}

TEST_P(KernelSets, AgreeOnMatrixProducts) {
  const u64 q = primes_below(GetParam(), 1, 32)[0];
  const auto m = kernels::make_modulus(q);
  struct Shape {
    std::size_t rows, cols, count;
  };
  for (const auto& s : {Shape{16, 16, 0}, {16, 16, 1}, {32, 16, 5}, {16, 48, 64}, {16, 32, 2049}, {16, 16, 4097}}) {
    Data d{s.count * (s.rows + s.cols), q, std::mt19937_64(GetParam())};
    const WordBuffer x = d.residues(q);
    const u64 *a = x.data(), *b = a + s.count * s.rows;
    for (const std::size_t stride : {s.cols, s.cols + 8}) {
      WordBuffer expected(s.rows * stride), got(s.rows * stride);
      expected.zero();  // also what lies between the rows stays as it was
      kernels::find("ref")->matmul(expected.data(), stride, a, b, s.rows, s.cols, s.count, m);
      for (const Kernels* set : kernels::available()) {
        got.zero();
        set->matmul(got.data(), stride, a, b, s.rows, s.cols, s.count, m);
        expect_same(expected, got, "matmul", *set, q);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PrimeBits, KernelSets, testing::Values(20, 30, 40, 49, 50, 51, 54, 60, 61));

TEST(Encoder, TransformsAgreeBitForBit) {
  for (const unsigned log_n : {4U, 9U, 12U}) {
    const std::size_t n = std::size_t{1} << log_n;
    std::mt19937_64 rng(log_n);
    std::normal_distribution<double> g;
    WordBuffer buffers[4] = {WordBuffer(n), WordBuffer(n), WordBuffer(n), WordBuffer(n)};
    for (auto& b : buffers)
      for (std::size_t i = 0; i < n; ++i) reinterpret_cast<double*>(b.data())[i] = g(rng);
    const kernels::FftTable t{n, log_n, reinterpret_cast<double*>(buffers[2].data()),
                              reinterpret_cast<double*>(buffers[3].data())};
    for (const bool forward : {true, false}) {
      WordBuffer re0 = buffers[0], im0 = buffers[1];
      const auto run = [&](const Kernels& k, WordBuffer& re, WordBuffer& im) {
        (forward ? k.fft_forward : k.fft_inverse)(reinterpret_cast<double*>(re.data()),
                                                  reinterpret_cast<double*>(im.data()), t);
      };
      run(*kernels::find("ref"), re0, im0);
      for (const Kernels* set : kernels::available()) {
        WordBuffer re = buffers[0], im = buffers[1];
        run(*set, re, im);
        expect_same(re0, re, "fft re", *set, n);
        expect_same(im0, im, "fft im", *set, n);
      }
    }
  }
}

TEST(Encoder, RoundingAgreesAndRefusesTheUnrepresentable) {
  WordBuffer in(32), out(32);
  auto* x = reinterpret_cast<double*>(in.data());
  auto* y = reinterpret_cast<i64*>(out.data());
  const double values[] = {0.5, 1.5, 2.5, -0.5, -1.5, 1e15 + 0.5, -4.6e18, 4.6e18, 0.49999999999999994, 3.0, -0.0};
  for (const Kernels* set : kernels::available()) {
    for (std::size_t i = 0; i < 32; ++i) x[i] = values[i % std::size(values)];
    ASSERT_TRUE(set->scale_round(y, x, 1.0, 32)) << set->name;
    for (std::size_t i = 0; i < 32; ++i)
      EXPECT_EQ(y[i], static_cast<i64>(std::nearbyint(x[i]))) << set->name << " " << x[i];
    for (const double bad : {0x1p62, -0x1p62, 1e300, std::numeric_limits<double>::infinity(), std::nan("")})
      for (const std::size_t place : {0U, 13U, 31U}) {
        for (std::size_t i = 0; i < 32; ++i) x[i] = 1;
        x[place] = bad;
        EXPECT_FALSE(set->scale_round(y, x, 1.0, 32)) << set->name << " " << bad;
      }
  }
}

}  // namespace
}  // namespace ringforge::test
