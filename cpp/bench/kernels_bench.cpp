// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Time per call of the main kernels, for every kernel set this CPU can run. Each figure is the median of
// rounds in which the sets take turns, so that a change of clock or load meets all of them alike.
//
//   kernels_bench [part of a name] [rounds]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "ref/arith.hpp"
#include "ringforge/kernels.hpp"

namespace {

using namespace ringforge;
using kernels::Factor;
using kernels::FftTable;
using kernels::Kernels;
using kernels::Modulus;
using kernels::NttTable;
using kernels::u32;
using kernels::u64;
using std::size_t;

std::mt19937_64 generator(20261121);

/// An array aligned as the contract asks.
template <class T>
class Array {
 public:
  explicit Array(size_t n) : data_(static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}))) {
    std::fill_n(data_.get(), n, T{});
  }
  T* get() { return data_.get(); }
  T& operator[](size_t i) { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> data_;
};

void fill(Array<u64>& a, size_t n, u64 bound) {
  for (size_t i = 0; i < n; ++i) a[i] = generator() % bound;
}

bool is_prime(u64 q) {
  const Modulus m = kernels::make_modulus(q);
  for (const u64 base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    u64 d = q - 1, x;
    unsigned s = 0;
    for (; d % 2 == 0; d /= 2) ++s;
    x = arith::pow(base, d, m);
    if (x == 1 || x == q - 1) continue;
    while (--s != 0 && x != q - 1) x = arith::mul(x, x, m);
    if (x != q - 1) return false;
  }
  return true;
}

/// The largest prime below 2^bits that is 1 modulo 2n.
u64 prime(unsigned bits, size_t n) {
  u64 q = (u64{1} << bits) + 1 - 2 * n;
  while (!is_prime(q)) q -= 2 * n;
  return q;
}

u32 reversed(u32 x, unsigned bits) {
  u32 r = 0;
  for (unsigned i = 0; i < bits; ++i) r |= (x >> i & 1) << (bits - 1 - i);
  return r;
}

struct Ntt {
  NttTable table;
  Array<u64> w, w64, w52, iw, iw64, iw52;

  Ntt(size_t n, u64 q) : w(n), w64(n), w52(n), iw(n), iw64(n), iw52(n) {
    const Modulus m = kernels::make_modulus(q);
    unsigned log_n = 0;
    while (size_t{1} << log_n < n) ++log_n;
    // The smallest of the primitive 2n-th roots, which are the odd powers of one of them.
    u64 root = 0;
    for (u64 g = 2; root == 0; ++g) {
      const u64 candidate = arith::pow(g, (q - 1) / (2 * n), m);
      if (arith::pow(candidate, n, m) == q - 1) root = candidate;
    }
    u64 psi = root;
    const u64 square = arith::mul(root, root, m);
    for (size_t i = 1; i < n; ++i) psi = std::min(psi, root = arith::mul(root, square, m));
    const u64 psi_inv = arith::inverse(psi, m);
    u64 power = 1, power_inv = 1;
    for (size_t i = 0; i < n; ++i) {
      const u32 at = reversed(static_cast<u32>(i), log_n);
      const Factor f = kernels::make_factor(power, m), g = kernels::make_factor(power_inv, m);
      w[at] = f.w, w64[at] = f.w64, w52[at] = f.w52;
      iw[at] = g.w, iw64[at] = g.w64, iw52[at] = g.w52;
      power = arith::mul(power, psi, m);
      power_inv = arith::mul(power_inv, psi_inv, m);
    }
    const bool fast = m.bits <= kernels::kFastBits;
    const u64 n_inv = arith::inverse(n, m);
    table = {n,
             log_n,
             m,
             w.get(),
             w64.get(),
             fast ? w52.get() : nullptr,
             iw.get(),
             iw64.get(),
             fast ? iw52.get() : nullptr,
             kernels::make_factor(n_inv, m),
             kernels::make_factor(arith::mul(n_inv, iw[1], m), m)};
  }
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Clock in GHz, from a chain of multiplications of 3 cycles each.
double clock_ghz() {
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    u64 x = 3;
    const double start = seconds();
    for (int i = 0; i < 200000; ++i) {
      x *= x;
#if defined(__GNUC__)
      __asm__ volatile("" : "+r"(x));
#endif
    }
    best = std::max(best, 200000 * 3 / (seconds() - start) * 1e-9);
  }
  return best;
}

