// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// RLWE over one small ring: secrets, ciphertexts, substitution. For devices, and for tests of what they compute.
#include <variant>

#include "bindings.hpp"
#include "ringforge/fhew/rlwe.hpp"
#include "ringforge/threads.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::fhew;
template <class W>
using Polys = nb::ndarray<const W, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class W>
using Ciphertexts = nb::ndarray<const W, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class W>
using Room = nb::ndarray<W, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

bool narrow(u64 modulus) noexcept { return modulus < u64{1} << 31; }

// A secret with the randomness that its encryptions and keys draw from.
struct Secret {
  std::variant<RingSecret<u32>, RingSecret<u64>> key;
  Randomness rng;
};

using AnySecret = std::variant<RingSecret<u32>, RingSecret<u64>>;
AnySecret make_secret(u64 modulus, unsigned log_n, Randomness& rng) {
  if (narrow(modulus)) return RingSecret<u32>(SmallRing<u32>::get(modulus, log_n), rng);
  return RingSecret<u64>(SmallRing<u64>::get(modulus, log_n), rng);
}

template <class W>
const RingSecret<W>& secret_of(const Secret& s) {
  const auto* key = std::get_if<RingSecret<W>>(&s.key);
  if (key == nullptr)
    throw ShapeError("arrays of " + std::to_string(8 * sizeof(W)) +
                     " bits; moduli below 2^31 take uint32, the others uint64");
  return *key;
}

template <class W>
void check_residues(const W* data, std::size_t count, W q) {
  for (std::size_t i = 0; i < count; ++i)
    if (data[i] >= q) throw ValueError("coefficient " + std::to_string(data[i]) + " is not below " + std::to_string(q));
}

template <class T, std::size_t D, class V = std::vector<std::remove_const_t<T>>>
nb::ndarray<nb::numpy, T, nb::ndim<D>> owned(V&& data, const std::array<std::size_t, D>& shape) {
  auto* kept = new V(std::move(data));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<V*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<D>>(kept->data(), D, shape.data(), owner);
}

struct SubstitutionKey {
  u64 modulus;
  unsigned log_n;
  u32 element;
  Cut cut;
  std::variant<WordArray<u32>, WordArray<u64>> rows;
};

SubstitutionKey make_key(Secret& s, u32 element, const Cut& cut) {
  return std::visit(
      [&]<class W>(const RingSecret<W>& key) {
        const auto& ring = key.ring();
        if (element % 2 == 0 || element >= 2 * ring.n())
          throw ParameterError("element " + std::to_string(element) +
                               " is not odd and below 2N = " + std::to_string(2 * ring.n()));
        check_cut(cut, ring.q(), "gadget of a substitution key");
        WordArray<W> rows(cut.count * 2 * ring.n());
        const Seed seed = s.rng.next_seed();
        const SecretSeed errors = s.rng.next_seed();
        encrypt_substitution_key(rows.data(), key, element, cut, seed, 0, errors);
        return SubstitutionKey{ring.q(), ring.log_n(), element, cut, std::move(rows)};
      },
      s.key);
}

