// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Values at roots of unity by the Chinese remainder of exponents: residue i modulo m is a pair modulo f and g = m/f,
// and zeta^(i e) = zeta_f^(i e) zeta_g^(i e). Along f a sum of bits times constants, for one root of each coset of the
// powers of 2 (the others follow by squaring), so that a lane is a coset; along the prime powers of g a transform each,
// between residues and units, all lanes at once. The way back uses that coefficient i of the polynomial below X^m with
// these values, and zeros at roots of smaller order, is the trace of the sum over slots of v zeta^(-i e), as m = 1
// modulo 2.
#include "ringforge/linear/binary_slots.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "ringforge/error.hpp"

namespace ringforge::linear {
namespace {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

constexpr u64 kMaxIndex = u64{1} << 17;
constexpr std::size_t kMaxTable = std::size_t{1} << 22;
constexpr unsigned kMaxDegree = 32;
/// x^8 + x^4 + x^3 + x + 1.
constexpr unsigned kAes = 0x11b;

std::vector<u64> prime_factors(u64 n) {
  std::vector<u64> factors;
  for (u64 p = 2; p * p <= n; ++p) {
    if (n % p != 0) continue;
    factors.push_back(p);
    while (n % p == 0) n /= p;
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

/// The units modulo a prime power of p.
u64 units_of(u64 power, u64 p) { return power / p * (p - 1); }

u64 power_mod(u64 a, u64 e, u64 m) {
  u64 result = 1 % m;
  for (a %= m; e > 0; e >>= 1, a = a * a % m)
    if (e & 1) result = result * a % m;
  return result;
}

unsigned order_of_two(u64 m) {
  unsigned d = 1;
  for (u64 x = 2 % m; x != 1 % m; x = 2 * x % m) ++d;
  return d;
}

/// The least generator of the units of an odd prime power.
u64 generator(u64 power, u64 p) {
  const u64 units = units_of(power, p);
  const std::vector<u64> factors = prime_factors(units);
  for (u64 g = 2;; ++g)
    if (g % p != 0 &&
        std::all_of(factors.begin(), factors.end(), [&](u64 q) { return power_mod(g, units / q, power) != 1; }))
      return g;
}

/// The number below m that is `a` modulo the divisor n of m and `b` modulo m/n, which have no common factor.
u64 joined(u64 a, u64 b, u64 n, u64 m) {
  const u64 rest = m / n;
  for (u64 x = b % rest; x < m; x += rest)
    if (x % n == a % n) return x;
  return 0;
}

/// The prime powers of m, ascending by their primes.
std::vector<std::pair<u64, u64>> prime_powers(u64 m) {
  std::vector<std::pair<u64, u64>> powers;
  for (const u64 p : prime_factors(m)) {
    u64 power = 1;
    for (u64 rest = m; rest % p == 0; rest /= p) power *= p;
    powers.emplace_back(power, p);
  }
  return powers;
}

unsigned checked_order(u64 m) {
  if (m < 3 || m % 2 == 0 || m >= kMaxIndex)
    throw ParameterError("index " + std::to_string(m) + " has no slots modulo 2: take an odd one from 3 to " +
                         std::to_string(kMaxIndex - 1) + ", such as 65535");
  return order_of_two(m);
}

u32 parity(u32 x) noexcept {
  x ^= x >> 16;
  x ^= x >> 8;
  x ^= x >> 4;
  return (0x6996U >> (x & 15)) & 1;
}

// Polynomials over GF(2) as bits of words, the coefficient of X^i in bit i mod 64 of word i / 64.

/// a *= 1 + X^e, cut to the words of a.
void multiply(std::span<u64> a, std::size_t e) noexcept {
  const std::size_t words = e / 64, bits = e % 64;
  for (std::size_t i = a.size(); i-- > words;) {
    u64 low = a[i - words] << bits;
    if (bits > 0 && i > words) low |= a[i - words - 1] >> (64 - bits);
    a[i] ^= low;
  }
}

/// a /= 1 + X^e as a power series, cut to the words of a: 1/(1 + y) is the product of 1 + y^(2^k).
void divide(std::span<u64> a, std::size_t e) noexcept {
  for (; e < 64 * a.size(); e *= 2) multiply(a, e);
}

/// Bits first ... last - 1 of a, the last of them first.
std::vector<u64> reversed(std::span<const u64> a, std::size_t first, std::size_t last) {
  std::vector<u64> out((last - first + 63) / 64);
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t to = last - 1 - i;
    out[to / 64] |= (a[i / 64] >> (i % 64) & 1) << (to % 64);
  }
  return out;
}

}  // namespace

// ---- the field -----------------------------------------------------------------------------------

BinaryField::BinaryField(unsigned degree) : degree_(degree) {
  if (degree < 2 || degree > kMaxDegree)
    throw ParameterError("GF(2^" + std::to_string(degree) + ") is not supported: its degree has to be 2 to " +
                         std::to_string(kMaxDegree));
  const std::vector<u64> factors = prime_factors(order());
  // Where Y has order 2^d - 1, all residues but zero are its powers, and so units.
  const auto primitive = [&] {
    return power(2, order()) == 1 &&
           std::all_of(factors.begin(), factors.end(), [&](u64 q) { return power(2, order() / q) != 1; });
  };
  for (low_ = 1; !primitive();) low_ += 2;
}

u32 BinaryField::product(u32 a, u32 b) const noexcept {
  u32 sum = 0;
  for (unsigned i = 0; i < degree_; ++i, a = shifted(a)) sum ^= a & (0U - ((b >> i) & 1U));
  return sum;
}

u32 BinaryField::power(u32 a, u64 e) const noexcept {
  u32 result = 1;
  for (; e > 0; e >>= 1, a = product(a, a))
    if (e & 1) result = product(result, a);
  return result;
}

u32 BinaryField::trace(u32 x) const noexcept {
  u32 sum = 0;
  for (unsigned i = 0; i < degree_; ++i, x = product(x, x)) sum ^= x;
  return sum;
}

void BinaryField::check(std::span<const u32> elements) const {
  u32 all = 0;
  for (const u32 x : elements) all |= x;
  if (all > order())
    throw ValueError("an element of GF(2^" + std::to_string(degree_) + ") is a number below 2^" +
                     std::to_string(degree_));
}

void BinaryField::products(std::span<u32> out, std::span<const u32> a, std::span<const u32> b) const {
  if (out.size() != a.size() || a.size() != b.size())
    throw ShapeError("products have factors of one length, not " + std::to_string(a.size()) + " and " +
                     std::to_string(b.size()));
  check(a);
  check(b);
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = product(a[i], b[i]);
}

void BinaryField::frobenius(std::span<u32> out, std::span<const u32> a, unsigned k) const {
  if (out.size() != a.size())
    throw ShapeError(std::to_string(a.size()) + " elements have as many powers, not " + std::to_string(out.size()));
  check(a);
  std::copy(a.begin(), a.end(), out.begin());
  for (k %= degree_; k > 0; --k)
    for (u32& x : out) x = product(x, x);
}

// ---- making it -----------------------------------------------------------------------------------

BinarySlots::BinarySlots(u64 m) : index_(m), field_(checked_order(m)) {
  split(m);
  number();
  make_tables();
  if (field_.degree() % 8 == 0) make_bytes();
}

void BinarySlots::split(u64 m) {
  const unsigned d = field_.degree();
  for (const auto& [power, p] : prime_powers(m))
    if (order_of_two(power) == d && (f_ == 0 || power < f_)) f_ = power;
  if (f_ == 0)
    throw ParameterError("no prime power of the index " + std::to_string(m) + " has 2 of order " + std::to_string(d) +
                         " as the index does: take another, such as 65535");
  g_ = m / f_;
  for (const auto& [power, p] : prime_powers(m)) {
    const std::size_t units = units_of(power, p);
    degree_ *= units;
    if (power == f_)
      lanes_ = units / d;
    else
      axes_.push_back({power, units, {}, {}});
  }
  const std::size_t words = prime_f() ? f_ + 2 * lanes_ : f_ * lanes_;
  if (words > kMaxTable)
    throw ParameterError("the slots of index " + std::to_string(m) + " need tables of " + std::to_string(words) +
                         " words, and " + std::to_string(kMaxTable) +
                         " is the most: take another index, such as 65535");
}

// Units in the order of slots, and where residues are.
void BinarySlots::number() {
  std::vector<u64> units{0};  // modulo the part of g that was seen
  u64 part = 1;
  places_.assign(g_, 0);
  unit_places_.assign(g_, 0);
  for (const auto& [power, p] : prime_powers(index_)) {
    if (power == f_) continue;
    const u64 root = generator(power, p), count = units_of(power, p);
    dimensions_.push_back({joined(root, 1, power, index_), count, 0});
    std::vector<u64> next;
    for (const u64 unit : units)
      for (u64 i = 0, x = 1; i < count; ++i, x = x * root % power) next.push_back(joined(x, unit, power, part * power));
    units = std::move(next);
    part *= power;
    for (u64 i = 0; i < g_; ++i) places_[i] = static_cast<u32>(places_[i] * power + i % power);
  }
  for (std::size_t i = 0; i < units.size(); ++i) unit_places_[units[i]] = static_cast<u32>(i);

  const u64 p = prime_factors(f_)[0], root = generator(f_, p);
  cosets_.assign(f_, {});
  u64 lane_root = 1;
  for (std::size_t lane = 0; lane < lanes_; ++lane, lane_root = lane_root * root % f_) {
    u64 x = lane_root;
    for (unsigned k = 0; k < field_.degree(); ++k, x = 2 * x % f_)
      cosets_[x] = {static_cast<u32>(lane), static_cast<std::uint8_t>(k)};
  }
  dimensions_.push_back({joined(root, 1, f_, index_), lanes_, cosets_[lane_root].frobenius});
  for (const u64 unit : units) {
    u64 x = 1;
    for (std::size_t lane = 0; lane < lanes_; ++lane, x = x * root % f_)
      representatives_.push_back(static_cast<u32>(joined(x, unit, f_, index_)));
  }
}

void BinarySlots::make_tables() {
  const unsigned d = field_.degree();
  const u64 step = field_.order() / index_;  // zeta = Y^step
  const auto roots = [&](u64 n) {            // zeta_n^i: zeta^(i e) with e = 1 modulo n, 0 modulo m/n
    const u32 first = field_.root(joined(1, 0, n, index_) * step);
    std::vector<u32> all(n, 1);
    for (u64 i = 1; i < n; ++i) all[i] = field_.product(all[i - 1], first);
    return all;
  };
  const std::vector<u32> of_f = roots(f_);
  u32 traces = 0;  // bit k: the trace of Y^k
  for (unsigned bit = 0; bit < d; ++bit) traces |= field_.trace(u32{1} << bit) << bit;
  std::vector<u32> duals(f_);
  for (u64 i = 0; i < f_; ++i) {
    u32 x = of_f[i];
    for (unsigned bit = 0; bit < d; ++bit, x = field_.shifted(x)) duals[i] |= parity(x & traces) << bit;
  }
  const auto append = [&](u64 at) {
    powers_.push_back(of_f[at]);
    traces_.push_back(duals[(f_ - at) % f_]);
  };
  rows_.resize(f_);
  if (prime_f()) {
    // Lane r stands for root^r: the row of root^u begins at word u of all powers of the root, that of 0 is behind them.
    const u64 root = generator(f_, f_);
    u64 x = 1;
    for (std::size_t u = 0; u < f_ - 2 + lanes_; ++u, x = x * root % f_) {
      if (u < f_ - 1) rows_[x] = static_cast<u32>(u);
      append(x);
    }
    rows_[0] = static_cast<u32>(powers_.size());
    for (std::size_t lane = 0; lane < lanes_; ++lane) append(0);
  } else {
    for (u64 i = 0; i < f_; ++i) {
      rows_[i] = static_cast<u32>(i * lanes_);
      for (std::size_t lane = 0; lane < lanes_; ++lane) append(i * (representatives_[lane] % f_) % f_);
    }
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    Axis& axis = axes_[a];
    const std::vector<u32> all = roots(axis.length);
    u64 unit = 1;
    axis.forward.resize(axis.units * axis.length);
    axis.backward.resize(axis.units * axis.length);
    for (std::size_t r = 0; r < axis.units; ++r, unit = unit * dimensions_[a].element % axis.length)
      for (u64 i = 0; i < axis.length; ++i) {
        axis.forward[r * axis.length + i] = all[i * unit % axis.length];
        axis.backward[i * axis.units + r] = all[(axis.length - i * unit % axis.length) % axis.length];
      }
  }
}

void BinarySlots::make_bytes() {
  // The units of GF(2^8), and of them the least root of AES's polynomial.
  const u32 root = field_.root(field_.order() / 255);
  u32 x = 1, least = 0;
  for (unsigned i = 0; i < 255; ++i, x = field_.product(x, root)) {
    u32 value = 0;
    for (unsigned bit = 9; bit-- > 0;) value = field_.product(value, x) ^ (kAes >> bit & 1);
    if (value == 0 && (least == 0 || x < least)) least = x;
  }
  embedding_[0] = 1;
  for (unsigned i = 1; i < 8; ++i) embedding_[i] = field_.product(embedding_[i - 1], least);
  // Bit i of a byte is a parity of its element. Elimination: bit pivot[i] of an element is one in row i alone.
  std::array<u32, 8> rows = embedding_, pivot{};
  std::array<u32, 8> from{};  // row i is the sum of the embedded bits in from[i]
  for (unsigned i = 0; i < 8; ++i) from[i] = 1U << i;
  for (unsigned i = 0; i < 8; ++i) {
    pivot[i] = rows[i] & (0U - rows[i]);
    for (unsigned j = 0; j < 8; ++j)
      if (j != i && (rows[j] & pivot[i])) {
        rows[j] ^= rows[i];
        from[j] ^= from[i];
      }
  }
  extraction_ = {};
  for (unsigned bit = 0; bit < 8; ++bit)
    for (unsigned i = 0; i < 8; ++i)
      if (from[i] >> bit & 1) extraction_[bit] |= pivot[i];
}

// ---- both ways -----------------------------------------------------------------------------------

void BinarySlots::transform(std::span<u32> out, std::span<const u32> in, std::span<const u32> constants,
                            std::size_t rows, std::size_t columns, std::size_t after,
                            std::span<u32> room) const noexcept {
  const unsigned d = field_.degree();
  const std::size_t before = in.size() / (columns * after);
  std::fill(out.begin(), out.end(), 0);
  // Multiples of a column by Y^bit once, then sums of those that a constant has: constants are public, words are not.
  for (std::size_t b = 0; b < before; ++b)
    for (std::size_t c = 0; c < columns; ++c) {
      const u32* column = in.data() + (b * columns + c) * after;
      std::copy_n(column, after, room.data());
      for (unsigned bit = 1; bit < d; ++bit) {
        const u32* last = room.data() + (bit - 1) * after;
        u32* next = room.data() + bit * after;
        for (std::size_t i = 0; i < after; ++i) next[i] = field_.shifted(last[i]);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        u32* to = out.data() + (b * rows + r) * after;
        const u32 constant = constants[r * columns + c];
        for (unsigned bit = 0; bit < d; ++bit) {
          if (!(constant >> bit & 1)) continue;
          const u32* multiple = room.data() + bit * after;
          for (std::size_t i = 0; i < after; ++i) to[i] ^= multiple[i];
        }
      }
    }
}

void BinarySlots::decode(std::span<u32> values, std::span<const std::uint8_t> coefficients) const {
  if (values.size() != size() || coefficients.size() != degree_)
    throw ShapeError("a polynomial has " + std::to_string(degree_) + " coefficients and " + std::to_string(size()) +
                     " slots, not " + std::to_string(coefficients.size()) + " and " + std::to_string(values.size()));
  std::uint8_t all = 0;
  for (const std::uint8_t c : coefficients) all |= c;
  if (all > 1) throw ValueError("coefficients modulo 2 are 0 or 1: reduce them first");

  std::vector<u32> now(g_ * lanes_), next(now.size()), room(field_.degree() * now.size());
  for (std::size_t i = 0, in_f = 0, in_g = 0; i < degree_; ++i) {
    const u32 mask = 0U - coefficients[i];
    const u32* power = powers_.data() + rows_[in_f];
    u32* to = now.data() + places_[in_g] * lanes_;
    for (std::size_t lane = 0; lane < lanes_; ++lane) to[lane] ^= mask & power[lane];
    if (++in_f == f_) in_f = 0;
    if (++in_g == g_) in_g = 0;
  }
  std::size_t words = now.size(), after = words;
  for (const Axis& axis : axes_) {
    after /= axis.length;
    const std::size_t made = words / axis.length * axis.units;
    transform({next.data(), made}, {now.data(), words}, axis.forward, axis.units, axis.length, after, room);
    std::swap(now, next);
    words = made;
  }
  std::copy_n(now.begin(), words, values.begin());
}

void BinarySlots::encode(std::span<std::uint8_t> coefficients, std::span<const u32> values) const {
  if (values.size() != size() || coefficients.size() != degree_)
    throw ShapeError("a polynomial has " + std::to_string(degree_) + " coefficients and " + std::to_string(size()) +
                     " slots, not " + std::to_string(coefficients.size()) + " and " + std::to_string(values.size()));
  field_.check(values);

  std::vector<u32> now(g_ * lanes_), next(now.size()), room(field_.degree() * now.size());
  std::copy(values.begin(), values.end(), now.begin());
  std::size_t words = values.size(), after = lanes_;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    const std::size_t made = words / axis->units * axis->length;
    transform({next.data(), made}, {now.data(), words}, axis->backward, axis->length, axis->units, after, room);
    std::swap(now, next);
    words = made;
    after *= axis->length;
  }
  std::vector<u64> bits((index_ + 63) / 64);
  for (std::size_t i = 0, in_f = 0, in_g = 0; i < index_; ++i) {
    const u32* trace = traces_.data() + rows_[in_f];
    const u32* from = now.data() + places_[in_g] * lanes_;
    u32 sum = 0;
    for (std::size_t lane = 0; lane < lanes_; ++lane) sum ^= trace[lane] & from[lane];
    bits[i / 64] |= static_cast<u64>(parity(sum)) << (i % 64);
    if (++in_f == f_) in_f = 0;
    if (++in_g == g_) in_g = 0;
  }
  reduce(bits);
  for (std::size_t i = 0; i < degree_; ++i) coefficients[i] = static_cast<std::uint8_t>(bits[i / 64] >> (i % 64) & 1);
}

// The remainder of m coefficients modulo Phi_m, the product of (1 + X^(m/n))^mu(n) over the divisors n of m. With a = Q
// Phi + r: backwards, the coefficients of Q are those of a/Phi as a power series, as Phi is a palindrome.
void BinarySlots::reduce(std::vector<u64>& bits) const {
  std::vector<std::pair<std::size_t, bool>> binomials{{index_, true}};
  for (const u64 p : prime_factors(index_))
    for (std::size_t i = 0, before = binomials.size(); i < before; ++i)
      binomials.emplace_back(binomials[i].first / p, !binomials[i].second);
  const std::size_t rest = index_ - degree_;
  std::vector<u64> quotient = reversed(bits, degree_, index_);
  for (const auto& [exponent, above] : binomials)
    if (exponent < rest) above ? divide(quotient, exponent) : multiply(quotient, exponent);
  quotient = reversed(quotient, 0, rest);
  quotient.resize((degree_ + 63) / 64);
  for (const auto& [exponent, above] : binomials)
    if (exponent < degree_) above ? multiply(quotient, exponent) : divide(quotient, exponent);
  for (std::size_t i = 0; i < quotient.size(); ++i) bits[i] ^= quotient[i];
}

// ---- bytes ---------------------------------------------------------------------------------------

void BinarySlots::require_bytes() const {
  if (field_.degree() % 8 != 0)
    throw ParameterError(
        "slots of GF(2^" + std::to_string(field_.degree()) +
        ") have no bytes within: take an index whose slots have a degree that 8 divides, such as 65535");
}

u32 BinarySlots::embedded(std::uint8_t byte) const noexcept {
  u32 sum = 0;
  for (unsigned i = 0; i < 8; ++i) sum ^= embedding_[i] & (0U - (byte >> i & 1U));
  return sum;
}

u32 BinarySlots::byte_root() const {
  require_bytes();
  return embedding_[1];
}

void BinarySlots::embed(std::span<u32> values, std::span<const std::uint8_t> bytes) const {
  require_bytes();
  if (values.size() != bytes.size())
    throw ShapeError(std::to_string(bytes.size()) + " bytes are as many elements, not " +
                     std::to_string(values.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) values[i] = embedded(bytes[i]);
}

void BinarySlots::extract(std::span<std::uint8_t> bytes, std::span<const u32> values) const {
  require_bytes();
  if (values.size() != bytes.size())
    throw ShapeError(std::to_string(values.size()) + " elements are as many bytes, not " +
                     std::to_string(bytes.size()));
  field_.check(values);
  u32 outside = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    u32 byte = 0;
    for (unsigned bit = 0; bit < 8; ++bit) byte |= parity(values[i] & extraction_[bit]) << bit;
    bytes[i] = static_cast<std::uint8_t>(byte);
    outside |= embedded(bytes[i]) ^ values[i];
  }
  if (outside != 0)
    throw ValueError("a slot holds an element outside of GF(2^8): it is no byte, or was decrypted with too much noise");
}

// ---- automorphisms -------------------------------------------------------------------------------

BinarySlots::Permutation BinarySlots::permutation(u64 g) const {
  if (std::gcd(g, index_) != 1)
    throw ParameterError("X -> X^" + std::to_string(g) + " is no automorphism: " + std::to_string(g) + " and " +
                         std::to_string(index_) + " have a common factor");
  g %= index_;
  // Powers of 1/2 modulo g_: a unit of the index is a power of 2 times a representative.
  std::vector<u64> halves(field_.degree(), 1 % g_);
  for (std::size_t k = 1; k < halves.size(); ++k) halves[k] = halves[k - 1] * ((g_ + 1) / 2) % g_;
  Permutation made{std::vector<u32>(size()), std::vector<std::uint8_t>(size())};
  for (std::size_t i = 0; i < size(); ++i) {
    const u64 x = representatives_[i] * g % index_;
    const Position at = cosets_[x % f_];
    made.source[i] = static_cast<u32>(unit_places_[x % g_ * halves[at.frobenius] % g_] * lanes_ + at.lane);
    made.frobenius[i] = at.frobenius;
  }
  return made;
}

}  // namespace ringforge::linear
