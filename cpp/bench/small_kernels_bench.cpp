// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Time per call of the kernels of small rings, for every kernel set this CPU can run, the sets taking turns (see
// kernels_bench.cpp). A gadget product is timed with one key that stays in the caches, and with keys of `kKeyBytes`
// in all that pass by one after the other, as in a blind rotation.
//
//   small_kernels_bench [part of a name] [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ringforge/small_tables.hpp"
#include "ringforge/spectral_tables.hpp"

namespace {

using namespace ringforge;
using kernels::Cut;
using kernels::CutPoly;
using kernels::SmallKernels;
using std::size_t;

constexpr size_t kKeyBytes = size_t{48} << 20;

std::mt19937_64 generator(20261121);
const char* only = "";
int rounds = 21;
double ghz = 0;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Clock in GHz, from a chain of multiplications of 3 cycles each.
double clock_ghz() {
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    u64 x = 3;
    const double start = seconds();
    for (int i = 0; i < 200000; ++i) {
      x *= x;
      __asm__ volatile("" : "+r"(x));
    }
    best = std::max(best, 200000 * 3 / (seconds() - start) * 1e-9);
  }
  return best;
}

template <class W>
class Words {
 public:
  explicit Words(size_t n) : data_((n * sizeof(W) + 7) / 8) {}
  W* get() { return reinterpret_cast<W*>(data_.data()); }
  W* fill(size_t n, W bound) {
    for (size_t i = 0; i < n; ++i) get()[i] = static_cast<W>(generator() % bound);
    return get();
  }

 private:
  WordBuffer data_;
};

template <class W>
void report(const std::string& name, double butterflies, const std::function<void(const SmallKernels<W>&)>& run) {
  if (name.find(only) == std::string::npos) return;
  std::vector<const SmallKernels<W>*> sets;
  for (const auto* k : kernels::available()) sets.push_back(kernels::small_find<W>(k->name));
  std::vector<int> repeats;
  for (const auto* k : sets) {
    run(*k);
    const double start = seconds();
    run(*k);
    repeats.push_back(static_cast<int>(std::clamp(3e-4 / (seconds() - start), 1.0, 1e4)));
  }
  std::vector<std::vector<double>> times(sets.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t s = 0; s < sets.size(); ++s) {
      const double start = seconds();
      for (int i = 0; i < repeats[s]; ++i) run(*sets[s]);
      times[s].push_back((seconds() - start) / repeats[s] * 1e9);
    }
  }
  std::printf("%-46s", name.c_str());
  double last = 0;
  for (auto& t : times) {
    std::nth_element(t.begin(), t.begin() + rounds / 2, t.end());
    last = t[static_cast<size_t>(rounds / 2)];
    std::printf(" %10.0f", last);
  }
  if (butterflies != 0) std::printf("   %5.2f butterflies/cycle", butterflies / (last * ghz));
  std::printf("\n");
  std::fflush(stdout);
}

/// `cut_a`, `cut_b`: of the two polynomials of an external product; a count of 0 leaves the first out.
template <class W>
void cases(unsigned log_n, W q, const Cut& cut_a, const Cut& cut_b) {
  const size_t n = size_t{1} << log_n;
  const SmallTables<W> tables(q, log_n);
  const auto& t = tables.ntt();
  const std::string suffix =
      " u" + std::to_string(8 * sizeof(W)) + " 2^" + std::to_string(log_n) + " q " + std::to_string(t.mod.bits);
  using K = SmallKernels<W>;
  Words<W> a(n), b(n), c(n), d(n);
  a.fill(n, q);
  b.fill(n, q);
  const double butterflies = static_cast<double>(n / 2 * log_n);
  report<W>("forward" + suffix, butterflies, [&](const K& k) { k.forward(c.get(), a.get(), t); });
  report<W>("inverse" + suffix, butterflies, [&](const K& k) { k.inverse(c.get(), a.get(), t); });
  report<W>("mul" + suffix, 0, [&](const K& k) { k.mul(c.get(), a.get(), b.get(), t); });
  report<W>("rotate_sub" + suffix, 0, [&](const K& k) { k.rotate_sub(c.get(), a.get(), n / 3, t); });
  report<W>("automorphism" + suffix, 0, [&](const K& k) { k.automorphism(c.get(), a.get(), 5, t); });
  const size_t rows = cut_a.count + cut_b.count, words = 2 * n * rows, keys = kKeyBytes / (words * sizeof(W));
  Words<W> key(keys * words), scratch(rows * n);
  key.fill(keys * words, q);
  scratch.fill(rows * n, q);
  const std::string count = " rows " + std::to_string(rows);
  report<W>("cut" + suffix + " digits " + std::to_string(cut_b.count), 0,
            [&](const K& k) { k.cut(scratch.get(), a.get(), cut_b, t); });
  report<W>("dot" + suffix + count, 0,
            [&](const K& k) { k.dot(c.get(), d.get(), scratch.get(), key.get(), rows, false, t); });
  const CutPoly<W> polys[] = {{a.get(), cut_a}, {b.get(), cut_b}};
  const size_t first = cut_a.count == 0 ? 1 : 0;
  report<W>("gadget_product" + suffix + count, 0, [&](const K& k) {
    k.gadget_product(c.get(), d.get(), polys + first, 2 - first, key.get(), scratch.get(), t);
  });
  size_t at = 0;
  report<W>("gadget_product" + suffix + count + " keys pass", 0, [&](const K& k) {
    k.gadget_product(c.get(), d.get(), polys + first, 2 - first, key.get() + at * words, scratch.get(), t);
    at = (at + 1) % keys;
  });
}

