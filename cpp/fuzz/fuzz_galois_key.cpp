// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_galois_key, and a file of Galois keys: the index reader and io::next_galois_key, which must agree.
#include "harness.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ckks::Context& context = fuzz::context_of(data, size);
  fuzz::check_single(
      data, size, [&](std::istream& in) { return io::load_galois_key(in, context); },
      [&](std::ostream& out, const ckks::GaloisKey& key) { io::save(out, context, key); },
      [&](const ckks::GaloisKey& key) { return io::saved_size(context, key); });
  std::vector<io::GaloisKeyEntry> entries;
  bool indexed = false;
  try {
    io::ByteSource in({data, size});
    entries = io::index_galois_keys(in, context);
    indexed = true;
    fuzz::require(in.tellg() == 0, "the index moved the stream");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  try {
    io::ByteSource in({data, size});
    std::size_t at = 0, count = 0;
    while (const auto key = io::next_galois_key(in, context)) {
      const u64 bytes = io::saved_size(context, *key);
      fuzz::require(at + bytes == static_cast<std::size_t>(in.tellg()), "saved_size differs from what was read");
      fuzz::Bytes again(bytes);
      io::ByteSink out(again);
      io::save(out, context, *key);
      fuzz::require(out.written() == bytes && std::memcmp(again.data(), data + at, bytes) == 0,
                    "saving again gives other bytes");
      if (indexed)
        fuzz::require(count < entries.size() && entries[count].element == key->element &&
                          entries[count].limbs == key->key->limbs && entries[count].offset == at &&
                          entries[count].bytes == bytes,
                      "the index names another key");
      at += bytes;
      ++count;
    }
    fuzz::require(indexed && count == entries.size() && at == size, "keys load that the index refused");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_MUTATOR(kGaloisKeyType)
