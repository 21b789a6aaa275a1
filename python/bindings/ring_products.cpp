// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products modulo Phi_m by each way that there is, timed where they run: for benchmarks.
#include <chrono>
#include <ctime>

#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "ringforge/barrett.hpp"
#include "ringforge/tensor_basis.hpp"
#include "ringforge/threads.hpp"

namespace bindings {
namespace {

using namespace ringforge;

template <class Word>
using Residues = nb::ndarray<const Word, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

struct Clocks {
  double wall = 0, cpu = 0;
  static Clocks now() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
            static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec)};
  }
};

/// Rows of residues as a polynomial.
template <class Word>
Poly<Coeff, Word> polynomial(const Residues<Word>& rows, const BasisOf<Word>& basis) {
  Poly<Coeff, Word> p(basis);
  if (rows.shape(0) != p.limbs() || rows.shape(1) != p.degree())
    throw ShapeError("a row of " + std::to_string(p.degree()) + " residues for each of " + std::to_string(p.limbs()) +
                     " primes is needed, not " + std::to_string(rows.shape(0)) + " of " +
                     std::to_string(rows.shape(1)));
  for (std::size_t i = 0; i < p.limbs(); ++i) {
    const Word* row = rows.data() + i * p.degree();
    for (std::size_t j = 0; j < p.degree(); ++j)
      if (row[j] >= basis[i].value()) throw ValueError("a residue is not below its prime");
    std::copy_n(row, p.degree(), p.limb(i));
  }
  return p;
}

/// Rows of `words` words, each aligned.
template <class Word>
struct Rows {
  std::vector<WordArray<Word>> data;
  std::size_t words;
  Rows(std::size_t count, std::size_t n) : words(n) {
    for (std::size_t i = 0; i < count; ++i) data.emplace_back((n + 15) / 16 * 16);
  }
};

/// Words of this thread that keep their values between calls.
template <class Word>
Word* room(std::size_t words) {
  thread_local WordArray<Word> kept;
  if (kept.size() < words) kept = WordArray<Word>(words);
  return kept.data();
}

/// The product before it is reduced, of a padded ring, by zero padding; work has transform_length words.
template <class Word>
void whole_product(Word* out, const Poly<Coeff, Word>& a, const Poly<Coeff, Word>& b, std::size_t i, Word* work) {
  const auto& table = a.basis()[i].table();
  const std::size_t n = a.degree();
  if constexpr (sizeof(Word) == 4) {
    kernels::active32().ntt_product(out, a.limb(i), b.limb(i), n, work, table);
  } else {
    const auto& k = kernels::active();
    const auto transform = [&](u64* dst, const u64* src) {
      std::copy_n(src, n, dst);
      std::fill(dst + n, dst + table.n, u64{0});
      k.ntt_forward(dst, dst, table);
    };
    transform(out, a.limb(i));
    transform(work, b.limb(i));
    k.mul(out, out, work, table.n, table.mod);
    k.ntt_inverse(out, out, table);
  }
}

template <class Word>
std::tuple<Rows<Word>, double, double> products(u64 m, const std::vector<u64>& primes, const Residues<Word>& a,
                                                const Residues<Word>& b, unsigned threads, std::size_t repeat,
                                                const std::string& method) {
  if (repeat < 1) throw ParameterError("a product is timed once at least: give repeat >= 1");
  const bool own = method == "own", whole = method == "unreduced", barrett = method == "barrett";
  if (!own && !whole && !barrett && method != "additions")
    throw ParameterError("there is no product by \"" + method + "\": choose additions, barrett, unreduced or own");
  const Ring ring = own ? Ring::tensor(m) : Ring::cyclotomic(m);
  const BasisOf<Word> basis(ring, primes);
  Poly<Coeff, Word> x = polynomial(a, basis), y = polynomial(b, basis), z(basis);
  const std::size_t count = basis.size(), length = ring.transform_length();
  if (own) {
    const TensorBasis bases(ring);
    for (auto* p : {&x, &y})
      for (std::size_t i = 0; i < count; ++i)
        bases.from_power_basis(p->limb(i), p->limb(i), static_cast<Word>(basis[i].value()));
  }
  std::vector<std::unique_ptr<const BarrettReductionOf<Word>>> reductions;
  for (std::size_t i = 0; barrett && i < count; ++i)
    reductions.push_back(
        std::make_unique<const BarrettReductionOf<Word>>(ring, PrimeOf<Word>::get(basis[i].value(), ring)));
  Rows<Word> out(count, whole ? length : ring.degree());
  const Clocks start = Clocks::now();
  for (std::size_t r = 0; r < repeat; ++r) {
    if (whole)
      parallel_for(threads, count,
                   [&](std::size_t i) { whole_product(out.data[i].data(), x, y, i, room<Word>(length)); });
    else if (barrett)
      parallel_for(threads, count, [&](std::size_t i) {
        Word *work = room<Word>(2 * length), *product = work + length;
        whole_product(product, x, y, i, work);
        reductions[i]->reduce(out.data[i].data(), product, work);
      });
    else
      z = multiply(x, y, threads);
  }
  const Clocks end = Clocks::now();
  if (own) {
    const TensorBasis bases(ring);
    for (std::size_t i = 0; i < count; ++i)
      bases.to_power_basis(z.limb(i), z.limb(i), static_cast<Word>(basis[i].value()));
  }
  for (std::size_t i = 0; !whole && !barrett && i < count; ++i) std::copy_n(z.limb(i), out.words, out.data[i].data());
  const auto times = static_cast<double>(repeat);
  return {std::move(out), (end.wall - start.wall) / times, (end.cpu - start.cpu) / times};
}

template <class Word>
auto ring_product(u64 m, const std::vector<u64>& primes, const Residues<Word>& a, const Residues<Word>& b,
                  unsigned threads, std::size_t repeat, const std::string& method) {
  const auto [rows, wall, cpu] = unlocked([&] { return products<Word>(m, primes, a, b, threads, repeat, method); });
  std::vector<Word> packed(rows.data.size() * rows.words);
  for (std::size_t i = 0; i < rows.data.size(); ++i)
    std::copy_n(rows.data[i].data(), rows.words, packed.data() + i * rows.words);
  return std::tuple(to_numpy(packed.data(), packed.size()), wall, cpu);
}

}  // namespace

void bind_ring_products(nb::module_& k) {
  k.def(
      "ring_product", &ring_product<u32>, "index"_a, "primes"_a, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
      "threads"_a = 1, "repeat"_a = 1, "method"_a = "additions",
      "A product modulo Phi_index and each of the primes, below 2^31, of polynomials with rows of residues, row after "
      "row; and the wall and processor seconds of one, means over `repeat`. Methods: `additions` and `barrett` pad "
      "with zeros and reduce by binomials or by Barrett's method, `unreduced` leaves the reduction out and gives "
      "rows as long as the transform, `own` is the ring's own transform, its input in its basis before the clock "
      "starts.");
  k.def("ring_product", &ring_product<u64>, "index"_a, "primes"_a, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        "threads"_a = 1, "repeat"_a = 1, "method"_a = "additions", "The same in words of 64 bits, primes below 2^61.");
}

}  // namespace bindings
