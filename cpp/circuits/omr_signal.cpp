// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_signal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "limb_kernels.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/signal_kernels.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::omr {
namespace {

/// Signals or secrets that a thread takes at once.
constexpr std::size_t kChunk = 64;

/// Words 2^63 P(|x| >= k), of tails that are summed from their small end, so that each is right to its last bits.
std::vector<u64> tails_of(double deviation, bool discrete) {
  std::vector<double> tails;
  if (discrete) {
    const auto mass = [&](int x) { return std::exp(-x * x / (2 * deviation * deviation)); };
    const int last = static_cast<int>(std::ceil(deviation * 12)) + 2;
    tails.resize(static_cast<std::size_t>(last));
    double sum = 0;
    for (int x = last; x >= 1; --x) tails[static_cast<std::size_t>(x) - 1] = sum += 2 * mass(x);
    for (double& tail : tails) tail /= 1 + sum;
  } else {
    for (double k = 0.5; k < deviation * 12 + 2; ++k) tails.push_back(std::erfc(k / (deviation * std::sqrt(2.0))));
  }
  std::vector<u64> words;
  for (const double tail : tails) {
    const auto word = static_cast<u64>(std::nearbyint(tail * 0x1p63));
    if (word == 0) break;
    words.push_back(word);
  }
  return words;
}

/// One error of a random word: bit 0 is the sign, the rest is below 2^63 P(|x| >= k) for as many k as the size.
i64 error_at(u64 word, const std::vector<u64>& tails) noexcept {
  const u64 x = word >> 1;
  u64 size = 0;
  for (const u64 tail : tails) size += (x - tail) >> 63;
  const u64 sign = word & 1;
  return static_cast<i64>((size ^ (0 - sign)) + sign);
}

/// Sorts 2^k words below 2^63 by a bitonic network: what is compared does not depend on them.
void sort_network(u64* x, std::size_t n) noexcept {
  for (std::size_t k = 2; k <= n; k *= 2)
    for (std::size_t j = k / 2; j > 0; j /= 2)
      for (std::size_t base = 0; base < n; base += 2 * j) {
        const u64 down = (base & k) != 0 ? ~u64{0} : 0;
        for (std::size_t i = base; i < base + j; ++i) {
          const u64 a = x[i], b = x[i + j];
          const u64 swap = (a ^ b) & ((0 - ((b - a) >> 63)) ^ down);
          x[i] = a ^ swap;
          x[i + j] = b ^ swap;
        }
      }
}

/// A uniform choice of `weight` coefficients 1 or -1 among n, the others 0: random words, which carry them in their low
/// bits, are sorted. Two words are equal with at most n^2 / 2^62. The coefficients are 0, 1 and 2 (for -1) here.
void sample_weight(u64* x, const SignalParameters& p, Stream& stream) {
  const std::size_t n = p.n();
  u64 signs = 0;
  for (std::size_t i = 0; i < n; ++i) {
    u64 low = 0;
    if (i < p.weight) {
      if (i % 64 == 0) signs = stream.next();
      low = 1 + ((signs >> (i % 64)) & 1);
    }
    x[i] = (stream.next() >> 3 << 2) | low;
  }
  sort_network(x, n);
  for (std::size_t i = 0; i < n; ++i) x[i] &= 3;
}

/// dst += errors.
void add_errors(u32* dst, std::size_t count, const SignalParameters& p, Stream& stream) noexcept {
  const i64 q = static_cast<i64>(p.q);
  for (std::size_t i = 0; i < count; ++i) {
    i64 x = static_cast<i64>(dst[i]) + error_at(stream.next(), p.tails);
    x += q & (x >> 63);
    x -= q;
    x += q & (x >> 63);
    dst[i] = static_cast<u32>(x);
  }
}

}  // namespace

void require_residues(std::span<const u32> words, u64 q, const char* what) {
  if (!all_below(words.data(), words.size(), q))
    throw FormatError(std::string(what) + " holds a word that is not below the modulus " + std::to_string(q) +
                      ": it is damaged or for other parameters");
}

