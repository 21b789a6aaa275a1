// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The bootstrap: sum, blind rotation, extraction, key switch.
#include "gate_machine.hpp"

#include <algorithm>
#include <cmath>

#include "fork.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::fhew {
namespace {

ForkMutex spectra_mutex(ForkMutex::Rank::keys);

}  // namespace

DiscreteLogs::DiscreteLogs(unsigned log_n) : powers_((std::size_t{1} << log_n) / 2), logs_(std::size_t{2} << log_n) {
  const u32 m = 2u << log_n;
  u32 x = 1;
  for (u32 l = 0; l < powers_.size(); ++l, x = x * 5 % m) {
    powers_[l] = x;
    logs_[x] = l;
    logs_[m - x] = static_cast<u32>(powers_.size()) + l;
  }
}

template <class W>
GateMachine<W>::GateMachine(GateParameters p, Method m, bool room)
    : Impl(std::move(p), m), ring_(SmallRing<W>::get(params.modulus, params.log_n)), logs_(params.log_n) {
  if constexpr (sizeof(W) == 4) {
    // AP has a ciphertext for each digit's value, most of which no gate reads: twice its bytes would be much.
    const std::array<Cut, 2> cuts{params.a, params.b};
    const auto exact = [&](std::span<const Cut> list) {
      return method != Method::ap && spectral_error(list, params.modulus, params.log_n) < 0.5;
    };
    spectral_rgsw_ = exact(cuts);
    spectral_substitution_ = substitution_count() > 0 && exact(std::span(&params.automorphism, 1));
  }
  stride_ = params.key_switch.at_q ? (params.n + 1 + 31) / 32 * 32 : (params.n + 1 + 15) / 16 * 16;
  if (!room) return;
  rows_ = WordArray<W>(row_count() * 2 * ring_->n());
  if (params.key_switch.at_q) {
    table16_ = WordArray<std::uint16_t>(table_words());
    table16_.zero();
  } else {
    table_ = WordArray<W>(table_words());
    table_.zero();
  }
}

template <class W>
void GateMachine<W>::make_spectra() const {
  if constexpr (sizeof(W) == 4) {
    if ((!spectral_rgsw_ && !spectral_substitution_) || spectra_.load(std::memory_order_acquire) != nullptr) return;
    const std::lock_guard lock(spectra_mutex);
    if (spectra_.load(std::memory_order_relaxed) != nullptr) return;
    WordArray<double> words(spectral_bytes() / sizeof(double));
    double* to = words.data();
    if (spectral_rgsw_) {
      fhew::make_spectra(to, rows_.data(), rgsw_count(), params.rows(), *ring_);
      to += rgsw_words();
    }
    if (spectral_substitution_)
      fhew::make_spectra(to, rows_.data() + rgsw_words(), substitution_count(), params.automorphism.count, *ring_);
    spectra_words_ = std::move(words);
    spectra_.store(spectra_words_.data(), std::memory_order_release);
  }
}

template <class W>
std::size_t GateMachine<W>::rgsw_count() const noexcept {
  switch (method) {
    case Method::ap:
      return std::size_t{params.n} * params.ap_digits() * (params.ap_base - 1);
    case Method::ginx:
      return std::size_t{params.n} * (params.lwe_secret == LweSecret::ternary ? 2 : 1);
    case Method::automorphism:
      return params.n;
  }
  return 0;
}
template <class W>
std::size_t GateMachine<W>::substitution_count() const noexcept {
  return method == Method::automorphism ? params.window + 1 : 0;
}
template <class W>
std::size_t GateMachine<W>::row_count() const noexcept {
  return rgsw_count() * params.rows() + substitution_count() * params.automorphism.count;
}
template <class W>
u32 GateMachine<W>::substitution_element(std::size_t index) const noexcept {
  return index < params.window ? logs_.power(index + 1) : 2 * params.degree() - logs_.power(1);
}
template <class W>
std::size_t GateMachine<W>::digit_values() const noexcept {
  return params.key_switch.balanced ? params.key_switch.base / 2 : params.key_switch.base - 1;
}

