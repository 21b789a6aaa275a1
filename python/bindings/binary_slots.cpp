// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Slots modulo 2. `ringforge.binary_slots` checks types and is what users see.
#include "ringforge/linear/binary_slots.hpp"

#include <nanobind/stl/tuple.h>

#include "bindings.hpp"

namespace bindings {
namespace {

using ringforge::linear::BinarySlots;

using Elements = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& a) {
  return {a.data(), a.size()};
}

/// An array of `size` words that f fills without the interpreter's lock.
template <class T, class F>
nb::ndarray<nb::numpy, T, nb::ndim<1>> filled(std::size_t size, F&& f) {
  std::vector<T> out(size);
  unlocked([&] { f(std::span<T>(out)); });
  return to_numpy(out.data(), out.size());
}

}  // namespace

void bind_binary_slots(nb::module_& m) {
  nb::class_<BinarySlots>(m, "BinarySlots", "Slots of polynomials modulo (2, Phi_m), m odd.")
      .def(nb::init<std::uint64_t>(), "index"_a, GilReleased())
      .def_prop_ro("index", &BinarySlots::index)
      .def_prop_ro("degree", &BinarySlots::degree)
      .def_prop_ro("size", &BinarySlots::size)
      .def_prop_ro("field_degree", [](const BinarySlots& s) { return s.field().degree(); })
      .def_prop_ro("field_polynomial", [](const BinarySlots& s) { return s.field().polynomial(); })
      .def_prop_ro("byte_root", &BinarySlots::byte_root)
      .def("representatives",
           [](const BinarySlots& s) { return to_numpy(s.representatives().data(), s.representatives().size()); })
      .def_prop_ro("dimensions",
                   [](const BinarySlots& s) {
                     std::vector<std::tuple<std::uint64_t, std::size_t, unsigned>> all;
                     for (const BinarySlots::Dimension& d : s.dimensions()) all.emplace_back(d.element, d.size, d.wrap);
                     return all;
                   })
      .def(
          "encode",
          [](const BinarySlots& s, const Elements& values) {
            return filled<std::uint8_t>(s.degree(), [&](auto out) { s.encode(out, span(values)); });
          },
          "values"_a)
      .def(
          "decode",
          [](const BinarySlots& s, const Bytes& coefficients) {
            return filled<std::uint32_t>(s.size(), [&](auto out) { s.decode(out, span(coefficients)); });
          },
          "coefficients"_a)
      .def(
          "embed",
          [](const BinarySlots& s, const Bytes& bytes) {
            return filled<std::uint32_t>(bytes.size(), [&](auto out) { s.embed(out, span(bytes)); });
          },
          "bytes"_a)
      .def(
          "extract",
          [](const BinarySlots& s, const Elements& values) {
            return filled<std::uint8_t>(values.size(), [&](auto out) { s.extract(out, span(values)); });
          },
          "values"_a)
      .def(
          "products",
          [](const BinarySlots& s, const Elements& a, const Elements& b) {
            return filled<std::uint32_t>(a.size(), [&](auto out) { s.field().products(out, span(a), span(b)); });
          },
          "a"_a, "b"_a)
      .def(
          "frobenius",
          [](const BinarySlots& s, const Elements& a, unsigned k) {
            return filled<std::uint32_t>(a.size(), [&](auto out) { s.field().frobenius(out, span(a), k); });
          },
          "a"_a, "k"_a)
      .def(
          "permutation",
          [](const BinarySlots& s, std::uint64_t g) {
            const BinarySlots::Permutation p = s.permutation(g);
            return std::make_pair(to_numpy(p.source.data(), p.source.size()),
                                  to_numpy(p.frobenius.data(), p.frobenius.size()));
          },
          "element"_a);
}

}  // namespace bindings
