// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Constants of the published pipeline's datapath: four coefficients a cycle, in two butterflies a stage.

package psi_core_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no module uses all of them

  // Residues are held shifted left by 0 ... 15 bits, so that primes of W-15 to W bits fill the word.
  localparam int unsigned ShiftWidth = 4;

  // Clock edges from the address of a source buffer to its digit: memory, then digits.
  localparam int unsigned DigitLatency = 4;
  localparam int unsigned SourceLatency = rf_pkg::BankLatency + DigitLatency;

  // Clock edges from a line pair's address to its result at a stage whose operands come after a bank's latency.
  localparam int unsigned StageLatency = rf_pkg::BankLatency + rf_pkg::ButterflyLatency;

  /* verilator lint_on UNUSEDPARAM */
endpackage
