// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Powers of roots of unity for the published engine: both directions of two sets of tables, Starts powers a cycle.
//
// Function    w_o[s] = entry ((first + s) mod 2^(level-1)) * 2^(log_n - level) of the table of set_i, inverse_i
// Latency     4; w_o is combinational behind the last register
// Throughput  Starts powers, and 8 written, a cycle
// Ranges      those of aes_root_map; t_index_i counts rows of 8 entries of a table of N / 2. A table is not written
//             while it is read.
//
// aes_root_map says in which banks they lie; from there a network of exclusive ors, a rotation of lane numbers and a
// repetition (early levels use few powers) take them to their lanes.

module aes_roots #(
    parameter int unsigned Starts = 64,
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned W = 32,
    localparam int unsigned Words = 8,
    localparam int unsigned IndexW = MaxLogN - 4
) (
    input  logic               clk_i,
    input  logic               t_we_i,
    input  logic               t_set_i,
    input  logic               t_inverse_i,
    input  logic [IndexW-1:0]  t_index_i,
    input  logic [W-1:0]       t_wdata_i [Words],
    input  logic               re_i,
    input  logic               set_i,
    input  logic               inverse_i,
    input  logic [4:0]         log_n_i,
    input  logic [4:0]         level_i,
    input  logic [MaxLogN-2:0] first_i,
    output logic [W-1:0]       w_o [Starts]
);
  localparam int unsigned Banks = Starts > Words ? Starts : Words;
  localparam int unsigned BankW = $clog2(Banks);
  localparam int unsigned LogWords = $clog2(Words);
  localparam int unsigned PowerW = MaxLogN - 1;
  localparam int unsigned RowW = PowerW - BankW;

  // ---- Writing: 8 entries that follow each other lie in 8 banks -----------------------------------------
  logic [BankW-1:0]  fold;
  logic [PowerW-1:0] power;

  assign power = {t_index_i, LogWords'(0)};
  always_comb begin
    fold = '0;
    for (int unsigned p = 0; p < PowerW; p++) fold[p%BankW] = fold[p%BankW] ^ power[p];
  end

  // ---- Reading: 0 addresses, 1 and 2 the banks, 3 exclusive or, 4 rotation and repetition ---------------------
  logic              re_q, set_q, inverse_q;
  logic [RowW-1:0]   row [Banks], row_q [Banks];
  logic [BankW-1:0]  mask, mask_q [3];
  logic [2:0]        rotate, bits, rotate_q [4], bits_q [4];
  logic [W-1:0]      word [Banks], mixed [BankW+1][Banks], mixed_q [Banks], turned [Starts];

  aes_root_map #(.Banks(Banks), .Starts(Starts), .MaxLogN(MaxLogN)) u_map (
      .log_n_i, .level_i, .first_i, .row_o(row), .mask_o(mask), .rotate_o(rotate), .bits_o(bits)
  );

  always_ff @(posedge clk_i) begin
    re_q <= re_i;
    if (re_i) begin
      set_q <= set_i;
      inverse_q <= inverse_i;
      row_q <= row;
    end
    mask_q[0] <= mask;
    rotate_q[0] <= rotate;
    bits_q[0] <= bits;
    for (int unsigned d = 1; d < 3; d++) mask_q[d] <= mask_q[d-1];
    for (int unsigned d = 1; d < 4; d++) begin
      rotate_q[d] <= rotate_q[d-1];
      bits_q[d] <= bits_q[d-1];
    end
    mixed_q <= mixed[BankW];
  end

  for (genvar b = 0; b < int'(Banks); b++) begin : g_bank
    logic [BankW-1:0] place;
    logic [W-1:0]     wdata [1], rdata [1];

    assign place = fold ^ BankW'(b);
    assign wdata[0] = t_wdata_i[place[LogWords-1:0]];
    assign word[b] = rdata[0];
    rf_bank #(.W(W), .Lanes(1), .Rows(4 << RowW)) u_bank (
        .clk_i, .re_i(re_q), .raddr_i({set_q, inverse_q, row_q[b]}), .rdata_o(rdata),
        .we_i(t_we_i && (32'(place) >> LogWords) == 32'd0),
        .waddr_i({t_set_i, t_inverse_i, power[PowerW-1:BankW]}), .wdata_i(wdata)
    );
  end

  always_comb begin
    mixed[0] = word;
    for (int unsigned d = 0; d < BankW; d++) begin
      /* verilator unroll_disable */
      for (int unsigned b = 0; b < Banks; b++) mixed[d+1][b] = mask_q[2][d] ? mixed[d][b^(32'd1<<d)] : mixed[d][b];
    end
  end

  // Lane s shows bank rotate(s): bit i of s is bit (i + rotation) mod BankW of the bank.
  function automatic int unsigned rotated(int unsigned s, int unsigned by);
    return ((s << by) | (s >> (BankW - by))) % Banks;
  endfunction

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < Starts; s++) turned[s] = '0;
    for (int unsigned r = 0; r < BankW; r++) begin
      if (32'(rotate_q[3]) == r) begin
        /* verilator unroll_disable */
        for (int unsigned s = 0; s < Starts; s++) turned[s] = turned[s] | mixed_q[rotated(s, r)];
      end
    end
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < Starts; s++) w_o[s] = '0;
    for (int unsigned d = 1; d <= $clog2(Starts); d++) begin
      if (32'(bits_q[3]) == d) begin
        /* verilator unroll_disable */
        for (int unsigned s = 0; s < Starts; s++) w_o[s] = w_o[s] | turned[s%(32'd1<<d)];
      end
    end
  end
endmodule