/// A gadget product with its way back to coefficients: by number-theoretic and by complex transforms.
void whole_products(unsigned log_n, u32 q, const Cut& cut_a, const Cut& cut_b) {
  const size_t n = size_t{1} << log_n, rows = cut_a.count + cut_b.count, words = 2 * n * rows;
  const SmallTables<u32> tables(q, log_n);
  const SpectralTables spectral(log_n);
  const auto& t = tables.ntt();
  const std::string suffix = " 2^" + std::to_string(log_n) + " q " + std::to_string(t.mod.bits) + " rows " +
                             std::to_string(rows) + " keys pass";
  const size_t keys = kKeyBytes / (words * sizeof(u32));
  Words<u32> a(n), b(n), c(n), d(n), key(keys * words), scratch(rows * n);
  a.fill(n, q);
  b.fill(n, q);
  key.fill(keys * words, q);
  WordArray<double> spectra(keys * words), work(kernels::spectral_scratch(n, rows));
  const CutPoly<u32> polys[] = {{a.get(), cut_a}, {b.get(), cut_b}};
  size_t at = 0;
  report<u32>("product and back" + suffix, 0, [&](const SmallKernels<u32>& k) {
    k.gadget_product(c.get(), d.get(), polys, 2, key.get() + at * words, scratch.get(), t);
    k.inverse(c.get(), c.get(), t);
    k.inverse(d.get(), d.get(), t);
    at = (at + 1) % keys;
  });
  report<u32>("spectral product" + suffix, 0, [&](const SmallKernels<u32>& k) {
    const auto& s = *kernels::spectral_find(k.name);
    s.product(c.get(), d.get(), polys, 2, spectra.data() + at * words, false, work.data(), t, spectral.table());
    at = (at + 1) % keys;
  });
}

template <class W>
W prime(unsigned bits, unsigned log_n) {
  return static_cast<W>(primes_below(bits, 1, u64{2} << log_n)[0]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  if (argc > 2) rounds = std::max(1, std::atoi(argv[2]));
  ghz = clock_ghz();
  std::printf("clock %.2f GHz; ns per call, median of %d; rates are of the last column\n%-46s", ghz, rounds, "");
  for (const auto* k : kernels::available()) std::printf(" %10s", k->name);
  std::printf("\n");
  for (const unsigned log_n : {10U, 11U}) {
    for (const unsigned bits : {27U, 29U, 31U}) {
      const Cut two{9, 2, bits - 18, true}, three{9, 3, bits > 27 ? bits - 27 : 0, true};
      cases<u32>(log_n, prime<u32>(bits, log_n), two, three);
    }
  }
  whole_products(10, 67104769, {8, 2, 10, true}, {6, 2, 14, true});  // gates-128
  whole_products(11, prime<u32>(26, 11), {7, 2, 12, true}, {6, 2, 14, true});
  const Cut none{1, 0, 0, true};
  for (const unsigned bits : {37U, 46U, 50U})
    cases<u64>(11, prime<u64>(bits, 11), {10, 2, bits - 20, true}, {10, 3, bits - 30, true});
  cases<u64>(11, 0x3FFFFFFFFED001, none, {18, 3, 0, true});
  cases<u64>(11, prime<u64>(60, 11), none, {20, 3, 0, true});
  return 0;
}
