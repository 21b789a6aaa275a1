// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular subtraction: r = a - b mod q in each lane. Combinational.
//
// Ranges: a, b < q < 2^W; r < q.

module rf_mod_sub #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1
) (
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] q_i,
  output logic [W-1:0] r_o [Lanes]
);
  if (W < 2 || Lanes < 1) begin : g_check
    $error("rf_mod_sub: W must be at least 2, Lanes at least 1");
  end

  function automatic logic [W-1:0] sub(logic [W-1:0] a, logic [W-1:0] b, logic [W-1:0] q);
    logic [W:0] difference = {1'b0, a} - {1'b0, b};
    // Bit W is the borrow; adding q then wraps modulo 2^W to the value wanted.
    return difference[W-1:0] + (difference[W] ? q : W'(0));
  endfunction

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned i = 0; i < Lanes; i++) r_o[i] = sub(a_i[i], b_i[i], q_i);
  end
endmodule
