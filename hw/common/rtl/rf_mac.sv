// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Multiply and accumulate, one per lane:  r = (pre_sub ? a - c : a) * b  (+ c if post_add)  modulo q.
//
// Latency MacLatency, throughput one result per lane and clock; en_i low holds the whole pipeline. pre_sub_i,
// post_add_i, q_i and k_i do not change while data are in flight.
//
// Ranges: a, c, r < q_i, residues and modulus shifted left alike; b is an operand b of rf_mod_mul, not shifted.
//
// Stages: 1 difference, then the multiplier, then the sum.

module rf_mac #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter int unsigned Word = rf_pkg::MontgomeryWord
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic         pre_sub_i,
  input  logic         post_add_i,
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] c_i [Lanes],
  output logic [W-1:0] r_o [Lanes]
);
  if (Kind > rf_pkg::MulMontgomery || Lanes < 1) begin : g_check
    $error("rf_mac: Kind must be MulBarrett or MulMontgomery, Lanes at least 1");
  end

  if (Twin) begin : g_twin
    if (W < 4 || W > 62) begin : g_width
      $error("rf_mac: with Twin, W must be between 4 and 62");
    end

    // The whole result at once, then a ring buffer as in rf_mul_twin.
    logic [W-1:0] ring [16][Lanes];
    logic [3:0]   slot_q;
    logic [63:0]  q;
    logic [63:0]  k;

    assign q = 64'(q_i);
    assign k = rf_pkg::twin_constant(Kind, q, k_i);
    assign r_o = ring[slot_q - 4'(rf_pkg::MacLatency)];

    function automatic void fill(logic [3:0] slot);
      // Masks instead of branches: what is not selected is zero.
      automatic logic [63:0] minus = pre_sub_i ? '1 : '0;
      automatic logic [63:0] plus = post_add_i ? '1 : '0;
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Lanes; i++) begin
        automatic logic [63:0] c = 64'(c_i[i]);
        automatic logic [63:0] a = rf_pkg::twin_sub(64'(a_i[i]), c & minus, q);
        automatic logic [63:0] p = rf_pkg::twin_multiply(Kind, W, Word, a, 64'(b_i[i]), q, k);
        ring[slot][i] = W'(rf_pkg::twin_add(p, c & plus, q));
      end
    endfunction

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        fill(slot_q);
        if (slot_q < 4'd15) slot_q <= slot_q + 4'd1;
        else slot_q <= '0;
      end
    end
  end else begin : g_hardware
    logic [W-1:0] difference [Lanes];
    logic [W-1:0] a1_q [Lanes];
    logic [W-1:0] b1_q [Lanes];
    logic [W-1:0] c [Lanes];
    logic [W-1:0] product [Lanes];
    logic [W-1:0] sum [Lanes];

    rf_mod_sub #(.W(W), .Lanes(Lanes)) u_sub (.a_i, .b_i(c_i), .q_i, .r_o(difference));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int i = 0; i < int'(Lanes); i++) begin
          a1_q[i] <= pre_sub_i ? difference[i] : a_i[i];
          b1_q[i] <= b_i[i];
        end
      end
    end

    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(1'b0), .Word(Word)) u_mul (
      .clk_i, .en_i, .a_i(a1_q), .b_i(b1_q), .q_i, .k_i, .r_o(product)
    );
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(rf_pkg::MulLatency + 1)) u_delay (
      .clk_i, .en_i, .x_i(c_i), .x_o(c)
    );
    rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (.a_i(product), .b_i(c), .q_i, .r_o(sum));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int i = 0; i < int'(Lanes); i++) begin
          r_o[i] <= post_add_i ? sum[i] : product[i];
        end
      end
    end
  end
endmodule