struct Case {
  std::string name;
  std::function<void(const Kernels&)> run;
  double butterflies;  ///< per call, or 0
  double bytes;        ///< read and written per call, without tables, or 0
};

const char* only = "";
int rounds = 21;
double ghz = 0;

void report(const Case& c) {
  if (c.name.find(only) == std::string::npos) return;
  const auto sets = kernels::available();
  std::vector<int> repeats;
  for (const Kernels* k : sets) {
    c.run(*k);
    const double start = seconds();
    c.run(*k);
    repeats.push_back(static_cast<int>(std::clamp(3e-4 / (seconds() - start), 1.0, 1e4)));
  }
  std::vector<std::vector<double>> times(sets.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t s = 0; s < sets.size(); ++s) {
      const double start = seconds();
      for (int i = 0; i < repeats[s]; ++i) c.run(*sets[s]);
      times[s].push_back((seconds() - start) / repeats[s] * 1e9);
    }
  }
  std::printf("%-34s", c.name.c_str());
  double last = 0;
  for (auto& t : times) {
    std::nth_element(t.begin(), t.begin() + rounds / 2, t.end());
    last = t[static_cast<size_t>(rounds / 2)];
    std::printf(" %12.0f", last);
  }
  if (c.butterflies != 0) std::printf("   %5.2f butterflies/cycle", c.butterflies / (last * ghz));
  if (c.bytes != 0) std::printf("   %5.1f GB/s", c.bytes / last);
  std::printf("\n");
  std::fflush(stdout);
}

std::string label(const char* op, unsigned log_n, const std::string& more) {
  return std::string(op) + " 2^" + std::to_string(log_n) + more;
}

void limb_cases(unsigned log_n, unsigned bits) {
  const size_t n = size_t{1} << log_n;
  const double words = static_cast<double>(8 * n);
  const std::string suffix = " q " + std::to_string(bits);
  const Ntt ntt(n, prime(bits, n));
  const NttTable& t = ntt.table;
  const Modulus& m = t.mod;
  Array<u64> a(n), b(n), c(n);
  fill(a, n, m.q);
  fill(b, n, m.q);
  const double butterflies = static_cast<double>(n / 2 * log_n);
  report({label("ntt_forward", log_n, suffix), [&](const Kernels& k) { k.ntt_forward(c.get(), a.get(), t); },
          butterflies, 0});
  report({label("ntt_inverse", log_n, suffix), [&](const Kernels& k) { k.ntt_inverse(c.get(), a.get(), t); },
          butterflies, 0});
  report(
      {label("mul", log_n, suffix), [&](const Kernels& k) { k.mul(c.get(), a.get(), b.get(), n, m); }, 0, 3 * words});
  fill(c, n, m.q);
  report({label("mul_add", log_n, suffix), [&](const Kernels& k) { k.mul_add(c.get(), a.get(), b.get(), n, m); }, 0,
          4 * words});

  // X -> X^5 in Eval form.
  Array<u32> index(n);
  for (size_t i = 0; i < n; ++i) {
    const u64 e = (2 * u64{reversed(static_cast<u32>(i), log_n)} + 1) * 5 % (2 * n);
    index[i] = reversed(static_cast<u32>(e / 2), log_n);
  }
  report({label("automorphism_eval", log_n, suffix),
          [&](const Kernels& k) { k.automorphism_eval(c.get(), a.get(), index.get(), n); }, 0, 2.5 * words});
  report({label("automorphism_coeff", log_n, suffix),
          [&](const Kernels& k) { k.automorphism_coeff(c.get(), a.get(), 5, n, m); }, 0, 2 * words});
}

void dot_case(unsigned log_n, unsigned bits, size_t count) {
  const size_t n = size_t{1} << log_n;
  const Modulus m = kernels::make_modulus(prime(bits, n));
  std::vector<Array<u64>> arrays;
  std::vector<const u64*> x, y0, y1;
  for (auto* list : {&x, &y0, &y1})
    for (size_t d = 0; d < count; ++d) {
      arrays.emplace_back(n);
      fill(arrays.back(), n, m.q);
      list->push_back(arrays.back().get());
    }
  Array<u64> out0(n), out1(n);
  report({label("dot2", log_n, " q " + std::to_string(bits) + " count " + std::to_string(count)),
          [&](const Kernels& k) { k.dot2(out0.get(), out1.get(), x.data(), y0.data(), y1.data(), count, false, n, m); },
          0, static_cast<double>((3 * count + 2) * 8 * n)});
}

