// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// An 8-bit arithmetic and logic unit with one adder for everything that adds or compares.
//
//   op  y                                   carry
//   0   a + b                               out of the sum
//   1   a - b                               borrow: a < b, unsigned
//   2   a & b                               0
//   3   a | b                               0
//   4   a ^ b                               0
//   5   a << 1                              the bit that leaves, a[7]
//   6   a >> 1, unsigned                    the bit that leaves, a[0]
//   7   1 if a < b as signed numbers, or 0  borrow: a < b, unsigned
//
// zero: y is 0.
//
// Written for gates on encrypted bits, where ^ of three takes one bootstrap, as & of two does: what is selected is
// masked, and the terms, of which all others are 0, are joined by ^.
module alu8 (
    input  wire [7:0] a,
    input  wire [7:0] b,
    input  wire [2:0] op,
    output wire [7:0] y,
    output wire       zero,
    output wire       carry
);
  wire is_and = op == 3'd2;
  wire is_or = op == 3'd3;
  wire left = op == 3'd5;
  wire right = op == 3'd6;
  wire less = op == 3'd7;
  wire subtract = op == 3'd1 || less;
  wire adds = op == 3'd0 || subtract;
  wire takes_sum = ~op[1] & ~(op[0] & op[2]) || is_or;  // add, subtract, xor; or: see below

  // a - b is a + ~b + 1. Carries ripple: a full adder is one majority and one sum. Without carries the sum is a ^ b,
  // and a | b is (a ^ b) ^ (a & b).
  wire [7:0] other = b ^ {8{subtract}};
  wire [8:0] c;
  wire [7:0] sum;
  assign c[0] = subtract;
  genvar i;
  generate
    for (i = 0; i < 8; i = i + 1) begin : add
      assign sum[i] = a[i] ^ other[i] ^ (c[i] & adds);
      assign c[i+1] = (a[i] & other[i]) | (a[i] & c[i]) | (other[i] & c[i]);
    end
  endgenerate
  // Of unlike signs the negative number is less; otherwise the sign of the difference decides.
  wire is_less = (a[7] & other[7]) | (a[7] & sum[7]) | (other[7] & sum[7]);

  assign y = (sum & {8{takes_sum}}) ^ (a & b & {8{is_and | is_or}}) ^ ({a[6:0], 1'b0} & {8{left}})
      ^ ({1'b0, a[7:1]} & {8{right}}) ^ {7'd0, is_less & less};
  assign carry = ((c[8] ^ subtract) & adds) ^ (a[7] & left) ^ (a[0] & right);
  assign zero = y == 8'd0;
endmodule
