// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ring.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "bits.hpp"
#include "fork.hpp"
#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"

namespace ringforge {
namespace {

ForkMutex reversal_mutex(ForkMutex::Rank::tables), index_mutex(ForkMutex::Rank::tables);
ForkMutex prime_mutex(ForkMutex::Rank::primes);

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

template <class Form>
void check_same_basis(const Poly<Form>& a, const Poly<Form>& b) {
  if (!(a.basis() == b.basis()))
    throw MismatchError("polynomials have different bases: " + std::to_string(a.limbs()) + " limbs of degree " +
                        std::to_string(a.degree()) + " and " + std::to_string(b.limbs()) + " of degree " +
                        std::to_string(b.degree()));
}

}  // namespace

// ---- Ring -----------------------------------------------------------------------------------------

Ring Ring::negacyclic(unsigned log_n) {
  if (log_n < 4 || log_n > 17)
    throw ParameterError("ring degree 2^" + std::to_string(log_n) + " is outside 2^4 ... 2^17");
  Ring r;
  r.log_degree_ = log_n;
  r.degree_ = std::size_t{1} << log_n;
  return r;
}

u64 Ring::power(u64 g, u64 e) const noexcept {
  u64 r = 1;
  for (; e; e >>= 1, g = compose(g, g))
    if (e & 1) r = compose(r, g);
  return r;
}

// The unit group of Z/2N has exponent N/2, so g^(N/2 - 1) is the inverse.
u64 Ring::inverse(u64 g) const noexcept { return power(g, degree_ / 2 - 1); }

std::shared_ptr<const std::vector<u32>> Ring::eval_index(u64 g) const {
  if (!is_galois_element(g))
    throw ParameterError(std::to_string(g) + " is not a Galois element: it must be odd and below " +
                         std::to_string(index()));
  // Plans use at most a few hundred elements at a time; older tables are dropped, not kept for ever.
  constexpr std::size_t kKeep = 512;
  using Key = std::pair<std::size_t, u64>;
  static std::map<Key, std::shared_ptr<const std::vector<u32>>> cache;
  static std::deque<Key> order;
  const Key key{degree_, g};
  {
    const std::lock_guard lock(index_mutex);
    if (const auto it = cache.find(key); it != cache.end()) return it->second;
  }
  const auto brv = bit_reversal(log_degree_);
  auto table = std::make_shared<std::vector<u32>>(degree_);
  const u64 mask = index() - 1;
  for (std::size_t i = 0; i < degree_; ++i) (*table)[i] = (*brv)[((g * (2 * u64{(*brv)[i]} + 1)) & mask) >> 1];
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

// ---- Primes ---------------------------------------------------------------------------------------

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

Prime::Prime(u64 q, const Ring& ring) {
  const std::size_t n = ring.transform_length();
  const unsigned log_n = ring.log_degree();
  if (q <= (u64{1} << 16) || q >= (u64{1} << kernels::kMaxBits) || q % ring.index() != 1 || !is_prime(q))
    throw ParameterError("modulus " + std::to_string(q) + " must be a prime between 2^16 and 2^" +
                         std::to_string(kernels::kMaxBits) + " that is 1 mod " + std::to_string(ring.index()));
  const auto mod = kernels::make_modulus(q);

  // x^((q-1)/2N) has order dividing 2N; order exactly 2N means its N-th power is -1.
  u64 root = 0;
  for (u64 x = 2; root == 0; ++x) {
    const u64 r = arith::pow(x, (q - 1) / ring.index(), mod);
    if (arith::pow(r, n, mod) == q - 1) root = r;
  }
  psi_ = root;
  const u64 root2 = arith::mul(root, root, mod);
  for (std::size_t i = 0; i < n; ++i, root = arith::mul(root, root2, mod)) psi_ = std::min(psi_, root);

  storage_ = WordBuffer(6 * n);
  storage_.zero();
  u64* w = storage_.data();
  const u64 psi_inv = arith::inverse(psi_, mod);
  u64 power = 1, power_inv = 1;
  for (std::size_t e = 0; e < n; ++e) {
    const std::size_t i = reverse_bits(e, log_n);
    const auto fw = kernels::make_factor(power, mod), inv = kernels::make_factor(power_inv, mod);
    w[i] = fw.w, w[n + i] = fw.w64, w[2 * n + i] = fw.w52;
    w[3 * n + i] = inv.w, w[4 * n + i] = inv.w64, w[5 * n + i] = inv.w52;
    power = arith::mul(power, psi_, mod);
    power_inv = arith::mul(power_inv, psi_inv, mod);
  }
  const bool fast = mod.bits <= kernels::kFastBits;
  table_.n = n;
  table_.log_n = log_n;
  table_.mod = mod;
  table_.w = w;
  table_.w64 = w + n;
  table_.w52 = fast ? w + 2 * n : nullptr;
  table_.iw = w + 3 * n;
  table_.iw64 = w + 4 * n;
  table_.iw52 = fast ? w + 5 * n : nullptr;
  const u64 n_inv = arith::inverse(n, mod);
  table_.n_inv = kernels::make_factor(n_inv, mod);
  table_.n_inv_w = kernels::make_factor(arith::mul(n_inv, table_.iw[1], mod), mod);
}

std::shared_ptr<const Prime> Prime::get(u64 q, const Ring& ring) {
  static std::map<std::pair<u64, std::size_t>, std::weak_ptr<const Prime>> cache;
  const std::lock_guard lock(prime_mutex);
  auto& slot = cache[{q, ring.degree()}];
  if (auto p = slot.lock()) return p;
  auto p = std::make_shared<const Prime>(q, ring);
  slot = p;
  return p;
}

// ---- Basis ----------------------------------------------------------------------------------------

Basis::Basis(const Ring& ring, std::span<const u64> primes) : ring_(ring) {
  auto list = std::make_shared<std::vector<std::shared_ptr<const Prime>>>();
  for (std::size_t i = 0; i < primes.size(); ++i) {
    if (std::find(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(i), primes[i]) !=
        primes.begin() + static_cast<std::ptrdiff_t>(i))
      throw ParameterError("the prime " + std::to_string(primes[i]) + " appears twice in one basis");
    list->push_back(Prime::get(primes[i], ring));
  }
  primes_ = std::move(list);
}

Basis Basis::slice(std::size_t first, std::size_t k) const {
  if (first > size() || k > size() - first)
    throw LevelError("primes " + std::to_string(first) + " ... " + std::to_string(first + k) +
                     " (exclusive) of a basis of " + std::to_string(size()) + ": stay at or below its level");
  if (k == size()) return *this;
  Basis b;
  b.ring_ = ring_;
  const auto begin = primes_->begin() + static_cast<std::ptrdiff_t>(first);
  b.primes_ =
      std::make_shared<std::vector<std::shared_ptr<const Prime>>>(begin, begin + static_cast<std::ptrdiff_t>(k));
  return b;
}

Basis Basis::prefix(std::size_t k) const { return slice(0, k); }

Basis Basis::join(const Basis& other) const {
  if (other.size() == 0) return *this;
  if (size() == 0) return other;
  if (!(ring_ == other.ring_))
    throw MismatchError("bases of degree " + std::to_string(ring_.degree()) + " and " +
                        std::to_string(other.ring_.degree()) + " cannot be joined: take primes of one ring");
  auto list = std::make_shared<std::vector<std::shared_ptr<const Prime>>>(*primes_);
  list->insert(list->end(), other.primes_->begin(), other.primes_->end());
  Basis b;
  b.ring_ = ring_;
  b.primes_ = std::move(list);
  return b;
}

std::vector<u64> Basis::values() const {
  std::vector<u64> v;
  for (std::size_t i = 0; i < size(); ++i) v.push_back((*this)[i].value());
  return v;
}

double Basis::log2() const noexcept {
  double s = 0;
  for (std::size_t i = 0; i < size(); ++i) s += std::log2(static_cast<double>((*this)[i].value()));
  return s;
}

bool operator==(const Basis& a, const Basis& b) noexcept {
  if (a.size() != b.size() || !(a.ring_ == b.ring_)) return false;
  if (a.primes_ == b.primes_) return true;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].value() != b[i].value()) return false;
  return true;
}

