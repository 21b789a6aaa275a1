// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rings, primes with their transforms, RNS bases, and polynomials in coefficient or Eval form.
//
// Residues are stored in words of 64 bits, or of 32 for primes below 2^31. The word is part of the type: `Poly<Form,
// u32>` stands on `BasisOf<u32>` and `PrimeOf<u32>`, while `Poly<Form>`, `Basis` and `Prime` have words of 64 bits.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ringforge/kernels.hpp"
#include "ringforge/kernels32.hpp"
#include "ringforge/memory.hpp"

namespace ringforge {

using u64 = std::uint64_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;

/// How polynomials of a ring are represented, and what takes them from Coeff to Eval form and back.
enum class RingKind : std::uint8_t {
  negacyclic,  ///< X^N + 1, N a power of two, by the negacyclic transform of length N
  padded,      ///< Phi_m, m odd, by the cyclic transform of 2^k words that hold any product, reduced on the way back
  tensor,      ///< Phi_m, m a product of distinct Fermat primes, by convolutions over the unit group
};

/// Z[X]/Phi_m(X), with a representation. Degree, transform length and unit group are separate notions; Galois elements
/// are integers modulo `index()`. Rings are the same when index and kind are: everything kept for a ring is found by
/// both.
///
/// In a padded ring, Eval form holds the values of some polynomial below X^transform_length that is congruent to the
/// element modulo Phi_m. Transforms of polynomials in coefficient form are *reduced*, of degree below `degree()`. Sums
/// may have any terms; products must have reduced factors, or they do not fit. `Poly` keeps account of that.
///
/// In a tensor ring, Coeff form is the coefficients of X^a for the units a modulo m, a basis of Z[X]/Phi_m as m has no
/// square factor (the products of normal bases of the factors; tensor_basis.hpp converts to powers of X). Units go by
/// their places: a place u < p - 1 for each prime p of m says a = g^u modulo p, g = 3, and 2 for p = 3. A word's number
/// is the places in turn, that of the largest prime most significant. Eval form has the same order: the word of places
/// v is the value at psi^b, b = g^-v modulo p. So X -> X^c is the same permutation of both forms, without signs.
/// Rounding and sampling coefficients mean this basis. Of index 65537, place u is word 8*(u mod 8192) + u/8192, so that
/// permutations map rows of eight words to rows.
class Ring {
 public:
  /// No ring: that of an empty basis.
  Ring() = default;
  /// Z[X]/(X^N + 1), N = 2^log_n, 4 <= log_n <= 17; the index is 2N.
  /// @throws ParameterError outside that range.
  static Ring negacyclic(unsigned log_n);
  /// Z[X]/Phi_m(X) for odd m >= 3, as a padded ring; phi(m) is at most 2^16.
  /// @throws ParameterError for other m.
  static Ring cyclotomic(u64 m);
  /// Z[X]/Phi_m(X) for a product m >= 3 of distinct primes of 3, 5, 17, 257, or for m = 65537, as a tensor ring.
  /// @throws ParameterError for other m.
  static Ring tensor(u64 m);

  RingKind kind() const noexcept { return kind_; }
  std::size_t degree() const noexcept { return degree_; }
  /// Words of a limb in Eval form: a power of two of at least 2*degree - 1 in padded rings, the degree in others.
  std::size_t transform_length() const noexcept { return transform_length_; }
  /// m: Phi_m is the modulus, X has order m.
  u64 index() const noexcept { return index_; }
  /// Primes of the ring are 1 modulo this: the order of the roots of unity that the transform takes.
  u64 prime_step() const noexcept;
  /// Variance of a coefficient of the product of two polynomials whose coefficients are independent, of mean 0 and
  /// variance 1: the degree in negacyclic rings; in tensor rings the product of 2p - 3 over the primes p of m, as
  /// 1 = -(zeta + ... + zeta^(p-1)).
  /// @throws ParameterError for a padded ring, where coefficients differ.
  double product_variance() const;
  /// "Z[X]/(X^16 + 1)", "Z[X]/Phi_15", "Z[X]/Phi_15 (tensor basis)".
  std::string name() const;

