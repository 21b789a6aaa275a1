// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A rotation and its parts at N = 2^16 with limbs + 12 primes of 50 bits in digits of 12 limbs, in thread time: medians
// of rounds in which the parts take turns.
//
//   switching_bench [rounds] [limbs] [part of a name]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "ringforge/random.hpp"
#include "ringforge/rlwe/ciphertext.hpp"
#include "ringforge/rlwe/evaluator.hpp"
#include "ringforge/rlwe/switching.hpp"

namespace {

using namespace ringforge;
using namespace ringforge::rlwe;

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Part {
  const char* name;
  std::function<void()> run;
  std::vector<double> taken{};
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  const std::size_t limbs = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 23;
  const std::string wanted = argc > 3 ? argv[3] : "";
  const Ring ring = Ring::negacyclic(16);
  const auto primes = primes_below(50, limbs + 12, u64{1} << 18);
  const Basis q(ring, std::span(primes).subspan(12)), p(ring, std::span(primes).first(12));
  const auto gadget = std::make_shared<const Gadget>(q, p, GadgetSpec{12, 0});
  Encryptor encryptor(gadget);
  const SecretKey sk = encryptor.secret_key();
  const GaloisKey galois = encryptor.galois_key(sk, 5, limbs);
  const SwitchingKey& key = *galois.key;
  const Evaluator ev(gadget, 1);
  const Ciphertext c = encryptor.zero(sk, limbs);
  const Digits digits = ev.hoist(c);
  Poly<Eval> u0(gadget->extended(limbs)), u1(gadget->extended(limbs));
  const ModulusDrop& down = gadget->mod_down(limbs);
  Poly<Coeff> coeff = to_coeff(u0);
  std::vector<const u64*> sources;
  for (std::size_t i = 0; i < 12; ++i) sources.push_back(coeff.limb(i));
  const BaseConverter convert(q.prefix(12), gadget->extended(limbs));
  WordBuffer v(ring.degree());

  Part parts[] = {
      {"rotation", [&] { (void)ev.map(c, 5, key); }},
      {"rotation, hoisted", [&] { (void)ev.map(c, digits, 5, key); }},
      {"digits and products with the key", [&] { switch_key(u0, u1, c.parts[1], key, *gadget); }},
      {"digits", [&] { (void)ev.hoist(c); }},
      {"products with the key", [&] { key_product(u0, u1, digits, key, *gadget, false); }},
      {"division by P, once", [&] { (void)down.apply(u0); }},
      {"automorphism, once", [&] { (void)automorphism(c.parts[0], 5); }},
      {"forward transform, 10",
       [&] {
         for (std::size_t i = 0; i < 10; ++i) ntt(u0.limb(0), u0.limb(0), q[0]);
       }},
      {"inverse transform, 10",
       [&] {
         for (std::size_t i = 0; i < 10; ++i) intt(u0.limb(0), u0.limb(0), q[0]);
       }},
      {"conversion of 12 limbs to one, 10",
       [&] {
         for (std::size_t j = 12; j < 22; ++j) convert.convert(u0.limb(j), sources.data(), v.data(), j);
       }},
      {"quotient of 12 limbs", [&] { convert.quotient(v.data(), sources.data(), ring.degree()); }},
  };
  for (int round = -1; round < rounds; ++round)
    for (Part& part : parts) {
      if (std::string(part.name).find(wanted) == std::string::npos) continue;
      const double start = seconds();
      part.run();
      if (round >= 0) part.taken.push_back(seconds() - start);
    }
  std::printf("N = 2^16, %zu + 12 limbs, kernels %s, ms of thread time\n", limbs, kernels::active().name);
  for (Part& part : parts) {
    if (part.taken.empty()) continue;
    std::sort(part.taken.begin(), part.taken.end());
    std::printf("%-36s %8.3f  (least %.3f)\n", part.name, 1e3 * part.taken[part.taken.size() / 2], 1e3 * part.taken[0]);
  }
}
