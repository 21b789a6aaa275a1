// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Evaluation keys of boolean gates: generation, and their records.

#include <atomic>

#include "gate_machine.hpp"
#include "progress.hpp"
#include "ref/arith.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/fhew/records.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::fhew {
namespace {

// The id that a body begins with. Checks the parameters before.
u64 read_id(io::RecordReader& in, const GateParameters& params) {
  in.check_parameters(params.hash());
  const std::uint16_t version = in.header().version;
  if (version == kGatesWithoutId) return 0;
  const u64 id = in.value<u64>();
  // Records may say 0: that of a key whose first file had none.
  if (version != kGatesVersion && id == 0) in.refuse("has the id 0, which no key has");
  return id;
}
u64 id_bytes(const io::RecordReader& in) noexcept { return in.header().version == kGatesWithoutId ? 0 : sizeof(u64); }

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
  bootstrap_seed = rng.next_public_seed();
  switch_seed = rng.next_public_seed();
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
      const i64 wanted = ternary && index % 2 == 1 ? -1 : 1;
      message.data()[0] = static_cast<W>(mask_of_equal(static_cast<u64>(bit), static_cast<u64>(wanted)) & 1);
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
      // Every place is written: which of them is not zero is secret. m is a power of two.
      const u64 e = static_cast<u64>(exponent) & (m - 1), below = mask_of_equal(e & n, 0);
      const auto one = static_cast<W>((below & 1) | (~below & (u64{ring_->q()} - 1)));
      for (std::size_t i = 0; i < n; ++i) message.data()[i] = static_cast<W>(one & mask_of_equal(e & (n - 1), i));
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
    // Sums are above -shift; shift is a multiple of q. A division would take time that depends on them.
    const kernels::Modulus mod = ks.at_q ? kernels::Modulus{} : kernels::make_modulus(q);
    const __int128 shift = static_cast<__int128>(q) * (params.n + 2);
    __int128 b = 0;
    for (unsigned j = 0; j < ks.count; ++j)
      for (std::size_t v = 1; v <= values; ++v) {
        const std::size_t at = ((i * ks.count + j) * values + v - 1) * stride_;
        const auto factor = static_cast<unsigned __int128>(v) * power(ks.base, j) << ks.drop;
        b = static_cast<__int128>(factor % q) * secret.ring().coeffs()[i] + error_of(errors.next());
        for (unsigned k = 0; k < params.n; ++k)
          b += static_cast<__int128>(ks.at_q ? table16_.data()[at + k] : table_.data()[at + k]) * secret.lwe()[k];
        const auto sum = static_cast<unsigned __int128>(b + shift);
        if (ks.at_q)
          table16_.data()[at + params.n] = static_cast<std::uint16_t>(sum & (q - 1));
        else
          table_.data()[at + params.n] = static_cast<W>(arith::reduce128(sum, mod));
      }
    wipe(&b, sizeof(b));
    reports.add(1);
  });
}

template <class W>
u64 GateMachine<W>::stored_bytes() const noexcept {
  const unsigned bits = params.key_switch.at_q ? params.log_q : ring_->bits();
  return bootstrap_seed.size() + switch_seed.size() + row_count() * packed_bytes(ring_->n(), ring_->bits()) +
         ring_->n() * packed_bytes(params.key_switch.count * digit_values(), bits);
}

template <class W>
void GateMachine<W>::write(io::RecordWriter& out) const {
  const std::size_t n = ring_->n(), bytes = packed_bytes(n, ring_->bits());
  out.bytes(bootstrap_seed.data(), bootstrap_seed.size());
  out.bytes(switch_seed.data(), switch_seed.size());
  std::vector<std::uint8_t> packed(bytes);
  for (std::size_t r = 0; r < row_count(); ++r) {
    pack_bits(packed.data(), rows_.data() + r * 2 * n + n, n, ring_->bits());
    out.bytes(packed.data(), bytes);
  }
  const std::size_t entries = params.key_switch.count * digit_values();
  const unsigned bits = params.key_switch.at_q ? params.log_q : ring_->bits();
  WordArray<u64> b(entries);
  packed.resize(packed_bytes(entries, bits));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t e = 0; e < entries; ++e) {
      const std::size_t at = (i * entries + e) * stride_ + params.n;
      b.data()[e] = params.key_switch.at_q ? table16_.data()[at] : table_.data()[at];
    }
    pack_bits(packed.data(), b.data(), entries, bits);
    out.bytes(packed.data(), packed.size());
  }
}

