// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Tables of the polynomial protocol: elements in sub-bins, and the coefficients of their polynomials.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "progress.hpp"
#include "psi_poly_format.hpp"
#include "ringforge/error.hpp"
#include "ringforge/kernels32.hpp"
#include "ringforge/memory.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

namespace {

constexpr std::size_t kLanes = 256;  // slots whose polynomials are made together

struct Place {
  std::size_t column, bin;
};

Place place_of(const PsiPolyPlan& plan, const u32* bins, const u32* felts, std::size_t i) {
  if (bins[i] >= plan.bins()) throw ValueError("bin " + std::to_string(bins[i]) + " of " + std::to_string(plan.bins()));
  for (unsigned j = 0; j < plan.felts; ++j)
    if (felts[i * plan.felts + j] >= plan.t) throw ValueError("a residue is not below t = " + std::to_string(plan.t));
  return {bins[i] / plan.column_bins(), bins[i] % plan.column_bins()};
}

/// Number of a sub-bin, from which all places follow.
std::size_t sub_bin(const PsiPolyPlan& plan, const Place& place, std::size_t bundle) {
  return (place.column * plan.bundles + bundle) * plan.column_bins() + place.bin;
}

}  // namespace

namespace {

/// The sub-bins of one bin. With labels, elements of a sub-bin must differ in every residue, or no polynomial takes
/// their labels there.
class Bin {
 public:
  Bin(const PsiPolyPlan& plan, const PsiPolyMembers& members, const Place& place)
      : plan_(plan), members_(members), place_(place), f_(plan.felts), words_(f_ * plan.label_words) {}

  bool full(std::size_t b) const { return count(b) >= plan_.degree; }
  std::uint16_t& count(std::size_t b) const { return members_.counts[sub_bin(plan_, place_, b)]; }
  u32* root(std::size_t b, std::size_t k) const {
    return members_.roots + (sub_bin(plan_, place_, b) * plan_.degree + k) * f_;
  }
  u32* label(std::size_t b, std::size_t k) const {
    return members_.labels + (sub_bin(plan_, place_, b) * plan_.degree + k) * words_;
  }
  /// Whether an element may be beside those of a sub-bin, number `without` not counted.
  bool fits(std::size_t b, const u32* root_of, std::size_t without) const {
    if (words_ == 0) return true;
    for (std::size_t k = 0; k < count(b); ++k)
      for (std::size_t j = 0; j < f_ && k != without; ++j)
        if (root(b, k)[j] == root_of[j]) return false;
    return true;
  }
  void put(std::size_t b, std::size_t k, const u32* root_of, const u32* label_of) const {
    std::copy_n(root_of, f_, root(b, k));
    if (words_ > 0) std::copy_n(label_of, words_, label(b, k));
  }
  void append(std::size_t b, const u32* root_of, const u32* label_of) const {
    put(b, count(b), root_of, label_of);
    ++count(b);
  }
  /// Makes room by moving another element to a sub-bin where the new one does not fit. @returns both sub-bins.
  std::pair<std::size_t, std::size_t> exchange(const u32* root_of, const u32* label_of) const {
    for (std::size_t open = 0; open < plan_.bundles; ++open) {
      if (full(open)) continue;
      for (std::size_t b = 0; b < plan_.bundles; ++b)
        for (std::size_t k = 0; k < count(b) && b != open; ++k)
          if (fits(b, root_of, k) && fits(open, root(b, k), kNone)) {
            append(open, root(b, k), words_ > 0 ? label(b, k) : nullptr);
            put(b, k, root_of, label_of);
            return {open, b};
          }
    }
    return {kNone, kNone};
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  const PsiPolyPlan& plan_;
  const PsiPolyMembers& members_;
  const Place place_;
  const std::size_t f_, words_;
};

}  // namespace

void psi_poly_insert(const PsiPolyPlan& plan, const PsiPolyMembers& members, const u32* bins, const u32* felts,
                     const u32* labels, std::size_t count, std::uint8_t* touched) {
  const std::size_t f = plan.felts, words = f * plan.label_words;
  for (std::size_t i = 0; i < count; ++i) {
    const Place place = place_of(plan, bins, felts, i);
    const Bin bin(plan, members, place);
    const u32* root = felts + i * f;
    const u32* label = words > 0 ? labels + i * words : nullptr;
    std::size_t b = 0;
    while (b < plan.bundles && (bin.full(b) || !bin.fits(b, root, Bin::kNone))) ++b;
    std::size_t other = b;
    if (b < plan.bundles)
      bin.append(b, root, label);
    else
      std::tie(b, other) = bin.exchange(root, label);
    if (b == Bin::kNone)
      throw ParameterError("a bin is full: " + std::to_string(plan.bundles) + " times " + std::to_string(plan.degree) +
                           " elements. Build the table for a larger capacity");
    touched[place.column * plan.bundles + b] = touched[place.column * plan.bundles + other] = 1;
  }
}

std::size_t psi_poly_remove(const PsiPolyPlan& plan, const PsiPolyMembers& members, const u32* bins, const u32* felts,
                            std::size_t count, std::uint8_t* touched) {
  const std::size_t f = plan.felts, words = f * plan.label_words;
  std::size_t removed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Place place = place_of(plan, bins, felts, i);
    const u32* mine = felts + i * f;
    bool found = false;
    for (std::size_t b = 0; b < plan.bundles && !found; ++b) {
      const std::size_t at = sub_bin(plan, place, b), have = members.counts[at];
      u32* roots = members.roots + at * plan.degree * f;
      for (std::size_t k = 0; k < have && !found; ++k) {
        if (!std::equal(mine, mine + f, roots + k * f)) continue;
        found = true;
        std::copy_n(roots + (have - 1) * f, f, roots + k * f);
        std::fill_n(roots + (have - 1) * f, f, 0);
        if (words > 0) {
          u32* label = members.labels + at * plan.degree * words;
          std::copy_n(label + (have - 1) * words, words, label + k * words);
          std::fill_n(label + (have - 1) * words, words, 0);
        }
        members.counts[at] = static_cast<std::uint16_t>(have - 1);
        touched[place.column * plan.bundles + b] = 1;
        ++removed;
      }
    }
  }
  return removed;
}

