// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_affine.hpp"

#include "bindings.hpp"
#include "pair_views.hpp"
#include "progress.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;

using Row = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Residues = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ByteRow = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const u64, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// An array of words that takes a block over.
template <class Dimensions>
nb::ndarray<nb::numpy, u64, Dimensions> handed(WordBuffer words, std::initializer_list<std::size_t> shape) {
  auto held = std::make_unique<WordBuffer>(std::move(words));
  u64* const first = held->data();
  nb::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<WordBuffer*>(p); });
  (void)held.release();
  return nb::ndarray<nb::numpy, u64, Dimensions>(first, shape, owner);
}

OmrMethod method_of(const std::string& name) {
  if (name == "paper") return OmrMethod::paper;
  if (name == "ringforge") return OmrMethod::ringforge;
  throw ParameterError("unknown method \"" + name + "\": take \"paper\" or \"ringforge\"");
}

}  // namespace

void bind_omr_affine(nb::module_& m) {
  nb::module_ s = nb::cast<nb::module_>(m.attr("omr"));
  nb::class_<OmrLayout>(s, "AffineLayout", "Where the words of a bulletin's signals lie in diagonals.")
      .def(
          "__init__",
          [](OmrLayout* self, unsigned log_n, u64 t, std::size_t columns, std::size_t outputs, std::size_t babies,
             const std::string& method) {
            new (self) OmrLayout(Ring::negacyclic(log_n), t, columns, outputs, babies, method_of(method));
          },
          "log_n"_a, "t"_a, "columns"_a, "outputs"_a, "babies"_a, "method"_a = "ringforge", GilReleased())
      .def_prop_ro("giants", &OmrLayout::giants, "Giant steps.")
      .def_prop_ro("matrices", &OmrLayout::matrices, "Sets of diagonals.")
      .def_prop_ro("rotations", &OmrLayout::rotations, "Rotations of the key that are used, by 0, 1 ...")
      .def("terms", &OmrLayout::terms, "giant"_a, "Diagonals of one set at a giant step.")
      .def("bytes", &OmrLayout::bytes, "giant"_a, "Bytes of the diagonals of a giant step.")
      .def(
          "encode",
          [](const OmrLayout& self, const Residues& signals, std::size_t giant, unsigned threads) {
            if (signals.shape(1) != self.columns())
              throw ShapeError("signals have " + std::to_string(signals.shape(1)) + " words, not " +
                               std::to_string(self.columns()));
            if (giant >= self.giants())
              throw LevelError("giant step " + std::to_string(giant) + "; there are " + std::to_string(self.giants()));
            auto data = std::make_unique<std::uint8_t[]>(self.bytes(giant));
            unlocked([&] { self.encode(data.get(), {signals.data(), signals.size()}, giant, threads); });
            std::uint8_t* first = data.get();
            nb::capsule owner(first, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
            data.release();
            return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(first, {self.bytes(giant)}, owner);
          },
          "signals"_a, "giant"_a, "threads"_a = 1, "The diagonals of a giant step of signals (N, n), packed.")
      .def(
          "key_slots",
          [](const OmrLayout& self, const Row& key) {
            const auto v = self.key_slots({key.data(), key.size()});
            return to_numpy<u64>(v.data(), v.size());
          },
          "key"_a, "Slots of the key of signals, n words modulo t.");

  nb::class_<OmrBabies>(s, "Babies", "Rotations of an encrypted key of signals.")
      .def("__len__", [](const OmrBabies& b) { return b.rotations.size(); })
      .def_prop_ro("limbs", [](const OmrBabies& b) { return b.rotations.at(0).limbs(); })
      .def(
          "limb",
          [](const OmrBabies& b, std::size_t rotation, std::size_t part, std::size_t i) {
            if (rotation >= b.rotations.size() || part > 1 || i >= b.rotations[rotation].limbs())
              throw nb::index_error();
            const Poly<Eval>& poly = b.rotations[rotation].parts[part];
            return to_numpy<u64>(poly.limb(i), poly.degree());
          },
          "rotation"_a, "part"_a, "i"_a)
      .def(
          "rows",
          [](const OmrBabies& b, std::size_t i) {
            const std::size_t count = b.rotations.size(), n = b.rotations.at(0).parts.at(0).degree();
            if (i >= b.rotations[0].limbs()) throw nb::index_error();
            WordBuffer words(count * 2 * n);
            unlocked([&] {
              for (std::size_t r = 0; r < count; ++r)
                for (std::size_t part = 0; part < 2; ++part)
                  std::copy_n(b.rotations[r].parts[part].limb(i), n, words.data() + (2 * r + part) * n);
            });
            return handed<nb::ndim<3>>(std::move(words), {count, 2, n});
          },
          "i"_a, "Limb i of all rotations: (rotations, 2, N) words.")
      .def_prop_ro("noise", [](const OmrBabies& b) { return b.noise; }, "Predicted, of every rotation.");
  nb::class_<OmrAffine>(s, "Affine", "The affine transform of a bulletin under a key.")
      .def(
          "__init__",
          [](OmrAffine* self, std::shared_ptr<bfv::Context> ctx, const OmrLayout& layout, std::size_t limbs) {
            new (self) OmrAffine(ctx, layout, limbs);
          },
          "context"_a, "layout"_a, "limbs"_a, GilReleased())
      .def_prop_ro("limbs", &OmrAffine::limbs)
      .def_prop_ro("baby_element", &OmrAffine::baby_element)
      .def_prop_ro("giant_element", &OmrAffine::giant_element)
      .def(
          "babies",
          [](const OmrAffine& self, const bfv::Ciphertext& v, const rlwe::GaloisKeys& keys, unsigned threads,
             const ProgressCallback& progress) {
            const auto report = with_gil(progress);
            const nb::gil_scoped_release release;
            return self.babies(v, keys, threads, report);
          },
          "key"_a, "galois"_a, "threads"_a = 1, "progress"_a = nb::none())
      .def(
          "run",
          [](const OmrAffine& self, const OmrBabies& babies, std::size_t first, const std::vector<ByteRow>& diagonals,
             const rlwe::GaloisKeys& keys, unsigned threads, const ProgressCallback& progress) {
            std::vector<std::span<const std::uint8_t>> rows;
            for (const auto& d : diagonals) rows.emplace_back(d.data(), d.size());
            const auto report = with_gil(progress);
            const nb::gil_scoped_release release;
            return self.run(babies, {first, rows.size()}, rows, keys, threads, report);
          },
          "babies"_a, "first"_a, "diagonals"_a, "galois"_a, "threads"_a = 1, "progress"_a = nb::none(),
          "Outputs of the giant steps from `first` on. A progress that returns False cancels.")
      .def(
          "sums",
          [](const OmrAffine& self, std::size_t first, const std::vector<ByteRow>& diagonals,
             const std::vector<std::size_t>& limbs, const std::vector<Pairs>& babies, unsigned threads,
             const ProgressCallback& progress) {
            if (limbs.size() != babies.size())
              throw ShapeError(std::to_string(babies.size()) + " arrays of rotations for " +
                               std::to_string(limbs.size()) + " limbs");
            std::vector<std::span<const std::uint8_t>> rows;
            for (const auto& d : diagonals) rows.emplace_back(d.data(), d.size());
            const std::size_t outputs = self.layout().outputs(), n = self.layout().slots();
            const std::size_t words = outputs * rows.size() * 2 * n;
            std::vector<WordBuffer> made;
            const auto report = with_gil(progress);
            unlocked([&] {
              std::vector<OmrAffine::LimbWork> work;
              made.reserve(limbs.size());
              for (std::size_t i = 0; i < limbs.size(); ++i) {
                made.emplace_back(words);
                work.push_back({limbs[i], {babies[i].data(), babies[i].size()}, {made[i].data(), words}});
              }
              self.sums(work, {first, rows.size()}, rows, threads, report);
            });
            std::vector<nb::ndarray<nb::numpy, u64, nb::ndim<4>>> out;
            for (WordBuffer& m : made) out.push_back(handed<nb::ndim<4>>(std::move(m), {outputs, rows.size(), 2, n}));
            return out;
          },
          "first"_a, "diagonals"_a, "limbs"_a, "babies"_a, "threads"_a = 1, "progress"_a = nb::none(),
          "Sums of the giant steps from `first` on at some limbs, from those limbs' `Babies.rows`: for each limb "
          "(outputs, giant steps, 2, N) words. A progress that returns False cancels.")
      .def(
          "horner",
          [](const OmrAffine& self, const std::vector<std::vector<std::vector<Words>>>& steps,
             const rlwe::GaloisKeys& keys, unsigned threads, const ProgressCallback& progress) {
            const PairViews views = pair_views(steps);
            const auto report = with_gil(progress);
            WordBuffer words;
            unlocked([&] {
              const rlwe::Ciphertext made = self.horner(views, keys, threads, report);
              const std::size_t n = self.layout().slots();
              words = WordBuffer(2 * self.limbs() * n);
              for (std::size_t part = 0; part < 2; ++part)
                for (std::size_t i = 0; i < self.limbs(); ++i)
                  std::copy_n(made.parts[part].limb(i), n, words.data() + (part * self.limbs() + i) * n);
            });
            return handed<nb::ndim<3>>(std::move(words), {2, self.limbs(), self.layout().slots()});
          },
          "steps"_a, "galois"_a, "threads"_a = 1, "progress"_a = nb::none(),
          "One output's words, (2, limbs, N), from its sums: [giant step][part][limb]. A progress that returns False "
          "cancels.")
      .def(
          "combine",
          [](const OmrAffine& self, const std::vector<bfv::Ciphertext>& lower, std::size_t count,
             const std::vector<bfv::Ciphertext>& upper, const rlwe::GaloisKeys& keys, unsigned threads,
             const ProgressCallback& progress) {
            const auto report = with_gil(progress);
            const nb::gil_scoped_release release;
            return self.combine(lower, count, upper, keys, threads, report);
          },
          "lower"_a, "count"_a, "upper"_a, "galois"_a, "threads"_a = 1, "progress"_a = nb::none(),
          "Outputs of a shard of `count` giant steps and of what lies above it. A progress that returns False cancels.")
      .def("check_babies", &OmrAffine::check_babies, "key"_a, "galois"_a, GilReleased(),
           "Raises what `babies` would raise.")
      .def(
          "check_run",
          [](const OmrAffine& self, const OmrBabies& babies, std::size_t first, std::size_t count,
             const rlwe::GaloisKeys& keys) { self.check_run(babies, {first, count}, keys); },
          "babies"_a, "first"_a, "count"_a, "galois"_a, GilReleased(), "Raises what `run` would raise.")
      .def(
          "assemble_babies",
          [](const OmrAffine& self, const bfv::Ciphertext& v,
             const std::vector<std::vector<std::vector<Words>>>& rotations) {
            const PairViews views = pair_views(rotations);
            return unlocked([&] { return self.assemble_babies(v, views); });
          },
          "key"_a, "rotations"_a,
          "Rotations from residues that another machine computed: of all but the first, [rotation][part][limb].")
      .def(
          "assemble",
          [](const OmrAffine& self, const OmrBabies& babies, std::size_t first, std::size_t count,
             const std::vector<std::vector<std::vector<Words>>>& outputs) {
            const PairViews views = pair_views(outputs);
            return unlocked([&] { return self.assemble(babies, {first, count}, views); });
          },
          "babies"_a, "first"_a, "count"_a, "outputs"_a,
          "Outputs from residues that another machine computed: [output][part][limb].")
      .def(
          "assemble_of",
          [](const OmrAffine& self, const bfv::Ciphertext& key, std::size_t first, std::size_t count,
             const std::vector<std::vector<std::vector<Words>>>& outputs) {
            const PairViews views = pair_views(outputs);
            return unlocked([&] { return self.assemble(key, {first, count}, views); });
          },
          "key"_a, "first"_a, "count"_a, "outputs"_a,
          "The same, by the encrypted key whose rotations were used, where they are elsewhere.")
      .def(
          "check_giants",
          [](const OmrAffine& self, const bfv::Ciphertext& key, std::size_t first, std::size_t count,
             const rlwe::GaloisKeys& keys) { self.check_giants(key.key_id, {first, count}, keys); },
          "key"_a, "first"_a, "count"_a, "galois"_a, GilReleased(),
          "Raises what `run` would raise of the shard and the keys.")
      .def(
          "key_of",
          [](const OmrAffine& self, const OmrBabies& babies) {
            self.check_run(babies, {0, 1}, {});
            return bfv::Ciphertext(self.context()->t(), babies.noise[0], rlwe::Ciphertext(babies.rotations[0]));
          },
          "babies"_a, "The encrypted key that rotations are of; raises what `run` would raise of them.")
      .def("baby_counts", &OmrAffine::baby_counts)
      .def(
          "run_counts",
          [](const OmrAffine& self, std::size_t first, std::size_t count) { return self.run_counts({first, count}); },
          "first"_a, "count"_a)
      .def("combine_counts", &OmrAffine::combine_counts, "count"_a)
      .def_prop_ro("baby_bytes", &OmrAffine::baby_bytes)
      .def(
          "run_bytes",
          [](const OmrAffine& self, std::size_t first, std::size_t count, unsigned threads) {
            return self.run_bytes({first, count}, threads);
          },
          "first"_a, "count"_a, "threads"_a)
      .def("baby_noise", &OmrAffine::baby_noise, "key"_a, "rules"_a.none() = nb::none(),
           "Predicted noise of every rotation, by rules of another security if given.")
      .def(
          "run_noise",
          [](const OmrAffine& self, const std::vector<bfv::Noise>& babies, std::size_t first, std::size_t count,
             std::size_t output,
             const bfv::NoiseRules* rules) { return self.run_noise(babies, {first, count}, output, rules); },
          "babies"_a, "first"_a, "count"_a, "output"_a, "rules"_a.none() = nb::none())
      .def("combined_noise", &OmrAffine::combined_noise, "lower"_a, "count"_a, "upper"_a);
}

}  // namespace bindings
