// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Bases, and polynomials over them.
#include <algorithm>
#include <cmath>

#include "limb_kernels.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/ring.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"

namespace ringforge {
namespace {

template <class Form, class Word>
void check_same_basis(const Poly<Form, Word>& a, const Poly<Form, Word>& b) {
  if (!(a.basis() == b.basis()))
    throw MismatchError("polynomials have different bases: " + std::to_string(a.limbs()) + " limbs over " +
                        a.basis().ring().name() + " and " + std::to_string(b.limbs()) + " over " +
                        b.basis().ring().name());
}

/// What a product of two polynomials in Eval form is: reduced, except in a padded ring.
template <class Word>
bool product_of(const Poly<Eval, Word>& a, const Poly<Eval, Word>& b) {
  const Ring& ring = a.basis().ring();
  if (ring.kind() != RingKind::padded) return true;
  if (!a.reduced() || !b.reduced())
    throw ParameterError(
        "a factor is itself a product that is not reduced, and products of three do not fit the "
        "transform of " +
        ring.name() + ": reduce it by to_eval(to_coeff(p))");
  return false;
}

/// Counts limbs that an operation reads and writes.
template <class Form, class Word>
void count_moved(std::size_t read, std::size_t written, const Poly<Form, Word>& p) {
  move_limbs(read, written, p.length() * sizeof(Word) / sizeof(u64));
}

}  // namespace

// ---- Basis ----------------------------------------------------------------------------------------

template <class Word>
BasisOf<Word>::BasisOf(const Ring& ring, std::span<const u64> primes) : ring_(ring) {
  auto list = std::make_shared<std::vector<std::shared_ptr<const PrimeOf<Word>>>>();
  for (std::size_t i = 0; i < primes.size(); ++i) {
    if (std::find(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(i), primes[i]) !=
        primes.begin() + static_cast<std::ptrdiff_t>(i))
      throw ParameterError("the prime " + std::to_string(primes[i]) + " appears twice in one basis");
    list->push_back(PrimeOf<Word>::get(primes[i], ring));
  }
  primes_ = std::move(list);
}

template <class Word>
BasisOf<Word> BasisOf<Word>::slice(std::size_t first, std::size_t k) const {
  if (first > size() || k > size() - first)
    throw LevelError("primes " + std::to_string(first) + " ... " + std::to_string(first + k) +
                     " (exclusive) of a basis of " + std::to_string(size()) + ": stay at or below its level");
  if (k == size()) return *this;
  BasisOf b;
  b.ring_ = ring_;
  const auto begin = primes_->begin() + static_cast<std::ptrdiff_t>(first);
  b.primes_ = std::make_shared<std::vector<std::shared_ptr<const PrimeOf<Word>>>>(
      begin, begin + static_cast<std::ptrdiff_t>(k));
  return b;
}

template <class Word>
BasisOf<Word> BasisOf<Word>::prefix(std::size_t k) const {
  return slice(0, k);
}

template <class Word>
BasisOf<Word> BasisOf<Word>::join(const BasisOf& other) const {
  if (other.size() == 0) return *this;
  if (size() == 0) return other;
  if (!(ring_ == other.ring_))
    throw MismatchError("bases of " + ring_.name() + " and " + other.ring_.name() +
                        " cannot be joined: take primes of one ring");
  auto list = std::make_shared<std::vector<std::shared_ptr<const PrimeOf<Word>>>>(*primes_);
  list->insert(list->end(), other.primes_->begin(), other.primes_->end());
  BasisOf b;
  b.ring_ = ring_;
  b.primes_ = std::move(list);
  return b;
}

template <class Word>
std::vector<u64> BasisOf<Word>::values() const {
  std::vector<u64> v;
  for (std::size_t i = 0; i < size(); ++i) v.push_back((*this)[i].value());
  return v;
}

template <class Word>
double BasisOf<Word>::log2() const noexcept {
  double s = 0;
  for (std::size_t i = 0; i < size(); ++i) s += std::log2(static_cast<double>((*this)[i].value()));
  return s;
}

template <class Word>
bool BasisOf<Word>::same(const BasisOf& other) const noexcept {
  if (size() != other.size() || !(ring_ == other.ring_)) return false;
  if (primes_ == other.primes_) return true;
  for (std::size_t i = 0; i < size(); ++i)
    if ((*this)[i].value() != other[i].value()) return false;
  return true;
}

template class BasisOf<u32>;
template class BasisOf<u64>;

// ---- Polynomials ----------------------------------------------------------------------------------

void check_words(std::size_t given, std::size_t needed) {
  if (given != needed)
    throw ShapeError("a polynomial of " + std::to_string(given) + " words; its primes and degree make " +
                     std::to_string(needed));
}

template <class Word>
void ntt(Word* dst, const Word* src, const PrimeOf<Word>& prime) noexcept {
  count({.ntt = 1});
  prime.transform().forward(dst, src);
}

template <class Word>
void ntt_lift(Word* dst, const Word* src, const PrimeOf<Word>& from, const PrimeOf<Word>& prime) noexcept {
  count({.ntt = 1});
  prime.transform().forward_lift(dst, src, static_cast<Word>(from.value()));
}

template <class Word>
void intt(Word* dst, const Word* src, const PrimeOf<Word>& prime) noexcept {
  count({.intt = 1});
  prime.transform().inverse(dst, src);
}

template <class Word>
void limb_product(Word* dst, const Word* a, const Word* b, const PrimeOf<Word>& prime) noexcept {
  count({.ntt = a == b ? 1U : 2U, .intt = 1});
  prime.transform().product(dst, a, b);
}

template <class Word>
Poly<Eval, Word> to_eval(const Poly<Coeff, Word>& p, unsigned threads) {
  Poly<Eval, Word> r(p.basis());
  parallel_for(threads, p.limbs(), [&](std::size_t i) { ntt(r.limb(i), p.limb(i), p.basis()[i]); });
  return r;
}

template <class Word>
Poly<Coeff, Word> to_coeff(const Poly<Eval, Word>& p, unsigned threads) {
  Poly<Coeff, Word> r(p.basis());
  parallel_for(threads, p.limbs(), [&](std::size_t i) { intt(r.limb(i), p.limb(i), p.basis()[i]); });
  return r;
}

template <class Form, class Word>
void add(Poly<Form, Word>& dst, const Poly<Form, Word>& a, const Poly<Form, Word>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  count_moved(2 * a.limbs(), a.limbs(), a);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    limb_kernels<Word>().add(dst.limb(i), a.limb(i), b.limb(i), a.stride(), a.basis()[i].mod());
  dst.set_reduced(a.reduced() && b.reduced());
}

template <class Form, class Word>
void sub(Poly<Form, Word>& dst, const Poly<Form, Word>& a, const Poly<Form, Word>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  count_moved(2 * a.limbs(), a.limbs(), a);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    limb_kernels<Word>().sub(dst.limb(i), a.limb(i), b.limb(i), a.stride(), a.basis()[i].mod());
  dst.set_reduced(a.reduced() && b.reduced());
}

template <class Form, class Word>
void neg(Poly<Form, Word>& dst, const Poly<Form, Word>& a) {
  check_same_basis(dst, a);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    limb_kernels<Word>().neg(dst.limb(i), a.limb(i), a.stride(), a.basis()[i].mod());
  dst.set_reduced(a.reduced());
}

template <class Word>
void mul(Poly<Eval, Word>& dst, const Poly<Eval, Word>& a, const Poly<Eval, Word>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  const bool reduced = product_of(a, b);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    limb_kernels<Word>().mul(dst.limb(i), a.limb(i), b.limb(i), a.stride(), a.basis()[i].mod());
  dst.set_reduced(reduced);
}

template <class Word>
void mul_add(Poly<Eval, Word>& dst, const Poly<Eval, Word>& a, const Poly<Eval, Word>& b) {
  check_same_basis(a, b);
  check_same_basis(dst, a);
  const bool reduced = product_of(a, b);
  for (std::size_t i = 0; i < a.limbs(); ++i)
    limb_kernels<Word>().mul_add(dst.limb(i), a.limb(i), b.limb(i), a.stride(), a.basis()[i].mod());
  dst.set_reduced(reduced);
}

template <class Word>
Poly<Coeff, Word> multiply(const Poly<Coeff, Word>& a, const Poly<Coeff, Word>& b, unsigned threads) {
  check_same_basis(a, b);
  Poly<Coeff, Word> r(a.basis());
  parallel_for(threads, a.limbs(), [&](std::size_t i) { limb_product(r.limb(i), a.limb(i), b.limb(i), a.basis()[i]); });
  return r;
}

template <class Word>
Poly<Eval, Word> automorphism(const Poly<Eval, Word>& p, u64 g) {
  const Ring& ring = p.basis().ring();
  if (!ring.permutes()) return to_eval(automorphism(to_coeff(p), g));
  count_moved(p.limbs(), p.limbs(), p);
  const auto index = ring.eval_index(g);
  Poly<Eval, Word> r(p.basis());
  for (std::size_t i = 0; i < p.limbs(); ++i)
    limb_kernels<Word>().automorphism_eval(r.limb(i), p.limb(i), index->data(), p.length());
  return r;
}

template <class Word>
Poly<Coeff, Word> automorphism(const Poly<Coeff, Word>& p, u64 g) {
  p.basis().ring().require_galois_element(g);
  Poly<Coeff, Word> r(p.basis());
  for (std::size_t i = 0; i < p.limbs(); ++i) p.basis()[i].transform().automorphism(r.limb(i), p.limb(i), g);
  return r;
}

#define RINGFORGE_POLY(Word)                                                                         \
  template void ntt(Word*, const Word*, const PrimeOf<Word>&) noexcept;                              \
  template void ntt_lift(Word*, const Word*, const PrimeOf<Word>&, const PrimeOf<Word>&) noexcept;   \
  template void intt(Word*, const Word*, const PrimeOf<Word>&) noexcept;                             \
  template void limb_product(Word*, const Word*, const Word*, const PrimeOf<Word>&) noexcept;        \
  template Poly<Eval, Word> to_eval(const Poly<Coeff, Word>&, unsigned);                             \
  template Poly<Coeff, Word> to_coeff(const Poly<Eval, Word>&, unsigned);                            \
  template void add(Poly<Coeff, Word>&, const Poly<Coeff, Word>&, const Poly<Coeff, Word>&);         \
  template void add(Poly<Eval, Word>&, const Poly<Eval, Word>&, const Poly<Eval, Word>&);            \
  template void sub(Poly<Coeff, Word>&, const Poly<Coeff, Word>&, const Poly<Coeff, Word>&);         \
  template void sub(Poly<Eval, Word>&, const Poly<Eval, Word>&, const Poly<Eval, Word>&);            \
  template void neg(Poly<Coeff, Word>&, const Poly<Coeff, Word>&);                                   \
  template void neg(Poly<Eval, Word>&, const Poly<Eval, Word>&);                                     \
  template void mul(Poly<Eval, Word>&, const Poly<Eval, Word>&, const Poly<Eval, Word>&);            \
  template void mul_add(Poly<Eval, Word>&, const Poly<Eval, Word>&, const Poly<Eval, Word>&);        \
  template Poly<Coeff, Word> multiply(const Poly<Coeff, Word>&, const Poly<Coeff, Word>&, unsigned); \
  template Poly<Eval, Word> automorphism(const Poly<Eval, Word>&, u64);                              \
  template Poly<Coeff, Word> automorphism(const Poly<Coeff, Word>&, u64);
RINGFORGE_POLY(u32)
RINGFORGE_POLY(u64)
#undef RINGFORGE_POLY

}  // namespace ringforge
