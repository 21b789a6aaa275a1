// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The evaluation key of boolean gates for one word type, and the bootstrap that uses it. Internal.
#pragma once

#include <atomic>

#include "gate_circuits.hpp"
#include "ringforge/fhew/gates.hpp"
#include "ringforge/record.hpp"

namespace ringforge::fhew {

/// A gate's blind rotation: what to add and which half circle means one.
struct Rotation {
  Decision decision;
  std::array<const u32*, 3> in;
};
/// One key switch: the sum of one or two rotations' results, to `out` (n + 1 words). With `sum`, the inputs less twice
/// the first rotation's decision go there, by a key switch of their own; `out` may then be null. Both come of one
/// rotation.
struct Job {
  Rotation first, second;
  bool two;
  u32* out;
  u32* sum = nullptr;
};

struct GateEvaluationKey::Impl {
  GateParameters params;
  Method method;
  u64 id = 0;  // of the secret key
  Seed bootstrap_seed{}, switch_seed{};

  Impl(GateParameters p, Method m) : params(std::move(p)), method(m) {}
  virtual ~Impl() = default;
  virtual void generate(const GateSecretKey& secret, Randomness& rng, unsigned threads, const Progress& progress) = 0;
  /// Bytes that `write` writes.
  virtual u64 stored_bytes() const noexcept = 0;
  virtual void write(io::RecordWriter& out) const = 0;
  virtual void read(io::RecordReader& in, unsigned threads) = 0;
  virtual GateEvaluationKey::Words words() const noexcept = 0;
  virtual void borrow(const GateEvaluationKey::Words& words, const std::array<std::shared_ptr<const void>, 2>& owners,
                      bool check, unsigned threads) = 0;
  virtual std::size_t bootstrap_bytes() const noexcept = 0;
  virtual std::size_t switch_bytes() const noexcept = 0;
  /// Bytes of the spectra that the first rotation on this processor makes of the bootstrapping key; 0 without.
  virtual std::size_t spectral_bytes() const noexcept = 0;
  /// `rotate`: runs the blind rotations, instead of this processor.
  virtual void run(const Job* jobs, std::size_t count, const Rotator& rotate) const = 0;
  virtual StageErrors trace(const GateSecretKey& secret, const Rotation& rotation, bool value) const = 0;
  virtual void accumulate(void* accumulators, std::size_t count, const u32* indices, std::size_t length,
                          unsigned threads) const = 0;
  virtual void extract(u32* dst, const void* accumulators, std::size_t count) const = 0;
  virtual void export_rgsw(void* dst, const u32* indices, std::size_t count) const = 0;

  /// Without `room` there is none for words: they are borrowed.
  static std::unique_ptr<Impl> make(GateParameters params, Method method, bool room = true);
};

/// Powers of 5 modulo 2N: every odd residue is +-5^l.
class DiscreteLogs {
 public:
  explicit DiscreteLogs(unsigned log_n);
  std::size_t order() const noexcept { return powers_.size(); }  ///< N/2
  u32 power(std::size_t l) const noexcept { return powers_[l % powers_.size()]; }
  /// l with x = 5^l, or N/2 + l with x = -5^l; x odd.
  u32 log(u32 x) const noexcept { return logs_[x]; }

 private:
  std::vector<u32> powers_, logs_;
};

template <class W>
class GateMachine final : public GateEvaluationKey::Impl {
 public:
  GateMachine(GateParameters params, Method method, bool room);
  void generate(const GateSecretKey& secret, Randomness& rng, unsigned threads, const Progress& progress) override;
  u64 stored_bytes() const noexcept override;
  void write(io::RecordWriter& out) const override;
  void read(io::RecordReader& in, unsigned threads) override;
  GateEvaluationKey::Words words() const noexcept override;
  void borrow(const GateEvaluationKey::Words& words, const std::array<std::shared_ptr<const void>, 2>& owners,
              bool check, unsigned threads) override;
  std::size_t bootstrap_bytes() const noexcept override { return rows_.bytes(); }
  std::size_t switch_bytes() const noexcept override { return table16_.bytes() + table_.bytes(); }
  std::size_t spectral_bytes() const noexcept override {
    return ((spectral_rgsw_ ? rgsw_words() : 0) + (spectral_substitution_ ? substitution_words() : 0)) * sizeof(double);
  }
  void run(const Job* jobs, std::size_t count, const Rotator& rotate) const override;
  StageErrors trace(const GateSecretKey& secret, const Rotation& rotation, bool value) const override;
  void accumulate(void* accumulators, std::size_t count, const u32* indices, std::size_t length,
                  unsigned threads) const override;
  void extract(u32* dst, const void* accumulators, std::size_t count) const override;
  void export_rgsw(void* dst, const u32* indices, std::size_t count) const override;

