// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// omr_pcmul, or with Add omr_ccadd, with rows as one number of 64 bits a word, as memory has them.
module operator_bench #(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    parameter bit Add = 1'b0
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic [W-1:0]        q_i,
    input  logic [63:0]         k_i,
    input  logic                a_valid_i,
    output logic                a_ready_o,
    input  logic [Lanes*64-1:0] a_i,
    input  logic                b_valid_i,
    output logic                b_ready_o,
    input  logic [Lanes*64-1:0] b_i,
    output logic                r_valid_o,
    input  logic                r_ready_i,
    output logic [Lanes*64-1:0] r_o
);
  logic [W-1:0] a [Lanes];
  logic [W-1:0] b [Lanes];
  logic [W-1:0] r [Lanes];

  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      a[l] = a_i[64*l+:W];
      b[l] = b_i[64*l+:W];
      r_o[64*l+:64] = 64'(r[l]);
    end
  end

  if (Add) begin : g_add
    omr_ccadd #(.W(W), .Lanes(Lanes)) u_add (
        .clk_i, .rst_ni, .q_i, .a_valid_i, .a_ready_o, .a_i(a), .b_valid_i, .b_ready_o, .b_i(b), .r_valid_o,
        .r_ready_i, .r_o(r)
    );
  end else begin : g_multiply
    omr_pcmul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin)) u_mul (
        .clk_i, .rst_ni, .q_i, .k_i, .a_valid_i, .a_ready_o, .a_i(a), .b_valid_i, .b_ready_o, .b_i(b), .r_valid_o,
        .r_ready_i, .r_o(r)
    );
  end

  logic unused;
  assign unused = ^{a_i, b_i, k_i};
endmodule
