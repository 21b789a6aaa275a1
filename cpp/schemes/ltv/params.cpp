// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ltv/params.hpp"

#include <algorithm>
#include <cmath>

#include "params_data.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ltv {
namespace {

Ring make_ring(u64 m, RingKind kind) {
  if (kind == RingKind::padded) return Ring::cyclotomic(m);
  if (kind == RingKind::tensor) return Ring::tensor(m);
  throw ParameterError("LTV has no ring of kind " + std::to_string(static_cast<unsigned>(kind)) +
                       ": use the padded one or the tensor ring");
}

}  // namespace

const char* ring_name(RingKind kind) noexcept { return kind == RingKind::tensor ? "tensor" : "padded"; }

RingKind ring_named(const std::string& name) {
  for (const RingKind k : {RingKind::padded, RingKind::tensor})
    if (name == ring_name(k)) return k;
  throw ParameterError("LTV has no ring \"" + name + "\": choose padded or tensor");
}

const char* name(Gadget gadget) noexcept { return gadget == Gadget::windows ? "windows" : "rns"; }

Gadget gadget_named(const std::string& name) {
  for (const Gadget g : {Gadget::windows, Gadget::rns})
    if (name == ltv::name(g)) return g;
  throw ParameterError("there is no gadget \"" + name + "\": choose windows or rns");
}

Parameters::Parameters(ParametersSpec spec) : spec_(std::move(spec)) {
  if (spec_.insecure.empty())
    throw ParameterError(std::string(kWarning) + "; state why it may be used all the same with insecure=\"...\"");
  if (spec_.name.size() > 64 || spec_.insecure.size() > 256)
    throw ParameterError("names have at most 64 bytes, reasons 256: shorten them");
  ring_ = make_ring(spec_.m, spec_.kind);
  if (ring_.degree() < 64)
    throw ParameterError("degree " + std::to_string(ring_.degree()) +
                         " is below 64, where no bound on noise is known: take a larger index");
  if (spec_.q.empty() || spec_.q.size() > 64)
    throw ParameterError(std::to_string(spec_.q.size()) + " primes, possible are 1 ... 64");
  const u64 step = ring_.prime_step();
  for (std::size_t i = 0; i < spec_.q.size(); ++i) {
    const u64 q = spec_.q[i];
    const auto before = spec_.q.begin() + static_cast<std::ptrdiff_t>(i);
    if (q <= (u64{1} << 16) || q >> kernels::kMaxBits32 != 0 || q % step != 1 || !is_prime(q) ||
        std::find(spec_.q.begin(), before, q) != before)
      throw ParameterError(std::to_string(q) + " must be a prime between 2^16 and 2^31, 1 mod " + std::to_string(step) +
                           ", and appear once");
  }
  if (spec_.drop < 1 || spec_.drop > spec_.q.size())
    throw ParameterError(std::to_string(spec_.drop) + " primes a level, possible are 1 ... " +
                         std::to_string(spec_.q.size()));
  const unsigned most = spec_.gadget == Gadget::windows ? 16 : 31;
  if (spec_.gadget != Gadget::windows && spec_.gadget != Gadget::rns)
    throw ParameterError("there is no gadget " + std::to_string(static_cast<u32>(spec_.gadget)));
  if (spec_.window < 1 || spec_.window > most)
    throw ParameterError("digits of " + std::to_string(spec_.window) + " bits, possible are 1 ... " +
                         std::to_string(most) + " with " + ltv::name(spec_.gadget));

  std::vector<u64> identity{u64{'l'} | u64{'t'} << 8 | u64{'v'} << 16,
                            spec_.m,
                            static_cast<u64>(spec_.kind),
                            spec_.drop,
                            static_cast<u64>(spec_.gadget),
                            spec_.window,
                            spec_.q.size()};
  identity.insert(identity.end(), spec_.q.begin(), spec_.q.end());
  hash_ = sha256(identity.data(), identity.size() * sizeof(u64));
}

std::size_t Parameters::limbs(std::size_t level) const {
  if (level > levels())
    throw LevelError("there is no level " + std::to_string(level) + ": these parameters have 0 ... " +
                     std::to_string(levels()));
  return spec_.q.size() - spec_.drop * level;
}

double Parameters::log_q(std::size_t limbs) const {
  if (limbs < 1 || limbs > spec_.q.size())
    throw LevelError(std::to_string(limbs) + " limbs: these parameters have 1 ... " + std::to_string(spec_.q.size()));
  double s = 0;
  for (std::size_t i = 0; i < limbs; ++i) s += std::log2(static_cast<double>(spec_.q[i]));
  return s;
}

std::size_t Parameters::digits(std::size_t level) const {
  if (level == 0 || level > levels())
    throw LevelError("there is no evaluation key of level " + std::to_string(level) + ": these parameters have 1 ... " +
                     std::to_string(levels()));
  const std::size_t over = limbs(level - 1);
  if (spec_.gadget == Gadget::rns) return over * ((31 + spec_.window - 1) / spec_.window);
  return static_cast<std::size_t>(std::ceil(log_q(over) / spec_.window));
}

u64 Parameters::key_bytes(std::size_t level) const {
  return u64{digits(level)} * limbs(level - 1) * ring_.transform_length() * sizeof(u32);
}

std::vector<std::string> Parameters::names() {
  std::vector<std::string> out;
  for (const auto& s : data::kSets) out.emplace_back(s.name);
  return out;
}

Parameters Parameters::named(const std::string& name, const std::string& insecure) {
  for (const auto& s : data::kSets) {
    if (name != s.name) continue;
    if (insecure.empty())
      throw ParameterError("the set " + name + " is not secure (" + s.insecure +
                           "): state why it may be used with insecure=\"...\", as in named(\"" + name +
                           "\", insecure=\"why\")");
    ParametersSpec spec;
    spec.name = s.name;
    spec.m = s.m;
    spec.kind = ring_named(s.ring);
    // The paper's primes are 1 mod 65,536; so are those of smaller padded rings here.
    const u64 step = spec.kind == RingKind::tensor ? make_ring(s.m, spec.kind).prime_step() : u64{1} << 16;
    spec.q = primes_below(s.bits, s.primes, step);
    spec.drop = s.drop;
    spec.gadget = gadget_named(s.gadget);
    spec.window = s.window;
    spec.insecure = insecure;
    return Parameters(std::move(spec));
  }
  std::string all;
  for (const auto& n : names()) all += (all.empty() ? "" : ", ") + n;
  throw ParameterError("there is no LTV parameter set \"" + name + "\"; the sets are " + all);
}

}  // namespace ringforge::ltv
