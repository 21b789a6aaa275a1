// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/oprf.hpp"

#include <memory>

#include "bindings.hpp"
#include "progress.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::oprf;

using Rows = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewRows = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<2>>;
using ByteStrings = nb::typed<nb::list, nb::bytes>;

Bytes span(const nb::bytes& b) { return {static_cast<const std::uint8_t*>(b.data()), b.size()}; }

template <std::size_t n>
nb::bytes to_bytes(const std::array<std::uint8_t, n>& a) {
  return nb::bytes(a.data(), n);
}

/// Python's byte strings, one after the other. They may be secret: wiped at the end.
class Packed {
 public:
  explicit Packed(const ByteStrings& items) {
    std::size_t total = 0;
    for (const nb::handle item : items) total += check(item);
    bytes_.reserve(total);  // no growing, which would leave copies behind
    offsets_.reserve(items.size() + 1);
    offsets_.push_back(0);
    for (const nb::handle item : items) {
      const auto piece = span(nb::borrow<nb::bytes>(item));
      bytes_.insert(bytes_.end(), piece.begin(), piece.end());
      offsets_.push_back(bytes_.size());
    }
  }
  ~Packed() { wipe(bytes_.data(), bytes_.size()); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  Inputs inputs() const { return {bytes_, offsets_}; }

 private:
  static std::size_t check(nb::handle item) {
    if (!nb::isinstance<nb::bytes>(item)) throw nb::type_error("inputs are a list of bytes");
    return span(nb::borrow<nb::bytes>(item)).size();
  }
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint64_t> offsets_;
};

/// A numpy array of rows of `width` bytes that takes `data` over.
NewRows rows(std::vector<std::uint8_t>&& data, std::size_t width) {
  auto kept = std::make_unique<std::vector<std::uint8_t>>(std::move(data));
  const std::size_t count = kept->size() / width;
  std::uint8_t* first = kept->data();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<std::uint8_t>*>(p); });
  kept.release();
  return NewRows(first, {count, width}, owner);
}

Bytes elements_of(const Rows& rows) {
  if (rows.shape(1) != kElementBytes)
    throw ShapeError("elements are rows of " + std::to_string(kElementBytes) + " bytes, these have " +
                     std::to_string(rows.shape(1)));
  return {rows.data(), rows.shape(0) * rows.shape(1)};
}

/// Runs f without the interpreter.
template <class F>
auto released(const ProgressCallback& progress, F&& f) {
  const auto report = with_gil(progress);
  nb::gil_scoped_release release;
  return f(report);
}

}  // namespace

void bind_oprf(nb::module_& m) {
  auto s = m.def_submodule("oprf", "Oblivious pseudo-random function: RFC 9497, ristretto255-SHA512, mode OPRF.");
  s.attr("SCALAR_BYTES") = kScalarBytes;
  s.attr("ELEMENT_BYTES") = kElementBytes;
  s.attr("OUTPUT_BYTES") = kOutputBytes;
  s.attr("MAX_INPUT_BYTES") = kMaxInputBytes;

  nb::class_<ServerKey>(s, "ServerKey", "The server's secret scalar.")
      .def_static(
          "random",
          [] {
            Randomness rng;
            return ServerKey::random(rng);
          },
          GilReleased())
      .def_static(
          "derive",
          [](const nb::bytes& seed, const nb::bytes& info) { return ServerKey::derive(span(seed), span(info)); },
          "seed"_a, "info"_a)
      .def_static(
          "from_bytes", [](const nb::bytes& b) { return ServerKey::from_bytes(span(b)); }, "data"_a)
      .def("secret_bytes", [](const ServerKey& k) { return nb::bytes(k.bytes().data(), k.bytes().size()); })
      .def(
          "evaluate",
          [](const ServerKey& k, const nb::bytes& e) {
            return to_bytes(unlocked([&, in = span(e)] { return evaluate(k, in); }));
          },
          "element"_a)
      .def(
          "prf",
          [](const ServerKey& k, const nb::bytes& input) {
            return to_bytes(unlocked([&, in = span(input)] { return prf(k, in); }));
          },
          "input"_a)
      .def(
          "evaluate_batch",
          [](const ServerKey& k, const Rows& elements, unsigned threads, const ProgressCallback& progress) {
            const Bytes in = elements_of(elements);
            return rows(released(progress, [&](const Progress& p) { return evaluate_batch(k, in, threads, p); }),
                        kElementBytes);
          },
          "elements"_a, "threads"_a = 1, "progress"_a = nb::none())
      .def(
          "prf_batch",
          [](const ServerKey& k, const ByteStrings& inputs, unsigned threads, const ProgressCallback& progress) {
            const Packed in(inputs);
            return rows(released(progress, [&](const Progress& p) { return prf_batch(k, in.inputs(), threads, p); }),
                        kOutputBytes);
          },
          "inputs"_a, "threads"_a = 1, "progress"_a = nb::none());

  nb::class_<Scalar>(s, "Blind", "A client's secret scalar for one input.")
      .def_static("from_bytes", [](const nb::bytes& b) { return Scalar::from_bytes(span(b)); }, "data"_a);
  nb::class_<Blinds>(s, "Blinds", "A client's secret scalars for a batch.").def("__len__", &Blinds::size);

  s.def(
      "blind",
      [](const nb::bytes& input) {
        Randomness rng;
        auto b = unlocked([&, in = span(input)] { return blind(in, rng); });
        return std::pair(std::move(b.blind), to_bytes(b.element));
      },
      "input"_a, "The blind and the element for the server.");
  s.def(
      "blind_with",
      [](const nb::bytes& input, const Scalar& b) {
        return to_bytes(unlocked([&, in = span(input)] { return blind_with(in, b); }));
      },
      "input"_a, "blind"_a, "For test vectors: a blind must never be used twice.");
  s.def(
      "finalize",
      [](const nb::bytes& input, const Scalar& b, const nb::bytes& evaluated) {
        return to_bytes(unlocked([&, in = span(input), out = span(evaluated)] { return finalize(in, b, out); }));
      },
      "input"_a, "blind"_a, "evaluated"_a);
  s.def(
      "blind_batch",
      [](const ByteStrings& inputs, unsigned threads, const ProgressCallback& progress) {
        const Packed in(inputs);
        Randomness rng;
        auto b = released(progress, [&](const Progress& p) { return blind_batch(in.inputs(), rng, threads, p); });
        return std::pair(std::move(b.blinds), rows(std::move(b.elements), kElementBytes));
      },
      "inputs"_a, "threads"_a = 1, "progress"_a = nb::none());
  s.def(
      "finalize_batch",
      [](const ByteStrings& inputs, const Blinds& blinds, const Rows& evaluated, unsigned threads,
         const ProgressCallback& progress) {
        const Packed in(inputs);
        const Bytes elements = elements_of(evaluated);
        return rows(
            released(progress,
                     [&](const Progress& p) { return finalize_batch(in.inputs(), blinds, elements, threads, p); }),
            kOutputBytes);
      },
      "inputs"_a, "blinds"_a, "evaluated"_a, "threads"_a = 1, "progress"_a = nb::none());
}

}  // namespace bindings
