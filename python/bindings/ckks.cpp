// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include <nanobind/operators.h>

#include "bindings.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::ckks;

nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<1>> slots(const std::vector<std::complex<double>>& v) {
  return to_numpy<std::complex<double>>(v.data(), v.size());
}

}  // namespace

void bind_ckks(nb::module_& m) {
  nb::class_<Parameters>(m, "Parameters", "A checked, immutable CKKS parameter set.")
      .def(
          "__init__",
          [](Parameters* self, const std::string& name, unsigned log_n, std::vector<u64> q, std::vector<u64> p,
             unsigned limbs_per_digit, double log_scale, const std::string& insecure) {
            new (self) Parameters({name, log_n, std::move(q), std::move(p), limbs_per_digit, log_scale, insecure});
          },
          "name"_a, "log_n"_a, "q"_a, "p"_a, "limbs_per_digit"_a = 1, "log_scale"_a = 40.0, "insecure"_a = "",
          GilReleased())
      .def_static("named", &Parameters::named, "name"_a, "insecure"_a = "", GilReleased())
      .def_static("names", &Parameters::names)
      .def_prop_ro("name", [](const Parameters& p) { return p.spec().name; })
      .def_prop_ro("log_n", [](const Parameters& p) { return p.spec().log_n; })
      .def_prop_ro("q", [](const Parameters& p) { return p.spec().q; })
      .def_prop_ro("p", [](const Parameters& p) { return p.spec().p; })
      .def_prop_ro("limbs_per_digit", [](const Parameters& p) { return p.spec().limbs_per_digit; })
      .def_prop_ro("log_scale", [](const Parameters& p) { return p.spec().log_scale; })
      .def_prop_ro("insecure", [](const Parameters& p) { return p.spec().insecure; })
      .def_prop_ro("degree", &Parameters::degree)
      .def_prop_ro("slots", &Parameters::slots)
      .def_prop_ro("max_level", &Parameters::max_level)
      .def_prop_ro("log_q", &Parameters::log_q)
      .def_prop_ro("log_qp", &Parameters::log_qp)
      .def_prop_ro("secure", &Parameters::secure)
      .def_prop_ro("hash",
                   [](const Parameters& p) {
                     return nb::bytes(reinterpret_cast<const char*>(p.hash().data()), p.hash().size());
                   })
      .def(
          "__eq__", [](const Parameters& a, const Parameters& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  m.def("max_log_qp", &rlwe::max_log_qp, "log_n"_a);
  m.def("security_source", [] { return std::string(rlwe::security_source()); });
  m.def(
      "suggest",
      [](unsigned depth, double precision_bits, std::size_t slots, unsigned headroom_bits) {
        std::string why;
        Parameters p = suggest(depth, precision_bits, slots, &why, headroom_bits);
        return std::pair(std::move(p), why);
      },
      "depth"_a, "precision_bits"_a, "slots"_a, "headroom_bits"_a = 9, GilReleased());

  nb::class_<Plaintext>(m, "Plaintext", "Encoded slots, at a level and a scale.")
      .def_ro("scale", &Plaintext::scale)
      .def_ro("bound", &Plaintext::bound)
      .def_prop_ro("level", &Plaintext::level)
      .def("limb", [](const Plaintext& p, std::size_t i) {
        if (i >= p.poly.limbs()) throw nb::index_error();
        return to_numpy<u64>(p.poly.limb(i), p.poly.degree());
      });
  bind_polynomials(
      nb::class_<Ciphertext, Metadata>(m, "Ciphertext", "Encrypted slots, with what is known of them without the key."))
      .def_prop_ro("level", &Ciphertext::level)
      .def_prop_ro("error_bound", [](const Ciphertext& c) { return error_bound(c); });

  nb::class_<Context>(m, "Context", "Everything derived from a parameter set.")
      .def(nb::new_([](const Parameters& p) { return std::make_shared<Context>(p); }), "params"_a, GilReleased())
      .def(nb::new_([](const std::string& name) { return std::make_shared<Context>(Parameters::named(name)); }),
           "params"_a, GilReleased(), "Of a parameter set, or of a shipped one by name.")
      .def_prop_ro("params", &Context::params)
      .def_prop_ro("gadget", [](const Context& c) { return c.gadget().shape(); })
      .def("rotation_element", &Context::rotation_element)
      .def_prop_ro("conjugation_element", &Context::conjugation_element)
      .def(
          "encode",
          [](const Context& c, const Complexes& v, double scale, std::size_t level, unsigned threads) {
            nb::gil_scoped_release release;
            return c.encode(std::span(v.data(), v.size()), scale, level, threads);
          },
          "values"_a, "scale"_a, "level"_a, "threads"_a = 1)
      .def(
          "decode",
          [](const Context& c, const Plaintext& p, unsigned threads) {
            std::vector<std::complex<double>> v;
            {
              nb::gil_scoped_release release;
              v = c.decode(p, threads);
            }
            return slots(v);
          },
          "plaintext"_a, "threads"_a = 1);

  nb::class_<SecretKey>(m, "SecretKey", "What decrypts. Moved or shared, never copied; wiped when it goes.")
      .def_prop_ro("id", &SecretKey::id)
      .def(
          "coefficients",
          [](const SecretKey& s) { return to_numpy<i64>(s.coeffs().coeffs().data(), s.coeffs().coeffs().size()); },
          "The secret itself: for tests that look for it where it must not be.");
  nb::class_<PublicKey>(m, "PublicKey", "What encrypts, for who has no secret key.")
      .def_ro("key_id", &PublicKey::key_id);
  nb::class_<RelinKey>(m, "RelinKey", "Takes products of ciphertexts back to two parts.")
      .def_prop_ro("key_id", [](const RelinKey& k) { return k.key().key_id; })
      .def_prop_ro("level", [](const RelinKey& k) { return k.key().limbs - 1; })
      .def(
          "limb",
          [](const RelinKey& k, std::size_t part, std::size_t digit, std::size_t limb) {
            const auto& polys = part == 0 ? k.key().b : k.key().a;
            if (part > 1 || digit >= polys.size() || limb >= polys[digit].limbs()) throw nb::index_error();
            return to_numpy<u64>(polys[digit].limb(limb), polys[digit].degree());
          },
          "part"_a, "digit"_a, "limb"_a, "As `GaloisKeys.limb`.")
      .def_prop_ro("bytes", [](const RelinKey& k) { return k.key().bytes(); });
  nb::class_<GaloisKey>(m, "GaloisKey", "Takes one automorphism of a ciphertext back to the secret key.")
      .def_ro("element", &GaloisKey::element)
      .def_prop_ro("key_id", [](const GaloisKey& k) { return k.key->key_id; })
      .def_prop_ro("level", [](const GaloisKey& k) { return k.key->limbs - 1; })
      .def_prop_ro("bytes", [](const GaloisKey& k) { return k.key->bytes(); });
  nb::class_<GaloisKeys>(m, "GaloisKeys", "Galois keys, by element.")
      .def(nb::init<>())
      .def(
          "insert", [](GaloisKeys& s, const GaloisKey& k) { s.insert(k); }, "key"_a,
          "Shares the key; one of the same element is replaced.")
      .def("erase", &GaloisKeys::erase)
      .def("__contains__", &GaloisKeys::contains)
      .def("__len__", &GaloisKeys::size)
      .def(
          "key", [](const GaloisKeys& s, u64 element) { return GaloisKey{element, s.at(element)}; }, "element"_a,
          "An element's key, which is shared.")
      .def_prop_ro("elements", &GaloisKeys::elements)
      .def(
          "level", [](const GaloisKeys& s, u64 element) { return s.at(element)->limbs - 1; }, "element"_a,
          "Level that an element's key covers.")
      .def(
          "key_id", [](const GaloisKeys& s, u64 element) { return s.at(element)->key_id; }, "element"_a,
          "Which secret key an element's key belongs to.")
      .def(
          "limb",
          [](const GaloisKeys& s, u64 element, std::size_t part, std::size_t digit, std::size_t limb) {
            const auto key = s.at(element);
            const auto& polys = part == 0 ? key->b : key->a;
            if (part > 1 || digit >= polys.size() || limb >= polys[digit].limbs()) throw nb::index_error();
            return to_numpy<u64>(polys[digit].limb(limb), polys[digit].degree());
          },
          "element"_a, "part"_a, "digit"_a, "limb"_a,
          "Residues of one limb of an element's key: part 0 is b, 1 is a; limbs 0 ... level are Q's, the next the "
          "special primes'.")
      .def_prop_ro("bytes", &GaloisKeys::bytes);

  bind_key_generation<Context>(nb::class_<Client>(m, "Client", "Key generation, encryption, decryption."), "level")
      .def("encrypt", nb::overload_cast<const Plaintext&, const SecretKey&, double>(&Client::encrypt), "plaintext"_a,
           "key"_a, "bound"_a = 1.0, GilReleased())
      .def("encrypt", nb::overload_cast<const Plaintext&, const PublicKey&, double>(&Client::encrypt), "plaintext"_a,
           "key"_a, "bound"_a = 1.0, GilReleased())
      .def("decrypt", &Client::decrypt, GilReleased())
      .def("decrypt_to_share", &Client::decrypt_to_share, "ciphertext"_a, "secret_key"_a, "share_bits"_a,
           "queries"_a = 1, "variance"_a = nb::none(), GilReleased());
  m.def("slot_error_bound", &slot_error_bound, "variance"_a, "degree"_a);
  m.def("flood_deviation", &rlwe::flood_deviation, "variance"_a, "degree"_a, "bits"_a, "queries"_a);

  nb::class_<Evaluator>(m, "Evaluator", "Operations on CKKS ciphertexts; holds no key.")
      .def(
          "__init__",
          [](Evaluator* self, std::shared_ptr<Context> ctx, unsigned threads) { new (self) Evaluator(ctx, threads); },
          "context"_a, "threads"_a = 1, GilReleased())
      .def("add", &Evaluator::add, GilReleased())
      .def("sub", &Evaluator::sub, GilReleased())
      .def("negate", &Evaluator::negate, GilReleased())
      .def("add_plain", &Evaluator::add_plain, GilReleased())
      .def("sub_plain", &Evaluator::sub_plain, GilReleased())
      .def("add_scalar", &Evaluator::add_scalar, GilReleased())
      .def("mul_plain", &Evaluator::mul_plain, GilReleased())
      .def("mul_scalar", &Evaluator::mul_scalar, "a"_a, "value"_a, "scale"_a = nb::none(), GilReleased())
      .def("mul", &Evaluator::mul, GilReleased())
      .def("relinearize", &Evaluator::relinearize, GilReleased())
      .def("rescale", &Evaluator::rescale, GilReleased())
      .def("drop_to_level", &Evaluator::drop_to_level, GilReleased())
      .def("read_as", &Evaluator::read_as, "a"_a, "scale"_a, "bound"_a,
           "The same polynomials at another scale, under a bound that the caller knows.", GilReleased())
      .def("rotate", &Evaluator::rotate, GilReleased())
      .def(
          "replicate",
          [](const Evaluator& e, const Ciphertext& a, const std::vector<i64>& steps, const GaloisKeys& keys) {
            return e.replicate(a, steps, keys);
          },
          "a"_a, "steps"_a, "keys"_a, GilReleased())
      .def("double_real", &Evaluator::double_real, "a"_a, "keys"_a, GilReleased())
      .def("conjugate", &Evaluator::conjugate, GilReleased())
      .def(
          "rotate_hoisted",
          [](const Evaluator& e, const Ciphertext& a, const std::vector<i64>& steps, const GaloisKeys& keys) {
            return e.rotate_hoisted(a, steps, keys);
          },
          GilReleased());
}

}  // namespace bindings
