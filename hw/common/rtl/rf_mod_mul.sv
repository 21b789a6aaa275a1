// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular multiplier of the chosen kind; all kinds have the same ports and latency. Twin selects the model for long
// simulations, which gives the same results.
//
// Function: see rf_mul_barrett (Kind 0) and rf_mul_montgomery (Kind 1).
// Latency MulLatency, throughput one product per lane and clock. en_i low holds the whole pipeline. q_i and k_i do not
// change while operands are in flight, or with Moving belong to the operands that enter with them.

module rf_mod_mul #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter bit          Moving = 1'b0,
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
  if (Kind > rf_pkg::MulMontgomery) begin : g_kind
    $error("rf_mod_mul: Kind must be MulBarrett or MulMontgomery");
  end

  if (Twin) begin : g_twin
    rf_mul_twin #(.W(W), .Lanes(Lanes), .Kind(Kind), .Word(Word)) u_mul (.clk_i, .en_i, .a_i, .b_i, .q_i, .k_i, .r_o);
  end else if (Kind == rf_pkg::MulBarrett) begin : g_barrett
    rf_mul_barrett #(.W(W), .Lanes(Lanes), .Moving(Moving)) u_mul (
      .clk_i, .en_i, .a_i, .b_i, .q_i, .k_i, .r_o
    );
  end else begin : g_montgomery
    rf_mul_montgomery #(.W(W), .Lanes(Lanes), .Word(Word), .Moving(Moving)) u_mul (
      .clk_i, .en_i, .a_i, .b_i, .q_i, .k_i, .r_o
    );
  end
endmodule
