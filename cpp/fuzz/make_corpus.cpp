// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Writes the seeds of the fuzz targets and the refused files, the same bytes in every run:
//   make_corpus seeds DIR      DIR/TARGET/*.rgfg, sound objects to start from
//   make_corpus refused DIR    DIR/READER.REASON.rgfg, one file for each way to be broken
//   make_corpus refused-bfv DIR     the same of BFV
//   make_corpus refused-fhew DIR    the same of keys and messages of gates and PSI
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "bfv_objects.hpp"
#include "bgv_objects.hpp"
#include "fhew_objects.hpp"
#include "ltv_objects.hpp"
#include "objects.hpp"
#include "omr_objects.hpp"
#include "poly_objects.hpp"
#include "ringforge/oprf.hpp"

using namespace ringforge;
using fuzz::Bytes;

namespace {

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw Error("cannot write " + path.string());
}

void seeds(const std::filesystem::path& dir) {
  for (const auto& [set, context] : {std::pair{"narrow", fuzz::narrow_context()}, {"wide", fuzz::wide_context()}})
    for (const auto& [reader, samples] : fuzz::make_samples(context))
      for (const auto& [name, bytes] : samples) {
        const std::string file = std::string(set) + "-" + name + ".rgfg";
        write(dir / reader / file, bytes);
        // The parameterless readers see one object of each type; the short ones do.
        if (set == std::string("narrow")) write(dir / "inspect" / (reader + "-" + name + ".rgfg"), bytes);
      }
  for (const auto& [reader, samples] : fuzz::make_bfv_samples())
    for (const auto& [name, bytes] : samples) write(dir / "bfv" / (reader + "-" + name + ".rgfg"), bytes);
  for (const auto& [reader, samples] : fuzz::make_bgv_samples())
    for (const auto& [name, bytes] : samples) write(dir / "bgv" / (reader + "-" + name + ".rgfg"), bytes);
  for (const auto& [reader, samples] : fuzz::make_ltv_samples())
    for (const auto& [name, bytes] : samples) write(dir / "ltv" / (reader + "-" + name + ".rgfg"), bytes);
  // The OPRF's elements are bare bytes: a sound one, the identity, one with bit 255 set, two together.
  const auto key = oprf::ServerKey::derive(Bytes(oprf::kSeedBytes), {});
  const auto at = dir / "oprf_element";
  const oprf::Element element = oprf::blind_with({}, oprf::Scalar::from_bytes(key.bytes()));
  Bytes one(element.begin(), element.end()), high = one, two = one;
  high.back() |= 0x80;
  two.insert(two.end(), one.begin(), one.end());
  write(at / "sound", one);
  write(at / "identity", Bytes(oprf::kElementBytes));
  write(at / "high_bit", high);
  write(at / "two", two);
  // Signals are bare bytes as well: zeros are sound, as are words 1.
  write(dir / "omr_signals" / "zeros", Bytes(48));
  Bytes ones(96);
  for (std::size_t i = 0; i < ones.size(); ++i) ones[i] = i % 5 == 0 ? 1 : i % 5 == 2 ? 16 : 0;
  write(dir / "omr_signals" / "two", ones);
  for (const auto& [name, bytes] : fuzz::make_compression_samples()) write(dir / "omr_compress" / name, bytes);
  for (const auto& [reader, samples] : fuzz::make_fhew_samples())
    for (const auto& [name, bytes] : samples) write(dir / reader / name, bytes);
  for (const auto& [reader, samples] : fuzz::make_poly_samples())
    for (const auto& [name, bytes] : samples) write(dir / reader / name, bytes);
}

template <class T>
void set(Bytes& record, std::size_t at, T v) {
  std::memcpy(record.data() + at, &v, sizeof(v));
}

