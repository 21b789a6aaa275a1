// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// AES-128 (FIPS-197), a round at a time or all of it, on round keys that are expanded already; and a step of the key
// expansion. Byte j of a block is bits 8 j to 8 j + 7.
//
// Written for gates on encrypted bits, where an exclusive sum of three takes one bootstrap, as & and ^ of two do.

// The S-box by Boyar and Peralta (SEA 2010): linear, inversion with products of bits, linear.
module aes128_sbox (
    input  wire [7:0] x,
    output wire [7:0] y
);
  wire x0 = x[7], x1 = x[6], x2 = x[5], x3 = x[4], x4 = x[3], x5 = x[2], x6 = x[1], x7 = x[0];
  // Linear.
  wire y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2, y1 = t0 ^ x7, y4 = y1 ^ x3,
       y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5, y20 = t1 ^ x1,
       y6 = y15 ^ x7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8,
       y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;
  // Inversion.
  wire t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & x7, t6 = t5 ^ t2, t7 = y13 & y16, t8 = y5 & y1,
       t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7, t12 = y9 & y11, t13 = y14 & y17, t14 = t13 ^ t12,
       t15 = y8 & y10, t16 = t15 ^ t12, t17 = t4 ^ t14, t18 = t6 ^ t16, t19 = t9 ^ t14, t20 = t11 ^ t16,
       t21 = t17 ^ y20, t22 = t18 ^ y19, t23 = t19 ^ y21, t24 = t20 ^ y18, t25 = t21 ^ t22, t26 = t21 & t23,
       t27 = t24 ^ t26, t28 = t25 & t27, t29 = t28 ^ t22, t30 = t23 ^ t24, t31 = t22 ^ t26, t32 = t31 & t30,
       t33 = t32 ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35, t37 = t36 ^ t34, t38 = t27 ^ t36,
       t39 = t29 & t38, t40 = t25 ^ t39, t41 = t40 ^ t37, t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37,
       t45 = t42 ^ t41, z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7,
       z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4,
       z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;
  // Linear.
  wire t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12, t51 = z2 ^ z5,
       t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17, t56 = z12 ^ t48, t57 = t50 ^ t53,
       t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57, t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58,
       t64 = z4 ^ t59, t65 = t61 ^ t62, t66 = z1 ^ t63, s0 = t59 ^ t63, s6 = t56 ^ ~t62, s7 = t48 ^ ~t60,
       t67 = t64 ^ t65, s3 = t53 ^ t66, s4 = t51 ^ t66, s5 = t47 ^ t65, s1 = t64 ^ ~s3, s2 = t55 ^ ~t67;
  assign y = {s0, s1, s2, s3, s4, s5, s6, s7};
endmodule

// SubBytes and ShiftRows: byte j comes from byte j + 4 (j mod 4) mod 16.
module aes128_substituted (
    input  wire [127:0] state,
    output wire [127:0] out
);
  genvar j;
  generate
    for (j = 0; j < 16; j = j + 1) begin : bytes
      localparam FROM = (j + 4 * (j % 4)) % 16;
      aes128_sbox box (
          .x(state[8*FROM+:8]),
          .y(out[8*j+:8])
      );
    end
  endgenerate
endmodule

// A column of MixColumns, and AddRoundKey. With d of a row its sum with the next row, bit i of row r is the sum of
// bit i - 1 of d[r], of bit 7 of d[r] where the polynomial has a term, of a[r + 1], a[r + 2], a[r + 3], and of the key.
// That is two gates, for up to five summands, if d[r + 2] is one of them where there are six.
module aes128_column (
    input  wire [31:0] a,
    input  wire [31:0] key,
    output wire [31:0] out
);
  wire [31:0] d = a ^ {a[7:0], a[31:8]};
  genvar r, i;
  generate
    for (r = 0; r < 4; r = r + 1) begin : row
      localparam A = 8 * r, B = 8 * ((r + 1) % 4), C = 8 * ((r + 2) % 4), D = 8 * ((r + 3) % 4);
      for (i = 0; i < 8; i = i + 1) begin : bits
        if (i == 1 || i == 3 || i == 4) begin : reduced
          assign out[A+i] = (d[A+i-1] ^ d[A+7] ^ key[A+i]) ^ a[B+i] ^ d[C+i];
        end else if (i == 6) begin : last
          assign out[A+i] = (a[A+5] ^ a[B+5] ^ key[A+i]) ^ a[B+i] ^ d[C+i];
        end else begin : plain
          assign out[A+i] = (d[A+(i+7)%8] ^ a[B+i] ^ key[A+i]) ^ a[C+i] ^ a[D+i];
        end
      end
    end
  endgenerate
endmodule

// Rounds 1 to 9.
module aes128_round (
    input  wire [127:0] state,
    input  wire [127:0] key,
    output wire [127:0] out
);
  wire [127:0] s;
  aes128_substituted substituted (
      .state(state),
      .out  (s)
  );
  genvar c;
  generate
    for (c = 0; c < 4; c = c + 1) begin : columns
      aes128_column column (
          .a  (s[32*c+:32]),
          .key(key[32*c+:32]),
          .out(out[32*c+:32])
      );
    end
  endgenerate
endmodule

// Round 10.
module aes128_last_round (
    input  wire [127:0] state,
    input  wire [127:0] key,
    output wire [127:0] out
);
  wire [127:0] s;
  aes128_substituted substituted (
      .state(state),
      .out  (s)
  );
  assign out = s ^ key;
endmodule

// All rounds. Bits 128 i to 128 i + 127 of keys are round key i.
module aes128 (
    input  wire [ 127:0] block,
    input  wire [1407:0] keys,
    output wire [ 127:0] out
);
  wire [127:0] state[0:9];
  assign state[0] = block ^ keys[127:0];
  genvar i;
  generate
    for (i = 1; i < 10; i = i + 1) begin : rounds
      aes128_round round (
          .state(state[i-1]),
          .key  (keys[128*i+:128]),
          .out  (state[i])
      );
    end
  endgenerate
  aes128_last_round last (
      .state(state[9]),
      .key  (keys[1280+:128]),
      .out  (out)
  );
endmodule

// From a round key to the next one, with the round's constant.
module aes128_next_key (
    input  wire [127:0] key,
    input  wire [  7:0] constant,
    output wire [127:0] out
);
  wire [31:0] word;
  genvar j;
  generate
    for (j = 0; j < 4; j = j + 1) begin : bytes
      aes128_sbox box (
          .x(key[96+8*((j+1)%4)+:8]),
          .y(word[8*j+:8])
      );
    end
  endgenerate
  assign out[31:0] = key[31:0] ^ word ^ {24'b0, constant};
  assign out[63:32] = key[63:32] ^ out[31:0];
  assign out[95:64] = key[95:64] ^ out[63:32];
  assign out[127:96] = key[127:96] ^ out[95:64];
endmodule
