// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Arithmetic lanes of one multiplier and one adder each, of which two form one butterfly by crossing their operands:
// half the butterflies a multiplier of rf_butterfly, but no adder or multiplier besides those of the lanes (the
// arrangement of modular ALUs in FAME, an accelerator for encrypted matrix products).
//
// Function, modulo q, with lanes e = 2i and o = 2i + 1:
//   mode 0, each lane by itself   r = c + a * b, or c - a * b if subtract_i
//   mode 1, forward butterfly     r[e] = a[e] + b[o] * a[o],    r[o] = a[e] - b[o] * a[o]
//   mode 2, inverse butterfly     r[e] = (a[e] + a[o]) / 2,     r[o] = ((a[o] - a[e]) / 2) * b[o]
// In butterfly modes the even multiplier is idle, and c and b[e] are not used.
// Latency ButterflyLatency in all modes, throughput one result per lane and clock; en_i low holds the whole pipeline.
// mode_i, subtract_i, shift_i, q_i and k_i do not change while data are in flight.
//
// Ranges: a, c, r < q_i, residues and modulus shifted left by shift_i (0 on Montgomery machines); b is an operand b of
// rf_mod_mul, not shifted. Lanes is even.
//
// Stages: 1 adder (inverse), 2 halving (inverse), then the multiplier, then the same adder (other modes).

