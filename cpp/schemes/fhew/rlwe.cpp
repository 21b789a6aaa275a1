// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/fhew/rlwe.hpp"

#include <cmath>
#include <map>
#include <mutex>

#include "fork.hpp"
#include "ringforge/error.hpp"

namespace ringforge {
namespace {

ForkMutex rings_mutex(ForkMutex::Rank::rings);

}  // namespace

template <class W>
SmallRing<W>::SmallRing(u64 q, unsigned log_n)
    : tables_(static_cast<W>(q), log_n),
      spectral_(sizeof(W) == 4 ? std::make_unique<const SpectralTables>(log_n) : nullptr),
      kernels_(kernels::small_active<W>()) {}

template <class W>
std::shared_ptr<const SmallRing<W>> SmallRing<W>::get(u64 q, unsigned log_n) {
  constexpr unsigned kBits = sizeof(W) == 4 ? 31 : 61;
  if (log_n < 8 || log_n > 12)
    throw ParameterError("ring degree 2^" + std::to_string(log_n) + " is outside 2^8 ... 2^12");
  if (q >> kBits != 0 || q < (u64{1} << 16) || q % (u64{2} << log_n) != 1 || !is_prime(q))
    throw ParameterError("modulus " + std::to_string(q) + " is not a prime = 1 mod " + std::to_string(u64{2} << log_n) +
                         " between 2^16 and 2^" + std::to_string(kBits));
  static std::map<std::pair<u64, unsigned>, std::shared_ptr<const SmallRing>> rings;
  const std::lock_guard lock(rings_mutex);
  auto& r = rings[{q, log_n}];
  if (!r) r = std::make_shared<const SmallRing>(q, log_n);
  return r;
}

template <class W>
W SmallRing<W>::power(W a, u64 e) const noexcept {
  unsigned __int128 base = a, r = 1;
  for (; e != 0; e >>= 1, base = base * base % q())
    if (e & 1) r = r * base % q();
  return static_cast<W>(r);
}

template <class W>
void sample_small(W* dst, std::size_t count, W q, unsigned bits, Stream& stream) noexcept {
  const W mask = static_cast<W>((u64{1} << bits) - 1);
  for (std::size_t k = 0; k < count;) {
    const u64 word = stream.next();
    if constexpr (sizeof(W) == 8) {
      dst[k] = word & mask;
      k += dst[k] < q ? 1 : 0;
    } else {
      const W low = static_cast<W>(word) & mask, high = static_cast<W>(word >> 32) & mask;
      dst[k] = low;
      k += low < q ? 1 : 0;
      if (k < count) {
        dst[k] = high;
        k += high < q ? 1 : 0;
      }
    }
  }
}

template class SmallRing<u32>;
template class SmallRing<u64>;
template void sample_small(u32*, std::size_t, u32, unsigned, Stream&) noexcept;
template void sample_small(u64*, std::size_t, u64, unsigned, Stream&) noexcept;

}  // namespace ringforge