template <class W>
void GateMachine<W>::read(io::RecordReader& in, unsigned threads) {
  const std::size_t n = ring_->n(), bytes = packed_bytes(n, ring_->bits());
  in.bytes(bootstrap_seed.data(), bootstrap_seed.size());
  in.bytes(switch_seed.data(), switch_seed.size());
  // Read a block, expand it on all threads, read the next.
  constexpr std::size_t kBlock = 256;
  std::vector<std::uint8_t> packed(bytes * kBlock);
  for (std::size_t r = 0; r < row_count(); r += kBlock) {
    const std::size_t count = std::min(kBlock, row_count() - r);
    in.bytes(packed.data(), count * bytes);
    parallel_for(threads, count, [&](std::size_t i) {
      W* row = rows_.data() + (r + i) * 2 * n;
      expand_row(row, *ring_, bootstrap_seed, static_cast<u32>(r + i));
      unpack_residues(row + n, packed.data() + i * bytes, n, ring_->bits(), ring_->q());
    });
  }
  const std::size_t entries = params.key_switch.count * digit_values();
  const unsigned bits = params.key_switch.at_q ? params.log_q : ring_->bits();
  const std::size_t each = packed_bytes(entries, bits);
  packed.resize(each * n);
  in.bytes(packed.data(), packed.size());
  const u64 q = params.key_switch.at_q ? u64{1} << params.log_q : ring_->q();
  parallel_for(threads, n, [&](std::size_t i) {
    expand_switch(i);
    WordArray<u64> b(entries);
    unpack_residues(b.data(), packed.data() + i * each, entries, bits, q);
    for (std::size_t e = 0; e < entries; ++e) {
      const std::size_t at = (i * entries + e) * stride_ + params.n;
      if (params.key_switch.at_q)
        table16_.data()[at] = static_cast<std::uint16_t>(b.data()[e]);
      else
        table_.data()[at] = static_cast<W>(b.data()[e]);
    }
  });
}

// ---- words that are shared ------------------------------------------------------------------------

template <class W>
GateEvaluationKey::Words GateMachine<W>::words() const noexcept {
  const auto bytes = [](const auto& array) {
    return std::span(reinterpret_cast<const std::uint8_t*>(array.data()), array.bytes());
  };
  constexpr unsigned kBits = 8 * sizeof(W);
  GateEvaluationKey::Words parts{{bootstrap_seed, switch_seed}, kBits, kBits, bytes(rows_), bytes(table_)};
  if (params.key_switch.at_q) {
    parts.switch_bits = 16;
    parts.switch_table = bytes(table16_);
  }
  return parts;
}

namespace {

template <class T>
WordArray<T> borrowed(std::span<const std::uint8_t> bytes, unsigned bits, std::size_t count,
                      const std::shared_ptr<const void>& owner, const char* what) {
  if (bits != 8 * sizeof(T) || bytes.size() != count * sizeof(T))
    throw FormatError(std::string(what) + " of " + std::to_string(bytes.size()) + " bytes in words of " +
                      std::to_string(bits) + " bits; these parameters have " + std::to_string(count * sizeof(T)) +
                      " in words of " + std::to_string(8 * sizeof(T)));
  return WordArray<T>::borrow(reinterpret_cast<const T*>(bytes.data()), count, owner);
}

/// Whether all words are below `bound`; blocks are compared by the threads.
template <class T>
bool below(const WordArray<T>& words, u64 bound, unsigned threads) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  std::atomic<bool> good = true;
  parallel_for(threads, (words.size() + kBlock - 1) / kBlock, [&](std::size_t i) {
    bool wrong = false;
    for (std::size_t k = i * kBlock; k < std::min(words.size(), (i + 1) * kBlock); ++k)
      wrong |= words.data()[k] >= bound;
    if (wrong) good = false;
  });
  return good;
}

}  // namespace

template <class W>
void GateMachine<W>::borrow(const GateEvaluationKey::Words& words,
                            const std::array<std::shared_ptr<const void>, 2>& owners, bool check, unsigned threads) {
  const bool at_q = params.key_switch.at_q;
  bootstrap_seed = words.seeds[0];
  switch_seed = words.seeds[1];
  rows_ = borrowed<W>(words.bootstrap_key, words.bootstrap_bits, row_count() * 2 * ring_->n(), owners[0],
                      "a bootstrapping key");
  constexpr const char* kTable = "a key-switching table";
  if (at_q)
    table16_ = borrowed<std::uint16_t>(words.switch_table, words.switch_bits, table_words(), owners[1], kTable);
  else
    table_ = borrowed<W>(words.switch_table, words.switch_bits, table_words(), owners[1], kTable);
  if (!check) return;
  const bool good = below(rows_, ring_->q(), threads) &&
                    (at_q ? below(table16_, u64{1} << params.log_q, threads) : below(table_, ring_->q(), threads));
  if (!good) throw FormatError("a gate evaluation key has words that are no residues modulo its moduli");
}

