// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A residue over its modulus, in fixed point: f = y + floor(y * k / 2^W), which is floor(y * K / 2^W) for Barrett's
// constant K = 2^W + k = floor(2^(2W) / q), as its bit W is always set.
//
// Latency 4, throughput one per lane and clock; en_i low holds the pipeline. k_i does not change while data are in
// flight. Twin gives the same bits by the 64-bit arithmetic of rf_pkg.
//
// Ranges: 4 <= W <= 64 (Twin: 62); 2^(W-1) < q < 2^W; y < q, both shifted alike; f < 2^W. f / 2^W is below y / q by less
// than 2 / 2^W: K is below 2^(2W) / q by less than 1, which costs y / 2^W < 1 in f, and so does the floor.
//
// As synthesised by Yosys, a lane: 6 DSP slices at W = 54, 12 at W = 60.

module omr_fraction #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter bit          Twin = 1'b0
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [W-1:0] y_i [Lanes],
  input  logic [W-1:0] k_i,
  output logic [W-1:0] f_o [Lanes]
);
  if (Twin) begin : g_twin
    logic [W-1:0] f [Lanes];
    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        f[l] = y_i[l] + W'(rf_pkg::twin_high(64'(y_i[l]) << (64 - W), 64'(k_i)));
      end
    end
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(4)) u_delay (.clk_i, .en_i, .x_i(f), .x_o(f_o));
  end else begin : g_hardware
    logic [W-1:0]   y1_q [Lanes], y3 [Lanes], k [Lanes];
    logic [2*W-1:0] whole [Lanes], product [Lanes];

    always_ff @(posedge clk_i) if (en_i) y1_q <= y_i;

    rf_delay #(.W(W), .Lanes(Lanes), .Depth(2)) u_delay (.clk_i, .en_i, .x_i(y1_q), .x_o(y3));
    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        k[l] = k_i;
        whole[l] = {y3[l], W'(0)};
        f_o[l] = product[l][2*W-1:W];
      end
    end
    rf_mul_tiled #(.WA(W), .WB(W), .Lanes(Lanes)) u_product (.clk_i, .en_i, .a_i(y1_q), .b_i(k), .c_i(whole), .p_o(product));

    logic unused;
    always_comb begin
      unused = 1'b0;
      for (int unsigned l = 0; l < Lanes; l++) unused = unused ^ (^product[l][W-1:0]);
    end
  end
endmodule