SignalParameters SignalParameters::make(unsigned log_n, u64 q, unsigned clues, unsigned weight, double deviation,
                                        bool discrete) {
  const auto need = [](bool condition, const std::string& what) {
    if (!condition) throw ParameterError("signals: " + what);
  };
  need(log_n >= 4 && log_n <= 12, "log2 n = " + std::to_string(log_n) + " is outside 4 ... 12");
  need(q < 1 << 20, "modulus " + std::to_string(q) + " is not below 2^20");
  need(clues >= 1 && clues <= 8, std::to_string(clues) + " clues: take 1 to 8");
  const std::size_t most = std::min<std::size_t>(std::size_t{1} << log_n, 2047);
  need(weight >= 1 && weight <= most, "weight " + std::to_string(weight) + " is outside 1 ... " + std::to_string(most));
  need(deviation >= 0.1 && deviation <= 8,
       "the errors' deviation " + std::to_string(deviation) + " is outside 0.1 ... 8");
  const u64 primes[] = {q};
  return {log_n,
          q,
          clues,
          weight,
          deviation,
          discrete,
          BasisOf<u32>(Ring::negacyclic(log_n), primes),
          tails_of(deviation, discrete)};
}

// ---- the public key ------------------------------------------------------------------------------

SignalKey::SignalKey(SignalParameters parameters, const Seed& seed, std::vector<u32> b)
    : parameters_(std::move(parameters)),
      seed_(seed),
      b_(std::move(b)),
      a_eval_(parameters_.n()),
      b_eval_(parameters_.n()) {
  const std::size_t n = parameters_.n();
  if (b_.size() != n)
    throw ShapeError("a key of signals has " + std::to_string(n) + " words, not " + std::to_string(b_.size()));
  require_residues(b_, parameters_.q, "the key of signals");
  const auto a = sample_uniform(parameters_.basis, seed_, StreamObject::signal_key);
  std::copy_n(a.limb(0), n, a_eval_.data());
  ntt(b_eval_.data(), b_.data(), parameters_.basis[0]);
}

void SignalKey::signals(u32* a, u32* b, std::size_t count, const Randomness& rng, unsigned threads) const {
  const SignalParameters& p = parameters_;
  const std::size_t n = p.n();
  const auto& prime = p.basis[0];
  const auto mul = limb_kernels<u32>().mul;
  const SecretSeed root = rng.next_seed();
  parallel_for(threads, (count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    SecretArray<u64> choice(n);
    SecretArray<u32> r(n), product(n);
    for (std::size_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
      Stream stream(root, StreamObject::signal, static_cast<u32>(i), static_cast<u32>(u64{i} >> 32));
      sample_weight(choice.data(), p, stream);
      for (std::size_t k = 0; k < n; ++k) {
        const u64 c = choice.data()[k];
        r.data()[k] = static_cast<u32>((c & 1) + (c >> 1) * (p.q - 1));
      }
      ntt(r.data(), r.data(), prime);
      mul(product.data(), r.data(), a_eval_.data(), n, prime.mod());
      intt(product.data(), product.data(), prime);
      add_errors(product.data(), n, p, stream);
      std::copy_n(product.data(), n, a + i * n);
      mul(product.data(), r.data(), b_eval_.data(), n, prime.mod());
      intt(product.data(), product.data(), prime);
      add_errors(product.data(), p.clues, p, stream);
      std::copy_n(product.data(), p.clues, b + i * p.clues);
    }
  });
}

// ---- the secret ----------------------------------------------------------------------------------

SignalSecret SignalSecret::make(SignalParameters parameters, const Randomness& rng) {
  return {std::move(parameters), rng.next_seed()};
}

SignalSecret::SignalSecret(SignalParameters parameters, SecretSeed seed)
    : parameters_(std::move(parameters)), seed_(std::move(seed)), s_(parameters_.n()) {
  SecretArray<u64> choice(parameters_.n());
  Stream stream(seed_, StreamObject::signal_secret);
  sample_weight(choice.data(), parameters_, stream);
  for (std::size_t k = 0; k < s_.coeffs().size(); ++k) {
    const u64 c = choice.data()[k];
    s_.coeffs()[k] = static_cast<i64>(c & 1) - static_cast<i64>(c >> 1);
  }
}

