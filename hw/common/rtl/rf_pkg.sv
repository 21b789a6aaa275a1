// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Constants shared by the common cells and by the machines built from them, and the arithmetic of the simulation twins.

package rf_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no design uses all of them

  // Multiplier kinds.
  localparam int unsigned MulBarrett = 0;
  localparam int unsigned MulMontgomery = 1;

  // Clock edges from operands to result. Every multiplier has the same latency, so that machines do not depend on
  // the kind.
  localparam int unsigned MulLatency = 12;
  localparam int unsigned MacLatency = MulLatency + 2;
  localparam int unsigned ButterflyLatency = MulLatency + 3;

  // Modes of rf_alu.
  localparam logic [1:0] AluMulAdd = 2'd0;
  localparam logic [1:0] AluForward = 2'd1;
  localparam logic [1:0] AluInverse = 2'd2;
  localparam logic [1:0] AluSubMul = 2'd3;

  // Clock edges from address to data of a bank, and through a permutation network.
  localparam int unsigned BankLatency = 2;
  localparam int unsigned SpnLatency = 4;

  // Residues may be held shifted left by up to MaxShift bits, so that primes of W-MaxShift to W bits fill the word.
  // Cells that look at the shift have its width as a parameter; this is the default.
  localparam int unsigned MaxShift = 7;
  localparam int unsigned ShiftWidth = 3;

  // Digit of the word-wise Montgomery multiplier: primes are 1 modulo 2^MontgomeryWord.
  localparam int unsigned MontgomeryWord = 18;

  /* verilator lint_on UNUSEDPARAM */

  // Arithmetic of the simulation twins: residues modulo q < 2^62, in 64-bit words, the widest that simulators compute
  // natively, and without branches, so that C++ compilers turn loops over lanes into vector instructions.

  // Upper half of a product.
  function automatic logic [63:0] twin_high(logic [63:0] x, logic [63:0] y);
    logic [63:0] ll = {32'd0, x[31:0]} * {32'd0, y[31:0]};
    logic [63:0] lh = {32'd0, x[31:0]} * {32'd0, y[63:32]};
    logic [63:0] hl = {32'd0, x[63:32]} * {32'd0, y[31:0]};
    logic [63:0] hh = {32'd0, x[63:32]} * {32'd0, y[63:32]};
    logic [63:0] middle = (ll >> 32) + {32'd0, lh[31:0]} + hl;  // at most 2 (2^32 - 1) + (2^32 - 1)^2 < 2^64
    return hh + (lh >> 32) + (middle >> 32);
  endfunction

  // x - q if that is not negative, else x: a negative difference wraps and is the larger number.
  function automatic logic [63:0] twin_reduce(logic [63:0] x, logic [63:0] q);
    logic [63:0] y = x - q;
    return y < x ? y : x;
  endfunction

  function automatic logic [63:0] twin_add(logic [63:0] a, logic [63:0] b, logic [63:0] q);
    return twin_reduce(a + b, q);
  endfunction

  function automatic logic [63:0] twin_sub(logic [63:0] a, logic [63:0] b, logic [63:0] q);
    return twin_reduce(a - b + q, q);
  endfunction

  // See rf_mod_half.
  function automatic logic [63:0] twin_half(logic [63:0] x, logic [63:0] q, logic [5:0] shift);
    return (x + (q & -((x >> shift) & 64'd1))) >> 1;
  endfunction

  // The constant that twin_multiply takes: Barrett's as it is; for Montgomery the inverse of q modulo 2^64, by Newton's
  // iteration: x is its own inverse modulo 8, and every step doubles the bits that are right.
  function automatic logic [63:0] twin_constant(int unsigned kind, logic [63:0] q, logic [63:0] k);
    logic [63:0] x = q;
    for (int i = 0; i < 5; i++) x = x * (64'd2 - q * x);
    return kind == MulBarrett ? k : x;
  endfunction

  // The products of rf_mul_barrett and rf_mul_montgomery, for 4 <= w <= 62.
  //
  // Barrett: floor(a*b / 2^(2w-63)) * k / 2^63 is less than the quotient by less than 3: bits of a*b that are dropped
  // cost less than k / 2^63 <= 1, the bits of k less than 1 and rounding less than 1. So r < 3q < 2^64.
  //
  // Montgomery: reduction by 2^64 at once, with a shifted left if the radix is smaller. If it is larger, a second step
  // reduces by the bits that remain; q = 1 modulo 2^rest, so the multiple of q to add is -r mod 2^rest.
  function automatic logic [63:0] twin_multiply(
    int unsigned kind, int unsigned w, int unsigned word, logic [63:0] a, logic [63:0] b, logic [63:0] q, logic [63:0] k
  );
    int unsigned bits = word * ((w + word - 1) / word);
    int unsigned left = bits < 64 ? 64 - bits : 0;
    int unsigned rest = bits > 64 ? bits - 64 : 0;
    logic [63:0] r;
    logic [63:0] m;
    if (kind == MulBarrett) begin
      r = a * b - twin_high(twin_high(a << (64 - w), b << (63 - w)), k << 1) * q;
      return twin_reduce(twin_reduce(r, q), q);
    end
    r = twin_reduce(twin_high(a << left, b) - twin_high((a << left) * b * k, q) + q, q);
    if (rest > 0) begin
      m = -r & ((64'd1 << rest) - 64'd1);
      r = ((r + m) >> rest) + m * ((q - 64'd1) >> rest);  // (r + m*q) / 2^rest < q
    end
    return r;
  endfunction
endpackage
