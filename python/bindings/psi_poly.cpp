// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Private set intersection by polynomials: plans, the client's key, sessions, tables, answers.
#include "ringforge/circuits/psi_poly.hpp"
#include "bindings.hpp"
#include "progress.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;
template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Filled = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows32 = nb::ndarray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint8_t> view(const nb::bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.c_str()), b.size()};
}
nb::bytes to_bytes(const std::vector<std::uint8_t>& v) {
  return nb::bytes(reinterpret_cast<const char*>(v.data()), v.size());
}

void check_size(const char* what, std::size_t size, std::size_t wanted) {
  if (size != wanted)
    throw ShapeError(std::string(what) + " have " + std::to_string(size) + " words, the plan has " +
                     std::to_string(wanted));
}

std::size_t sub_bins(const PsiPolyPlan& plan) { return std::size_t{plan.columns} * plan.bundles * plan.column_bins(); }
std::size_t bundles(const PsiPolyPlan& plan) { return std::size_t{plan.columns} * plan.bundles; }
std::size_t label_words(const PsiPolyPlan& plan) { return std::size_t{plan.label_words} * plan.felts; }

PsiPolyMembers members_of(const PsiPolyPlan& plan, const Filled<std::uint16_t>& counts, const Filled<u32>& roots,
                          const Filled<u32>& labels) {
  check_size("counts", counts.size(), sub_bins(plan));
  check_size("roots", roots.size(), sub_bins(plan) * plan.degree * plan.felts);
  check_size("labels", labels.size(), sub_bins(plan) * plan.degree * label_words(plan));
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts.data()[i] > plan.degree) throw FormatError("a sub-bin has more elements than the plan's degree");
  return {counts.data(), roots.data(), plan.label_words > 0 ? labels.data() : nullptr};
}

// Elements to insert or remove.
void check_elements(const PsiPolyPlan& plan, const Flat<u32>& bins, const Rows32& felts) {
  if (felts.shape(0) != bins.size() || felts.shape(1) != plan.felts)
    throw ShapeError("residues must be (" + std::to_string(bins.size()) + ", " + std::to_string(plan.felts) + ")");
}

// A plan as Python has it: what is derived from it is shared by all that is made with it.
struct PolyPlan {
  PsiPolyContextPtr context;
  const PsiPolyPlan& operator*() const { return context->plan(); }
  const PsiPolyPlan* operator->() const { return &context->plan(); }
};

struct PolyTable {
  PolyPlan plan;
  Flat<std::uint16_t> counts;
  Flat<u64> plain;
  PsiPolyTable table;
};

}  // namespace

