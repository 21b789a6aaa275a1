// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The one reduction of a sum of products: r = x mod q (Barrett), or x * 2^(-18 * ceil(W / 18)) mod q (Montgomery, q = 1
// modulo 2^18), canonical.
//
// Latency Extra + 9, throughput one per lane and clock; en_i low holds the pipeline. q_i and k_i do not change while
// data are in flight; k = floor(2^(2W) / q) without its bit W, for Barrett only. With Twin, x is what comes out: the twin
// of what makes the sum has reduced it.
//
// Ranges: 18 < W <= 64; x < q * 2^(W + Extra); Barrett: 2^(W-1) < q < 2^W, Montgomery: q < 2^W; r < q.
//
// First the sum is brought below q * 2^W, which is what a product of one residue with one word is below: stage i takes
// q * 2^(W + Extra - 1 - i) away if it can, and halves the bound. None of that touches the lower W bits. From there on
// the bounds are those of rf_mul_barrett (quotient short by less than 2 before rounding, r < 3q, two subtractions) and
// of rf_mul_montgomery (-q < r < 2q after all rounds, as x < q * 2^W <= q * R; one correction), whose headers derive
// them. Longer constants in place of these stages would not fit the 64 bits that a modulus has for them.
//
// Stages: Extra conditional subtractions; Barrett: 3 quotient, 3 remainder, 2 subtractions; Montgomery: 2 a round (multiply,
// subtract), 1 correction; the rest delays.
//
// As synthesised by Yosys, a lane: 11 DSP slices at W = 54, 15 at W = 60; 6 with Montgomery at W = 54.

