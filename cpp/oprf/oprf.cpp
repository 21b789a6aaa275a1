// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The scalars, and all of single calls, are libsodium's; what is here is RFC 9497's use of them. Batches take the lanes
// (lanes.hpp) of the active kernel set if it has any.
#include "ringforge/oprf.hpp"

#include <sodium.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "batches.hpp"
#include "progress.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "sets.hpp"

namespace ringforge::oprf {
namespace {

using namespace std::string_view_literals;

static_assert(crypto_core_ristretto255_SCALARBYTES == kScalarBytes && crypto_core_ristretto255_BYTES == kElementBytes);
static_assert(crypto_hash_sha512_BYTES == kOutputBytes && crypto_core_ristretto255_HASHBYTES == 64);

// "OPRFV1-" || mode 0x00 || "-" || suite, behind the name of what is hashed (RFC 9497, sections 3.1, 4.1).
constexpr std::string_view kHashToGroup = "HashToGroup-OPRFV1-\0-ristretto255-SHA512"sv;
constexpr std::string_view kDeriveKeyPair = "DeriveKeyPairOPRFV1-\0-ristretto255-SHA512"sv;
constexpr std::string_view kFinalize = "Finalize"sv;

/// Elements that one body of a loop handles: their blinds' randomness fills a stream's buffer once, and one
/// inversion serves them all.
constexpr std::size_t kChunk = 64;
static_assert(kChunk == kLanesChunk);

void start_sodium() {
  static const int started = sodium_init();
  if (started < 0) throw Error("libsodium cannot start: the system's random generator is not available");
}

/// Bytes on the stack that are wiped at the end.
template <std::size_t n>
struct Secret {
  std::array<std::uint8_t, n> value{};
  Secret() = default;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(value.data(), n); }
  std::uint8_t* data() noexcept { return value.data(); }
};

/// SHA-512 over pieces; its state is wiped at the end.
class Hash {
 public:
  Hash() { crypto_hash_sha512_init(&state_); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  ~Hash() { wipe(&state_, sizeof(state_)); }
  Hash& add(Bytes b) {
    crypto_hash_sha512_update(&state_, b.data(), b.size());
    return *this;
  }
  Hash& add(std::string_view s) { return add({reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}); }
  /// The lowest `bytes` bytes of v, the highest first.
  Hash& add_number(std::size_t v, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) {
      const auto b = static_cast<std::uint8_t>(v >> (8 * i));
      add({&b, 1});
    }
    return *this;
  }
  void finish(std::uint8_t* out) { crypto_hash_sha512_final(&state_, out); }

