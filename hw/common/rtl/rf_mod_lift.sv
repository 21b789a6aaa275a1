// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Centred lift: takes a residue modulo p to the residue modulo q of the same signed number in each lane; passes it
// through unchanged when en_i is low. Combinational.
//
// x stands for x if x <= p/2 and for x - p otherwise, so r = x > floor(p/2) ? x - p + q : x. One addition is enough
// because p and q have the same bit length n: x <= p/2 < 2^(n-1) <= q, and otherwise -q < -p/2 < x - p < 0. The sum is
// taken modulo 2^W. With residues held shifted left (see rf_mod_half) p_i and q_i are the shifted primes, and
// comparing with floor(p_i/2) decides as before: x_i and p_i have the same zero bits below.
//
// Ranges: x_i < p_i, both primes of the same bit length; r_o < q_i if en_i, else r_o = x_i.

module rf_mod_lift #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1
) (
  input  logic [W-1:0] x_i [Lanes],
  input  logic [W-1:0] p_i,
  input  logic [W-1:0] q_i,
  input  logic         en_i,
  output logic [W-1:0] r_o [Lanes]
);
  if (W < 2 || Lanes < 1) begin : g_check
    $error("rf_mod_lift: W must be at least 2, Lanes at least 1");
  end

  logic [W-1:0] offset;
  logic [W-1:0] limit;

  assign offset = q_i - p_i;
  assign limit = p_i >> 1;

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned i = 0; i < Lanes; i++) r_o[i] = x_i[i] + ((en_i && x_i[i] > limit) ? offset : W'(0));
  end
endmodule
