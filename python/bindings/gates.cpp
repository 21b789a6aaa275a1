// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Boolean gates: parameters, keys, levels of gates.
#include <fstream>
#include <mutex>

#include "bindings.hpp"
#include "progress.hpp"
#include "ringforge/fhew/gates.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::fhew;
using Bits = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cells = nb::ndarray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Wires = nb::ndarray<u32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> matrix(std::vector<T>&& data, std::size_t rows, std::size_t cols) {
  auto* kept = new std::vector<T>(std::move(data));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<2>>(kept->data(), {rows, cols}, owner);
}

void check_width(const GateParameters& p, std::size_t width) {
  if (width != p.n + 1)
    throw ShapeError("ciphertexts of " + std::to_string(width) + " words; those of " + p.name + " have " +
                     std::to_string(p.n + 1));
}

template <class W>
void check_residues(const GateParameters& p, const W* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (data[i] >= p.modulus) throw ValueError("coefficient " + std::to_string(data[i]) + " is not below Q");
}

GateKind gate_kind(unsigned kind) {
  if (kind >= kGateKinds)
    throw ParameterError("there is no kind " + std::to_string(kind) + " of gates; there are " +
                         std::to_string(kGateKinds));
  return static_cast<GateKind>(kind);
}

// Memory of the caller as an array, for a call to Python.
template <class T, std::size_t D>
nb::object borrowed(T* data, const std::array<std::size_t, D>& shape) {
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<D>>(data, D, shape.data(), nb::handle()),
                  nb::rv_policy::reference);
}

// Blind rotations by Python: rotate(accumulators, exponents), arrays that live during the call.
using RotateCallback = std::optional<std::function<void(nb::object, nb::object)>>;
Rotator with_gil(const RotateCallback& callback, const GateParameters& p) {
  if (!callback) return {};
  return [&callback, &p](void* accumulators, const u32* exponents, std::size_t count) {
    const nb::gil_scoped_acquire lock;
    const std::array<std::size_t, 3> shape{count, 2, p.degree()};
    nb::object accs = p.modulus < u64{1} << 31 ? borrowed(static_cast<u32*>(accumulators), shape)
                                               : borrowed(static_cast<u64*>(accumulators), shape);
    (*callback)(std::move(accs), borrowed(exponents, std::array<std::size_t, 2>{count, std::size_t{p.n} + 1}));
  };
}

// A secret key with the randomness that its encryptions draw from.
struct SecretKey {
  GateSecretKey key;
  Randomness rng;
};

}  // namespace

