// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Exact products in double precision: every kernel set, and the eight lanes of AVX-512 in plain code, against the
// number-theoretic product word for word; the bound that says where they are exact; the transforms' own error.
#include "ringforge/spectral_tables.hpp"

#include <cfenv>
#include <cmath>
#include <sstream>

#include "ringforge/fhew/gates.hpp"
#include "ringforge/fhew/rlwe.hpp"
#include "ringforge/small_tables.hpp"
#include "spectral_impl.hpp"
#include "support.hpp"

// Vectors wider than this build's: nothing takes or returns them but what is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace ringforge::test {
namespace {

using kernels::Cut;
using kernels::CutPoly;
using kernels::SpectralKernels;

/// The instance for AVX-512 without its instructions.
struct EightPlain {
  static constexpr std::size_t kLanes = 8;
  static constexpr bool kEight = true;
  typedef double D __attribute__((vector_size(64)));
  static inline __attribute__((always_inline)) D fma(D a, D b, D c) { return a * b + c; }
  static inline __attribute__((always_inline)) D fnma(D a, D b, D c) { return c - a * b; }
};
using Eight = kernels::Spectral<EightPlain>;
constexpr SpectralKernels kEight{"eight lanes", Eight::prepare, Eight::product};

std::vector<const SpectralKernels*> sets() {
  std::vector<const SpectralKernels*> list{&kEight};
  for (const auto* each : kernels::available()) {
    list.push_back(kernels::spectral_find(each->name));
    EXPECT_STREQ(list.back()->name, each->name);
  }
  return list;
}

enum class Fill { random, largest, smallest, alternating };

/// Residues: uniform, or those of q/2 or -q/2 everywhere, or both by turns.
void fill(u32* x, std::size_t count, u32 q, Fill kind, std::mt19937_64& rng) {
  for (std::size_t i = 0; i < count; ++i) {
    const u32 high = q / 2, low = q / 2 + 1;
    x[i] = kind == Fill::random     ? static_cast<u32>(rng() % q)
           : kind == Fill::largest  ? high
           : kind == Fill::smallest ? low
           : rng() % 2 == 0         ? high
                                    : low;
  }
}

struct Case {
  unsigned log_n;
  u32 q;
  std::vector<Cut> cuts;
};

/// Every gadget whose products are exact: of the gate sets, and some at the edge of the bound.
std::vector<Case> exact_cases() {
  std::vector<Case> cases;
  for (const std::string& name : fhew::GateParameters::names()) {
    const auto p = fhew::GateParameters::named(name, "a test");
    if (p.modulus >> 31 != 0) continue;
    for (const auto& cuts : {std::vector<Cut>{p.a, p.b}, std::vector<Cut>{p.automorphism}})
      if (spectral_error(cuts, p.modulus, p.log_n) < 0.5) cases.push_back({p.log_n, static_cast<u32>(p.modulus), cuts});
  }
  for (const unsigned log_n : {8U, 9U, 10U, 11U, 12U})
    for (const unsigned bits : {20U, 26U, 27U, 30U, 31U}) {
      const u64 q = primes_below(bits, 1, u64{2} << log_n)[0];
      for (unsigned base = 1; base < 12; ++base)
        for (const bool balanced : {true, false}) {
          // The largest exact base alone, in one row and in several.
          const auto cut = [&](unsigned b, unsigned count) {
            return balanced ? Cut{b, count, bits > b * count ? bits - b * count : 0, true}
                            : Cut{b, (bits + b - 1) / b, 0, false};
          };
          for (const unsigned count : {1U, 2U, 5U}) {
            const std::vector<Cut> now{cut(base, count), cut(base, 1)}, next{cut(base + 1, count), cut(base + 1, 1)};
            if (!balanced && count > 1) continue;
            if (spectral_error(now, q, log_n) < 0.5 && spectral_error(next, q, log_n) >= 0.5)
              cases.push_back({log_n, static_cast<u32>(q), now});
          }
        }
    }
  return cases;
}

TEST(Spectral, ProductsAreThoseOfTheNumberTheoreticTransform) {
  const auto cases = exact_cases();
  ASSERT_GT(cases.size(), 40U);
  std::mt19937_64 rng(22);
  const auto& small = kernels::small_active<u32>();
  for (const Case& c : cases) {
    const SmallTables<u32> tables(c.q, c.log_n);
    const SpectralTables spectral(c.log_n);
    const auto& t = tables.ntt();
    const std::size_t n = t.n;
    std::size_t rows = 0;
    for (const Cut& cut : c.cuts) rows += cut.count;
    const double error = spectral_error(c.cuts, c.q, c.log_n);
    SCOPED_TRACE("q = " + std::to_string(c.q) + ", n = " + std::to_string(n) + ", " + std::to_string(rows) +
                 " rows, bound " + std::to_string(error));
    WordArray<u32> key(2 * n * rows), eval(2 * n * rows), polys(2 * n), words(n * rows), want(2 * n), start(2 * n),
        got(2 * n);
    WordArray<double> spectra(2 * n * rows), scratch(kernels::spectral_scratch(n, rows));
    for (const Fill kind : {Fill::random, Fill::largest, Fill::smallest, Fill::alternating}) {
      fill(key.data(), key.size(), c.q, kind, rng);
      fill(polys.data(), 2 * n, c.q, kind, rng);
      fill(start.data(), 2 * n, c.q, kind, rng);
      for (std::size_t r = 0; r < 2 * rows; ++r) small.forward(eval.data() + r * n, key.data() + r * n, t);
      std::vector<CutPoly<u32>> list;
      for (std::size_t i = 0; i < c.cuts.size(); ++i) list.push_back({polys.data() + i * n, c.cuts[i]});
      u32 *a = want.data(), *b = a + n;
      small.gadget_product(a, b, list.data(), list.size(), eval.data(), words.data(), t);
      small.inverse(a, a, t);
      small.inverse(b, b, t);
      for (const SpectralKernels* set : sets()) {
        set->prepare(spectra.data(), key.data(), rows, scratch.data(), t, spectral.table());
        set->product(got.data(), got.data() + n, list.data(), list.size(), spectra.data(), false, scratch.data(), t,
                     spectral.table());
        for (std::size_t i = 0; i < 2 * n; ++i) ASSERT_EQ(got.data()[i], want.data()[i]) << set->name << " at " << i;
        // Added to what is there, and in place.
        std::memcpy(got.data(), start.data(), start.bytes());
        set->product(got.data(), got.data() + n, list.data(), list.size(), spectra.data(), true, scratch.data(), t,
                     spectral.table());
        for (std::size_t i = 0; i < 2 * n; ++i)
          ASSERT_EQ(got.data()[i], (u64{want.data()[i]} + start.data()[i]) % c.q) << set->name << " added at " << i;
        if (list.size() == 2) {
          std::memcpy(got.data(), polys.data(), polys.bytes());
          const CutPoly<u32> same[2] = {{got.data(), c.cuts[0]}, {got.data() + n, c.cuts[1]}};
          set->product(got.data(), got.data() + n, same, 2, spectra.data(), false, scratch.data(), t, spectral.table());
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << set->name << " in place";
        }
      }
    }
  }
}

TEST(Spectral, TheBoundSaysWhichGateSetsAreExact) {
  const auto error = [](const std::string& name, bool automorphism) {
    const auto p = fhew::GateParameters::named(name, "a test");
    const std::vector<Cut> cuts = automorphism ? std::vector{p.automorphism} : std::vector{p.a, p.b};
    return spectral_error(cuts, p.modulus, p.log_n);
  };
  // 142 * 2^-53 * (2 * 128 + 2 * 32) * 2^10 * 2^25: see cpp/kernels/NOTES.md.
  EXPECT_NEAR(error("gates-128", false), 0.173, 0.005);
  EXPECT_LT(error("gates-128", true), 0.1);
  EXPECT_LT(error("gates-128-f128", false), 0.1);
  for (const char* name : {"gates-degraded", "paper-medium", "paper-std128-ap", "paper-std192", "paper-std256"})
    EXPECT_GT(error(name, false), 0.5) << name;
}

/// All residues, or those at the edges of digits, of small moduli.
TEST(Spectral, LargestDigitsAreReachedAndNotPassed) {
  const auto& small = kernels::small_active<u32>();
  for (const u64 q : {primes_below(17, 1, 512)[0], primes_below(20, 1, 512)[0]}) {
    const SmallTables<u32> tables(static_cast<u32>(q), 8);
    const auto& t = tables.ntt();
    const unsigned bits = t.mod.bits;
    for (const Cut& cut : {Cut{4, 3, bits - 12, true}, Cut{5, (bits + 4) / 5, 0, true}, Cut{bits, 1, 0, true},
                           Cut{7, 3, 0, true}, Cut{4, (bits + 3) / 4, 0, false}, Cut{8, 1, bits - 8, true}}) {
      u64 most = 0;
      WordArray<u32> x(t.n), digits(t.n * cut.count);
      for (u64 first = 0; first < q; first += t.n) {
        for (std::size_t i = 0; i < t.n; ++i) x.data()[i] = static_cast<u32>((first + i) % q);
        small.cut(digits.data(), x.data(), cut, t);
        for (std::size_t i = 0; i < t.n * cut.count; ++i) {
          const u64 d = digits.data()[i];
          most = std::max(most, cut.balanced && d > q / 2 ? q - d : d);
        }
      }
      const double bound = largest_digit(cut, q);
      EXPECT_GE(bound, static_cast<double>(most)) << cut.log_base;
      EXPECT_LE(bound, static_cast<double>(most) + 1) << cut.log_base;
    }
  }
}

/// Squares of children are their parents, and node 1 is an eighth of a turn: in extended precision, so that a factor
/// is within one unit of the root it stands for, as the bound takes it to be.
TEST(Spectral, TwiddleFactorsAreSquareRoots) {
  using Wide = long double;
  for (const unsigned log_n : {8U, 12U}) {
    const SpectralTables tables(log_n);
    const auto& t = tables.table();
    const std::size_t points = t.n / 2;
    // The roots themselves, by repeated square roots in extended precision.
    std::vector<Wide> re(4 * points), im(4 * points);
    re[1] = im[1] = std::sqrt(Wide{0.5});
    for (std::size_t h = 1; 2 * h + 1 < re.size(); ++h) {
      // c + is to its root a + ib: 2 a^2 = 1 + c, 2 b^2 = 1 - c, 2 a b = s; s is not negative.
      const Wide larger = std::sqrt((1 + std::abs(re[h])) / 2), smaller = im[h] / (2 * larger);
      const Wide a = re[h] < 0 ? smaller : larger, b = re[h] < 0 ? larger : smaller;
      re[2 * h] = a;
      im[2 * h] = b;
      re[2 * h + 1] = -b;
      im[2 * h + 1] = a;
    }
    const auto check = [&](double x, double y, std::size_t h) {
      const Wide dx = x - re[h], dy = y - im[h];
      ASSERT_LE(std::sqrt(dx * dx + dy * dy), Wide{0x1p-53}) << "node " << h;
    };
    for (std::size_t h = 1; h < points; ++h) {
      check(t.re1[h], t.im1[h], h);
      check(t.re2[h], t.im2[h], 2 * h);
      if (4 * h + 2 < re.size()) {
        check(t.re4[h], t.im4[h], 4 * h);
        check(t.re6[h], t.im6[h], 4 * h + 2);
      }
    }
  }
}

/// What gates are made of, with spectra and without, for every named set whose products are exact.
TEST(Spectral, StepsOfBlindRotationsAreWordForWordTheSame) {
  std::mt19937_64 rng(23);
  unsigned found = 0;
  for (const std::string& name : fhew::GateParameters::names()) {
    const auto p = fhew::GateParameters::named(name, "a test");
    const std::array<Cut, 2> both{p.a, p.b};
    if (p.modulus >> 31 != 0 || spectral_error(both, p.modulus, p.log_n) >= 0.5) continue;
    ASSERT_LT(spectral_error(std::span(&p.automorphism, 1), p.modulus, p.log_n), 0.5);
    SCOPED_TRACE(name);
    ++found;
    const auto ring = SmallRing<u32>::get(p.modulus, p.log_n);
    const std::size_t n = ring->n(), rows = std::max<std::size_t>(p.rows(), p.automorphism.count);
    WordArray<u32> key(2 * n * rows), start(2 * n), other(2 * n);
    WordArray<double> rgsw(2 * n * p.rows()), switching(2 * n * p.automorphism.count);
    for (const Fill kind : {Fill::random, Fill::largest, Fill::smallest, Fill::alternating}) {
      fill(key.data(), key.size(), ring->q(), kind, rng);
      fill(start.data(), 2 * n, ring->q(), kind, rng);
      fill(other.data(), 2 * n, ring->q(), Fill::random, rng);
      for (std::size_t r = 0; r < 2 * rows; ++r) ring->forward(key.data() + r * n, key.data() + r * n);
      fhew::make_spectra(rgsw.data(), key.data(), 1, p.rows(), *ring);
      fhew::make_spectra(switching.data(), key.data(), 1, p.automorphism.count, *ring);
      fhew::Workspace<u32> w(n, rows);
      const auto same = [&](const char* what, const double* spectra, auto&& step) {
        WordArray<u32> with = start, without = start;
        step(with.data(), fhew::GadgetRows<u32>(key.data(), spectra));
        step(without.data(), fhew::GadgetRows<u32>(key.data()));
        EXPECT_EQ(std::memcmp(with.data(), without.data(), with.bytes()), 0) << what;
        if (kind == Fill::random) {
          EXPECT_NE(std::memcmp(with.data(), start.data(), with.bytes()), 0) << what;
        }
      };
      same("external product", rgsw.data(),
           [&](u32* x, const auto& k) { fhew::external_product(x, x, k, p.a, p.b, *ring, w); });
      same("rotation by a bit", rgsw.data(),
           [&](u32* x, const auto& k) { fhew::rotate_by_bit(x, n + 77, k, p.a, p.b, *ring, w); });
      same("choice", rgsw.data(), [&](u32* x, const auto& k) { fhew::cmux(x, other.data(), k, p.a, p.b, *ring, w); });
      same("substitution", switching.data(),
           [&](u32* x, const auto& k) { fhew::substitute(x, x, 5, k, p.automorphism, *ring, w); });
    }
  }
  EXPECT_EQ(found, 2U);  // gates-128, gates-128-f128
}

/// A thread may round as it likes, for its own ends: tables, spectra and products are the same.
TEST(Spectral, RoundingOfTheCallersThreadDoesNotMatter) {
  const auto p = fhew::GateParameters::named("gates-128");
  const auto q = static_cast<u32>(p.modulus);
  const SmallTables<u32> tables(q, p.log_n);
  const SpectralTables spectral(p.log_n);
  const auto& t = tables.ntt();
  const std::size_t n = t.n, rows = p.rows();
  std::mt19937_64 rng(24);
  WordArray<u32> key(2 * n * rows), polys(2 * n);
  fill(key.data(), key.size(), q, Fill::random, rng);
  fill(polys.data(), 2 * n, q, Fill::random, rng);
  const CutPoly<u32> list[2] = {{polys.data(), p.a}, {polys.data() + n, p.b}};
  for (const SpectralKernels* set : sets()) {
    WordArray<u32> want(2 * n), got(2 * n);
    const auto multiply = [&](u32* out) {
      WordArray<double> spectra(2 * n * rows), scratch(kernels::spectral_scratch(n, rows));
      set->prepare(spectra.data(), key.data(), rows, scratch.data(), t, spectral.table());
      set->product(out, out + n, list, 2, spectra.data(), false, scratch.data(), t, spectral.table());
    };
    multiply(want.data());
    for (const int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
      ASSERT_EQ(std::fesetround(mode), 0);
      const SpectralTables again(p.log_n);
      multiply(got.data());
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(after, mode);
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << set->name;
      EXPECT_EQ(std::memcmp(again.table().re1 + 1, spectral.table().re1 + 1, (n / 2 - 1) * sizeof(double)), 0);
    }
  }
}

/// Many threads that use a key first make its spectra once; the bits are those of one thread.
TEST(Spectral, TheFirstGateMayBeOfManyThreads) {
  fhew::GateParameters p = fhew::GateParameters::named("gates-128");
  p.n = 64;
  for (const auto method : {fhew::Method::ginx, fhew::Method::automorphism, fhew::Method::ap}) {
    if (method == fhew::Method::ap) p.ap_base = 3;
    TestRandomness rng(Seed{});
    const fhew::GateSecretKey secret(p, rng);
    const auto key = fhew::GateEvaluationKey::make(secret, method, rng, 2);
    std::stringstream file;
    key.save(file);
    const auto copy = fhew::GateEvaluationKey::load(file, p, 2);
    EXPECT_EQ(key.spectral_bytes(), method == fhew::Method::ap ? 0 : 2 * key.bootstrap_bytes());
    constexpr std::size_t kGates = 16;
    const std::size_t words = p.n + 1;
    WordArray<u32> wires(words * (kGates + 2)), single(words * (kGates + 2));
    wires.zero();
    const std::uint8_t bits[2] = {1, 0};
    secret.encrypt(wires.data(), bits, 2, rng);
    single = wires;
    std::vector<std::uint8_t> kinds;
    std::vector<std::int32_t> in, out;
    for (std::size_t g = 0; g < kGates; ++g) {
      kinds.push_back(static_cast<std::uint8_t>(g % 6));
      in.insert(in.end(), {0, 1, 0});
      out.push_back(static_cast<std::int32_t>(g + 2));
    }
    const fhew::GateLevel level{kinds.data(), in.data(), out.data(), kGates};
    fhew::evaluate(key, level, wires.data(), kGates + 2, 4);
    fhew::evaluate(copy, level, single.data(), kGates + 2, 1);
    EXPECT_EQ(std::memcmp(wires.data(), single.data(), wires.bytes()), 0);
  }
}

TEST(Spectral, RefusesOtherRings) {
  EXPECT_THROW(SpectralTables(7), ParameterError);
  EXPECT_THROW(SpectralTables(13), ParameterError);
}

}  // namespace
}  // namespace ringforge::test
