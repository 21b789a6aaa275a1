// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Evaluation keys of boolean gates: generation, and their stream format.
#include <cstring>
#include <istream>
#include <ostream>

#include "gate_machine.hpp"
#include "key_stream.hpp"
#include "progress.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::fhew {
namespace {

// Format 2 has the key's id after the hash of the parameters. Format 1 has none; keys that were read from it are
// written in it again, so that every key has one encoding.
constexpr char kSecretMagic[] = "RGFGSEC", kEvaluationMagic[] = "RGFGATE";
constexpr std::size_t kMagicBytes = 8, kHashBytes = 32;

constexpr std::size_t header_bytes(u64 id) noexcept { return kMagicBytes + kHashBytes + (id == 0 ? 0 : sizeof(id)); }

void write_header(std::uint8_t* dst, const char* magic, const GateParameters& params, u64 id) {
  std::memcpy(dst, magic, kMagicBytes - 1);
  dst[kMagicBytes - 1] = id == 0 ? '1' : '2';
  const auto hash = params.hash();
  std::memcpy(dst + kMagicBytes, hash.data(), kHashBytes);
  if (id != 0) std::memcpy(dst + kMagicBytes + kHashBytes, &id, sizeof(id));
}

// Reads a header by `get(data, bytes)`; `what` is in the nominative, with its article.
template <class Get>
u64 read_header(const char* magic, const std::string& what, const GateParameters& params, Get&& get) {
  std::array<char, kMagicBytes> found{};
  get(found.data(), found.size());
  if (std::memcmp(found.data(), magic, kMagicBytes - 1) != 0)
    throw FormatError("this is no " + what + " of gates: those begin with " + magic);
  const char version = found.back();
  if (version != '1' && version != '2')
    throw FormatError("this " + what + " has a format that this release does not read; it reads 1 and 2");
  std::array<std::uint8_t, kHashBytes> hash{};
  get(hash.data(), hash.size());
  if (hash != params.hash()) throw MismatchError("this " + what + " belongs to other parameters than " + params.name);
  u64 id = 0;
  if (version == '2') {
    get(&id, sizeof(id));
    if (id == 0) throw FormatError("this " + what + " has the id 0, which no key has");
  }
  return id;
}

u64 power(u64 base, unsigned e) noexcept {
  u64 r = 1;
  while (e-- > 0) r *= base;
  return r;
}

}  // namespace

template <class W>
void GateMachine<W>::expand_switch(std::size_t i) {
  const std::size_t entries = params.key_switch.count * digit_values();
  Stream stream(switch_seed, StreamObject::lwe_row, static_cast<u32>(i));
  for (std::size_t e = i * entries; e < (i + 1) * entries; ++e) {
    if (params.key_switch.at_q) {
      const u64 mask = (u64{1} << params.log_q) - 1;
      for (unsigned k = 0; k < params.n; ++k)
        table16_.data()[e * stride_ + k] = static_cast<std::uint16_t>(stream.next() & mask);
    } else {
      sample_small(table_.data() + e * stride_, params.n, ring_->q(), ring_->bits(), stream);
    }
  }
}

