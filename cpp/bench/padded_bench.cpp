// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products in Z[X]/Phi_65535 at 41 primes of 31 bits, power basis in and out, and their parts: all take turns in every
// round, so that a change of the clock or of other load meets all alike. Prints the least and the median of the rounds.
//
//   padded_bench [part of a name] [rounds] [threads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ring/cyclotomic.hpp"
#include "ringforge/barrett.hpp"
#include "ringforge/exact_crt.hpp"
#include "ringforge/invert.hpp"

namespace {

using namespace ringforge;

struct Case {
  std::string name;
  std::function<void()> run;
  std::vector<double> times{};
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Poly<Coeff, u32> random_poly(const BasisOf<u32>& basis, std::mt19937_64& generator) {
  Poly<Coeff, u32> p(basis);
  for (std::size_t l = 0; l < basis.size(); ++l)
    for (std::size_t i = 0; i < p.degree(); ++i) p.limb(l)[i] = static_cast<u32>(generator() % basis[l].value());
  return p;
}

}  // namespace

int main(int argc, char** argv) {
  const char* only = argc > 1 ? argv[1] : "";
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 21;
  const auto threads = static_cast<unsigned>(argc > 3 ? std::max(1, std::atoi(argv[3])) : 2);
  constexpr std::size_t kPrimes = 41;
  const Ring ring = Ring::cyclotomic(65535);
  const BasisOf<u32> basis(ring, primes_below(31, kPrimes, ring.prime_step()));
  const std::size_t length = ring.transform_length();
  std::mt19937_64 generator(20261122);
  const auto a = random_poly(basis, generator), b = random_poly(basis, generator), a1 = a.prefix(1);
  const auto& prime = basis[0];
  const auto& table = prime.table();
  const auto& k = kernels::active32();
  const CyclotomicReduction reduction(ring.index());
  const BarrettReduction barrett(ring, PrimeOf<u32>::get(prime.value(), ring));
  const ExactCrt crt(basis);
  WordArray<u32> x(length), y(length), z(length), work(length), room(reduction.room_words());
  WordBuffer planes(crt.words() * ring.degree());
  crt.to_integers(planes.data(), a);
  std::vector<const u32*> xs(8, x.data()), ys(8, y.data());
  k.ntt_forward_short(x.data(), a.limb(0), ring.degree(), table);
  k.ntt_forward_short(y.data(), b.limb(0), ring.degree(), table);
  Poly<Coeff, u32> out(basis);

  std::vector<Case> cases;
  const auto add = [&](const std::string& name, std::function<void()> run) {
    if (name.find(only) != std::string::npos) cases.push_back({name, std::move(run)});
  };
  for (const unsigned t : {1U, threads})
    add("product, 41 primes, threads " + std::to_string(t), [&, t] { out = multiply(a, b, t); });
  add("product, 41 primes, not reduced, threads 1", [&] {
    for (std::size_t i = 0; i < kPrimes; ++i)
      k.ntt_product(z.data(), a.limb(i), b.limb(i), ring.degree(), work.data(), basis[i].table());
  });
  add("to_eval, to_eval, mul, to_coeff, threads 1", [&] {
    auto e = to_eval(a);
    mul(e, e, to_eval(b));
    out = to_coeff(e);
  });
  add("one prime: product and reduction", [&] { limb_product(z.data(), a.limb(0), b.limb(0), prime); });
  add("one prime: product", [&] { k.ntt_product(z.data(), a.limb(0), b.limb(0), ring.degree(), work.data(), table); });
  add("one prime: forward", [&] { k.ntt_forward_short(z.data(), a.limb(0), ring.degree(), table); });
  add("one prime: forward, all words", [&] { k.ntt_forward(z.data(), x.data(), table); });
  add("one prime: pointwise product", [&] { k.mul(z.data(), x.data(), y.data(), length, table.mod); });
  add("one prime: sum of 8 products", [&] { k.dot(z.data(), xs.data(), ys.data(), 8, true, length, table.mod); });
  add("one prime: inverse", [&] { k.ntt_inverse(z.data(), x.data(), table); });
  add("one prime: reduction", [&] {
    std::copy_n(x.data(), length, work.data());
    reduction.reduce(z.data(), work.data(), length - 1, room.data(), table.mod);
  });
  add("one prime: Barrett reduction", [&] { barrett.reduce(z.data(), x.data(), work.data()); });
  add("one prime: automorphism", [&] { prime.transform().automorphism(z.data(), a.limb(0), 2); });
  add("one prime: inversion in the ring", [&] { (void)invert(a1); });
  add("residues to integers, threads " + std::to_string(threads), [&] { crt.to_integers(planes.data(), a, threads); });
  add("integers to residues, threads " + std::to_string(threads),
      [&] { crt.to_residues(out, planes.data(), threads); });
  add("80 windows of 16 bits", [&] {
    for (std::size_t w = 0; w < crt.windows(16); ++w) crt.window(z.data(), planes.data(), 16, w);
  });

  for (int round = -1; round < rounds; ++round)
    for (auto& c : cases) {
      const double start = seconds();
      c.run();
      if (round >= 0) c.times.push_back(seconds() - start);
    }
  std::printf("kernels %s, %d rounds; ms, least and median\n", k.name, rounds);
  for (auto& c : cases) {
    std::sort(c.times.begin(), c.times.end());
    std::printf("%-46s %9.3f %9.3f\n", c.name.c_str(), c.times.front() * 1e3, c.times[c.times.size() / 2] * 1e3);
  }
}