void refused(const std::filesystem::path& dir) {
  constexpr std::size_t kBody = io::kHeaderBytes;
  const auto emit = [&](const std::string& reader, const std::string& reason, const Bytes& bytes) {
    write(dir / (reader + "." + reason + ".rgfg"), bytes);
  };
  const auto samples = fuzz::make_samples(fuzz::narrow_context());
  for (const auto& entry : samples) {
    const std::string& reader = entry.first;
    const Bytes& good = entry.second.at("0");
    const auto changed = [&](const std::string& reason, auto&& change, bool seal = true) {
      Bytes b = good;
      change(b);
      if (seal) io::seal_record(b);
      emit(reader, reason, b);
    };
    const auto body = static_cast<u64>(good.size() - kBody - io::kChecksumBytes);
    emit(reader, "empty", {});
    emit(reader, "truncated_header", Bytes(good.begin(), good.begin() + 30));
    emit(reader, "truncated_body", Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2)));
    emit(reader, "truncated_checksum", Bytes(good.begin(), good.end() - 1));
    changed("flipped_body", [&](Bytes& b) { b[b.size() - 100] ^= 0x10; }, false);
    changed("flipped_checksum", [&](Bytes& b) { b.back() ^= 1; }, false);
    changed("trailing_byte", [&](Bytes& b) { b.push_back(0); }, false);
    changed("wrong_magic", [&](Bytes& b) { b[0] = 'X'; });
    changed("wrong_version", [&](Bytes& b) { set<std::uint16_t>(b, 4, 2); });
    changed("unknown_type", [&](Bytes& b) { set<std::uint16_t>(b, 6, 0x01ff); });
    changed("reserved_bits", [&](Bytes& b) { set<u32>(b, 8, 1); });
    changed("wrong_parameters", [&](Bytes& b) { b[12] ^= 1; });
    changed("oversized", [&](Bytes& b) { set<u64>(b, 44, ~u64{0}); });
    changed("length_off_by_one", [&](Bytes& b) { set<u64>(b, 44, body + 1); });
    changed("no_body", [&](Bytes& b) { set<u64>(b, 44, 0); });
    changed("wrong_word_width", [&](Bytes& b) { set<u32>(b, kBody, 32); });
    const Bytes& other = samples.at(reader == "plaintext" ? "ciphertext" : "plaintext").at("0");
    emit(reader, "wrong_type", Bytes(other.begin(), other.end()));

    const bool poly = reader != "parameters" && reader != "secret_key";
    // The last bytes of a body are the last residue's: all ones are above every prime.
    if (poly) changed("residue_too_large", [&](Bytes& b) { set<u64>(b, b.size() - io::kChecksumBytes - 8, ~u64{0}); });
    if (poly) changed("huge_limbs", [&](Bytes& b) { set<u32>(b, kBody + 4, 0xffffffff); });
    if (poly) changed("no_limbs", [&](Bytes& b) { set<u32>(b, kBody + 4, 0); });
    const auto number = [&](const std::string& field, std::size_t at, std::initializer_list<double> bad) {
      int i = 0;
      for (const double v : bad)
        changed("bad_" + field + "_" + std::to_string(i++), [&](Bytes& b) { set<double>(b, kBody + at, v); });
    };
    const double inf = HUGE_VAL, nan = std::numeric_limits<double>::quiet_NaN();
    if (reader == "plaintext") {
      number("scale", 8, {nan, 0.5, 0x1p250});
      number("bound", 16, {inf, -1});
    } else if (reader == "ciphertext") {
      number("scale", 24, {nan, 0.5, 0x1p250});
      number("variance", 32, {nan, -1});
      number("bound", 40, {inf, -1});
      changed("one_part", [&](Bytes& b) { set<u32>(b, kBody + 8, 1); });
      changed("seeded_three_parts", [&](Bytes& b) { set<u32>(b, kBody + 8, 3); });
      changed("unknown_flags", [&](Bytes& b) { set<u32>(b, kBody + 12, 2); });
    } else if (reader == "secret_key") {
      changed("not_ternary", [&](Bytes& b) { b[kBody + 16] |= 3; });
      changed("coefficient_bits", [&](Bytes& b) { set<u32>(b, kBody + 4, 3); });
    } else if (reader == "relin_key" || reader == "galois_key") {
      changed("huge_digits", [&](Bytes& b) { set<u32>(b, kBody + 8, 0x80000000); });
      changed("reserved_field", [&](Bytes& b) { set<u32>(b, kBody + 12, 1); });
      changed("element_1", [&](Bytes& b) { set<u64>(b, kBody + 24, 1); });
      changed("element_even", [&](Bytes& b) { set<u64>(b, kBody + 24, 6); });
      changed("element_large", [&](Bytes& b) { set<u64>(b, kBody + 24, 2049); });
    } else if (reader == "parameters") {
      changed("degree", [&](Bytes& b) { set<u32>(b, kBody + 4, 63); });
      changed("huge_counts", [&](Bytes& b) { set<u32>(b, kBody + 12, 0xffffffff); });
      changed("huge_name", [&](Bytes& b) { set<u32>(b, kBody + 20, 0x7fffffff); });
      changed("not_prime", [&](Bytes& b) { set<u64>(b, kBody + 40, 65537 * 3); });
      changed("insecure_without_reason", [&](Bytes& b) {
        const auto reason = fuzz::narrow_parameters().spec().insecure.size();
        b.erase(b.end() - io::kChecksumBytes - static_cast<std::ptrdiff_t>(reason), b.end() - io::kChecksumBytes);
        set<u32>(b, kBody + 24, 0);
        set<u64>(b, 44, body - reason);
      });
      changed("control_characters", [&](Bytes& b) { b[b.size() - io::kChecksumBytes - 1] = 0x1b; });
      changed("nan_scale", [&](Bytes& b) { set<double>(b, kBody + 32, nan); });
    }
  }
}