module omr_reduce #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Extra = 6,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  localparam int unsigned SumW = Twin ? W : 2 * W + Extra
) (
  input  logic            clk_i,
  input  logic            en_i,
  /* verilator lint_off UNUSEDSIGNAL */
  input  logic [W-1:0]    q_i,
  input  logic [63:0]     k_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [SumW-1:0] x_i [Lanes],
  output logic [W-1:0]    r_o [Lanes]
);
  localparam int unsigned Latency = Extra + 9;
  localparam int unsigned TileA = 26;
  localparam int unsigned TileB = 17;
  localparam int unsigned Word = rf_pkg::MontgomeryWord;

  if (W <= Word || W > 64 || Lanes < 1 || Extra < 1) begin : g_width
    $error("omr_reduce: W must be between 19 and 64, Lanes and Extra at least 1");
  end

  if (Twin) begin : g_twin
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(Latency)) u_delay (.clk_i, .en_i, .x_i, .x_o(r_o));
  end else begin : g_hardware
    // x with its upper bits, W + Extra of them, less and less.
    logic [SumW-1:0] fold [Extra+1][Lanes];
    logic [2*W-1:0]  x [Lanes];

    assign fold[0] = x_i;
    for (genvar i = 0; i < int'(Extra); i++) begin : g_fold
      always_ff @(posedge clk_i) begin
        if (en_i) begin
          /* verilator unroll_disable */
          for (int unsigned l = 0; l < Lanes; l++) begin
            automatic logic [W+Extra:0] less =
                {1'b0, fold[i][l][SumW-1:W]} - ((W+Extra+1)'(q_i) << (Extra - 1 - i));
            fold[i+1][l] <= {less[W+Extra] ? fold[i][l][SumW-1:W] : less[W+Extra-1:0], fold[i][l][W-1:0]};
          end
        end
      end
    end

    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) x[l] = fold[Extra][l][2*W-1:0];
    end

    if (Kind == rf_pkg::MulBarrett) begin : g_barrett
      localparam int unsigned Guard = 6;
      logic [W+1:0]       h [Lanes], h2 [Lanes], low [Lanes], low5 [Lanes], r6 [Lanes];
      logic [W-1:0]       k [Lanes], q [Lanes], e [Lanes], r8_q [Lanes];
      logic [W+Guard-1:0] addend [Lanes], e3 [Lanes];
      logic [W:0]         r7_q [Lanes];
      logic               unused;

      always_comb begin
        unused = 1'b0;
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          h[l] = x[l][2*W-1:W-2];
          low[l] = x[l][W+1:0];
          k[l] = k_i[W-1:0];
          q[l] = q_i;
          // h * 2^W for the bit of k that is not read, in units of 2^(W-4).
          addend[l] = {h2[l], 4'd0};
          e[l] = e3[l][W+Guard-1:Guard];
          unused = unused ^ (^e3[l][Guard-1:0]);
        end
      end

      rf_delay #(.W(W + 2), .Lanes(Lanes), .Depth(2)) u_delay_h (.clk_i, .en_i, .x_i(h), .x_o(h2));
      rf_mul_tiled #(
        .WA(W + 2), .WB(W), .Lo(W + 2 - Guard), .Hi(2 * W + 2), .Lanes(Lanes), .TileA(TileA), .TileB(TileB), .FromTop(1'b1)
      ) u_upper (
        .clk_i, .en_i, .a_i(h), .b_i(k), .c_i(addend), .p_o(e3)
      );
      rf_delay #(.W(W + 2), .Lanes(Lanes), .Depth(5)) u_delay_x (.clk_i, .en_i, .x_i(low), .x_o(low5));
      rf_mul_tiled #(
        .WA(W), .WB(W), .Hi(W + 2), .Lanes(Lanes), .TileA(TileA), .TileB(TileB), .Subtract(1'b1)
      ) u_lower (
        .clk_i, .en_i, .a_i(e), .b_i(q), .c_i(low5), .p_o(r6)
      );

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          /* verilator unroll_disable */
          for (int unsigned l = 0; l < Lanes; l++) begin
            automatic logic [W+2:0] once = {1'b0, r6[l]} - (W+3)'(q_i);
            automatic logic [W+1:0] twice = {1'b0, r7_q[l]} - (W+2)'(q_i);
            r7_q[l] <= once[W+2] ? r6[l][W:0] : once[W:0];
            r8_q[l] <= twice[W+1] ? r7_q[l][W-1:0] : twice[W-1:0];
            r_o[l] <= r8_q[l];
          end
        end
      end
    end else begin : g_montgomery
      localparam int unsigned Rounds = (W + Word - 1) / Word;
      localparam int unsigned Rest = 9 - 2 * Rounds;  // stages from the last round on: the correction, and delays
      localparam int unsigned T = 2 * W + 1;
      localparam int unsigned Upper = W - Word;
      localparam int unsigned Long = Upper < TileA ? Upper : TileA;
      localparam int unsigned Short = Upper - Long;
      logic signed [T-1:0] t [Rounds+1][Lanes];
      logic [W-1:0]        r_q [Rest][Lanes];

      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) t[0][l] = {1'b0, x[l]};
      end

      // The word m that a round clears is taken as a signed number: (t - m * q) / 2^Word has t shifted right, plus the top
      // bit of m, less m * (q - 1) / 2^Word, whose factor has Long bits for one DSP slice and Short ones for another.
      for (genvar r = 0; r < int'(Rounds); r++) begin : g_round
        logic signed [T-1:0]          shifted_q [Lanes], next_q [Lanes];
        logic signed [Word+Long:0]    long_q [Lanes];
        logic signed [Word+Upper:0]   both [Lanes];

        always_ff @(posedge clk_i) begin
          if (en_i) begin
            /* verilator unroll_disable */
            for (int unsigned l = 0; l < Lanes; l++) begin
              automatic logic signed [Word-1:0] m = t[r][l][Word-1:0];
              shifted_q[l] <= (t[r][l] >>> Word) + signed'(T'(t[r][l][Word-1]));
              long_q[l] <= (Word+Long+1)'(m) * (Word+Long+1)'(signed'({1'b0, q_i[Word+:Long]}));
              next_q[l] <= shifted_q[l] - T'(both[l]);
            end
          end
        end

        if (Short == 0) begin : g_no_short
          assign both = long_q;
        end else begin : g_short
          logic signed [Word+Short:0] short_q [Lanes];
          always_ff @(posedge clk_i) begin
            if (en_i) begin
              /* verilator unroll_disable */
              for (int unsigned l = 0; l < Lanes; l++) begin
                automatic logic signed [Word-1:0] m = t[r][l][Word-1:0];
                short_q[l] <= (Word+Short+1)'(m) * (Word+Short+1)'(signed'({1'b0, q_i[W-1:Word+Long]}));
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
        assign t[r+1] = next_q;
      end

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          /* verilator unroll_disable */
          for (int unsigned l = 0; l < Lanes; l++) begin
            automatic logic signed [W+1:0] last = t[Rounds][l][W+1:0];
            automatic logic signed [W+1:0] less = last - signed'({2'b0, q_i});
            if (last[W+1]) r_q[0][l] <= last[W-1:0] + q_i;
            else r_q[0][l] <= less[W+1] ? last[W-1:0] : less[W-1:0];
            for (int d = 1; d < int'(Rest); d++) r_q[d][l] <= r_q[d-1][l];
          end
        end
      end
      assign r_o = r_q[Rest-1];
    end
  end
endmodule