template <class W>
struct GateMachine<W>::Scratch {
  Scratch(const GateParameters& p, std::size_t n, std::size_t count)
      : work(n, std::max(p.rows(), p.automorphism.count)),
        accs(2 * n * count),
        lwe(n + 1),
        sums(p.n + 64),
        twice(p.n + 1),
        exps(count * (p.n + 1)) {}
  Workspace<W> work;
  WordArray<W> accs, lwe;
  WordArray<u64> sums;
  WordArray<u32> twice, exps;
};

// Rounding x to rounded*2^shift leaves rest_i = x_i - rounded_i*2^shift in the phase as +sum rest_i*s_i. For a binary
// secret, s_i = 1/2 + (+-1/2), half of the sum is public and is taken off b beforehand: a quarter of the variance of
// s_i = 0, 1 remains, and no bias.
template <class W>
void GateMachine<W>::exponents(u32* dst, const Rotation& r, Test test) const noexcept {
  const u32 q_mask = (1u << params.log_q) - 1, modulus = params.rotation_modulus();
  const unsigned shift = params.log_q - static_cast<unsigned>(__builtin_ctz(modulus));
  const u32 half = shift == 0 ? 0 : 1u << (shift - 1);
  // Automorphisms need odd exponents: the nearest odd one.
  const bool odd = method == Method::automorphism && modulus == 2 * ring_->n();
  // Two functions share the coefficients of a test polynomial by turns: exponents are then even.
  const bool even = test == Test::both && modulus == 2 * ring_->n();
  const bool centred = params.lwe_secret == LweSecret::binary && (shift > 0 || odd || even);
  i64 rest = 0;
  for (unsigned i = 0; i <= params.n; ++i) {
    u32 sum = i == params.n ? static_cast<u32>(r.decision.constant) << (params.log_q - 2) : 0;
    for (unsigned k = 0; k < 3; ++k)
      if (r.decision.weight[k] != 0) sum += static_cast<u32>(r.decision.weight[k]) * r.in[k][i];
    sum &= q_mask;
    if (i == params.n && centred) sum = (sum - static_cast<u32>(rest / 2)) & q_mask;
    const u32 rounded = even                  ? (sum + (1u << shift)) >> (shift + 1) << 1
                        : odd && i < params.n ? (sum >> (shift + 1) << 1) | 1
                                              : (sum + half) >> shift;
    rest += static_cast<i64>(sum) - (static_cast<i64>(rounded) << shift);
    dst[i] = rounded & (modulus - 1);
  }
}

// The test polynomial: coefficient i*2N/R is +-Q/8 by the half circle that (b - i) lies in (FHEW section 5; the
// published hardware builds it the same way). +-Q/4 gives twice the bit with the noise of one. `both` has that in the
// coefficients next to the others, so that coefficient 1 ends up with the value that coefficient 0 has, doubled.
template <class W>
void GateMachine<W>::start(W* acc, u32 b, unsigned half_circle, Test test) const noexcept {
  const std::size_t n = ring_->n();
  // Exponents made odd are no multiples of 2N/R: the polynomial then has all its coefficients.
  const u32 modulus = method == Method::automorphism ? static_cast<u32>(2 * n) : params.rotation_modulus();
  const u32 step = static_cast<u32>(2 * n) / modulus, first = half_circle * (modulus / 8);
  b *= modulus / params.rotation_modulus();
  const W one = test == Test::twice ? quarter() : eighth(), two = quarter(), q = ring_->q();
  std::fill_n(acc, 2 * n, W{0});
  const u32 stride = test == Test::both && step == 1 ? 2 : 1;
  for (u32 i = 0; i < modulus / 2; i += stride) {
    const bool set = ((b - i - first) & (modulus - 1)) < modulus / 2;
    acc[n + i * step] = set ? one : q - one;
    if (test == Test::both) acc[n + i * step + 1] = set ? two : q - two;
  }
}