namespace ringforge::fhew {

void check_cut(const Cut& cut, u64 q, const char* what) {
  const unsigned bits = 64 - static_cast<unsigned>(__builtin_clzll(q));
  const unsigned covered = cut.log_base * cut.count + cut.drop;
  if (cut.log_base < 1 || cut.log_base > 30 || cut.count < 1 || cut.count > 32 || covered < bits ||
      covered > bits + 30 || (!cut.balanced && cut.drop != 0) || cut.drop >= bits)
    throw ParameterError(std::string(what) + ": " + std::to_string(cut.count) + " digits of base 2^" +
                         std::to_string(cut.log_base) + " above 2^" + std::to_string(cut.drop) +
                         " do not cut residues of " + std::to_string(bits) +
                         " bits; digits and dropped bits must cover them, and plain digits drop nothing");
}

u64 gadget_element(const Cut& cut, unsigned digit, u64 q) noexcept {
  unsigned __int128 g = 1;
  for (unsigned i = 0; i < cut.drop + digit * cut.log_base; ++i) g = 2 * g % q;
  return static_cast<u64>(g);
}

double digit_square(const Cut& cut) noexcept {
  const double b = std::ldexp(1.0, static_cast<int>(cut.log_base));
  return cut.balanced ? (b * b + 2) / 12 : (b - 1) * (2 * b - 1) / 6;
}

double rest_variance(const Cut& cut) noexcept {
  return cut.drop == 0 ? 0 : std::ldexp(1.0, 2 * static_cast<int>(cut.drop)) / 12;
}

template <class W>
RingSecret<W>::RingSecret(std::shared_ptr<const SmallRing<W>> ring, SmallPoly&& coeffs)
    : ring_(std::move(ring)), coeffs_(std::move(coeffs)), eval_(ring_->n()) {
  if (coeffs_.coeffs().size() != ring_->n())
    throw MismatchError("a secret of " + std::to_string(coeffs_.coeffs().size()) + " coefficients for a ring of " +
                        std::to_string(ring_->n()) + ": take the ring that it was made for");
  for (std::size_t i = 0; i < ring_->n(); ++i) eval_.data()[i] = ring_->lift_secret(coeffs_.coeffs()[i]);
  ring_->forward(eval_.data(), eval_.data());
}

template <class W>
RingSecret<W>::RingSecret(std::shared_ptr<const SmallRing<W>> ring, Randomness& rng)
    : RingSecret(ring, sample_ternary(ring->n(), rng.next_seed(), StreamObject::secret)) {}

template <class W>
void expand_row(W* a, const SmallRing<W>& ring, const Seed& seed, u32 index) {
  Stream stream(seed, StreamObject::small_row, index);
  sample_small(a, ring.n(), ring.q(), ring.bits(), stream);
}

template <class W>
void RingSecret<W>::encrypt_row(W* row, const W* message, const Seed& seed, u32 index, const Seed& errors) const {
  const std::size_t n = ring_->n();
  const auto& k = ring_->kernels();
  expand_row(row, *ring_, seed, index);
  W* b = row + n;
  const SmallPoly e = sample_error(n, errors, index);
  for (std::size_t i = 0; i < n; ++i) b[i] = ring_->lift_secret(e.coeffs()[i]);
  ring_->forward(b, b);
  SecretArray<W> t(n);  // a*s, which with a gives s
  k.mul(t.data(), row, eval(), ring_->table());
  k.add(b, b, t.data(), ring_->table());
  if (message != nullptr) k.add(b, b, message, ring_->table());
}

template <class W>
void RingSecret<W>::phase(W* dst, const W* row) const {
  const std::size_t n = ring_->n();
  SecretArray<W> t(n);
  ring_->kernels().mul(t.data(), row, eval(), ring_->table());
  ring_->kernels().sub(t.data(), row + n, t.data(), ring_->table());
  ring_->inverse(dst, t.data());
}

template <class W>
void encrypt_rlwe_prime(W* rows, const RingSecret<W>& s, const W* message, const Cut& cut, const Seed& seed, u32 first,
                        const Seed& errors) {
  const auto& ring = s.ring();
  SecretArray<W> m(ring.n());
  for (unsigned j = 0; j < cut.count; ++j) {
    ring.kernels().mul_scalar(m.data(), message, static_cast<W>(gadget_element(cut, j, ring.q())), ring.table());
    s.encrypt_row(rows + 2 * ring.n() * j, m.data(), seed, first + j, errors);
  }
}

template <class W>
void encrypt_rgsw(W* rows, const RingSecret<W>& s, const W* message, const Cut& a, const Cut& b, const Seed& seed,
                  u32 first, const Seed& errors) {
  const auto& ring = s.ring();
  SecretArray<W> m(ring.n());
  m.zero();
  SecretArray<W> product(ring.n());
  ring.kernels().mul(product.data(), message, s.eval(), ring.table());
  ring.kernels().sub(m.data(), m.data(), product.data(), ring.table());
  encrypt_rlwe_prime(rows, s, m.data(), a, seed, first, errors);
  encrypt_rlwe_prime(rows + 2 * ring.n() * a.count, s, message, b, seed, first + a.count, errors);
}

void make_spectra(double* dst, const u32* ciphertexts, std::size_t count, std::size_t rows,
                  const SmallRing<u32>& ring) {
  const std::size_t n = ring.n(), words = 2 * n * rows;
  WordArray<u32> coeffs(words);
  WordArray<double> scratch(kernels::spectral_scratch(n, rows));
  for (std::size_t i = 0; i < count; ++i, dst += words, ciphertexts += words) {
    for (std::size_t r = 0; r < 2 * rows; ++r) ring.inverse(coeffs.data() + r * n, ciphertexts + r * n);
    ring.spectral_kernels().prepare(dst, coeffs.data(), rows, scratch.data(), ring.table(), ring.spectral_table());
  }
}

namespace {

/// out = [out +] the products of the polynomials' digits with the rows, in coefficient form, where there are spectra
/// for it.
template <class W>
bool spectral_product(W* out, const kernels::CutPoly<W>* polys, std::size_t count, const Rows<W>& rows, bool accumulate,
                      const SmallRing<W>& ring, Workspace<W>& w) noexcept {
  if constexpr (sizeof(W) == 4) {
    if (rows.spectra != nullptr) {
      ring.spectral_kernels().product(out, out + ring.n(), polys, count, rows.spectra, accumulate, w.spectral.data(),
                                      ring.table(), ring.spectral_table());
      return true;
    }
  }
  return false;
}

/// acc += t (x) RGSW; t is lost.
template <class W>
void add_external_product(W* acc, W* t, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b,
                          const SmallRing<W>& ring, Workspace<W>& w) noexcept {
  const std::size_t n = ring.n();
  const kernels::CutPoly<W> polys[2] = {{t, cut_a}, {t + n, cut_b}};
  if (spectral_product(acc, polys, 2, rgsw, true, ring, w)) return;
  external_product(t, t, rgsw, cut_a, cut_b, ring, w);
  ring.kernels().add(acc, acc, t, ring.table());
  ring.kernels().add(acc + n, acc + n, t + n, ring.table());
}

}  // namespace

template <class W>
void external_product(W* dst, const W* src, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b,
                      const SmallRing<W>& ring, Workspace<W>& w, const W* next) noexcept {
  const std::size_t n = ring.n();
  const kernels::CutPoly<W> polys[2] = {{src, cut_a}, {src + n, cut_b}};
  if (spectral_product(dst, polys, 2, rgsw, false, ring, w)) return;
  W* t = w.t.data();
  ring.kernels().gadget_product(t, t + n, polys, 2, rgsw.eval, w.digits.data(), ring.table());
  if (next != nullptr)
    for (std::size_t i = 0; i < 2 * n; i += 64 / sizeof(W)) __builtin_prefetch(next + i, 0, 2);
  ring.inverse(dst, t);
  ring.inverse(dst + n, t + n);
}

template <class W>
void rotate_by_bit(W* acc, std::size_t r, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b,
                   const SmallRing<W>& ring, Workspace<W>& w) noexcept {
  const std::size_t n = ring.n();
  W* t = w.t.data() + 2 * n;
  ring.kernels().rotate_sub(t, acc, r, ring.table());
  ring.kernels().rotate_sub(t + n, acc + n, r, ring.table());
  add_external_product(acc, t, rgsw, cut_a, cut_b, ring, w);
}

template <class W>
void cmux(W* c0, const W* c1, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b, const SmallRing<W>& ring,
          Workspace<W>& w) noexcept {
  const std::size_t n = ring.n();
  W* t = w.t.data() + 2 * n;
  ring.kernels().sub(t, c1, c0, ring.table());
  ring.kernels().sub(t + n, c1 + n, c0 + n, ring.table());
  add_external_product(c0, t, rgsw, cut_a, cut_b, ring, w);
}

template <class W>
void substitute(W* dst, const W* src, std::size_t g, const Rows<W>& key, const Cut& cut, const SmallRing<W>& ring,
                Workspace<W>& w) noexcept {
  const std::size_t n = ring.n();
  const auto& k = ring.kernels();
  W* u = w.t.data();
  W* t = u + 2 * n;
  k.automorphism(t, src, g, ring.table());
  k.automorphism(t + n, src + n, g, ring.table());
  const kernels::CutPoly<W> poly{t, cut};
  if (!spectral_product(u, &poly, 1, key, false, ring, w)) {
    k.gadget_product(u, u + n, &poly, 1, key.eval, w.digits.data(), ring.table());
    ring.inverse(u, u);
    ring.inverse(u + n, u + n);
  }
  k.sub(dst + n, t + n, u + n, ring.table());
  for (std::size_t i = 0; i < n; ++i) dst[i] = u[i] == 0 ? 0 : ring.q() - u[i];
}

template <class W>
void encrypt_substitution_key(W* rows, const RingSecret<W>& s, std::size_t g, const Cut& cut, const Seed& seed,
                              u32 first, const Seed& errors) {
  const auto& ring = s.ring();
  SecretArray<W> image(ring.n()), coeffs(ring.n());
  for (std::size_t i = 0; i < ring.n(); ++i) coeffs.data()[i] = ring.lift_secret(s.coeffs()[i]);
  ring.kernels().automorphism(image.data(), coeffs.data(), g, ring.table());
  ring.forward(image.data(), image.data());
  encrypt_rlwe_prime(rows, s, image.data(), cut, seed, first, errors);
}

#define RINGFORGE_INSTANTIATE(W)                                                                                   \
  template class RingSecret<W>;                                                                                    \
  template void expand_row(W*, const SmallRing<W>&, const Seed&, u32);                                             \
  template void encrypt_rlwe_prime(W*, const RingSecret<W>&, const W*, const Cut&, const Seed&, u32, const Seed&); \
  template void encrypt_rgsw(W*, const RingSecret<W>&, const W*, const Cut&, const Cut&, const Seed&, u32,         \
                             const Seed&);                                                                         \
  template void external_product(W*, const W*, const Rows<W>&, const Cut&, const Cut&, const SmallRing<W>&,        \
                                 Workspace<W>&, const W*) noexcept;                                                \
  template void rotate_by_bit(W*, std::size_t, const Rows<W>&, const Cut&, const Cut&, const SmallRing<W>&,        \
                              Workspace<W>&) noexcept;                                                             \
  template void cmux(W*, const W*, const Rows<W>&, const Cut&, const Cut&, const SmallRing<W>&,                    \
                     Workspace<W>&) noexcept;                                                                      \
  template void substitute(W*, const W*, std::size_t, const Rows<W>&, const Cut&, const SmallRing<W>&,             \
                           Workspace<W>&) noexcept;                                                                \
  template void encrypt_substitution_key(W*, const RingSecret<W>&, std::size_t, const Cut&, const Seed&, u32,      \
                                         const Seed&)
RINGFORGE_INSTANTIATE(u32);
RINGFORGE_INSTANTIATE(u64);
#undef RINGFORGE_INSTANTIATE

}  // namespace ringforge::fhew
