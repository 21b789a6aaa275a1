// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/fhew/gates.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "gate_inputs.hpp"
#include "gate_machine.hpp"
#include "params_data.hpp"
#include "progress.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/sha256.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::fhew {
namespace {

// Rotations that one thread runs side by side, so that a row of the key is read from memory once for all of them.
constexpr std::size_t kBatch = 8;
// Rotations that are handed to another place at once: several fillings of any accelerator, and a few MiB.
constexpr std::size_t kElsewhere = 256;

}  // namespace

const char* name(Method method) noexcept {
  switch (method) {
    case Method::ap:
      return "ap";
    case Method::ginx:
      return "ginx";
    case Method::automorphism:
      return "automorphism";
  }
  return "?";
}

const char* name(GateKind kind) noexcept {
  static constexpr const char* kNames[] = {"AND",  "OR",   "NAND", "NOR",  "XOR",  "XNOR",   "NOT",
                                           "MUX",  "MAJ3", "XOR3", "AND3", "OR3",  "NAND3",  "NOR3",
                                           "COPY", "ZERO", "ONE",  "SUM2", "SUM3", "REFRESH"};
  return static_cast<unsigned>(kind) < kGateKinds ? kNames[static_cast<unsigned>(kind)] : "?";
}

unsigned bootstraps(GateKind kind) noexcept {
  switch (kind) {
    case GateKind::mux:
    case GateKind::and3:
    case GateKind::or3:
    case GateKind::nand3:
    case GateKind::nor3:
      return 2;
    case GateKind::not_:
    case GateKind::copy:
    case GateKind::zero:
    case GateKind::one:
      return 0;
    default:
      return 1;
  }
}

unsigned arity(GateKind kind) noexcept {
  switch (kind) {
    case GateKind::zero:
    case GateKind::one:
      return 0;
    case GateKind::not_:
    case GateKind::copy:
    case GateKind::refresh:
      return 1;
    case GateKind::mux:
    case GateKind::maj3:
    case GateKind::xor3:
    case GateKind::sum3:
    case GateKind::and3:
    case GateKind::or3:
    case GateKind::nand3:
    case GateKind::nor3:
      return 3;
    default:
      return 2;
  }
}

// ---- parameters -----------------------------------------------------------------------------------

unsigned GateParameters::ap_digits() const noexcept {
  unsigned digits = 0;
  for (u64 reach = 1; reach < rotation_modulus(); reach *= ap_base) ++digits;
  return digits;
}

void GateParameters::check() const {
  const auto refuse = [this](const std::string& what) {
    throw ParameterError("gate parameters " + name + ": " + what);
  };
  if (n < 64 || n > 4096) refuse("LWE dimension " + std::to_string(n) + " is outside 64 ... 4096");
  if (log_q < 5 || log_q > 16) refuse("log_q " + std::to_string(log_q) + " is outside 5 ... 16");
  if (log_n < 8 || log_n > 12) refuse("log_n " + std::to_string(log_n) + " is outside 8 ... 12");
  if (modulus >> 54 != 0 || modulus < u64{1} << 17)
    refuse("modulus " + std::to_string(modulus) + " is outside 2^17 ... 2^54");
  check_cut(a, modulus, "gadget for a");
  check_cut(b, modulus, "gadget for b");
  check_cut(automorphism, modulus, "gadget of substitution keys");
  if (a.count + b.count > 64) refuse("more than 64 rows in an RGSW ciphertext");
  if (window < 1 || window > 64) refuse("window " + std::to_string(window) + " is outside 1 ... 64");
  if (ap_base < 2 || ap_base > rotation_modulus()) refuse("B_r " + std::to_string(ap_base) + " is outside 2 ... R");
  const LweSwitch& ks = key_switch;
  if (ks.base < 2 || ks.base > 1024 || ks.count < 1 || ks.count > 32) refuse("key-switching digits out of range");
  if (ks.at_q) {
    double reach = 1, half = 0;
    for (unsigned j = 0; j < ks.count; ++j) {
      half += reach * (ks.base / 2);
      reach *= ks.base;
    }
    const double top = ks.drop < log_q ? std::ldexp(1.0, static_cast<int>(log_q - ks.drop)) : 0;
    if (ks.drop >= log_q || reach < top || reach > 64 * top ||
        (ks.balanced && (half < top / 2 || half + top / 2 > reach)))
      refuse("key-switching digits and dropped bits must cover log_q = " + std::to_string(log_q) + " bits");
  } else {
    double reach = 1;
    for (unsigned j = 0; j < ks.count; ++j) reach *= ks.base;
    if (ks.balanced || ks.drop != 0 || reach < static_cast<double>(modulus))
      refuse("key switching modulo Q takes plain digits that cover Q and drops nothing");
  }
}

