// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// For a formal proof: holds_o is 1 for all inputs if the multiplier of the given kind, its twin and the definition of
// the modular product agree for all moduli and operands in range. The pipeline is taken as combinational (transparent.v
// makes registers wires); its latency is a matter of simulation.
//
// k_i is the constant of the twin: Barrett's, or the inverse of q modulo the Montgomery radix 2^Bits (twin_multiply
// uses no more bits of it).

module mul_equal #(
  parameter int unsigned W = 5,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = 3,
  parameter int unsigned TileA = 3,
  parameter int unsigned TileB = 2,
  parameter int unsigned LutBits = 1,
  parameter bit          ShortInLuts = 1'b0
) (
  input  logic           clk_i,
  input  logic [W-1:0]   a_i,
  input  logic [W-1:0]   b_i,
  input  logic [W-1:0]   q_i,
  input  logic [2*W-1:0] k_i,
  output logic           holds_o
);
  localparam int unsigned Bits = Word * ((W + Word - 1) / Word);
  localparam int unsigned D = W + Bits + 1;  // wide enough for every product below

  logic [W-1:0] a [1];
  logic [W-1:0] b [1];
  logic [W-1:0] r [1];
  logic [63:0]  twin;
  logic         in_range;
  logic         right;

  assign a[0] = a_i;
  assign b[0] = b_i;
  assign twin = rf_pkg::twin_multiply(Kind, W, Word, 64'(a_i), 64'(b_i), 64'(q_i), 64'(k_i));
  assign holds_o = !in_range || (right && twin == 64'(r[0]));

  if (Kind == rf_pkg::MulBarrett) begin : g_barrett
    rf_mul_barrett #(.W(W), .TileA(TileA), .TileB(TileB), .LutBits(LutBits)) u_mul (
      .clk_i, .en_i(1'b1), .a_i(a), .b_i(b), .q_i, .k_i(64'(k_i)), .r_o(r)
    );

    // Any q but the power of two, odd or not; any b; k_i is the quotient of 2^(2W).
    logic [2*W:0] rest;
    assign rest = {1'b1, (2*W)'(0)} - (2*W+1)'(k_i[W:0]) * (2*W+1)'(q_i);
    assign in_range = q_i[W-1] && q_i[W-2:0] != '0 && a_i < q_i && k_i[2*W-1:W+1] == '0 && rest < (2*W+1)'(q_i);
    assign right = (2*W)'(r[0]) == ((2*W)'(a_i) * (2*W)'(b_i)) % (2*W)'(q_i);
  end else begin : g_montgomery
    rf_mul_montgomery #(
      .W(W), .Word(Word), .ShortInLuts(ShortInLuts), .TileA(TileA), .TileB(TileB), .LutBits(LutBits)
    ) u_mul (
      .clk_i, .en_i(1'b1), .a_i(a), .b_i(b), .q_i, .k_i('0), .r_o(r)
    );

    // Any q that is 1 modulo 2^Word; k_i is its inverse modulo 2^Bits.
    assign in_range = q_i[Word-1:0] == Word'(1) && q_i[W-1:Word] != '0 && a_i < q_i && b_i < q_i
      && 64'(k_i) < 64'(2 ** Bits) && Bits'(k_i) * Bits'(q_i) == Bits'(1);
    assign right = r[0] < q_i && (D'(r[0]) << Bits) % D'(q_i) == (D'(a_i) * D'(b_i)) % D'(q_i);
  end
endmodule
