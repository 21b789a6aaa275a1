// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Modular multiplier by word-wise Montgomery reduction for moduli q = 1 modulo 2^Word (P. L. Montgomery, Math. Comp.
// 1985; one word per round and such moduli: A. C. Mert, E. Ozturk, E. Savas, DSD 2019).
//
// Function: r = a * b * 2^(-Word*Rounds) mod q with Rounds = ceil(W / Word). k_i is not used.
// Latency MulLatency, throughput one product per lane and clock; en_i low holds the whole pipeline. q_i does not change
// while operands are in flight; with Moving it belongs to the operands that enter with it and moves along, in one chain
// of registers for all lanes.
//
// Ranges: q = 1 mod 2^Word, Word < W, q < 2^W; a, b < q; r < q.
//
// Since q = 1 modulo 2^Word, the multiple of q that clears the last word of t is that word itself: no multiplication is
// needed to find it. Taken as a signed number m, -2^(Word-1) <= m < 2^(Word-1), it fits the signed port of a DSP slice:
//   t' = (t - m*q) / 2^Word = (t - m) / 2^Word - m * (q - 1) / 2^Word,
// and (t - m) / 2^Word is t shifted right plus the top bit of the word. |m*q| / 2^Word <= q/2, so after all rounds
//   -(q/2)(1 + 2^-Word + ...) <= t < q * q/2^(Word*Rounds) + (q/2)(1 + 2^-Word + ...),
// hence -q < t < 2q, and one addition or subtraction of q finishes.
//
// (q - 1) / 2^Word has W - Word bits. Its lower TileA bits times m take one DSP slice a round, and the rest another
// one, or LUTs if ShortInLuts. At W = 54 that is 6 + 3 * 2 = 12 or 6 + 3 = 9 slices. In LUTs the rest is recoded to
// digits -2 ... 2 of radix 4 (A. D. Booth, 1951; two bits at a time: O. L. MacSorley, Proc. IRE 1961), each of which
// takes one row of m, 2m or their complements; the bit below it is the sign of the lower part. What complements lack,
// the next row brings in the two places that it leaves empty.
//
// Stages: operands if there is time; 3 for the product; 2 a round (multiply, subtract); 1 for the correction; the rest,
// if any, delays the result.

