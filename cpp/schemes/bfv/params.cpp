// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/bfv/params.hpp"

#include <algorithm>
#include <cmath>

#include "decimal.hpp"
#include "params_data.hpp"
#include "ringforge/bfv/noise.hpp"
#include "ringforge/error.hpp"
#include "ringforge/rlwe/params.hpp"
#include "ringforge/sha256.hpp"

namespace ringforge::bfv {
namespace {

// Hardware reduces words modulo q with q = 1 mod 2^18; the congruence also suits every N up to 2^17.
constexpr u64 kStep = u64{1} << 18;

}  // namespace

Parameters::Parameters(ParametersSpec spec) : spec_(std::move(spec)) {
  const auto unfit = [&](const std::string& why) {
    rlwe::refuse(rlwe::ParameterFailure::plaintext_modulus, "t = " + std::to_string(spec_.t) + why);
  };
  log_qp_ = rlwe::checked_log_qp({spec_.name, spec_.log_n, spec_.q, spec_.p, spec_.limbs_per_digit, spec_.insecure});
  if (spec_.t < 2 || spec_.t >> 32) unfit(", it must be 2 ... 2^32 - 1");
  std::vector<u64> all = spec_.q;
  all.insert(all.end(), spec_.p.begin(), spec_.p.end());
  for (const u64 q : all)
    if (spec_.t % q == 0)
      unfit(" is a multiple of the prime " + std::to_string(q) + " of Q or P: choose another prime");
  if (spec_.q[0] / 4 < spec_.t)
    unfit(" must be at most a quarter of the first prime " + std::to_string(spec_.q[0]) + ": choose a larger prime");
  batching_ = spec_.t % (u64{2} << spec_.log_n) == 1 && is_prime(spec_.t);

  std::vector<u64> identity{u64{'b'} | u64{'f'} << 8 | u64{'v'} << 16,
                            spec_.log_n,
                            spec_.t,
                            spec_.q.size(),
                            spec_.p.size(),
                            spec_.limbs_per_digit};
  identity.insert(identity.end(), all.begin(), all.end());
  hash_ = sha256(identity.data(), identity.size() * sizeof(u64));
}

double Parameters::log_q(std::size_t limbs) const {
  if (limbs < 1 || limbs > spec_.q.size())
    throw LevelError(std::to_string(limbs) + " limbs: these parameters have 1 ... " + std::to_string(spec_.q.size()));
  return rlwe::log2_of(std::span(spec_.q).first(limbs));
}

std::vector<std::string> Parameters::names() { return rlwe::names_of(data::kSets); }

Parameters Parameters::named(const std::string& name, const std::string& insecure) {
  const auto& s = rlwe::row_of(data::kSets, name, insecure);
  ParametersSpec spec;
  spec.name = s.name;
  spec.log_n = s.log_n;
  spec.t = s.t;
  std::vector<u64> taken;
  spec.p = rlwe::primes_of(s.p, kStep, taken);
  spec.q = rlwe::primes_of(s.q, kStep, taken);
  spec.limbs_per_digit = s.digit;
  spec.insecure = insecure;
  return Parameters(std::move(spec));
}

namespace {

/// Budget after `depth` products, each of two sums of a relinearised, rotated result and another.
double budget_after(const NoiseRules& rules, unsigned depth) {
  const std::size_t limbs = rules.params().max_limbs();
  Noise e = rules.encrypted(true);
  for (unsigned i = 0; i < depth; ++i) {
    const Noise rotated = rules.switched(rules.multiplied(e, e, limbs), limbs);
    e = rules.sum(rotated, rotated);
  }
  return rules.budget(e, limbs);
}

}  // namespace

Parameters suggest(unsigned depth, u64 t, bool batching, std::string* why) {
  if (depth > 60) throw ParameterError("depth " + std::to_string(depth) + " is above 60");
  if (t < 2 || t >> 32) throw ParameterError("t = " + std::to_string(t) + " is outside 2 ... 2^32 - 1");
  if (batching && !(is_prime(t) && t % 2048 == 1))
    throw ParameterError("t = " + std::to_string(t) +
                         " has no slots in rings of degree 2^10 or more: it must be a prime that is 1 mod 2N, such as "
                         "65537; or say batching = false");
  constexpr unsigned kBits = 49;  // special primes have one more, so that P is larger than a digit
  std::string limit = "log2(QP) would be above the limit for 128 bits of security";
  for (unsigned log_n = 10; log_n <= 17; ++log_n) {
    if (batching && t % (u64{2} << log_n) != 1) {
      limit = "t = " + std::to_string(t) + " has slots only up to N = 2^" + std::to_string(log_n - 1);
      break;
    }
    const double most = rlwe::max_log_qp(log_n);
    for (unsigned bits : {30U, 36U, 43U, kBits}) {
      // Small primes for small rings, where one of 49 bits is nearly everything.
      if (bits < kBits && log_n > 13) continue;
      for (std::size_t limbs = 1; limbs <= 40 && static_cast<double>(limbs * bits + bits + 1) <= most; ++limbs) {
        // The fewest digits that security leaves room for.
        std::size_t alpha = std::min<std::size_t>(limbs, 16);
        const auto room = [&](std::size_t a) { return static_cast<double>(limbs * bits + a * (bits + 1)) <= most; };
        while (alpha > 1 && !room(alpha)) --alpha;
        alpha = (limbs + (limbs + alpha - 1) / alpha - 1) / ((limbs + alpha - 1) / alpha);  // digits of equal size
        ParametersSpec spec;
        spec.name = "suggested";
        spec.log_n = log_n;
        spec.t = t;
        spec.limbs_per_digit = static_cast<unsigned>(alpha);
        try {
          const u64 step = bits == kBits ? kStep : u64{2} << log_n;
          spec.p = rlwe::primes_under(bits + 1, alpha, step, {t});
          spec.q = rlwe::primes_under(bits, limbs, step, {t});
          const Parameters result(std::move(spec));
          const double left = budget_after(NoiseRules(result), depth);
          if (left < 1) continue;
          if (why != nullptr)
            *why = "depth " + std::to_string(depth) + " modulo " + std::to_string(t) + ": Q of " +
                   std::to_string(limbs) + " x " + std::to_string(bits) + " bits; " + decimal(left) +
                   " bits of budget are left after the last product\nP of " + std::to_string(alpha) + " x " +
                   std::to_string(bits + 1) +
                   " bits, digits of a key switch: " + std::to_string((limbs + alpha - 1) / alpha) +
                   "\nlog2(QP) = " + decimal(result.log_qp()) + " needs N = 2^" + std::to_string(log_n) + " (limit " +
                   decimal(most) + " for 128 bits), " +
                   (result.batching() ? "which has 2 x " + std::to_string(result.row()) + " slots"
                                      : "whose plaintexts have coefficients only");
          return result;
        } catch (const ParameterError&) {
          continue;
        }
      }
    }
  }
  throw ParameterError("no secure parameters up to N = 2^17 give depth " + std::to_string(depth) + " modulo " +
                       std::to_string(t) + " (" + limit + "): reduce the depth or t" +
                       (batching ? ", or take a t that is 1 mod a larger power of two" : ""));
}

}  // namespace ringforge::bfv
