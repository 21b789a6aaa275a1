// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Primes with the transforms of their rings.
#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "bits.hpp"
#include "cyclotomic.hpp"
#include "fork.hpp"
#include "limb_kernels.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/ring.hpp"
#include "room.hpp"
#include "tensor.hpp"

namespace ringforge {
namespace {

ForkMutex prime_mutex(ForkMutex::Rank::primes);

// ---- Twiddle factors ------------------------------------------------------------------------------

/// Entry 1 <= e < n of the tables of a transform by x: x^exponent(e), forward or inverse as x is the root or not.
struct Twiddles {
  std::vector<u64> values;
  Twiddles(u64 x, std::size_t n, bool negacyclic, const kernels::Modulus& mod) : values(n, 1) {
    const auto log_n = static_cast<unsigned>(std::countr_zero(n));
    if (negacyclic) {
      u64 power = 1;
      for (std::size_t e = 0; e < n; ++e, power = arith::mul(power, x, mod)) values[reverse_bits(e, log_n)] = power;
      return;
    }
    // X^(2k) - c^2 splits into X^k - c and X^k + c. From X^n - 1, the constants c of m blocks are x^brv(i), brv on
    // log2(n) - 1 bits: the same for every m, as far as there are blocks.
    u64 power = 1;
    for (std::size_t e = 0; e < n / 2; ++e, power = arith::mul(power, x, mod))
      values[n / 2 + reverse_bits(e, log_n - 1)] = power;
    for (std::size_t m = n / 4; m >= 1; m /= 2)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(2 * m), m,
                  values.begin() + static_cast<std::ptrdiff_t>(m));
  }
};

WordBuffer fill(kernels::NttTable& t, std::size_t n, u64 root, bool negacyclic) {
  const Twiddles forward(root, n, negacyclic, t.mod), inverse(arith::inverse(root, t.mod), n, negacyclic, t.mod);
  t.n = n;
  t.log_n = static_cast<unsigned>(std::countr_zero(n));
  WordBuffer storage(6 * n);
  u64* w = storage.data();
  for (std::size_t i = 0; i < n; ++i) {
    const auto f = kernels::make_factor(forward.values[i], t.mod), b = kernels::make_factor(inverse.values[i], t.mod);
    w[i] = f.w, w[n + i] = f.w64, w[2 * n + i] = f.w52;
    w[3 * n + i] = b.w, w[4 * n + i] = b.w64, w[5 * n + i] = b.w52;
  }
  const bool fast = t.mod.bits <= kernels::kFastBits;
  t.w = w;
  t.w64 = w + n;
  t.w52 = fast ? w + 2 * n : nullptr;
  t.iw = w + 3 * n;
  t.iw64 = w + 4 * n;
  t.iw52 = fast ? w + 5 * n : nullptr;
  const u64 n_inv = arith::inverse(n, t.mod);
  t.n_inv = kernels::make_factor(n_inv, t.mod);
  t.n_inv_w = kernels::make_factor(arith::mul(n_inv, t.iw[1], t.mod), t.mod);
  return storage;
}

WordArray<u32> fill(kernels::NttTable32& t, std::size_t n, u64 root, bool negacyclic) {
  const Twiddles forward(root, n, negacyclic, t.mod), inverse(arith::inverse(root, t.mod), n, negacyclic, t.mod);
  t.n = n;
  t.log_n = static_cast<unsigned>(std::countr_zero(n));
  WordArray<u32> storage(4 * n);
  u32* w = storage.data();
  // floor(w * 2^32 / q) is the high half of floor(w * 2^64 / q).
  const auto put = [&t](u64 value, u32& low, u32& companion) {
    low = static_cast<u32>(value);
    companion = static_cast<u32>(kernels::make_factor(value, t.mod).w64 >> 32);
  };
  for (std::size_t i = 0; i < n; ++i) {
    put(forward.values[i], w[i], w[n + i]);
    put(inverse.values[i], w[2 * n + i], w[3 * n + i]);
  }
  t.w = w;
  t.ws = w + n;
  t.iw = w + 2 * n;
  t.iws = w + 3 * n;
  const u64 n_inv = arith::inverse(n, t.mod);
  put(n_inv, t.n_inv, t.n_inv_s);
  put(arith::mul(n_inv, t.iw[1], t.mod), t.n_inv_w, t.n_inv_ws);
  return storage;
}

// ---- Transforms -----------------------------------------------------------------------------------

template <class Word>
class Negacyclic final : public Transform<Word> {
 public:
  explicit Negacyclic(const NttTableOf<Word>& table) : table_(table) {}
  void forward(Word* dst, const Word* src) const noexcept override {
    limb_kernels<Word>().ntt_forward(dst, src, table_);
  }
  void forward_lift(Word* dst, const Word* src, Word p) const noexcept override {
    limb_kernels<Word>().ntt_forward_lift(dst, src, p, table_);
  }
  void inverse(Word* dst, const Word* src) const noexcept override {
    limb_kernels<Word>().ntt_inverse(dst, src, table_);
  }
  void product(Word* dst, const Word* a, const Word* b) const noexcept override {
    Room<Word> room(table_.n, true);
    const Word* other = a == b ? dst : room.data();
    if (a != b) limb_kernels<Word>().ntt_forward(room.data(), b, table_);
    limb_kernels<Word>().ntt_forward(dst, a, table_);
    limb_kernels<Word>().mul(dst, dst, other, table_.n, table_.mod);
    limb_kernels<Word>().ntt_inverse(dst, dst, table_);
  }
  void forget() const noexcept override { Room<Word>::forget(); }
  void automorphism(Word* dst, const Word* src, u64 g) const noexcept override {
    limb_kernels<Word>().automorphism_coeff(dst, src, g, table_.n, table_.mod);
  }

