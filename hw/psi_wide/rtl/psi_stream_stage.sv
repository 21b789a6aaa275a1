// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A stage of a streaming transform: butterflies between x and y of each clock's pair of lines, and the stage's twiddles.
//
// Function    rf_butterfly, forward or inverse, with the twiddle of the pair's block. Stage `Stage` of a transform of
//             degree 2^MaxLogN has 2^Stage blocks; the one before it in the order of a forward transform has half as
//             many. A polynomial is 2^MaxLogN / (2*Lanes) clocks; in the first stages a block lasts one or more clocks
//             and one twiddle serves all lanes, in the last ones a clock has 2^Inner blocks, each Lanes / 2^Inner pairs
//             of neighbouring lanes, and as many twiddles are read.
// Latency     1 + ButterflyLatency; start_o comes with the first pair
// Throughput  one pair of lines per clock; polynomials follow each other at once, or after any pause
// Ranges      as rf_butterfly. short_i: the degree is 2^(MaxLogN-1), and the stage has half as many blocks (Stage >= 1).
//             short_i, q_i, k_i, shift_i and the twiddles do not change while data are in flight.
// Twiddles    tw_addr_i counts as the usual table does: entry m + i is that of block i of the stage with m blocks. Writes
//             to other stages' entries are ignored.

module psi_stream_stage #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 8,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Stage = 0,
  parameter bit          Inverse = 1'b0,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               en_i,
  input  logic               short_i,
  input  logic [2:0]         shift_i,
  input  logic [W-1:0]       q_i,
  input  logic [63:0]        k_i,
  input  logic               tw_we_i,
  input  logic [MaxLogN-1:0] tw_addr_i,
  input  logic [W-1:0]       tw_data_i,
  input  logic               start_i,
  input  logic [W-1:0]       x_i [Lanes],
  input  logic [W-1:0]       y_i [Lanes],
  output logic               start_o,
  output logic [W-1:0]       x_o [Lanes],
  output logic [W-1:0]       y_o [Lanes]
);
  localparam int unsigned Outer = MaxLogN - 1 - $clog2(Lanes);    // log2 of clocks
  localparam int unsigned Inner = Stage > Outer ? Stage - Outer : 0;
  localparam int unsigned Words = 1 << Inner;                     // twiddles of a clock
  localparam int unsigned RowsW = Stage < Outer ? Stage : Outer;  // log2 of rows of the table
  localparam int unsigned IndexW = RowsW > 0 ? RowsW : 1;
  localparam int unsigned Latency = 1 + rf_pkg::ButterflyLatency;

  if (Lanes < 1 || (Lanes & (Lanes - 1)) != 0 || Stage >= MaxLogN || MaxLogN < 2 + $clog2(Lanes)) begin : g_check
    $error("psi_stream_stage: Lanes must be a power of two, a polynomial at least two clocks, Stage below MaxLogN");
  end

  // Clocks since the polynomial began.
  logic [Outer-1:0]  now_q, now;
  logic [IndexW-1:0] row;
  assign now = start_i ? '0 : now_q;
  always_ff @(posedge clk_i) if (en_i) now_q <= now + 1'b1;
  if (RowsW == 0) begin : g_one
    assign row = '0;
  end else begin : g_rows
    assign row = now[Outer-1-:RowsW];
  end

  // The flat address of this stage is 1, then Stage (or Stage - 1) bits: the row, and the word in it. A shorter
  // polynomial has half as many clocks, and reads rows of the lower half if a clock has a row of its own.
  localparam int unsigned Fewer = Stage > 0 ? Stage - 1 : 0;
  logic [MaxLogN-1:0] local_addr;
  logic               mine;
  logic [IndexW-1:0]  wrow;
  always_comb begin
    mine = (tw_addr_i >> (short_i ? Fewer : Stage)) == MaxLogN'(1) && (!short_i || Stage > 0);
    local_addr = tw_addr_i & ~(MaxLogN'(1) << (short_i ? Fewer : Stage));
  end
  assign wrow = IndexW'(local_addr >> Inner);

  logic [W-1:0] twiddle_q [Words];
  for (genvar k = 0; k < int'(Words); k++) begin : g_words
    logic [W-1:0] mem [1 << RowsW];
    logic         here;
    if (Inner == 0) begin : g_here
      assign here = 1'b1;
    end else begin : g_word
      assign here = local_addr[Inner-1:0] == Inner'(k);
    end
    always_ff @(posedge clk_i) begin
      if (tw_we_i && mine && here) mem[wrow] <= tw_data_i;
      if (en_i) twiddle_q[k] <= mem[row];
    end
  end

  logic [W-1:0]       x_q [Lanes], y_q [Lanes], w [Lanes];
  logic [Latency-1:0] start_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      x_q <= x_i;
      y_q <= y_i;
    end
    if (!rst_ni) start_q <= '0;
    else if (en_i) start_q <= {start_q[Latency-2:0], start_i};
  end
  assign start_o = start_q[Latency-1];

  always_comb for (int unsigned l = 0; l < Lanes; l++) w[l] = twiddle_q[l*Words/Lanes];

  rf_butterfly #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin)) u_butterfly (
    .clk_i, .en_i, .inverse_i(Inverse), .shift_i, .q_i, .k_i, .x0_i(x_q), .x1_i(y_q), .w_i(w), .y0_o(x_o), .y1_o(y_o)
  );

  logic unused;
  assign unused = ^{local_addr, now_q};
endmodule