template <class W>
void GateMachine<W>::generate(const GateSecretKey& secret, Randomness& rng, unsigned threads,
                              const Progress& progress) {
  const std::size_t n = ring_->n();
  bootstrap_seed = rng.next_seed();
  switch_seed = rng.next_seed();
  const SecretSeed bootstrap_errors = rng.next_seed(), switch_errors = rng.next_seed();
  SmallPoly coeffs(n);
  coeffs.coeffs() = secret.ring().coeffs();
  const RingSecret<W> s(ring_, std::move(coeffs));
  Reports<bool> reports(progress, rgsw_count() + substitution_count() + n);

  const u32 m = static_cast<u32>(2 * n), step = m / params.rotation_modulus();
  const std::size_t per_lwe = params.ap_digits() * (params.ap_base - 1);
  parallel_for(threads, rgsw_count(), [&](std::size_t index) {
    WordArray<W> message(n);
    message.zero();
    if (method == Method::ginx) {
      const bool ternary = params.lwe_secret == LweSecret::ternary;
      const i64 bit = secret.lwe()[ternary ? index / 2 : index];
      message.data()[0] = bit == (ternary && index % 2 == 1 ? -1 : 1) ? 1 : 0;
    } else {
      i64 exponent = 0;
      if (method == Method::ap) {
        const std::size_t rest = index % per_lwe, v = rest % (params.ap_base - 1) + 1;
        exponent =
            static_cast<i64>(v * power(params.ap_base, static_cast<unsigned>(rest / (params.ap_base - 1))) * step % m) *
            secret.lwe()[index / per_lwe];
      } else {
        exponent = secret.lwe()[index];
      }
      const auto e = static_cast<std::size_t>(((exponent % m) + m) % m);
      message.data()[e % n] = e < n ? 1 : ring_->q() - 1;
    }
    ring_->forward(message.data(), message.data());
    encrypt_rgsw(rows_.data() + index * params.rows() * 2 * n, s, message.data(), params.a, params.b, bootstrap_seed,
                 static_cast<u32>(index * params.rows()), bootstrap_errors);
    message.wipe();
    reports.add(1);
  });
  parallel_for(threads, substitution_count(), [&](std::size_t index) {
    const std::size_t first = rgsw_count() * params.rows() + index * params.automorphism.count;
    encrypt_substitution_key(rows_.data() + first * 2 * n, s, substitution_element(index), params.automorphism,
                             bootstrap_seed, static_cast<u32>(first), bootstrap_errors);
    reports.add(1);
  });

  const LweSwitch& ks = params.key_switch;
  const std::size_t values = digit_values();
  const u64 q = ks.at_q ? u64{1} << params.log_q : ring_->q();
  parallel_for(threads, n, [&](std::size_t i) {
    expand_switch(i);
    Stream errors(switch_errors, StreamObject::error, static_cast<u32>(i));
    __int128 b = 0;
    for (unsigned j = 0; j < ks.count; ++j)
      for (std::size_t v = 1; v <= values; ++v) {
        const std::size_t at = ((i * ks.count + j) * values + v - 1) * stride_;
        const auto factor = static_cast<unsigned __int128>(v) * power(ks.base, j) << ks.drop;
        b = static_cast<__int128>(factor % q) * secret.ring().coeffs()[i] + error_of(errors.next());
        for (unsigned k = 0; k < params.n; ++k)
          b += static_cast<__int128>(ks.at_q ? table16_.data()[at + k] : table_.data()[at + k]) * secret.lwe()[k];
        b %= static_cast<__int128>(q);
        if (b < 0) b += q;
        if (ks.at_q)
          table16_.data()[at + params.n] = static_cast<std::uint16_t>(b);
        else
          table_.data()[at + params.n] = static_cast<W>(b);
      }
    wipe(&b, sizeof(b));
    reports.add(1);
  });
}

template <class W>
void GateMachine<W>::write(KeyWriter& out) const {
  const std::size_t n = ring_->n(), bytes = (n * ring_->bits() + 7) / 8;
  out.put(bootstrap_seed.data(), bootstrap_seed.size());
  out.put(switch_seed.data(), switch_seed.size());
  std::vector<std::uint8_t> packed(bytes);
  for (std::size_t r = 0; r < row_count(); ++r) {
    pack_bits(packed.data(), rows_.data() + r * 2 * n + n, n, ring_->bits());
    out.put(packed.data(), bytes);
  }
  const std::size_t entries = params.key_switch.count * digit_values();
  const unsigned bits = params.key_switch.at_q ? params.log_q : ring_->bits();
  WordArray<u64> b(entries);
  packed.resize((entries * bits + 7) / 8);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t e = 0; e < entries; ++e) {
      const std::size_t at = (i * entries + e) * stride_ + params.n;
      b.data()[e] = params.key_switch.at_q ? table16_.data()[at] : table_.data()[at];
    }
    pack_bits(packed.data(), b.data(), entries, bits);
    out.put(packed.data(), packed.size());
  }
}

template <class W>
void GateMachine<W>::read(KeyReader& in, unsigned threads) {
  const std::size_t n = ring_->n(), bytes = (n * ring_->bits() + 7) / 8;
  in.get(bootstrap_seed.data(), bootstrap_seed.size());
  in.get(switch_seed.data(), switch_seed.size());
  // Read a block, expand it on all threads, read the next.
  constexpr std::size_t kBlock = 256;
  std::vector<std::uint8_t> packed(bytes * kBlock);
  for (std::size_t r = 0; r < row_count(); r += kBlock) {
    const std::size_t count = std::min(kBlock, row_count() - r);
    in.get(packed.data(), count * bytes);
    parallel_for(threads, count, [&](std::size_t i) {
      W* row = rows_.data() + (r + i) * 2 * n;
      expand_row(row, *ring_, bootstrap_seed, static_cast<u32>(r + i));
      unpack_bits(row + n, packed.data() + i * bytes, n, ring_->bits(), ring_->q());
    });
  }
  const std::size_t entries = params.key_switch.count * digit_values();
  const unsigned bits = params.key_switch.at_q ? params.log_q : ring_->bits();
  const std::size_t each = (entries * bits + 7) / 8;
  packed.resize(each * n);
  in.get(packed.data(), packed.size());
  const u64 q = params.key_switch.at_q ? u64{1} << params.log_q : ring_->q();
  parallel_for(threads, n, [&](std::size_t i) {
    expand_switch(i);
    WordArray<u64> b(entries);
    unpack_bits(b.data(), packed.data() + i * each, entries, bits, q);
    for (std::size_t e = 0; e < entries; ++e) {
      const std::size_t at = (i * entries + e) * stride_ + params.n;
      if (params.key_switch.at_q)
        table16_.data()[at] = static_cast<std::uint16_t>(b.data()[e]);
      else
        table_.data()[at] = static_cast<W>(b.data()[e]);
    }
  });
}