 private:
  struct Scratch;
  std::size_t rgsw_count() const noexcept;
  std::size_t substitution_count() const noexcept;
  std::size_t row_count() const noexcept;
  std::size_t rgsw_words() const noexcept { return rgsw_count() * params.rows() * 2 * ring_->n(); }
  std::size_t substitution_words() const noexcept {
    return substitution_count() * params.automorphism.count * 2 * ring_->n();
  }
  GadgetRows<W> rgsw(std::size_t index) const noexcept {
    const std::size_t at = index * params.rows() * 2 * ring_->n();
    const double* s = spectra_.load(std::memory_order_acquire);
    return {rows_.data() + at, s != nullptr && spectral_rgsw_ ? s + at : nullptr};
  }
  GadgetRows<W> substitution_key(std::size_t index) const noexcept {
    const std::size_t at = index * params.automorphism.count * 2 * ring_->n();
    const double* s = spectra_.load(std::memory_order_acquire);
    if (s != nullptr) s = spectral_substitution_ ? s + (spectral_rgsw_ ? rgsw_words() : 0) + at : nullptr;
    return {rows_.data() + rgsw_words() + at, s};
  }
  /// Makes the spectra, if there are to be any and there are none yet. Safe to call from many threads.
  void make_spectra() const;
  u32 substitution_element(std::size_t index) const noexcept;
  std::size_t digit_values() const noexcept;
  /// Words of the key-switching table.
  std::size_t table_words() const noexcept { return ring_->n() * params.key_switch.count * digit_values() * stride_; }
  void expand_switch(std::size_t coefficient);  // the a halves of a coefficient's entries

  /// What a rotation's coefficients hold: +-Q/8 by the half circle; +-Q/4; or both, by turns.
  enum class Test : std::uint8_t { bit, twice, both };
  static Test test_of(const Job& job) noexcept {
    return job.sum == nullptr ? Test::bit : job.out == nullptr ? Test::twice : Test::both;
  }
  /// The sum of a rotation's inputs modulo q, rounded to R: n + 1 words.
  void exponents(u32* dst, const Rotation& rotation, Test test = Test::bit) const noexcept;
  void start(W* acc, u32 b, unsigned half_circle, Test test = Test::bit) const noexcept;
  /// Rotates `count` accumulators of 2N words by -<a, s>, exponents[g*(n + 1) + i] the a's.
  void rotate(W* accs, const u32* exponents, std::size_t count, Workspace<W>& w) const;
  void rotate_ap(W* acc, const u32* exponents, Workspace<W>& w) const;
  void rotate_ginx(W* accs, const u32* exponents, std::size_t count, Workspace<W>& w) const;
  void rotate_automorphism(W* acc, const u32* exponents, Workspace<W>& w) const;
  /// Adds the LWE ciphertext of a coefficient (N + 1 words), 0 or 1, plus `shift` to `lwe`.
  void extract_add(W* lwe, const W* acc, std::size_t coefficient, W shift) const noexcept;
  W eighth() const noexcept { return ring_->q() / 8 + 1; }
  W quarter() const noexcept { return ring_->q() / 4 + 1; }
  /// `sums`: room for n + 64 words.
  void switch_key(u32* out, const W* lwe, u64* sums) const;

  std::shared_ptr<const SmallRing<W>> ring_;
  DiscreteLogs logs_;
  WordArray<W> rows_;  // bootstrapping key
  // Which products are exact in double precision. Spectra are RGSW ciphertexts, then substitution keys, each in the
  // order of `rows_`; written under a lock, then published by the pointer.
  bool spectral_rgsw_ = false, spectral_substitution_ = false;
  mutable WordArray<double> spectra_words_;
  mutable std::atomic<const double*> spectra_{nullptr};
  WordArray<std::uint16_t> table16_;  // key switching modulo q
  WordArray<W> table_;                // key switching modulo Q
  std::size_t stride_ = 0;            // words of a table entry
};

}  // namespace ringforge::fhew
