// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products modulo Phi_65535 and one prime: the ring's own transform (tensor basis in and out) beside zero padding
// (power basis in and out) with the sparse reduction, and beside the seven transforms of padding with Barrett's
// reduction. They take turns; a figure is the median of the rounds.
//
//   tensor_bench [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "ringforge/ring.hpp"

namespace {

using namespace ringforge;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class F>
double timed(F&& f) {
  const double start = seconds();
  f();
  return seconds() - start;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

Poly<Coeff> random(const Basis& basis, unsigned seed) {
  std::mt19937_64 rng(seed);
  Poly<Coeff> p(basis);
  for (std::size_t i = 0; i < basis.ring().degree(); ++i) p.limb(0)[i] = rng() % basis[0].value();
  return p;
}

/// A product of one limb, all arrays allocated.
struct Product {
  Poly<Coeff> a, b, c;
  Poly<Eval> x, y;
  explicit Product(const Basis& basis) : a(random(basis, 1)), b(random(basis, 2)), c(basis), x(basis), y(basis) {}
  void operator()() {
    const Prime& prime = a.basis()[0];
    ntt(x.limb(0), a.limb(0), prime);
    ntt(y.limb(0), b.limb(0), prime);
    x.set_reduced(true);  // the limb is written anew
    mul(x, x, y);
    intt(c.limb(0), x.limb(0), prime);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 201;
  for (const unsigned bits : {48U, 49U, 50U}) {
    const Ring own = Ring::tensor(65535), padded = Ring::cyclotomic(65535);
    Product p(Basis(own, primes_below(bits, 1, own.prime_step())));
    Product s(Basis(padded, primes_below(bits, 1, padded.prime_step())));
    const Prime& prime = s.a.basis()[0];
    Poly<Eval> room = s.x;
    std::vector<double> product, one, sparse, seven;
    for (int r = 0; r < rounds; ++r) {
      product.push_back(timed(p));
      one.push_back(timed([&] { ntt(p.x.limb(0), p.a.limb(0), p.a.basis()[0]); }));
      sparse.push_back(timed(s));
      seven.push_back(timed([&] {
        for (int i = 0; i < 7; ++i) kernels::active().ntt_forward(room.limb(0), room.limb(0), prime.table());
      }));
    }
    std::printf(
        "%u bits: own product %.3f ms (a transform %.3f), padded with sparse reduction %.3f ms, "
        "7 transforms of 65536 %.3f ms: ratios %.2f and %.2f\n",
        bits, median(product) * 1e3, median(one) * 1e3, median(sparse) * 1e3, median(seven) * 1e3,
        median(sparse) / median(product), median(seven) / median(product));
  }
}