module rf_mul_montgomery #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          ShortInLuts = 1'b0,
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
  localparam int unsigned Rounds = (W + Word - 1) / Word;
  localparam int unsigned Spare = rf_pkg::MulLatency - 4 - 2 * Rounds;
  localparam bit          InputStage = Spare > 0;
  localparam int unsigned OutputStages = Spare > 0 ? Spare - 1 : 0;
  // Bits of t before the rounds: |t| < 2^(2W), and a sign.
  localparam int unsigned T = 2 * W + 1;
  localparam int unsigned Upper = W - Word;
  localparam int unsigned Long = Upper < TileA ? Upper : TileA;
  localparam int unsigned Short = Upper - Long;
  // In LUTs: the digits, how many of them the first of two sums takes, and where the second one begins in it.
  localparam bit          Recoded = ShortInLuts && Short > 0;
  localparam int unsigned Digits = Short > 0 ? (Short + 1) / 2 : 1;
  localparam int unsigned Half = (Digits + 1) / 2;
  localparam int unsigned At = 2 * Half - 2;
  localparam int unsigned Size0 = Word + 2 * Half;
  localparam int unsigned Size1 = Word + 2 * (Digits - Half) + 2;

  if (W < 4 || W > 64 || Lanes < 1 || Word < 2 || Word >= W || Rounds > 4) begin : g_width
    $error("rf_mul_montgomery: Lanes must be at least 1; W between 4 and 64, at least Word + 1 and at most 4 * Word");
  end
  if (Short > TileA) begin : g_tiles
    $error("rf_mul_montgomery: the modulus has more than two tiles");
  end

  // A digit times m, less one if it is negative.
  function automatic logic signed [Word+1:0] row(logic [2:0] digit, logic signed [Word-1:0] m);
    logic signed [Word+1:0] one = (Word+2)'(m);
    logic signed [Word+1:0] size = digit[1] != digit[0] ? one : digit[2] != digit[1] ? one <<< 1 : '0;
    return size ^ {(Word+2){digit[2]}};
  endfunction

  // Rows of some digits together, the first one at bit 0, less what the last one lacks.
  function automatic logic signed [Word+2*Digits-1:0] sum_of(
    int unsigned from, int unsigned to, logic [2*Digits:0] recoded, logic signed [Word-1:0] m
  );
    logic signed [Word+2*Digits-1:0] out = '0;
    logic signed [Word+3:0]          sum = (Word+4)'(row(recoded[2*from+:3], m));
    for (int unsigned j = from + 1; j < to; j++) begin
      sum = sum + {row(recoded[2*j+:3], m), 1'b0, recoded[2*j]};
      out[2*(j-1-from)+:2] = sum[1:0];
      sum = sum >>> 2;
    end
    return out | ((Word+2*Digits)'(sum) <<< (2 * (to - 1 - from)));
  endfunction

  logic [W-1:0]   a [Lanes];
  logic [W-1:0]   b [Lanes];
  logic [2*W-1:0] zero [Lanes];
  logic [2*W-1:0] product [Lanes];
  // t[r] is the number before round r.
  logic signed [T-1:0] t [Rounds+1][Lanes];
  logic [W-1:0] r_q [OutputStages+1][Lanes];

  // The modulus of the operands that are about to enter a round, or after the rounds the correction.
  logic [W-1:0] q [Rounds+1];

  if (Moving) begin : g_moving
    localparam int unsigned First = (InputStage ? 1 : 0) + 3;  // clocks before the first round
    logic [W-1:0] q_q [First+2*Rounds];

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        q_q[0] <= q_i;
        for (int unsigned d = 1; d < First + 2 * Rounds; d++) q_q[d] <= q_q[d-1];
      end
    end

    for (genvar r = 0; r <= int'(Rounds); r++) begin : g_tap
      assign q[r] = q_q[First+2*r-1];
    end
  end else begin : g_still
    for (genvar r = 0; r <= int'(Rounds); r++) begin : g_tap
      assign q[r] = q_i;
    end
  end

  if (InputStage) begin : g_input
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        a <= a_i;
        b <= b_i;
      end
    end
  end else begin : g_direct
    assign a = a_i;
    assign b = b_i;
  end

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned l = 0; l < Lanes; l++) begin
      zero[l] = '0;
      t[0][l] = {1'b0, product[l]};
    end
  end

  rf_mul_tiled #(
    .WA(W), .WB(W), .Lanes(Lanes), .TileA(TileA), .TileB(TileB), .LutBits(LutBits)
  ) u_full (
    .clk_i, .en_i, .a_i(a), .b_i(b), .c_i(zero), .p_o(product)
  );

  for (genvar r = 0; r < int'(Rounds); r++) begin : g_round
    // Bits that t can have after this round: those of the rest of the product, but at least those of 2q and a sign.
    localparam int unsigned Rest = 2 * W - Word * (r + 1) > W + 1 ? 2 * W - Word * (r + 1) + 2 : W + 3;
    localparam int unsigned Size = Rest < T ? Rest : T;

    logic [Upper-1:0]            upper;
    logic signed [Long:0]        lower;
    logic signed [T-1:0]         shifted_q [Lanes];
    logic signed [Word+Long:0]   long_q [Lanes];
    logic signed [Word+Upper:0]  both [Lanes];
    logic signed [Size-1:0]      t_q [Lanes];

    assign upper = q[r][W-1:Word];
    assign lower = {Recoded && 1'(upper >> Long), upper[Long-1:0]};

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          automatic logic signed [Word-1:0] m = t[r][l][Word-1:0];
          shifted_q[l] <= (t[r][l] >>> Word) + signed'(T'(t[r][l][Word-1]));
          long_q[l] <= (Word+Long+1)'(m) * (Word+Long+1)'(lower);
          t_q[l] <= Size'(shifted_q[l]) - Size'(both[l]);
        end
      end
    end

    if (Short == 0) begin : g_no_short
      assign both = long_q;
    end else if (ShortInLuts) begin : g_lut
      // Digit j is in bits 2j ... 2j+2 of the recoded number.
      logic [2*Digits:0]           recoded;
      logic signed [Size0-1:0]     low_q [Lanes];
      logic signed [Size1-1:0]     high_q [Lanes];
      logic                        lacks_q;

      assign recoded = (2*Digits+1)'(upper >> Long);

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          lacks_q <= recoded[2*Half];
          /* verilator unroll_disable */
          for (int unsigned l = 0; l < Lanes; l++) begin
            low_q[l] <= Size0'(sum_of(0, Half, recoded, t[r][l][Word-1:0]));
            high_q[l] <= Half < Digits ? Size1'(sum_of(Half, Digits, recoded, t[r][l][Word-1:0])) : '0;
          end
        end
      end

      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          automatic logic signed [Word+Short:0] sum =
              (Word+Short+1)'(low_q[l] >>> At) + (Word+Short+1)'(signed'({high_q[l], 1'b0, lacks_q}));
          automatic logic signed [Word+Upper:0] short = (Word+Upper+1)'(sum) <<< At;
          for (int unsigned i = 0; i < At; i++) short[i] = low_q[l][i];
          both[l] = (Word+Upper+1)'(long_q[l]) + (short <<< (Long + 1));
        end
      end
    end else begin : g_dsp
      logic signed [Word+Short:0] short_q [Lanes];

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          /* verilator unroll_disable */
          for (int unsigned l = 0; l < Lanes; l++) begin
            automatic logic signed [Word-1:0] m = t[r][l][Word-1:0];
            short_q[l] <= (Word+Short+1)'(m) * (Word+Short+1)'(signed'({1'b0, upper[Upper-1:Long]}));
          end
        end
      end

      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          both[l] = (Word+Upper+1)'(long_q[l]) + ((Word+Upper+1)'(short_q[l]) <<< Long);
        end
      end
    end

    for (genvar l = 0; l < int'(Lanes); l++) begin : g_lane
      assign t[r+1][l] = T'(t_q[l]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic signed [W+1:0] last = t[Rounds][l][W+1:0];
        automatic logic signed [W+1:0] less = last - signed'({2'b0, q[Rounds]});
        if (last[W+1]) r_q[0][l] <= last[W-1:0] + q[Rounds];
        else r_q[0][l] <= less[W+1] ? last[W-1:0] : less[W-1:0];
        for (int d = 1; d <= int'(OutputStages); d++) r_q[d][l] <= r_q[d-1][l];
      end
    end
  end

  assign r_o = r_q[OutputStages];

  logic unused;
  assign unused = (^k_i) ^ (^q_i[Word-1:0]);
endmodule
