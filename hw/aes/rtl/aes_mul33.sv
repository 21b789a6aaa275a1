// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Integer product of 33 x 33 bits on one DSP slice, as four products of 17 x 17 bits, one a cycle.
//
// Function    p = a * b, exact
// Latency     6 from the cycle with start_i: p_o is right in that one cycle only
// Throughput  a product in 4 cycles: start_i is high in every fourth cycle at most
// Ranges      a, b < 2^33. a_i, b_i are looked at only while start_i is high.
//
// Stages: 1 halves of operands, 2 product, 3 sum. The sum of a product starts anew with its first part and moves down
// by 17 bits behind the first and the third: lo * lo, hi * lo, lo * hi, hi * hi. What moves out is kept beside.
//
// As synthesised by Yosys for series 7: one DSP48E1, which has all three stages; the sum moves through its port C.

module aes_mul33 #(
    localparam int unsigned W = 33,
    localparam int unsigned Half = 17
) (
    input  logic           clk_i,
    input  logic           start_i,
    input  logic [W-1:0]   a_i,
    input  logic [W-1:0]   b_i,
    output logic [2*W-1:0] p_o
);
  localparam int unsigned SumW = 48;
  localparam int unsigned Top = W - Half;  // bits of a high half

  // Where the four parts are: bit i in the i-th cycle after start_i.
  logic [4:0] turn_q;
  always_ff @(posedge clk_i) turn_q <= {turn_q[3:0], start_i};

  // Halves of a product that has begun; the last part takes two high ones.
  logic [Half-1:0]   a_low_q, b_low_q;
  logic [Top-1:0]    a_high_q, b_high_q;
  logic [Half-1:0]   a, b, a_q, b_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      {a_high_q, a_low_q} <= a_i;
      {b_high_q, b_low_q} <= b_i;
    end
  end

  always_comb begin
    a = start_i ? a_i[Half-1:0] : turn_q[1] ? a_low_q : Half'(a_high_q);
    b = start_i ? b_i[Half-1:0] : turn_q[0] ? b_low_q : Half'(b_high_q);
  end

  logic [2*Half-1:0] m_q;
  logic [SumW-1:0]   sum_q, moved, carried;
  logic              move;

  // The parts reach the sum 2 cycles after they are chosen: turn_q[1] is with the first, turn_q[4] with the last.
  assign move = turn_q[2] || turn_q[4];
  assign moved = move ? sum_q >> Half : '0;
  assign carried = turn_q[3] ? sum_q : moved;

  always_ff @(posedge clk_i) begin
    a_q <= a;
    b_q <= b;
    m_q <= a_q * b_q;
    sum_q <= SumW'(m_q) + carried;
  end

  logic [Half-1:0] low_q, middle_q;
  always_ff @(posedge clk_i) begin
    if (turn_q[2]) low_q <= sum_q[Half-1:0];
    if (turn_q[4]) middle_q <= sum_q[Half-1:0];
  end
  assign p_o = {sum_q[2*W-2*Half-1:0], middle_q, low_q};
endmodule
