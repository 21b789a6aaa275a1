// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Parameters of LTV: an editable specification, and the checked immutable set made from it.
//
// LTV IS BROKEN at the parameters that its depth needs: NTRU with so large a modulus for its degree ("overstretched")
// is open to subfield and sublattice attacks since 2016 (Albrecht, Bai, Ducas; Cheon, Jeong, Lee; Kirchner, Fouque). It
// is here to rebuild a published system. Every set needs a reason why it may be used; no default of the library uses
// one.
#pragma once

#include <string>
#include <vector>

#include "ringforge/ring.hpp"
#include "ringforge/sha256.hpp"

namespace ringforge::ltv {

/// How ciphertexts are cut into digits for relinearisation.
enum class Gadget : u32 {
  windows = 0,  ///< windows of `window` bits of the centred integer behind the residues, as published
  rns = 1,      ///< windows of each residue alone, centred; 31 bits: one digit a prime
};
/// "windows", "rns". @throws ParameterError for other names.
const char* name(Gadget gadget) noexcept;
Gadget gadget_named(const std::string& name);

/// Representations of the ring by name: "padded", "tensor". @throws ParameterError for other names.
const char* ring_name(RingKind kind) noexcept;
RingKind ring_named(const std::string& name);

/// What a user may write down; turned into `Parameters` by checking.
struct ParametersSpec {
  std::string name;                  ///< free text, at most 64 bytes; not part of the identity
  u64 m = 0;                         ///< index of the ring Z[X]/Phi_m, odd, of degree 64 ... 2^16; as Ring has them
  std::vector<u64> q;                ///< primes below 2^31, 1 ... 64; q[0] is the last to be dropped
  unsigned drop = 1;                 ///< primes from a level to the next
  Gadget gadget = Gadget::windows;   ///< of relinearisation
  unsigned window = 16;              ///< bits of a digit, 1 ... 16 for windows, 1 ... 31 for rns
  std::string insecure;              ///< why it may be used although it is broken: never empty, at most 256 bytes
  RingKind kind = RingKind::padded;  ///< representation of the ring: padded or tensor
};

/// A checked parameter set. Immutable; identified by its hash.
///
/// Level i, from 0 to levels(), has the modulus q_i, the product of the first limbs(i) primes, and a secret f_i of its
/// own. The evaluation key of level i >= 1 takes ciphertexts of level i - 1 there.
class Parameters {
 public:
  /// @throws ParameterError naming the value, the limit and the remedy; always when `insecure` is empty.
  explicit Parameters(ParametersSpec spec);
  /// A shipped set. @throws ParameterError listing the names, or without a reason.
  static Parameters named(const std::string& name, const std::string& insecure);
  static std::vector<std::string> names();

  const ParametersSpec& spec() const noexcept { return spec_; }
  const Ring& ring() const noexcept { return ring_; }
  std::size_t degree() const noexcept { return ring_.degree(); }
  /// Products in a row: (primes - 1) / drop.
  std::size_t levels() const noexcept { return (spec_.q.size() - 1) / spec_.drop; }
  /// Primes of level i. @throws LevelError above levels().
  std::size_t limbs(std::size_t level) const;
  /// log2 of the product of the first `limbs` primes. @throws LevelError unless there are so many.
  double log_q(std::size_t limbs) const;
  /// Digits of the evaluation key of a level from 1 to levels() (LevelError).
  std::size_t digits(std::size_t level) const;
  /// Bytes of its words: digits x primes x transform length x 4.
  u64 key_bytes(std::size_t level) const;
  /// What the hash of a file says these parameters are.
  const Hash& hash() const noexcept { return hash_; }
  friend bool operator==(const Parameters& a, const Parameters& b) noexcept { return a.hash_ == b.hash_; }

 private:
  ParametersSpec spec_;
  Ring ring_;
  Hash hash_{};
};

/// Why LTV must not be used: a sentence for every entry point.
inline constexpr char kWarning[] =
    "LTV is broken at these parameters (overstretched NTRU, subfield and sublattice attacks since 2016): a rebuilt "
    "publication, no protection";

}  // namespace ringforge::ltv