/// 2d x d by d terms: half of a class of positions of a batch of d x d products. The rate counts multiply-adds.
void matmul_case(size_t d, unsigned bits) {
  const Modulus m = kernels::make_modulus(prime(bits, 4096));
  Array<u64> a(2 * d * d), b(d * d), out(2 * d * (d + 8));
  fill(a, 2 * d * d, m.q);
  fill(b, d * d, m.q);
  report({"matmul " + std::to_string(2 * d) + " x " + std::to_string(d) + " x " + std::to_string(d) + " q " +
              std::to_string(bits),
          [&](const Kernels& k) { k.matmul(out.get(), d + 8, a.get(), b.get(), 2 * d, d, d, m); },
          2.0 * static_cast<double>(d * d * d), 0});
}

void convert_case(unsigned log_n, unsigned bits, unsigned y_bits) {
  const size_t n = size_t{1} << log_n, k = 3;
  const Modulus m = kernels::make_modulus(prime(bits, n));
  std::vector<Array<u64>> arrays;
  std::vector<const u64*> y;
  std::vector<u64> c;
  std::vector<double> inv;
  for (size_t d = 0; d < k; ++d) {
    arrays.emplace_back(n);
    fill(arrays.back(), n, u64{1} << y_bits);
    y.push_back(arrays.back().get());
    c.push_back(generator() % m.q);
    inv.push_back(std::ldexp(1.0, -static_cast<int>(y_bits)));
  }
  Array<u64> v(n), out(n);
  kernels::active().convert_quotient(v.get(), y.data(), inv.data(), k, n);
  const std::string suffix = " q " + std::to_string(bits) + " from " + std::to_string(y_bits) + " k 3";
  report({label("base_convert", log_n, suffix),
          [&](const Kernels& s) { s.base_convert(out.get(), y.data(), c.data(), k, y_bits, v.get(), c[0], n, m); }, 0,
          static_cast<double>((k + 2) * 8 * n)});
}

void fft_case(unsigned log_n) {
  const size_t n = size_t{1} << log_n;
  Array<double> re(n), im(n), wr(n), wi(n);
  for (size_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(generator() % (4 * n)) / static_cast<double>(4 * n);
    wr[i] = std::cos(angle);
    wi[i] = std::sin(angle);
    re[i] = static_cast<double>(generator() % 1000);
    im[i] = static_cast<double>(generator() % 1000);
  }
  const FftTable t{n, log_n, wr.get(), wi.get()};
  // Alternating directions keep the values in range.
  report({label("fft_forward + fft_inverse", log_n, ""),
          [&](const Kernels& k) {
            k.fft_forward(re.get(), im.get(), t);
            k.fft_inverse(re.get(), im.get(), t);
          },
          static_cast<double>(n * log_n), 0});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  if (argc > 2) rounds = std::max(1, std::atoi(argv[2]));
  ghz = clock_ghz();
  std::printf("clock %.2f GHz; ns per call, median of %d; rates are of the last column\n%-34s", ghz, rounds, "");
  for (const Kernels* k : kernels::available()) std::printf(" %12s", k->name);
  std::printf("\n");
  for (const unsigned bits : {49u, 50u, 54u})
    for (unsigned log_n = 13; log_n <= 16; ++log_n) limb_cases(log_n, bits);
  for (const unsigned bits : {50u, 54u})
    for (const unsigned log_n : {13u, 16u})
      for (const size_t count : {size_t{7}, size_t{64}}) dot_case(log_n, bits, count);
  for (const unsigned bits : {50u, 54u})
    for (const size_t d : {size_t{16}, size_t{64}, size_t{128}}) matmul_case(d, bits);
  convert_case(14, 50, 50);
  convert_case(14, 54, 50);
  convert_case(14, 50, 54);
  convert_case(14, 54, 54);
  for (unsigned log_n = 12; log_n <= 15; ++log_n) fft_case(log_n);
  return 0;
}