std::array<std::uint8_t, 32> GateParameters::hash() const {
  std::vector<u64> id{0x6761746531ULL, n, log_q, static_cast<u64>(lwe_secret), log_n, modulus, window, ap_base};
  for (const Cut* c : {&a, &b, &automorphism})
    id.insert(id.end(), {c->log_base, c->count, c->drop, c->balanced ? u64{1} : u64{0}});
  id.insert(id.end(), {key_switch.at_q ? u64{1} : u64{0}, key_switch.base, key_switch.count, key_switch.drop,
                       key_switch.balanced ? u64{1} : u64{0}});
  return sha256(id.data(), id.size() * sizeof(u64));
}

std::vector<std::string> GateParameters::names() {
  std::vector<std::string> out;
  for (const auto& s : data::kGateSets) out.emplace_back(s.name);
  return out;
}

GateParameters GateParameters::named(const std::string& name, const std::string& insecure) {
  std::string all;
  for (const auto& s : data::kGateSets) {
    all += (all.empty() ? "" : ", ") + std::string(s.name);
    if (name != s.name) continue;
    if (*s.insecure != '\0' && insecure.empty())
      throw ParameterError("the set " + name + " is not secure (" + s.insecure +
                           "): state why it may be used with insecure=\"...\"");
    GateParameters p;
    p.name = s.name;
    p.insecure = *s.insecure != '\0' ? insecure : "";
    p.about = s.about;
    p.n = s.n;
    p.log_q = s.log_q;
    p.lwe_secret = std::string(s.lwe_secret) == "binary" ? LweSecret::binary : LweSecret::ternary;
    p.log_n = s.log_n;
    p.modulus = s.modulus;
    p.a = {s.a[0], s.a[1], s.a[2], s.balanced};
    p.b = {s.b[0], s.b[1], s.b[2], s.balanced};
    p.automorphism = {s.automorphism[0], s.automorphism[1], s.automorphism[2], s.balanced};
    p.ap_base = s.ap_base;
    p.key_switch = {std::string(s.ks_modulus) == "q", s.ks_base, s.ks_count, s.ks_drop, s.ks_balanced};
    p.check();
    return p;
  }
  throw ParameterError("there is no gate set \"" + name + "\"; the sets are " + all);
}

// ---- the secret key -------------------------------------------------------------------------------

GateSecretKey::GateSecretKey(GateParameters params, SmallPoly&& lwe, SmallPoly&& ring, u64 id)
    : params_(std::move(params)), lwe_(std::move(lwe)), ring_(std::move(ring)), id_(id) {
  params_.check();
  const i64 low = params_.lwe_secret == LweSecret::ternary ? -1 : 0;
  if (lwe_.coeffs().size() != params_.n || ring_.coeffs().size() != params_.degree())
    throw FormatError("the secret key's lengths do not fit its parameters");
  // Neither is so of a secret that is one.
  if (declassified(!within(lwe_.coeffs(), low, 1)))
    throw FormatError("a coefficient of the LWE secret is out of range");
  if (declassified(!within(ring_.coeffs(), -1, 1)))
    throw FormatError("a coefficient of the ring secret is out of range");
}

namespace {

SmallPoly sample_lwe(const GateParameters& params, Randomness& rng) {
  params.check();
  const SecretSeed seed = rng.next_seed();
  if (params.lwe_secret == LweSecret::ternary) return sample_ternary(params.n, seed, StreamObject::secret);
  Stream stream(seed, StreamObject::secret);
  SmallPoly s(params.n);
  for (auto& x : s.coeffs()) x = static_cast<i64>(stream.next() & 1);
  return s;
}

// Public, and drawn apart from the secrets; 0 stands for a key of format 1, which has none.
u64 sample_id(Randomness& rng) {
  u64 id = 0;
  while (id == 0) {
    const SecretSeed seed = rng.next_seed();
    std::memcpy(&id, static_cast<const Seed&>(seed).data(), sizeof(id));
    declassify(&id, sizeof(id));
  }
  return id;
}

// What decides over a secret together with public ciphertexts, wiped at the end.
struct Phase {
  i64 value;
  explicit Phase(i64 start) noexcept : value(start) {}
  ~Phase() { wipe(&value, sizeof(value)); }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
};

}  // namespace