template <class W>
void bind_words(nb::class_<Secret>& secret, nb::class_<SubstitutionKey>& key) {
  secret.def(
      "encrypt",
      [](Secret& s, const Polys<W>& messages) {
        const RingSecret<W>& k = secret_of<W>(s);
        const auto& ring = k.ring();
        const std::size_t count = messages.shape(0), n = ring.n();
        if (messages.shape(1) != n)
          throw ShapeError("messages of " + std::to_string(messages.shape(1)) + " coefficients; the ring has " +
                           std::to_string(n));
        std::vector<W> out(count * 2 * n);
        unlocked([&] {
          check_residues<W>(messages.data(), count * n, ring.q());
          const Seed seed = s.rng.next_seed();
          const SecretSeed errors = s.rng.next_seed();
          WordArray<W> message(n), row(2 * n);
          for (std::size_t c = 0; c < count; ++c) {
            std::copy_n(messages.data() + c * n, n, message.data());
            ring.forward(message.data(), message.data());
            k.encrypt_row(row.data(), message.data(), seed, static_cast<u32>(c), errors);
            ring.inverse(row.data(), row.data());
            ring.inverse(row.data() + n, row.data() + n);
            std::copy_n(row.data(), 2 * n, out.data() + c * 2 * n);
          }
          message.wipe();
        });
        return owned<W, 3>(std::move(out), {count, 2, n});
      },
      "messages"_a, "Ciphertexts (m, 2, N) of polynomials (m, N), coefficients modulo Q.");
  secret.def(
      "phase",
      [](const Secret& s, const Ciphertexts<W>& ciphertexts) {
        const RingSecret<W>& k = secret_of<W>(s);
        const auto& ring = k.ring();
        const std::size_t count = ciphertexts.shape(0), n = ring.n();
        if (ciphertexts.shape(1) != 2 || ciphertexts.shape(2) != n)
          throw ShapeError("ciphertexts are (m, 2, " + std::to_string(n) + ")");
        std::vector<i64> out(count * n);
        unlocked([&] {
          check_residues<W>(ciphertexts.data(), count * 2 * n, ring.q());
          WordArray<W> row(2 * n), phase(n);
          for (std::size_t c = 0; c < count; ++c) {
            std::copy_n(ciphertexts.data() + c * 2 * n, 2 * n, row.data());
            ring.forward(row.data(), row.data());
            ring.forward(row.data() + n, row.data() + n);
            k.phase(phase.data(), row.data());
            for (std::size_t i = 0; i < n; ++i) out[c * n + i] = ring.centre(phase.data()[i]);
          }
        });
        return owned<i64, 2>(std::move(out), {count, n});
      },
      "ciphertexts"_a, "b - a*s of ciphertexts (m, 2, N), centred: (m, N).");
  key.def(
      "substitute",
      [](const SubstitutionKey& k, const Room<W>& ciphertexts, unsigned threads) {
        const auto* rows = std::get_if<WordArray<W>>(&k.rows);
        const std::size_t n = std::size_t{1} << k.log_n;
        if (rows == nullptr || ciphertexts.shape(1) != 2 || ciphertexts.shape(2) != n ||
            reinterpret_cast<std::uintptr_t>(ciphertexts.data()) % 64 != 0)
          throw ShapeError("ciphertexts are (m, 2, " + std::to_string(n) + ") words of " +
                           (narrow(k.modulus) ? "32" : "64") + " bits, aligned to 64 bytes");
        const std::size_t count = ciphertexts.shape(0);
        W* data = ciphertexts.data();
        nb::gil_scoped_release release;
        check_residues<W>(data, count * 2 * n, static_cast<W>(k.modulus));
        const auto ring = SmallRing<W>::get(k.modulus, k.log_n);
        parallel_for(threads, count, [&](std::size_t c) {
          Workspace<W> w(n, k.cut.count);
          substitute(data + c * 2 * n, data + c * 2 * n, k.element, rows->data(), k.cut, *ring, w);
        });
      },
      "ciphertexts"_a, "threads"_a = 1, "X -> X^element of ciphertexts (m, 2, N), in place.");
}

}  // namespace

void bind_rlwe(nb::module_& fhew) {
  nb::class_<Secret> secret(fhew, "RingSecret", "A ternary secret of the ring modulo a prime Q = 1 mod 2N.");
  secret.def(
      "__init__",
      [](Secret* self, u64 modulus, unsigned log_n, const std::optional<TestSeed>& seed) {
        Randomness rng = randomness(seed);
        auto key = make_secret(modulus, log_n, rng);
        new (self) Secret{std::move(key), std::move(rng)};
      },
      "modulus"_a, "log_n"_a, "fixed_seed_for_tests"_a = nb::none(), GilReleased(), "A fresh one.");

  nb::class_<SubstitutionKey> key(fhew, "SubstitutionKey", "What the substitution X -> X^element needs.");
  key.def_static("make", &make_key, "secret"_a, "element"_a, "cut"_a, GilReleased())
      .def_ro("modulus", &SubstitutionKey::modulus)
      .def_ro("log_n", &SubstitutionKey::log_n)
      .def_ro("element", &SubstitutionKey::element)
      .def_ro("cut", &SubstitutionKey::cut)
      .def_prop_ro(
          "bytes",
          [](const SubstitutionKey& k) { return std::visit([](const auto& rows) { return rows.bytes(); }, k.rows); })
      .def(
          "rows",
          [](const SubstitutionKey& k) {
            return std::visit(
                [&]<class W>(const WordArray<W>& rows) {
                  const std::size_t n = std::size_t{1} << k.log_n;
                  std::vector<W> copy(rows.data(), rows.data() + k.cut.count * 2 * n);
                  return nb::cast(owned<const W, 3>(std::move(copy), {k.cut.count, 2, n}));
                },
                k.rows);
          },
          nb::sig("def rows(self) -> numpy.typing.NDArray[numpy.unsignedinteger]"),
          "RLWE'(s(X^element)): rows (d, 2, N), a then b, in Eval form, read-only.");
  bind_words<u32>(secret, key);
  bind_words<u64>(secret, key);
}

}  // namespace bindings
