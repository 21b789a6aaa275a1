// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/bgv/params.hpp"

#include <bit>

#include "params_data.hpp"
#include "ringforge/error.hpp"
#include "ringforge/rlwe/params.hpp"
#include "ringforge/sha256.hpp"

namespace ringforge::bgv {

Parameters::Parameters(ParametersSpec spec) : spec_(std::move(spec)), ring_(Ring::tensor(spec_.m)) {
  log_n_ = static_cast<unsigned>(std::bit_width(degree()) - 1);
  if (degree() < 64)
    rlwe::refuse(rlwe::ParameterFailure::degree, "phi(" + std::to_string(m()) + ") = " + std::to_string(degree()) +
                                                     ", it must be 64 at least: take a larger index");
  log_qp_ = rlwe::checked_log_qp({spec_.name, log_n_, spec_.q, spec_.p, spec_.limbs_per_digit, spec_.insecure},
                                 ring_.prime_step());
  std::vector<u64> identity{u64{'b'} | u64{'g'} << 8 | u64{'v'} << 16, m(), spec_.q.size(), spec_.p.size(),
                            spec_.limbs_per_digit};
  identity.insert(identity.end(), spec_.q.begin(), spec_.q.end());
  identity.insert(identity.end(), spec_.p.begin(), spec_.p.end());
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
  const u64 step = Ring::tensor(s.m).prime_step();
  ParametersSpec spec;
  spec.name = s.name;
  spec.m = s.m;
  std::vector<u64> taken;
  spec.p = rlwe::primes_of(s.p, step, taken);
  spec.q = rlwe::primes_of(s.q, step, taken);
  spec.limbs_per_digit = s.digit;
  spec.insecure = insecure;
  return Parameters(std::move(spec));
}

}  // namespace ringforge::bgv