namespace {

/// Makes the polynomials of one bundle. All sub-bins get as many roots as the fullest has: a slot that has fewer has
/// the smallest residue that is none of its own, as often as needed.
class Bundle {
 public:
  Bundle(const PsiPolyContext& context, const PsiPolyMembers& members, std::size_t index, u64* plain, unsigned threads)
      : plan_(context.plan()),
        ctx_(*context.bfv()),
        mod_(kernels::make_modulus(plan_.t)),
        members_(members),
        first_(index * plan_.column_bins()),
        plain_(plain + index * psi_poly_bundle_words(plan_)),
        threads_(threads),
        n_(plan_.n()),
        slots_(plan_.column_bins() * plan_.felts),
        most_(*std::max_element(members.counts + first_, members.counts + first_ + plan_.column_bins())),
        coefficients_(plan_.polys() * plan_.rows() * n_) {}

  void make() {
    coefficients_.zero();
    parallel_for(threads_, (slots_ + kLanes - 1) / kLanes, [&](std::size_t i) { interpolate(i * kLanes); });
    parallel_for(threads_, plan_.polys() * plan_.rows(),
                 [&](std::size_t i) { encode(i / plan_.rows(), i % plan_.rows()); });
  }

 private:
  using Rows = WordArray<u32>;  // of kLanes
  static u32* at(Rows& rows, std::size_t row) { return rows.data() + row * kLanes; }

  void interpolate(std::size_t first);
  void labels(std::size_t first, std::size_t lanes, Rows& roots, Rows& monic);
  void invert(Rows& values, std::size_t count) const;
  void encode(std::size_t poly, std::size_t row) const;
  u32* coefficients(std::size_t poly, std::size_t row) {
    return coefficients_.data() + (poly * plan_.rows() + row) * n_;
  }
  std::size_t count(std::size_t slot) const { return members_.counts[first_ + slot / plan_.felts]; }