#define RINGFORGE_INSTANTIATE(W)                                                                           \
  template void GateMachine<W>::expand_switch(std::size_t);                                                \
  template void GateMachine<W>::generate(const GateSecretKey&, Randomness&, unsigned, const Progress&);    \
  template u64 GateMachine<W>::stored_bytes() const noexcept;                                              \
  template void GateMachine<W>::write(io::RecordWriter&) const;                                            \
  template GateEvaluationKey::Words GateMachine<W>::words() const noexcept;                                \
  template void GateMachine<W>::borrow(const GateEvaluationKey::Words&,                                    \
                                       const std::array<std::shared_ptr<const void>, 2>&, bool, unsigned); \
  template void GateMachine<W>::read(io::RecordReader&, unsigned)
RINGFORGE_INSTANTIATE(u32);
RINGFORGE_INSTANTIATE(u64);
#undef RINGFORGE_INSTANTIATE

// ---- the secret key's bytes -----------------------------------------------------------------------

std::size_t GateSecretKey::bytes() const noexcept {
  return io::record_bytes(sizeof(id_) + params_.n + params_.degree());
}

void GateSecretKey::save(std::uint8_t* dst) const {
  const std::span record(dst, bytes());
  std::uint8_t* at = io::begin_record(record, kGateSecretKeyType, params_.hash());
  std::memcpy(at, &id_, sizeof(id_));
  at += sizeof(id_);
  for (const i64 x : lwe()) *at++ = static_cast<std::uint8_t>(x + 1);
  for (const i64 x : ring_.coeffs()) *at++ = static_cast<std::uint8_t>(x + 1);
  io::seal_record(record);
}

GateSecretKey GateSecretKey::load(std::span<const std::uint8_t> bytes, const GateParameters& params) {
  io::ByteSource source(bytes);
  io::RecordReader in(source, kGateSecretKeyType);
  const u64 id = read_id(in, params);
  in.check_length(id_bytes(in) + params.n + params.degree());
  SmallPoly lwe(params.n), ring(params.degree());
  for (SmallPoly* secret : {&lwe, &ring})
    for (auto& x : secret->coeffs()) x = in.value<std::uint8_t>() - i64{1};
  in.finish();
  io::check_alone(source, kGateSecretKeyType);
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
std::size_t GateEvaluationKey::spectral_bytes() const noexcept { return impl_->spectral_bytes(); }

GateEvaluationKey GateEvaluationKey::make(const GateSecretKey& secret, Method method, Randomness& rng, unsigned threads,
                                          const Progress& progress) {
  auto impl = Impl::make(secret.params(), method);
  impl->id = secret.id();
  impl->generate(secret, rng, threads, progress);
  return GateEvaluationKey(std::move(impl));
}

GateEvaluationKey::Words GateEvaluationKey::words() const noexcept { return impl_->words(); }

GateEvaluationKey GateEvaluationKey::borrow(const GateParameters& params, Method method, u64 id, const Words& words,
                                            const std::array<std::shared_ptr<const void>, 2>& owners, bool check,
                                            unsigned threads) {
  auto impl = Impl::make(params, method, false);
  impl->id = id;
  impl->borrow(words, owners, check, threads);
  return GateEvaluationKey(std::move(impl));
}

void GateEvaluationKey::save(std::ostream& stream) const {
  io::RecordWriter out(stream, kGateEvaluationKeyType, params().hash(),
                       sizeof(u64) + sizeof(Method) + impl_->stored_bytes());
  out.value(id());
  out.value(static_cast<std::uint8_t>(impl_->method));
  impl_->write(out);
  out.finish();
}

GateEvaluationKey GateEvaluationKey::load(std::istream& stream, const GateParameters& params, unsigned threads) {
  io::RecordReader in(stream, kGateEvaluationKeyType);
  const u64 id = read_id(in, params);
  const auto method = in.value<std::uint8_t>();
  if (method > 2) in.refuse("names accumulator " + std::to_string(method) + " of 0, 1, 2");
  auto impl = Impl::make(params, static_cast<Method>(method));
  impl->id = id;
  in.check_length(id_bytes(in) + sizeof(method) + impl->stored_bytes());
  impl->read(in, threads);
  in.finish();
  io::check_alone(stream, kGateEvaluationKeyType);
  return GateEvaluationKey(std::move(impl));
}

}  // namespace ringforge::fhew