  /// Whether g names an automorphism X -> X^g: a unit modulo m, below m.
  bool is_galois_element(u64 g) const noexcept;
  /// @throws ParameterError when it does not.
  void require_galois_element(u64 g) const;
  /// Element of "first a, then b", both below m.
  u64 compose(u64 a, u64 b) const noexcept { return a * b % index_; }
  u64 inverse(u64 g) const noexcept;
  u64 power(u64 g, u64 e) const noexcept;

  /// Whether automorphisms permute the words of Eval form as kernels do it: in negacyclic rings, and in tensor rings
  /// of degree 16 and more whose index 15 divides, or that have index 65537.
  bool permutes() const noexcept;
  /// Table for kernels::Kernels::automorphism_eval of X -> X^g, cached for recent elements.
  /// @throws ParameterError when g is not a Galois element, or automorphisms are no permutations in this ring.
  std::shared_ptr<const std::vector<u32>> eval_index(u64 g) const;

  friend auto operator<=>(const Ring&, const Ring&) = default;

 private:
  Ring(RingKind kind, u64 index, std::size_t degree, std::size_t transform_length)
      : index_(index), kind_(kind), degree_(degree), transform_length_(transform_length) {}

  u64 index_ = 0;
  RingKind kind_ = RingKind::negacyclic;
  std::size_t degree_ = 0, transform_length_ = 0;
};

/// The way of one limb between the two forms, modulo one prime of one ring. Immutable; any threads may share it.
template <class Word>
class Transform {
 public:
  Transform() = default;
  virtual ~Transform() = default;
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  /// Coeff to Eval: `degree` words to `transform_length` words. src is canonical; in 64-bit words [0, 4q) will do.
  /// dst may be src; partial overlap is not allowed (this holds for the next two as well).
  virtual void forward(Word* dst, const Word* src) const noexcept = 0;
  /// The same of the centred lift of residues modulo another prime p: src in [0, p).
  virtual void forward_lift(Word* dst, const Word* src, Word p) const noexcept = 0;
  /// Eval to Coeff: `transform_length` words to `degree` words. src is canonical; in 64-bit words [0, 2q) will do.
  virtual void inverse(Word* dst, const Word* src) const noexcept = 0;
  /// The product in Coeff form, `degree` canonical words each; dst, a and b may be the same.
  virtual void product(Word* dst, const Word* a, const Word* b) const noexcept = 0;
  /// Wipes what products left in this thread's working memory: for who multiplies secrets.
  virtual void forget() const noexcept = 0;
  /// X -> X^g in Coeff form, g a Galois element. dst must not alias src.
  virtual void automorphism(Word* dst, const Word* src, u64 g) const noexcept = 0;
};

/// Tables of power-of-two transforms in words of 32 or 64 bits.
template <class Word>
using NttTableOf = std::conditional_t<sizeof(Word) == 4, kernels::NttTable32, kernels::NttTable>;

/// A prime q = 1 mod ring.prime_step() with its transform. Immutable, shared.
template <class Word>
class PrimeOf {
  static_assert(std::is_same_v<Word, u32> || std::is_same_v<Word, u64>);

 public:
  /// Primes lie between 2^16 and 2^kMaxBits.
  static constexpr unsigned kMaxBits = sizeof(Word) == 4 ? kernels::kMaxBits32 : kernels::kMaxBits;

  /// The shared instance for (q, ring).
  /// @throws ParameterError when q is not prime, not 1 mod ring.prime_step(), or outside (2^16, 2^kMaxBits).
  static std::shared_ptr<const PrimeOf> get(u64 q, const Ring& ring);

  u64 value() const noexcept { return table_.mod.q; }
  const kernels::Modulus& mod() const noexcept { return table_.mod; }
  const Transform<Word>& transform() const noexcept { return *transform_; }
  /// Twiddle factors of the power-of-two transform of ring.transform_length() words that negacyclic and padded rings
  /// take. Those of tensor rings hold the modulus and nothing else.
  const NttTableOf<Word>& table() const noexcept { return table_; }
  /// The smallest primitive root of unity of order ring.prime_step(), the root behind `table()`; in tensor rings the
  /// root of order m that Eval form stands on, the product of the smallest primitive p-th roots for the primes p of m.
  u64 psi() const noexcept { return psi_; }

