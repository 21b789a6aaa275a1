// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Compares the multipliers of one kind, real and twin, with plain division on random and extreme operands, and checks
// the latency by the way. Counts the products compared; stops with an error at the first difference.

module mul_bench #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 16,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          ShortInLuts = 1'b0
) (
  input  logic        clk_i,
  output logic [31:0] count_o
);
  localparam int unsigned Latency = rf_pkg::MulLatency;
  localparam int unsigned Word = rf_pkg::MontgomeryWord;
  localparam int unsigned Bits = Word * ((W + Word - 1) / Word);
  localparam int unsigned Epoch = 100;  // rows of operands with one modulus
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

  if (Kind == rf_pkg::MulBarrett) begin : g_barrett
    rf_mul_barrett #(.W(W), .Lanes(Lanes)) u_mul (
      .clk_i, .en_i(en), .a_i(a), .b_i(b), .q_i(q), .k_i(k), .r_o(r)
    );
  end else begin : g_montgomery
    rf_mul_montgomery #(.W(W), .Lanes(Lanes), .ShortInLuts(ShortInLuts)) u_mul (
      .clk_i, .en_i(en), .a_i(a), .b_i(b), .q_i(q), .k_i(k), .r_o(r)
    );
  end

  if (HasTwin) begin : g_twin
    rf_mul_twin #(.W(W), .Lanes(Lanes), .Kind(Kind)) u_twin (
      .clk_i, .en_i(en), .a_i(a), .b_i(b), .q_i(q), .k_i(k), .r_o(r_twin)
    );
  end else begin : g_no_twin
    assign r_twin = r;
  end

  function automatic logic [W-1:0] random();
    return W'({$urandom, $urandom});
  endfunction

  // The modulus of an epoch: by turns one just above 2^(W-1), one just below 2^W, and a random one.
  function automatic logic [W-1:0] modulus(int unsigned turn);
    logic [W-1:0] x = random();
    if (turn % 3 == 0) x = W'(32'(x[1:0]));
    if (turn % 3 == 1) x = ~W'(32'(x[1:0]));
    x[W-1] = 1'b1;
    x[0] = 1'b1;
    if (Kind == rf_pkg::MulMontgomery) begin
      if (turn % 3 == 0) x[Word+1:Word] = x[2:1];
      x[Word-1:0] = Word'(1);
    end
    return x;
  endfunction

  function automatic logic [W-1:0] operand(logic [W-1:0] bound);
    logic [W-1:0] x = random();
    case (x[3:0])
      4'd0: return '0;
      4'd1: return W'(1);
      4'd2: return bound - W'(1);
      4'd3: return bound - W'(2);
      4'd4: return bound >> 1;
      4'd5: return bound >> x[9:4];
      4'd6: return bound - W'(1) - ((bound - W'(1)) >> x[9:4]);
      default: return (x >= bound) ? x - bound : x;
    endcase
  endfunction

  function automatic logic [W-1:0] reference(logic [W-1:0] x, logic [W-1:0] y);
    return W'(((2*W)'(x) * (2*W)'(y)) % (2*W)'(q));
  endfunction

  initial begin
    count_o = 0;
    en = 1'b0;
    rows = Epoch;
    epoch = 0;
  end

  // Drives and compares between the edges that the multipliers use.
  always @(negedge clk_i) begin
    /* verilator lint_off BLKSEQ */
    if (rows == Epoch) begin
      rows = 0;
      q = modulus(epoch);
      epoch = epoch + 1;
      k = (Kind == rf_pkg::MulBarrett) ? 64'(((2*W+1)'(1) << (2 * W)) / (2*W+1)'(q)) : '0;
      factor = W'(1);
      if (Kind == rf_pkg::MulMontgomery) begin
        for (int i = 0; i < int'(Bits); i++) factor = (factor >> 1) + (factor[0] ? (q >> 1) + W'(1) : '0);
      end
    end else if (rows >= Latency) begin
      for (int l = 0; l < int'(Lanes); l++) begin
        if (r[l] != expected[rows % Latency][l] || r_twin[l] != expected[rows % Latency][l]) begin
          $fatal(1, "q %h: result %h, twin %h, expected %h", q, r[l], r_twin[l], expected[rows % Latency][l]);
        end
      end
      if (en) count_o = count_o + Lanes;
    end
    en = ($urandom % 8) != 0;
    for (int l = 0; l < int'(Lanes); l++) begin
      a[l] = operand(q);
      b[l] = operand(q);
      if (en) expected[rows % Latency][l] = reference(a[l], Kind == rf_pkg::MulBarrett ? b[l] : reference(b[l], factor));
    end
    if (en) rows = rows + 1;
    /* verilator lint_on BLKSEQ */
  end
endmodule
