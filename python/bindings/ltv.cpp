// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LTV, which is broken at its parameters: ringforge/ltv/params.hpp.
#include "ringforge/ltv/batch.hpp"

#include <nanobind/operators.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "word_arrays.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::ltv;

using BitArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint8_t> span(const BitArray& bits) { return {bits.data(), bits.size()}; }

PolyBasis basis_named(const std::string& name) {
  if (name == "power") return PolyBasis::power;
  if (name == "tensor") return PolyBasis::tensor;
  throw ParameterError("there is no basis \"" + name + "\": choose power or tensor");
}

void bind_parameters(nb::module_& l) {
  nb::class_<Parameters>(l, "Parameters", "A checked, immutable LTV parameter set: broken, each with a reason.")
      .def(
          "__init__",
          [](Parameters* self, u64 m, std::vector<u64> q, const std::string& insecure, unsigned drop,
             const std::string& gadget, unsigned window, const std::string& name, const std::string& ring) {
            new (self)
                Parameters({name, m, std::move(q), drop, gadget_named(gadget), window, insecure, ring_named(ring)});
          },
          "m"_a, "q"_a, nb::kw_only(), "insecure"_a, "drop"_a = 1, "gadget"_a = "windows", "window"_a = 16,
          "name"_a = "", "ring"_a = "padded")
      .def_static("named", &Parameters::named, "name"_a, "insecure"_a)
      .def_static("names", &Parameters::names)
      .def_prop_ro("name", [](const Parameters& p) { return p.spec().name; })
      .def_prop_ro(
          "m", [](const Parameters& p) { return p.spec().m; }, "Index of the ring Z[X]/Phi_m.")
      .def_prop_ro(
          "q", [](const Parameters& p) { return p.spec().q; }, "Primes, the last dropped first.")
      .def_prop_ro(
          "drop", [](const Parameters& p) { return p.spec().drop; }, "Primes from a level to the next.")
      .def_prop_ro(
          "ring", [](const Parameters& p) { return std::string(ring_name(p.spec().kind)); },
          "How the ring is represented: padded (coefficients of powers of X) or tensor.")
      .def_prop_ro("gadget", [](const Parameters& p) { return std::string(ltv::name(p.spec().gadget)); })
      .def_prop_ro(
          "window", [](const Parameters& p) { return p.spec().window; }, "Bits of a digit.")
      .def_prop_ro("insecure", [](const Parameters& p) { return p.spec().insecure; })
      .def_prop_ro("degree", &Parameters::degree, "N: bits of a message.")
      .def_prop_ro("transform_length", [](const Parameters& p) { return p.ring().transform_length(); })
      .def_prop_ro("levels", &Parameters::levels, "Products in a row.")
      .def("limbs", &Parameters::limbs, "level"_a, "Primes of a level.")
      .def("digits", &Parameters::digits, "level"_a, "Digits of a level's evaluation key.")
      .def("key_bytes", &Parameters::key_bytes, "level"_a, "Bytes of a level's evaluation key.")
      .def("log_q", &Parameters::log_q, "limbs"_a)
      .def_prop_ro("hash",
                   [](const Parameters& p) {
                     return nb::bytes(reinterpret_cast<const char*>(p.hash().data()), p.hash().size());
                   })
      .def(
          "__eq__", [](const Parameters& a, const Parameters& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
}

void bind_noise(nb::module_& l) {
  nb::class_<Noise>(l, "Noise", "What is known of a phase's values at roots of unity without the key.")
      .def(
          "__init__", [](Noise* self, double deviation, u32 factors) { new (self) Noise{deviation, factors}; },
          "log_deviation"_a, "factors"_a = 2)
      .def_ro("log_deviation", &Noise::log_deviation, "log2 of their root mean square.")
      .def_ro("factors", &Noise::factors, "Of how many polynomials it is a product at most.")
      .def(
          "__eq__", [](const Noise& a, const Noise& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<NoiseRules>(l, "NoiseRules", "What operations do to noise.")
      .def(nb::init<const Parameters&>(), "params"_a, GilReleased())
      .def_prop_ro("params", &NoiseRules::params, nb::rv_policy::copy)
      .def("encrypted", &NoiseRules::encrypted)
      .def("sum", &NoiseRules::sum, "a"_a, "b"_a)
      .def("independent_sum", &NoiseRules::independent_sum, "a"_a, "b"_a)
      .def("plain_sum", &NoiseRules::plain_sum, "a"_a, "degree"_a = 1)
      .def("plain_product", &NoiseRules::plain_product, "a"_a)
      .def("lifted", &NoiseRules::lifted, "a"_a, "Of a ciphertext that is added to products of degree 2.")
      .def("product", &NoiseRules::product, "a"_a, "b"_a)
      .def("relinearized", &NoiseRules::relinearized, "a"_a, "level"_a, "degree"_a = 2)
      .def("switched", &NoiseRules::switched, "a"_a, "limbs"_a, "drop"_a = 1)
      .def("coefficient_bits", &NoiseRules::coefficient_bits, "a"_a, "log2 of a size that no coefficient exceeds.")
      .def("budget", &NoiseRules::budget, "a"_a, "limbs"_a, "Bits left before decryption fails.");
  l.def(
      "reduction_moment", [](u64 m, const std::string& basis) { return reduction_moment(m, basis_named(basis)); },
      "m"_a, "basis"_a = "power", GilReleased());
  l.def(
      "ternary_product_deviation",
      [](u64 m, const std::string& basis) { return ternary_product_deviation(m, basis_named(basis)); }, "m"_a,
      "basis"_a = "power", GilReleased(), "Standard deviation of a coefficient of a product modulo Phi_m.");
}

void bind_objects(nb::module_& l) {
  nb::class_<Ciphertext>(l, "Ciphertext", "An encrypted polynomial over GF(2).")
      .def_ro("key_id", &Ciphertext::key_id)
      .def_ro("level", &Ciphertext::level)
      .def_ro("degree", &Ciphertext::degree, "2 after a product, until it is relinearised.")
      .def_ro("lag", &Ciphertext::lag, "Of a product over levels, how many lie between its secrets; else 0.")
      .def_prop_ro("limbs", &Ciphertext::limbs)
      .def_ro("noise", &Ciphertext::noise, nb::rv_policy::copy)
      .def("limb",
           [](const Ciphertext& c, std::size_t i) {
             if (i >= c.limbs()) throw nb::index_error();
             return to_numpy<u32>(c.poly.limb(i), c.poly.degree());
           })
      .def_prop_ro(
          "words", [](nb::pointer_and_handle<Ciphertext> c) { return view(c.p->poly, c.h); },
          "Residues in coefficient form, (limbs, N); a view.");
  nb::class_<SecretKey>(l, "SecretKey", "A secret for each level.").def_ro("id", &SecretKey::id);
  nb::class_<PublicKey>(l, "PublicKey", "A public key for each level.").def_ro("key_id", &PublicKey::key_id);
  nb::class_<EvalKey>(l, "EvalKey", "What takes ciphertexts of the level above to `level`.")
      .def_ro("key_id", &EvalKey::key_id)
      .def_ro("level", &EvalKey::level)
      .def_ro("lag", &EvalKey::lag, "For products of ciphertexts so many levels apart.")
      .def_prop_ro("digits", [](const EvalKey& k) { return k.digits.size(); })
      .def_prop_ro("bytes", &EvalKey::bytes)
      .def("limb",
           [](const EvalKey& k, std::size_t digit, std::size_t i) {
             if (digit >= k.digits.size() || i >= k.digits[digit].limbs()) throw nb::index_error();
             return to_numpy<u32>(k.digits[digit].limb(i), k.digits[digit].length());
           })
      .def(
          "digit",
          [](nb::pointer_and_handle<EvalKey> k, std::size_t digit) {
            if (digit >= k.p->digits.size()) throw nb::index_error();
            return view(k.p->digits[digit], k.h);
          },
          "digit"_a,
          "Words of a digit, (limbs, transform length); a view. In a padded ring, word j is the value at w^brv(j), w "
          "the prime's of `Context.roots`.")
      .def(
          "coefficients",
          [](const EvalKey& k, std::size_t digit, unsigned threads) {
            if (digit >= k.digits.size()) throw nb::index_error();
            auto* made = new Coefficients(unlocked([&] { return to_coeff(k.digits[digit], threads); }));
            const nb::capsule owner(made, [](void* p) noexcept { delete static_cast<Coefficients*>(p); });
            return view(*made, owner);
          },
          "digit"_a, "threads"_a = 1, "A digit in coefficient form, (limbs, N).");
}

void bind_parties(nb::module_& l) {
  nb::class_<Context>(l, "Context", "Everything derived from a parameter set.")
      .def(nb::new_([](const Parameters& p) { return std::make_shared<Context>(p); }), "params"_a, GilReleased())
      .def_prop_ro("params", &Context::params)
      .def_prop_ro("rules", &Context::rules)
      .def_prop_ro(
          "roots",
          [](const Context& c) {
            const BasisOf<u32> basis = c.basis(c.params().limbs(0));
            std::vector<u64> roots;
            for (std::size_t i = 0; i < basis.size(); ++i) roots.push_back(basis[i].psi());
            return roots;
          },
          "For each prime the root of unity behind its transforms, of the order of their length in a padded ring.");
  nb::class_<Client>(l, "Client", "Key generation, encryption, decryption. LTV is broken: no protection.")
      .def(
          "__init__",
          [](Client* self, std::shared_ptr<Context> ctx, const std::optional<TestSeed>& seed) {
            new (self) Client(ctx, randomness(seed));
          },
          "context"_a, "fixed_seed_for_tests"_a = nb::none())
      .def("keys", &Client::keys, "threads"_a = 1, GilReleased(), "The secret key and the public key.")
      .def("eval_key", &Client::eval_key, "secret_key"_a, "public_key"_a, "level"_a, "threads"_a = 1, "lag"_a = 0,
           GilReleased())
      .def(
          "encrypt",
          [](const Client& c, const BitArray& bits, const PublicKey& pk, std::size_t level, unsigned threads,
             bool above) { return unlocked([&] { return c.encrypt(span(bits), pk, level, threads, above); }); },
          "bits"_a, "public_key"_a, "level"_a = 0, "threads"_a = 1, "above"_a = false)
      .def(
          "decrypt",
          [](const Client& c, const Ciphertext& x, const SecretKey& sk, unsigned threads) {
            const Bits bits = unlocked([&] { return c.decrypt(x, sk, threads); });
            return to_numpy<std::uint8_t>(bits.data(), bits.size());
          },
          "ciphertext"_a, "secret_key"_a, "threads"_a = 1)
      .def(
          "measure",
          [](const Client& c, const Ciphertext& x, const SecretKey& sk, unsigned threads) {
            const auto m = c.measure(x, sk, threads);
            return std::tuple(m.largest, m.deviation, m.value);
          },
          "ciphertext"_a, "secret_key"_a, "threads"_a = 1, GilReleased(),
          "log2 of the phase's largest coefficient, their root mean square, and its largest value at a root of unity.")
      .def("noise_budget", &Client::noise_budget, "ciphertext"_a, "secret_key"_a, "threads"_a = 1, GilReleased());
  nb::class_<Evaluator>(l, "Evaluator", "Operations on ciphertexts.")
      .def(
          "__init__",
          [](Evaluator* self, std::shared_ptr<Context> ctx, unsigned threads) { new (self) Evaluator(ctx, threads); },
          "context"_a, "threads"_a = 1)
      .def("budget", &Evaluator::budget, "a"_a, "Predicted bits left, without the key.")
      .def("add", &Evaluator::add, "a"_a, "b"_a, GilReleased())
      .def(
          "add_plain",
          [](const Evaluator& e, const Ciphertext& a, const BitArray& bits) {
            return unlocked([&] { return e.add_plain(a, span(bits)); });
          },
          "a"_a, "bits"_a)
      .def(
          "mul_plain",
          [](const Evaluator& e, const Ciphertext& a, const BitArray& bits) {
            return unlocked([&] { return e.mul_plain(a, span(bits)); });
          },
          "a"_a, "bits"_a)
      .def("mul", &Evaluator::mul, "a"_a, "b"_a, GilReleased())
      .def("relinearize", &Evaluator::relinearize, "a"_a, "key"_a, GilReleased())
      .def("mod_switch", &Evaluator::mod_switch, "a"_a, GilReleased());
}

using Ciphertexts = std::vector<const Ciphertext*>;
using Rows = std::vector<std::vector<u32>>;

/// A list from Python as it is, once no item is None: that comes as a null pointer.
const Ciphertexts& present(const Ciphertexts& inputs) {
  for (const Ciphertext* c : inputs)
    if (c == nullptr) throw ShapeError("a ciphertext is None: leave it out");
  return inputs;
}

using Terms = std::vector<std::vector<std::pair<u32, u32>>>;

ProductSums plan_of(const Rows& sums, const Terms& outputs, const Rows& linear) {
  ProductSums plan{sums, {}, linear};
  for (const auto& terms : outputs) {
    auto& to = plan.outputs.emplace_back();
    for (const auto& [a, b] : terms) to.push_back({a, b});
  }
  return plan;
}

void bind_batches(nb::module_& l) {
  nb::class_<Relinearizer>(l, "Relinearizer", "Relinearises many ciphertexts by the key of one level at a time.")
      .def(
          "__init__",
          [](Relinearizer* self, std::shared_ptr<Context> ctx, unsigned threads) {
            new (self) Relinearizer(ctx, threads);
          },
          "context"_a, "threads"_a = 1, GilReleased())
      .def_prop_ro("level", &Relinearizer::level, GilReleased(), "Of the key that is loaded; 0 before the first.")
      .def("load", nb::overload_cast<const EvalKey&>(&Relinearizer::load), "key"_a, GilReleased())
      .def(
          "relinearize",
          [](Relinearizer& r, const Ciphertexts& inputs, unsigned threads) {
            return r.relinearize(present(inputs), threads);
          },
          "inputs"_a, "threads"_a = 0, GilReleased(), "Each as Evaluator.relinearize does it, bit for bit.");
  nb::class_<BatchEvaluator>(l, "BatchEvaluator", "Operations on many ciphertexts.")
      .def(
          "__init__",
          [](BatchEvaluator* self, std::shared_ptr<Context> ctx, unsigned threads, bool independent) {
            new (self) BatchEvaluator(ctx, threads, independent ? Dependence::none : Dependence::any);
          },
          "context"_a, "threads"_a = 1, "independent"_a = false)
      .def(
          "sums",
          [](const BatchEvaluator& e, const Ciphertexts& inputs, const Rows& rows,
             const std::vector<std::uint8_t>& constants) { return e.sums(present(inputs), rows, constants); },
          "inputs"_a, "rows"_a, "constants"_a = std::vector<std::uint8_t>(), GilReleased(),
          "For each row the sum of the inputs that it lists, and of 1 where constants has it.")
      .def(
          "products",
          [](const BatchEvaluator& e, const Ciphertexts& inputs, const Rows& sums, const Terms& outputs,
             const Rows& linear) { return e.products(present(inputs), plan_of(sums, outputs, linear)); },
          "inputs"_a, "sums"_a, "outputs"_a, "linear"_a = Rows(), GilReleased(),
          "For each output the sum of products of two sums of inputs, and of sums that are added.")
      .def(
          "operands",
          [](const BatchEvaluator& e, const Ciphertexts& inputs, const Rows& sums, const Terms& outputs,
             const Rows& linear) {
            const std::size_t limbs = present(inputs).empty() ? 0 : inputs[0]->limbs();
            std::unique_ptr<u32[]> words;
            const std::size_t n = e.context()->params().degree();
            unlocked([&] {
              words.reset(new u32[sums.size() * limbs * n]);
              e.operands({words.get(), sums.size() * limbs * n}, inputs, plan_of(sums, outputs, linear));
              return 0;
            });
            return owned<nb::ndim<3>>(std::move(words), {sums.size(), limbs, n});
          },
          "inputs"_a, "sums"_a, "outputs"_a, "linear"_a = Rows(),
          "The sums' words, (sums, limbs, N), for a machine that computes `products`.")
      .def(
          "assemble",
          [](const BatchEvaluator& e, const Ciphertexts& inputs, const Rows& sums, const Terms& outputs,
             const Rows& linear, const Unreduced& words) {
            const std::size_t limbs = present(inputs).empty() ? 0 : inputs[0]->limbs();
            require_shape(words, {outputs.size(), limbs, e.context()->ring().transform_length()});
            return unlocked([&, view = std::span(words.data(), words.size())] {
              return e.assemble(inputs, plan_of(sums, outputs, linear), view);
            });
          },
          "inputs"_a, "sums"_a, "outputs"_a, "linear"_a, "words"_a,
          "The results of `products` from such a machine's words, (outputs, limbs, transform length).")
      .def(
          "mod_switch",
          [](const BatchEvaluator& e, const Ciphertexts& inputs) { return e.mod_switch(present(inputs)); }, "inputs"_a,
          GilReleased())
      .def(
          "carry",
          [](const BatchEvaluator& e, const Ciphertexts& inputs, std::size_t level) {
            return e.carry(present(inputs), level);
          },
          "inputs"_a, "level"_a, GilReleased(), "Modulo the primes of a lower level, under the secrets they have.");
}

}  // namespace

void bind_ltv(nb::module_& m) {
  auto l = m.def_submodule("ltv", kWarning);
  l.attr("WARNING") = kWarning;
  bind_parameters(l);
  bind_noise(l);
  bind_objects(l);
  bind_parties(l);
  bind_batches(l);
  bind_ltv_parts(l);
}

}  // namespace bindings