  PrimeOf(u64 q, const Ring& ring);
  PrimeOf(const PrimeOf&) = delete;
  PrimeOf& operator=(const PrimeOf&) = delete;

 private:
  u64 psi_ = 0;
  WordArray<Word> storage_;
  NttTableOf<Word> table_;
  std::unique_ptr<const Transform<Word>> transform_;
};
using Prime = PrimeOf<u64>;

/// Deterministic Miller-Rabin for 64-bit integers.
bool is_prime(u64 n) noexcept;

/// `count` primes descending from the largest below 2^bits, each 1 mod `step`, none in `exclude`.
/// @throws ParameterError when there are not that many above 2^(bits-1).
std::vector<u64> primes_below(unsigned bits, std::size_t count, u64 step, std::span<const u64> exclude = {});

/// An ordered list of distinct primes of one ring. Cheap to copy.
template <class Word>
class BasisOf {
 public:
  BasisOf() = default;
  /// @throws ParameterError when a prime appears twice, or PrimeOf<Word>::get refuses it.
  BasisOf(const Ring& ring, std::span<const u64> primes);

  const Ring& ring() const noexcept { return ring_; }
  std::size_t size() const noexcept { return primes_ ? primes_->size() : 0; }
  const PrimeOf<Word>& operator[](std::size_t i) const noexcept { return *(*primes_)[i]; }
  /// The first k primes. @throws LevelError when there are fewer; `slice` likewise.
  BasisOf prefix(std::size_t k) const;
  /// Primes [first, first + k).
  BasisOf slice(std::size_t first, std::size_t k) const;
  /// These primes followed by the other's. @throws MismatchError when the rings differ.
  BasisOf join(const BasisOf& other) const;
  std::vector<u64> values() const;
  /// log2 of the product of the primes.
  double log2() const noexcept;

  friend bool operator==(const BasisOf& a, const BasisOf& b) noexcept { return a.same(b); }

 private:
  bool same(const BasisOf& other) const noexcept;

  Ring ring_;
  std::shared_ptr<const std::vector<std::shared_ptr<const PrimeOf<Word>>>> primes_;
};
using Basis = BasisOf<u64>;

/// Tags for the two representations of a polynomial.
struct Coeff {};
struct Eval {};

/// @throws ShapeError unless a polynomial of `needed` words is given so many.
void check_words(std::size_t given, std::size_t needed);

/// A polynomial over a basis: one limb of canonical residues per prime, contiguous and aligned. A limb has `length()`
/// words: the degree in Coeff form, the transform length in Eval form. The tag keeps representations apart at compile
/// time, the word residues of 32 and 64 bits.
template <class Form, class Word = u64>
class Poly {
  static_assert(std::is_same_v<Form, Coeff> || std::is_same_v<Form, Eval>);

 public:
  Poly() = default;
  /// Contents undefined until written.
  explicit Poly(BasisOf<Word> basis) : basis_(std::move(basis)), stride_(stride_of(length())) {
    data_ = WordArray<Word>(basis_.size() * stride_);
    if (stride_ != length()) data_.zero();
  }
  /// Of words as `words()` gives them: limbs of canonical residues, which are not checked. They may be borrowed; then
  /// the polynomial is for reading, as whatever writes to it throws Error.
  /// @throws ShapeError for another number of words.
  Poly(BasisOf<Word> basis, WordArray<Word>&& words)
      : basis_(std::move(basis)), stride_(stride_of(length())), data_(std::move(words)) {
    check_words(data_.size(), basis_.size() * stride_);
  }

