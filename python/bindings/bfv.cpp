// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BFV, and integer matrices on it. Keys are those of the RLWE layer, which ckks.cpp binds.
#include <nanobind/operators.h>

#include "bindings.hpp"
#include "pair_views.hpp"
#include "progress.hpp"
#include "ringforge/bfv/bfv.hpp"
#include "ringforge/circuits/integer_matvec.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::bfv;
using circuits::IntegerMatvec;
using circuits::IntegerMatvecCost;

using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, u64, nb::ndim<1>> words(const std::vector<u64>& v) { return to_numpy<u64>(v.data(), v.size()); }

void bind_noise(nb::module_& b) {
  nb::class_<Noise>(b, "Noise", "What is known of a ciphertext's noise without the key.")
      .def(
          "__init__",
          [](Noise* self, double log_deviation, unsigned degree, unsigned reuse) {
            new (self) Noise{log_deviation, degree, reuse};
          },
          "log_deviation"_a, "degree"_a = 0, "reuse"_a = 0)
      .def_ro("log_deviation", &Noise::log_deviation, "log2 of a bound on the coefficients' deviation.")
      .def_ro("degree", &Noise::degree, "Highest power of the secret in it.")
      .def_ro("reuse", &Noise::reuse, "How often one ciphertext or plaintext can have been a factor of it.")
      .def(
          "__eq__",
          [](const Noise& a, const Noise& b) {
            return a.log_deviation == b.log_deviation && a.degree == b.degree && a.reuse == b.reuse;
          },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<NoiseRules>(b, "NoiseRules", "What operations do to noise; `limbs` are the operands'.")
      .def(nb::init<const Parameters&, unsigned>(), "params"_a, "security"_a = NoiseRules::kSecurity, GilReleased())
      .def_prop_ro_static(
          "TYPICAL", [](nb::handle) { return NoiseRules::kTypical; },
          "The security at which half of all keys are below.")
      .def_prop_ro("security", &NoiseRules::security, "A source of noise exceeds its share with 2^-security at most.")
      .def_prop_ro("deviations", &NoiseRules::deviations, "Largest coefficient, in deviations.")
      .def("bound_bits", &NoiseRules::bound_bits, "noise"_a, "log2 of a size that no coefficient exceeds.")
      .def("budget", &NoiseRules::budget, "noise"_a, "limbs"_a, "Bits left before decryption fails.")
      .def("encrypted", &NoiseRules::encrypted, "public_key"_a)
      .def("sum", &NoiseRules::sum, "a"_a, "b"_a)
      .def("independent_sum", &NoiseRules::independent_sum, "a"_a, "b"_a)
      .def("plain_sum", &NoiseRules::plain_sum, "a"_a)
      .def("constant_sum", &NoiseRules::constant_sum, "a"_a)
      .def("plain_product", &NoiseRules::plain_product, "a"_a, "log_norm"_a, "log_peak"_a)
      .def_prop_ro("random_norm", &NoiseRules::random_norm, "log_norm of a plaintext of random slots.")
      .def_prop_ro("random_peak", &NoiseRules::random_peak, "log_peak of a plaintext of random slots.")
      .def_prop_ro("largest_norm", &NoiseRules::largest_norm, "log_norm that no plaintext exceeds.")
      .def_prop_ro("largest_peak", &NoiseRules::largest_peak, "log_peak that no plaintext exceeds.")
      .def("constant_product", &NoiseRules::constant_product, "a"_a, "value"_a)
      .def(
          "combination",
          [](const NoiseRules& r, const std::vector<Noise>& terms, const std::vector<i64>& values) {
            return r.combination(terms, values);
          },
          "terms"_a, "values"_a)
      .def("product", &NoiseRules::product, "a"_a, "b"_a, "limbs"_a)
      .def("square", &NoiseRules::square, "a"_a, "limbs"_a)
      .def("switched", &NoiseRules::switched, "a"_a, "limbs"_a)
      .def("multiplied", &NoiseRules::multiplied, "a"_a, "b"_a, "limbs"_a)
      .def("mod_switched", &NoiseRules::mod_switched, "a"_a, "limbs"_a, "to"_a, "parts"_a = 2)
      .def("fewest_limbs", &NoiseRules::fewest_limbs, "a"_a, "limbs"_a, "loss"_a = 0.5,
           "The fewest limbs at which switching there costs at most `loss` bits of budget.");
}

void bind_context(nb::module_& b) {
  nb::class_<Parameters>(b, "Parameters", "A checked, immutable BFV parameter set.")
      .def(
          "__init__",
          [](Parameters* self, const std::string& name, unsigned log_n, u64 t, std::vector<u64> q, std::vector<u64> p,
             unsigned limbs_per_digit, const std::string& insecure) {
            new (self) Parameters({name, log_n, t, std::move(q), std::move(p), limbs_per_digit, insecure});
          },
          "name"_a, "log_n"_a, "t"_a, "q"_a, "p"_a, "limbs_per_digit"_a = 1, "insecure"_a = "", GilReleased())
      .def_static("named", &Parameters::named, "name"_a, "insecure"_a = "", GilReleased())
      .def_static("names", &Parameters::names)
      .def_prop_ro("name", [](const Parameters& p) { return p.spec().name; })
      .def_prop_ro("log_n", [](const Parameters& p) { return p.spec().log_n; })
      .def_prop_ro("t", &Parameters::t, "Plaintext modulus.")
      .def_prop_ro("q", [](const Parameters& p) { return p.spec().q; })
      .def_prop_ro("p", [](const Parameters& p) { return p.spec().p; })
      .def_prop_ro("limbs_per_digit", [](const Parameters& p) { return p.spec().limbs_per_digit; })
      .def_prop_ro("insecure", [](const Parameters& p) { return p.spec().insecure; })
      .def_prop_ro("degree", &Parameters::degree)
      .def_prop_ro("batching", &Parameters::batching, "Whether plaintexts have slots.")
      .def_prop_ro("row", &Parameters::row, "Slots of one of the two rows.")
      .def_prop_ro("max_limbs", &Parameters::max_limbs)
      .def_prop_ro("log_q", [](const Parameters& p) { return p.log_q(); })
      .def_prop_ro("log_qp", &Parameters::log_qp)
      .def_prop_ro("secure", &Parameters::secure)
      .def_prop_ro("hash",
                   [](const Parameters& p) {
                     return nb::bytes(reinterpret_cast<const char*>(p.hash().data()), p.hash().size());
                   })
      .def(
          "__eq__", [](const Parameters& a, const Parameters& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  b.def(
      "suggest",
      [](unsigned depth, u64 t, bool batching) {
        std::string why;
        Parameters p = suggest(depth, t, batching, &why);
        return std::pair(std::move(p), why);
      },
      "depth"_a, "t"_a, "batching"_a = true, GilReleased());

  nb::class_<Plaintext>(b, "Plaintext", "N coefficients modulo t.")
      .def_ro("t", &Plaintext::t)
      .def_prop_ro(
          "coefficients",
          [](const Plaintext& p) { return to_numpy<u64>(p.coefficients.data(), p.coefficients.size()); },
          nb::rv_policy::automatic);
  nb::class_<Multiplier>(b, "Multiplier", "A plaintext as a factor of ciphertexts.")
      .def_prop_ro("limbs", [](const Multiplier& m) { return m.poly.limbs(); })
      .def_ro("log_norm", &Multiplier::log_norm)
      .def_ro("log_peak", &Multiplier::log_peak);
  bind_polynomials(
      nb::class_<Ciphertext, Noise>(b, "Ciphertext", "An encrypted plaintext, with what is known of its noise."))
      .def_ro("t", &Ciphertext::t)
      .def_prop_ro("limbs", &Ciphertext::limbs)
      .def_prop_ro("noise", &Ciphertext::noise, nb::rv_policy::copy);

  nb::class_<Context>(b, "Context", "Everything derived from a parameter set.")
      .def(nb::new_([](const Parameters& p, unsigned security) { return std::make_shared<Context>(p, security); }),
           "params"_a, "security"_a = NoiseRules::kSecurity, GilReleased())
      .def(nb::new_([](const std::string& name) { return std::make_shared<Context>(Parameters::named(name)); }),
           "params"_a, GilReleased(), "Of a parameter set, or of a shipped one by name.")
      .def_prop_ro("params", &Context::params)
      .def_prop_ro("rules", &Context::rules)
      .def_prop_ro("gadget", [](const Context& c) { return c.gadget().shape(); })
      .def("rotation_element", &Context::rotation_element, "step"_a)
      .def_prop_ro("swap_element", &Context::swap_element)
      .def(
          "check_key",
          [](const Context& c, const rlwe::GaloisKeys& keys, u64 element, std::size_t limbs) {
            keys.at(element)->check(c.gadget(), limbs);
          },
          "keys"_a, "element"_a, "limbs"_a, GilReleased(),
          "Refuses a Galois key that is missing, of other parameters, or of fewer limbs.")
      .def(
          "encode",
          [](const Context& c, const Integers& v) {
            const nb::gil_scoped_release release;
            return c.encode(std::span(v.data(), v.size()));
          },
          "values"_a, "Slots: row 0, then row 1; what is not given is 0.")
      .def(
          "decode", [](const Context& c, const Plaintext& p) { return words(unlocked([&] { return c.decode(p); })); },
          "plaintext"_a, "All slots, in [0, t).")
      .def(
          "encode_coefficients",
          [](const Context& c, const Integers& v) {
            const nb::gil_scoped_release release;
            return c.encode_coefficients(std::span(v.data(), v.size()));
          },
          "values"_a)
      .def("constant", &Context::constant, "value"_a, "The same integer modulo t in every slot.")
      .def("multiplier", &Context::multiplier, "plaintext"_a, "limbs"_a = nb::none(), "threads"_a = 1, GilReleased());
}

void bind_parties(nb::module_& b) {
  bind_key_generation<Context>(nb::class_<Client>(b, "Client", "Key generation, encryption, decryption."), "limbs")
      .def("encrypt",
           nb::overload_cast<const Plaintext&, const SecretKey&, std::optional<std::size_t>>(&Client::encrypt),
           "plaintext"_a, "key"_a, "limbs"_a = nb::none(), GilReleased())
      .def("encrypt",
           nb::overload_cast<const Plaintext&, const PublicKey&, std::optional<std::size_t>>(&Client::encrypt),
           "plaintext"_a, "key"_a, "limbs"_a = nb::none(), GilReleased())
      .def("decrypt", &Client::decrypt, "ciphertext"_a, "secret_key"_a, "threads"_a = 1, "anyway"_a = false,
           GilReleased())
      .def("decrypt_to_share", &Client::decrypt_to_share, "ciphertext"_a, "secret_key"_a, "share_bits"_a,
           "queries"_a = 1, "noise"_a = nb::none(), GilReleased())
      .def(
          "measure",
          [](const Client& c, const Ciphertext& x, const SecretKey& sk) {
            const auto m = c.measure(x, sk);
            return std::pair(m.largest, m.deviation);
          },
          "ciphertext"_a, "secret_key"_a, GilReleased(),
          "log2 of the noise's largest coefficient, and of its root mean square.")
      .def("noise_budget", &Client::noise_budget, "ciphertext"_a, "secret_key"_a, GilReleased());

  nb::class_<Evaluator>(b, "Evaluator", "Operations on ciphertexts.")
      .def(
          "__init__",
          [](Evaluator* self, std::shared_ptr<Context> ctx, unsigned threads) { new (self) Evaluator(ctx, threads); },
          "context"_a, "threads"_a = 1, GilReleased())
      .def("budget", &Evaluator::budget, "a"_a, "Predicted noise budget in bits, without the key.")
      .def("add", &Evaluator::add, "a"_a, "b"_a, GilReleased())
      .def("sub", &Evaluator::sub, "a"_a, "b"_a, GilReleased())
      .def("negate", &Evaluator::negate, "a"_a, GilReleased())
      .def("add_plain", &Evaluator::add_plain, "a"_a, "plaintext"_a, GilReleased())
      .def("sub_plain", &Evaluator::sub_plain, "a"_a, "plaintext"_a, GilReleased())
      .def("add_constant", &Evaluator::add_constant, "a"_a, "value"_a, GilReleased())
      .def("mul_plain", nb::overload_cast<const Ciphertext&, const Plaintext&>(&Evaluator::mul_plain, nb::const_),
           "a"_a, "plaintext"_a, GilReleased())
      .def("mul_plain", nb::overload_cast<const Ciphertext&, const Multiplier&>(&Evaluator::mul_plain, nb::const_),
           "a"_a, "multiplier"_a, GilReleased())
      .def("mul_constant", &Evaluator::mul_constant, "a"_a, "value"_a, GilReleased())
      .def(
          "combine",
          [](const Evaluator& e, const std::vector<const Ciphertext*>& terms, const std::vector<i64>& values) {
            for (const auto* c : terms)
              if (c == nullptr) throw ShapeError("a term of a combination is None");
            return unlocked([&] { return e.combine(terms, values); });
          },
          "terms"_a, "values"_a, "Sum of values[i] * terms[i], integers modulo t.")
      .def("mul", &Evaluator::mul, "a"_a, "b"_a, GilReleased())
      .def("square", &Evaluator::square, "a"_a, GilReleased())
      .def("relinearize", &Evaluator::relinearize, "a"_a, "key"_a, GilReleased())
      .def("rotate_rows", &Evaluator::rotate_rows, "a"_a, "step"_a, "keys"_a, GilReleased())
      .def("swap_rows", &Evaluator::swap_rows, "a"_a, "keys"_a, GilReleased())
      .def("apply_galois", &Evaluator::apply_galois, "a"_a, "element"_a, "keys"_a, GilReleased())
      .def(
          "rotate_hoisted",
          [](const Evaluator& e, const Ciphertext& a, const std::vector<i64>& steps, const GaloisKeys& keys) {
            return e.rotate_hoisted(a, steps, keys);
          },
          "a"_a, "steps"_a, "keys"_a, GilReleased())
      .def("mod_switch_to", &Evaluator::mod_switch_to, "a"_a, "limbs"_a, GilReleased());
}

void bind_integer_matvec(nb::module_& b) {
  nb::class_<IntegerMatvecCost>(b, "IntegerMatvecCost",
                                "What an integer matrix times a vector costs, in operations and bytes.")
      .def_ro("ops", &IntegerMatvecCost::ops)
      .def_ro("keys", &IntegerMatvecCost::keys)
      .def_ro("key_storage", &IntegerMatvecCost::key_storage)
      .def_ro("plaintext_storage", &IntegerMatvecCost::plaintext_storage)
      .def_ro("working", &IntegerMatvecCost::working)
      .def_ro("weight", &IntegerMatvecCost::weight);
  nb::class_<IntegerMatvec>(b, "IntegerMatvec", "An integer matrix, encoded for one plan and number of limbs.")
      .def(
          "__init__",
          [](IntegerMatvec* self, std::shared_ptr<Context> ctx, std::size_t rows, const linear::Plan& plan,
             std::size_t limbs) { new (self) IntegerMatvec(ctx, rows, plan, limbs); },
          "context"_a, "rows"_a, "plan"_a, "limbs"_a, GilReleased())
      .def(
          "encode",
          [](IntegerMatvec& self, const Matrix& matrix, const Integers& bias, bool compact, unsigned threads,
             const ProgressCallback& progress) {
            if (matrix.shape(0) != self.rows() || matrix.shape(1) != self.plan().packing().cols())
              throw ShapeError("the matrix is " + std::to_string(matrix.shape(0)) + " x " +
                               std::to_string(matrix.shape(1)) + ", the plan is for " + std::to_string(self.rows()) +
                               " x " + std::to_string(self.plan().packing().cols()));
            const auto report = with_gil(progress);
            const nb::gil_scoped_release release;
            self.encode(std::span(matrix.data(), matrix.size()), std::span(bias.data(), bias.size()), compact, threads,
                        report);
          },
          "matrix"_a, "bias"_a, "compact"_a = false, "threads"_a = 1, "progress"_a = nb::none())
      .def(
          "run",
          [](const IntegerMatvec& self, const std::vector<Ciphertext>& inputs, const GaloisKeys& keys,
             unsigned threads) { return self.run(inputs, keys, threads); },
          "inputs"_a, "keys"_a, "threads"_a = 1, GilReleased())
      .def(
          "check_inputs",
          [](const IntegerMatvec& self, const std::vector<Ciphertext>& inputs) { self.check_inputs(inputs); },
          "inputs"_a, GilReleased(), "Raises what `run` would raise for these inputs.")
      .def(
          "assemble",
          [](const IntegerMatvec& self, const std::vector<Ciphertext>& inputs,
             const std::vector<std::vector<std::vector<Words>>>& parts) {
            const PairViews views = pair_views(parts);
            return unlocked([&] { return self.assemble(inputs, views); });
          },
          "inputs"_a, "parts"_a,
          "Ciphertexts from residues that another machine computed: parts[row block][part][limb].")
      .def(
          "diagonal_limb",
          [](const IntegerMatvec& self, std::size_t row_block, std::size_t block, std::size_t index, std::size_t limb) {
            const std::size_t degree = 2 * self.plan().packing().slots();
            auto* words = new u64[degree];
            nb::capsule owner(words, [](void* p) noexcept { delete[] static_cast<u64*>(p); });
            unlocked([&] { self.copy_diagonal(row_block, block, index, limb, {words, degree}); });
            return nb::ndarray<nb::numpy, u64, nb::ndim<1>>(words, {degree}, owner);
          },
          "row_block"_a, "block"_a, "index"_a, "limb"_a, "One limb of an encoded diagonal: of Q, then of P.")
      .def(
          "bias_limb",
          [](const IntegerMatvec& self, std::size_t row_block, std::size_t limb) {
            const auto words = self.bias_limb(row_block, limb);
            return to_numpy<u64>(words.data(), words.size());
          },
          "row_block"_a, "limb"_a, "One limb of the encoded bias of a row block.")
      .def_prop_ro("has_bias", &IntegerMatvec::has_bias)
      .def("describe", &IntegerMatvec::describe, "input"_a, "Predicted noise of results; nothing needs to be encoded.")
      .def("cost", &IntegerMatvec::cost, "compact"_a = false, GilReleased())
      .def_prop_ro("elements", &IntegerMatvec::elements, "Galois elements that need a key.")
      .def_prop_ro("storage", &IntegerMatvec::storage);
}

}  // namespace

void bind_bfv(nb::module_& m) {
  auto b = m.def_submodule("bfv", "The BFV scheme: exact integers modulo t.");
  bind_noise(b);
  bind_context(b);
  bind_parties(b);
  bind_integer_matvec(b);
}

}  // namespace bindings
