// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The transform of the tensor ring of index 65537 beside two transforms of the negacyclic ring of the same degree, one
// there and one back, of which Rader's method consists. They take turns; a figure is the median of the rounds.
//
//   rader_bench [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "ringforge/ring.hpp"

namespace {

using namespace ringforge;

template <class F>
double timed(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

struct Line {
  Basis basis;
  Poly<Coeff> c;
  Poly<Eval> e;
  std::vector<double> there, back, lift;
  Line(const Ring& ring, unsigned bits) : basis(ring, primes_below(bits, 2, ring.prime_step())), c(basis), e(basis) {
    std::mt19937_64 rng(1);
    for (std::size_t l = 0; l < 2; ++l)
      for (std::size_t i = 0; i < c.degree(); ++i) c.limb(l)[i] = rng() % basis[l].value();
  }
  void round() {
    there.push_back(timed([&] { ntt(e.limb(0), c.limb(0), basis[0]); }));
    lift.push_back(timed([&] { ntt_lift(e.limb(1), c.limb(0), basis[0], basis[1]); }));
    back.push_back(timed([&] { intt(c.limb(0), e.limb(0), basis[0]); }));
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 201;
  for (const unsigned bits : {48U, 49U, 50U, 54U}) {
    Line own(Ring::tensor(65537), bits), negacyclic(Ring::negacyclic(16), bits);
    for (int r = 0; r < rounds; ++r) {
      own.round();
      negacyclic.round();
    }
    const double two = median(negacyclic.there) + median(negacyclic.back);
    std::printf(
        "%u bits: index 65537 %.3f ms there (lifted %.3f), %.3f back; negacyclic there and back %.3f: ratio %.2f\n",
        bits, median(own.there) * 1e3, median(own.lift) * 1e3, median(own.back) * 1e3, two * 1e3,
        median(own.there) / two);
  }
}
