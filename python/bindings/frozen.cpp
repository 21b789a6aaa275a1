// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys and ciphertexts as what is said of them and arrays of their words, without copies in either direction. The
// module ringforge.devices.frozen makes of it what processes share.
#include <nanobind/stl/tuple.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <iterator>
#include <tuple>

#include "bindings.hpp"
#include "ringforge/bfv/bfv.hpp"
#include "ringforge/bgv/bgv.hpp"
#include "ringforge/circuits/omr_affine.hpp"
#include "ringforge/fhew/gates.hpp"
#include "ringforge/threads.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using rlwe::GaloisKeys;
using rlwe::RelinKey;
using rlwe::SwitchingKey;

/// Words of one polynomial, with what pads its limbs.
using View = nb::ndarray<nb::numpy, const u64, nb::ndim<1>>;
/// What says which polynomials belong to a basis: kind and index of the ring, primes.
using BasisFacts = std::tuple<unsigned, u64, std::vector<u64>>;
/// Of a switching key: basis, limbs of Q, how digits are cut, name of the secret key, seed.
using KeyFacts = std::tuple<BasisFacts, std::size_t, unsigned, unsigned, u64, nb::bytes>;
/// Of a ciphertext's polynomials: basis, name of the secret key, seed or nothing.
using PartFacts = std::tuple<BasisFacts, u64, std::optional<nb::bytes>>;
/// Of the noise of a BFV ciphertext: logarithm of the deviation, degree, reuse.
using NoiseFacts = std::tuple<double, unsigned, unsigned>;

BasisFacts facts(const Basis& basis) {
  return {static_cast<unsigned>(basis.ring().kind()), basis.ring().index(), basis.values()};
}

nb::bytes to_bytes(const std::array<std::uint8_t, 32>& a) { return nb::bytes(a.data(), a.size()); }

Seed to_seed(const nb::bytes& bytes) {
  Seed seed;
  if (bytes.size() != seed.size())
    throw FormatError("a seed has " + std::to_string(seed.size()) + " bytes, this one " + std::to_string(bytes.size()));
  std::memcpy(seed.data(), bytes.data(), seed.size());
  return seed;
}

/// Views of polynomials that live as long as `kept`, which every view holds.
template <class Kept>
std::vector<View> views(const std::vector<const Poly<Eval>*>& polys, const Kept& kept) {
  nb::capsule owner(new Kept(kept), [](void* p) noexcept { delete static_cast<Kept*>(p); });
  std::vector<View> out;
  for (const auto* p : polys) out.emplace_back(p->words().data(), std::initializer_list{p->words().size()}, owner);
  return out;
}

std::vector<const Poly<Eval>*> polys(const SwitchingKey& key) {
  std::vector<const Poly<Eval>*> all;
  for (const auto* half : {&key.b, &key.a})
    for (const auto& p : *half) all.push_back(&p);
  return all;
}

std::vector<const Poly<Eval>*> polys(const rlwe::Ciphertext& c) {
  std::vector<const Poly<Eval>*> all;
  for (const auto& p : c.parts) all.push_back(&p);
  return all;
}

template <class Kept>
std::pair<KeyFacts, std::vector<View>> frozen_key(const SwitchingKey& key, const Kept& kept) {
  return {KeyFacts{facts(key.b.at(0).basis()), key.limbs, key.spec.limbs_per_digit, key.spec.log_base, key.key_id,
                   to_bytes(key.seed)},
          views(polys(key), kept)};
}

PartFacts part_facts(const rlwe::Ciphertext& c) {
  std::optional<nb::bytes> seed;
  if (c.seed) seed = to_bytes(*c.seed);
  return {facts(c.parts.at(0).basis()), c.key_id, std::move(seed)};
}

