// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rings, primes with their transform tables, RNS bases, and polynomials in coefficient or Eval form.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "ringforge/kernels.hpp"
#include "ringforge/memory.hpp"

namespace ringforge {

using u64 = std::uint64_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;

/// Z[X]/Phi_m(X). Negacyclic rings (m = 2N, N a power of two) are the kind implemented here. Degree,
/// transform length and unit group are separate notions; Galois elements are integers modulo `index()`.
class Ring {
 public:
  /// Z[X]/(X^N + 1), N = 2^log_n, 4 <= log_n <= 17.
  /// @throws ParameterError outside that range.
  static Ring negacyclic(unsigned log_n);

  std::size_t degree() const noexcept { return degree_; }
  std::size_t transform_length() const noexcept { return degree_; }
  unsigned log_degree() const noexcept { return log_degree_; }
  /// m: the order of the roots of unity, 2N for a negacyclic ring.
  u64 index() const noexcept { return 2 * static_cast<u64>(degree_); }

  /// Whether g names an automorphism X -> X^g.
  bool is_galois_element(u64 g) const noexcept { return (g & 1) == 1 && g < index(); }
  /// Element of "first a, then b".
  u64 compose(u64 a, u64 b) const noexcept { return (a * b) & (index() - 1); }
  u64 inverse(u64 g) const noexcept;
  u64 power(u64 g, u64 e) const noexcept;

  /// Table for kernels::Kernels::automorphism_eval of X -> X^g, cached for recent elements.
  /// @throws ParameterError when g is not a Galois element.
  std::shared_ptr<const std::vector<u32>> eval_index(u64 g) const;

  friend bool operator==(const Ring&, const Ring&) = default;

 private:
  std::size_t degree_ = 0;
  unsigned log_degree_ = 0;
};

/// A prime q = 1 mod 2N with the tables of its transform of length N. Immutable, shared.
class Prime {
 public:
  /// The shared instance for (q, ring).
  /// @throws ParameterError when q is not prime, not 1 mod ring.index(), or outside (2^16, 2^61).
  static std::shared_ptr<const Prime> get(u64 q, const Ring& ring);

  u64 value() const noexcept { return table_.mod.q; }
  const kernels::Modulus& mod() const noexcept { return table_.mod; }
  const kernels::NttTable& table() const noexcept { return table_; }
  /// The smallest primitive root of unity of order ring.index().
  u64 psi() const noexcept { return psi_; }

  Prime(u64 q, const Ring& ring);
  Prime(const Prime&) = delete;
  Prime& operator=(const Prime&) = delete;

 private:
  u64 psi_ = 0;
  WordBuffer storage_;
  kernels::NttTable table_;
};

/// Deterministic Miller-Rabin for 64-bit integers.
bool is_prime(u64 n) noexcept;

/// `count` primes descending from the largest below 2^bits, each 1 mod `step`, none in `exclude`.
/// @throws ParameterError when there are not that many above 2^(bits-1).
std::vector<u64> primes_below(unsigned bits, std::size_t count, u64 step, std::span<const u64> exclude = {});

/// An ordered list of distinct primes of one ring. Cheap to copy.
class Basis {
 public:
  Basis() = default;
  Basis(const Ring& ring, std::span<const u64> primes);

  const Ring& ring() const noexcept { return ring_; }
  std::size_t size() const noexcept { return primes_ ? primes_->size() : 0; }
  const Prime& operator[](std::size_t i) const noexcept { return *(*primes_)[i]; }
  /// The first k primes. @throws LevelError when there are fewer; `slice` likewise.
  Basis prefix(std::size_t k) const;
  /// Primes [first, first + k).
  Basis slice(std::size_t first, std::size_t k) const;
  /// These primes followed by the other's. @throws MismatchError when the rings differ.
  Basis join(const Basis& other) const;
  std::vector<u64> values() const;
  /// log2 of the product of the primes.
  double log2() const noexcept;

  friend bool operator==(const Basis& a, const Basis& b) noexcept;

 private:
  Ring ring_;
  std::shared_ptr<const std::vector<std::shared_ptr<const Prime>>> primes_;
};

/// Tags for the two representations of a polynomial.
struct Coeff {};
struct Eval {};

/// A polynomial over a basis: one limb of N canonical residues per prime, contiguous and aligned.
/// The tag keeps representations apart at compile time.
template <class Form>
class Poly {
  static_assert(std::is_same_v<Form, Coeff> || std::is_same_v<Form, Eval>);

 public:
  Poly() = default;
  /// Contents undefined until written.
  explicit Poly(Basis basis) : basis_(std::move(basis)), n_(basis_.ring().degree()), data_(basis_.size() * n_) {}

  const Basis& basis() const noexcept { return basis_; }
  std::size_t limbs() const noexcept { return basis_.size(); }
  std::size_t degree() const noexcept { return n_; }
  u64* limb(std::size_t i) noexcept { return data_.data() + i * n_; }
  const u64* limb(std::size_t i) const noexcept { return data_.data() + i * n_; }
  std::span<const u64> words() const noexcept { return {data_.data(), data_.size()}; }
  std::span<u64> words() noexcept { return {data_.data(), data_.size()}; }
  void zero() noexcept { data_.zero(); }
  void wipe() noexcept { data_.wipe(); }
  /// The first k limbs as a polynomial of their own (a copy). @throws LevelError when there are fewer.
  Poly prefix(std::size_t k) const {
    Poly r(basis_.prefix(k));
    std::memcpy(r.data_.data(), data_.data(), k * n_ * sizeof(u64));
    return r;
  }

 private:
  Basis basis_;
  std::size_t n_ = 0;
  WordBuffer data_;
};

Poly<Eval> to_eval(const Poly<Coeff>& p, unsigned threads = 1);
Poly<Coeff> to_coeff(const Poly<Eval>& p, unsigned threads = 1);

/// dst = a op b limb by limb; bases must agree (checked: MismatchError). dst may be a or b.
template <class Form>
void add(Poly<Form>& dst, const Poly<Form>& a, const Poly<Form>& b);
template <class Form>
void sub(Poly<Form>& dst, const Poly<Form>& a, const Poly<Form>& b);
template <class Form>
void neg(Poly<Form>& dst, const Poly<Form>& a);
void mul(Poly<Eval>& dst, const Poly<Eval>& a, const Poly<Eval>& b);
/// dst += a*b.
void mul_add(Poly<Eval>& dst, const Poly<Eval>& a, const Poly<Eval>& b);
/// The automorphism X -> X^g.
/// @throws ParameterError when g is not a Galois element of the ring.
Poly<Eval> automorphism(const Poly<Eval>& p, u64 g);
Poly<Coeff> automorphism(const Poly<Coeff>& p, u64 g);

/// One-limb transforms; the library calls these and nothing else, so that counts are complete.
void ntt(u64* dst, const u64* src, const Prime& prime) noexcept;
/// Forward transform of the centred lift of residues modulo `from`.
void ntt_lift(u64* dst, const u64* src, const Prime& from, const Prime& prime) noexcept;
void intt(u64* dst, const u64* src, const Prime& prime) noexcept;

}  // namespace ringforge
