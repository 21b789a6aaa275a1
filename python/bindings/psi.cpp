// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Private set intersection: plans, the client's keys, sessions, tables, answers.
#include "ringforge/circuits/psi.hpp"
#include "bindings.hpp"
#include "progress.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::fhew;
template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint8_t> view(const nb::bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.c_str()), b.size()};
}
nb::bytes to_bytes(const std::vector<std::uint8_t>& v) {
  return nb::bytes(reinterpret_cast<const char*>(v.data()), v.size());
}

// A copy of rows of 2n words, read-only.
nb::ndarray<nb::numpy, const u64, nb::ndim<3>> rows(const u64* data, std::size_t count, std::size_t n) {
  auto* kept = new std::vector<u64>(data, data + count * 2 * n);
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<u64>*>(p); });
  return nb::ndarray<nb::numpy, const u64, nb::ndim<3>>(kept->data(), {count, 2, n}, owner);
}

// A table over numpy arrays, which it keeps alive.
struct Table {
  PsiPlan plan;
  Flat<u64> offsets;
  Flat<u32> cells;
  std::optional<nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>> words;
  PsiTable table;
};

}  // namespace

void bind_psi(nb::module_& m) {
  auto p = m.def_submodule("psi", "Private set intersection by encrypted table lookup.");

  nb::enum_<PsiAlgorithm>(p, "Algorithm")
      .value("PAPER", PsiAlgorithm::paper)
      .value("RINGFORGE", PsiAlgorithm::ringforge);

  nb::class_<PsiCounts>(p, "Counts", "Operations of one query.")
      .def(nb::init<>())
      .def_ro("ntt", &PsiCounts::ntt)
      .def_ro("intt", &PsiCounts::intt)
      .def_ro("substitution", &PsiCounts::substitution)
      .def_ro("external_product", &PsiCounts::external_product)
      .def_ro("reconstruction", &PsiCounts::reconstruction)
      .def_ro("row", &PsiCounts::row)
      .def(
          "__eq__", [](const PsiCounts& a, const PsiCounts& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));

  nb::class_<PsiPlan>(p, "Plan", "What client and server agree on.")
      .def(
          "__init__",
          [](PsiPlan* self, const std::string& algorithm, unsigned log_n, u64 modulus, unsigned log_bins,
             unsigned cell_bits, unsigned log_cell, unsigned log_t, unsigned log_onehot, const Cut& gadget,
             const std::vector<Cut>& expansion, const std::optional<Cut>& reconstruction, unsigned log_reply,
             const std::string& insecure) {
            if (algorithm != "paper" && algorithm != "ringforge")
              throw ParameterError("algorithm \"" + algorithm + "\"; there are \"paper\" and \"ringforge\"");
            PsiPlan plan;
            plan.algorithm = algorithm == "paper" ? PsiAlgorithm::paper : PsiAlgorithm::ringforge;
            plan.log_n = log_n;
            plan.modulus = modulus;
            plan.log_bins = log_bins;
            plan.cell_bits = cell_bits;
            plan.log_cell = log_cell;
            plan.log_t = log_t;
            plan.log_onehot = log_onehot;
            plan.gadget = gadget;
            plan.expansion = expansion;
            if (reconstruction) plan.reconstruction = *reconstruction;
            plan.log_reply = log_reply;
            plan.insecure = insecure;
            plan.check();
            new (self) PsiPlan(std::move(plan));
          },
          "algorithm"_a, "log_n"_a, "modulus"_a, "log_bins"_a, "cell_bits"_a, "log_cell"_a, "log_t"_a, "log_onehot"_a,
          "gadget"_a, "expansion"_a, "reconstruction"_a = nb::none(), "log_reply"_a = 13, "insecure"_a = "")
      .def_prop_ro("algorithm",
                   [](const PsiPlan& x) { return x.algorithm == PsiAlgorithm::paper ? "paper" : "ringforge"; })
      .def_ro("log_n", &PsiPlan::log_n)
      .def_ro("modulus", &PsiPlan::modulus)
      .def_ro("log_bins", &PsiPlan::log_bins)
      .def_ro("cell_bits", &PsiPlan::cell_bits)
      .def_ro("log_cell", &PsiPlan::log_cell)
      .def_ro("log_t", &PsiPlan::log_t)
      .def_ro("log_onehot", &PsiPlan::log_onehot)
      .def_ro("gadget", &PsiPlan::gadget)
      .def_ro("expansion", &PsiPlan::expansion)
      .def_ro("reconstruction", &PsiPlan::reconstruction)
      .def_ro("log_reply", &PsiPlan::log_reply)
      .def_ro("insecure", &PsiPlan::insecure)
      .def_prop_ro("bins", &PsiPlan::bins)
      .def_prop_ro("cells", &PsiPlan::cells)
      .def_prop_ro("cell_words", &PsiPlan::cell_words)
      .def_prop_ro("outputs", &PsiPlan::outputs)
      .def_prop_ro("rotation_bits", &PsiPlan::rotation_bits)
      .def_prop_ro("tree_bits", &PsiPlan::tree_bits)
      .def_prop_ro("row_bits", &PsiPlan::row_bits)
      .def_prop_ro("rgsw_bits", &PsiPlan::rgsw_bits)
      .def_prop_ro("groups", &PsiPlan::groups)
      .def_prop_ro("replies", &PsiPlan::replies)
      .def_prop_ro("key_rows", &PsiPlan::key_rows)
      .def_prop_ro("key_bytes", &PsiPlan::key_bytes)
      .def_prop_ro("request_bytes", &PsiPlan::request_bytes)
      .def_prop_ro("reply_bytes", &PsiPlan::reply_bytes)
      .def_prop_ro("session_bytes", &PsiPlan::session_bytes)
      .def("query_bytes", &PsiPlan::query_bytes, "threads"_a, "Memory that one query adds to the server.")
      .def("counts", &PsiPlan::counts, "Operations of one query, exactly.")
      .def("variance", &PsiPlan::variance, "entries"_a, "Variance of a reply's error modulo Q.")
      .def("failure_log2", &PsiPlan::failure_log2, "entries"_a,
           "log2 of the probability that a bin's words decode wrongly, at most `entries` cells set in the bin.")
      .def_prop_ro("hash", [](const PsiPlan& x) {
        const auto h = x.hash();
        return nb::bytes(reinterpret_cast<const char*>(h.data()), h.size());
      });

  nb::class_<PsiClientKey>(p, "ClientKey", "A client's secret for one session.")
      .def(
          "__init__",
          [](PsiClientKey* self, const PsiPlan& plan, const std::optional<TestSeed>& seed) {
            Randomness rng = randomness(seed);
            new (self) PsiClientKey(plan, rng);
          },
          "plan"_a, "fixed_seed_for_tests"_a = nb::none(), GilReleased(), "A fresh key.")
      .def(
          "evaluation_keys",
          [](PsiClientKey& k, unsigned threads) {
            std::vector<std::uint8_t> out(k.plan().key_bytes());
            {
              nb::gil_scoped_release release;
              k.evaluation_keys(out.data(), threads);
            }
            return to_bytes(out);
          },
          "threads"_a = 1)
      .def(
          "query",
          [](PsiClientKey& k, const Flat<u32>& cells, unsigned threads) {
            if (cells.size() != k.plan().bins())
              throw ShapeError(std::to_string(cells.size()) + " cells for " + std::to_string(k.plan().bins()) +
                               " bins");
            std::vector<std::uint8_t> out(k.plan().request_bytes());
            {
              nb::gil_scoped_release release;
              k.query(out.data(), cells.data(), threads);
            }
            return to_bytes(out);
          },
          "cells"_a, "threads"_a = 1)
      .def(
          "decode",
          [](const PsiClientKey& k, const nb::bytes& reply) {
            const std::size_t rows = k.plan().bins(), cols = k.plan().cell_words();
            auto* words = new std::vector<std::uint16_t>(rows * cols);
            nb::capsule owner(words, [](void* x) noexcept { delete static_cast<std::vector<std::uint16_t>*>(x); });
            unlocked([&, bytes = view(reply)] { k.decode(words->data(), bytes); });
            return nb::ndarray<nb::numpy, std::uint16_t, nb::ndim<2>>(words->data(), {rows, cols}, owner);
          },
          "reply"_a, "Words of every bin, (bins, s).")
      .def(
          "margins",
          [](const PsiClientKey& k, const nb::bytes& reply) {
            std::vector<std::uint16_t> words(k.plan().bins() * k.plan().cell_words());
            double squares = 0;
            const double worst = unlocked([&, bytes = view(reply)] { return k.decode(words.data(), bytes, &squares); });
            return std::pair(worst, squares);
          },
          "reply"_a,
          "Largest distance of a decoded word from its centre, and the mean square, in words (0.5 is an error).");

  nb::class_<PsiSessionKeys>(p, "SessionKeys", "A client's evaluation keys, checked and expanded.")
      .def(
          "__init__",
          [](PsiSessionKeys* self, const PsiPlan& plan, const nb::bytes& data, unsigned threads) {
            const auto bytes = view(data);
            unlocked([&] { new (self) PsiSessionKeys(plan, bytes, threads); });
          },
          "plan"_a, "data"_a, "threads"_a = 1)
      .def_prop_ro("bytes", &PsiSessionKeys::bytes)
      .def_prop_ro(
          "plan", [](const PsiSessionKeys& k) { return k.plan(); }, "What they were made for.")
      .def(
          "substitution_rows",
          [](const PsiSessionKeys& k, unsigned stage) {
            const PsiPlan& plan = k.plan();
            if (stage >= plan.expansion.size())
              throw ParameterError("stage " + std::to_string(stage) + " of " + std::to_string(plan.expansion.size()));
            return rows(k.substitution(stage), plan.expansion[stage].count, plan.n());
          },
          "stage"_a, "The key of X -> X^(N/2^stage + 1): rows (d, 2, N), a then b, in Eval form.")
      .def(
          "reconstruction_rows",
          [](const PsiSessionKeys& k) {
            const PsiPlan& plan = k.plan();
            return rows(k.reconstruction(), plan.onehot() ? plan.reconstruction.count : 2 * plan.gadget.count,
                        plan.n());
          },
          "RLWE'(z^2), or RGSW(-z) of a plan of the paper: rows (d, 2, N), a then b, in Eval form.");

  nb::class_<Table>(p, "Table", "The server's table, over arrays that it keeps alive.")
      .def(
          "__init__",
          [](Table* self, const PsiPlan& plan, const Flat<u64>& offsets, const Flat<u32>& cells,
             const std::optional<nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>>& words) {
            if (offsets.size() != plan.bins() + 1)
              throw ShapeError("a table of " + std::to_string(plan.bins()) + " bins has one more offset, not " +
                               std::to_string(offsets.size()));
            if (words && (words->shape(0) != cells.size() || words->shape(1) != plan.cell_words()))
              throw ShapeError("words must be (cells, " + std::to_string(plan.cell_words()) + ")");
            const PsiTable table{offsets.data(), cells.data(), words ? words->data() : nullptr, cells.size()};
            unlocked([&] { check_table(plan, table); });
            new (self) Table{plan, offsets, cells, words, table};
          },
          "plan"_a, "offsets"_a, "cells"_a, "words"_a = nb::none());

  p.def(
      "evaluate",
      [](const PsiSessionKeys& keys, const nb::bytes& request, const Table& table, unsigned threads,
         const ProgressCallback& progress, PsiCounts* counts, const std::optional<TestSeed>& seed) {
        if (keys.plan().hash() != table.plan.hash()) throw MismatchError("keys and table belong to different plans");
        const auto report = with_gil(progress);
        std::vector<std::uint8_t> reply;
        {
          nb::gil_scoped_release release;
          Randomness rng = randomness(seed);
          reply = psi_answer(keys, view(request), table.table, threads, report, counts, rng);
        }
        return to_bytes(reply);
      },
      "keys"_a, "request"_a, "table"_a, "threads"_a = 1, "progress"_a = nb::none(), "counts"_a = nb::none(),
      "fixed_seed_for_tests"_a = nb::none(),
      "The reply to one request; a progress callback that returns False cancels.");
  p.def(
      "open_request",
      [](const PsiPlan& plan, const nb::bytes& request) {
        auto* out = new std::vector<u64>(plan.groups() * plan.outputs() * 2 * plan.n());
        nb::capsule owner(out, [](void* x) noexcept { delete static_cast<std::vector<u64>*>(x); });
        unlocked([&, bytes = view(request)] { psi_open_request(out->data(), plan, bytes); });
        return nb::ndarray<nb::numpy, u64, nb::ndim<4>>(out->data(), {plan.groups(), plan.outputs(), 2, plan.n()},
                                                        owner);
      },
      "plan"_a, "request"_a, "A request's ciphertexts: (groups, outputs, 2, N), a then b, in Eval form.");
  p.def(
      "seal_reply",
      [](const PsiSessionKeys& keys, const nb::ndarray<const u64, nb::ndim<3>, nb::c_contig, nb::device::cpu>& results,
         const std::optional<TestSeed>& seed) {
        const PsiPlan& plan = keys.plan();
        if (results.shape(0) != plan.replies() || results.shape(1) != 2 || results.shape(2) != plan.n())
          throw ShapeError("packed results are (" + std::to_string(plan.replies()) + ", 2, " +
                           std::to_string(plan.n()) + ")");
        std::vector<std::uint8_t> reply;
        {
          nb::gil_scoped_release release;
          Randomness rng = randomness(seed);
          reply = psi_seal_reply(keys, results.data(), rng);
        }
        return to_bytes(reply);
      },
      "keys"_a, "results"_a, "fixed_seed_for_tests"_a = nb::none(),
      "The reply of packed results (replies, 2, N), coefficients: masked, and switched to the reply's modulus.");
  p.def(
      "part_results", [](const PsiPlan& plan, unsigned depth) { return psi_part_results(plan, depth); }, "plan"_a,
      "depth"_a, "Packed results of a part of a query.");
  p.def(
      "cut_request",
      [](const PsiPlan& plan, const nb::bytes& request) {
        std::vector<nb::bytes> out;
        for (const auto& x : unlocked([&, bytes = view(request)] { return psi_cut_request(plan, bytes); }))
          out.push_back(to_bytes(x));
        return out;
      },
      "plan"_a, "request"_a, "What the parts of each group need of a request.");
  p.def(
      "evaluate_part",
      [](const PsiSessionKeys& keys, const nb::bytes& rows, const Flat<u64>& offsets, const Flat<u32>& cells,
         const std::optional<nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>>& words,
         std::size_t group, unsigned depth, std::size_t prefix, unsigned threads, const ProgressCallback& progress,
         PsiCounts* counts) {
        const PsiPlan& plan = keys.plan();
        if (depth > plan.stages() || group >= plan.groups() || prefix >> depth != 0)
          throw ShapeError("part " + std::to_string(prefix) + " of 2^" + std::to_string(depth) + " of group " +
                           std::to_string(group) + ", where the plan has " + std::to_string(plan.groups()) +
                           " groups of 2^" + std::to_string(plan.stages()) + " bins");
        const PsiPart part{group, depth, prefix};
        if (offsets.size() != part.bins(plan) + 1)
          throw ShapeError("a part of " + std::to_string(part.bins(plan)) + " bins has one more offset, not " +
                           std::to_string(offsets.size()));
        if (words && (words->shape(0) != cells.size() || words->shape(1) != plan.cell_words()))
          throw ShapeError("words must be (cells, " + std::to_string(plan.cell_words()) + ")");
        const PsiTable table{offsets.data(), cells.data(), words ? words->data() : nullptr, cells.size()};
        const auto report = with_gil(progress);
        const std::size_t results = psi_part_results(plan, depth);
        auto* out = new std::vector<u64>(results * 2 * plan.n());
        nb::capsule owner(out, [](void* x) noexcept { delete static_cast<std::vector<u64>*>(x); });
        unlocked([&, bytes = view(rows)] {
          check_table(plan, table, part.bins(plan));
          psi_answer_part(out->data(), keys, bytes, table, part, threads, report, counts);
        });
        return nb::ndarray<nb::numpy, u64, nb::ndim<3>>(out->data(), {results, 2, plan.n()}, owner);
      },
      "keys"_a, "rows"_a, "offsets"_a, "cells"_a, "words"_a, "group"_a, "depth"_a, "prefix"_a, "threads"_a = 1,
      "progress"_a = nb::none(), "counts"_a = nb::none(),
      "Packed results of a part of a query, (results, 2, N), coefficients: of the bins of a group whose numbers end in "
      "the bits `prefix`, which the table has alone, in order; a progress callback that returns False cancels.");
  p.def(
      "join_parts",
      [](const PsiSessionKeys& keys, const nb::ndarray<const u64, nb::ndim<4>, nb::c_contig, nb::device::cpu>& parts,
         unsigned depth, PsiCounts* counts) {
        const PsiPlan& plan = keys.plan();
        if (depth > plan.stages() || parts.shape(0) != plan.groups() << depth ||
            parts.shape(1) != psi_part_results(plan, depth) || parts.shape(2) != 2 || parts.shape(3) != plan.n())
          throw ShapeError("results of parts are (groups * 2^depth, part_results, 2, N)");
        auto* out = new std::vector<u64>(plan.replies() * 2 * plan.n());
        nb::capsule owner(out, [](void* x) noexcept { delete static_cast<std::vector<u64>*>(x); });
        unlocked([&] {
          for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts.data()[i] >= plan.modulus)
              throw ValueError("coefficient " + std::to_string(parts.data()[i]) + " is not below the plan's modulus");
          psi_join_parts(out->data(), keys, parts.data(), depth, counts);
        });
        return nb::ndarray<nb::numpy, u64, nb::ndim<3>>(out->data(), {plan.replies(), 2, plan.n()}, owner);
      },
      "keys"_a, "parts"_a, "depth"_a, "counts"_a = nb::none(),
      "The packed results of a query, (replies, 2, N), of those of its parts, (groups * 2^depth, results, 2, N).");
}

}  // namespace bindings