 private:
  crypto_hash_sha512_state state_;
};

void check_input(Bytes input, const char* what = "the input") {
  if (input.size() > kMaxInputBytes)
    throw ValueError(std::string(what) + " has " + std::to_string(input.size()) + " bytes, the limit is " +
                     std::to_string(kMaxInputBytes) + ": hash longer strings first");
}

void check_length(std::size_t got, std::size_t wanted, const char* what) {
  if (got != wanted)
    throw ShapeError(std::string(what) + " has " + std::to_string(got) + " bytes, " + std::to_string(wanted) +
                     " are needed");
}

/// Whether all bytes are 0: of a random scalar or element with probability 2^-252, so that the answer tells nothing.
bool is_zero(const std::uint8_t* bytes, std::size_t size) {
  int zero = sodium_is_zero(bytes, size);
  declassify(&zero, sizeof(zero));
  return zero == 1;
}

[[noreturn]] void refuse_key() { throw ValueError("the server key is empty: it was moved from"); }
[[noreturn]] void refuse_input() { throw ValueError("the input hashes to the identity: use another"); }

/// H(x), never the identity.
void hash_to_group(std::uint8_t* element, Bytes input) {
  check_input(input);
  start_sodium();
  Secret<64> uniform;
  expand_message_xmd(uniform.value, input, kHashToGroup);
  crypto_core_ristretto255_from_hash(element, uniform.data());
  if (is_zero(element, kElementBytes)) refuse_input();
}

/// out = scalar * element; false unless `element` encodes one other than the identity. May alias.
bool multiply(std::uint8_t* out, const std::uint8_t* scalar, const std::uint8_t* element) {
  // libsodium 1.0.18 does not look at bit 255; RFC 9496, section 4.3.1, wants it clear.
  // What is refused here is what somebody sent, and is public; an element of one's own never is.
  if (declassified((element[kElementBytes - 1] & 0x80) != 0)) return false;
  // The order is prime and the scalar no multiple of it: only the identity gives the identity, which
  // libsodium refuses like an encoding that is none.
  return declassified(crypto_scalarmult_ristretto255(out, scalar, element) == 0);
}

[[noreturn]] void refuse_element(const std::string& which) {
  throw FormatError(which +
                    " is no canonical encoding of a ristretto255 element other than the identity: "
                    "the sender is broken or hostile");
}

void finish(std::uint8_t* output, Bytes input, const std::uint8_t* element) {
  Hash()
      .add_number(input.size(), 2)
      .add(input)
      .add_number(kElementBytes, 2)
      .add({element, kElementBytes})
      .add(kFinalize)
      .finish(output);
}

void prf_one(std::uint8_t* output, const ServerKey& key, Bytes input) {
  Secret<kElementBytes> element;
  hash_to_group(element.data(), input);
  if (!multiply(element.data(), key.bytes().data(), element.data())) refuse_key();
  finish(output, input, element.data());
}

/// A scalar in [1, order) by 64 bytes of the stream.
void draw_scalar(std::uint8_t* scalar, Stream& stream) {
  Secret<64> wide;
  do {
    for (std::size_t i = 0; i < 64; i += 8) {
      const u64 w = stream.next();
      std::memcpy(wide.data() + i, &w, 8);
    }
    crypto_core_ristretto255_scalar_reduce(scalar, wide.data());
  } while (is_zero(scalar, kScalarBytes));
}

void check_inputs(const Inputs& inputs) {
  const auto& o = inputs.offsets;
  if (o.empty() && inputs.bytes.empty()) return;
  if (o.empty() || o.front() != 0 || o.back() != inputs.bytes.size() || !std::is_sorted(o.begin(), o.end()))
    throw ShapeError("offsets of " + std::to_string(inputs.bytes.size()) +
                     " bytes must begin with 0, not fall, and end with the number of bytes");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].size() > kMaxInputBytes) check_input(inputs[i], ("input " + std::to_string(i)).c_str());
}

void check_elements(Bytes elements) {
  if (elements.size() % kElementBytes != 0)
    throw ShapeError("the elements have " + std::to_string(elements.size()) + " bytes, a multiple of " +
                     std::to_string(kElementBytes) + " is needed");
}

/// Runs body(first, last) over chunks of [0, count) and reports.
template <class Body>
void in_chunks(std::size_t count, unsigned threads, const Progress& progress, Body&& body) {
  const std::size_t chunks = (count + kChunk - 1) / kChunk;
  Reports<void> reports(progress, chunks);
  parallel_for(threads, chunks, [&](std::size_t c) {
    body(c * kChunk, std::min(count, (c + 1) * kChunk));
    reports.add(1);
  });
  if (progress && chunks == 0) progress(1.0);
}

/// The first bad element, whatever thread finds which: only elements behind a bad one are skipped.
class FirstBad {
 public:
  bool before(std::size_t i) const noexcept { return index_.load(std::memory_order_relaxed) < i; }
  void note(std::size_t i) noexcept {
    std::size_t old = index_.load(std::memory_order_relaxed);
    while (i < old && !index_.compare_exchange_weak(old, i, std::memory_order_relaxed)) {
    }
  }
  void raise(std::size_t count) const {
    const std::size_t i = index_.load();
    if (i < count) refuse_element("element " + std::to_string(i) + " of " + std::to_string(count));
  }

 private:
  std::atomic<std::size_t> index_{std::numeric_limits<std::size_t>::max()};
};

/// Inverses of `count` non-zero scalars by one inversion and three products each (Montgomery's trick).
void invert_all(std::uint8_t* out, const std::uint8_t* in, std::size_t count) {
  Secret<kScalarBytes> running, next;
  // out[i] = in[0] ... in[i]
  std::memcpy(out, in, kScalarBytes);
  for (std::size_t i = 1; i < count; ++i)
    crypto_core_ristretto255_scalar_mul(out + i * kScalarBytes, out + (i - 1) * kScalarBytes, in + i * kScalarBytes);
  if (is_zero(out + (count - 1) * kScalarBytes, kScalarBytes))
    throw FormatError("a blind is zero: use the blinds that blinding gave");
  static_cast<void>(crypto_core_ristretto255_scalar_invert(running.data(), out + (count - 1) * kScalarBytes));
  for (std::size_t i = count - 1; i > 0; --i) {
    crypto_core_ristretto255_scalar_mul(next.data(), running.data(), in + i * kScalarBytes);
    crypto_core_ristretto255_scalar_mul(out + i * kScalarBytes, running.data(), out + (i - 1) * kScalarBytes);
    running.value = next.value;
  }
  std::memcpy(out, running.data(), kScalarBytes);
}

