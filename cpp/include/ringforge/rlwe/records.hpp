// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of what schemes on this layer have in common: keys, polynomials of ciphertexts, parameter sets. A scheme has
// type codes and a parameter hash of its own; bodies are alike. docs/formats.md describes every byte.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "ringforge/record.hpp"
#include "ringforge/rlwe/ciphertext.hpp"

namespace ringforge::rlwe {

/// Bytes of the fixed fields.
inline constexpr std::size_t kParametersHead = 40, kSecretKeyHead = 16, kPublicKeyHead = 48, kSwitchingHead = 64;

/// Packed size of one polynomial.
u64 packed_poly_bytes(const Basis& basis);
/// A number for a message, short whatever its size.
std::string short_number(double v);
/// @throws FormatError unless residues have words of this library.
void read_word_bits(const io::RecordReader& r, const io::RecordHead& head);
/// The limbs of a polynomial over Q's first primes, the field at byte 4. @throws FormatError.
std::size_t read_limbs(const io::RecordReader& r, const io::RecordHead& head, const Gadget& gadget);
/// @throws FormatError unless the field is 0.
void read_zero(const io::RecordReader& r, const char* field, u64 value);

/// @throws MismatchError unless p is over the first primes of the gadget's Q.
Basis check_level(io::TypeCode type, const Gadget& gadget, const Poly<Eval>& p);

// ---- ciphertexts: fields and polynomials ------------------------------------------------------------

/// What the first 24 bytes of a ciphertext's fixed fields say: word bits, limbs, parts, flags (1: seeded), key id.
struct CiphertextFields {
  std::size_t limbs = 0, parts = 0;
  bool seeded = false;
  u64 key_id = 0;

  explicit CiphertextFields(const io::RecordHead& head);
  /// @throws FormatError for counts that no ciphertext of the gadget has.
  CiphertextFields(const io::RecordReader& r, const io::RecordHead& head, const Gadget& gadget);
  /// Bytes of the polynomials, and of the seed in place of the second.
  u64 bytes(const Gadget& gadget) const;
};
/// Bytes of a ciphertext's polynomials.
/// @throws ShapeError, MismatchError for one that a reader would refuse, or whose seed does not give its second part.
u64 stored_bytes(io::TypeCode type, const Gadget& gadget, const Ciphertext& c);
void write_fields(io::RecordWriter& w, const Ciphertext& c);
void write_parts(io::RecordWriter& w, const Ciphertext& c);
/// Polynomials, seed and key id of `c`; with a seed the second part is missing until `expand_seed`.
void read_parts(io::RecordReader& r, const CiphertextFields& fields, const Gadget& gadget, Ciphertext& c);
/// Makes the second part. After `finish`.
void expand_seed(Ciphertext& c, unsigned threads);

// ---- keys -------------------------------------------------------------------------------------------

/// The codes of a scheme's types of keys.
struct KeyTypes {
  io::TypeCode secret = 0, public_key = 0, relin = 0, galois = 0;
};
/// The registry's entries for them, named "SCHEME secret key" and so on.
std::vector<io::RecordType> key_record_types(const std::string& scheme, const KeyTypes& types);

/// Saves and loads keys of one gadget and parameter hash. For immediate use: it refers to what it was given.
///
/// Writers throw MismatchError for keys of another gadget, Error when the stream fails. Readers take the record at the
/// stream's position, and throw FormatError and MismatchError; `threads` expands seeds. Each `body` is the length of
/// the record's body, with the writer's checks.
class KeyRecords {
 public:
  KeyRecords(const Gadget& gadget, const Hash& parameters, const KeyTypes& types)
      : gadget_(gadget), hash_(parameters), types_(types) {}

  u64 body(const SecretKey& key) const;
  u64 body(const PublicKey& key) const;
  u64 body(const RelinKey& key) const;
  u64 body(const GaloisKey& key) const;
  void save(std::ostream& out, const SecretKey& key) const;
  void save(std::ostream& out, const PublicKey& key) const;
  void save(std::ostream& out, const RelinKey& key) const;
  void save(std::ostream& out, const GaloisKey& key) const;
  SecretKey secret_key(std::istream& in) const;
  PublicKey public_key(std::istream& in, unsigned threads) const;
  RelinKey relin_key(std::istream& in, unsigned threads) const;
  GaloisKey galois_key(std::istream& in, unsigned threads) const;

  /// A switching key of whatever purpose, as a record of that type; `element` is stored beside it.
  u64 body(io::TypeCode type, const SwitchingKey& key) const;
  void save(std::ostream& out, io::TypeCode type, u64 element, const SwitchingKey& key) const;
  SwitchingKey switching_key(std::istream& in, io::TypeCode type, u64* element, unsigned threads) const;

  /// The fixed fields of a Galois key and its length, checked; the polynomials are left in the stream.
  struct Switching {
    std::size_t limbs, digits;
    u64 key_id, element;
  };
  Switching read_switching(io::RecordReader& r, const io::RecordHead& head) const;

 private:
  bool good_element(u64 element) const;
  std::string elements() const;
  const Gadget& gadget_;
  const Hash& hash_;
  KeyTypes types_;
};

// ---- parameter sets ---------------------------------------------------------------------------------

/// A parameter set as its record has it. `own` is the scheme's: eight bytes of whatever meaning.
struct ParameterFields {
  std::string name;
  unsigned log_n = 0;
  std::vector<u64> q, p;
  unsigned limbs_per_digit = 1;
  std::string insecure;
  u64 own = 0;

  u64 body() const;
  /// @throws ValueError for a name or reason that is not printable.
  void save(std::ostream& out, io::TypeCode type, const Hash& hash) const;
  /// Reads the record to its end. @throws FormatError.
  static ParameterFields read(io::RecordReader& r);
};

/// Parameters made by `make` from fields that were read, which must give the record's hash.
/// @throws FormatError also for what `make` refuses with ParameterError.
template <class Make>
auto made_parameters(const io::RecordReader& r, Make&& make) {
  const auto build = [&] {
    try {
      return make();
    } catch (const ParameterError& e) {
      throw FormatError(r.what() + " is not valid: " + e.what());
    }
  };
  auto params = build();
  if (params.hash() != r.header().hash)
    r.refuse("has the parameter hash " + io::short_hash(r.header().hash) + "..., its contents have " +
             io::short_hash(params.hash()) + "...");
  return params;
}

}  // namespace ringforge::rlwe