Ring ring_of(unsigned kind, u64 index) {
  const auto made = [&] {
    if (kind == static_cast<unsigned>(RingKind::negacyclic))
      return Ring::negacyclic(static_cast<unsigned>(std::bit_width(index)) - 2);
    if (kind == static_cast<unsigned>(RingKind::tensor)) return Ring::tensor(index);
    throw FormatError("there are no keys and ciphertexts in rings of kind " + std::to_string(kind));
  }();
  if (made.index() != index) throw FormatError("there is no such ring of index " + std::to_string(index));
  return made;
}

/// The basis of polynomials of so many words each; sizes are compared before tables of the primes are made.
Basis basis_of(const BasisFacts& said, const std::vector<Words>& arrays) {
  const auto& [kind, index, primes] = said;
  const Ring ring = ring_of(kind, index);
  const std::size_t needed = primes.size() * ((ring.transform_length() + 15) / 16 * 16);
  if (primes.empty()) throw FormatError("polynomials over no primes");
  for (const Words& words : arrays)
    if (words.size() != needed)
      throw FormatError("a polynomial of " + std::to_string(words.size()) + " words; its primes and degree make " +
                        std::to_string(needed));
  return {ring, primes};
}

/// An owner of words for as long as anything borrows them. It may be dropped by any thread.
template <class Array>
std::shared_ptr<const void> owner_of(const Array& words) {
  return {new Array(words), [](const Array* kept) {
            const nb::gil_scoped_acquire lock;
            delete kept;
          }};
}

std::vector<WordBuffer> buffers(const std::vector<Words>& arrays, bool borrow) {
  std::vector<WordBuffer> out;
  for (const Words& words : arrays)
    out.push_back(WordBuffer::borrow(words.data(), words.size(), borrow ? owner_of(words) : nullptr));
  return out;
}

std::vector<Poly<Eval>> polys(const Basis& basis, std::vector<WordBuffer>&& words, bool check, unsigned threads) {
  std::vector<Poly<Eval>> out;
  for (WordBuffer& w : words) out.emplace_back(basis, std::move(w));
  if (!check) return out;
  std::atomic<bool> bad = false;
  const std::size_t limbs = basis.size();
  parallel_for(threads, out.size() * limbs, [&](std::size_t i) {
    const Poly<Eval>& p = out[i / limbs];
    const u64 q = basis[i % limbs].value(), *x = p.limb(i % limbs);
    u64 wrong = 0;
    for (std::size_t k = 0; k < p.length(); ++k) wrong |= static_cast<u64>(x[k] >= q);
    for (std::size_t k = p.length(); k < p.stride(); ++k) wrong |= x[k];
    if (wrong != 0) bad = true;
  });
  if (bad) throw FormatError("a polynomial has words that are no residues modulo its primes");
  return out;
}

/// What `make` returns, its refusals said as what they are here: bytes that no object has.
template <class Make>
auto thawed(Make&& make) {
  try {
    return make();
  } catch (const FormatError&) {
    throw;
  } catch (const ParameterError& e) {
    throw FormatError(std::string("frozen for parameters that are not valid: ") + e.what());
  } catch (const MismatchError& e) {
    throw FormatError(std::string("frozen with parts that do not belong together: ") + e.what());
  }
}

SwitchingKey switching_key(const KeyFacts& said, const std::vector<Words>& arrays, bool check, unsigned threads) {
  const auto& [basis_said, limbs, limbs_per_digit, log_base, key_id, seed] = said;
  if (arrays.empty() || arrays.size() % 2 != 0)
    throw FormatError("a switching key of " + std::to_string(arrays.size()) + " polynomials; halves have as many each");
  if (limbs < 1 || limbs > std::get<2>(basis_said).size())
    throw FormatError("a switching key for " + std::to_string(limbs) + " limbs over " +
                      std::to_string(std::get<2>(basis_said).size()) + " primes");
  if (limbs_per_digit < 1 || (log_base == 0 && arrays.size() / 2 != (limbs - 1) / limbs_per_digit + 1))
    throw FormatError("a switching key of " + std::to_string(arrays.size() / 2) + " digits for " +
                      std::to_string(limbs) + " limbs, " + std::to_string(limbs_per_digit) + " in each");
  SwitchingKey key;
  key.key_id = key_id;
  key.limbs = limbs;
  key.spec = {limbs_per_digit, log_base};
  key.seed = to_seed(seed);
  auto words = buffers(arrays, true);
  const nb::gil_scoped_release release;
  auto all = polys(basis_of(basis_said, arrays), std::move(words), check, threads);
  const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
  key.b.assign(std::make_move_iterator(all.begin()), std::make_move_iterator(all.begin() + half));
  key.a.assign(std::make_move_iterator(all.begin() + half), std::make_move_iterator(all.end()));
  return key;
}

