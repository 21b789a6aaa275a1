// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ring.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "bits.hpp"
#include "cyclotomic.hpp"
#include "fork.hpp"
#include "ringforge/error.hpp"
#include "tensor.hpp"

namespace ringforge {
namespace {

ForkMutex reversal_mutex(ForkMutex::Rank::tables), index_mutex(ForkMutex::Rank::tables);

std::shared_ptr<const std::vector<u32>> bit_reversal(unsigned log_n) {
  static std::map<unsigned, std::shared_ptr<const std::vector<u32>>> cache;
  const std::lock_guard lock(reversal_mutex);
  auto& entry = cache[log_n];
  if (!entry) {
    auto t = std::make_shared<std::vector<u32>>(std::size_t{1} << log_n);
    for (std::size_t i = 0; i < t->size(); ++i) (*t)[i] = static_cast<u32>(reverse_bits(i, log_n));
    entry = std::move(t);
  }
  return entry;
}

u64 mul_mod(u64 a, u64 b, u64 n) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b % n); }
u64 pow_mod(u64 a, u64 e, u64 n) {
  u64 r = 1;
  for (a %= n; e; e >>= 1, a = mul_mod(a, a, n))
    if (e & 1) r = mul_mod(r, a, n);
  return r;
}

}  // namespace

// ---- Ring -----------------------------------------------------------------------------------------

Ring Ring::negacyclic(unsigned log_n) {
  if (log_n < 4 || log_n > 17)
    throw ParameterError("ring degree 2^" + std::to_string(log_n) + " is outside 2^4 ... 2^17");
  const std::size_t n = std::size_t{1} << log_n;
  return {RingKind::negacyclic, 2 * n, n, n};
}

Ring Ring::cyclotomic(u64 m) {
  constexpr u64 kMaxDegree = u64{1} << 16, kMaxIndex = 4 * kMaxDegree;  // phi(m) > m/4 for odd m of this size
  if (m < 3 || m % 2 == 0 || m > kMaxIndex || euler_phi(m) > kMaxDegree)
    throw ParameterError("index " + std::to_string(m) + " must be odd, at least 3, and have phi(m) <= " +
                         std::to_string(kMaxDegree) + "; powers of two are negacyclic rings");
  const std::size_t n = euler_phi(m);
  return {RingKind::padded, m, n, std::max(std::bit_ceil(2 * n - 1), std::size_t{16})};
}

Ring Ring::tensor(u64 m) {
  const TensorShape shape(m);
  if (shape.dims() == 0)
    throw ParameterError(
        "index " + std::to_string(m) +
        " must be a product of some of 3, 5, 17, 257, each once, or 65537; Ring::cyclotomic takes any odd index");
  return {RingKind::tensor, m, shape.degree(), shape.degree()};
}

u64 Ring::prime_step() const noexcept {
  switch (kind_) {
    case RingKind::padded:
      return transform_length_;
    case RingKind::tensor:
      return index_ * (TensorShape(index_)[0].p - 1);
    default:
      return index_;
  }
}

bool Ring::permutes() const noexcept {
  // Kernels take permutations that map blocks of 8 words to blocks, of whole blocks of 16.
  return kind_ == RingKind::negacyclic ||
         (kind_ == RingKind::tensor && ((index_ % 15 == 0 && degree_ % 16 == 0) || index_ == 65537));
}

std::string Ring::name() const {
  if (kind_ == RingKind::negacyclic) return "Z[X]/(X^" + std::to_string(degree_) + " + 1)";
  return "Z[X]/Phi_" + std::to_string(index_) + (kind_ == RingKind::tensor ? " (tensor basis)" : "");
}

double Ring::product_variance() const {
  if (kind_ == RingKind::padded)
    throw ParameterError("products in the power basis of " + name() +
                         " have no one variance: take a negacyclic or a tensor ring");
  if (kind_ == RingKind::negacyclic) return static_cast<double>(degree_);
  const TensorShape shape(index_);
  double variance = 1;
  for (std::size_t d = 0; d < shape.dims(); ++d) variance *= static_cast<double>(2 * shape[d].p - 3);
  return variance;
}

bool Ring::is_galois_element(u64 g) const noexcept { return g < index_ && std::gcd(g, index_) == 1; }

