// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// omr_reduce and omr_fraction beside plain division, on random and extreme operands, at the promised latency, until
// `Rows` rows are compared; omr_dot and omr_fraction, real and twin, beside each other. The clock enable is random.

module arithmetic_bench #(
  parameter int unsigned W = 54,
  parameter int unsigned Extra = 6,
  parameter int unsigned Sources = 3,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Rows = 1
) (
  input  logic clk_i,
  output logic done_o
);
  localparam int unsigned Lanes = 2;
  localparam int unsigned SumW = 2 * W + Extra;
  localparam int unsigned Latency = Extra + 9;
  localparam int unsigned FractionLatency = 4;
  localparam int unsigned DotLatency = 5 + $clog2(Sources);
  localparam int unsigned Word = rf_pkg::MontgomeryWord;
  localparam int unsigned Bits = Word * ((W + Word - 1) / Word);
  // Rows with one modulus. The last of them, still in the pipelines when it changes, are not compared.
  localparam int unsigned Epoch = 200;
  localparam int unsigned Wide = SumW + W;

  logic            en, first;
  logic [W-1:0]    q, factor, y[Lanes], f[Lanes], f_twin[Lanes], r[Lanes], f_wanted[8][Lanes];
  logic [W-1:0]    d[Sources][Lanes], c[Sources], dot_twin[Lanes];
  logic [SumW-1:0] sums[Lanes], dot[Lanes];
  logic [63:0]     k;
  logic [W-1:0]    wanted[64][Lanes];
  int unsigned     rows, epoch, count;

  omr_reduce #(.W(W), .Lanes(Lanes), .Extra(Extra), .Kind(Kind)) u_reduce (
    .clk_i, .en_i(en), .q_i(q), .k_i(k), .x_i(sums), .r_o(r)
  );
  omr_fraction #(.W(W), .Lanes(Lanes)) u_fraction (.clk_i, .en_i(en), .y_i(y), .k_i(k[W-1:0]), .f_o(f));
  omr_fraction #(.W(W), .Lanes(Lanes), .Twin(1'b1)) u_fraction_twin (
    .clk_i, .en_i(en), .y_i(y), .k_i(k[W-1:0]), .f_o(f_twin)
  );
  omr_dot #(.W(W), .Lanes(Lanes), .Sources(Sources), .Extra(Extra), .Kind(Kind)) u_dot (
    .clk_i, .en_i(en), .first_i(first), .d_i(d), .c_i(c), .q_i(q), .k_i(k), .sum_o(dot)
  );
  omr_dot #(.W(W), .Lanes(Lanes), .Sources(Sources), .Extra(Extra), .Kind(Kind), .Twin(1'b1)) u_dot_twin (
    .clk_i, .en_i(en), .first_i(first), .d_i(d), .c_i(c), .q_i(q), .k_i(k), .sum_o(dot_twin)
  );

  function automatic logic [W-1:0] random();
    return W'({$urandom, $urandom});
  endfunction

  // By turns just above 2^(W-1), just below 2^W, and random; Montgomery's are 1 modulo 2^Word, and shorter ones as well.
  function automatic logic [W-1:0] modulus(int unsigned turn);
    logic [W-1:0] x = random();
    logic [W-1:0] top = W'(1) << (W - 1);
    logic [W-1:0] step = Kind == rf_pkg::MulBarrett ? W'(1) : W'(1) << Word;
    if (turn % 3 == 0) x = (x & W'(3)) * step;
    if (turn % 3 == 1) x = W'(0) - ((x & W'(3)) + W'(1)) * step;
    x = (x | top) & (W'(0) - step);
    if (Kind == rf_pkg::MulMontgomery) return (turn % 4 == 3 ? (x >> 5) & (W'(0) - step) : x) + W'(1);
    return x == top ? x + W'(1) : x;
  endfunction

  function automatic logic [W-1:0] operand(logic [W-1:0] top);
    logic [W-1:0] x = random();
    case (x[2:0])
      3'd0: return '0;
      3'd1: return top;
      3'd2: return top - W'(1);
      3'd3: return top >> 6'(x >> 3);
      default: return x > top ? x % top : x;
    endcase
  endfunction

  // Below q * 2^(W + Extra): random, near a multiple of q, near the bound of a stage.
  function automatic logic [SumW-1:0] sum();
    logic [SumW-1:0] x = SumW'({$urandom, $urandom, $urandom, $urandom, $urandom});
    logic [SumW-1:0] bound = SumW'(q) << (W + Extra);
    int unsigned kind = $urandom % 8;
    if (kind == 0) return bound - SumW'(1) - SumW'($urandom % 2);
    if (kind == 1) return (bound >> ($urandom % (SumW - W))) - SumW'($urandom % 2);
    if (kind == 2) return SumW'(q) * (SumW'(x[W+Extra-1:0])) + SumW'($urandom % 2);
    if (kind == 3) return SumW'(q) * (SumW'(x[W+Extra-1:0]) + SumW'(1)) - SumW'(1);
    if (kind == 4) return x % SumW'(q);
    return x % bound;
  endfunction

  // What a reduction makes of a sum.
  function automatic logic [W-1:0] remainder_of(logic [SumW-1:0] from);
    return W'(Wide'(from) * Wide'(factor) % Wide'(q));
  endfunction

  // The fraction's modulus fills the word.
  function automatic logic [W-1:0] long_q();
    return q[W-1] ? q : W'(q << 5);
  endfunction

  initial begin
    count = 0;
    done_o = 1'b0;
    en = 1'b0;
    rows = Epoch;
    epoch = 0;
  end

  // Drives and compares between the edges that the cells use.
  always @(negedge clk_i) begin
    /* verilator lint_off BLKSEQ */
    if (rows == Epoch) begin
      done_o = done_o || count >= Rows;
      rows = 0;
      q = modulus(epoch);
      epoch = epoch + 1;
      k = 64'((129'(1) << (2 * W)) / 129'(long_q()));
      factor = W'(1);
      if (Kind == rf_pkg::MulMontgomery) begin
        for (int unsigned i = 0; i < Bits; i++) factor = (factor >> 1) + (factor[0] ? (q >> 1) + W'(1) : '0);
      end
    end else if (rows >= Latency && rows > DotLatency + 64 / Sources) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (r[l] != wanted[(rows - Latency) % 64][l]) begin
          $fatal(1, "q %h: remainder %h, not %h", q, r[l], wanted[(rows - Latency) % 64][l]);
        end
        if (f[l] != f_wanted[(rows - FractionLatency) % 8][l] || f_twin[l] != f[l]) begin
          $fatal(1, "q %h: fraction %h, twin %h, not %h", q, f[l], f_twin[l], f_wanted[(rows - FractionLatency) % 8][l]);
        end
        if (dot_twin[l] != remainder_of(dot[l])) $fatal(1, "q %h: sum %h, twin %h", q, dot[l], dot_twin[l]);
      end
      if (en) count = count + 1;
    end
    en = ($urandom % 8) != 0;
    first = rows % (64 / Sources / 2) == 0;
    for (int unsigned s = 0; s < Sources; s++) c[s] = operand(q - W'(1));
    for (int unsigned l = 0; l < Lanes; l++) begin
      sums[l] = sum();
      y[l] = operand(long_q() - W'(1));
      for (int unsigned s = 0; s < Sources; s++) d[s][l] = operand('1);
      if (en) begin
        wanted[rows%64][l] = remainder_of(sums[l]);
        f_wanted[rows%8][l] = W'(((2*W+1)'(y[l]) * ((2*W+1)'(k[W-1:0]) | ((2*W+1)'(1) << W))) >> W);
      end
    end
    if (en) rows = rows + 1;
    /* verilator lint_on BLKSEQ */
  end
endmodule