/// Inputs [first, last) for the lanes.
struct Texts {
  std::array<Text, kChunk> of;
  Texts(const Inputs& inputs, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) of[i - first] = {inputs[i].data(), inputs[i].size()};
  }
};

/// Elements of inputs [first, last) times scalars: one, or with `scalar_step` 32 one for each.
void hash_multiply(const Lanes& lanes, std::uint8_t* elements, const Texts& texts, const std::uint8_t* scalars,
                   std::size_t scalar_step, std::size_t count) {
  Secret<kChunk * 64> uniform;
  lanes.expand(uniform.data(), texts.of.data(), count);
  lanes.hash_multiply(elements, uniform.data(), scalars, scalar_step, count);
  for (std::size_t i = 0; i < count; ++i)
    if (is_zero(elements + i * kElementBytes, kElementBytes)) refuse_input();
}

}  // namespace

/// Lets the batches fill blinds.
struct BatchWork {
  static Blinds make(std::size_t count) { return Blinds(count); }
  static std::uint8_t* at(Blinds& b, std::size_t i) { return b.data_.data() + i * kScalarBytes; }
};

void expand_message_xmd(std::span<std::uint8_t> out, Bytes message, std::string_view dst) {
  constexpr std::size_t kBlock = crypto_hash_sha512_BYTES, kInputBlock = 128;
  if (out.empty() || out.size() > 255 * kBlock)
    throw ValueError("expand_message_xmd gives 1 to 16320 bytes, not " + std::to_string(out.size()));
  if (dst.empty() || dst.size() > 255)
    throw ValueError("a domain separation tag has 1 to 255 bytes, not " + std::to_string(dst.size()));
  start_sodium();
  static constexpr std::array<std::uint8_t, kInputBlock> kPad{};
  Secret<kBlock> b0, b;
  Hash()
      .add(kPad)
      .add(message)
      .add_number(out.size(), 2)
      .add_number(0, 1)
      .add(dst)
      .add_number(dst.size(), 1)
      .finish(b0.data());
  for (std::size_t at = 0, i = 1; at < out.size(); at += kBlock, ++i) {
    // b_i = H((b_0 xor b_(i-1)) || i || DST'), and b_1 without the second.
    for (std::size_t k = 0; k < kBlock; ++k) b.value[k] ^= b0.value[k];
    Hash().add(b.value).add_number(i, 1).add(dst).add_number(dst.size(), 1).finish(b.data());
    std::memcpy(out.data() + at, b.data(), std::min(kBlock, out.size() - at));
  }
}

Scalar Scalar::random(Randomness& rng) {
  start_sodium();
  Stream stream(rng.next_seed(), StreamObject::secret);
  Scalar s;
  draw_scalar(s.value_.data(), stream);
  return s;
}

Scalar Scalar::from_bytes(Bytes bytes) {
  check_length(bytes.size(), kScalarBytes, "a scalar");
  start_sodium();
  // Reducing leaves canonical scalars alone and changes all others.
  Secret<64> wide;
  Scalar s;
  std::memcpy(wide.data(), bytes.data(), kScalarBytes);
  crypto_core_ristretto255_scalar_reduce(s.value_.data(), wide.data());
  if (sodium_is_zero(s.value_.data(), kScalarBytes) == 1 ||
      sodium_memcmp(s.value_.data(), bytes.data(), kScalarBytes) != 0)
    throw FormatError("these 32 bytes are no scalar between 1 and the group's order: the key or blind is damaged");
  return s;
}

ServerKey ServerKey::derive(Bytes seed, Bytes info) {
  check_length(seed.size(), kSeedBytes, "the seed of a server key");
  check_input(info, "the info of a server key");
  start_sodium();
  std::vector<std::uint8_t> message;
  message.reserve(seed.size() + info.size() + 3);  // all at once: growing would leave copies of the seed behind
  message.insert(message.end(), seed.begin(), seed.end());
  message.push_back(static_cast<std::uint8_t>(info.size() >> 8));
  message.push_back(static_cast<std::uint8_t>(info.size()));
  message.insert(message.end(), info.begin(), info.end());
  message.push_back(0);
  Scalar s;
  Secret<64> uniform;
  do {
    expand_message_xmd(uniform.value, message, kDeriveKeyPair);
    crypto_core_ristretto255_scalar_reduce(s.value_.data(), uniform.data());
  } while (sodium_is_zero(s.value_.data(), kScalarBytes) == 1 && ++message.back() != 0);
  wipe(message.data(), message.size());
  if (sodium_is_zero(s.value_.data(), kScalarBytes) == 1) throw ValueError("the seed gives no key: use another");
  return ServerKey(std::move(s));
}

