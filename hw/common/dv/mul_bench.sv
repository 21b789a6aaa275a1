// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Compares the multipliers of one kind, real and twin, with plain division, and checks the latency by the way: on
// random and extreme operands until `Products` are compared, or with All on all operands of all moduli. The clock
// enable is random. Stops with an error at the first difference.

module mul_bench #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 4,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          ShortInLuts = 1'b0,
  parameter int unsigned Products = 1,
  parameter bit          All = 1'b0,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter int unsigned TileA = 26,
  parameter int unsigned TileB = 17,
  parameter int unsigned LutBits = 3
) (
  input  logic clk_i,
  output logic done_o
);
  localparam int unsigned Latency = rf_pkg::MulLatency;
  localparam int unsigned Bits = Word * ((W + Word - 1) / Word);
  // Rows of operands with one modulus. The last of them, still in the pipeline when it changes, are not compared.
  localparam int unsigned Epoch = All ? 2 ** (2 * W) / Lanes + Latency : 100;
  localparam int unsigned Moduli = Kind == rf_pkg::MulBarrett ? 2 ** (W - 1) - 1 : 2 ** (W - Word) - 1;
  localparam bit          HasTwin = W <= 62;

  logic         en;
  logic [W-1:0] a [Lanes];
  logic [W-1:0] b [Lanes];
  logic [W-1:0] q;
  logic [63:0]  k;
  logic [W-1:0] factor;  // what the multiplier adds: 1, or 2^-Bits mod q
  logic [W-1:0] r [Lanes];
  logic [W-1:0] r_twin [Lanes];

  // Results expected for the last rows, and the number of rows since the modulus was set.
  logic [W-1:0] expected [Latency][Lanes];
  int unsigned  rows;
  int unsigned  epoch;
  int unsigned  count;

  if (Kind == rf_pkg::MulBarrett) begin : g_barrett
    rf_mul_barrett #(
      .W(W), .Lanes(Lanes), .TileA(TileA), .TileB(TileB), .LutBits(LutBits)
    ) u_mul (
      .clk_i, .en_i(en), .a_i(a), .b_i(b), .q_i(q), .k_i(k), .r_o(r)
    );
  end else begin : g_montgomery
    rf_mul_montgomery #(
      .W(W), .Lanes(Lanes), .Word(Word), .ShortInLuts(ShortInLuts), .TileA(TileA), .TileB(TileB), .LutBits(LutBits)
    ) u_mul (
      .clk_i, .en_i(en), .a_i(a), .b_i(b), .q_i(q), .k_i(k), .r_o(r)
    );
  end

  if (HasTwin) begin : g_twin
    rf_mul_twin #(.W(W), .Lanes(Lanes), .Kind(Kind), .Word(Word)) u_twin (
      .clk_i, .en_i(en), .a_i(a), .b_i(b), .q_i(q), .k_i(k), .r_o(r_twin)
    );
  end else begin : g_no_twin
    assign r_twin = r;
  end

  function automatic logic [W-1:0] random();
    return W'({$urandom, $urandom});
  endfunction

  // The modulus of an epoch: with All the next one, else by turns one just above 2^(W-1), one just below 2^W, and a
  // random one.
  function automatic logic [W-1:0] modulus(int unsigned turn);
    logic [W-1:0] x = random();
    logic [W-1:0] top = W'(1) << (W - 1);
    logic [W-1:0] step = Kind == rf_pkg::MulBarrett ? W'(1) : W'(1) << Word;
    if (All) return Kind == rf_pkg::MulBarrett ? top + W'(1) + W'(turn) : (W'(turn) + W'(1)) * step + W'(1);
    // Montgomery's are 1 modulo 2^Word; Barrett's may be even but not 2^(W-1).
    if (turn % 3 == 0) x = (x & W'(3)) * step;
    if (turn % 3 == 1) x = W'(0) - ((x & W'(3)) + W'(1)) * step;
    x = (x | top) & (W'(0) - step);
    return Kind == rf_pkg::MulBarrett && x != top ? x : x + W'(1);
  endfunction

  function automatic logic [W-1:0] operand(logic [W-1:0] bound);
    logic [W-1:0] x = random();
    case (x[3:0])
      4'd0: return '0;
      4'd1: return W'(1);
      4'd2: return bound - W'(1);
      4'd3: return bound - W'(2);
      4'd4: return bound >> 1;
      4'd5: return bound >> 6'(x >> 4);
      4'd6: return bound - W'(1) - ((bound - W'(1)) >> 6'(x >> 4));
      default: return (x >= bound) ? x - bound : x;
    endcase
  endfunction

  function automatic logic [W-1:0] reference(logic [W-1:0] x, logic [W-1:0] y);
    return W'(((2*W)'(x) * (2*W)'(y)) % (2*W)'(q));
  endfunction

  initial begin
    count = 0;
    done_o = 1'b0;
    en = 1'b0;
    rows = Epoch;
    epoch = 0;
  end

  // Drives and compares between the edges that the multipliers use.
  always @(negedge clk_i) begin
    /* verilator lint_off BLKSEQ */
    if (rows == Epoch) begin
      done_o = done_o || (All ? epoch == Moduli : count >= Products);
      rows = 0;
      q = modulus(epoch);
      epoch = epoch + 1;
      k = (Kind == rf_pkg::MulBarrett) ? 64'((129'(1) << (2 * W)) / 129'(q)) : '0;
      factor = W'(1);
      if (Kind == rf_pkg::MulMontgomery) begin
        for (int unsigned i = 0; i < Bits; i++) factor = (factor >> 1) + (factor[0] ? (q >> 1) + W'(1) : '0);
      end
    end else if (rows >= Latency) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (r[l] != expected[rows % Latency][l] || r_twin[l] != expected[rows % Latency][l]) begin
          $fatal(1, "q %h: result %h, twin %h, expected %h", q, r[l], r_twin[l], expected[rows % Latency][l]);
        end
      end
      if (en) count = count + Lanes;
    end
    en = ($urandom % 8) != 0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (All) begin
        {b[l], a[l]} = (2*W)'(rows * Lanes + l);
        a[l] = a[l] % q;
        if (Kind == rf_pkg::MulMontgomery) b[l] = b[l] % q;
      end else begin
        a[l] = operand(q);
        b[l] = operand(q);
        // Barrett's b may be any word.
        if (Kind == rf_pkg::MulBarrett && epoch[0]) b[l] = operand('1);
      end
      if (en) expected[rows % Latency][l] = reference(a[l], reference(b[l], factor));
    end
    if (en) rows = rows + 1;
    /* verilator lint_on BLKSEQ */
  end
endmodule
