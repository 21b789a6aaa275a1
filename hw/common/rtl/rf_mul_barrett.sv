// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular multiplier by Barrett reduction (P. Barrett, CRYPTO 1986): one full product and two half products.
//
// Function: r = a * b mod q. The constant k is floor(2^(2W) / q); its bit W is always set and is not read, so that the
// 64-bit port serves every width.
// Latency MulLatency, throughput one product per lane and clock; en_i low holds the whole pipeline. q_i and k_i do not
// change while operands are in flight; with Moving they belong to the operands that enter with them and move along,
// in one chain of registers for all lanes.
//
// Ranges: 4 <= W <= 64; 2^(W-1) < q < 2^W; a < q; b < 2^W; r < q. q need not be odd: a shorter prime is used shifted
// left, and so are a and r.
//
// Why two subtractions are enough. Let x = a * b < 2^W * q, h = floor(x / 2^(W-2)) and e = floor(h * k / 2^(W+2)). The
// quotient x/q exceeds x * k / 2^(2W) by less than x / 2^(2W) < 1 since k is rounded down; dropping bits of x costs
// less than 2^(W-2) * k / 2^(2W) < 1/2. The half product is computed in units of 2^(W-4), 1/64 of the last bit of e;
// what it leaves out is less than 18 units (rf_mul_tiled with 3 x 4 tiles), less than 1/2 in e. So x/q - e < 2 before e
// is rounded down, and r = x - e*q < 3q < 2^(W+2): W+2 bits of the second half product are enough.
//
// Stages: 1 operands; 2-4 full product; 5-7 upper half product, the quotient; 8-10 lower half product, the remainder;
// 11, 12 conditional subtractions. At W = 54 the three products take 6, 6 and 5 DSP slices.

module rf_mul_barrett #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned TileA = 26,
  parameter int unsigned TileB = 17,
  parameter int unsigned LutBits = 3,
  parameter bit          Moving = 1'b0
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  output logic [W-1:0] r_o [Lanes]
);
  localparam int unsigned Guard = 6;
  localparam int unsigned NA = (W + 2 + TileA - 1) / TileA;
  localparam int unsigned NB = (W + TileB - 1) / TileB;

  if (W < 4 || W > 64 || Lanes < 1) begin : g_width
    $error("rf_mul_barrett: W must be between 4 and 64, Lanes at least 1");
  end
  if (NA * NB + NA + NB - 1 > 2 ** (Guard - 1)) begin : g_tiles
    $error("rf_mul_barrett: the tiles are too small for the error bound");
  end

  logic [W-1:0]       a1_q [Lanes];
  logic [W-1:0]       b1_q [Lanes];
  logic [2*W-1:0]     zero [Lanes];
  logic [2*W-1:0]     x4 [Lanes];
  logic [W+1:0]       h4 [Lanes];
  logic [W+1:0]       h6 [Lanes];
  logic [W-1:0]       k [Lanes];
  logic [W+Guard-1:0] addend [Lanes];
  logic [W+Guard-1:0] e7 [Lanes];
  logic [W-1:0]       quotient [Lanes];
  logic [W-1:0]       q [Lanes];
  logic [W+1:0]       x_low4 [Lanes];
  logic [W+1:0]       x_low9 [Lanes];
  logic [W+1:0]       r10 [Lanes];
  logic [W:0]         r11_q [Lanes];

  // The settings of the operands in the stage that follows so many clocks after they entered.
  logic [W-1:0] k4;
  logic [W-1:0] q7;
  logic [W-1:0] q10;
  logic [W-1:0] q11;

  if (Moving) begin : g_moving
    logic [W-1:0] k_q [4];
    logic [W-1:0] q_q [11];

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        k_q[0] <= k_i[W-1:0];
        q_q[0] <= q_i;
        for (int unsigned d = 1; d < 4; d++) k_q[d] <= k_q[d-1];
        for (int unsigned d = 1; d < 11; d++) q_q[d] <= q_q[d-1];
      end
    end

    assign k4 = k_q[3];
    assign q7 = q_q[6];
    assign q10 = q_q[9];
    assign q11 = q_q[10];
  end else begin : g_still
    assign k4 = k_i[W-1:0];
    assign q7 = q_i;
    assign q10 = q_i;
    assign q11 = q_i;
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      a1_q <= a_i;
      b1_q <= b_i;
    end
  end

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned l = 0; l < Lanes; l++) begin
      zero[l] = '0;
      h4[l] = x4[l][2*W-1:W-2];
      x_low4[l] = x4[l][W+1:0];
      k[l] = k4;
      // h * 2^W for the bit of k that is not read, in units of 2^(W-4).
      addend[l] = {h6[l], 4'd0};
      quotient[l] = e7[l][W+Guard-1:Guard];
      q[l] = q7;
    end
  end

  rf_mul_tiled #(
    .WA(W), .WB(W), .Lanes(Lanes), .TileA(TileA), .TileB(TileB), .LutBits(LutBits)
  ) u_full (
    .clk_i, .en_i, .a_i(a1_q), .b_i(b1_q), .c_i(zero), .p_o(x4)
  );

  rf_delay #(.W(W + 2), .Lanes(Lanes), .Depth(2)) u_delay_h (.clk_i, .en_i, .x_i(h4), .x_o(h6));

  rf_mul_tiled #(
    .WA(W + 2), .WB(W), .Lo(W + 2 - Guard), .Hi(2 * W + 2), .Lanes(Lanes), .TileA(TileA), .TileB(TileB),
    .LutBits(LutBits), .FromTop(1'b1)
  ) u_upper (
    .clk_i, .en_i, .a_i(h4), .b_i(k), .c_i(addend), .p_o(e7)
  );

  rf_delay #(.W(W + 2), .Lanes(Lanes), .Depth(5)) u_delay_x (.clk_i, .en_i, .x_i(x_low4), .x_o(x_low9));

  rf_mul_tiled #(
    .WA(W), .WB(W), .Hi(W + 2), .Lanes(Lanes), .TileA(TileA), .TileB(TileB), .LutBits(LutBits), .Subtract(1'b1)
  ) u_lower (
    .clk_i, .en_i, .a_i(quotient), .b_i(q), .c_i(x_low9), .p_o(r10)
  );

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic [W+2:0] once = {1'b0, r10[l]} - (W+3)'(q10);
        automatic logic [W+1:0] twice = {1'b0, r11_q[l]} - (W+2)'(q11);
        r11_q[l] <= once[W+2] ? r10[l][W:0] : once[W:0];
        r_o[l] <= twice[W+1] ? r11_q[l][W-1:0] : twice[W-1:0];
      end
    end
  end

  if (W < 64) begin : g_unused
    logic unused_k;
    assign unused_k = ^k_i[63:W];
  end
  logic unused_e;
  always_comb begin
    unused_e = 1'b0;
    for (int unsigned l = 0; l < Lanes; l++) unused_e = unused_e ^ (^e7[l][Guard-1:0]);
  end
endmodule