GateSecretKey::GateSecretKey(GateParameters params, Randomness& rng)
    : params_(std::move(params)),
      lwe_(sample_lwe(params_, rng)),
      ring_(sample_ternary(params_.degree(), rng.next_seed(), StreamObject::secret)),
      id_(sample_id(rng)) {}

void GateSecretKey::encrypt(u32* dst, const std::uint8_t* bits, std::size_t count, Randomness& rng) const {
  const SecretSeed uniform = rng.next_seed(), noise = rng.next_seed();
  Stream a(uniform, StreamObject::lwe_row), e(noise, StreamObject::error);
  const u32 mask = (1u << params_.log_q) - 1;
  const i64* s = lwe().data();
  Phase word(0), b(0);
  if (const auto bad = beyond_bits({bits, count}))
    throw ValueError("bit " + std::to_string(*bad) + " is " + std::to_string(bits[*bad]) + ", not 0 or 1");
  for (std::size_t c = 0; c < count; ++c) {
    u32* row = dst + c * (params_.n + 1);
    word.value = static_cast<i64>(e.next());
    b.value = error_of(static_cast<u64>(word.value));
    b.value += static_cast<i64>(bits[c]) << (params_.log_q - 2);
    for (unsigned i = 0; i < params_.n; ++i) {
      row[i] = static_cast<u32>(a.next()) & mask;
      b.value += row[i] * s[i];
    }
    row[params_.n] = static_cast<u32>(b.value) & mask;
  }
}

void GateSecretKey::decrypt(std::uint8_t* bits, const u32* src, std::size_t count) const {
  const u32 q = 1u << params_.log_q;
  const i64* s = lwe().data();
  Phase phase(0);
  for (std::size_t c = 0; c < count; ++c) {
    const u32* row = src + c * (params_.n + 1);
    phase.value = row[params_.n];
    for (unsigned i = 0; i < params_.n; ++i) phase.value -= row[i] * s[i];
    // 0 is the quarter around 0, 1 the one around q/4; the rest goes to the nearer.
    bits[c] = static_cast<std::uint8_t>((((static_cast<u32>(phase.value) - q / 8) & (q - 1)) - q / 2) >> 31);
  }
}

void GateSecretKey::errors(double* dst, const u32* src, const std::uint8_t* bits, std::size_t count) const {
  const i64 q = i64{1} << params_.log_q;
  const i64* s = lwe().data();
  Phase phase(0);
  for (std::size_t c = 0; c < count; ++c) {
    const u32* row = src + c * (params_.n + 1);
    phase.value = row[params_.n] - static_cast<i64>(bits[c]) * (q / 4);
    for (unsigned i = 0; i < params_.n; ++i) phase.value -= row[i] * s[i];
    phase.value = ((phase.value + q / 2) & (q - 1)) - q / 2;
    dst[c] = static_cast<double>(phase.value);
  }
}

// ---- evaluation -----------------------------------------------------------------------------------

namespace {

// The jobs of one pass over a level. A gate that is a chain of two leaves its second half for the next pass.
struct Pass {
  std::vector<Job> jobs;
  std::size_t rotations = 0;
  void add(const Job& job) {
    jobs.push_back(job);
    rotations += job.two ? 2 : 1;
  }
};

// The second half of a gate that is a chain of two.
struct Chained {
  GateKind kind;
  std::array<const u32*, 3> in;
  u32* out;
};

void run_pass(const GateEvaluationKey::Impl& impl, const Pass& pass, unsigned threads, Reports<bool>& reports,
              const Rotator& rotate) {
  if (pass.jobs.empty()) return;
  if (rotate) {
    for (std::size_t i = 0; i < pass.jobs.size(); i += kElsewhere) {
      const std::size_t count = std::min(kElsewhere, pass.jobs.size() - i);
      impl.run(pass.jobs.data() + i, count, rotate);
      reports.add(count);
    }
    return;
  }
  const std::size_t share = (pass.jobs.size() + threads - 1) / std::max(threads, 1u);
  const std::size_t batch = std::clamp<std::size_t>(share, 1, kBatch);
  parallel_for(threads, (pass.jobs.size() + batch - 1) / batch, [&](std::size_t i) {
    const std::size_t count = std::min(batch, pass.jobs.size() - i * batch);
    impl.run(pass.jobs.data() + i * batch, count, {});
    reports.add(count);
  });
}

}  // namespace