template <class W>
void GateMachine<W>::rotate_ap(W* acc, const u32* exps, Workspace<W>& w) const {
  const u32 modulus = params.rotation_modulus(), base = params.ap_base;
  const unsigned digits = params.ap_digits();
  // Zero digits mean RGSW(1) and are left out.
  std::vector<const W*> keys;  // in Eval form: AP has no spectra
  keys.reserve(std::size_t{params.n} * digits + 1);
  for (unsigned i = 0; i < params.n; ++i) {
    u32 v = (modulus - exps[i]) & (modulus - 1);
    for (unsigned j = 0; j < digits; ++j, v /= base)
      if (v % base != 0) keys.push_back(rgsw((std::size_t{i} * digits + j) * (base - 1) + v % base - 1).eval);
  }
  keys.push_back(nullptr);
  for (std::size_t k = 0; k + 1 < keys.size(); ++k)
    external_product<W>(acc, acc, keys[k], params.a, params.b, *ring_, w, keys[k + 1]);
}

template <class W>
void GateMachine<W>::rotate_ginx(W* accs, const u32* exps, std::size_t count, Workspace<W>& w) const {
  const std::size_t n = ring_->n();
  const u32 modulus = params.rotation_modulus(), step = static_cast<u32>(2 * n) / modulus;
  const bool ternary = params.lwe_secret == LweSecret::ternary;
  for (unsigned i = 0; i < params.n; ++i)
    for (std::size_t g = 0; g < count; ++g) {
      const u32 a = exps[g * (params.n + 1) + i] * step;
      if (a == 0) continue;
      W* acc = accs + g * 2 * n;
      rotate_by_bit(acc, 2 * n - a, rgsw(ternary ? 2 * i : i), params.a, params.b, *ring_, w);
      if (ternary) rotate_by_bit(acc, a, rgsw(2 * i + 1), params.a, params.b, *ring_, w);
    }
}

// Horner's rule on discrete logarithms: exponents are odd, so -a_i = v is one of +-5^l. Groups of equal v are taken in
// the order -5^(N/2-1), ..., -5^0, 5^(N/2-1), ..., 5^0; X^(s_i) is multiplied in for each member, then X -> X^u with
// u = v/v' and v' the next group's value, so that at the end every member has been raised to its own v. The first
// polynomial is mapped by X -> X^(1/v) of the first group beforehand. (Lee et al., eprint 2022/198, Algorithm 7.)
template <class W>
void GateMachine<W>::rotate_automorphism(W* acc, const u32* exps, Workspace<W>& w) const {
  const std::size_t n = ring_->n(), order = logs_.order();
  const u32 m = static_cast<u32>(2 * n), modulus = params.rotation_modulus(), step = m / modulus;
  // Multiples of 4 are made odd downwards: all v are then 1 modulo 4, powers of 5, and the walk ends where they do.
  // Upwards they would be -5^l, and N/2 empty places would follow the last member, at the cost of N/2/window
  // substitutions whose errors nothing rotates apart: with plain digits the same sum in every ciphertext of a key.
  const bool down = step >= 4;
  std::vector<std::pair<u32, u32>> members(params.n);  // (position in the order above, i)
  for (unsigned i = 0; i < params.n; ++i) {
    const u32 odd = down ? exps[i] * step - 1 : (exps[i] * step) | 1;
    const u32 log = logs_.log((m - odd) & (m - 1));
    members[i] = {static_cast<u32>(2 * order - 1) - log, i};
  }
  std::sort(members.begin(), members.end());
  // Position p: -5^l at p = N/2-1-l, 5^l at p = N-1-l. A step to the next position is X -> X^5, from -1 to 5^(N/2-1)
  // it is X -> X^(-5); after the last position, 5^0, nothing is left to do.
  const u32 first = members.front().first;
  const u32 value = first < order ? m - logs_.power(order - 1 - first) : logs_.power(2 * order - 1 - first);
  u32 inverse = value;  // value^(2^k - 1) with 2^k >= the group's exponent: Newton is not worth it for 2N <= 8192
  for (u32 x = value, k = 0; k < 13; ++k) {
    x = x * x % m;
    inverse = inverse * x % m;
  }
  W* t = w.t.data() + 2 * n;
  ring_->kernels().automorphism(t, acc + n, inverse, ring_->table());
  std::copy_n(t, n, acc + n);
  std::size_t k = 0;
  for (u32 p = first; p + 1 <= 2 * order;) {
    for (; k < members.size() && members[k].first == p; ++k)
      external_product(acc, acc, rgsw(members[k].second), params.a, params.b, *ring_, w);
    const u32 last = static_cast<u32>(2 * order) - 1;
    const u32 target = k < members.size() ? members[k].first : last;
    if (p == target) break;
    const bool crosses = p < order && target >= order;
    const u32 stop = crosses ? static_cast<u32>(order) - 1 : target;
    if (p < stop) {
      const u32 hop = std::min<u32>(stop - p, params.window);
      substitute(acc, acc, substitution_element(hop - 1), substitution_key(hop - 1), params.automorphism, *ring_, w);
      p += hop;
    } else {
      substitute(acc, acc, substitution_element(params.window), substitution_key(params.window), params.automorphism,
                 *ring_, w);
      ++p;
    }
  }
}

