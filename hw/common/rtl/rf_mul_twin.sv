// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular multiplier for long simulations: the same results at the same latency as rf_mul_barrett (Kind 0) and
// rf_mul_montgomery (Kind 1), written for speed in a simulator rather than for hardware. Its equality with both is
// proved at small widths and tested at full ones (dv/test_rf_mul_twin.py).
//
// Function: Barrett     r = a * b mod q, with k = floor(2^(2W) / q), 2^(W-1) <= q < 2^W, a < q, b < 2^W;
//           Montgomery  r = a * b * 2^(-D*ceil(W/D)) mod q, q = 1 mod 2^D, a, b < q; D = Word bits, k unused.
// Latency MulLatency, throughput one product per lane and clock; en_i low holds the whole pipeline. q_i and k_i are
// sampled with the operands.
//
// The result is computed when the operands arrive, by the 64-bit arithmetic of rf_pkg, and waits in a ring buffer of 16
// rows: more than needed, so that no row is read and written at the same edge. The index needs no initial value: one
// that is unknown is not below 15, and becomes 0.

module rf_mul_twin #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  output logic [W-1:0] r_o [Lanes]
);
  if (Kind > rf_pkg::MulMontgomery || Lanes < 1) begin : g_check
    $error("rf_mul_twin: Kind must be MulBarrett or MulMontgomery, Lanes at least 1");
  end
  if (Kind == rf_pkg::MulMontgomery && (Word < 2 || Word >= W)) begin : g_word
    $error("rf_mul_twin: Word must be at least 2 and less than W");
  end
  if (W < 4 || W > 62) begin : g_width
    $error("rf_mul_twin: W must be between 4 and 62");
  end

  logic [W-1:0] ring [16][Lanes];
  logic [3:0]   slot_q;
  logic [63:0]  k;

  assign k = rf_pkg::twin_constant(Kind, 64'(q_i), k_i);
  assign r_o = ring[slot_q - 4'(rf_pkg::MulLatency)];

  function automatic void fill(logic [3:0] slot);
    /* verilator unroll_disable */
    for (int unsigned i = 0; i < Lanes; i++) begin
      ring[slot][i] = W'(rf_pkg::twin_multiply(Kind, W, Word, 64'(a_i[i]), 64'(b_i[i]), 64'(q_i), k));
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      fill(slot_q);
      if (slot_q < 4'd15) slot_q <= slot_q + 4'd1;
      else slot_q <= '0;
    end
  end
endmodule