void bind_gates(nb::module_& m) {
  auto g = m.def_submodule("fhew", "Boolean gates on encrypted bits.");

  nb::enum_<Method>(g, "Method", "The accumulator of the blind rotation.")
      .value("AP", Method::ap)
      .value("GINX", Method::ginx)
      .value("AUTOMORPHISM", Method::automorphism);

  nb::class_<Cut>(g, "Cut", "How residues are cut into digits of base 2^log_base above 2^drop.")
      .def(
          "__init__",
          [](Cut* self, unsigned log_base, unsigned count, unsigned drop, bool balanced) {
            new (self) Cut{log_base, count, drop, balanced};
          },
          "log_base"_a, "count"_a, "drop"_a = 0, "balanced"_a = true)
      .def_ro("log_base", &Cut::log_base)
      .def_ro("count", &Cut::count)
      .def_ro("drop", &Cut::drop)
      .def_ro("balanced", &Cut::balanced)
      .def(
          "__eq__", [](const Cut& a, const Cut& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](const Cut& c) {
        return "Cut(log_base=" + std::to_string(c.log_base) + ", count=" + std::to_string(c.count) +
               ", drop=" + std::to_string(c.drop) + ", balanced=" + (c.balanced ? "True" : "False") + ")";
      });

  nb::class_<GateParameters>(g, "GateParameters", "Parameters of boolean gates.")
      .def_ro("name", &GateParameters::name)
      .def_ro("insecure", &GateParameters::insecure)
      .def_ro("about", &GateParameters::about)
      .def_ro("n", &GateParameters::n)
      .def_ro("log_q", &GateParameters::log_q)
      .def_ro("log_n", &GateParameters::log_n)
      .def_ro("modulus", &GateParameters::modulus)
      .def_ro("a", &GateParameters::a)
      .def_ro("b", &GateParameters::b)
      .def_ro("automorphism", &GateParameters::automorphism)
      .def_ro("window", &GateParameters::window)
      .def_ro("ap_base", &GateParameters::ap_base)
      .def_prop_ro("ternary", [](const GateParameters& p) { return p.lwe_secret == LweSecret::ternary; })
      .def_prop_ro("rotation_modulus", &GateParameters::rotation_modulus)
      .def_prop_ro("ap_digits", &GateParameters::ap_digits)
      .def_prop_ro("word_bits", [](const GateParameters& p) { return p.modulus < u64{1} << 31 ? 32 : 64; })
      .def_prop_ro("hash", [](const GateParameters& p) {
        const auto h = p.hash();
        return nb::bytes(reinterpret_cast<const char*>(h.data()), h.size());
      });
  g.def("parameters", &GateParameters::named, "name"_a, "insecure"_a = "", "A named set.");
  g.def("parameter_names", &GateParameters::names);
  g.def(
      "bootstraps", [](unsigned kind) { return bootstraps(gate_kind(kind)); }, "kind"_a, "Blind rotations of a gate.");
  g.def("arity", [](unsigned kind) { return arity(gate_kind(kind)); }, "kind"_a, "Inputs of a gate.");
  g.def("kind_names", [] {
    std::vector<std::string> names;
    for (unsigned k = 0; k < kGateKinds; ++k) names.emplace_back(name(static_cast<GateKind>(k)));
    return names;
  });

  nb::class_<SecretKey>(g, "SecretKey", "The client's key of boolean gates.")
      .def(
          "__init__",
          [](SecretKey* self, const GateParameters& p, const std::optional<TestSeed>& seed) {
            Randomness rng = randomness(seed);
            GateSecretKey key(p, rng);
            new (self) SecretKey{std::move(key), std::move(rng)};
          },
          "params"_a, "fixed_seed_for_tests"_a = nb::none(), GilReleased(), "A fresh key.")
      .def_prop_ro("params", [](const SecretKey& s) { return s.key.params(); })
      .def(
          "encrypt",
          [](SecretKey& s, const Bits& bits) {
            const std::size_t words = s.key.params().n + 1;
            std::vector<u32> out(bits.size() * words);
            unlocked([&] { s.key.encrypt(out.data(), bits.data(), bits.size(), s.rng); });
            return matrix(std::move(out), bits.size(), words);
          },
          "bits"_a, "Ciphertexts of bits, one row of n + 1 words each.")
      .def(
          "decrypt",
          [](const SecretKey& s, const Cells& c) {
            check_width(s.key.params(), c.shape(1));
            std::vector<std::uint8_t> bits(c.shape(0));
            unlocked([&] { s.key.decrypt(bits.data(), c.data(), bits.size()); });
            return to_numpy(bits.data(), bits.size());
          },
          "ciphertexts"_a)
      .def(
          "errors",
          [](const SecretKey& s, const Cells& c, const Bits& bits) {
            check_width(s.key.params(), c.shape(1));
            if (bits.size() != c.shape(0)) throw ShapeError("one bit for each ciphertext");
            std::vector<double> e(c.shape(0));
            unlocked([&] { s.key.errors(e.data(), c.data(), bits.data(), e.size()); });
            return to_numpy(e.data(), e.size());
          },
          "ciphertexts"_a, "bits"_a, "Noise of ciphertexts whose bits are known, in units of 1/q.")
      .def_prop_ro(
          "key_id", [](const SecretKey& s) { return s.key.id(); },
          "Public, shared by all that belongs to this key; 0 for a key of format 1.")
      .def(
          "save",
          [](const SecretKey& s) {
            nb::bytearray bytes("", 0);
            bytes.resize(s.key.bytes());
            s.key.save(static_cast<std::uint8_t*>(bytes.data()));
            return bytes;
          },
          "The key as bytes, not encrypted: keep them from others, and overwrite them after use.")
      .def_static(
          "load",
          [](const GateParameters& p, const Bits& bytes) {
            return SecretKey{GateSecretKey::load({bytes.data(), bytes.size()}, p), Randomness()};
          },
          "params"_a, "data"_a,
          nb::sig("def load(params: GateParameters, data: bytes | bytearray | memoryview) -> SecretKey"));

  nb::class_<GateEvaluationKey>(g, "EvaluationKey", "What the server needs to run gates.")
      .def_static(
          "make",
          [](SecretKey& s, Method method, unsigned threads, const ProgressCallback& progress) {
            const auto report = with_gil(progress);
            nb::gil_scoped_release release;
            return GateEvaluationKey::make(s.key, method, s.rng, threads, report);
          },
          "secret"_a, "method"_a, "threads"_a = 1, "progress"_a = nb::none())
      .def_prop_ro("params", &GateEvaluationKey::params)
      .def_prop_ro("method", &GateEvaluationKey::method)
      .def_prop_ro("key_id", &GateEvaluationKey::id, "The secret key's.")
      .def_prop_ro("bootstrap_bytes", &GateEvaluationKey::bootstrap_bytes)
      .def_prop_ro("switch_bytes", &GateEvaluationKey::switch_bytes)
      .def_prop_ro("spectral_bytes", &GateEvaluationKey::spectral_bytes,
                   "Of the spectra that the first gate evaluated here makes of the bootstrapping key; 0 without.")
      .def_prop_ro(
          "bytes",
          [](const GateEvaluationKey& k) { return k.bootstrap_bytes() + k.switch_bytes() + k.spectral_bytes(); },
          "In memory, spectra included.")
      .def(
          "save",
          [](const GateEvaluationKey& k, const std::string& path) {
            std::ofstream out(path, std::ios::binary);
            if (!out) throw Error("cannot write " + path);
            k.save(out);
            out.close();
            if (!out) throw Error("writing " + path + " failed");
          },
          "path"_a, GilReleased())
      .def_static(
          "load",
          [](const std::string& path, const GateParameters& p, unsigned threads) {
            std::ifstream in(path, std::ios::binary);
            if (!in) throw Error("cannot read " + path);
            return GateEvaluationKey::load(in, p, threads);
          },
          "path"_a, "params"_a, "threads"_a = 1, GilReleased());

  g.def(
      "evaluate",
      [](const GateEvaluationKey& key, const Bits& kinds,
         const nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& inputs, const Wires& wires,
         const nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& outputs, unsigned threads,
         const ProgressCallback& progress, const RotateCallback& rotate) {
        check_width(key.params(), wires.shape(1));
        if (inputs.shape(0) != kinds.size() || inputs.shape(1) != 3 || outputs.size() != kinds.size())
          throw ShapeError("a level of g gates has g kinds, g x 3 inputs and g outputs");
        const GateLevel level{kinds.data(), inputs.data(), outputs.data(), kinds.size()};
        const auto report = with_gil(progress);
        const auto elsewhere = with_gil(rotate, key.params());
        nb::gil_scoped_release release;
        return evaluate(key, level, wires.data(), wires.shape(0), threads, report, elsewhere);
      },
      "key"_a, "kinds"_a, "inputs"_a, "wires"_a, "outputs"_a, "threads"_a = 1, "progress"_a = nb::none(),
      "rotate"_a = nb::none(),
      "Runs one level of gates in place on rows of `wires`; returns the blind rotations that it took, fewer than the "
      "gates have where inputs are equal, complementary or known. `rotate(accumulators, exponents)` runs blind "
      "rotations "
      "elsewhere: it turns (count, 2, N) accumulators in place, by exponents (count, n + 1), the last column unused.");
  g.def(
      "trace",
      [](const GateEvaluationKey& key, const SecretKey& secret, unsigned kind, const Cells& inputs) {
        check_width(key.params(), inputs.shape(1));
        if (inputs.shape(0) != 2) throw ShapeError("a traced gate has two inputs");
        const StageErrors e = trace(key, secret.key, gate_kind(kind), inputs.data(), inputs.data() + inputs.shape(1));
        return std::array<double, 3>{e.rounded, e.rotated, e.switched};
      },
      "key"_a, "secret"_a, "kind"_a, "inputs"_a, GilReleased(),
      "Noise of one gate at its stages: sum rounded (1/R), blind rotation (1/Q), result (1/q).");
  g.def(
      "rgsw_rows",
      [](const GateEvaluationKey& key,
         const nb::ndarray<const u32, nb::ndim<1>, nb::c_contig, nb::device::cpu>& indices) {
        const GateParameters& p = key.params();
        const auto copied = [&]<class W>(std::type_identity<W>) -> nb::object {
          const std::array<std::size_t, 4> shape{indices.size(), p.rows(), 2, p.degree()};
          auto* kept = new std::vector<W>(shape[0] * shape[1] * shape[2] * shape[3]);
          nb::capsule owner(kept, [](void* x) noexcept { delete static_cast<std::vector<W>*>(x); });
          unlocked([&] { export_rgsw(key, kept->data(), indices.data(), indices.size()); });
          return nb::cast(nb::ndarray<nb::numpy, const W, nb::ndim<4>>(kept->data(), 4, shape.data(), owner));
        };
        return p.modulus < u64{1} << 31 ? copied(std::type_identity<u32>{}) : copied(std::type_identity<u64>{});
      },
      "key"_a, "indices"_a,
      nb::sig("def rgsw_rows(key: EvaluationKey, indices: numpy.typing.NDArray[numpy.uint32]) -> "
              "numpy.typing.NDArray[numpy.unsignedinteger]"),
      "RGSW ciphertexts of the bootstrapping key, (count, rows, 2, N) in Eval form, read-only: rows for the digits of "
      "a, "
      "then of b, each a then b. Indices of a key of method ap are those of `accumulate`, v = 0 the gadget itself.");
  const auto chain = [&g]<class W>(std::type_identity<W>) {
    g.def(
        "accumulate",
        [](const GateEvaluationKey& key, nb::ndarray<W, nb::ndim<3>, nb::c_contig, nb::device::cpu> accumulators,
           const nb::ndarray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu>& indices, unsigned threads) {
          const GateParameters& p = key.params();
          if ((p.modulus < u64{1} << 31) != (sizeof(W) == 4) || accumulators.shape(0) != indices.shape(0) ||
              accumulators.shape(1) != 2 || accumulators.shape(2) != p.degree() ||
              reinterpret_cast<std::uintptr_t>(accumulators.data()) % 64 != 0)
            throw ShapeError("accumulators are (count, 2, N) words of " +
                             std::string(p.modulus < u64{1} << 31 ? "32" : "64") + " bits, aligned to 64 bytes");
          for (std::size_t i = 0; i < accumulators.size(); ++i)
            if (accumulators.data()[i] >= p.modulus)
              throw ValueError("coefficient " + std::to_string(accumulators.data()[i]) + " is not below Q");
          nb::gil_scoped_release release;
          check_residues(p, accumulators.data(), accumulators.size());
          accumulate(key, accumulators.data(), indices.shape(0), indices.data(), indices.shape(1), threads);
        },
        "key"_a, "accumulators"_a, "indices"_a, "threads"_a = 1,
        "The accumulation chain: each accumulator is multiplied by the RGSW ciphertexts of its row of indices.");
    g.def(
        "extract",
        [](const GateEvaluationKey& key,
           const nb::ndarray<const W, nb::ndim<3>, nb::c_contig, nb::device::cpu>& accumulators) {
          const GateParameters& p = key.params();
          const std::size_t count = accumulators.shape(0), words = std::size_t{2} * p.degree();
          if ((p.modulus < u64{1} << 31) != (sizeof(W) == 4) || accumulators.shape(1) != 2 ||
              accumulators.shape(2) != p.degree())
            throw ShapeError("accumulators are (count, 2, N) words of " +
                             std::string(p.modulus < u64{1} << 31 ? "32" : "64") + " bits");
          std::vector<u32> out(count * (p.n + 1));
          unlocked([&] {
            check_residues(p, accumulators.data(), count * words);
            extract(key, out.data(), accumulators.data(), count);
          });
          return matrix(std::move(out), count, p.n + 1);
        },
        "key"_a, "accumulators"_a, "The end of a gate: accumulators to ciphertexts of bits, one row each.");
  };
  chain(std::type_identity<u32>{});
  chain(std::type_identity<u64>{});
  bind_rlwe(g);
}

}  // namespace bindings
