// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/matvec.hpp"

#include <array>
#include <limits>
#include <optional>
#include <span>

#include "bindings.hpp"
#include "pair_views.hpp"
#include "progress.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::ckks;
using namespace ringforge::linear;

Matvec::Scaling scaling(double input, double output, double input_bound, bool fresh, std::optional<double> promised) {
  return {input, output, input_bound, fresh, promised.value_or(std::numeric_limits<double>::infinity())};
}

}  // namespace

void bind_matvec(nb::module_& m) {
  nb::enum_<Span>(m, "Span").value("spread", Span::spread).value("compact", Span::compact);
  nb::enum_<Algorithm>(m, "Algorithm")
      .value("diagonal", Algorithm::diagonal)
      .value("horner", Algorithm::horner)
      .value("bsgs", Algorithm::bsgs);
  nb::class_<ColumnBlock>(m, "ColumnBlock", "Columns of a plan that one input ciphertext has.")
      .def_ro("first", &ColumnBlock::first)
      .def_ro("count", &ColumnBlock::count)
      .def_ro("period", &ColumnBlock::period)
      .def_ro("diagonals", &ColumnBlock::diagonals);
  nb::class_<Packing>(m, "Packing", "Where matrix entries and results sit in slots.")
      .def(nb::init<std::size_t, std::size_t, std::size_t, Span, std::size_t>(), "rows"_a, "cols"_a, "slots"_a,
           "span"_a, "input_period"_a = 0, GilReleased())
      .def_prop_ro("rows", &Packing::rows)
      .def_prop_ro("cols", &Packing::cols)
      .def_prop_ro("slots", &Packing::slots)
      .def_prop_ro("row_period", &Packing::row_period)
      .def_prop_ro("row_blocks", &Packing::row_blocks)
      .def_prop_ro("span", &Packing::span)
      .def_prop_ro("blocks", &Packing::blocks)
      .def_prop_ro("diagonals", &Packing::diagonals)
      .def_prop_ro("folds", &Packing::folds)
      .def(
          "columns",
          [](const Packing& p, std::size_t block) {
            if (block >= p.blocks().size()) throw nb::index_error();
            std::vector<i64> c(p.slots());
            for (std::size_t s = 0; s < c.size(); ++s) c[s] = static_cast<i64>(p.column(block, s));
            return to_numpy<i64>(c.data(), c.size());
          },
          "block"_a, "Column held by each slot of an input; `cols` where it holds zero.");
  nb::class_<Term>(m, "Term", "One product of a plan: a diagonal times a rotated input.")
      .def_ro("row_block", &Term::row_block)
      .def_ro("block", &Term::block)
      .def_ro("index", &Term::index)
      .def_ro("baby", &Term::baby)
      .def_ro("giant", &Term::giant)
      .def_ro("shift", &Term::shift);
  nb::class_<Plan>(m, "Plan", "A packing with an algorithm.")
      .def(nb::init<Packing, Algorithm, std::size_t>(), "packing"_a, "algorithm"_a, "baby"_a = 1, GilReleased())
      .def_prop_ro("packing", &Plan::packing)
      .def_prop_ro("algorithm", &Plan::algorithm)
      .def_prop_ro("baby", &Plan::baby)
      .def_prop_ro("giants", &Plan::giants)
      .def_prop_ro("terms", &Plan::terms)
      .def_prop_ro("keys", [](const Plan& p) {
        std::vector<std::pair<std::size_t, unsigned>> out;
        for (const auto& k : p.keys()) out.emplace_back(k.step, k.stage);
        return out;
      });
  nb::class_<MatvecCost>(m, "MatvecCost", "What a plan costs at a level: operations of one run, and bytes.")
      .def_ro("ops", &MatvecCost::ops)
      .def_ro("keys", &MatvecCost::keys)
      .def_ro("key_storage", &MatvecCost::key_storage)
      .def_ro("plaintext_storage", &MatvecCost::plaintext_storage)
      .def_ro("working", &MatvecCost::working)
      .def_ro("weight", &MatvecCost::weight);
  nb::class_<Matvec::Sums>(m, "MatvecSums", "What predictions need of a matrix and its bias.")
      .def(
          "__init__",
          [](Matvec::Sums* self, double bound, double square, double norm, double rotated_norm) {
            new (self) Matvec::Sums{bound, square, norm, rotated_norm};
          },
          "bound"_a, "square"_a, "norm"_a, "rotated_norm"_a)
      .def_ro("bound", &Matvec::Sums::bound, "Of results.")
      .def_ro("square", &Matvec::Sums::square, "Largest sum of squares over the diagonals of one slot.")
      .def_ro("norm", &Matvec::Sums::norm, "Square of the operator norm.")
      .def_ro("rotated_norm", &Matvec::Sums::rotated_norm, "The same with columns split by rotation and slot.");
  nb::class_<Matvec>(m, "Matvec", "A matrix encoded for one plan and level.")
      .def(
          "__init__",
          [](Matvec* self, std::shared_ptr<Context> ctx, const Plan& plan, std::size_t level, std::size_t batch) {
            new (self) Matvec(ctx, plan, level, batch);
          },
          "context"_a, "plan"_a, "level"_a, "batch"_a = 1, GilReleased())
      .def(
          "encode",
          [](Matvec& self, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> matrix,
             const Doubles& bias, double input_scale, double output_scale, double input_bound, bool fresh_inputs,
             unsigned threads, const ProgressCallback& progress, std::optional<double> promised) {
            const auto& packing = self.plan().packing();
            if (matrix.shape(0) != packing.rows() || matrix.shape(1) != packing.cols())
              throw ShapeError("the matrix is " + std::to_string(matrix.shape(0)) + " x " +
                               std::to_string(matrix.shape(1)) + ", the plan is for " + std::to_string(packing.rows()) +
                               " x " + std::to_string(packing.cols()));
            const auto report = with_gil(progress);
            nb::gil_scoped_release release;
            self.encode(std::span(matrix.data(), matrix.size()), std::span(bias.data(), bias.size()),
                        scaling(input_scale, output_scale, input_bound, fresh_inputs, promised), threads, report);
          },
          "matrix"_a, "bias"_a, "input_scale"_a, "output_scale"_a, "input_bound"_a, "fresh_inputs"_a, "threads"_a = 1,
          "progress"_a = nb::none(), "promised"_a = nb::none())
      .def(
          "run",
          [](const Matvec& self, const std::vector<Ciphertext>& inputs, const GaloisKeys& keys, unsigned threads) {
            return self.run(inputs, keys, threads);
          },
          "inputs"_a, "keys"_a, "threads"_a = 1, GilReleased())
      .def(
          "check_inputs", [](const Matvec& self, const std::vector<Ciphertext>& inputs) { self.check_inputs(inputs); },
          "inputs"_a, GilReleased(), "Raises what `run` would raise for these inputs.")
      .def(
          "assemble",
          [](const Matvec& self, const std::vector<Ciphertext>& inputs,
             const std::vector<std::vector<std::vector<Words>>>& parts) {
            const PairViews views = pair_views(parts);
            return unlocked([&] { return self.assemble(inputs, views); });
          },
          "inputs"_a, "parts"_a,
          "Ciphertexts from residues that another machine computed: parts[row block][part][limb].")
      .def(
          "term_limb",
          [](const Matvec& self, std::size_t term, std::size_t limb) {
            const std::size_t degree = self.degree();
            auto* words = new u64[degree];
            nb::capsule owner(words, [](void* p) noexcept { delete[] static_cast<u64*>(p); });
            unlocked([&] { self.copy_term(term, limb, {words, degree}); });
            return nb::ndarray<nb::numpy, u64, nb::ndim<1>>(words, {degree}, owner);
          },
          "term"_a, "limb"_a, "One limb of an encoded product of the plan.")
      .def_prop_ro("bias", &Matvec::bias, "The encoded bias of each row block, or an empty list.")
      .def_prop_ro("required_keys", &Matvec::required_keys)
      .def_prop_ro("storage", &Matvec::storage)
      .def_prop_ro("level", &Matvec::level)
      .def_prop_ro("plan", &Matvec::plan)
      .def_static(
          "sums",
          [](const Plan& plan, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> matrix,
             const Doubles& bias, double input_bound) {
            const std::span<const double> entries(matrix.data(), matrix.size()), added(bias.data(), bias.size());
            nb::gil_scoped_release release;
            return Matvec::rounded_up(Matvec::sums(plan, entries, added, input_bound));
          },
          "plan"_a, "matrix"_a, "bias"_a, "input_bound"_a, "Rounded up to powers of 2^(1/4), as programs state them.")
      .def_static(
          "describe",
          [](std::shared_ptr<Context> ctx, const Plan& plan, std::size_t level, double input_scale, double output_scale,
             double input_bound, bool fresh_inputs, const Matvec::Sums& sums, const Metadata& input,
             std::optional<double> promised) {
            const std::array<const Metadata*, 1> inputs{&input};
            return Matvec::describe(ctx, plan, level,
                                    scaling(input_scale, output_scale, input_bound, fresh_inputs, promised), sums,
                                    inputs);
          },
          "context"_a, "plan"_a, "level"_a, "input_scale"_a, "output_scale"_a, "input_bound"_a, "fresh_inputs"_a,
          "sums"_a, "input"_a, "promised"_a = nb::none(),
          "Metadata of the results for inputs that are all as this one.")
      .def_static(
          "cost",
          [](std::shared_ptr<Context> ctx, const Plan& plan, std::size_t level) {
            return Matvec::cost(*ctx, plan, level);
          },
          "context"_a, "plan"_a, "level"_a, GilReleased());
}

}  // namespace bindings
