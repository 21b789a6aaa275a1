// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Boolean gates on encrypted bits, each refreshed by a bootstrap (Ducas, Micciancio, FHEW, EUROCRYPT 2015; the
// accumulators: AP as in FHEW, GINX as in TFHE, automorphisms after Lee et al., eprint 2022/198).
//
// A bit is an LWE ciphertext (a, b) of dimension n modulo q = 2^log_q, phase b - <a, s> = bit*q/4 + noise. A gate adds
// its inputs, rounds the sum to the rotation modulus R = min(q, 2N), runs a blind rotation whose result is one of
// 0 and Q/4 by the half circle the phase lies in, extracts an LWE ciphertext of dimension N, and switches it back.
#pragma once

#include <array>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringforge/fhew/rlwe.hpp"

namespace ringforge::fhew {

enum class LweSecret : std::uint8_t { binary, ternary };
/// The accumulator of the blind rotation.
enum class Method : std::uint8_t { ap = 0, ginx = 1, automorphism = 2 };
const char* name(Method method) noexcept;

/// Key switching from dimension N to n by a table with an entry for every digit value, so that errors are added, never
/// multiplied.
struct LweSwitch {
  bool at_q = true;      ///< modulo q after the switch Q -> q; false: modulo Q before it (the paper)
  unsigned base = 16;    ///< of the digits
  unsigned count = 4;    ///< digits
  unsigned drop = 0;     ///< low bits left out
  bool balanced = true;  ///< digits in [-base/2, base/2], negative ones subtracted; else [0, base)
};

/// Parameters of boolean gates. Made by `make` or `named`; immutable by convention.
struct GateParameters {
  std::string name, insecure, about;
  unsigned n = 0;      ///< LWE dimension
  unsigned log_q = 0;  ///< LWE modulus q = 2^log_q
  LweSecret lwe_secret = LweSecret::binary;
  unsigned log_n = 10;    ///< ring degree N = 2^log_n
  u64 modulus = 0;        ///< Q
  Cut a, b;               ///< gadgets of RGSW ciphertexts for the digits of a and of b
  Cut automorphism;       ///< gadget of substitution keys
  unsigned window = 10;   ///< substitution keys for g^1 ... g^window
  unsigned ap_base = 32;  ///< B_r of AP
  LweSwitch key_switch;

  unsigned degree() const noexcept { return 1u << log_n; }
  /// R: the modulus of exponents in the blind rotation.
  unsigned rotation_modulus() const noexcept { return log_q < log_n + 1 ? 1u << log_q : 2u << log_n; }
  unsigned rows() const noexcept { return a.count + b.count; }
  /// Digits of an exponent in AP: ceil(log_Br R).
  unsigned ap_digits() const noexcept;
  /// @throws ParameterError when something is out of range or does not fit together.
  void check() const;
  /// SHA-256 of every field that matters.
  std::array<std::uint8_t, 32> hash() const;
  /// A named set. @throws ParameterError for an unknown name, or when the set is below 128 bits and `insecure` is
  /// empty; the reason given is kept.
  static GateParameters named(const std::string& name, const std::string& insecure = {});
  static std::vector<std::string> names();
};

/// Gates by number; part of the Python interface.
///
/// sum2 and sum3 are XORs whose result is no fresh one: a + b - 2 AND(a, b), a + b + c - 2 MAJ(a, b, c), as
/// ciphertexts, so that it carries its inputs' noise and that of twice the carry. Beside the AND or MAJ3 of the same
/// wires in the same level they cost no rotation: one blind rotation with a test polynomial of two functions gives the
/// carry and twice the carry (methods ap and ginx). What is done with such results must be within the noise that the
/// set bears: whoever uses these kinds accounts for it. refresh is its input, bootstrapped.
enum class GateKind : std::uint8_t {
  and_ = 0,
  or_,
  nand_,
  nor_,
  xor_,
  xnor_,
  not_,
  mux,
  maj3,
  xor3,
  and3,
  or3,
  nand3,
  nor3,
  copy,
  zero,
  one,
  sum2,
  sum3,
  refresh
};
inline constexpr unsigned kGateKinds = 20;
const char* name(GateKind kind) noexcept;
/// Blind rotations of a gate by itself: 0, 1 or 2.
unsigned bootstraps(GateKind kind) noexcept;
/// Inputs of a gate: 0 ... 3. MUX takes (select, if one, if zero).
unsigned arity(GateKind kind) noexcept;

/// The client's key: the LWE secret and the ring secret, and a random number by which what belongs to it is known.
/// Move-only, wiped at the end.
class GateSecretKey {
 public:
  GateSecretKey(GateParameters params, Randomness& rng);
  /// @throws FormatError for lengths or coefficients that do not fit the parameters.
  GateSecretKey(GateParameters params, SmallPoly&& lwe, SmallPoly&& ring, u64 id);
  GateSecretKey(GateSecretKey&&) noexcept = default;
  GateSecretKey(const GateSecretKey&) = delete;
  GateSecretKey& operator=(const GateSecretKey&) = delete;

