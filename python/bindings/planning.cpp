// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What planners ask: metadata without ciphertexts, costs without runs.
#include <nanobind/stl/map.h>

#include "bindings.hpp"
#include "ringforge/circuits/cost.hpp"
#include "ringforge/circuits/matrix_plan.hpp"
#include "ringforge/linear/baby_steps.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::ckks;
using rlwe::GadgetShape;

using Steps = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sizes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Terms = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<std::size_t> sizes(const Sizes& a) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a.data()[i] < 0) throw ShapeError("numbers of slots and terms are not negative");
  return {a.data(), a.data() + a.size()};
}

OutlineSide side(std::size_t bases, const Terms& terms, const Sizes& first) {
  if (terms.shape(1) != 4) throw ShapeError("a term is base, step, period, size");
  OutlineSide out{{}, sizes(first), bases};
  for (std::size_t i = 0; i < terms.shape(0); ++i) {
    const std::int64_t* t = terms.data() + 4 * i;
    auto& term = out.terms.emplace_back(OutlineTerm{static_cast<std::size_t>(t[0]), static_cast<std::size_t>(t[1]),
                                                    static_cast<std::size_t>(t[2]), std::nullopt});
    if (t[3] >= 0) term.size = static_cast<std::size_t>(t[3]);
  }
  return out;
}

}  // namespace

