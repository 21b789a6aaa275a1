// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Gates whose inputs depend on each other. Noise adds as the model says only when the ciphertexts that are added are
// different ones: NAND of a ciphertext and itself doubles one noise. Here inputs are told apart by their content, and
// a gate with equal, complementary or known inputs becomes what is left of it. Internal.
#pragma once

#include "gate_circuits.hpp"

namespace ringforge::fhew {

/// A gate of ciphertexts that are all different: a constant, a wire, its complement, or a blind rotation.
struct ReducedGate {
  enum class Form : std::uint8_t { whole, constant, wire, inverse, rotation };
  Form form = Form::whole;  ///< whole: the inputs are different already, the gate stays as it is
  bool value = false;       ///< of the constant
  Decision decision{};      ///< of the rotation
  std::array<const u32*, 3> in{};
};

/// What is left of a gate. Two ciphertexts are the same when all words agree modulo q; they are complementary when one
/// is the other's NOT; a ciphertext without mask whose body is 0 or q/4 is known. Gates leave no other dependence:
/// every bootstrap has noise of its own, but for gates of one kind on the same inputs, which give the same words. Sums
/// (sum2, sum3) carry noise of their inputs; who uses them accounts for it.
ReducedGate reduce(const GateParameters& params, GateKind kind, const std::array<const u32*, 3>& in) noexcept;

}  // namespace ringforge::fhew