  const GateParameters& params() const noexcept { return params_; }
  const std::vector<i64>& lwe() const noexcept { return lwe_.coeffs(); }
  const SmallPoly& ring() const noexcept { return ring_; }
  /// Public, shared with the evaluation keys made of it; 0 when it came from a file of format 1, which has none.
  u64 id() const noexcept { return id_; }

  /// Bytes that `save` writes.
  std::size_t bytes() const noexcept;
  /// Writes the key, not encrypted.
  void save(std::uint8_t* dst) const;
  /// @throws FormatError, MismatchError for bytes that are no such key.
  static GateSecretKey load(std::span<const std::uint8_t> bytes, const GateParameters& params);

  /// `count` ciphertexts of n + 1 words (a, then b), row after row. @throws ValueError for bits other than 0 and 1.
  void encrypt(u32* dst, const std::uint8_t* bits, std::size_t count, Randomness& rng) const;
  void decrypt(std::uint8_t* bits, const u32* src, std::size_t count) const;
  /// phase - bit*q/4, centred, in units of 1/q: the noise of ciphertexts whose bits are known.
  void errors(double* dst, const u32* src, const std::uint8_t* bits, std::size_t count) const;

 private:
  GateParameters params_;
  SmallPoly lwe_, ring_;
  u64 id_;
};

using Progress = std::function<bool(double)>;

/// What the server needs to run gates: the bootstrapping key of one method and the key-switching table.
class GateEvaluationKey {
 public:
  static GateEvaluationKey make(const GateSecretKey& secret, Method method, Randomness& rng, unsigned threads = 1,
                                const Progress& progress = {});
  /// Written as a stream of rows: seeds for the uniform halves, packed residues for the rest.
  void save(std::ostream& out) const;
  /// @throws FormatError, MismatchError for bytes that are no such key.
  static GateEvaluationKey load(std::istream& in, const GateParameters& params, unsigned threads = 1);
  /// What a key is made of, for processes that share its memory: little-endian words, as `borrow` takes them.
  struct Words {
    std::array<Seed, 2> seeds;             ///< of the bootstrapping key and of the table
    unsigned bootstrap_bits, switch_bits;  ///< of a word
    std::span<const std::uint8_t> bootstrap_key, switch_table;
  };
  Words words() const noexcept;
  /// A key whose words stay where they are while an owner lives, unless they do not lie at multiples of 64 bytes: those
  /// are copied. Words that are no residues give wrong results; with `check` they are compared.
  /// @throws FormatError for other numbers of words, or words that were compared and are too large.
  static GateEvaluationKey borrow(const GateParameters& params, Method method, u64 id, const Words& words,
                                  const std::array<std::shared_ptr<const void>, 2>& owners, bool check = false,
                                  unsigned threads = 1);
  ~GateEvaluationKey();
  GateEvaluationKey(GateEvaluationKey&&) noexcept;
  GateEvaluationKey& operator=(GateEvaluationKey&&) noexcept;