u64 Ring::power(u64 g, u64 e) const noexcept {
  u64 r = 1;
  for (; e; e >>= 1, g = compose(g, g))
    if (e & 1) r = compose(r, g);
  return r;
}

// Euclid: every step keeps r = x * g modulo m.
u64 Ring::inverse(u64 g) const noexcept {
  i64 r0 = static_cast<i64>(index_), r1 = static_cast<i64>(g), x0 = 0, x1 = 1;
  while (r1 != 0) {
    const i64 q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    x0 = std::exchange(x1, x0 - q * x1);
  }
  return static_cast<u64>(x0 < 0 ? x0 + static_cast<i64>(index_) : x0);
}

std::shared_ptr<const std::vector<u32>> Ring::eval_index(u64 g) const {
  require_galois_element(g);
  if (!permutes())
    throw ParameterError("automorphisms of " + name() +
                         " do not permute its Eval form: use automorphism(), which goes through Coeff form");
  // Plans use at most a few hundred elements at a time; older tables are dropped, not kept for ever.
  constexpr std::size_t kKeep = 512;
  using Key = std::pair<Ring, u64>;
  static std::map<Key, std::shared_ptr<const std::vector<u32>>> cache;
  static std::deque<Key> order;
  const Key key{*this, g};
  {
    const std::lock_guard lock(index_mutex);
    if (const auto it = cache.find(key); it != cache.end()) return it->second;
  }
  auto table = std::make_shared<std::vector<u32>>(degree_);
  if (kind_ == RingKind::tensor) {
    const TensorShape shape(index_);
    const auto places = shape.places(g);
    for (std::size_t i = 0; i < degree_; ++i) (*table)[i] = shape.source(i, places);
  } else {
    const auto brv = bit_reversal(static_cast<unsigned>(std::countr_zero(degree_)));
    const u64 mask = index_ - 1;
    for (std::size_t i = 0; i < degree_; ++i) (*table)[i] = (*brv)[((g * (2 * u64{(*brv)[i]} + 1)) & mask) >> 1];
  }
  const std::lock_guard lock(index_mutex);
  if (cache.emplace(key, table).second) {
    order.push_back(key);
    if (order.size() > kKeep) {
      cache.erase(order.front());
      order.pop_front();
    }
  }
  return table;
}

void Ring::require_galois_element(u64 g) const {
  if (!is_galois_element(g))
    throw ParameterError(std::to_string(g) + " is not a Galois element of " + name() + ": it must be below " +
                         std::to_string(index_) +
                         (kind_ == RingKind::negacyclic ? " and odd" : " and have no factor in common with it"));
}

// ---- Numbers --------------------------------------------------------------------------------------

bool is_prime(u64 n) noexcept {
  constexpr u64 witnesses[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};  // complete below 3.3e24
  if (n < 2) return false;
  for (u64 p : witnesses)
    if (n % p == 0) return n == p;
  u64 d = n - 1;
  unsigned s = 0;
  for (; (d & 1) == 0; d >>= 1) ++s;
  for (u64 a : witnesses) {
    u64 x = pow_mod(a, d, n);
    if (x == 1 || x == n - 1) continue;
    unsigned i = 1;
    for (; i < s && x != n - 1; ++i) x = mul_mod(x, x, n);
    if (x != n - 1) return false;
  }
  return true;
}

std::vector<u64> primes_below(unsigned bits, std::size_t count, u64 step, std::span<const u64> exclude) {
  if (bits < 17 || bits > kernels::kMaxBits || step == 0)
    throw ParameterError("prime size of " + std::to_string(bits) + " bits is outside 17 ... " +
                         std::to_string(kernels::kMaxBits));
  std::vector<u64> found;
  const u64 top = u64{1} << bits, bottom = u64{1} << (bits - 1);
  for (u64 q = (top - 2) / step * step + 1; q > bottom && found.size() < count; q -= step) {
    if (is_prime(q) && std::find(exclude.begin(), exclude.end(), q) == exclude.end()) found.push_back(q);
    if (q < step) break;
  }
  if (found.size() < count)
    throw ParameterError("there are only " + std::to_string(found.size()) + " primes of " + std::to_string(bits) +
                         " bits that are 1 mod " + std::to_string(step) + "; " + std::to_string(count) +
                         " are needed: use larger primes or a smaller step");
  return found;
}

}  // namespace ringforge
