// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_signal.hpp"

#include <memory>

#include "bindings.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::omr;

using Residues = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteRows = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewRows = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

/// A new array of rows, and where it lies.
template <class T>
std::pair<NewRows<T>, T*> new_rows(std::size_t count, std::size_t width) {
  auto data = std::make_unique<T[]>(count * width);
  T* first = data.get();
  nb::capsule owner(first, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  data.release();
  return {NewRows<T>(first, {count, width}, owner), first};
}

/// Checks what others have made: shapes, and residues below q.
std::size_t check_signals(const SignalParameters& p, const Residues& a, const Residues& b) {
  if (a.shape(1) != p.n() || b.shape(1) != p.clues || a.shape(0) != b.shape(0))
    throw ShapeError("signals are " + std::to_string(p.n()) + " and " + std::to_string(p.clues) +
                     " words for each, these have " + std::to_string(a.shape(0)) + " x " + std::to_string(a.shape(1)) +
                     " and " + std::to_string(b.shape(0)) + " x " + std::to_string(b.shape(1)));
  require_residues({a.data(), a.size()}, p.q, "a signal");
  require_residues({b.data(), b.size()}, p.q, "a signal");
  return a.shape(0);
}

Seed seed_of(const nb::bytes& bytes) {
  Seed seed;
  if (bytes.size() != seed.size()) throw ShapeError("a seed has 32 bytes, not " + std::to_string(bytes.size()));
  std::memcpy(seed.data(), bytes.c_str(), seed.size());
  return seed;
}

}  // namespace

void bind_omr_signal(nb::module_& m) {
  auto s = m.def_submodule("omr", "Oblivious message retrieval: signals and what detects them.");

  nb::class_<SignalParameters>(s, "SignalParameters", "What fixes signals; a prime q, secrets of a weight, errors.")
      .def_static("make", &SignalParameters::make, "log_n"_a, "q"_a, "clues"_a, "weight"_a, "deviation"_a, "discrete"_a,
                  GilReleased())
      .def_ro("log_n", &SignalParameters::log_n)
      .def_ro("q", &SignalParameters::q)
      .def_ro("clues", &SignalParameters::clues)
      .def_ro("weight", &SignalParameters::weight)
      .def_ro("tails", &SignalParameters::tails, "2^63 times the probability of an error of size k = 1, 2, ... or more")
      .def_prop_ro("packed", &SignalParameters::packed, "bytes of a packed signal");

  nb::class_<SignalKey>(s, "SignalKey", "A receiver's public key: a seed and n residues.")
      .def(
          "__init__",
          [](SignalKey* self, const SignalParameters& p, const nb::bytes& seed, const Row& b) {
            new (self) SignalKey(p, seed_of(seed), std::vector<u32>(b.data(), b.data() + b.size()));
          },
          "parameters"_a, "seed"_a, "b"_a)
      .def_prop_ro("seed", [](const SignalKey& k) { return nb::bytes(k.seed().data(), k.seed().size()); })
      .def("b", [](const SignalKey& k) { return to_numpy(k.b().data(), k.b().size()); })
      .def(
          "signals",
          [](const SignalKey& k, std::size_t count, unsigned threads, const std::optional<TestSeed>& seed) {
            if (count > std::size_t{1} << 20)
              throw ParameterError(std::to_string(count) + " signals at once: take at most 2^20");
            const auto [a, a_data] = new_rows<std::uint32_t>(count, k.parameters().n());
            const auto [b, b_data] = new_rows<std::uint32_t>(count, k.parameters().clues);
            const Randomness rng = randomness(seed);
            unlocked([&, to_a = a_data, to_b = b_data] {
              k.signals(to_a, to_b, count, rng, threads);
              return 0;
            });
            return std::pair(a, b);
          },
          "count"_a, "threads"_a = 1, "fixed_seed_for_tests"_a = nb::none(),
          "Words uint32[count, n] and uint32[count, clues].");

  nb::class_<SignalSecret>(s, "SignalSecret", "A receiver's secret; 32 bytes hold it.")
      .def(
          "__init__",
          [](SignalSecret* self, const SignalParameters& p, const std::optional<TestSeed>& seed) {
            new (self) SignalSecret(SignalSecret::make(p, randomness(seed)));
          },
          "parameters"_a, "fixed_seed_for_tests"_a = nb::none())
      .def_static(
          "from_bytes",
          [](const SignalParameters& p, const nb::bytes& bytes) {
            if (bytes.size() != sizeof(Seed))
              throw FormatError("a secret of signals has 32 bytes, not " + std::to_string(bytes.size()));
            SecretSeed seed;
            std::memcpy(seed.data(), bytes.c_str(), sizeof(Seed));
            return SignalSecret(p, std::move(seed));
          },
          "parameters"_a, "data"_a)
      .def("secret_bytes", [](const SignalSecret& k) { return nb::bytes(k.seed().data(), k.seed().size()); })
      .def("coefficients",
           [](const SignalSecret& k) { return to_numpy(k.coefficients().data(), k.coefficients().size()); })
      .def("key", &SignalSecret::key, GilReleased())
      .def(
          "errors",
          [](const SignalSecret& k, const Residues& a, const Residues& b, unsigned threads) {
            const std::size_t count = check_signals(k.parameters(), a, b);
            const auto [out, data] = new_rows<std::int32_t>(count, k.parameters().clues);
            unlocked([&, to = data] {
              k.errors(to, a.data(), b.data(), count, threads);
              return 0;
            });
            return out;
          },
          "a"_a, "b"_a, "threads"_a = 1);

  s.def(
      "pack_signals",
      [](const SignalParameters& p, const Residues& a, const Residues& b, unsigned threads) {
        const std::size_t count = check_signals(p, a, b);
        const auto [out, data] = new_rows<std::uint8_t>(count, p.packed());
        unlocked([&, to = data] {
          pack_signals(to, p, a.data(), b.data(), count, threads);
          return 0;
        });
        return out;
      },
      "parameters"_a, "a"_a, "b"_a, "threads"_a = 1);
  s.def(
      "unpack_signals",
      [](const SignalParameters& p, const ByteRows& rows, unsigned threads) {
        if (rows.shape(1) != p.packed())
          throw FormatError("a signal has " + std::to_string(p.packed()) + " bytes, these have " +
                            std::to_string(rows.shape(1)));
        const std::size_t count = rows.shape(0);
        const auto [a, a_data] = new_rows<std::uint32_t>(count, p.n());
        const auto [b, b_data] = new_rows<std::uint32_t>(count, p.clues);
        unlocked([&, to_a = a_data, to_b = b_data] {
          unpack_signals(to_a, to_b, p, rows.data(), count, threads);
          return 0;
        });
        return std::pair(a, b);
      },
      "parameters"_a, "rows"_a, "threads"_a = 1);
  s.def(
      "count_hits",
      [](const SignalParameters& p, const Residues& a, const Residues& b, u32 range, u32 trials, unsigned threads,
         const std::optional<TestSeed>& seed, u32 enough) {
        const std::size_t count = check_signals(p, a, b);
        std::vector<u32> hits(count);
        const Randomness rng = randomness(seed);
        unlocked([&] {
          count_hits(hits.data(), p, a.data(), b.data(), count, range, trials, rng, threads, enough);
          return 0;
        });
        return to_numpy(hits.data(), hits.size());
      },
      "parameters"_a, "a"_a, "b"_a, "range"_a, "trials"_a, "threads"_a = 1, "fixed_seed_for_tests"_a = nb::none(),
      "enough"_a = ~u32{0});
}

}  // namespace bindings