void bind_planning(nb::module_& m) {
  nb::class_<Metadata>(m, "Metadata", "What is known of a ciphertext apart from its polynomials.")
      .def_ro("scale", &Metadata::scale)
      .def_ro("variance", &Metadata::variance, "Predicted, of each error coefficient.")
      .def_ro("spread", &Metadata::spread)
      .def_ro("bound", &Metadata::bound, "Declared, of slots.")
      .def_ro("float_error", &Metadata::float_error, "Bound of what double precision has done to any slot.");
  m.def(
      "error_bound", [](const Metadata& known, std::size_t degree) { return error_bound(known, degree); }, "metadata"_a,
      "degree"_a, "Bound of |decrypted slot - exact slot| (probability of more: 2^-40), double precision included.");
  m.def("encoding_error", &encoding_error, "degree"_a, "Of encoding, relative to the largest value.");
  m.def("decoding_error", &decoding_error, "degree"_a, "Of decoding, relative to the largest value.");
  nb::class_<MetadataRules>(m, "MetadataRules", "What operations make of metadata; `limbs` are the operand's.")
      .def(
          "__init__",
          [](MetadataRules* self, std::shared_ptr<Context> ctx) { new (self) MetadataRules(std::move(ctx)); },
          "context"_a)
      .def("encrypted", &MetadataRules::encrypted, "scale"_a, "bound"_a, "public_key"_a)
      .def("sum", &MetadataRules::sum, "a"_a, "b"_a)
      .def("plain_sum", &MetadataRules::plain_sum, "a"_a, "scale"_a, "bound"_a)
      .def("number_sum", &MetadataRules::number_sum, "a"_a, "value"_a)
      .def("number_product", &MetadataRules::number_product, "a"_a, "value"_a, "scale"_a)
      .def("read_as", &MetadataRules::read_as, "a"_a, "scale"_a, "bound"_a)
      .def("product", &MetadataRules::product, "a"_a, "b"_a)
      .def("switched", &MetadataRules::switched, "a"_a, "limbs"_a)
      .def("rescaled", &MetadataRules::rescaled, "a"_a, "limbs"_a, "parts"_a = 2)
      .def("replicated", &MetadataRules::replicated, "a"_a, "limbs"_a, "times"_a)
      .def("doubled_real", &MetadataRules::doubled_real, "a"_a, "limbs"_a)
      .def("squared", &MetadataRules::squared, "a"_a, "limbs"_a);

  nb::class_<GadgetShape>(m, "GadgetShape", "N, special primes, and limbs of a digit: what costs depend on.")
      .def(
          "__init__",
          [](GadgetShape* self, std::size_t degree, std::size_t special, std::size_t alpha) {
            if (degree < 2 || alpha < 1) throw ParameterError("a ring has two coefficients at least, a digit a limb");
            new (self) GadgetShape{degree, special, alpha};
          },
          "degree"_a, "special"_a, "alpha"_a)
      .def_ro("degree", &GadgetShape::degree)
      .def_ro("special", &GadgetShape::special)
      .def_ro("alpha", &GadgetShape::alpha)
      .def("digits", &GadgetShape::digits, "limbs"_a)
      .def("extended", &GadgetShape::extended, "limbs"_a)
      .def("key_bytes", &GadgetShape::key_bytes, "limbs"_a, "Bytes of a switching key.")
      .def(
          "step_weights",
          [](const GadgetShape& g, std::size_t limbs) {
            const auto w = step_weights(g, limbs);
            return std::pair(w.baby, w.giant);
          },
          "limbs"_a, "Weights of a baby step and of a giant step of a transform.")
      .def(
          "__eq__", [](const GadgetShape& a, const GadgetShape& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const GadgetShape& g) { return g.degree * 64 + g.special * 8 + g.alpha; });

  nb::class_<Work, OpCounts>(m, "Work", "Counts, with limbs multiplied and added, and converted between bases.")
      .def(nb::init<>())
      .def_ro("multiplied", &Work::multiplied)
      .def_ro("converted", &Work::converted)
      .def(
          "__add__", [](Work a, const Work& b) { return a += b; },
          nb::sig("def __add__(self, arg: OpCounts, /) -> Work"))
      .def("weight", [](const Work& w, const GadgetShape& g) { return weight(g, w); }, "gadget"_a);
  nb::class_<Tally>(m, "Tally", "Counts of operations, their keys and memory, as they are named one by one.")
      .def(nb::init<const GadgetShape&, bool>(), "gadget"_a, "compact"_a = false)
      .def_prop_ro("gadget", &Tally::gadget)
      .def_rw("work", &Tally::work)
      .def_ro("keys", &Tally::keys, "Limbs of the key of each rotation step.")
      .def_rw("storage", &Tally::storage, "Bytes of encoded vectors.")
      .def_ro("working", &Tally::working, "Bytes of ciphertexts and temporaries, at most.")
      .def_rw("compact", &Tally::compact)
      .def("mod_up", &Tally::mod_up, "limbs"_a)
      .def("mod_down", &Tally::mod_down, "gone"_a, "kept"_a, "times"_a)
      .def("key_switch", &Tally::key_switch, "limbs"_a, "step"_a.none())
      .def("rotate", &Tally::rotate, "limbs"_a, "step"_a)
      .def("multiplied", &Tally::multiplied, "limbs"_a)
      .def("need", &Tally::need, "limbs"_a)
      .def(
          "transform",
          [](Tally& self, const Steps& steps, const Steps& babies, const Sizes& periods, std::size_t slots,
             std::size_t limbs, Schedule schedule) {
            return self.transform({steps.data(), steps.size()}, {babies.data(), babies.size()}, sizes(periods), slots,
                                  limbs, schedule);
          },
          "steps"_a, "babies"_a, "periods"_a, "slots"_a, "limbs"_a, "schedule"_a,
          "A linear transform; returns the bytes of its diagonals.")
      .def(
          "pair_sum",
          [](Tally& self, std::size_t left_bases, const Terms& left, const Sizes& left_first, std::size_t right_bases,
             const Terms& right, const Sizes& right_first,
             const std::vector<std::pair<std::size_t, std::size_t>>& groups, std::size_t slots, std::size_t base,
             std::size_t product, std::size_t unit) {
            self.pair_sum(side(left_bases, left, left_first), side(right_bases, right, right_first), groups, slots,
                          base, product, unit);
          },
          "left_bases"_a, "left"_a, "left_first"_a, "right_bases"_a, "right"_a, "right_first"_a, "groups"_a, "slots"_a,
          "base"_a, "product"_a, "unit"_a,
          "A sum of products: terms are (base, step, period, size or -1), groups (outer rotation, pairs).");

  m.def(
      "baby_steps",
      [](const Steps& steps, std::size_t slots, const std::vector<std::pair<std::int64_t, std::int64_t>>& generators,
         double giant_cost) {
        std::vector<linear::Progression> progressions;
        for (const auto& [stride, count] : generators)
          progressions.push_back({stride, static_cast<std::size_t>(std::max<std::int64_t>(count, 0))});
        const auto made =
            unlocked([&] { return linear::baby_steps({steps.data(), steps.size()}, slots, progressions, giant_cost); });
        return to_numpy(made.data(), made.size());
      },
      "steps"_a, "slots"_a, "generators"_a, "giant_cost"_a,
      "The baby step of each diagonal. Generators are (stride, count); a giant step costs so many baby steps.");

  nb::class_<MatrixPlan>(m, "MatrixPlan", "A plan of the C++ library for one product of two encrypted matrices.")
      .def_ro("label", &MatrixPlan::label)
      .def_ro("level", &MatrixPlan::level, "Of the inputs.")
      .def_prop_ro("depth", &MatrixPlan::depth)
      .def_ro("stride", &MatrixPlan::stride, "Slots between columns of the result.")
      .def_ro("products", &MatrixPlan::products)
      .def_ro("work", &MatrixPlan::work)
      .def_ro("weight", &MatrixPlan::weight)
      .def_ro("key_storage", &MatrixPlan::key_storage)
      .def_ro("plaintext_storage", &MatrixPlan::plaintext_storage)
      .def_ro("working", &MatrixPlan::working)
      .def(
          "transforms",
          [](const MatrixPlan& p, bool left) {
            std::vector<std::pair<linear::Diagonals, std::vector<std::uint32_t>>> out;
            for (const auto& t : (left ? p.left : p.right).transforms) out.emplace_back(t.map, t.babies);
            return out;
          },
          "left"_a, "The maps of an operand and the baby step of each of their diagonals.")
      .def(
          "copies", [](const MatrixPlan& p, bool left) { return (left ? p.left : p.right).copies; }, "left"_a,
          "Rotations that follow the transforms.");
  m.def(
      "plan_matrix_product",
      [](const std::shared_ptr<ckks::Context>& context, std::size_t rows, std::size_t inner, std::size_t columns,
         std::optional<std::size_t> level) { return plan_matrix_product(*context, {rows, inner, columns}, level); },
      "context"_a, "m"_a, "l"_a, "n"_a, "level"_a = nb::none(), GilReleased(),
      "How the C++ library multiplies an m x l matrix by an l x n one.");
}

}  // namespace bindings
