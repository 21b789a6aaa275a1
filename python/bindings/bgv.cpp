// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BGV modulo 2. Keys are those of the RLWE layer, which ckks.cpp binds.
#include "ringforge/bgv/bgv.hpp"

#include <nanobind/operators.h>

#include "bindings.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::bgv;

using BitArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumpyBits = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

std::span<const std::uint8_t> span(const BitArray& bits) { return {bits.data(), bits.size()}; }

NumpyBits bits_of(Bits&& bits) {
  NumpyBits array = to_numpy<std::uint8_t>(bits.data(), bits.size());
  wipe(bits.data(), bits.size());
  return array;
}

void bind_noise(nb::module_& b) {
  nb::class_<Noise>(b, "Noise", "What is known of a ciphertext's noise without the key.")
      .def(
          "__init__", [](Noise* self, double log_bound) { new (self) Noise{log_bound}; }, "log_bound"_a)
      .def_ro("log_bound", &Noise::log_bound, "log2 of a bound on its values at primitive m-th roots of unity.")
      .def(
          "__eq__", [](const Noise& a, const Noise& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<NoiseRules>(b, "NoiseRules", "What operations do to noise; `limbs` are the operands'.")
      .def(nb::init<const Parameters&, unsigned>(), "params"_a, "security"_a = NoiseRules::kSecurity, GilReleased())
      .def_prop_ro("security", &NoiseRules::security, "A source of noise exceeds its share with 2^-security at most.")
      .def_prop_ro("coefficient_factor", &NoiseRules::coefficient_factor,
                   "No coefficient is larger than this times the largest value at a root of unity.")
      .def("bound_bits", &NoiseRules::bound_bits, "noise"_a, "log2 of a size that no coefficient exceeds.")
      .def("budget", &NoiseRules::budget, "noise"_a, "limbs"_a, "Bits left before decryption fails.")
      .def("encrypted", &NoiseRules::encrypted, "public_key"_a)
      .def("sum", &NoiseRules::sum, "a"_a, "b"_a)
      .def("plain_sum", &NoiseRules::plain_sum, "a"_a, "log_peak"_a)
      .def("plain_product", &NoiseRules::plain_product, "a"_a, "log_peak"_a)
      .def_prop_ro("random_peak", &NoiseRules::random_peak, "log_peak that a plaintext of random bits is below.")
      .def_prop_ro("largest_peak", &NoiseRules::largest_peak, "log_peak that no plaintext exceeds.")
      .def("product", &NoiseRules::product, "a"_a, "b"_a)
      .def("switched", &NoiseRules::switched, "a"_a, "limbs"_a)
      .def("multiplied", &NoiseRules::multiplied, "a"_a, "b"_a, "limbs"_a, "drop"_a = 0)
      .def(
          "hoisted_sum",
          [](const NoiseRules& r, const Noise& a, const std::vector<double>& log_peaks, std::size_t limbs,
             std::size_t drop) { return r.hoisted_sum(a, log_peaks, limbs, drop); },
          "a"_a, "log_peaks"_a, "limbs"_a, "drop"_a = 0, "One sum of Evaluator.frobenius_sums.")
      .def("mod_switched", &NoiseRules::mod_switched, "a"_a, "limbs"_a, "to"_a, "parts"_a = 2)
      .def("fewest_limbs", &NoiseRules::fewest_limbs, "a"_a, "limbs"_a, "loss"_a = 0.5,
           "The fewest limbs at which switching there costs at most `loss` bits of budget.")
      .def("rounding", &NoiseRules::rounding, "parts"_a = 2, "log2 of the least noise that a modulus switch leaves.")
      .def("key_switch", &NoiseRules::key_switch, "limbs"_a, "log2 of what a key switch adds but for its rounding.");
}

void bind_context(nb::module_& b) {
  nb::class_<Parameters>(b, "Parameters", "A checked, immutable BGV parameter set; plaintexts are modulo 2.")
      .def(
          "__init__",
          [](Parameters* self, const std::string& name, u64 m, std::vector<u64> q, std::vector<u64> p,
             unsigned limbs_per_digit, const std::string& insecure) {
            new (self) Parameters({name, m, std::move(q), std::move(p), limbs_per_digit, insecure});
          },
          "name"_a, "m"_a, "q"_a, "p"_a, "limbs_per_digit"_a = 1, "insecure"_a = "", GilReleased())
      .def_static("named", &Parameters::named, "name"_a, "insecure"_a = "", GilReleased())
      .def_static("names", &Parameters::names)
      .def_prop_ro("name", [](const Parameters& p) { return p.spec().name; })
      .def_prop_ro("m", &Parameters::m, "Index of the ring Z[X]/Phi_m.")
      .def_prop_ro("log_n", &Parameters::log_n)
      .def_prop_ro("q", [](const Parameters& p) { return p.spec().q; })
      .def_prop_ro("p", [](const Parameters& p) { return p.spec().p; })
      .def_prop_ro("limbs_per_digit", [](const Parameters& p) { return p.spec().limbs_per_digit; })
      .def_prop_ro("insecure", [](const Parameters& p) { return p.spec().insecure; })
      .def_prop_ro("degree", &Parameters::degree, "N = phi(m): bits of a plaintext.")
      .def_prop_ro("max_limbs", &Parameters::max_limbs)
      .def_prop_ro(
          "prime_step", [](const Parameters& p) { return p.ring().prime_step(); },
          "Primes of the ring are 1 modulo this.")
      .def(
          "log_q_of", [](const Parameters& p, std::size_t limbs) { return p.log_q(limbs); }, "limbs"_a)
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
  nb::class_<Multiplier>(b, "Multiplier", "A public plaintext that ciphertexts are multiplied by, or added to.")
      .def_prop_ro("limbs", [](const Multiplier& m) { return m.poly.limbs(); })
      .def_prop_ro(
          "special", [](const Multiplier& m) { return m.special.limbs() > 0; }, "Fit for frobenius_sums.")
      .def_prop_ro("bytes", &Multiplier::bytes)
      .def_ro("log_peak", &Multiplier::log_peak, "log2 of its largest value at a primitive m-th root of unity.");
  bind_polynomials(
      nb::class_<Ciphertext, Noise>(b, "Ciphertext", "An encrypted plaintext, with what is known of its noise."))
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
      .def("frobenius_element", &Context::frobenius_element, "k"_a,
           "Galois element that raises every slot to the power 2^k: 2^k modulo m.")
      .def(
          "multiplier",
          [](const Context& c, const BitArray& bits, std::optional<std::size_t> limbs, bool special, unsigned threads) {
            return unlocked([&] { return c.multiplier(span(bits), limbs, special, threads); });
          },
          "bits"_a, "limbs"_a = nb::none(), "special"_a = false, "threads"_a = 1,
          "Bits as a factor for ciphertexts of up to `limbs` limbs; `special`: for frobenius_sums too.");
}

void bind_parties(nb::module_& b) {
  const auto encrypt = []<class Key>(std::type_identity<Key>) {
    return [](Client& c, const BitArray& bits, const Key& key, std::optional<std::size_t> limbs) {
      return unlocked([&] { return c.encrypt(span(bits), key, limbs); });
    };
  };
  bind_key_generation<Context>(nb::class_<Client>(b, "Client", "Key generation, encryption, decryption."), "limbs")
      .def("encrypt", encrypt(std::type_identity<SecretKey>()), "bits"_a, "key"_a, "limbs"_a = nb::none())
      .def("encrypt", encrypt(std::type_identity<PublicKey>()), "bits"_a, "key"_a, "limbs"_a = nb::none())
      .def(
          "decrypt",
          [](const Client& c, const Ciphertext& x, const SecretKey& sk, unsigned threads, bool anyway) {
            return bits_of(unlocked([&] { return c.decrypt(x, sk, threads, anyway); }));
          },
          "ciphertext"_a, "secret_key"_a, "threads"_a = 1, "anyway"_a = false)
      .def(
          "decrypt_to_share",
          [](Client& c, const Ciphertext& x, const SecretKey& sk, double share_bits, u64 queries,
             std::optional<Noise> noise, unsigned threads) {
            return bits_of(unlocked([&] { return c.decrypt_to_share(x, sk, share_bits, queries, noise, threads); }));
          },
          "ciphertext"_a, "secret_key"_a, "share_bits"_a, "queries"_a = 1, "noise"_a = nb::none(), "threads"_a = 1)
      .def(
          "measure",
          [](const Client& c, const Ciphertext& x, const SecretKey& sk, unsigned threads) {
            const auto m = c.measure(x, sk, threads);
            return std::pair(m.largest, m.value);
          },
          "ciphertext"_a, "secret_key"_a, "threads"_a = 1, GilReleased(),
          "log2 of the noise's largest coefficient, and of its largest value at a root of unity.")
      .def("noise_budget", &Client::noise_budget, "ciphertext"_a, "secret_key"_a, "threads"_a = 1, GilReleased());

  using Other = const Ciphertext&;
  nb::class_<Evaluator>(b, "Evaluator", "Operations on ciphertexts.")
      .def(
          "__init__",
          [](Evaluator* self, std::shared_ptr<Context> ctx, unsigned threads) { new (self) Evaluator(ctx, threads); },
          "context"_a, "threads"_a = 1, GilReleased())
      .def("budget", &Evaluator::budget, "a"_a, "Predicted noise budget in bits, without the key.")
      .def("add", &Evaluator::add, "a"_a, "b"_a, GilReleased())
      .def("add_plain", nb::overload_cast<Other, const Multiplier&>(&Evaluator::add_plain, nb::const_), "a"_a,
           "multiplier"_a, GilReleased())
      .def(
          "add_plain",
          [](const Evaluator& e, const Ciphertext& a, const BitArray& bits) {
            return unlocked([&] { return e.add_plain(a, span(bits)); });
          },
          "a"_a, "bits"_a)
      .def("add_one", &Evaluator::add_one, "a"_a, GilReleased(), "Every slot plus 1.")
      .def("mul_plain", nb::overload_cast<Other, const Multiplier&>(&Evaluator::mul_plain, nb::const_), "a"_a,
           "multiplier"_a, GilReleased())
      .def(
          "mul_plain",
          [](const Evaluator& e, const Ciphertext& a, const BitArray& bits) {
            return unlocked([&] { return e.mul_plain(a, span(bits)); });
          },
          "a"_a, "bits"_a)
      .def("mul", &Evaluator::mul, "a"_a, "b"_a, GilReleased())
      .def("square", &Evaluator::square, "a"_a, GilReleased())
      .def("relinearize", &Evaluator::relinearize, "a"_a, "key"_a, "drop"_a = 0, GilReleased())
      .def("multiply", &Evaluator::multiply, "a"_a, "b"_a, "key"_a, "drop"_a = 0, GilReleased(),
           "Product, relinearised, the last `drop` primes dropped.")
      .def("apply_galois", &Evaluator::apply_galois, "a"_a, "element"_a, "keys"_a, GilReleased())
      .def(
          "apply_hoisted",
          [](const Evaluator& e, const Ciphertext& a, const std::vector<u64>& elements, const GaloisKeys& keys) {
            return e.apply_hoisted(a, elements, keys);
          },
          "a"_a, "elements"_a, "keys"_a, GilReleased())
      .def(
          "frobenius_sums",
          [](const Evaluator& e, const Ciphertext& a,
             const std::vector<std::vector<std::pair<u64, const Multiplier*>>>& sums, const GaloisKeys& keys,
             std::size_t drop) {
            std::vector<std::vector<Evaluator::Term>> terms;
            for (const auto& sum : sums) {
              auto& to = terms.emplace_back();
              for (const auto& [element, multiplier] : sum) to.push_back({element, multiplier});
            }
            return unlocked([&] { return e.frobenius_sums(a, terms, keys, drop); });
          },
          "a"_a, "sums"_a, "keys"_a, "drop"_a = 0,
          "Of one ciphertext several sums of multiplier * (its map by X -> X^element), given as (element, multiplier).")
      .def("mod_switch_to", &Evaluator::mod_switch_to, "a"_a, "limbs"_a, GilReleased())
      .def("drop_to", &Evaluator::drop_to, "a"_a, "limbs"_a, GilReleased());
}

}  // namespace

void bind_bgv(nb::module_& m) {
  auto b = m.def_submodule("bgv", "The BGV scheme modulo 2.");
  bind_noise(b);
  bind_context(b);
  bind_parties(b);
}

}  // namespace bindings