SignalKey SignalSecret::key() const {
  const SignalParameters& p = parameters_;
  Stream stream(seed_, StreamObject::signal_secret, 1);
  Seed published;
  for (std::size_t i = 0; i < published.size(); i += 8) {
    const u64 word = stream.next();
    std::memcpy(published.data() + i, &word, 8);
  }
  declassify(published.data(), published.size());
  auto product = sample_uniform(p.basis, published, StreamObject::signal_key);
  auto s = s_.lift(p.basis);
  mul(product, product, s);
  s.wipe();
  const auto coefficients = to_coeff(product);
  std::vector<u32> b(coefficients.limb(0), coefficients.limb(0) + p.n());
  product.wipe();
  Stream errors(seed_, StreamObject::signal_secret, 2);
  add_errors(b.data(), b.size(), p, errors);
  declassify(b.data(), b.size() * sizeof(u32));
  return {p, published, std::move(b)};
}

void SignalSecret::errors(std::int32_t* out, const u32* a, const u32* b, std::size_t count, unsigned threads) const {
  const SignalParameters& p = parameters_;
  const std::size_t n = p.n();
  // Masks of what is added and what is taken away: coefficient l of a s is the sum of a[m] s[l - m], with the sign
  // turned where l - m < 0. Sums are below weight q < 2^31 in size, so that they may wrap on the way.
  SecretArray<u32> plus(n * p.clues), minus(n * p.clues);
  for (std::size_t l = 0; l < p.clues; ++l)
    for (std::size_t m = 0; m < n; ++m) {
      const i64 s = m <= l ? s_.coeffs()[l - m] : -s_.coeffs()[n + l - m];
      plus.data()[l * n + m] = static_cast<u32>(-(s & 1) & ~(s >> 63));
      minus.data()[l * n + m] = static_cast<u32>(s >> 63);
    }
  // Quotients by multiplication: a division may take longer for some numbers.
  const u64 q = p.q, factor = ~u64{0} / q, lift = p.weight * q;
  parallel_for(threads, (count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    for (std::size_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i)
      for (std::size_t l = 0; l < p.clues; ++l) {
        const u32 *x = a + i * n, *up = plus.data() + l * n, *down = minus.data() + l * n;
        u32 sum = 0;
        for (std::size_t m = 0; m < n; ++m) sum += (x[m] & up[m]) - (x[m] & down[m]);
        const u64 value = u64{sum + static_cast<u32>(lift)} + q + q / 2 - b[i * p.clues + l];
        u64 rest = value - static_cast<u64>((static_cast<unsigned __int128>(value) * factor) >> 64) * q - q;
        rest += q & (0 - (rest >> 63));
        out[i * p.clues + l] = static_cast<std::int32_t>(static_cast<i64>(rest) - static_cast<i64>(q / 2));
      }
  });
}

// ---- packed signals ------------------------------------------------------------------------------

std::size_t SignalParameters::packed() const noexcept {
  return packed_bytes(n() + clues, static_cast<unsigned>(std::bit_width(q)));
}

void pack_signals(std::uint8_t* dst, const SignalParameters& p, const u32* a, const u32* b, std::size_t count,
                  unsigned threads) {
  const std::size_t n = p.n(), bytes = p.packed();
  const auto bits = static_cast<unsigned>(std::bit_width(p.q));
  parallel_for(threads, (count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    std::vector<u32> words(n + p.clues);
    for (std::size_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
      std::copy_n(a + i * n, n, words.data());
      std::copy_n(b + i * p.clues, p.clues, words.data() + n);
      pack_bits(dst + i * bytes, words.data(), words.size(), bits);
    }
  });
}

void unpack_signals(u32* a, u32* b, const SignalParameters& p, const std::uint8_t* src, std::size_t count,
                    unsigned threads) {
  const std::size_t n = p.n(), bytes = p.packed();
  const auto bits = static_cast<unsigned>(std::bit_width(p.q));
  parallel_for(threads, (count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    std::vector<u32> words(n + p.clues);
    for (std::size_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
      try {
        unpack_residues(words.data(), src + i * bytes, words.size(), bits, p.q);
      } catch (const FormatError& e) {
        throw FormatError("signal " + std::to_string(i) + " of " + std::to_string(count) + ": " + e.what());
      }
      std::copy_n(words.data(), n, a + i * n);
      std::copy_n(words.data() + n, p.clues, b + i * p.clues);
    }
  });
}