  const BasisOf<Word>& basis() const noexcept { return basis_; }
  std::size_t limbs() const noexcept { return basis_.size(); }
  std::size_t degree() const noexcept { return basis_.ring().degree(); }
  /// Words of a limb.
  std::size_t length() const noexcept {
    return std::is_same_v<Form, Eval> ? basis_.ring().transform_length() : basis_.ring().degree();
  }
  /// Words from a limb to the next: `length()` in whole blocks of 16, as kernels take them. Words in between are zero.
  std::size_t stride() const noexcept { return stride_; }
  Word* limb(std::size_t i) { return data_.data() + i * stride_; }
  const Word* limb(std::size_t i) const noexcept { return data_.data() + i * stride_; }
  /// All limbs, `stride()` words each.
  std::span<const Word> words() const noexcept { return {data_.data(), data_.size()}; }
  std::span<Word> words() { return {data_.data(), data_.size()}; }
  /// False for products in the Eval form of a padded ring and what was summed from them: no further product fits
  /// before to_coeff reduces them. Operations on whole polynomials keep this; who works on limbs says so.
  bool reduced() const noexcept { return reduced_; }
  void set_reduced(bool reduced) noexcept { reduced_ = reduced; }
  void zero() { data_.zero(); }
  void wipe() noexcept { data_.wipe(); }
  bool borrowed() const noexcept { return data_.borrowed(); }
  /// The first k limbs as a polynomial of their own (a copy). @throws LevelError when there are fewer.
  Poly prefix(std::size_t k) const {
    Poly r(basis_.prefix(k));
    std::memcpy(r.data_.data(), data_.data(), k * stride_ * sizeof(Word));
    r.reduced_ = reduced_;
    return r;
  }

 private:
  static std::size_t stride_of(std::size_t length) noexcept { return (length + 15) / 16 * 16; }
  BasisOf<Word> basis_;
  std::size_t stride_ = 0;
  WordArray<Word> data_;
  bool reduced_ = true;
};

template <class Word>
Poly<Eval, Word> to_eval(const Poly<Coeff, Word>& p, unsigned threads = 1);
template <class Word>
Poly<Coeff, Word> to_coeff(const Poly<Eval, Word>& p, unsigned threads = 1);

/// dst = a op b limb by limb; bases must agree (checked: MismatchError). dst may be a or b.
template <class Form, class Word>
void add(Poly<Form, Word>& dst, const Poly<Form, Word>& a, const Poly<Form, Word>& b);
template <class Form, class Word>
void sub(Poly<Form, Word>& dst, const Poly<Form, Word>& a, const Poly<Form, Word>& b);
template <class Form, class Word>
void neg(Poly<Form, Word>& dst, const Poly<Form, Word>& a);
/// @throws ParameterError when a factor is not reduced; `mul_add` likewise.
template <class Word>
void mul(Poly<Eval, Word>& dst, const Poly<Eval, Word>& a, const Poly<Eval, Word>& b);
/// dst += a*b.
template <class Word>
void mul_add(Poly<Eval, Word>& dst, const Poly<Eval, Word>& a, const Poly<Eval, Word>& b);
/// a * b in Coeff form, one prime after the other: what is in Eval form stays in the caches. a and b may be the same.
/// For public polynomials: working memory is not wiped.
/// @throws MismatchError when bases differ.
template <class Word>
Poly<Coeff, Word> multiply(const Poly<Coeff, Word>& a, const Poly<Coeff, Word>& b, unsigned threads = 1);
/// The automorphism X -> X^g. Where the ring does not permute, the Eval form goes through Coeff form, and the result is
/// reduced.
/// @throws ParameterError when g is not a Galois element of the ring.
template <class Word>
Poly<Eval, Word> automorphism(const Poly<Eval, Word>& p, u64 g);
template <class Word>
Poly<Coeff, Word> automorphism(const Poly<Coeff, Word>& p, u64 g);

/// One-limb transforms (`Transform` says what they take); the library calls these and nothing else, so that counts are
/// complete.
template <class Word>
void ntt(Word* dst, const Word* src, const PrimeOf<Word>& prime) noexcept;
/// Forward transform of the centred lift of residues modulo `from`.
template <class Word>
void ntt_lift(Word* dst, const Word* src, const PrimeOf<Word>& from, const PrimeOf<Word>& prime) noexcept;
template <class Word>
void intt(Word* dst, const Word* src, const PrimeOf<Word>& prime) noexcept;
/// dst = a * b in Coeff form: two transforms, or one where a is b, and one back. Working memory is not wiped, as
/// Transform::forget does: that costs a tenth of a product.
template <class Word>
void limb_product(Word* dst, const Word* a, const Word* b, const PrimeOf<Word>& prime) noexcept;

}  // namespace ringforge
