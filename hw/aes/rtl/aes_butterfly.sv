// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Butterflies of the fast engine: rf_butterfly with Montgomery multipliers of two rounds of 16 bits, cut into tiles
// that fit the DSP slices of 7-series devices, too (25 x 18 signed bits: 24 x 17 here): 6 slices for words of 31 or 32
// bits, 4 for the product and one a round.
//
// Function: forward  y0 = x0 + w * x1 / R,  y1 = x0 - w * x1 / R      modulo q, with R = 2^32
//           inverse  y0 = (x0 + x1) / 2,    y1 = ((x1 - x0) / 2) * w / R
// Latency rf_pkg's ButterflyLatency, throughput one butterfly per lane and clock; en_i low holds the whole pipeline.
// inverse_i and q_i do not change while data are in flight.
// Ranges: 17 <= W <= 32, q = 1 mod 2^16, q < 2^W; x0, x1, w, y0, y1 < q.
// Twin: rf_butterfly's model for simulation.
//
// Stages: 1 sum and difference (inverse), 2 halving (inverse), then the multiplier, then sum and difference (forward).

module aes_butterfly #(
    parameter int unsigned W = 31,
    parameter int unsigned Lanes = 1,
    parameter bit Twin = 1'b0
) (
    input  logic         clk_i,
    input  logic         en_i,
    input  logic         inverse_i,
    input  logic [W-1:0] q_i,
    input  logic [W-1:0] x0_i [Lanes],
    input  logic [W-1:0] x1_i [Lanes],
    input  logic [W-1:0] w_i  [Lanes],
    output logic [W-1:0] y0_o [Lanes],
    output logic [W-1:0] y1_o [Lanes]
);
  localparam int unsigned Word = 16;

  if (W <= Word || W > 2 * Word || Lanes < 1) begin : g_check
    $error("aes_butterfly: W must be 17 to 32, Lanes at least 1");
  end

  if (Twin) begin : g_twin
    rf_butterfly #(
        .W(W), .Lanes(Lanes), .Kind(rf_pkg::MulMontgomery), .Twin(1'b1), .Word(Word)
    ) u_twin (
        .clk_i, .en_i, .inverse_i, .shift_i('0), .q_i, .k_i('0), .x0_i, .x1_i, .w_i, .y0_o, .y1_o
    );
  end else begin : g_hardware
    logic [W-1:0] sum [Lanes], difference [Lanes];
    logic [W-1:0] u1_q [Lanes], v1_q [Lanes], w1_q [Lanes];
    logic [W-1:0] u1_half [Lanes], v1_half [Lanes];
    logic [W-1:0] u2_q [Lanes], v2_q [Lanes], w2_q [Lanes];
    logic [W-1:0] u [Lanes], product [Lanes];
    logic [W-1:0] last_sum [Lanes], last_difference [Lanes];

    rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (.a_i(x0_i), .b_i(x1_i), .q_i, .r_o(sum));
    rf_mod_sub #(.W(W), .Lanes(Lanes)) u_sub (.a_i(x1_i), .b_i(x0_i), .q_i, .r_o(difference));
    rf_mod_half #(.W(W), .Lanes(Lanes)) u_half_u (.x_i(u1_q), .q_i, .shift_i('0), .r_o(u1_half));
    rf_mod_half #(.W(W), .Lanes(Lanes)) u_half_v (.x_i(v1_q), .q_i, .shift_i('0), .r_o(v1_half));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned i = 0; i < Lanes; i++) begin
          u1_q[i] <= inverse_i ? sum[i] : x0_i[i];
          v1_q[i] <= inverse_i ? difference[i] : x1_i[i];
          w1_q[i] <= w_i[i];
          u2_q[i] <= inverse_i ? u1_half[i] : u1_q[i];
          v2_q[i] <= inverse_i ? v1_half[i] : v1_q[i];
          w2_q[i] <= w1_q[i];
        end
      end
    end

    rf_mul_montgomery #(
        .W(W), .Lanes(Lanes), .Word(Word), .TileA(24), .TileB(17)
    ) u_mul (
        .clk_i, .en_i, .a_i(v2_q), .b_i(w2_q), .q_i, .k_i('0), .r_o(product)
    );
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(rf_pkg::MulLatency)) u_delay (.clk_i, .en_i, .x_i(u2_q), .x_o(u));
    rf_mod_add #(.W(W), .Lanes(Lanes)) u_last_add (.a_i(u), .b_i(product), .q_i, .r_o(last_sum));
    rf_mod_sub #(.W(W), .Lanes(Lanes)) u_last_sub (.a_i(u), .b_i(product), .q_i, .r_o(last_difference));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned i = 0; i < Lanes; i++) begin
          y0_o[i] <= inverse_i ? u[i] : last_sum[i];
          y1_o[i] <= inverse_i ? product[i] : last_difference[i];
        end
      end
    end
  end
endmodule
