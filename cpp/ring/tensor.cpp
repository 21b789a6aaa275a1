// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rader's method in each dimension. With f = sum_u f_u X^(g^u), the value at the root to the power g^-v is sum_u f_u
// root^(g^(u-v)): f convolved with the fixed array of root^(g^-w), and f again by the array whose transform has the
// inverse entries. These are Gauss sums, of which none is 0.
#include "tensor.hpp"

#include <algorithm>
#include <bit>

#include "bits.hpp"
#include "cyclotomic.hpp"
#include "limb_kernels.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/tensor_basis.hpp"
#include "ringforge/tensor_tables.hpp"
#include "room.hpp"

namespace ringforge {
namespace {

using arith::mul;

constexpr u64 kLongIndex = 65537;  ///< taken alone, with its own order of words and kernels (rader.cpp)

u64 smallest_prime_root(u64 p, const kernels::Modulus& mod) {
  u64 root = 1;
  for (u64 x = 2; root == 1; ++x) root = arith::pow(x, (mod.q - 1) / p, mod);
  u64 smallest = root;
  for (u64 k = 1, power = root; k < p; ++k, power = mul(power, root, mod)) smallest = std::min(smallest, power);
  return smallest;
}

/// The transform of root^(generator^-w), scrambled: entry brv(s) is the sum of entry w times unity^(w*s).
std::vector<u64> gauss_sums(const TensorShape::Dimension& at, const kernels::NttTable& line) {
  const auto& mod = line.mod;
  const std::size_t length = std::size_t{1} << at.log_length;
  std::vector<u64> array(length), sums(length);
  const u64 root = smallest_prime_root(at.p, mod);
  for (u64 w = length, e = 1; w-- > 0;) {
    e = e * at.generator % at.p;  // generator^(length - w)
    array[w] = arith::pow(root, e, mod);
  }
  const u64 unity = length == 2 ? mod.q - 1 : line.w[length / 2 + length / 4];
  u64 x = 1;
  for (std::size_t s = 0; s < length; ++s, x = mul(x, unity, mod)) {
    u64 sum = 0;
    for (std::size_t w = length; w-- > 0;) sum = arith::add(mul(sum, x, mod), array[w], mod.q);
    sums[reverse_bits(s, at.log_length)] = sum;
  }
  return sums;
}

/// The factors of the array whose transform is, in dimension d, sums[d].
WordBuffer fill(kernels::TensorFactors& f, const kernels::TensorTable& t, const TensorShape& shape,
                const std::vector<std::vector<u64>>& sums) {
  const auto& mod = t.line.mod;
  const std::size_t rows = t.n / t.inner;
  /// The product of the entries at word i, of the dimensions within a row or of the others.
  const auto product = [&](std::size_t i, bool within) {
    u64 r = 1;
    for (std::size_t d = 0; d < shape.dims(); ++d)
      if ((shape[d].p <= 5) == within)
        r = mul(r, sums[d][(i >> shape[d].shift) & ((std::size_t{1} << shape[d].log_length) - 1)], mod);
    return r;
  };
  const bool fast = mod.bits <= kernels::kFastBits, paired = fast && t.inner == 8 && shape.has(17);
  WordBuffer storage((paired ? 6 : 3) * rows);
  u64* w = storage.data();
  const u64 first = product(0, true), scale = mul(first, arith::inverse(t.n, mod), mod);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto factor = kernels::make_factor(mul(product(r * t.inner, false), scale, mod), mod);
    w[r] = factor.w, w[rows + r] = factor.w64, w[2 * rows + r] = factor.w52;
  }
  f.row = w;
  f.row64 = w + rows;
  f.row52 = fast ? w + 2 * rows : nullptr;
  if (paired) f.pairs52 = w + 3 * rows;
  for (std::size_t r = 0; paired && r < rows / 2; ++r) {
    const u64 k = w[2 * r], l = w[2 * r + 1], d = arith::sub(k, l, mod.q);
    const u64 values[3] = {arith::add(k, l, mod.q), mul(t.line.w[8 + r % 8], d, mod),
                           mul(t.line.iw[8 + r % 8], d, mod)};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto factor = kernels::make_factor(values[i], mod);
      w[3 * rows + 6 * r + 2 * i] = factor.w, w[3 * rows + 6 * r + 2 * i + 1] = factor.w52;
    }
  }
  const u64 over = arith::inverse(first, mod);
  for (std::size_t k = 0; k < t.inner; ++k) f.place[k] = kernels::make_factor(mul(product(k, true), over, mod), mod);
  if (t.inner == 8) {
    const u64 a = f.place[4].w, b = f.place[6].w;
    const u64 im = arith::neg(mul(t.line.w[3], arith::sub(a, b, mod.q), mod), mod.q);
    for (const u64 k : {0, 1}) {
      const auto one_and = [&](u64 x) {
        return kernels::make_factor(k == 0 ? arith::add(1, x, mod.q) : arith::sub(1, x, mod.q), mod);
      };
      f.two[k] = one_and(f.place[1].w);
      f.four[k] = one_and(f.place[2].w);
    }
    f.re = kernels::make_factor(arith::add(a, b, mod.q), mod);
    f.im = kernels::make_factor(im, mod);
    f.minus_im = kernels::make_factor(arith::neg(im, mod.q), mod);
  }
  return storage;
}