rlwe::Ciphertext ciphertext(const PartFacts& said, const std::vector<Words>& arrays, std::size_t least,
                            std::size_t most, bool borrow, bool check, unsigned threads) {
  const auto& [basis_said, key_id, seed] = said;
  if (arrays.size() < least || arrays.size() > most || (seed && arrays.size() != 2))
    throw FormatError("a ciphertext of " + std::to_string(arrays.size()) + " parts");
  rlwe::Ciphertext c;
  c.key_id = key_id;
  if (seed) c.seed = to_seed(*seed);
  std::vector<WordBuffer> words;
  if (borrow) words = buffers(arrays, true);
  const nb::gil_scoped_release release;
  const Basis basis = basis_of(basis_said, arrays);  // before anything is copied
  if (!borrow) words = buffers(arrays, false);
  c.parts = polys(basis, std::move(words), check, threads);
  return c;
}

bfv::Noise noise_of(const NoiseFacts& said) {
  const auto& [log_deviation, degree, reuse] = said;
  if (std::isnan(log_deviation)) throw FormatError("the noise of a ciphertext is no number");
  return {log_deviation, degree, reuse};
}

NoiseFacts noise_facts(const bfv::Noise& n) { return {n.log_deviation, n.degree, n.reuse}; }

/// Ciphertexts of one scheme: `own` says what the scheme knows of one, `make` puts it together.
template <class Context, class Ciphertext, class Own, class Make>
void bind_ciphertexts(nb::module_& s, const char* name, Own own, Make make) {
  using Said = std::invoke_result_t<Own, const Ciphertext&>;
  s.def(
      "ciphertext",
      [own](nb::handle_t<Ciphertext> self) {
        const auto& c = nb::cast<const Ciphertext&>(self);
        return std::tuple(part_facts(c), own(c), views(polys(c), nb::object(nb::borrow(self))));
      },
      "ciphertext"_a);
  s.def(
      name,
      [make](const PartFacts& said, const Said& own_said, const std::vector<Words>& arrays, bool borrow, bool check,
             unsigned threads) {
        return thawed([&] { return make(own_said, ciphertext(said, arrays, 2, 3, borrow, check, threads)); });
      },
      "facts"_a, "own"_a, "words"_a, "borrow"_a, "check"_a, "threads"_a);
  s.def(
      "check", [](const Context& c, const Ciphertext& x) { c.check(x); }, "context"_a, "ciphertext"_a, GilReleased(),
      "Refuses what belongs to other parameters.");
  s.def(
      "check", [](const Context& c, const RelinKey& k) { k.key().check(c.gadget(), 1); }, "context"_a, "key"_a,
      GilReleased());
  s.def(
      "check",
      [](const Context& c, const GaloisKeys& keys) {
        for (const u64 element : keys.elements()) keys.at(element)->check(c.gadget(), 1);
      },
      "context"_a, "keys"_a, GilReleased());
}