Element blind_with(Bytes input, const Scalar& blind) {
  Secret<kElementBytes> hashed;
  hash_to_group(hashed.data(), input);
  Element element;
  if (!multiply(element.data(), blind.bytes().data(), hashed.data()))
    throw ValueError("the blind is empty: it was moved from");
  return element;
}

Blinded blind(Bytes input, Randomness& rng) {
  check_input(input);
  Scalar s = Scalar::random(rng);
  const Element element = blind_with(input, s);
  return {std::move(s), element};
}

Element evaluate(const ServerKey& key, Bytes element) {
  check_length(element.size(), kElementBytes, "an element");
  start_sodium();
  Element result;
  if (!multiply(result.data(), key.bytes().data(), element.data())) refuse_element("the element");
  return result;
}

Output finalize(Bytes input, const Scalar& blind, Bytes evaluated) {
  check_input(input);
  check_length(evaluated.size(), kElementBytes, "an element");
  start_sodium();
  Secret<kScalarBytes> inverse;
  Secret<kElementBytes> element;
  if (declassified(crypto_core_ristretto255_scalar_invert(inverse.data(), blind.bytes().data()) != 0))
    throw ValueError("the blind is empty: it was moved from");
  if (!multiply(element.data(), inverse.data(), evaluated.data())) refuse_element("the element");
  Output output;
  finish(output.data(), input, element.data());
  return output;
}

Output prf(const ServerKey& key, Bytes input) {
  Output output;
  prf_one(output.data(), key, input);
  return output;
}

const Lanes* active_lanes() {
#if defined(__x86_64__)
  if (&kernels::active() == &kernels::avx512_kernels()) return &avx512_lanes();
#endif
  return nullptr;
}

BlindedBatch blind_batch(const Lanes* lanes, const Inputs& inputs, Randomness& rng, unsigned threads,
                         const Progress& progress) {
  check_inputs(inputs);
  start_sodium();
  const std::size_t count = inputs.size();
  BlindedBatch out{BatchWork::make(count), std::vector<std::uint8_t>(count * kElementBytes)};
  // One seed for all, a stream for each chunk: which thread takes which chunk does not matter.
  const SecretSeed seed = rng.next_seed();
  in_chunks(count, threads, progress, [&](std::size_t first, std::size_t last) {
    const std::size_t chunk = first / kChunk;
    Stream stream(seed, StreamObject::secret, static_cast<u32>(chunk), static_cast<u32>(chunk >> 32));
    for (std::size_t i = first; i < last; ++i) draw_scalar(BatchWork::at(out.blinds, i), stream);
    std::uint8_t* elements = out.elements.data() + first * kElementBytes;
    if (lanes != nullptr) {
      const std::uint8_t* scalars = BatchWork::at(out.blinds, first);
      hash_multiply(*lanes, elements, Texts(inputs, first, last), scalars, kScalarBytes, last - first);
    } else {
      Secret<kElementBytes> hashed;
      for (std::size_t i = first; i < last; ++i) {
        hash_to_group(hashed.data(), inputs[i]);
        if (!multiply(out.elements.data() + i * kElementBytes, BatchWork::at(out.blinds, i), hashed.data()))
          throw Error("blinding failed: report this as a bug");
      }
    }
    declassify(elements, (last - first) * kElementBytes);  // for the server, who finds them uniform
  });
  return out;
}

std::vector<std::uint8_t> evaluate_batch(const Lanes* lanes, const ServerKey& key, Bytes elements, unsigned threads,
                                         const Progress& progress) {
  check_elements(elements);
  start_sodium();
  const std::size_t count = elements.size() / kElementBytes;
  if (count != 0 && is_zero(key.bytes().data(), kScalarBytes)) refuse_key();
  std::vector<std::uint8_t> out(elements.size());
  FirstBad bad;
  in_chunks(count, threads, progress, [&](std::size_t first, std::size_t last) {
    if (bad.before(first)) return;
    const std::uint8_t* in = elements.data() + first * kElementBytes;
    std::uint8_t* to = out.data() + first * kElementBytes;
    if (lanes != nullptr) {
      const u64 refused = lanes->decode_multiply(to, in, key.bytes().data(), 0, last - first);
      if (refused != 0) bad.note(first + static_cast<std::size_t>(std::countr_zero(refused)));
      return;
    }
    for (std::size_t i = first; i < last && !bad.before(i); ++i, in += kElementBytes, to += kElementBytes)
      if (!multiply(to, key.bytes().data(), in)) bad.note(i);
  });
  bad.raise(count);
  return out;
}