 private:
  const NttTableOf<Word>& table_;
};

template <class Word>
class Padded final : public Transform<Word> {
 public:
  Padded(const NttTableOf<Word>& table, const Ring& ring)
      : table_(table), index_(ring.index()), degree_(ring.degree()), reduction_(ring.index()) {}

  void forward(Word* dst, const Word* src) const noexcept override {
    if constexpr (sizeof(Word) == 4) {
      limb_kernels<Word>().ntt_forward_short(dst, src, degree_, table_);
    } else {
      pad(dst, src);
      limb_kernels<Word>().ntt_forward(dst, dst, table_);
    }
  }
  void forward_lift(Word* dst, const Word* src, Word p) const noexcept override {
    pad(dst, src);
    limb_kernels<Word>().ntt_forward_lift(dst, dst, p, table_);
  }
  void inverse(Word* dst, const Word* src) const noexcept override {
    const std::size_t length = table_.n;
    Room<Word> room(length + reduction_.room_words());
    limb_kernels<Word>().ntt_inverse(room.data(), src, table_);
    reduction_.reduce(dst, room.data(), length, room.data() + length, table_.mod);
  }
  void product(Word* dst, const Word* a, const Word* b) const noexcept override {
    const std::size_t length = table_.n;
    Room<Word> room(length + std::max(length, reduction_.room_words()), true);
    Word *x = room.data(), *y = x + length;
    if constexpr (sizeof(Word) == 4) {
      limb_kernels<Word>().ntt_product(x, a, b, degree_, y, table_);
    } else {
      forward(x, a);
      if (a != b) forward(y, b);
      limb_kernels<Word>().mul(x, x, a == b ? x : y, length, table_.mod);
      limb_kernels<Word>().ntt_inverse(x, x, table_);
    }
    reduction_.reduce(dst, x, length, y, table_.mod);
  }
  void forget() const noexcept override { Room<Word>::forget(); }
  void automorphism(Word* dst, const Word* src, u64 g) const noexcept override {
    const std::size_t length = (index_ + 15) / 16 * 16;
    Room<Word> room(length + reduction_.room_words());
    std::fill_n(room.data(), index_, Word{0});
    for (std::size_t i = 0, e = 0; i < degree_; ++i, e += g - (e + g < index_ ? 0 : index_)) room.data()[e] = src[i];
    reduction_.reduce(dst, room.data(), index_, room.data() + length, table_.mod);
  }

 private:
  void pad(Word* dst, const Word* src) const noexcept {
    if (dst != src) std::copy_n(src, degree_, dst);
    std::fill(dst + degree_, dst + table_.n, Word{0});
  }

  const NttTableOf<Word>& table_;
  std::size_t index_, degree_;
  CyclotomicReduction reduction_;
};

template <class Word>
std::unique_ptr<const Transform<Word>> make_transform(const Ring& ring, const NttTableOf<Word>& table) {
  switch (ring.kind()) {
    case RingKind::negacyclic:
      return std::make_unique<Negacyclic<Word>>(table);
    case RingKind::padded:
      return std::make_unique<Padded<Word>>(table, ring);
    case RingKind::tensor:
      return make_tensor_transform<Word>(ring, table.mod);
  }
  throw Error("a kind of ring without a transform");
}

}  // namespace

u64 smallest_root(u64 order, const kernels::Modulus& mod) {
  // x^((q-1)/order) has an order that divides it; a half of that gives -1 just when it is the order.
  u64 root = 0;
  for (u64 x = 2; root == 0; ++x) {
    const u64 r = arith::pow(x, (mod.q - 1) / order, mod);
    if (arith::pow(r, order / 2, mod) == mod.q - 1) root = r;
  }
  u64 smallest = root;
  const u64 square = arith::mul(root, root, mod);
  for (u64 i = 0; i < order / 2; ++i, root = arith::mul(root, square, mod)) smallest = std::min(smallest, root);
  return smallest;
}

WordBuffer cyclic_table(kernels::NttTable& t, std::size_t n, const kernels::Modulus& mod) {
  t.mod = mod;
  return fill(t, n, smallest_root(n, mod), false);
}

template <class Word>
PrimeOf<Word>::PrimeOf(u64 q, const Ring& ring) {
  const u64 order = ring.prime_step();
  if (q <= (u64{1} << 16) || q >= (u64{1} << kMaxBits) || q % order != 1 || !is_prime(q))
    throw ParameterError("modulus " + std::to_string(q) + " must be a prime between 2^16 and 2^" +
                         std::to_string(kMaxBits) + " that is 1 mod " + std::to_string(order) +
                         (kMaxBits < kernels::kMaxBits && q >> kMaxBits != 0 ? "; larger ones take 64-bit words" : ""));
  table_.mod = kernels::make_modulus(q);
  if (ring.kind() == RingKind::tensor) {
    psi_ = tensor_root(ring.index(), table_.mod);
  } else {
    psi_ = smallest_root(order, table_.mod);
    storage_ = fill(table_, ring.transform_length(), psi_, ring.kind() == RingKind::negacyclic);
  }
  transform_ = make_transform<Word>(ring, table_);
}

template <class Word>
std::shared_ptr<const PrimeOf<Word>> PrimeOf<Word>::get(u64 q, const Ring& ring) {
  static std::map<std::pair<u64, Ring>, std::weak_ptr<const PrimeOf>> cache;
  const std::lock_guard lock(prime_mutex);
  auto& slot = cache[{q, ring}];
  if (auto p = slot.lock()) return p;
  auto p = std::make_shared<const PrimeOf>(q, ring);
  slot = p;
  return p;
}

template class PrimeOf<u32>;
template class PrimeOf<u64>;

}  // namespace ringforge