void bind_keys(nb::module_& s) {
  s.def(
      "key",
      [](const GaloisKeys& keys, u64 element) {
        const auto key = keys.at(element);
        return frozen_key(*key, key);
      },
      "keys"_a, "element"_a, "What is said of a switching key, and its words: the halves b, then a.");
  s.def("key", [](const RelinKey& key) { return frozen_key(key.key(), key); }, "key"_a);
  s.def(
      "galois_key",
      [](u64 element, const KeyFacts& said, const std::vector<Words>& arrays, bool check, unsigned threads) {
        return thawed([&] {
          auto key = std::make_shared<const SwitchingKey>(switching_key(said, arrays, check, threads));
          const Ring& ring = key->b[0].basis().ring();
          if (!ring.is_galois_element(element) || element == 1)
            throw FormatError("a Galois key of the element " + std::to_string(element) + "; it must be " +
                              rlwe::galois_elements(ring));
          return rlwe::GaloisKey{element, std::move(key)};
        });
      },
      "element"_a, "facts"_a, "words"_a, "check"_a, "threads"_a);
  s.def(
      "relin_key",
      [](const KeyFacts& said, const std::vector<Words>& arrays, bool check, unsigned threads) {
        return thawed([&] { return RelinKey(switching_key(said, arrays, check, threads)); });
      },
      "facts"_a, "words"_a, "check"_a, "threads"_a);
}

void bind_babies(nb::module_& s) {
  s.def(
      "babies",
      [](nb::handle_t<circuits::OmrBabies> self) {
        const auto& b = nb::cast<const circuits::OmrBabies&>(self);
        std::vector<PartFacts> said;
        std::vector<std::vector<View>> words;
        for (const auto& c : b.rotations) {
          said.push_back(part_facts(c));
          words.push_back(views(polys(c), nb::object(nb::borrow(self))));
        }
        std::vector<NoiseFacts> noise;
        for (const auto& n : b.noise) noise.push_back(noise_facts(n));
        return std::tuple(std::move(said), std::move(noise), std::move(words));
      },
      "babies"_a);
  s.def(
      "omr_babies",
      [](const std::vector<PartFacts>& said, const std::vector<NoiseFacts>& noise,
         const std::vector<std::vector<Words>>& words, bool borrow, bool check, unsigned threads) {
        return thawed([&] {
          if (said.empty() || noise.size() != said.size() || words.size() != said.size())
            throw FormatError(std::to_string(said.size()) + " rotations with noise of " + std::to_string(noise.size()) +
                              " and words of " + std::to_string(words.size()));
          circuits::OmrBabies b;
          for (std::size_t i = 0; i < said.size(); ++i) {
            b.rotations.push_back(ciphertext(said[i], words[i], 2, 2, borrow, check, threads));
            b.noise.push_back(noise_of(noise[i]));
            if (!(b.rotations[i].parts[0].basis() == b.rotations[0].parts[0].basis()) ||
                b.rotations[i].key_id != b.rotations[0].key_id)
              throw FormatError("rotations of a key that are over different primes or under different keys");
          }
          return b;
        });
      },
      "facts"_a, "noise"_a, "words"_a, "borrow"_a, "check"_a, "threads"_a);
}

/// Of a key of gates: name, reason and hash of the parameters, method, name of the secret key, two seeds.
using GateFacts = std::tuple<std::string, std::string, nb::bytes, unsigned, u64, nb::bytes, nb::bytes>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteView = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;

fhew::GateEvaluationKey gate_key(const GateFacts& said, unsigned bootstrap_bits, unsigned switch_bits,
                                 const std::array<Bytes, 2>& words, bool borrow, bool check, unsigned threads) {
  const auto& [name, insecure, hash, method, id, bootstrap_seed, switch_seed] = said;
  if (method > 2)
    throw FormatError("a gate evaluation key names accumulator " + std::to_string(method) + " of 0, 1, 2");
  const auto params = fhew::GateParameters::named(name, insecure);
  const auto same = params.hash();
  if (hash.size() != same.size() || std::memcmp(hash.data(), same.data(), same.size()) != 0)
    throw FormatError("a gate evaluation key of other parameters than this library's " + params.name);
  const fhew::GateEvaluationKey::Words parts{{to_seed(bootstrap_seed), to_seed(switch_seed)},
                                             bootstrap_bits,
                                             switch_bits,
                                             {words[0].data(), words[0].size()},
                                             {words[1].data(), words[1].size()}};
  std::array<std::shared_ptr<const void>, 2> owners;
  if (borrow)
    for (std::size_t i = 0; i < 2; ++i) owners[i] = owner_of(words[i]);
  const nb::gil_scoped_release release;
  return fhew::GateEvaluationKey::borrow(params, static_cast<fhew::Method>(method), id, parts, owners, check, threads);
}

