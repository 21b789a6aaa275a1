// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/hlt.hpp"

#include "bindings.hpp"
#include "progress.hpp"
#include "ringforge/circuits/pair_sum.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::ckks;
using namespace ringforge::linear;

using Steps = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<std::uint32_t> list(const Steps& a) { return {a.data(), a.data() + a.size()}; }

}  // namespace

void bind_hlt(nb::module_& m) {
  nb::class_<Diagonals>(m, "Diagonals", "A sparse linear map of slots by its non-zero diagonals.")
      .def(
          "__init__",
          [](Diagonals* self, std::size_t slots, const Steps& steps, const Words& offsets, const Steps& targets,
             const Complexes& values) {
            unlocked([&] {
              new (self) Diagonals(slots, list(steps), {offsets.data(), offsets.data() + offsets.size()}, list(targets),
                                   {values.data(), values.data() + values.size()});
            });
          },
          "slots"_a, "steps"_a, "offsets"_a, "targets"_a, "values"_a)
      .def_prop_ro("slots", &Diagonals::slots)
      .def("__len__", &Diagonals::size)
      .def_prop_ro(
          "steps", [](const Diagonals& d) { return to_numpy(d.steps().data(), d.size()); }, nb::rv_policy::automatic)
      .def(
          "diagonal",
          [](const Diagonals& d, std::size_t i) {
            if (i >= d.size()) throw nb::index_error();
            std::vector<double> re(d.slots()), im(d.slots());
            d.fill(i, 0, re.data(), im.data());
            std::vector<std::complex<double>> out(d.slots());
            for (std::size_t s = 0; s < out.size(); ++s) out[s] = {re[s], im[s]};
            return to_numpy(out.data(), out.size());
          },
          "index"_a, "Diagonal `index` of all slots: what slot s of the result gets of slot s + steps[index].")
      .def_prop_ro("row_sum", &Diagonals::row_sum)
      .def_prop_ro("row_square", &Diagonals::row_square);
  nb::enum_<Schedule>(m, "Schedule")
      .value("naive", Schedule::naive)
      .value("hoisted", Schedule::hoisted)
      .value("mo", Schedule::mo)
      .value("bsgs", Schedule::bsgs);
  nb::class_<Hlt>(m, "Hlt", "A linear map of slots, encoded for one level and schedule.")
      .def(
          "__init__",
          [](Hlt* self, std::shared_ptr<Context> ctx, const Diagonals& map, std::size_t level, Schedule schedule,
             const Steps& babies) { new (self) Hlt(ctx, map, level, schedule, list(babies)); },
          "context"_a, "map"_a, "level"_a, "schedule"_a, "babies"_a, GilReleased())
      .def(
          "encode",
          [](Hlt& self, double input_scale, double output_scale, double input_bound, bool compact, unsigned threads,
             const ProgressCallback& progress) {
            const auto report = with_gil(progress);
            nb::gil_scoped_release release;
            self.encode({input_scale, output_scale, input_bound}, compact, threads, report);
          },
          "input_scale"_a, "output_scale"_a, "input_bound"_a, "compact"_a = false, "threads"_a = 1,
          "progress"_a = nb::none())
      .def("run", &Hlt::run, "input"_a, "keys"_a, "threads"_a = 1, GilReleased())
      .def(
          "describe",
          [](const Hlt& self, const Metadata& in, double input_scale, double output_scale, double input_bound) {
            return self.describe(in, {input_scale, output_scale, input_bound});
          },
          "input"_a, "input_scale"_a, "output_scale"_a, "input_bound"_a,
          "Metadata of the result; nothing needs to be encoded.")
      .def(
          "assemble",
          [](const Hlt& self, const Ciphertext& input, const std::array<std::vector<Words>, 2>& parts) {
            std::array<std::vector<std::span<const u64>>, 2> views;
            for (std::size_t i = 0; i < 2; ++i)
              for (const auto& limb : parts[i]) views[i].emplace_back(limb.data(), limb.size());
            return unlocked([&] { return self.assemble(input, views); });
          },
          "input"_a, "parts"_a, "The result from residues that another machine computed: parts[part][limb].")
      .def(
          "diagonal_limb",
          [](const Hlt& self, std::size_t diagonal, std::size_t limb) {
            const std::size_t degree = self.degree();
            auto* words = new u64[degree];
            nb::capsule owner(words, [](void* p) noexcept { delete[] static_cast<u64*>(p); });
            unlocked([&] { self.copy_diagonal(diagonal, limb, {words, degree}); });
            return nb::ndarray<nb::numpy, u64, nb::ndim<1>>(words, {degree}, owner);
          },
          "diagonal"_a, "limb"_a, "One limb of an encoded diagonal: modulo the primes of Q, then those of P.")
      .def("check_input", &Hlt::check_input, "input"_a, "Refuses an input that `run` would refuse.")
      .def_prop_ro("diagonal_limbs", &Hlt::diagonal_limbs, "Limbs of an encoded diagonal.")
      .def_prop_ro("level", &Hlt::level)
      .def_prop_ro("schedule", &Hlt::schedule)
      .def_prop_ro("steps", &Hlt::steps)
      .def_prop_ro("storage", &Hlt::storage);

  nb::class_<PairSumPlan>(m, "PairSumPlan", "What a sum of products of shifted ciphertexts does.")
      .def(
          "__init__",
          [](PairSumPlan* self, std::size_t left_bases, std::size_t right_bases, const std::vector<Steps>& masks,
             bool real_part, const Steps& folds, std::size_t left_copies, std::size_t right_copies) {
            new (self) PairSumPlan{left_bases, right_bases, {}, {}, real_part, list(folds), left_copies, right_copies};
            for (const auto& mask : masks) self->masks.push_back(list(mask));
          },
          "left_bases"_a, "right_bases"_a, "masks"_a, "real_part"_a, "folds"_a, "left_copies"_a = 1,
          "right_copies"_a = 1,
          "left_copies, right_copies: copies of each value that a mask made in a side's bases, of which a result slot "
          "gathers one at most, for predictions of noise; 0: copied by rotations after that, all as above.")
      .def_ro("left_bases", &PairSumPlan::left_bases)
      .def_ro("right_bases", &PairSumPlan::right_bases)
      .def_ro("masks", &PairSumPlan::masks, "The slots where each mask is 1.")
      .def_ro("real_part", &PairSumPlan::real_part)
      .def_ro("folds", &PairSumPlan::folds)
      .def_ro("left_copies", &PairSumPlan::left_copies)
      .def_ro("right_copies", &PairSumPlan::right_copies)
      .def_prop_ro(
          "groups",
          [](const PairSumPlan& self) {
            using Terms = std::vector<std::array<std::int64_t, 4>>;
            const auto terms = [](const std::vector<ShiftTerm>& from) {
              Terms out;
              for (const ShiftTerm& t : from)
                out.push_back({t.base, t.step, t.via, t.mask == ShiftTerm::kNoMask ? -1 : std::int64_t{t.mask}});
              return out;
            };
            std::vector<std::pair<std::uint32_t, std::vector<std::pair<Terms, Terms>>>> out;
            for (const ShiftGroup& g : self.groups) {
              out.push_back({g.outer, {}});
              for (const ShiftPair& p : g.pairs) out.back().second.emplace_back(terms(p.left), terms(p.right));
            }
            return out;
          },
          "Each group's outer rotation and pairs, with terms as `add_pair` takes them.")
      .def(
          "add_group", [](PairSumPlan& self, std::uint32_t outer) { self.groups.push_back({outer, {}}); }, "outer"_a)
      .def(
          "add_pair",
          [](PairSumPlan& self, const std::vector<std::array<std::int64_t, 4>>& left,
             const std::vector<std::array<std::int64_t, 4>>& right) {
            if (self.groups.empty()) throw ShapeError("add a group before its pairs");
            const auto terms = [](const std::vector<std::array<std::int64_t, 4>>& from) {
              std::vector<ShiftTerm> out;
              const auto number = [](std::int64_t x) {
                if (x < 0 || x >= ShiftTerm::kNoMask)
                  throw ShapeError("a term names base, step or mask " + std::to_string(x) + ", which cannot exist");
                return static_cast<std::uint32_t>(x);
              };
              for (const auto& [base, step, via, mask] : from)
                out.push_back(
                    {number(base), number(step), number(via), mask == -1 ? ShiftTerm::kNoMask : number(mask)});
              return out;
            };
            self.groups.back().pairs.push_back({terms(left), terms(right)});
          },
          "left"_a, "right"_a, "Terms are (base, step, via, mask); mask -1 is a bare rotation.");
  nb::class_<PairSum>(m, "PairSum", "A sum of products of shifted ciphertexts, encoded for one level.")
      .def(
          "__init__",
          [](PairSum* self, std::shared_ptr<Context> ctx, const PairSumPlan& plan, std::size_t level) {
            new (self) PairSum(ctx, plan, level);
          },
          "context"_a, "plan"_a, "level"_a, GilReleased())
      .def(
          "encode",
          [](PairSum& self, double left, double right, double output, double left_bound, double right_bound,
             double output_bound, bool compact, unsigned threads) {
            self.encode({left, right, output, left_bound, right_bound, output_bound}, compact, threads);
          },
          "left"_a, "right"_a, "output"_a, "left_bound"_a, "right_bound"_a, "output_bound"_a, "compact"_a = false,
          "threads"_a = 1, GilReleased())
      .def(
          "run",
          [](const PairSum& self, const std::vector<const Ciphertext*>& left,
             const std::vector<const Ciphertext*>& right, const GaloisKeys& keys, const RelinKey& relin,
             unsigned threads, const ProgressCallback& progress) {
            const auto report = with_gil(progress);
            nb::gil_scoped_release release;
            return self.run(left, right, {keys, relin}, threads, report);
          },
          "left"_a, "right"_a, "keys"_a, "relin"_a, "threads"_a = 1, "progress"_a = nb::none())
      .def(
          "describe",
          [](const PairSum& self, const std::vector<const Metadata*>& left_bases,
             const std::vector<const Metadata*>& right_bases, double left, double right, double output,
             double left_bound, double right_bound, double output_bound) {
            return self.describe(left_bases, right_bases, {left, right, output, left_bound, right_bound, output_bound});
          },
          "left_bases"_a, "right_bases"_a, "left"_a, "right"_a, "output"_a, "left_bound"_a, "right_bound"_a,
          "output_bound"_a, "Metadata of the result; nothing needs to be encoded.")
      .def(
          "check_inputs",
          [](const PairSum& self, const std::vector<const Ciphertext*>& left,
             const std::vector<const Ciphertext*>& right) { self.check_inputs(left, right); },
          "left"_a, "right"_a, "Refuses bases that `run` would refuse.")
      .def(
          "assemble",
          [](const PairSum& self, const std::vector<const Ciphertext*>& left,
             const std::vector<const Ciphertext*>& right, const std::array<std::vector<Words>, 2>& parts) {
            std::array<std::vector<std::span<const u64>>, 2> views;
            for (std::size_t i = 0; i < 2; ++i)
              for (const auto& limb : parts[i]) views[i].emplace_back(limb.data(), limb.size());
            return unlocked([&] { return self.assemble(left, right, views); });
          },
          "left"_a, "right"_a, "parts"_a, "The result from residues that another machine computed: parts[part][limb].")
      .def(
          "mask_limb",
          [](const PairSum& self, bool left, std::size_t pair, std::size_t term, std::size_t limb) {
            std::vector<u64> words(self.degree());
            unlocked([&] { self.copy_mask(left, pair, term, limb, words); });
            return to_numpy(words.data(), words.size());
          },
          "left"_a, "pair"_a, "term"_a, "limb"_a,
          "One limb of the mask of a term, before the last rotation of its pair's terms; pairs are counted over all "
          "groups.")
      .def_prop_ro("level", &PairSum::level)
      .def_prop_ro("output_level", &PairSum::output_level)
      .def_prop_ro("required_keys", &PairSum::required_keys)
      .def_prop_ro("storage", &PairSum::storage);

  m.def(
      "assemble_product",
      [](const std::shared_ptr<Context>& context, const Ciphertext& a, const Ciphertext& b,
         const std::array<std::vector<Words>, 2>& parts) {
        std::array<std::vector<std::span<const u64>>, 2> views;
        for (std::size_t i = 0; i < 2; ++i)
          for (const auto& limb : parts[i]) views[i].emplace_back(limb.data(), limb.size());
        return unlocked([&] { return assemble_product(context, a, b, views); });
      },
      "context"_a, "a"_a, "b"_a, "parts"_a,
      "The relinearised product of two ciphertexts from residues that another machine computed: parts[part][limb].");

  nb::class_<WordMemory>(m, "WordMemory", "Memory of polynomials: in use and at its highest.")
      .def_ro("now", &WordMemory::now)
      .def_ro("most", &WordMemory::most);
  m.def("word_memory", &word_memory, "Bytes of residues allocated now, and the most since the last reset.");
  m.def("reset_word_memory", &reset_word_memory);
}

}  // namespace bindings