template <class Word>
class Tensor final : public Transform<Word> {
 public:
  Tensor(const Ring& ring, const kernels::Modulus& mod) : shape_(ring.index()), tables_(ring, mod), mod_(mod) {}

  void forward(Word* dst, const Word* src) const noexcept override {
    kernels::tensor_active<Word>().convolve(dst, src, tables_.table(), tables_.table().forward);
  }
  void forward_lift(Word* dst, const Word* src, Word p) const noexcept override {
    kernels::tensor_active<Word>().convolve_lift(dst, src, p, tables_.table(), tables_.table().forward);
  }
  void inverse(Word* dst, const Word* src) const noexcept override {
    kernels::tensor_active<Word>().convolve(dst, src, tables_.table(), tables_.table().inverse);
  }
  void product(Word* dst, const Word* a, const Word* b) const noexcept override {
    const std::size_t n = shape_.degree();
    Room<Word> room(std::max<std::size_t>(n, 16), true);
    const Word* other = a == b ? dst : room.data();
    if (a != b) forward(room.data(), b);
    forward(dst, a);
    limb_kernels<Word>().mul(dst, dst, other, n, mod_);
    inverse(dst, dst);
  }
  void forget() const noexcept override { Room<Word>::forget(); }
  void automorphism(Word* dst, const Word* src, u64 g) const noexcept override {
    const auto places = shape_.places(g);
    for (std::size_t i = 0; i < shape_.degree(); ++i) dst[i] = src[shape_.source(i, places)];
  }

 private:
  TensorShape shape_;
  TensorTables tables_;
  kernels::Modulus mod_;
};

}  // namespace

TensorTables::TensorTables(const Ring& ring, const kernels::Modulus& mod) {
  const TensorShape shape(ring.index());
  table_.n = ring.degree();
  std::size_t longest = 2;
  for (std::size_t d = 0; d < shape.dims(); ++d) {
    const std::size_t length = std::size_t{1} << shape[d].log_length;
    table_.length[table_.dims++] = length;
    longest = std::max(longest, length);
    if (shape[d].p <= 5) table_.inner *= length;
  }
  line_ = cyclic_table(table_.line, longest, mod);
  std::vector<std::vector<u64>> sums;
  for (std::size_t d = 0; d < shape.dims(); ++d) sums.push_back(gauss_sums(shape[d], table_.line));
  forward_ = fill(table_.forward, table_, shape, sums);
  for (auto& dimension : sums)
    for (u64& x : dimension) x = arith::inverse(x, mod);
  inverse_ = fill(table_.inverse, table_, shape, sums);
}

TensorShape::TensorShape(u64 m) noexcept : long_(m == kLongIndex) {
  for (const u64 p : {kLongIndex, u64{257}, u64{17}, u64{5}, u64{3}})
    if (m % p == 0 && (p != kLongIndex || long_)) {
      m /= p;
      degree_ *= p - 1;
      dimensions_[dims_++] = {p, p == 3 ? u64{2} : u64{3}, static_cast<unsigned>(std::countr_zero(p - 1)), 0};
    }
  if (m != 1) dims_ = 0;
  for (std::size_t d = dims_; d-- > 1;) dimensions_[d - 1].shift = dimensions_[d].shift + dimensions_[d].log_length;
}

// Bit by bit, the lowest first: what is left of g has an order that divides 2^(bits above).
TensorShape::Places TensorShape::places(u64 g) const noexcept {
  Places at{};
  for (std::size_t d = 0; d < dims_; ++d) {
    const auto& dimension = dimensions_[d];
    const u64 p = dimension.p;
    const auto raised = [p](u64 x, unsigned times) {
      for (; times > 0; --times) x = x * x % p;
      return x;
    };
    u64 rest = g % p, power = dimension.generator;  // to the power -2^bit
    for (unsigned i = 1; i < dimension.log_length; ++i) power = power * raised(dimension.generator, i) % p;
    for (unsigned bit = 0; bit < dimension.log_length; ++bit, power = power * power % p)
      if (raised(rest, dimension.log_length - 1 - bit) != 1) {
        at[d] |= u32{1} << bit;
        rest = rest * power % p;
      }
  }
  return at;
}