// What is BFV's own; envelopes and keys are those of `refused`.
void refused_bfv(const std::filesystem::path& dir) {
  const auto samples = fuzz::make_bfv_samples(), of_ckks = fuzz::make_samples(fuzz::narrow_context());
  const auto changed = [&](const std::string& reader, const std::string& reason, auto&& change) {
    Bytes b = samples.at(reader).at("0");
    change(b);
    io::seal_record(b);
    write(dir / (reader + "." + reason + ".rgfg"), b);
  };
  constexpr std::size_t kBody = io::kHeaderBytes;
  for (const auto& [reader, all] : samples) {
    changed(reader, "wrong_word_width", [&](Bytes& b) { set<u32>(b, kBody, 32); });
    changed(reader, "wrong_parameters", [&](Bytes& b) { b[12] ^= 1; });
    changed(reader, "trailing_byte", [&](Bytes& b) { b.push_back(0); });
    write(dir / (reader + ".of_ckks.rgfg"), of_ckks.at(reader == "plaintext" ? "ciphertext" : "plaintext").at("0"));
  }
  int bad = 0;
  for (const double v : {HUGE_VAL, std::numeric_limits<double>::quiet_NaN(), 0x1p21})
    changed("ciphertext", "bad_noise_" + std::to_string(bad++), [&](Bytes& b) { set<double>(b, kBody + 24, v); });
  changed("ciphertext", "huge_degree", [&](Bytes& b) { set<u32>(b, kBody + 32, 0x80000000); });
  changed("ciphertext", "huge_reuse", [&](Bytes& b) { set<u32>(b, kBody + 36, 0xffffffff); });
  changed("ciphertext", "huge_limbs", [&](Bytes& b) { set<u32>(b, kBody + 4, 0xffffffff); });
  changed("ciphertext", "one_part", [&](Bytes& b) { set<u32>(b, kBody + 8, 1); });
  changed("ciphertext", "unknown_flags", [&](Bytes& b) { set<u32>(b, kBody + 12, 2); });
  changed("plaintext", "another_t", [&](Bytes& b) { set<u64>(b, kBody + 8, 65537); });
  changed("plaintext", "reserved_field", [&](Bytes& b) { set<u32>(b, kBody + 4, 1); });
  changed("plaintext", "residue_too_large", [&](Bytes& b) { set<u64>(b, b.size() - io::kChecksumBytes - 8, ~u64{0}); });
  changed("secret_key", "not_ternary", [&](Bytes& b) { b[kBody + 16] |= 3; });
  changed("bfv_parameters", "t_of_one", [&](Bytes& b) { set<u64>(b, kBody + 32, 1); });
  changed("bfv_parameters", "huge_t", [&](Bytes& b) { set<u64>(b, kBody + 32, ~u64{0}); });
  changed("bfv_parameters", "t_above_the_primes", [&](Bytes& b) { set<u64>(b, kBody + 32, 1048577); });
}