std::size_t evaluate(const GateEvaluationKey& key, const GateLevel& level, u32* wires, std::size_t wire_count,
                     unsigned threads, const Progress& progress, const Rotator& rotate) {
  const GateParameters& p = key.params();
  const std::size_t words = p.n + 1;
  const u32 mask = (1u << p.log_q) - 1, quarter = 1u << (p.log_q - 2);
  std::vector<std::uint8_t> written(wire_count);
  std::size_t chained = 0;
  for (std::size_t g = 0; g < level.count; ++g) {
    if (level.kinds[g] >= kGateKinds)
      throw ParameterError("gate " + std::to_string(g) + " is of kind " + std::to_string(level.kinds[g]) +
                           "; there are " + std::to_string(kGateKinds));
    const auto kind = static_cast<GateKind>(level.kinds[g]);
    const auto check = [&](std::int32_t wire) {
      if (wire < 0 || static_cast<std::size_t>(wire) >= wire_count)
        throw ShapeError("gate " + std::to_string(g) + " (" + name(kind) + ") uses wire " + std::to_string(wire) +
                         " of " + std::to_string(wire_count));
    };
    for (unsigned k = 0; k < arity(kind); ++k) check(level.inputs[3 * g + k]);
    check(level.outputs[g]);
    if (written[static_cast<std::size_t>(level.outputs[g])]++ != 0)
      throw ShapeError("wire " + std::to_string(level.outputs[g]) + " is written twice in one level");
    chained += bootstraps(kind) == 2 && kind != GateKind::mux ? 1 : 0;
  }
  for (std::size_t g = 0; g < level.count; ++g)
    for (unsigned k = 0; k < arity(static_cast<GateKind>(level.kinds[g])); ++k)
      if (written[static_cast<std::size_t>(level.inputs[3 * g + k])] != 0)
        throw ShapeError("gate " + std::to_string(g) + " reads wire " + std::to_string(level.inputs[3 * g + k]) +
                         ", which its own level writes");

  std::vector<u32> between(chained * words);
  std::vector<Chained> chains;
  chains.reserve(chained);
  // Carries by their inputs, for the sums that share their rotations. Accumulators of automorphisms move coefficients.
  std::map<std::array<const u32*, 3>, std::size_t> carries;
  std::vector<Job> sums;
  const bool shares = key.method() != Method::automorphism;
  Pass first, second;
  const auto constant = [&](u32* out, bool value) {
    std::fill_n(out, words, 0);
    out[p.n] = value ? quarter : 0;
  };
  const auto inverse = [&](u32* out, const u32* in) {
    for (std::size_t i = 0; i < words; ++i) out[i] = ((i + 1 == words ? quarter : 0) - in[i]) & mask;
  };
  // Whether a gate was settled or queued as what its dependent inputs leave of it.
  const auto reduced = [&](GateKind kind, const std::array<const u32*, 3>& in, u32* out, Pass& pass) {
    const ReducedGate r = reduce(p, kind, in);
    switch (r.form) {
      case ReducedGate::Form::whole:
        return false;
      case ReducedGate::Form::constant:
        constant(out, r.value);
        break;
      case ReducedGate::Form::wire:
        std::copy_n(r.in[0], words, out);
        break;
      case ReducedGate::Form::inverse:
        inverse(out, r.in[0]);
        break;
      case ReducedGate::Form::rotation:
        pass.add({{r.decision, r.in}, {}, false, out});
    }
    return true;
  };
  for (std::size_t g = 0; g < level.count; ++g) {
    const auto kind = static_cast<GateKind>(level.kinds[g]);
    std::array<const u32*, 3> in{};
    for (unsigned k = 0; k < arity(kind); ++k)
      in[k] = wires + static_cast<std::size_t>(level.inputs[3 * g + k]) * words;
    u32* out = wires + static_cast<std::size_t>(level.outputs[g]) * words;
    if (bootstraps(kind) > 0 && reduced(kind, in, out, first)) continue;
    const auto two = [&](GateKind head, GateKind tail) {
      u32* t = between.data() + chains.size() * words;
      first.add({{decision(head), {in[0], in[1], nullptr}}, {}, false, t});
      chains.push_back({tail, {t, in[2], nullptr}, out});
    };
    switch (kind) {
      case GateKind::not_:
        inverse(out, in[0]);
        break;
      case GateKind::copy:
        std::copy_n(in[0], words, out);
        break;
      case GateKind::zero:
      case GateKind::one:
        constant(out, kind == GateKind::one);
        break;
      case GateKind::mux: {
        // (s AND x) + ((NOT s) AND y): at most one of the two is 1.
        constexpr Decision kHigh = decision(GateKind::and_);
        constexpr Decision kLow{{-1, 1, 0}, 1, 3};
        first.add({{kHigh, {in[0], in[1], nullptr}}, {kLow, {in[0], in[2], nullptr}}, true, out});
        break;
      }
      case GateKind::and3:
        two(GateKind::and_, GateKind::and_);
        break;
      case GateKind::or3:
        two(GateKind::or_, GateKind::or_);
        break;
      case GateKind::nand3:
        two(GateKind::and_, GateKind::nand_);
        break;
      case GateKind::nor3:
        two(GateKind::or_, GateKind::nor_);
        break;
      case GateKind::sum2:
      case GateKind::sum3:
        sums.push_back({{decision(kind), in}, {}, false, nullptr, out});
        break;
      case GateKind::and_:
      case GateKind::maj3:
        if (shares) carries.emplace(in, first.jobs.size());
        first.add({{decision(kind), in}, {}, false, out});
        break;
      default:
        first.add({{decision(kind), in}, {}, false, out});
    }
  }
  for (const Job& job : sums) {
    const auto carry = carries.find(job.first.in);
    if (carry == carries.end() || first.jobs[carry->second].sum != nullptr)
      first.add(job);
    else
      first.jobs[carry->second].sum = job.sum;
  }
  Reports<bool> reports(progress, first.jobs.size() + chains.size());
  run_pass(key.impl(), first, threads, reports, rotate);
  // The first half's result may be its other input once more: both come of the same gate.
  for (const Chained& c : chains)
    if (!reduced(c.kind, c.in, c.out, second)) second.add({{decision(c.kind), c.in}, {}, false, c.out});
  if (chains.size() > second.jobs.size()) reports.add(chains.size() - second.jobs.size());
  run_pass(key.impl(), second, threads, reports, rotate);
  return first.rotations + second.rotations;
}

