// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Product modulo a prime by Barrett's method, on three aes_mul33.
//
// Function    r = a * b mod q: x = a * b, then t = floor(floor(x / 2^30) * mu / 2^32), then x - t * q, which is in
//             [0, 3q), less q or 2q
// Latency     20 from the cycle with start_i; r_o then holds until the next product is there
// Throughput  a product in 4 cycles: start_i is high in every fourth cycle at most
// Ranges      2^30 < q < 2^31, mu = floor(2^62 / q), a, b < q. a_i, b_i are looked at only while start_i is high, q_i
//             and mu_i until the result is there.
//
// As synthesised by Yosys for series 7: three DSP48E1.

module aes_barrett #(
    localparam int unsigned W = 32,
    localparam int unsigned Bits = 31  // of q
) (
    input  logic         clk_i,
    input  logic         start_i,
    input  logic [W-1:0] a_i,
    input  logic [W-1:0] b_i,
    input  logic [W-1:0] q_i,
    input  logic [W:0]   mu_i,
    output logic [W-1:0] r_o
);
  localparam int unsigned Mul = 6;  // latency of aes_mul33
  localparam int unsigned Held = 3;  // products whose low bits wait for the third multiplier
  localparam int unsigned Depth = 3 * Mul + 1;

  // start_q[d]: a product began d + 1 cycles ago.
  logic [Depth-1:0] start_q;
  always_ff @(posedge clk_i) start_q <= {start_q[Depth-2:0], start_i};

  /* verilator lint_off UNUSEDSIGNAL */  // of each product only some bits matter
  logic [2*W+1:0] x, estimate, multiple;
  /* verilator lint_on UNUSEDSIGNAL */

  aes_mul33 u_product (.clk_i, .start_i, .a_i({1'b0, a_i}), .b_i({1'b0, b_i}), .p_o(x));
  aes_mul33 u_estimate (
      .clk_i, .start_i(start_q[Mul-1]), .a_i(x[Bits-1+:W+1]), .b_i(mu_i), .p_o(estimate)
  );
  aes_mul33 u_multiple (
      .clk_i, .start_i(start_q[2*Mul-1]), .a_i(estimate[Bits+1+:W+1]), .b_i({1'b0, q_i}), .p_o(multiple)
  );

  // Low bits of products: the three that have begun since this one was taken move it on.
  logic [W:0] low_q [Held];
  always_ff @(posedge clk_i) begin
    if (start_q[Mul-1]) low_q[0] <= x[W:0];
    if (start_q[Mul+3]) low_q[1] <= low_q[0];
    if (start_q[Mul+7]) low_q[2] <= low_q[1];
  end

  // x - t * q is below 3q < 2^33, so that its low 33 bits are all of it.
  logic [W:0]   rest_q;
  logic [W+1:0] once, twice;

  assign once = {1'b0, rest_q} - {2'b0, q_i};
  assign twice = {1'b0, rest_q} - {1'b0, q_i, 1'b0};

  always_ff @(posedge clk_i) begin
    if (start_q[3*Mul-1]) rest_q <= low_q[2] - multiple[W:0];
    if (start_q[3*Mul]) r_o <= !twice[W+1] ? twice[W-1:0] : !once[W+1] ? once[W-1:0] : rest_q[W-1:0];
  end
endmodule