// ---- degenerate signals --------------------------------------------------------------------------

namespace {

/// Random secrets as lists of the coefficients of a that count for coefficient 0 of a s: n - c for s[c] (c > 0, with
/// the other sign), so that l more are those for coefficient l. Some first ones are added, all others are taken away.
struct Trials {
  std::size_t weight;
  std::vector<std::uint16_t> places;  // secret after secret
  std::vector<std::uint16_t> added;   // how many, for each

  std::size_t count() const noexcept { return added.size(); }
  const std::uint16_t* of(std::size_t t) const noexcept { return places.data() + t * weight; }
};

Trials random_trials(const SignalParameters& p, std::size_t count, const Seed& seed, unsigned threads) {
  Trials r{p.weight, std::vector<std::uint16_t>(count * p.weight), std::vector<std::uint16_t>(count)};
  parallel_for(threads, (count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    Stream stream(seed, StreamObject::signal_trial, static_cast<u32>(chunk));
    std::vector<std::uint16_t> marks(p.n());  // by which secret of the chunk a place was taken last, from 1
    std::uint16_t* taken = marks.data();
    u64 word = 0;
    unsigned left = 0;
    for (std::size_t t = chunk * kChunk, mark = 1; t < std::min(count, (chunk + 1) * kChunk); ++t, ++mark) {
      std::uint16_t* places = r.places.data() + t * p.weight;
      // Without a branch, which would be guessed wrongly: a place that is taken is written, and not counted.
      for (std::size_t have = 0; have < p.weight;) {
        if (left == 0) word = stream.next(), left = 4;
        const std::size_t at = word & (p.n() - 1);
        word >>= 16;
        --left;
        places[have] = static_cast<std::uint16_t>(at);
        have += taken[at] != mark ? 1 : 0;
        taken[at] = static_cast<std::uint16_t>(mark);
      }
      // Places are in random order: how many signs are + is all that is left to choose.
      std::size_t added = 0;
      for (std::size_t k = 0; k < p.weight; k += 64)
        added += ones_of(stream.next() << (64 - std::min<std::size_t>(64, p.weight - k)));
      r.added[t] = static_cast<std::uint16_t>(added);
    }
  });
  return r;
}

/// Whether errors are in range: exactly, one signal and one secret at a time.
class Exact {
 public:
  Exact(const SignalParameters& p, u32 range)
      : p_(p),
        range_(range),
        factor_(~u64{0} / p.q + 1),
        limit_(static_cast<u64>(((static_cast<unsigned __int128>(2 * u64{range} + 1) << 64) + p.q - 1) / p.q)) {}

  bool in_range(const u32* a, const u32* b, const Trials& trials, std::size_t t) const noexcept {
    for (std::size_t l = 0; l < p_.clues; ++l)
      if (!in_range(a, b[l], trials.of(t), trials.added[t], l)) return false;
    return true;
  }

 private:
  bool in_range(const u32* a, u32 b, const std::uint16_t* places, std::size_t added, std::size_t l) const noexcept {
    // Sums are above -weight q and below it.
    u32 sum = static_cast<u32>(p_.weight * p_.q);
    for (std::size_t k = 0; k < p_.weight; ++k) {
      const std::size_t at = places[k] + l;
      const u32 x = a[at & (p_.n() - 1)];
      sum += (k < added) == (at < p_.n()) ? x : 0 - x;
    }
    // (a s - b + range) mod q <= 2 range, with 64 bits of the fraction of the quotient by q. The factor is rounded up,
    // so that a fraction is never too small, and too large by less than 2^34, where 2^64 / q is above 2^44.
    return (u64{sum} + p_.q + range_ - b) * factor_ < limit_;
  }

