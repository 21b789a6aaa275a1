// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular addition: r = a + b mod q in each lane. Combinational.
//
// Ranges: a, b < q < 2^W; r < q.

module rf_mod_add #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1
) (
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] q_i,
  output logic [W-1:0] r_o [Lanes]
);
  if (W < 2 || Lanes < 1) begin : g_check
    $error("rf_mod_add: W must be at least 2, Lanes at least 1");
  end

  function automatic logic [W-1:0] add(logic [W-1:0] a, logic [W-1:0] b, logic [W-1:0] q);
    logic [W:0] sum = {1'b0, a} + {1'b0, b};
    logic [W:0] reduced = sum - {1'b0, q};
    // The sum is below 2q < 2^(W+1), so the top bit of the difference is its sign.
    return reduced[W] ? sum[W-1:0] : reduced[W-1:0];
  endfunction

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned i = 0; i < Lanes; i++) r_o[i] = add(a_i[i], b_i[i], q_i);
  end
endmodule
