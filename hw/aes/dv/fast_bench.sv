// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fast engine with its storage: data are there exactly 2 cycles after a read, rubbish is there in all others. Rows
// come and go through m_*: m_place_i 0..3 is X, 4..7 S, 8..9 K; writes in any cycle, reads at once.
module fast_bench
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 16,
    parameter int unsigned MaxLogN = 9,
    parameter int unsigned MinLogN = 6,
    parameter bit Twin = 1'b0,
    localparam int unsigned W = WordW,
    localparam int unsigned RowW = MaxLogN - $clog2(Lanes),
    localparam int unsigned IndexW = MaxLogN - 1 - $clog2(NarrowWords)
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [4:0]         log_n_i,
    input  logic               cmd_valid_i,
    output logic               cmd_ready_o,
    input  logic [3:0]         op_i,
    input  logic [3:0]         dst_i,
    input  logic [3:0]         src_i,
    input  logic [3:0]         src2_i,
    input  logic               set_i,
    input  logic               init_i,
    input  logic               half_i,
    input  logic               key_i,
    input  logic               inverse_i,
    output logic               done_o,
    output logic               busy_o,
    output logic [31:0]        cycle_o,
    output logic [31:0]        words_o,      // written to X so far
    output logic [31:0]        faults_o,     // cycles in which ports were used against the rules
    input  logic               m_we_i,
    input  logic [3:0]         m_place_i,
    input  logic [RowW-1:0]    m_row_i,
    input  logic [Lanes*W-1:0] m_data_i,
    output logic [Lanes*W-1:0] m_data_o,
    input  logic               t_we_i,
    input  logic               t_set_i,
    input  logic               t_inverse_i,
    input  logic [IndexW-1:0]  t_index_i,
    input  logic               c_we_i,
    input  logic [NarrowW-1:0] t_data_i
);
  localparam int unsigned Rows = 2 ** RowW;
  localparam int unsigned PlaceS = Buffers;
  localparam int unsigned PlaceK = Buffers + Slots;

  instr_t               cmd;
  logic [1:0]           x_re;
  logic [1:0][1:0]      x_rbuf;
  logic [1:0][RowW-1:0] x_rrow;
  logic [W-1:0]         x_rdata [2][Lanes], s_rdata [Lanes], k_rdata [Lanes], x_wdata [Lanes];
  logic                 x_we, s_re, k_re, k_slot;
  logic [1:0]           x_wbuf, s_slot;
  logic [RowW-1:0]      x_wrow, k_row;
  logic [RowW-2:0]      s_row;
  logic [Lanes-1:0]     x_wmask;
  logic [W-1:0]         t_wdata [NarrowWords];

  logic [Lanes*W-1:0] mem [(Buffers+Slots+Keys)*Rows];
  // Of ports 0 and 1 of X, S, K: what was asked for a cycle ago and what two cycles ago.
  logic [Lanes*W-1:0] soon_q [4], row_q [4];
  logic [3:0]         asked_q, here_q;
  logic [W-1:0]       rubbish_q;

  function automatic int unsigned at(int unsigned place, logic [RowW-1:0] row);
    return place * Rows + 32'(row);
  endfunction

  always_comb begin
    cmd = '0;
    cmd.op = op_i;
    cmd.dst = dst_i;
    cmd.src = src_i;
    cmd.src2 = src2_i;
    cmd.set = set_i;
    cmd.init = init_i;
    cmd.half = half_i;
    cmd.key = key_i;
    cmd.inverse = inverse_i;
    m_data_o = mem[at(32'(m_place_i), m_row_i)];
    for (int unsigned i = 0; i < NarrowWords; i++) t_wdata[i] = t_data_i[W*i+:W];
    for (int unsigned l = 0; l < Lanes; l++) begin
      x_rdata[0][l] = here_q[0] ? row_q[0][W*l+:W] : rubbish_q ^ W'(l);
      x_rdata[1][l] = here_q[1] ? row_q[1][W*l+:W] : rubbish_q + W'(l);
      s_rdata[l] = here_q[2] ? row_q[2][W*l+:W] : ~rubbish_q ^ W'(l);
      k_rdata[l] = here_q[3] ? row_q[3][W*l+:W] : ~rubbish_q + W'(l);
    end
  end

  aes_fast #(
      .Lanes(Lanes), .MaxLogN(MaxLogN), .MinLogN(MinLogN), .Twin(Twin)
  ) u_engine (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i(cmd), .done_o, .busy_o,
      .x_re_o(x_re), .x_rbuf_o(x_rbuf), .x_rrow_o(x_rrow), .x_rdata_i(x_rdata),
      .x_we_o(x_we), .x_wbuf_o(x_wbuf), .x_wrow_o(x_wrow), .x_wmask_o(x_wmask), .x_wdata_o(x_wdata),
      .s_re_o(s_re), .s_slot_o(s_slot), .s_row_o(s_row), .s_rdata_i(s_rdata),
      .k_re_o(k_re), .k_slot_o(k_slot), .k_row_o(k_row), .k_rdata_i(k_rdata),
      .t_we_i, .t_set_i, .t_inverse_i, .t_index_i, .c_we_i, .t_wdata_i(t_wdata)
  );

  // Two readers of a buffer, a row read and written at once, and rows that N does not have.
  logic               fault;
  logic [RowW:0]      rows;
  always_comb begin
    rows = (RowW+1)'(32'd1 << (log_n_i - 5'($clog2(Lanes))));
    fault = x_re == 2'b11 && x_rbuf[0] == x_rbuf[1];
    for (int unsigned p = 0; p < 2; p++) begin
      if (x_re[p] && x_we && x_rbuf[p] == x_wbuf && x_rrow[p] == x_wrow) fault = 1'b1;
      if (x_re[p] && {1'b0, x_rrow[p]} >= rows) fault = 1'b1;
    end
    if (x_we && {1'b0, x_wrow} >= rows) fault = 1'b1;
    if (s_re && {1'b0, s_row} >= (RowW)'(rows >> 1)) fault = 1'b1;
    if (k_re && {1'b0, k_row} >= rows) fault = 1'b1;
    if ((x_we || |x_re || s_re || k_re) && !busy_o) fault = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    rubbish_q <= rubbish_q * 32'd1664525 + 32'd1013904223;
    cycle_o <= cycle_o + 1;
    here_q <= asked_q;
    asked_q <= {k_re, s_re, x_re};
    row_q <= soon_q;
    soon_q[0] <= mem[at(32'(x_rbuf[0]), x_rrow[0])];
    soon_q[1] <= mem[at(32'(x_rbuf[1]), x_rrow[1])];
    soon_q[2] <= mem[at(PlaceS + 32'(s_slot), {1'b0, s_row})];
    soon_q[3] <= mem[at(PlaceK + 32'(k_slot), k_row)];
    if (x_we) begin
      words_o <= words_o + $countones(x_wmask);
      for (int unsigned l = 0; l < Lanes; l++) if (x_wmask[l]) mem[at(32'(x_wbuf), x_wrow)][W*l+:W] <= x_wdata[l];
    end
    if (m_we_i) mem[at(32'(m_place_i), m_row_i)] <= m_data_i;
    if (fault) faults_o <= faults_o + 1;
    if (!rst_ni) begin
      words_o <= '0;
      faults_o <= '0;
    end
  end
endmodule