// ---- Polynomials ----------------------------------------------------------------------------------

void ntt(u64* dst, const u64* src, const Prime& prime) noexcept {
  count({.ntt = 1});
  kernels::active().ntt_forward(dst, src, prime.table());
}

void ntt_lift(u64* dst, const u64* src, const Prime& from, const Prime& prime) noexcept {
  count({.ntt = 1});
  kernels::active().ntt_forward_lift(dst, src, from.value(), prime.table());
}

void intt(u64* dst, const u64* src, const Prime& prime) noexcept {
  count({.intt = 1});
  kernels::active().ntt_inverse(dst, src, prime.table());
}

Poly<Eval> to_eval(const Poly<Coeff>& p, unsigned threads) {
  Poly<Eval> r(p.basis());
  parallel_for(threads, p.limbs(), [&](std::size_t i) { ntt(r.limb(i), p.limb(i), p.basis()[i]); });
  return r;
}

Poly<Coeff> to_coeff(const Poly<Eval>& p, unsigned threads) {
  Poly<Coeff> r(p.basis());
  parallel_for(threads, p.limbs(), [&](std::size_t i) { intt(r.limb(i), p.limb(i), p.basis()[i]); });
  return r;
}

template <class Form>
void add(Poly<Form>& dst, const Poly<Form>& a, const Poly<Form>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  move_limbs(2 * a.limbs(), a.limbs(), a.degree());
  for (std::size_t i = 0; i < a.limbs(); ++i)
    kernels::active().add(dst.limb(i), a.limb(i), b.limb(i), a.degree(), a.basis()[i].mod());
}

