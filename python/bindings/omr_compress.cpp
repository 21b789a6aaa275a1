// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Compression in oblivious message retrieval: keys, plans, parts, digests.
#include "ringforge/circuits/omr_compress.hpp"

#include <sstream>

#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "progress.hpp"
#include "ringforge/bfv/bfv.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::circuits;

using Residues = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::bytes bytes_of(const std::string& s) { return nb::bytes(s.data(), s.size()); }
std::span<const std::uint8_t> view(const nb::bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.c_str()), b.size()};
}

/// Of the time of a part: the rotations and their products with powers, in units of progress.
constexpr double kPowersShare = 0.5;

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
            const nb::gil_scoped_release release;
            new (self) CompressionSecret(std::move(ctx), rng);
          },
          "context"_a, "fixed_seed_for_tests"_a = nb::none())
      .def("to_bytes",
           [](const CompressionSecret& k) {
             std::string record = unlocked([&] { return written([&](std::ostream& out) { k.save(out); }); });
             nb::bytes r = bytes_of(record);
             wipe(record.data(), record.size());
             return r;
           })
      .def_static(
          "from_bytes",
          [](const nb::bytes& data, std::shared_ptr<CompressionContext> ctx) {
            return unlocked([&, bytes = view(data)] {
              io::ByteSource in(bytes);
              auto secret = CompressionSecret::load(in, std::move(ctx));
              io::check_alone(in, kCompressionSecretType);
              return secret;
            });
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
      .def_prop_ro("memory_bytes", &CompressionKeys::bytes)
      .def("to_bytes",
           [](const CompressionKeys& k) {
             return bytes_of(unlocked([&] { return written([&](std::ostream& out) { k.save(out); }); }));
           })
      .def_static("saved_bytes",
                  [](const std::shared_ptr<CompressionContext>& ctx) { return CompressionKeys::saved_bytes(*ctx); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& data, std::shared_ptr<CompressionContext> ctx, unsigned threads) {
            return unlocked([&, bytes = view(data)] {
              io::ByteSource in(bytes);
              auto keys = CompressionKeys::load(in, std::move(ctx), threads);
              io::check_alone(in, kCompressionKeysType);
              return keys;
            });
          },
          "data"_a, "context"_a, "threads"_a = 1);

  nb::class_<CompressionPlan::Noise>(s, "CompressionNoise", "Predicted variances of a coefficient of the error.")
      .def_ro("switched", &CompressionPlan::Noise::switched)
      .def_ro("power", &CompressionPlan::Noise::power)
      .def_ro("value", &CompressionPlan::Noise::value)
      .def_ro("packed", &CompressionPlan::Noise::packed)
      .def_ro("limb", &CompressionPlan::Noise::limb)
      .def_ro("digest", &CompressionPlan::Noise::digest, "in parts of 1/t")
      .def_ro("failure_log2", &CompressionPlan::Noise::failure_log2,
              "log2 of the probability that some coefficient of the digest decrypts wrongly");

  nb::class_<CompressionPlan>(s, "CompressionPlan", "What one digest holds and costs.")
      .def(
          "__init__",
          [](CompressionPlan* self, std::shared_ptr<CompressionContext> ctx, std::size_t messages, std::size_t words) {
            new (self) CompressionPlan(std::move(ctx), messages, words);
          },
          "context"_a, "messages"_a, "words"_a)
      .def_prop_ro("messages", &CompressionPlan::messages)
      .def_prop_ro("words", &CompressionPlan::words)
      .def_prop_ro("values", &CompressionPlan::values)
      .def_prop_ro("period", &CompressionPlan::period, "Exponents, rounded up to a power of two above k + 1.")
      .def_prop_ro("outputs", [](const CompressionPlan& p) { return p.outputs().size(); })
      .def_prop_ro("units", &CompressionPlan::units, "What shards are made of.")
      .def(
          "shard",
          [](const CompressionPlan& p, std::size_t index, std::size_t count) {
            const auto shard = p.shard(index, count);
            return std::pair(shard.first, shard.count);
          },
          "index"_a, "count"_a, "First unit and units of one of `count` shards.")
      .def_prop_ro("c0_bits", &CompressionPlan::c0_bits)
      .def_prop_ro("c1_bits", &CompressionPlan::c1_bits)
      .def_prop_ro("digest_bytes", &CompressionPlan::digest_bytes)
      .def("memory", &CompressionPlan::memory, "threads"_a, "Bytes beside the ciphertext and the payloads.")
      .def("noise", &CompressionPlan::noise, "variance"_a, "For a ciphertext whose error has this variance.")
      .def(
          "part_counts",
          [](const CompressionPlan& p, std::size_t first, std::size_t count) {
            return p.prepare_counts() += p.part_counts({first, count});
          },
          "first"_a, "count"_a, "What `part` counts.")
      .def("digest_counts", &CompressionPlan::finish_counts, "What `digest` counts.")
      .def_prop_ro("hash",
                   [](const CompressionPlan& p) {
                     return nb::bytes(reinterpret_cast<const char*>(p.hash().data()), p.hash().size());
                   })
      .def(
          "part",
          [](const CompressionPlan& plan, const CompressionKeys& keys, const bfv::Ciphertext& u, const Residues& words,
             std::size_t first, std::size_t count, unsigned threads, const ProgressCallback& progress) {
            if (words.shape(0) != plan.context()->parameters().entries() || words.shape(1) != plan.words())
              throw ShapeError("payloads of shape (" + std::to_string(words.shape(0)) + ", " +
                               std::to_string(words.shape(1)) + "): the plan has (" +
                               std::to_string(plan.context()->parameters().entries()) + ", " +
                               std::to_string(plan.words()) + ")");
            const auto report = with_gil(progress);
            return bytes_of(unlocked([&] {
              const Compressor compressor(plan, keys);
              const auto share = [&report](double begin, double width) -> CompressionProgress {
                if (!report) return {};
                return [&report, begin, width](double done) { return report(begin + width * done); };
              };
              const auto powers = compressor.powers(u, threads, share(0.0, kPowersShare));
              const auto part = compressor.part(powers, {words.data(), words.size()}, {first, count}, threads,
                                                share(kPowersShare, 1.0 - kPowersShare));
              return written([&](std::ostream& out) { part.save(out, plan); });
            }));
          },
          "keys"_a, "u"_a, "words"_a, "first"_a, "count"_a, "threads"_a = 1, "progress"_a = nb::none(),
          "The part of a digest of units [first, first + count), as a record; words: (N, words), below t. A progress "
          "callback that returns False cancels.")
      .def(
          "part_range",
          [](const CompressionPlan& plan, const nb::bytes& part) {
            return unlocked([&, bytes = view(part)] {
              io::ByteSource in(bytes);
              const auto loaded = CompressionPart::load(in, plan);
              io::check_alone(in, kCompressionPartType);
              return std::pair(loaded.shard.first, loaded.shard.count);
            });
          },
          "part"_a, "First unit and units of a part; reads all of it.")
      .def(
          "joined",
          [](const CompressionPlan& plan, const std::vector<nb::bytes>& parts) {
            std::vector<std::span<const std::uint8_t>> views;
            for (const auto& p : parts) views.push_back(view(p));
            return bytes_of(unlocked([&] {
              std::vector<CompressionPart> loaded;
              for (const auto& bytes : views) {
                io::ByteSource in(bytes);
                loaded.push_back(CompressionPart::load(in, plan));
                io::check_alone(in, kCompressionPartType);
              }
              const auto joined = CompressionPart::joined(std::move(loaded));
              return written([&](std::ostream& out) { joined.save(out, plan); });
            }));
          },
          "parts"_a, "Neighbouring parts as one: the record that `part` makes of all their units.")
      .def(
          "digest",
          [](const CompressionPlan& plan, const CompressionKeys& keys, const std::vector<nb::bytes>& parts,
             u64 bulletin) {
            std::vector<std::span<const std::uint8_t>> views;
            for (const auto& p : parts) views.push_back(view(p));
            const auto d = unlocked([&] {
              std::vector<CompressionPart> loaded;
              for (const auto& bytes : views) {
                io::ByteSource in(bytes);
                loaded.push_back(CompressionPart::load(in, plan));
                io::check_alone(in, kCompressionPartType);
              }
              const Compressor compressor(plan, keys);
              return compressor.digest(compressor.packed(std::move(loaded)), bulletin);
            });
            return nb::bytes(d.data(), d.size());
          },
          "keys"_a, "parts"_a, "bulletin"_a, "All parts to the digest's record.")
      .def(
          "open",
          [](const CompressionPlan& plan, const nb::bytes& digest, const CompressionSecret& secret) {
            const auto opened = unlocked([&, bytes = view(digest)] { return open_digest(bytes, plan, secret); });
            return to_numpy(opened.sums.data(), opened.sums.size());
          },
          "digest"_a, "secret"_a, "The digest's sums, (k + 1) * values numbers modulo t, exponent by exponent.")
      .def(
          "margin",
          [](const CompressionPlan& plan, const nb::bytes& digest, const CompressionSecret& secret) {
            const auto opened = unlocked([&, bytes = view(digest)] { return open_digest(bytes, plan, secret); });
            return std::pair(opened.margin, opened.squares);
          },
          "digest"_a, "secret"_a, "Largest distance from a multiple of 1/t, in parts of it, and the mean square.");

  s.def(
      "digest_head",
      [](const nb::bytes& digest) {
        const auto head = unlocked([bytes = view(digest)] { return digest_head(bytes); });
        return std::tuple(head.bulletin, head.key_id, head.messages, head.words);
      },
      "digest"_a, "Bulletin, key id, k and words that a digest names.");
}

}  // namespace bindings