template <class W>
void GateMachine<W>::rotate(W* accs, const u32* exps, std::size_t count, Workspace<W>& w) const {
  make_spectra();
  if (method == Method::ginx) return rotate_ginx(accs, exps, count, w);
  for (std::size_t g = 0; g < count; ++g) {
    W* acc = accs + g * 2 * ring_->n();
    const u32* e = exps + g * (params.n + 1);
    method == Method::ap ? rotate_ap(acc, e, w) : rotate_automorphism(acc, e, w);
  }
}

template <class W>
void GateMachine<W>::extract_add(W* lwe, const W* acc, std::size_t coefficient, W shift) const noexcept {
  const std::size_t n = ring_->n();
  const W q = ring_->q();
  const auto add = [q](W x, W y) { return static_cast<W>(x >= q - y ? x - (q - y) : x + y); };
  for (std::size_t i = 0; i <= coefficient; ++i) lwe[i] = add(lwe[i], acc[coefficient - i]);
  for (std::size_t i = coefficient + 1; i < n; ++i) {
    const W x = acc[n + coefficient - i];
    lwe[i] = add(lwe[i], x == 0 ? 0 : q - x);
  }
  lwe[n] = add(add(lwe[n], acc[n + coefficient]), shift);
}

template <class W>
void GateMachine<W>::switch_key(u32* out, const W* lwe, u64* sums) const {
  const LweSwitch& ks = params.key_switch;
  const std::size_t n = ring_->n(), values = digit_values(), words = params.n + 1;
  const u64 q = ring_->q();
  const u32 small_mask = (1u << params.log_q) - 1;
  const auto to_small = [&](u64 x) {
    return static_cast<u32>(((static_cast<unsigned __int128>(x) << params.log_q) + q / 2) / q) & small_mask;
  };
  if (ks.at_q) {
    // Balanced digits of the centred y = x/2^drop, |y| <= half: those of y + half, less base/2 each.
    const u32 kept = (1u << (params.log_q - ks.drop)) - 1, round = ks.drop == 0 ? 0 : 1u << (ks.drop - 1);
    u32 half = 0;
    for (unsigned j = 0; ks.balanced && j < ks.count; ++j) half = half * ks.base + ks.base / 2;
    auto* s = reinterpret_cast<std::uint16_t*>(sums);
    std::fill_n(s, stride_, std::uint16_t{0});
    for (std::size_t i = 0; i < n; ++i) {
      u32 y = ((to_small(lwe[i]) + round) >> ks.drop) & kept;
      if (ks.balanced) y = y > kept / 2 ? half - (kept + 1 - y) : half + y;
      for (unsigned j = 0; j < ks.count; ++j, y /= ks.base) {
        const int digit = static_cast<int>(y % ks.base) - (ks.balanced ? static_cast<int>(ks.base / 2) : 0);
        if (digit == 0) continue;
        const std::uint16_t* row =
            table16_.data() + ((i * ks.count + j) * values + static_cast<std::size_t>(std::abs(digit)) - 1) * stride_;
        if (digit > 0)
          for (std::size_t k = 0; k < stride_; ++k) s[k] = static_cast<std::uint16_t>(s[k] - row[k]);
        else
          for (std::size_t k = 0; k < stride_; ++k) s[k] = static_cast<std::uint16_t>(s[k] + row[k]);
      }
    }
    const u32 b = to_small(lwe[n]);
    for (std::size_t k = 0; k < words; ++k) out[k] = (s[k] + (k + 1 == words ? b : 0)) & small_mask;
    return;
  }
  // Modulo Q: sums stay below 2^(bits(W)) for `batch` rows, then are reduced.
  auto* s = reinterpret_cast<W*>(sums);
  std::fill_n(s, stride_, W{0});
  const std::size_t batch = sizeof(W) == 4 ? (u64{1} << 32) / q - 1 : std::size_t{1} << 16;
  std::size_t pending = 0;
  for (std::size_t i = 0; i < n; ++i) {
    W x = lwe[i];
    for (unsigned j = 0; j < ks.count; ++j, x /= ks.base) {
      const W digit = x % ks.base;
      if (digit == 0) continue;
      const W* row = table_.data() + ((i * ks.count + j) * values + digit - 1) * stride_;
      for (std::size_t k = 0; k < stride_; ++k) s[k] += row[k];
      if (++pending == batch) {
        for (std::size_t k = 0; k < stride_; ++k) s[k] %= ring_->q();
        pending = 1;
      }
    }
  }
  for (std::size_t k = 0; k < words; ++k) {
    const u64 sum = s[k] % q, b = k + 1 == words ? lwe[n] : 0;
    out[k] = to_small(b >= sum ? b - sum : b + q - sum);
  }
}