void bind_gate_keys(nb::module_& s) {
  s.def(
      "gate_key",
      [](nb::handle_t<fhew::GateEvaluationKey> self) {
        const auto& key = nb::cast<const fhew::GateEvaluationKey&>(self);
        const auto words = key.words();
        const auto& p = key.params();
        const auto view = [&](std::span<const std::uint8_t> bytes) {
          return ByteView(bytes.data(), {bytes.size()}, self);
        };
        return std::tuple(GateFacts{p.name, p.insecure, to_bytes(p.hash()), static_cast<unsigned>(key.method()),
                                    key.id(), to_bytes(words.seeds[0]), to_bytes(words.seeds[1])},
                          words.bootstrap_bits, words.switch_bits,
                          std::pair(view(words.bootstrap_key), view(words.switch_table)));
      },
      "key"_a, "What is said of a key of gates, bits of its words, and the bytes of its two parts.");
  s.def(
      "gate_evaluation_key",
      [](const GateFacts& said, unsigned bootstrap_bits, unsigned switch_bits, const std::array<Bytes, 2>& words,
         bool borrow, bool check, unsigned threads) {
        return thawed([&] { return gate_key(said, bootstrap_bits, switch_bits, words, borrow, check, threads); });
      },
      "facts"_a, "bootstrap_bits"_a, "switch_bits"_a, "words"_a, "borrow"_a, "check"_a, "threads"_a);
}

}  // namespace

void bind_frozen(nb::module_& m) {
  nb::module_ s = m.def_submodule("frozen", "What objects are made of, for processes that share memory.");
  bind_keys(s);
  bind_ciphertexts<ckks::Context, ckks::Ciphertext>(
      s, "ckks_ciphertext",
      [](const ckks::Ciphertext& c) { return std::tuple(c.scale, c.variance, c.spread, c.bound, c.float_error); },
      [](const auto& own, rlwe::Ciphertext&& polynomials) {
        ckks::Metadata known;
        std::tie(known.scale, known.variance, known.spread, known.bound, known.float_error) = own;
        const auto good = [](double x) { return x >= 0 && std::isfinite(x); };
        if (!(known.scale > 0) || !good(known.scale) || !good(known.variance) || !good(known.spread) ||
            !good(known.bound) || !good(known.float_error))
          throw FormatError("what is said of a ciphertext's scale, bound and errors are no such numbers");
        return ckks::Ciphertext(known, std::move(polynomials));
      });
  bind_ciphertexts<bfv::Context, bfv::Ciphertext>(
      s, "bfv_ciphertext", [](const bfv::Ciphertext& c) { return std::pair(c.t, noise_facts(c)); },
      [](const auto& own, rlwe::Ciphertext&& polynomials) {
        return bfv::Ciphertext(own.first, noise_of(own.second), std::move(polynomials));
      });
  bind_ciphertexts<bgv::Context, bgv::Ciphertext>(
      s, "bgv_ciphertext", [](const bgv::Ciphertext& c) { return c.log_bound; },
      [](double log_bound, rlwe::Ciphertext&& polynomials) {
        if (std::isnan(log_bound)) throw FormatError("the noise of a ciphertext is no number");
        return bgv::Ciphertext({log_bound}, std::move(polynomials));
      });
  bind_babies(s);
  bind_gate_keys(s);
}

}  // namespace bindings