#define RINGFORGE_INSTANTIATE(W)                                                                        \
  template void GateMachine<W>::expand_switch(std::size_t);                                             \
  template void GateMachine<W>::generate(const GateSecretKey&, Randomness&, unsigned, const Progress&); \
  template void GateMachine<W>::write(KeyWriter&) const;                                                \
  template void GateMachine<W>::read(KeyReader&, unsigned)
RINGFORGE_INSTANTIATE(u32);
RINGFORGE_INSTANTIATE(u64);
#undef RINGFORGE_INSTANTIATE

// ---- the secret key's bytes -----------------------------------------------------------------------

std::size_t GateSecretKey::bytes() const noexcept {
  return header_bytes(id_) + params_.n + params_.degree() + kHashBytes;
}

void GateSecretKey::save(std::uint8_t* dst) const {
  write_header(dst, kSecretMagic, params_, id_);
  std::uint8_t* at = dst + header_bytes(id_);
  for (const i64 x : lwe()) *at++ = static_cast<std::uint8_t>(x + 1);
  for (const i64 x : ring_.coeffs()) *at++ = static_cast<std::uint8_t>(x + 1);
  const auto sum = sha256(dst, static_cast<std::size_t>(at - dst));
  std::memcpy(at, sum.data(), sum.size());
}

GateSecretKey GateSecretKey::load(std::span<const std::uint8_t> bytes, const GateParameters& params) {
  std::size_t read = 0;
  const u64 id = read_header(kSecretMagic, "secret key", params, [&](void* dst, std::size_t count) {
    if (bytes.size() - read < count) throw FormatError("the secret key ends early");
    std::memcpy(dst, bytes.data() + read, count);
    read += count;
  });
  const std::size_t body = header_bytes(id) + params.n + params.degree();
  if (bytes.size() != body + kHashBytes)
    throw FormatError("the secret key has " + std::to_string(bytes.size()) + " bytes; one of " + params.name + " has " +
                      std::to_string(body + kHashBytes));
  const auto sum = sha256(bytes.data(), body);
  if (std::memcmp(sum.data(), bytes.data() + body, sum.size()) != 0)
    throw FormatError("the secret key is damaged: its checksum differs");
  SmallPoly lwe(params.n), ring(params.degree());
  const std::uint8_t* at = bytes.data() + read;
  for (auto& x : lwe.coeffs()) x = *at++ - i64{1};
  for (auto& x : ring.coeffs()) x = *at++ - i64{1};
  return GateSecretKey(params, std::move(lwe), std::move(ring), id);
}

// ---- the public class -----------------------------------------------------------------------------

GateEvaluationKey::GateEvaluationKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GateEvaluationKey::~GateEvaluationKey() = default;
GateEvaluationKey::GateEvaluationKey(GateEvaluationKey&&) noexcept = default;
GateEvaluationKey& GateEvaluationKey::operator=(GateEvaluationKey&&) noexcept = default;

const GateParameters& GateEvaluationKey::params() const noexcept { return impl_->params; }
Method GateEvaluationKey::method() const noexcept { return impl_->method; }
u64 GateEvaluationKey::id() const noexcept { return impl_->id; }
std::size_t GateEvaluationKey::bootstrap_bytes() const noexcept { return impl_->bootstrap_bytes(); }
std::size_t GateEvaluationKey::switch_bytes() const noexcept { return impl_->switch_bytes(); }

GateEvaluationKey GateEvaluationKey::make(const GateSecretKey& secret, Method method, Randomness& rng, unsigned threads,
                                          const Progress& progress) {
  auto impl = Impl::make(secret.params(), method);
  impl->id = secret.id();
  impl->generate(secret, rng, threads, progress);
  return GateEvaluationKey(std::move(impl));
}

void GateEvaluationKey::save(std::ostream& stream) const {
  KeyWriter out(stream);
  std::array<std::uint8_t, header_bytes(1)> header{};
  write_header(header.data(), kEvaluationMagic, params(), id());
  out.put(header.data(), header_bytes(id()));
  const auto method = static_cast<std::uint8_t>(impl_->method);
  out.put(&method, 1);
  impl_->write(out);
  out.finish();
}

GateEvaluationKey GateEvaluationKey::load(std::istream& stream, const GateParameters& params, unsigned threads) {
  KeyReader in(stream);
  const u64 id = read_header(kEvaluationMagic, "evaluation key", params,
                             [&](void* dst, std::size_t count) { in.get(dst, count); });
  std::uint8_t method = 0;
  in.get(&method, 1);
  if (method > 2) throw FormatError("the evaluation key names accumulator " + std::to_string(method) + " of 0, 1, 2");
  auto impl = Impl::make(params, static_cast<Method>(method));
  impl->id = id;
  impl->read(in, threads);
  in.finish();
  return GateEvaluationKey(std::move(impl));
}

}  // namespace ringforge::fhew