  const SignalParameters& p_;
  u32 range_;
  u64 factor_, limit_;
};

/// As kernels::SignalKernels::at_most, of eight signals.
u32 at_most_of_few(const std::uint16_t* columns, const std::uint16_t* start, const std::uint16_t* places,
                   std::size_t added, std::size_t count, std::uint16_t limit) noexcept {
  typedef std::uint16_t Lanes __attribute__((vector_size(16)));
  const Lanes* x = reinterpret_cast<const Lanes*>(columns);
  Lanes sum = *reinterpret_cast<const Lanes*>(start);
  for (std::size_t k = 0; k < added; ++k) sum += x[places[k]];
  for (std::size_t k = added; k < count; ++k) sum -= x[places[k]];
  u32 bits = 0;
  for (unsigned j = 0; j < 8; ++j) bits |= u32{sum[j] <= limit} << j;
  return bits;
}
constexpr std::size_t kFew = 8;

/// Hits of up to `lanes` signals, whose words m are together. Words are rounded to multiples of q / 2^16, so that 16
/// bits hold them, modulo q by themselves: the error of a signal is then wrong by at most (weight + 1) / 2 of them, a
/// half for each word. Who is out of range by more is out; the few others are looked at exactly.
void count_block(u32* hits, const SignalParameters& p, const u32* a, const u32* b, std::size_t count, std::size_t lanes,
                 u32 range, u32 enough, const Trials& trials) {
  const std::size_t n = p.n();
  const auto at_most = lanes == kFew ? at_most_of_few : kernels::signal_active().at_most;
  const auto round = [&](u64 x) { return static_cast<std::uint16_t>(((x << 17) + p.q) / (2 * p.q)); };
  const u64 wide = ((u64{range} << 17) / p.q + p.weight + 2) / 2;
  const u64 limit = std::min<u64>(2 * wide, 0xffff);
  WordArray<std::uint16_t> columns((n + p.clues) * lanes), start(p.clues * lanes);
  columns.zero();
  start.zero();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t m = 0; m < n; ++m) columns.data()[m * lanes + i] = round(a[i * n + m]);
    for (std::size_t l = 0; l < p.clues; ++l) {
      // x^n = -1: what comes after the last word is the first, with the other sign.
      columns.data()[(n + l) * lanes + i] = static_cast<std::uint16_t>(0 - columns.data()[l * lanes + i]);
      start.data()[l * lanes + i] = static_cast<std::uint16_t>(wide - round(b[i * p.clues + l]));
    }
  }
  const Exact exact(p, range);
  std::fill_n(hits, count, 0);
  u32 open = static_cast<u32>((u64{1} << count) - 1);
  for (std::size_t t = 0; t < trials.count() && open != 0; ++t) {
    u32 in = open;
    for (std::size_t l = 0; l < p.clues && in != 0; ++l)
      in &= at_most(columns.data() + l * lanes, start.data() + l * lanes, trials.of(t), trials.added[t], trials.weight,
                    static_cast<std::uint16_t>(limit));
    for (; in != 0; in &= in - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(in));
      if (exact.in_range(a + i * n, b + i * p.clues, trials, t) && ++hits[i] == enough) open &= ~(u32{1} << i);
    }
  }
}

}  // namespace

void count_hits(u32* hits, const SignalParameters& p, const u32* a, const u32* b, std::size_t count, u32 range,
                u32 trials, const Randomness& rng, unsigned threads, u32 enough) {
  if (trials < 1 || trials > 1 << 16)
    throw ParameterError(std::to_string(trials) + " trials of signals: take 1 to 65536");
  if (2 * u64{range} + 1 >= p.q) throw ParameterError("range " + std::to_string(range) + " is half the modulus");
  if (enough < 1) throw ParameterError("0 hits of signals are enough: take 1 or more");
  // A poster knows none of the secrets: they are new each time.
  const Trials secrets = random_trials(p, trials, rng.next_seed(), threads);
  const std::size_t lanes = count > kFew ? kernels::kSignalLanes : kFew;
  parallel_for(threads, (count + lanes - 1) / lanes, [&](std::size_t block) {
    const std::size_t first = block * lanes, here = std::min(lanes, count - first);
    count_block(hits + first, p, a + first * p.n(), b + first * p.clues, here, lanes, range, enough, secrets);
  });
}

}  // namespace ringforge::omr