template <class W>
void GateMachine<W>::run(const Job* jobs, std::size_t count, const Rotator& elsewhere) const {
  const std::size_t n = ring_->n();
  std::vector<std::pair<const Rotation*, Test>> rotations;
  for (std::size_t i = 0; i < count; ++i) {
    rotations.emplace_back(&jobs[i].first, test_of(jobs[i]));
    if (jobs[i].two) rotations.emplace_back(&jobs[i].second, Test::bit);
  }
  Scratch s(params, n, rotations.size());
  for (std::size_t g = 0; g < rotations.size(); ++g) {
    const auto& [rotation, test] = rotations[g];
    u32* e = s.exps.data() + g * (params.n + 1);
    exponents(e, *rotation, test);
    start(s.accs.data() + g * 2 * n, e[params.n], rotation->decision.start, test);
  }
  if (elsewhere)
    elsewhere(s.accs.data(), s.exps.data(), rotations.size());
  else
    rotate(s.accs.data(), s.exps.data(), rotations.size(), s.work);
  const u32 mask = (1u << params.log_q) - 1;
  for (std::size_t i = 0, g = 0; i < count; ++i) {
    const Job& job = jobs[i];
    const W* acc = s.accs.data() + g++ * 2 * n;
    if (job.sum != nullptr) {
      s.lwe.zero();
      extract_add(s.lwe.data(), acc, job.out == nullptr ? 0 : 1, quarter());
      switch_key(s.twice.data(), s.lwe.data(), s.sums.data());
      for (unsigned w = 0; w <= params.n; ++w) {
        u32 sum = 0;
        for (unsigned k = 0; k < 3; ++k)
          if (job.first.in[k] != nullptr) sum += job.first.in[k][w];
        job.sum[w] = (sum - s.twice.data()[w]) & mask;
      }
    }
    if (job.out == nullptr) continue;
    s.lwe.zero();
    extract_add(s.lwe.data(), acc, 0, eighth());
    if (job.two) extract_add(s.lwe.data(), s.accs.data() + g++ * 2 * n, 0, eighth());
    switch_key(job.out, s.lwe.data(), s.sums.data());
  }
}

template <class W>
StageErrors GateMachine<W>::trace(const GateSecretKey& secret, const Rotation& rotation, bool value) const {
  const std::size_t n = ring_->n();
  Scratch s(params, n, 1);
  exponents(s.exps.data(), rotation);
  const u32 modulus = params.rotation_modulus();
  i64 phase = s.exps.data()[params.n];
  for (unsigned i = 0; i < params.n; ++i) phase -= s.exps.data()[i] * secret.lwe()[i];
  StageErrors e;
  const auto centre = [](double x, double m) { return x - m * std::nearbyint(x / m); };
  e.rounded = static_cast<double>(phase % static_cast<i64>(modulus));
  start(s.accs.data(), s.exps.data()[params.n], rotation.decision.start);
  rotate(s.accs.data(), s.exps.data(), 1, s.work);
  s.lwe.zero();
  extract_add(s.lwe.data(), s.accs.data(), 0, eighth());
  const double q = static_cast<double>(ring_->q());
  __int128 big = s.lwe.data()[n];
  for (std::size_t i = 0; i < n; ++i) big -= static_cast<__int128>(s.lwe.data()[i]) * secret.ring().coeffs()[i];
  e.rotated = centre(static_cast<double>(big % ring_->q()) - (value ? 2.0 * (ring_->q() / 8 + 1) : 0), q);
  std::vector<u32> out(params.n + 1);
  switch_key(out.data(), s.lwe.data(), s.sums.data());
  const std::uint8_t bit = value;
  secret.errors(&e.switched, out.data(), &bit, 1);
  return e;
}