StageErrors trace(const GateEvaluationKey& key, const GateSecretKey& secret, GateKind kind, const u32* in0,
                  const u32* in1) {
  if (key.params().hash() != secret.params().hash())
    throw MismatchError("the evaluation key belongs to " + key.params().name + ", the secret key to " +
                        secret.params().name + ": take keys of one set");
  if (key.id() != secret.id())
    throw MismatchError("the evaluation key belongs to another secret key than the one given");
  if (bootstraps(kind) != 1 || arity(kind) != 2)
    throw ParameterError(std::string("stages are traced for gates of two inputs and one bootstrap, not ") + name(kind));
  std::array<std::uint8_t, 2> bits{};
  secret.decrypt(&bits[0], in0, 1);
  secret.decrypt(&bits[1], in1, 1);
  const Decision d = decision(kind);
  const unsigned modulus = key.params().rotation_modulus();
  const int sum = d.weight[0] * bits[0] + d.weight[1] * bits[1] + d.constant;
  const unsigned exact = static_cast<unsigned>(sum) * (modulus / 4) & (modulus - 1);
  const bool value = ((exact - d.start * (modulus / 8)) & (modulus - 1)) < modulus / 2;
  StageErrors e = key.impl().trace(secret, {d, {in0, in1, nullptr}}, value);
  const double m = modulus, off = e.rounded - exact;
  e.rounded = off - m * std::nearbyint(off / m);
  return e;
}

void accumulate(const GateEvaluationKey& key, void* accumulators, std::size_t count, const u32* indices,
                std::size_t length, unsigned threads) {
  key.impl().accumulate(accumulators, count, indices, length, threads);
}

void extract(const GateEvaluationKey& key, u32* dst, const void* accumulators, std::size_t count) {
  key.impl().extract(dst, accumulators, count);
}

void export_rgsw(const GateEvaluationKey& key, void* dst, const u32* indices, std::size_t count) {
  key.impl().export_rgsw(dst, indices, count);
}

}  // namespace ringforge::fhew
