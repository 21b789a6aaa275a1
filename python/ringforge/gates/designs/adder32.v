// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// a + b + carry_in in 32 bits, twice: with the fewest gates, and with the fewest in a row.

// Carries ripple from bit to bit: 32 majorities in a row, and 32 sums of three bits.
module adder32 (
    input  wire [31:0] a,
    input  wire [31:0] b,
    input  wire        carry_in,
    output wire [31:0] sum,
    output wire        carry_out
);
  wire [32:0] c;
  assign c[0] = carry_in;
  genvar i;
  generate
    for (i = 0; i < 32; i = i + 1) begin : bits
      assign sum[i] = a[i] ^ b[i] ^ c[i];
      assign c[i+1] = (a[i] & b[i]) | (a[i] & c[i]) | (b[i] & c[i]);
    end
  endgenerate
  assign carry_out = c[32];
endmodule

// Sklansky's parallel prefix (IRE Transactions on Electronic Computers, 1960). Position 0 is the carry in, position
// i + 1 is bit i. Of a group of positions, g is the carry out of it if none comes in, p if one does. So g implies p, and
// the carry out for any carry in is the majority of g, p and the carry in: one gate where others take g | (p & c).
module adder32_prefix (
    input  wire [31:0] a,
    input  wire [31:0] b,
    input  wire        carry_in,
    output wire [31:0] sum,
    output wire        carry_out
);
  localparam W = 33;
  localparam LEVELS = 6;
  wire [W-1:0] g[0:LEVELS];
  wire [W-1:0] p[0:LEVELS];
  assign g[0] = {a & b, carry_in};
  assign p[0] = {a | b, carry_in};
  genvar i, l;
  generate
    for (l = 0; l < LEVELS; l = l + 1) begin : level
      for (i = 0; i < W; i = i + 1) begin : position
        if ((i >> l) & 1) begin : joined
          localparam J = ((i >> l) << l) - 1;
          assign g[l+1][i] = (g[l][i] & p[l][i]) | (g[l][i] & g[l][J]) | (p[l][i] & g[l][J]);
          assign p[l+1][i] = (g[l][i] & p[l][i]) | (g[l][i] & p[l][J]) | (p[l][i] & p[l][J]);
        end else begin : passed
          assign g[l+1][i] = g[l][i];
          assign p[l+1][i] = p[l][i];
        end
      end
    end
  endgenerate
  assign sum = a ^ b ^ g[LEVELS][31:0];
  assign carry_out = g[LEVELS][32];
endmodule
