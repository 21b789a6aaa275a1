// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_compress.hpp"

#include <sstream>

#include "bindings.hpp"
#include "progress.hpp"
#include "ringforge/bfv/bfv.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;

using Residues = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::bytes bytes_of(const std::string& s) { return nb::bytes(s.data(), s.size()); }

template <class F>
std::string written(F&& write) {
  std::ostringstream out(std::ios::binary);
  write(out);
  return out.str();
}

}  // namespace

void bind_omr_compress(nb::module_& m) {
  nb::module_ s = nb::cast<nb::module_>(m.attr("omr"));
  nb::class_<CompressionContext>(s, "CompressionContext", "What keys of compression and digests depend on.")
      .def_static(
          "make",
          [](unsigned log_n, u64 t, const std::vector<u64>& q, const std::vector<u64>& p, const std::string& insecure) {
            CompressionParameters parameters;
            parameters.log_n = log_n;
            parameters.t = t;
            parameters.q = q;
            parameters.p = p;
            parameters.insecure = insecure;
            return std::make_shared<CompressionContext>(parameters);
          },
          "log_n"_a, "t"_a, "q"_a, "p"_a, "insecure"_a = "", GilReleased());

  nb::class_<CompressionSecret>(s, "CompressionSecret", "The secret that opens digests.")
      .def(
          "__init__",
          [](CompressionSecret* self, std::shared_ptr<CompressionContext> ctx, const std::optional<TestSeed>& seed) {
            Randomness rng = randomness(seed);
            new (self) CompressionSecret(std::move(ctx), rng);
          },
          "context"_a, "fixed_seed_for_tests"_a = nb::none())
      .def("to_bytes",
           [](const CompressionSecret& k) { return bytes_of(written([&](std::ostream& out) { k.save(out); })); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& data, std::shared_ptr<CompressionContext> ctx) {
            std::istringstream in(std::string(data.c_str(), data.size()), std::ios::binary);
            return CompressionSecret::load(in, std::move(ctx));
          },
          "data"_a, "context"_a);

  nb::class_<CompressionKeys>(s, "CompressionKeys", "What a detector compresses with for one receiver.")
      .def(
          "__init__",
          [](CompressionKeys* self, const rlwe::SecretKey& from, const CompressionSecret& to,
             const std::optional<TestSeed>& seed, unsigned threads) {
            Randomness rng = randomness(seed);
            const nb::gil_scoped_release release;
            new (self) CompressionKeys(from, to, rng, threads);
          },
          "bfv"_a, "secret"_a, "fixed_seed_for_tests"_a = nb::none(), "threads"_a = 1)
      .def_prop_ro("from_id", &CompressionKeys::from_id)
      .def_prop_ro("bytes", &CompressionKeys::bytes)
      .def("to_bytes",
           [](const CompressionKeys& k) { return bytes_of(written([&](std::ostream& out) { k.save(out); })); })
      .def_static("saved_bytes",
                  [](const std::shared_ptr<CompressionContext>& ctx) { return CompressionKeys::saved_bytes(*ctx); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& data, std::shared_ptr<CompressionContext> ctx, unsigned threads) {
            std::istringstream in(std::string(data.c_str(), data.size()), std::ios::binary);
            return CompressionKeys::load(in, std::move(ctx), threads);
          },
          "data"_a, "context"_a, "threads"_a = 1);

  nb::class_<CompressionPlan>(s, "CompressionPlan", "What one digest holds and costs.")
      .def(
          "__init__",
          [](CompressionPlan* self, std::shared_ptr<CompressionContext> ctx, std::size_t messages, std::size_t words) {
            new (self) CompressionPlan(std::move(ctx), messages, words);
          },
          "context"_a, "messages"_a, "words"_a)
      .def_prop_ro("messages", &CompressionPlan::messages)
      .def_prop_ro("values", &CompressionPlan::values)
      .def_prop_ro("giants", &CompressionPlan::giants)
      .def_prop_ro("digest_bytes", &CompressionPlan::digest_bytes)
      .def(
          "part",
          [](const CompressionPlan& plan, const CompressionKeys& keys, const bfv::Ciphertext& u, const Residues& words,
             std::size_t first, std::size_t count, unsigned threads, const ProgressCallback& progress) {
            const auto report = with_gil(progress);
            return bytes_of(unlocked([&] {
              const CompressionTables tables(plan, {words.data(), words.size()}, threads);
              const Compressor compressor(plan, keys);
              const auto babies = compressor.babies(compressor.split(u, threads), threads);
              const auto part = compressor.part(babies, tables, {first, count}, threads, report);
              return written([&](std::ostream& out) { part.save(out, plan); });
            }));
          },
          "keys"_a, "u"_a, "words"_a, "first"_a, "count"_a, "threads"_a = 1, "progress"_a = nb::none())
      .def(
          "digest",
          [](const CompressionPlan& plan, const CompressionKeys& keys, const std::vector<nb::bytes>& parts,
             u64 bulletin) {
            std::vector<CompressionPart> loaded;
            for (const auto& p : parts) {
              std::istringstream in(std::string(p.c_str(), p.size()), std::ios::binary);
              loaded.push_back(CompressionPart::load(in, plan));
            }
            const Compressor compressor(plan, keys);
            const auto d = compressor.digest(compressor.sums(std::move(loaded)), bulletin);
            return nb::bytes(d.data(), d.size());
          },
          "keys"_a, "parts"_a, "bulletin"_a)
      .def(
          "open",
          [](const CompressionPlan& plan, const nb::bytes& digest, const CompressionSecret& secret) {
            const auto* data = reinterpret_cast<const std::uint8_t*>(digest.c_str());
            const DigestRows rows = open_digest({data, digest.size()}, plan, secret);
            return to_numpy(rows.rows.data(), rows.rows.size());
          },
          "digest"_a, "secret"_a);
}

}  // namespace bindings
