// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular halving: r = x / 2 mod q in each lane. Combinational.
//
// Residues and the modulus are held shifted left: x_i = x * 2^shift, q_i = q * 2^shift, with x < q and q odd. If x is
// even, half of it is a right shift; if it is odd, x + q is even. Bit `shift` of x_i decides. Bits below it are zero
// in x_i and in q_i, and stay zero: the sum that is halved has bit `shift` zero as well.
//
// Ranges: x_i < q_i < 2^W, shift_i < 2^ShiftWidth; r_o < q_i.

module rf_mod_half #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned ShiftWidth = rf_pkg::ShiftWidth
) (
  input  logic [W-1:0] x_i [Lanes],
  input  logic [W-1:0] q_i,
  input  logic [ShiftWidth-1:0] shift_i,
  output logic [W-1:0] r_o [Lanes]
);
  if (ShiftWidth < 1 || ShiftWidth > 6 || W < 2 ** ShiftWidth || Lanes < 1) begin : g_check
    $error("rf_mod_half: W must be more than the largest shift, ShiftWidth 1 to 6, Lanes at least 1");
  end

  function automatic logic [W-1:0] half(logic [W-1:0] x, logic [W-1:0] q, logic [ShiftWidth-1:0] shift);
    logic odd = 1'(x >> shift);
    logic [W:0] sum = {1'b0, x} + (odd ? {1'b0, q} : (W+1)'(0));
    return W'(sum >> 1);
  endfunction

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned i = 0; i < Lanes; i++) r_o[i] = half(x_i[i], q_i, shift_i);
  end
endmodule