u64 tensor_root(u64 m, const kernels::Modulus& mod) {
  const TensorShape shape(m);
  u64 root = 1;
  for (std::size_t d = 0; d < shape.dims(); ++d) root = mul(root, smallest_prime_root(shape[d].p, mod), mod);
  return root;
}

template <class Word>
std::unique_ptr<const Transform<Word>> make_tensor_transform(const Ring& ring, const kernels::Modulus& mod) {
  if constexpr (sizeof(Word) == 8)  // no prime below 2^31 has the root
    if (ring.index() == kLongIndex) return make_rader_transform(mod);
  return std::make_unique<Tensor<Word>>(ring, mod);
}
template std::unique_ptr<const Transform<u32>> make_tensor_transform(const Ring&, const kernels::Modulus&);
template std::unique_ptr<const Transform<u64>> make_tensor_transform(const Ring&, const kernels::Modulus&);

// ---- Bases ----------------------------------------------------------------------------------------

TensorBasis::TensorBasis(const Ring& ring)
    : index_(ring.index()), reduction_(std::make_shared<CyclotomicReduction>(std::max(ring.index(), u64{3}))) {
  if (ring.kind() != RingKind::tensor)
    throw ParameterError("only tensor rings have a tensor basis, and this is " + ring.name() + ": take Ring::tensor");
  const TensorShape shape(index_);
  exponents_.resize(shape.degree());
  for (std::size_t d = 0; d < shape.dims(); ++d) {
    const auto& at = shape[d];
    primes_.push_back(at.p);
    // The multiple of index/p that is 1 modulo p; 0 modulo the others.
    u64 unit = index_ / at.p;
    while (unit % at.p != 1) unit += index_ / at.p;
    std::vector<u64> powers{unit};
    for (std::size_t u = 1; u < at.p - 1; ++u) powers.push_back(powers.back() * at.generator % index_);
    for (std::size_t i = 0; i < exponents_.size(); ++i)
      exponents_[i] = static_cast<u32>((exponents_[i] + powers[shape.place(i, d)]) % index_);
  }
}

template <class Word>
void TensorBasis::to_power_basis(Word* dst, const Word* src, Word q) const {
  const std::size_t length = (index_ + 15) / 16 * 16;
  SecretArray<Word> room(length + reduction_->room_words());
  std::fill_n(room.data(), index_, Word{0});
  for (std::size_t i = 0; i < exponents_.size(); ++i) room.data()[exponents_[i]] = src[i];
  kernels::Modulus mod;
  mod.q = q;
  reduction_->reduce(dst, room.data(), index_, room.data() + length, mod);
}

// With zeta = X^(index/p), of order p: 1 = -(zeta + ... + zeta^(p-1)), and a multiple of p plus k*index/p is none.
template <class Word>
void TensorBasis::from_power_basis(Word* dst, const Word* src, Word q) const {
  SecretArray<Word> room(index_);
  Word* x = room.data();
  std::copy_n(src, exponents_.size(), x);
  std::fill(x + exponents_.size(), x + index_, Word{0});
  for (const u64 p : primes_)
    for (u64 a = 0; a < index_; a += p) {
      u64 at = a;
      for (u64 k = 1; k < p; ++k) {
        at += index_ / p;
        if (at >= index_) at -= index_;
        x[at] = wrapped<Word>(x[at] - x[a], q);
      }
      x[a] = 0;
    }
  for (std::size_t i = 0; i < exponents_.size(); ++i) dst[i] = x[exponents_[i]];
}

template void TensorBasis::to_power_basis(u32*, const u32*, u32) const;
template void TensorBasis::to_power_basis(u64*, const u64*, u64) const;
template void TensorBasis::from_power_basis(u32*, const u32*, u32) const;
template void TensorBasis::from_power_basis(u64*, const u64*, u64) const;

// Integers are residues modulo 2^64, for which the maps take q = 0.
std::vector<i64> TensorBasis::to_power_basis(std::span<const i64> a) const {
  require_degree(a.size());
  std::vector<i64> r(a.begin(), a.end());
  to_power_basis(reinterpret_cast<u64*>(r.data()), reinterpret_cast<const u64*>(a.data()), u64{0});
  return r;
}

std::vector<i64> TensorBasis::from_power_basis(std::span<const i64> a) const {
  require_degree(a.size());
  std::vector<i64> r(a.begin(), a.end());
  from_power_basis(reinterpret_cast<u64*>(r.data()), reinterpret_cast<const u64*>(a.data()), u64{0});
  return r;
}

void TensorBasis::require_degree(std::size_t have) const {
  if (have != exponents_.size())
    throw MismatchError(std::to_string(have) + " coefficients, the ring of index " + std::to_string(index_) + " has " +
                        std::to_string(exponents_.size()) + ": give one for each");
}

}  // namespace ringforge
