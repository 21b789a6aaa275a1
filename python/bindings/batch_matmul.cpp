// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/batch_matmul.hpp"

#include <span>

#include "bindings.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::ckks;
using Values = std::vector<std::complex<double>>;

template <class Key>
MatrixBatch encrypt(const BatchMatmul& self, Client& client, const Key& key, const Complexes& matrices, Lines by,
                    double scale, std::size_t level, double bound, unsigned threads) {
  const std::span<const std::complex<double>> values(matrices.data(), matrices.size());
  nb::gil_scoped_release release;
  return self.encrypt(client, key, values, by, scale, level, bound, threads);
}

nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<1>> give(const Values& v) {
  return to_numpy<std::complex<double>>(v.data(), v.size());
}

}  // namespace

void bind_batch_matmul(nb::module_& m) {
  nb::enum_<Lines>(m, "Lines").value("columns", Lines::columns).value("rows", Lines::rows);
  nb::class_<MatrixBatch>(m, "MatrixBatch", "Encrypted d x d matrices, one ciphertext for each line of all of them.")
      .def(
          "__init__",
          [](MatrixBatch* self, const std::vector<Ciphertext>& lines, Lines by, double bound) {
            new (self) MatrixBatch{lines, by, bound};
          },
          "lines"_a, "by"_a, "bound"_a = 1.0, GilReleased())
      .def("__len__", [](const MatrixBatch& b) { return b.lines.size(); })
      .def(
          "line",
          [](const MatrixBatch& b, std::size_t j) {
            if (j >= b.lines.size()) throw nb::index_error();
            return unlocked([&] { return b.lines[j]; });
          },
          "index"_a, "A copy of one ciphertext.")
      .def_ro("by", &MatrixBatch::by)
      .def_ro("bound", &MatrixBatch::bound)
      .def_prop_ro("level", &MatrixBatch::level)
      .def_prop_ro("scale", &MatrixBatch::scale)
      .def("transposed", &MatrixBatch::transposed, GilReleased(),
           "The transposed matrices: the same ciphertexts, read the other way.");
  nb::class_<BatchMatmulCost>(m, "BatchMatmulCost", "What a batch of products costs, in operations and bytes.")
      .def_ro("ops", &BatchMatmulCost::ops)
      .def_ro("multiply_adds", &BatchMatmulCost::multiply_adds)
      .def_ro("butterflies", &BatchMatmulCost::butterflies)
      .def_ro("keys", &BatchMatmulCost::keys)
      .def_ro("key_storage", &BatchMatmulCost::key_storage)
      .def_ro("input_storage", &BatchMatmulCost::input_storage)
      .def_ro("working", &BatchMatmulCost::working);
  nb::class_<BatchMatmulReport>(m, "BatchMatmulReport", "What a run did, and the seconds of its phases.")
      .def_ro("products", &BatchMatmulReport::products)
      .def_ro("switching", &BatchMatmulReport::switching)
      .def_ro("transform", &BatchMatmulReport::transform)
      .def_ro("division", &BatchMatmulReport::division)
      .def_ro("multiply_adds", &BatchMatmulReport::multiply_adds)
      .def_ro("butterflies", &BatchMatmulReport::butterflies);
  nb::class_<BatchMatmul>(m, "BatchMatmul", "Encrypted products of batches of d x d matrices.")
      .def(
          "__init__",
          [](BatchMatmul* self, std::shared_ptr<Context> ctx, std::size_t dim) { new (self) BatchMatmul(ctx, dim); },
          "context"_a, "dim"_a, GilReleased())
      .def_prop_ro("dim", &BatchMatmul::dim)
      .def_prop_ro("capacity", &BatchMatmul::capacity)
      .def_prop_ro("required_keys", &BatchMatmul::required_keys)
      .def("encrypt", &encrypt<SecretKey>, "client"_a, "key"_a, "matrices"_a, "by"_a, "scale"_a, "level"_a,
           "bound"_a = 1.0, "threads"_a = 1)
      .def("encrypt", &encrypt<PublicKey>, "client"_a, "key"_a, "matrices"_a, "by"_a, "scale"_a, "level"_a,
           "bound"_a = 1.0, "threads"_a = 1)
      .def(
          "decrypt",
          [](const BatchMatmul& self, Client& client, const SecretKey& sk, const MatrixBatch& batch, unsigned threads) {
            Values v;
            {
              nb::gil_scoped_release release;
              v = self.decrypt(client, sk, batch, threads);
            }
            return give(v);
          },
          "client"_a, "secret_key"_a, "batch"_a, "threads"_a = 1)
      .def(
          "decode",
          [](const BatchMatmul& self, const std::vector<Plaintext>& lines, Lines by, unsigned threads) {
            Values v;
            {
              nb::gil_scoped_release release;
              v = self.decode(lines, by, threads);
            }
            return give(v);
          },
          "lines"_a, "by"_a, "threads"_a = 1)
      .def(
          "multiply",
          [](const BatchMatmul& self, const MatrixBatch& left, const MatrixBatch& right, const GaloisKeys& galois,
             const RelinKey& relin, Lines result, unsigned threads) {
            BatchMatmulReport report;
            MatrixBatch out = self.multiply(left, right, {galois, relin}, result, threads, &report);
            return std::pair(std::move(out), report);
          },
          "left"_a, "right"_a, "galois"_a, "relin"_a, "result"_a = Lines::columns, "threads"_a = 1, GilReleased())
      .def(
          "convert",
          [](const BatchMatmul& self, const MatrixBatch& batch, Lines to, const GaloisKeys& galois, unsigned threads) {
            BatchMatmulReport report;
            MatrixBatch out = self.convert(batch, to, galois, threads, &report);
            return std::pair(std::move(out), report);
          },
          "batch"_a, "to"_a, "galois"_a, "threads"_a = 1, GilReleased())
      .def("drop_to_level", &BatchMatmul::drop_to_level, "batch"_a, "level"_a, GilReleased())
      .def("cost", &BatchMatmul::cost, "level"_a, "conversions"_a = 0, "threads"_a = 1)
      .def("error_bound", &BatchMatmul::error_bound, "batch"_a);
}

}  // namespace bindings
