// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Adds two streams of rows: the CCadd operator.
//
// Function    r = a + b mod q, lane by lane: a ciphertext is added to another one row by row, limb after limb, part
//             after part. q_i belongs to the rows that are taken in this clock, so that a change of limb costs nothing.
// Latency     2
// Throughput  one row per clock (II = 1); rows of both streams are taken together
// Ranges      a, b < q < 2^W; r < q. Lanes 1 ... 32.

module omr_ccadd #(
  parameter int unsigned W = 60,
  parameter int unsigned Lanes = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic [W-1:0] q_i,
  input  logic         a_valid_i,
  output logic         a_ready_o,
  input  logic [W-1:0] a_i [Lanes],
  input  logic         b_valid_i,
  output logic         b_ready_o,
  input  logic [W-1:0] b_i [Lanes],

  output logic         r_valid_o,
  input  logic         r_ready_i,
  output logic [W-1:0] r_o [Lanes]
);
  if (W < 2 || W > 64 || Lanes < 1 || Lanes > 32) begin : g_check
    $error("omr_ccadd: W must be between 2 and 64, Lanes between 1 and 32");
  end

  logic         valid_q, en;
  logic [W-1:0] a_q [Lanes];
  logic [W-1:0] b_q [Lanes];
  logic [W-1:0] q_q;
  logic [W-1:0] sum [Lanes];

  assign en = r_ready_i || !r_valid_o;
  assign a_ready_o = en && b_valid_i;
  assign b_ready_o = en && a_valid_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      r_valid_o <= 1'b0;
    end else if (en) begin
      valid_q <= a_valid_i && b_valid_i;
      r_valid_o <= valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en) begin
      a_q <= a_i;
      b_q <= b_i;
      q_q <= q_i;
      r_o <= sum;
    end
  end

  rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (.a_i(a_q), .b_i(b_q), .q_i(q_q), .r_o(sum));
endmodule
