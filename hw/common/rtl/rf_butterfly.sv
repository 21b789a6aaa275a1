// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Butterflies of the number-theoretic transform, one per lane.
//
// Function: forward (Cooley-Tukey)    y0 = x0 + w * x1,    y1 = x0 - w * x1        modulo q
//           inverse (Gentleman-Sande) y0 = (x0 + x1) / 2,  y1 = ((x1 - x0) / 2) * w
// The halvings make the inverse transform exact without a last multiplication by 1/N; the order of the inverse's
// difference is the one for negated forward twiddles.
// Latency ButterflyLatency in both directions, throughput one butterfly per lane and clock; en_i low holds the whole
// pipeline. inverse_i, shift_i, q_i and k_i do not change while data are in flight.
//
// Ranges: x0, x1, y0, y1 < q_i, residues and modulus shifted left by shift_i (0 on Montgomery machines); w_i is an
// operand b of rf_mod_mul, not shifted. Word is the digit of Montgomery multipliers.
//
// Stages: 1 sum and difference (inverse), 2 halving (inverse), then the multiplier, then sum and difference (forward).

module rf_butterfly #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter int unsigned ShiftWidth = rf_pkg::ShiftWidth,
  parameter int unsigned Word = rf_pkg::MontgomeryWord
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic         inverse_i,
  input  logic [ShiftWidth-1:0] shift_i,
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  input  logic [W-1:0] x0_i [Lanes],
  input  logic [W-1:0] x1_i [Lanes],
  input  logic [W-1:0] w_i  [Lanes],
  output logic [W-1:0] y0_o [Lanes],
  output logic [W-1:0] y1_o [Lanes]
);
  if (Kind > rf_pkg::MulMontgomery || Lanes < 1) begin : g_check
    $error("rf_butterfly: Kind must be MulBarrett or MulMontgomery, Lanes at least 1");
  end

  if (Twin) begin : g_twin
    if (W < 4 || W > 62) begin : g_width
      $error("rf_butterfly: with Twin, W must be between 4 and 62");
    end

    // The whole butterfly at once, then a ring buffer as in rf_mul_twin.
    logic [W-1:0] ring0 [16][Lanes];
    logic [W-1:0] ring1 [16][Lanes];
    logic [3:0]   slot_q;
    logic [63:0]  q;
    logic [63:0]  k;

    assign q = 64'(q_i);
    assign k = rf_pkg::twin_constant(Kind, q, k_i);
    assign y0_o = ring0[slot_q - 4'(rf_pkg::ButterflyLatency)];
    assign y1_o = ring1[slot_q - 4'(rf_pkg::ButterflyLatency)];

    function automatic logic [63:0] multiply(logic [63:0] a, logic [63:0] b);
      return rf_pkg::twin_multiply(Kind, W, Word, a, b, q, k);
    endfunction

    function automatic void forward(logic [3:0] slot);
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Lanes; i++) begin
        automatic logic [63:0] p = multiply(64'(x1_i[i]), 64'(w_i[i]));
        ring0[slot][i] = W'(rf_pkg::twin_add(64'(x0_i[i]), p, q));
        ring1[slot][i] = W'(rf_pkg::twin_sub(64'(x0_i[i]), p, q));
      end
    endfunction

    function automatic void inverse(logic [3:0] slot);
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Lanes; i++) begin
        automatic logic [63:0] sum = rf_pkg::twin_add(64'(x0_i[i]), 64'(x1_i[i]), q);
        automatic logic [63:0] difference = rf_pkg::twin_sub(64'(x1_i[i]), 64'(x0_i[i]), q);
        ring0[slot][i] = W'(rf_pkg::twin_half(sum, q, 6'(shift_i)));
        ring1[slot][i] = W'(multiply(rf_pkg::twin_half(difference, q, 6'(shift_i)), 64'(w_i[i])));
      end
    endfunction

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        if (inverse_i) inverse(slot_q);
        else forward(slot_q);
        if (slot_q < 4'd15) slot_q <= slot_q + 4'd1;
        else slot_q <= '0;
      end
    end
  end else begin : g_hardware
    logic [W-1:0] pre_sum [Lanes];
    logic [W-1:0] pre_difference [Lanes];
    logic [W-1:0] u1_q [Lanes], v1_q [Lanes], w1_q [Lanes];
    logic [W-1:0] u1_half [Lanes], v1_half [Lanes];
    logic [W-1:0] u2_q [Lanes], v2_q [Lanes], w2_q [Lanes];
    logic [W-1:0] u [Lanes];
    logic [W-1:0] product [Lanes];
    logic [W-1:0] post_sum [Lanes];
    logic [W-1:0] post_difference [Lanes];

    rf_mod_add #(.W(W), .Lanes(Lanes)) u_pre_add (.a_i(x0_i), .b_i(x1_i), .q_i, .r_o(pre_sum));
    rf_mod_sub #(.W(W), .Lanes(Lanes)) u_pre_sub (.a_i(x1_i), .b_i(x0_i), .q_i, .r_o(pre_difference));
    rf_mod_half #(.W(W), .Lanes(Lanes), .ShiftWidth(ShiftWidth)) u_half_u (.x_i(u1_q), .q_i, .shift_i, .r_o(u1_half));
    rf_mod_half #(.W(W), .Lanes(Lanes), .ShiftWidth(ShiftWidth)) u_half_v (.x_i(v1_q), .q_i, .shift_i, .r_o(v1_half));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int i = 0; i < int'(Lanes); i++) begin
          u1_q[i] <= inverse_i ? pre_sum[i] : x0_i[i];
          v1_q[i] <= inverse_i ? pre_difference[i] : x1_i[i];
          w1_q[i] <= w_i[i];
          u2_q[i] <= inverse_i ? u1_half[i] : u1_q[i];
          v2_q[i] <= inverse_i ? v1_half[i] : v1_q[i];
          w2_q[i] <= w1_q[i];
        end
      end
    end

    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(1'b0), .Word(Word)) u_mul (
      .clk_i, .en_i, .a_i(v2_q), .b_i(w2_q), .q_i, .k_i, .r_o(product)
    );
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(rf_pkg::MulLatency)) u_delay (
      .clk_i, .en_i, .x_i(u2_q), .x_o(u)
    );
    rf_mod_add #(.W(W), .Lanes(Lanes)) u_post_add (.a_i(u), .b_i(product), .q_i, .r_o(post_sum));
    rf_mod_sub #(.W(W), .Lanes(Lanes)) u_post_sub (.a_i(u), .b_i(product), .q_i, .r_o(post_difference));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int i = 0; i < int'(Lanes); i++) begin
          y0_o[i] <= inverse_i ? u[i] : post_sum[i];
          y1_o[i] <= inverse_i ? product[i] : post_difference[i];
        end
      end
    end
  end
endmodule
