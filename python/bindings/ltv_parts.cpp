// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What accelerators and other processes take and give: ringforge/ltv/parts.hpp, and ciphertexts from their words.
#include "ringforge/ltv/parts.hpp"

#include <algorithm>

#include "word_arrays.hpp"

namespace bindings {

using namespace ringforge;
using namespace ringforge::ltv;

namespace {

/// What `fill` writes to count * n words, as an array; without the interpreter's lock.
template <class F>
auto digit_words(std::size_t count, std::size_t n, F&& fill) {
  std::unique_ptr<std::uint16_t[]> words;
  unlocked([&] {
    words.reset(new std::uint16_t[count * n]);
    fill(std::span(words.get(), count * n));
    return 0;
  });
  return owned<nb::ndim<2>>(std::move(words), {count, n});
}

/// A ciphertext from canonical residues, (limbs, N), and what is said of it.
Ciphertext from_words(const Context& context, const Unreduced& words, u64 key_id, u32 level, u32 degree, u32 lag,
                      const Noise& noise) {
  const std::size_t limbs = words.ndim() == 2 ? std::max<std::size_t>(words.shape(0), 1) : 1;
  const std::size_t n = context.params().degree();
  require_shape(words, {limbs, n});
  return unlocked([&, from = words.data()] {
    const BasisOf<u32> basis = context.basis(limbs);
    Ciphertext c{Coefficients(basis), key_id, level, degree, noise, lag};
    for (std::size_t i = 0; i < limbs; ++i) {
      const u32* limb = from + i * n;
      if (const u32 most = *std::max_element(limb, limb + n); most >= basis[i].value())
        throw ValueError("a ciphertext has the residue " + std::to_string(most) + " modulo " +
                         std::to_string(basis[i].value()) + ": give canonical residues");
      std::copy_n(limb, n, c.poly.limb(i));
    }
    check(context, c);
    return c;
  });
}

}  // namespace

void bind_ltv_parts(nb::module_& l) {
  nb::class_<KeyParts>(l, "KeyParts", "What a machine that relinearises by an evaluation key takes and gives.")
      .def(
          "__init__",
          [](KeyParts* self, std::shared_ptr<Context> ctx, const EvalKey& key, unsigned threads) {
            new (self) KeyParts(ctx, key, threads);
          },
          "context"_a, "key"_a, "threads"_a = 1, GilReleased())
      .def_prop_ro("key_id", &KeyParts::key_id)
      .def_prop_ro("level", &KeyParts::level, "Of the key.")
      .def_prop_ro("lag", &KeyParts::lag)
      .def_prop_ro("offset", &KeyParts::offset, "What is added to each digit, so that none is negative.")
      .def(
          "digits",
          [](const KeyParts& k, const Ciphertext& c, unsigned threads) {
            return digit_words(k.digits(), k.context()->params().degree(),
                               [&](std::span<std::uint16_t> dst) { k.digits(dst, c, threads); });
          },
          "ciphertext"_a, "threads"_a = 1, "Digits of a ciphertext plus `offset`, (digits, N) of 16 bits.")
      .def(
          "assemble",
          [](const KeyParts& k, const Ciphertext& c, const Unreduced& sums, unsigned threads) {
            require_shape(sums, {k.limbs(), k.context()->ring().transform_length()});
            return unlocked([&, view = std::span(sums.data(), sums.size())] { return k.assemble(c, view, threads); });
          },
          "ciphertext"_a, "sums"_a, "threads"_a = 1,
          "The relinearised ciphertext, from sums of such digits times those of the key, (limbs, transform length).");
  l.def(
      "digits",
      [](const Context& context, const Ciphertext& c, unsigned threads) {
        const Parameters& params = context.params();
        return digit_words(params.digits(c.level + 1), params.degree(),
                           [&](std::span<std::uint16_t> dst) { shifted_digits(dst, context, c, threads); });
      },
      "context"_a, "ciphertext"_a, "threads"_a = 1, "What `KeyParts.digits` gives, of which no key is needed.");
  l.def("ciphertext", &from_words, "context"_a, "words"_a, "key_id"_a, "level"_a, "degree"_a, "lag"_a, "noise"_a,
        "A ciphertext as another process had it: its `words`, and what is said of them.");
}

}  // namespace bindings