std::vector<std::uint8_t> finalize_batch(const Lanes* lanes, const Inputs& inputs, const Blinds& blinds,
                                         Bytes evaluated, unsigned threads, const Progress& progress) {
  check_inputs(inputs);
  check_elements(evaluated);
  const std::size_t count = inputs.size();
  if (blinds.size() != count || evaluated.size() != count * kElementBytes)
    throw ShapeError(std::to_string(count) + " inputs, " + std::to_string(blinds.size()) + " blinds and " +
                     std::to_string(evaluated.size() / kElementBytes) + " elements: they must be equally many");
  start_sodium();
  std::vector<std::uint8_t> out(count * kOutputBytes);
  FirstBad bad;
  in_chunks(count, threads, progress, [&](std::size_t first, std::size_t last) {
    if (bad.before(first)) return;
    Secret<kChunk * kScalarBytes> inverses;
    invert_all(inverses.data(), blinds.bytes().data() + first * kScalarBytes, last - first);
    if (lanes != nullptr) {
      Secret<kChunk * kElementBytes> elements;
      const u64 refused = lanes->decode_multiply(elements.data(), evaluated.data() + first * kElementBytes,
                                                 inverses.data(), kScalarBytes, last - first);
      if (refused != 0)
        bad.note(first + static_cast<std::size_t>(std::countr_zero(refused)));
      else
        lanes->finish(out.data() + first * kOutputBytes, Texts(inputs, first, last).of.data(), elements.data(),
                      last - first);
      return;
    }
    Secret<kElementBytes> element;
    for (std::size_t i = first; i < last && !bad.before(i); ++i) {
      if (multiply(element.data(), inverses.data() + (i - first) * kScalarBytes, evaluated.data() + i * kElementBytes))
        finish(out.data() + i * kOutputBytes, inputs[i], element.data());
      else
        bad.note(i);
    }
  });
  bad.raise(count);
  return out;
}

std::vector<std::uint8_t> prf_batch(const Lanes* lanes, const ServerKey& key, const Inputs& inputs, unsigned threads,
                                    const Progress& progress) {
  check_inputs(inputs);
  start_sodium();
  if (inputs.size() != 0 && is_zero(key.bytes().data(), kScalarBytes)) refuse_key();
  std::vector<std::uint8_t> out(inputs.size() * kOutputBytes);
  in_chunks(inputs.size(), threads, progress, [&](std::size_t first, std::size_t last) {
    if (lanes != nullptr) {
      const Texts texts(inputs, first, last);
      Secret<kChunk * kElementBytes> elements;
      hash_multiply(*lanes, elements.data(), texts, key.bytes().data(), 0, last - first);
      lanes->finish(out.data() + first * kOutputBytes, texts.of.data(), elements.data(), last - first);
      return;
    }
    for (std::size_t i = first; i < last; ++i) prf_one(out.data() + i * kOutputBytes, key, inputs[i]);
  });
  return out;
}

BlindedBatch blind_batch(const Inputs& inputs, Randomness& rng, unsigned threads, const Progress& progress) {
  return blind_batch(active_lanes(), inputs, rng, threads, progress);
}

std::vector<std::uint8_t> evaluate_batch(const ServerKey& key, Bytes elements, unsigned threads,
                                         const Progress& progress) {
  return evaluate_batch(active_lanes(), key, elements, threads, progress);
}

std::vector<std::uint8_t> finalize_batch(const Inputs& inputs, const Blinds& blinds, Bytes evaluated, unsigned threads,
                                         const Progress& progress) {
  return finalize_batch(active_lanes(), inputs, blinds, evaluated, threads, progress);
}

std::vector<std::uint8_t> prf_batch(const ServerKey& key, const Inputs& inputs, unsigned threads,
                                    const Progress& progress) {
  return prf_batch(active_lanes(), key, inputs, threads, progress);
}

}  // namespace ringforge::oprf
