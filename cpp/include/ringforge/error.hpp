// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The library's exceptions. Each message names the value, the limit and the remedy; none carries secrets.
#pragma once

#include <stdexcept>
#include <string>

namespace ringforge {

/// Base of all errors raised by Ringforge.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A parameter or option is outside its range, or a parameter set is not secure.
class ParameterError : public Error {
 public:
  using Error::Error;
};
/// A value cannot be encoded: not finite, too large for the modulus, too many slots.
class ValueError : public Error {
 public:
  using Error::Error;
};
/// Shapes of matrices, vectors or plans do not fit together.
class ShapeError : public Error {
 public:
  using Error::Error;
};
/// An operation needs more levels than the ciphertext has, or levels differ.
class LevelError : public Error {
 public:
  using Error::Error;
};
/// Scales of two operands differ.
class ScaleError : public Error {
 public:
  using Error::Error;
};
/// An evaluation key is missing.
class MissingKeyError : public Error {
 public:
  using Error::Error;
};
/// An object belongs to other parameters or another key.
class MismatchError : public Error {
 public:
  using Error::Error;
};
/// Foreign bytes are not a valid object: truncated, altered, of another type or version.
class FormatError : public Error {
 public:
  using Error::Error;
};
/// A plan needs more memory than allowed.
class MemoryLimitError : public Error {
 public:
  using Error::Error;
};

}  // namespace ringforge