module rf_butterfly_pair #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 2,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [1:0]   mode_i,
  input  logic         subtract_i,
  input  logic [2:0]   shift_i,
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] c_i [Lanes],
  output logic [W-1:0] r_o [Lanes]
);
  localparam int unsigned Pairs = Lanes / 2;

  logic forward;
  logic inverse;

  assign forward = mode_i == 2'd1;
  assign inverse = mode_i == 2'd2;

  if (Kind > rf_pkg::MulMontgomery || Lanes < 2 || Lanes % 2 != 0) begin : g_check
    $error("rf_butterfly_pair: Kind must be MulBarrett or MulMontgomery, Lanes even");
  end

  if (Twin) begin : g_twin
    if (W < 4 || W > 62) begin : g_width
      $error("rf_butterfly_pair: with Twin, W must be between 4 and 62");
    end

    // Everything at once, then a ring buffer as in rf_mul_twin.
    logic [W-1:0] ring_e [16][Pairs];
    logic [W-1:0] ring_o [16][Pairs];
    logic [3:0]   slot_q;
    logic [3:0]   last;
    logic [63:0]  q;
    logic [63:0]  k;

    assign last = slot_q - 4'(rf_pkg::ButterflyLatency);
    assign q = 64'(q_i);
    assign k = rf_pkg::twin_constant(Kind, q, k_i);

    function automatic logic [63:0] multiply(logic [63:0] a, logic [63:0] b);
      return rf_pkg::twin_multiply(Kind, W, rf_pkg::MontgomeryWord, a, b, q, k);
    endfunction

    function automatic logic [63:0] add_sub(logic [63:0] a, logic [63:0] b, logic subtract);
      return subtract ? rf_pkg::twin_sub(a, b, q) : rf_pkg::twin_add(a, b, q);
    endfunction

    function automatic void fill_lanes(logic [3:0] slot);
      for (int unsigned i = 0; i < Pairs; i++) begin
        automatic logic [63:0] p_e = multiply(64'(a_i[2*i]), 64'(b_i[2*i]));
        automatic logic [63:0] p_o = multiply(64'(a_i[2*i+1]), 64'(b_i[2*i+1]));
        ring_e[slot][i] = W'(add_sub(64'(c_i[2*i]), p_e, subtract_i));
        ring_o[slot][i] = W'(add_sub(64'(c_i[2*i+1]), p_o, subtract_i));
      end
    endfunction

    function automatic void fill_forward(logic [3:0] slot);
      for (int unsigned i = 0; i < Pairs; i++) begin
        automatic logic [63:0] p = multiply(64'(a_i[2*i+1]), 64'(b_i[2*i+1]));
        ring_e[slot][i] = W'(rf_pkg::twin_add(64'(a_i[2*i]), p, q));
        ring_o[slot][i] = W'(rf_pkg::twin_sub(64'(a_i[2*i]), p, q));
      end
    endfunction

    function automatic void fill_inverse(logic [3:0] slot);
      for (int unsigned i = 0; i < Pairs; i++) begin
        automatic logic [63:0] sum = rf_pkg::twin_add(64'(a_i[2*i]), 64'(a_i[2*i+1]), q);
        automatic logic [63:0] difference = rf_pkg::twin_sub(64'(a_i[2*i+1]), 64'(a_i[2*i]), q);
        ring_e[slot][i] = W'(rf_pkg::twin_half(sum, q, shift_i));
        ring_o[slot][i] = W'(multiply(rf_pkg::twin_half(difference, q, shift_i), 64'(b_i[2*i+1])));
      end
    endfunction

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        if (forward) fill_forward(slot_q);
        else if (inverse) fill_inverse(slot_q);
        else fill_lanes(slot_q);
        if (slot_q < 4'd15) slot_q <= slot_q + 4'd1;
        else slot_q <= '0;
      end
    end

    always_comb begin
      for (int unsigned i = 0; i < Pairs; i++) begin
        r_o[2*i] = ring_e[last][i];
        r_o[2*i+1] = ring_o[last][i];
      end
    end
  end else begin : g_hardware
    logic [W-1:0] a1_q [Lanes], b1_q [Lanes], c1_q [Lanes];
    logic [W-1:0] sum_q [Lanes];  // the adder's result, of stage 1 or of the last one
    logic [W-1:0] half [Lanes];
    logic [W-1:0] a2_q [Lanes], b2_q [Lanes], c2_q [Lanes];
    logic [W-1:0] c [Lanes];
    logic [W-1:0] product [Lanes];
    logic [W-1:0] rest_q [Lanes];  // last stage of results that do not come from the adder

    logic subtract_e;
    logic subtract_o;

    assign subtract_e = subtract_i && !forward && !inverse;
    assign subtract_o = subtract_i || forward || inverse;

    // a + b or a - b; bit W of the first result is the carry or the borrow.
    function automatic logic [W-1:0] add_sub(logic [W-1:0] a, logic [W-1:0] b, logic [W-1:0] q, logic subtract);
      logic [W:0] first = subtract ? {1'b0, a} - {1'b0, b} : {1'b0, a} + {1'b0, b};
      logic [W:0] second = subtract ? first + {1'b0, q} : first - {1'b0, q};
      // Which one lies in [0, q): after a subtraction, the second one if the first is negative; after an addition, the
      // second one unless it is negative.
      return (subtract ? first[W] : !second[W]) ? second[W-1:0] : first[W-1:0];
    endfunction

    rf_mod_half #(.W(W), .Lanes(Lanes)) u_half (.x_i(sum_q), .q_i, .shift_i, .r_o(half));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned i = 0; i < Pairs; i++) begin
          sum_q[2*i] <= add_sub(
            inverse ? a_i[2*i] : c[2*i],
            inverse ? a_i[2*i+1] : forward ? product[2*i+1] : product[2*i],
            q_i, subtract_e
          );
          sum_q[2*i+1] <= add_sub(
            inverse ? a_i[2*i+1] : forward ? c[2*i] : c[2*i+1],
            inverse ? a_i[2*i] : product[2*i+1],
            q_i, subtract_o
          );
          a2_q[2*i] <= a1_q[2*i];
          a2_q[2*i+1] <= inverse ? half[2*i+1] : a1_q[2*i+1];
          c2_q[2*i] <= inverse ? half[2*i] : forward ? a1_q[2*i] : c1_q[2*i];
          c2_q[2*i+1] <= c1_q[2*i+1];
          rest_q[2*i] <= c[2*i];
          rest_q[2*i+1] <= product[2*i+1];
        end
        for (int unsigned i = 0; i < Lanes; i++) begin
          a1_q[i] <= a_i[i];
          b1_q[i] <= b_i[i];
          c1_q[i] <= c_i[i];
          b2_q[i] <= b1_q[i];
        end
      end
    end

    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind)) u_mul (
      .clk_i, .en_i, .a_i(a2_q), .b_i(b2_q), .q_i, .k_i, .r_o(product)
    );
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(rf_pkg::MulLatency)) u_delay (.clk_i, .en_i, .x_i(c2_q), .x_o(c));

    always_comb begin
      for (int unsigned i = 0; i < Lanes; i++) r_o[i] = inverse ? rest_q[i] : sum_q[i];
    end
  end
endmodule
