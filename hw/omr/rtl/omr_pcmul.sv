// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Multiplies two streams of rows: the PCmul operator, a limb of a ciphertext's part times that of a plaintext.
//
// Function    r = a * b mod q, lane by lane, as rf_mod_mul of the Kind has it. q_i and k_i belong to the rows that are
//             taken in this clock and move along with them, so that a change of limb costs no drain. Without Moving
//             they do not change while rows are inside, which saves the registers.
// Latency     MulLatency
// Throughput  one row per clock (II = 1); rows of both streams are taken together. Rows inside wait while the one at
//             the end is not taken.
// Ranges      as rf_mod_mul: a and r shifted left as q is, b not. Lanes (P_coef) 1 ... 32.

module omr_pcmul #(
  parameter int unsigned W = 60,
  parameter int unsigned Lanes = 16,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter bit          Moving = 1'b1
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
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
  localparam int unsigned Latency = rf_pkg::MulLatency;

  if (Lanes < 1 || Lanes > 32) begin : g_check
    $error("omr_pcmul: Lanes must be between 1 and 32");
  end

  logic [Latency-1:0] valid_q;
  logic               en;

  assign r_valid_o = valid_q[Latency-1];
  assign en = r_ready_i || !r_valid_o;
  assign a_ready_o = en && b_valid_i;
  assign b_ready_o = en && a_valid_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (en) valid_q <= {valid_q[Latency-2:0], a_valid_i && b_valid_i};
  end

  rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin), .Moving(Moving)) u_mul (
    .clk_i, .en_i(en), .a_i, .b_i, .q_i, .k_i, .r_o
  );
endmodule