// The longest samples are gates' keys: what is refused before the end is cut short.
void refused_fhew(const std::filesystem::path& dir) {
  for (const auto& [reader, samples] : fuzz::make_fhew_samples()) {
    const bool gates = reader == "gate_key";
    const Bytes& good = gates ? samples.at("tiny-ginx") : samples.at("ringforge");
    const auto changed = [&, &reader = reader](const std::string& reason, auto&& change) {
      Bytes b = good;
      change(b);
      write(dir / (reader + "." + reason + ".bin"), b);
    };
    constexpr std::size_t kBody = io::kHeaderBytes;
    changed("empty", [](Bytes& b) { b.clear(); });
    changed("truncated_header", [](Bytes& b) { b.resize(30); });
    changed("truncated_body", [](Bytes& b) { b.resize(kBody + 1000); });
    const std::size_t head = gates ? 100 : good.size();
    changed("wrong_magic", [&](Bytes& b) { b.resize(head), b[0] = 'X'; });
    changed("wrong_version", [&](Bytes& b) { b.resize(head), set<std::uint16_t>(b, 4, 9); });
    changed("wrong_type", [&](Bytes& b) { b.resize(head), set<io::TypeCode>(b, 6, fhew::kGateBitsType); });
    changed("wrong_parameters", [&](Bytes& b) { b.resize(head), b[12] ^= 1; });
    changed("trailing_byte", [](Bytes& b) { b.push_back(0); });
    changed("flipped_checksum", [](Bytes& b) { b.back() ^= 1; });
    if (gates) {
      changed("unknown_method", [&](Bytes& b) { b.resize(head), b[kBody + fuzz::kGateKeyId] = 3; });
      // Past the id, the method and two seeds come the rows.
      changed("residue_too_large", [](Bytes& b) {
        std::fill_n(b.begin() + kBody + fuzz::kGateKeyId + 1 + 64, 8, std::uint8_t{0xff});
        io::seal_record(b);
      });
      // Format 2, whose keys have an id.
      changed("no_id", [&](Bytes& b) {
        b = fuzz::old_gate_key(b, '2');
        b.resize(head);
        std::fill_n(b.begin() + fuzz::kOldHeader, 8, std::uint8_t{0});
      });
    } else if (reader != "psi_reply") {  // whose words may be anything
      changed("residue_too_large", [](Bytes& b) {
        std::fill(b.end() - io::kChecksumBytes - 8, b.end() - io::kChecksumBytes, std::uint8_t{0xff});
        io::seal_record(b);
      });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::strcmp(argv[1], "seeds") == 0) {
      seeds(argv[2]);
    } else if (argc == 3 && std::strcmp(argv[1], "refused") == 0) {
      refused(argv[2]);
    } else if (argc == 3 && std::strcmp(argv[1], "refused-bfv") == 0) {
      refused_bfv(argv[2]);
    } else if (argc == 3 && std::strcmp(argv[1], "refused-fhew") == 0) {
      refused_fhew(argv[2]);
    } else {
      std::fputs("usage: make_corpus seeds|refused|refused-bfv|refused-fhew DIR\n", stderr);
      return 2;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "make_corpus: %s\n", e.what());
    return 1;
  }
  return 0;
}