template <class W>
void GateMachine<W>::accumulate(void* accumulators, std::size_t count, const u32* indices, std::size_t length,
                                unsigned threads) const {
  const std::size_t n = ring_->n(), digits = params.ap_digits();
  const std::size_t limit = params.n * digits * params.ap_base;
  if (method != Method::ap) throw ParameterError("the accumulation chain takes an AP key");
  for (std::size_t i = 0; i < count * length; ++i)
    if (indices[i] >= limit)
      throw ShapeError("key index " + std::to_string(indices[i]) + " of " + std::to_string(limit));
  parallel_for(threads, count, [&](std::size_t c) {
    Workspace<W> w(n, params.rows());
    W* acc = static_cast<W*>(accumulators) + c * 2 * n;
    for (std::size_t i = 0; i < length; ++i) {
      const u32 index = indices[c * length + i], v = index % params.ap_base;
      if (v != 0)
        external_product(acc, acc, rgsw(index / params.ap_base * (params.ap_base - 1) + v - 1), params.a, params.b,
                         *ring_, w);
    }
  });
}

template <class W>
void GateMachine<W>::extract(u32* dst, const void* accumulators, std::size_t count) const {
  Scratch s(params, ring_->n(), 1);
  for (std::size_t c = 0; c < count; ++c) {
    s.lwe.zero();
    extract_add(s.lwe.data(), static_cast<const W*>(accumulators) + c * 2 * ring_->n(), 0, eighth());
    switch_key(dst + c * (params.n + 1), s.lwe.data(), s.sums.data());
  }
}

template <class W>
void GateMachine<W>::export_rgsw(void* dst, const u32* indices, std::size_t count) const {
  const std::size_t n = ring_->n(), words = params.rows() * 2 * n;
  const bool ap = method == Method::ap;
  const std::size_t limit = ap ? std::size_t{params.n} * params.ap_digits() * params.ap_base : rgsw_count();
  for (std::size_t c = 0; c < count; ++c)
    if (indices[c] >= limit)
      throw ShapeError("key index " + std::to_string(indices[c]) + " of " + std::to_string(limit));
  for (std::size_t c = 0; c < count; ++c) {
    W* to = static_cast<W*>(dst) + c * words;
    const u32 index = indices[c], v = ap ? index % params.ap_base : 0;
    if (!ap || v != 0) {
      std::copy_n(rgsw(ap ? index / params.ap_base * (params.ap_base - 1) + v - 1 : index).eval, words, to);
      continue;
    }
    // RGSW(1) without noise: a constant has the same value in every slot.
    std::fill_n(to, words, W{0});
    for (unsigned r = 0; r < params.rows(); ++r) {
      const bool of_b = r >= params.a.count;
      const u64 g =
          of_b ? gadget_element(params.b, r - params.a.count, ring_->q()) : gadget_element(params.a, r, ring_->q());
      std::fill_n(to + r * 2 * n + (of_b ? n : 0), n, static_cast<W>(g));
    }
  }
}

template class GateMachine<u32>;
template class GateMachine<u64>;

std::unique_ptr<GateEvaluationKey::Impl> GateEvaluationKey::Impl::make(GateParameters params, Method method,
                                                                       bool room) {
  params.check();
  if (params.modulus < u64{1} << 31) return std::make_unique<GateMachine<u32>>(std::move(params), method, room);
  return std::make_unique<GateMachine<u64>>(std::move(params), method, room);
}

}  // namespace ringforge::fhew