void bind_psi_poly(nb::module_& m) {
  auto p = m.def_submodule("psi_poly", "Private set intersection by polynomials.");
  p.attr("BLOCK") = kPsiPolyBlock;

  nb::class_<PsiPolyCounts>(p, "Counts", "Operations of one query.")
      .def(nb::init<>())
      .def_ro("product", &PsiPolyCounts::product)
      .def_ro("relinearization", &PsiPolyCounts::relinearization)
      .def_ro("row", &PsiPolyCounts::row)
      .def_ro("reply", &PsiPolyCounts::reply)
      .def(
          "__eq__", [](const PsiPolyCounts& a, const PsiPolyCounts& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));

  nb::class_<PolyPlan>(p, "Plan", "What client and server agree on.")
      .def(
          "__init__",
          [](PolyPlan* self, unsigned log_n, u64 t, const std::vector<u64>& q, const std::vector<u64>& special,
             const std::vector<unsigned>& sources, unsigned degree, unsigned felts, unsigned columns, unsigned bundles,
             unsigned words, unsigned plain_limbs, unsigned reply_bits, unsigned reply_drop,
             const std::string& insecure) {
            new (self) PolyPlan{unlocked([&] {
              return std::make_shared<const PsiPolyContext>(PsiPolyPlan{log_n, t, q, special, sources, degree, felts,
                                                                        columns, bundles, words, plain_limbs,
                                                                        reply_bits, reply_drop, insecure});
            })};
          },
          "log_n"_a, "t"_a, "q"_a, "p"_a, "sources"_a, "degree"_a, "felts"_a, "columns"_a = 1, "bundles"_a = 1,
          "label_words"_a = 0, "plain_limbs"_a = 1, "reply_bits"_a = 32, "reply_drop"_a = 0, "insecure"_a = "")
      .def_prop_ro("log_n", [](const PolyPlan& x) { return x->log_n; })
      .def_prop_ro("t", [](const PolyPlan& x) { return x->t; })
      .def_prop_ro("q", [](const PolyPlan& x) { return x->q; })
      .def_prop_ro("p", [](const PolyPlan& x) { return x->p; })
      .def_prop_ro("sources", [](const PolyPlan& x) { return x->sources; })
      .def_prop_ro("degree", [](const PolyPlan& x) { return x->degree; })
      .def_prop_ro("felts", [](const PolyPlan& x) { return x->felts; })
      .def_prop_ro("columns", [](const PolyPlan& x) { return x->columns; })
      .def_prop_ro("bundles", [](const PolyPlan& x) { return x->bundles; })
      .def_prop_ro("label_words", [](const PolyPlan& x) { return x->label_words; })
      .def_prop_ro("plain_limbs", [](const PolyPlan& x) { return x->plain_limbs; })
      .def_prop_ro("reply_bits", [](const PolyPlan& x) { return x->reply_bits; })
      .def_prop_ro("reply_drop", [](const PolyPlan& x) { return x->reply_drop; })
      .def_prop_ro("insecure", [](const PolyPlan& x) { return x->insecure; })
      .def_prop_ro("bins", [](const PolyPlan& x) { return x->bins(); })
      .def_prop_ro("column_bins", [](const PolyPlan& x) { return x->column_bins(); })
      .def_prop_ro("word_bits", [](const PolyPlan& x) { return x->word_bits(); })
      .def_prop_ro(
          "label_bytes", [](const PolyPlan& x) { return x->label_bytes(); }, "Bytes of a label, at most.")
      .def_prop_ro("replies", [](const PolyPlan& x) { return x->replies(); })
      .def_prop_ro("depth", [](const PolyPlan& x) { return x->depth(); })
      .def_prop_ro("key_bytes", [](const PolyPlan& x) { return x->key_bytes(); })
      .def_prop_ro("request_bytes", [](const PolyPlan& x) { return x->request_bytes(); })
      .def_prop_ro("reply_bytes", [](const PolyPlan& x) { return x->reply_bytes(); })
      .def_prop_ro("session_bytes", [](const PolyPlan& x) { return x->session_bytes(); })
      .def(
          "query_bytes", [](const PolyPlan& x, unsigned) { return x->query_bytes(); }, "threads"_a = 1,
          "Memory that one query adds to the server.")
      .def(
          "counts", [](const PolyPlan& x) { return x->counts(); }, "Operations of one query, of full sub-bins.")
      .def_prop_ro(
          "budget", [](const PolyPlan& x) { return x->budget(); },
          "Bits left before a reply decrypts wrongly with more than 2^-40.")
      .def(
          "false_positive_log2", [](const PolyPlan& x, u64 n) { return x->false_positive_log2(n); }, "elements"_a,
          "log2 of the probability, at most, that an element which the server has not is reported.")
      .def_prop_ro(
          "steps",
          [](const PolyPlan& x) {
            std::vector<std::array<unsigned, 4>> out;
            for (const auto& s : x.context->steps()) out.push_back({s.power, s.left, s.right, s.depth});
            return out;
          },
          "How powers are made: (power, left, right, depth).")
      .def_prop_ro("hash", [](const PolyPlan& x) {
        const auto& h = x.context->hash();
        return nb::bytes(reinterpret_cast<const char*>(h.data()), h.size());
      });

  nb::class_<PsiPolyClientKey>(p, "ClientKey", "A client's secret for one session.")
      .def(
          "__init__",
          [](PsiPolyClientKey* self, const PolyPlan& plan, const std::optional<TestSeed>& seed) {
            Randomness rng = randomness(seed);
            unlocked([&] { new (self) PsiPolyClientKey(plan.context, std::move(rng)); });
          },
          "plan"_a, "fixed_seed_for_tests"_a = nb::none(), "A fresh key.")
      .def(
          "evaluation_keys",
          [](PsiPolyClientKey& k, unsigned threads) {
            return to_bytes(unlocked([&] { return k.evaluation_keys(threads); }));
          },
          "threads"_a = 1, "A relinearisation key; another one at every call.")
      .def(
          "query",
          [](PsiPolyClientKey& k, const Rows32& felts, unsigned threads) {
            if (felts.shape(0) != k.plan().bins() || felts.shape(1) != k.plan().felts)
              throw ShapeError("a query takes residues (" + std::to_string(k.plan().bins()) + ", " +
                               std::to_string(k.plan().felts) + ")");
            return to_bytes(unlocked([&] { return k.query(felts.data(), threads); }));
          },
          "felts"_a, "threads"_a = 1)
      .def(
          "decode",
          [](const PsiPolyClientKey& k, const nb::bytes& reply, unsigned threads) {
            const PsiPolyPlan& x = k.plan();
            auto* values = new std::vector<u32>(std::size_t{x.bundles} * x.polys() * x.bins() * x.felts);
            nb::capsule owner(values, [](void* v) noexcept { delete static_cast<std::vector<u32>*>(v); });
            unlocked([&, bytes = view(reply)] { k.decode(values->data(), bytes, threads); });
            return nb::ndarray<nb::numpy, u32, nb::ndim<4>>(values->data(), {x.bundles, x.polys(), x.bins(), x.felts},
                                                            owner);
          },
          "reply"_a, "threads"_a = 1, "Values of every polynomial, (bundles, 1 + label_words, bins, felts).")
      .def(
          "margin",
          [](const PsiPolyClientKey& k, const nb::bytes& reply) {
            const PsiPolyPlan& x = k.plan();
            std::vector<u32> values(std::size_t{x.bundles} * x.polys() * x.bins() * x.felts);
            double margin = 0;
            unlocked([&, bytes = view(reply)] { k.decode(values.data(), bytes, 1, &margin); });
            return margin;
          },
          "reply"_a, "Largest distance of a decoded coefficient from its centre (0.5 is an error).");

  nb::class_<PsiPolySessionKeys>(p, "SessionKeys", "A client's evaluation key, checked and expanded.")
      .def(
          "__init__",
          [](PsiPolySessionKeys* self, const PolyPlan& plan, const nb::bytes& data, unsigned threads) {
            const auto bytes = view(data);
            unlocked([&] { new (self) PsiPolySessionKeys(plan.context, bytes, threads); });
          },
          "plan"_a, "data"_a, "threads"_a = 1)
      .def_prop_ro("bytes", &PsiPolySessionKeys::bytes)
      .def_prop_ro(
          "plan", [](const PsiPolySessionKeys& k) { return PolyPlan{k.context()}; }, "What they were made for.");

  nb::class_<PolyTable>(p, "Table", "The server's table, over flat arrays that it keeps alive.")
      .def(
          "__init__",
          [](PolyTable* self, const PolyPlan& plan, const Flat<std::uint16_t>& counts, const Flat<u64>& plain) {
            check_size("counts", counts.size(), sub_bins(*plan));
            check_size("coefficients", plain.size(), bundles(*plan) * psi_poly_bundle_words(*plan));
            const PsiPolyTable table{counts.data(), plain.data()};
            unlocked([&] { check_table(*plan, table); });
            new (self) PolyTable{plan, counts, plain, table};
          },
          "plan"_a, "counts"_a, "plain"_a);

  p.def(
      "insert",
      [](const PolyPlan& plan, const Filled<std::uint16_t>& counts, const Filled<u32>& roots, const Filled<u32>& labels,
         const Flat<u32>& bins, const Rows32& felts, const Rows32& words, const Filled<std::uint8_t>& touched) {
        const PsiPolyMembers members = members_of(*plan, counts, roots, labels);
        check_elements(*plan, bins, felts);
        if (words.shape(1) != label_words(*plan) || (label_words(*plan) > 0 && words.shape(0) != bins.size()))
          throw ShapeError("label words must be (elements, " + std::to_string(label_words(*plan)) + ")");
        check_size("touched bundles", touched.size(), bundles(*plan));
        unlocked([&] {
          psi_poly_insert(*plan, members, bins.data(), felts.data(), words.data(), bins.size(), touched.data());
        });
      },
      "plan"_a, "counts"_a, "roots"_a, "labels"_a, "bins"_a, "felts"_a, "words"_a, "touched"_a,
      "Puts elements into sub-bins, in place; marks the bundles that changed.");
  p.def(
      "remove",
      [](const PolyPlan& plan, const Filled<std::uint16_t>& counts, const Filled<u32>& roots, const Filled<u32>& labels,
         const Flat<u32>& bins, const Rows32& felts, const Filled<std::uint8_t>& touched) {
        const PsiPolyMembers members = members_of(*plan, counts, roots, labels);
        check_elements(*plan, bins, felts);
        check_size("touched bundles", touched.size(), bundles(*plan));
        return unlocked(
            [&] { return psi_poly_remove(*plan, members, bins.data(), felts.data(), bins.size(), touched.data()); });
      },
      "plan"_a, "counts"_a, "roots"_a, "labels"_a, "bins"_a, "felts"_a, "touched"_a,
      "Takes elements out, in place; returns how many were there.");
  p.def(
      "interpolate",
      [](const PolyPlan& plan, const Filled<std::uint16_t>& counts, const Filled<u32>& roots, const Filled<u32>& labels,
         const Flat<std::uint8_t>& touched, const Filled<u64>& plain, unsigned threads,
         const ProgressCallback& progress) {
        const PsiPolyMembers members = members_of(*plan, counts, roots, labels);
        check_size("touched bundles", touched.size(), bundles(*plan));
        check_size("coefficients", plain.size(), bundles(*plan) * psi_poly_bundle_words(*plan));
        const auto report = with_gil(progress);
        unlocked([&] {
          psi_poly_interpolate(*plan.context, members, touched.data(), plain.data(), threads, report);
          return 0;
        });
      },
      "plan"_a, "counts"_a, "roots"_a, "labels"_a, "touched"_a, "plain"_a, "threads"_a = 1, "progress"_a = nb::none(),
      "Writes the coefficients of the bundles that are marked.");
  p.def(
      "evaluate",
      [](const PsiPolySessionKeys& keys, const nb::bytes& request, const PolyTable& table, unsigned threads,
         const ProgressCallback& progress, PsiPolyCounts* counts) {
        if (keys.context()->hash() != table.plan.context->hash())
          throw MismatchError("keys and table belong to different plans");
        const auto report = with_gil(progress);
        return to_bytes(unlocked(
            [&, bytes = view(request)] { return psi_poly_answer(keys, bytes, table.table, threads, report, counts); }));
      },
      "keys"_a, "request"_a, "table"_a, "threads"_a = 1, "progress"_a = nb::none(), "counts"_a = nb::none(),
      "The reply to one request; a progress callback that returns False cancels.");
  p.def(
      "cut_request",
      [](const PsiPolySessionKeys& keys, const nb::bytes& request) {
        std::vector<nb::bytes> out;
        for (const auto& x : unlocked([&, bytes = view(request)] { return psi_poly_cut_request(keys, bytes); }))
          out.push_back(to_bytes(x));
        return out;
      },
      "keys"_a, "request"_a, "What each column needs of a request.");
  p.def(
      "evaluate_part",
      [](const PsiPolySessionKeys& keys, const nb::bytes& column, const Flat<std::uint16_t>& counts,
         const Flat<u64>& plain, std::size_t count, unsigned threads, const ProgressCallback& progress,
         PsiPolyCounts* done) {
        const PsiPolyPlan& plan = keys.plan();
        if (count < 1 || count > plan.bundles)
          throw ShapeError(std::to_string(count) + " bundles of " + std::to_string(plan.bundles));
        check_size("counts", counts.size(), count * plan.column_bins());
        check_size("coefficients", plain.size(), count * psi_poly_bundle_words(plan));
        for (std::size_t i = 0; i < counts.size(); ++i)
          if (counts.data()[i] > plan.degree) throw FormatError("a sub-bin has more elements than the plan's degree");
        const PsiPolyTable table{counts.data(), plain.data()};
        const auto report = with_gil(progress);
        return to_bytes(unlocked([&, bytes = view(column)] {
          return psi_poly_answer_part(keys, bytes, table, count, threads, report, done);
        }));
      },
      "keys"_a, "column"_a, "counts"_a, "plain"_a, "bundles"_a, "threads"_a = 1, "progress"_a = nb::none(),
      "done"_a = nb::none(),
      "Values of some bundles of a column, as a reply has them; a progress callback that returns False cancels.");
  p.def(
      "seal_reply",
      [](const PsiPolySessionKeys& keys, const nb::bytes& values) {
        return to_bytes(unlocked([&, bytes = view(values)] { return psi_poly_seal_reply(keys, bytes); }));
      },
      "keys"_a, "values"_a, "The reply of all values, column by column.");
}

}  // namespace bindings