  const PsiPolyPlan& plan_;
  const bfv::Context& ctx_;
  const kernels::Modulus mod_;
  const kernels::Kernels32& kern_ = kernels::active32();
  const PsiPolyMembers& members_;
  const std::size_t first_;  // sub-bin
  u64* plain_;
  const unsigned threads_;
  const std::size_t n_, slots_, most_;
  WordArray<u32> coefficients_;  // (polys, degree + 1, n), by slot
};

// Products of X - root, a root at a time, for kLanes slots at once.
void Bundle::interpolate(std::size_t first) {
  const std::size_t f = plan_.felts, lanes = std::min(kLanes, slots_ - first);
  Rows roots((most_ + 1) * kLanes), monic((most_ + 1) * kLanes), product(kLanes);
  roots.zero();
  for (std::size_t s = 0; s < lanes; ++s) {
    const std::size_t have = count(first + s);
    const u32* from = members_.roots + (first_ + (first + s) / f) * plan_.degree * f + (first + s) % f;
    const auto taken = [&](u32 x) {
      for (std::size_t k = 0; k < have; ++k)
        if (from[k * f] == x) return true;
      return false;
    };
    u32 other = 0;
    while (taken(other)) ++other;
    for (std::size_t k = 0; k < most_; ++k) at(roots, k)[s] = k < have ? from[k * f] : other;
  }
  std::fill_n(monic.data(), kLanes, 1);
  for (std::size_t k = 0; k < most_; ++k) {
    std::copy_n(at(monic, k), kLanes, at(monic, k + 1));
    for (std::size_t j = k + 1; j-- > 0;) {
      kern_.mul(product.data(), at(roots, k), at(monic, j), kLanes, mod_);
      if (j > 0)
        kern_.sub(at(monic, j), at(monic, j - 1), product.data(), kLanes, mod_);
      else
        kern_.neg(at(monic, j), product.data(), kLanes, mod_);
    }
  }
  for (std::size_t j = 0; j <= most_; ++j) std::copy_n(at(monic, j), lanes, coefficients(0, j) + first);
  if (plan_.label_words > 0 && most_ > 0) labels(first, lanes, roots, monic);
}

// 1/x of `count` rows, none of them 0, by one power: products from the front, then back.
void Bundle::invert(Rows& values, std::size_t count) const {
  Rows prefix((count + 1) * kLanes), inverse(kLanes), base(kLanes);
  std::fill_n(prefix.data(), kLanes, 1);
  for (std::size_t i = 0; i < count; ++i) kern_.mul(at(prefix, i + 1), at(prefix, i), at(values, i), kLanes, mod_);
  std::fill_n(inverse.data(), kLanes, 1);
  std::copy_n(at(prefix, count), kLanes, base.data());
  for (u64 e = plan_.t - 2; e != 0; e >>= 1) {
    if (e & 1) kern_.mul(inverse.data(), inverse.data(), base.data(), kLanes, mod_);
    kern_.mul(base.data(), base.data(), base.data(), kLanes, mod_);
  }
  for (std::size_t i = count; i-- > 0;) {
    kern_.mul(base.data(), inverse.data(), at(prefix, i), kLanes, mod_);
    kern_.mul(inverse.data(), inverse.data(), at(values, i), kLanes, mod_);
    std::copy_n(base.data(), kLanes, at(values, i));
  }
}

// Lagrange: the sum over elements of y_i / M'(x_i) times M(X)/(X - x_i), M the product of all X - x_j.
void Bundle::labels(std::size_t first, std::size_t lanes, Rows& roots, Rows& monic) {
  const std::size_t f = plan_.felts, words = plan_.label_words;
  Rows derivative(most_ * kLanes), slope(most_ * kLanes), quotient(most_ * kLanes);
  Rows sums(words * most_ * kLanes), weights(words * kLanes);
  sums.zero();
  for (std::size_t j = 0; j < most_; ++j) {
    std::fill_n(weights.data(), kLanes, static_cast<u32>((j + 1) % plan_.t));
    kern_.mul(at(derivative, j), at(monic, j + 1), weights.data(), kLanes, mod_);
  }
  for (std::size_t i = 0; i < most_; ++i) {
    u32* v = at(slope, i);
    std::copy_n(at(derivative, most_ - 1), kLanes, v);
    for (std::size_t j = most_ - 1; j-- > 0;) {
      kern_.mul(v, v, at(roots, i), kLanes, mod_);
      kern_.add(v, v, at(derivative, j), kLanes, mod_);
    }
    for (std::size_t s = 0; s < kLanes; ++s) {
      if (s < lanes && i < count(first + s)) {
        if (v[s] == 0) throw ParameterError("two elements of a sub-bin have one residue: insert keeps them apart");
      } else {
        v[s] = 1;
      }
    }
  }
  invert(slope, most_);
  for (std::size_t i = 0; i < most_; ++i) {
    // M/(X - x): q_(d-1) = m_d, q_(j-1) = m_j + x*q_j.
    std::copy_n(at(monic, most_), kLanes, at(quotient, most_ - 1));
    for (std::size_t j = most_ - 1; j-- > 0;) {
      kern_.mul(at(quotient, j), at(roots, i), at(quotient, j + 1), kLanes, mod_);
      kern_.add(at(quotient, j), at(quotient, j), at(monic, j + 1), kLanes, mod_);
    }
    weights.zero();
    for (std::size_t s = 0; s < lanes; ++s) {
      if (i >= count(first + s)) continue;
      const std::size_t bin = (first + s) / f;
      const u32* label = members_.labels + ((first_ + bin) * plan_.degree + i) * words * f + (first + s) % f;
      for (std::size_t w = 0; w < words; ++w) at(weights, w)[s] = label[w * f];
    }
    for (std::size_t w = 0; w < words; ++w) {
      kern_.mul(at(weights, w), at(weights, w), at(slope, i), kLanes, mod_);
      for (std::size_t j = 0; j < most_; ++j)
        kern_.mul_add(at(sums, w * most_ + j), at(weights, w), at(quotient, j), kLanes, mod_);
    }
  }
  for (std::size_t w = 0; w < words; ++w)
    for (std::size_t j = 0; j < most_; ++j) std::copy_n(at(sums, w * most_ + j), lanes, coefficients(1 + w, j) + first);
}

// One plaintext: row 0 as what is added to a ciphertext, others as factors.
void Bundle::encode(std::size_t poly, std::size_t row) const {
  const u32* slots = coefficients_.data() + (poly * plan_.rows() + row) * n_;
  const std::size_t limbs = plan_.plain_limbs, blocks = n_ / kPsiPolyBlock;
  const auto store = [&](std::size_t limb, const u64* words) {
    for (std::size_t block = 0; block < blocks; ++block)
      std::memcpy(plain_ + (((poly * limbs + limb) * blocks + block) * plan_.rows() + row) * kPsiPolyBlock,
                  words + block * kPsiPolyBlock, kPsiPolyBlock * sizeof(u64));
  };
  if (std::all_of(slots, slots + n_, [](u32 x) { return x == 0; })) {
    const WordBuffer zero = [&] {
      WordBuffer z(n_);
      z.zero();
      return z;
    }();
    for (std::size_t limb = 0; limb < limbs; ++limb) store(limb, zero.data());
    return;
  }
  WordBuffer wide(n_), words(n_);
  std::copy_n(slots, n_, wide.data());
  bfv::Plaintext plain(plan_.t, n_);
  ctx_.to_coefficients(plain.coefficients.data(), wide.data());
  if (row == 0) {
    const Poly<Eval> scaled = ctx_.scaled(plain, limbs);
    for (std::size_t limb = 0; limb < limbs; ++limb) store(limb, scaled.limb(limb));
    return;
  }
  for (std::size_t limb = 0; limb < limbs; ++limb) {
    ctx_.lift(words.data(), plain.coefficients.data(), limb);
    store(limb, words.data());
  }
}

}  // namespace

void psi_poly_interpolate(const PsiPolyContext& context, const PsiPolyMembers& members, const std::uint8_t* touched,
                          u64* plain, unsigned threads, const PsiPolyProgress& progress) {
  const std::size_t bundles = std::size_t{context.plan().columns} * context.plan().bundles;
  const auto wanted =
      static_cast<std::size_t>(std::count_if(touched, touched + bundles, [](auto x) { return x != 0; }));
  Reports<bool> reports(progress, wanted);
  for (std::size_t i = 0; i < bundles; ++i) {
    if (touched[i] == 0) continue;
    Bundle(context, members, i, plain, threads).make();
    reports.add(1);
  }
}

}  // namespace ringforge::circuits