template <class Form>
void sub(Poly<Form>& dst, const Poly<Form>& a, const Poly<Form>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  move_limbs(2 * a.limbs(), a.limbs(), a.degree());
  for (std::size_t i = 0; i < a.limbs(); ++i)
    kernels::active().sub(dst.limb(i), a.limb(i), b.limb(i), a.degree(), a.basis()[i].mod());
}

template <class Form>
void neg(Poly<Form>& dst, const Poly<Form>& a) {
  check_same_basis(dst, a);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    kernels::active().neg(dst.limb(i), a.limb(i), a.degree(), a.basis()[i].mod());
}

template void add(Poly<Coeff>&, const Poly<Coeff>&, const Poly<Coeff>&);
template void add(Poly<Eval>&, const Poly<Eval>&, const Poly<Eval>&);
template void sub(Poly<Coeff>&, const Poly<Coeff>&, const Poly<Coeff>&);
template void sub(Poly<Eval>&, const Poly<Eval>&, const Poly<Eval>&);
template void neg(Poly<Coeff>&, const Poly<Coeff>&);
template void neg(Poly<Eval>&, const Poly<Eval>&);

void mul(Poly<Eval>& dst, const Poly<Eval>& a, const Poly<Eval>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    kernels::active().mul(dst.limb(i), a.limb(i), b.limb(i), a.degree(), a.basis()[i].mod());
}

void mul_add(Poly<Eval>& dst, const Poly<Eval>& a, const Poly<Eval>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    kernels::active().mul_add(dst.limb(i), a.limb(i), b.limb(i), a.degree(), a.basis()[i].mod());
}

Poly<Eval> automorphism(const Poly<Eval>& p, u64 g) {
  move_limbs(p.limbs(), p.limbs(), p.degree());
  const auto index = p.basis().ring().eval_index(g);
  Poly<Eval> r(p.basis());
  for (std::size_t i = 0; i < p.limbs(); ++i)
    kernels::active().automorphism_eval(r.limb(i), p.limb(i), index->data(), p.degree());
  return r;
}

Poly<Coeff> automorphism(const Poly<Coeff>& p, u64 g) {
  if (!p.basis().ring().is_galois_element(g))
    throw ParameterError(std::to_string(g) + " is not a Galois element: it must be odd and below " +
                         std::to_string(p.basis().ring().index()));
  Poly<Coeff> r(p.basis());
  for (std::size_t i = 0; i < p.limbs(); ++i)
    kernels::active().automorphism_coeff(r.limb(i), p.limb(i), g, p.degree(), p.basis()[i].mod());
  return r;
}

}  // namespace ringforge