  const GateParameters& params() const noexcept;
  Method method() const noexcept;
  /// The secret key's.
  u64 id() const noexcept;
  /// In memory: bootstrapping key, key-switching table.
  std::size_t bootstrap_bytes() const noexcept;
  std::size_t switch_bytes() const noexcept;
  /// Of the spectra that the first gate evaluated on this processor makes of the bootstrapping key, next to it, where
  /// products in double precision are exact; 0 for keys without.
  std::size_t spectral_bytes() const noexcept;

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }
  explicit GateEvaluationKey(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// Turns `count` accumulators of 2N words, a then b, coefficients, in place: accumulator g by X^-<a, s>, the a's the
/// first n of its n + 1 words in `exponents`, modulo R. For those who run the chain elsewhere.
using Rotator = std::function<void(void* accumulators, const u32* exponents, std::size_t count)>;

/// One level of a circuit: gate i reads wires inputs[3i ...] (unused: -1) and writes wire outputs[i]. No gate may read
/// a wire that another of the level writes. Wires are rows of n + 1 words.
struct GateLevel {
  const std::uint8_t* kinds = nullptr;
  const std::int32_t* inputs = nullptr;
  const std::int32_t* outputs = nullptr;
  std::size_t count = 0;
};
/// Runs a level in place; gates are spread over the threads, and each thread takes several at once so that a row of
/// the key is read once for all of them.
///
/// Ciphertexts are told apart by their words: a gate with inputs that are equal, one another's NOT, or constants is
/// replaced by the gate, wire or constant that is left of it, so that every sum is one of different ciphertexts, whose
/// noise is independent. An output that is a wire is a copy of it, as noisy as that input.
/// With `rotate` the blind rotations are another's, many at once, and everything else is done here.
/// @returns the blind rotations that were run, at most those of `bootstraps` for each gate.
/// @throws ParameterError for an unknown kind, ShapeError for a wire out of range, Error when `progress` returns false,
/// what `rotate` throws.
std::size_t evaluate(const GateEvaluationKey& key, const GateLevel& level, u32* wires, std::size_t wire_count,
                     unsigned threads = 1, const Progress& progress = {}, const Rotator& rotate = {});

/// Noise at each stage of one bootstrap of a gate, for validating the model: phase minus its exact value. The gate is
/// run as it stands: equal and complementary inputs are not replaced.
struct StageErrors {
  double rounded = 0;   ///< of the sum after rounding to R, in units of 1/R, inputs' noise included
  double rotated = 0;   ///< after the blind rotation, modulo Q
  double switched = 0;  ///< of the result, modulo q
};
/// @throws MismatchError when the keys do not belong together, ParameterError for other gates than those of two inputs
/// and one bootstrap.
StageErrors trace(const GateEvaluationKey& key, const GateSecretKey& secret, GateKind kind, const u32* in0,
                  const u32* in1);

/// The accumulation chain, as an accelerator runs it: acc <- acc (x) key[indices[i]] for all i in order. Each
/// accumulator is 2N words in coefficient form. Indices address RGSW ciphertexts of an AP key: (i*d_r + j)*B_r + v.
void accumulate(const GateEvaluationKey& key, void* accumulators, std::size_t count, const u32* indices,
                std::size_t length, unsigned threads = 1);
/// The end of a gate: `count` accumulators, as `accumulate` leaves them, to LWE ciphertexts of n + 1 words.
void extract(const GateEvaluationKey& key, u32* dst, const void* accumulators, std::size_t count);

/// Rows of `count` RGSW ciphertexts of the bootstrapping key: for each, a.count + b.count rows of 2N words, a then b,
/// in Eval form. Indices are those of `accumulate` with an AP key, v = 0 being the gadget itself, RGSW(1); with the
/// others the order of the key: 2i and 2i + 1 are s_i = 1 and s_i = -1 of a ternary secret (GINX), else i is s_i.
/// @throws ShapeError for an index that stands for no key.
void export_rgsw(const GateEvaluationKey& key, void* dst, const u32* indices, std::size_t count);

}  // namespace ringforge::fhew
