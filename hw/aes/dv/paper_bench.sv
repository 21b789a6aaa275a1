// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// aes_paper and aes_rev with storage around them. What has not been asked for is rubbish, and so is a row that is read
// in the cycle that writes it. The test reaches storage by narrow rows (place 0 X, 1 S, 2 K) while nothing runs.

module paper_bench
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 16,
    parameter int unsigned Starts = 4,
    parameter int unsigned MaxLogN = 9,
    parameter int unsigned MinLogN = 6
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [4:0]         log_n_i,
    input  logic               cmd_valid_i,
    input  logic [3:0]         op_i,
    input  logic [3:0]         dst_i,
    input  logic [3:0]         src_i,
    input  logic [3:0]         src2_i,
    input  logic               set_i,
    input  logic               init_i,
    input  logic               key_i,
    input  logic               inverse_i,
    output logic               ready_o,
    output logic               busy_o,
    output logic               done_o,
    output logic [1:0]         reads_o,  // the engine's x_re_o
    input  logic               t_we_i,
    input  logic               c_we_i,
    input  logic               t_set_i,
    input  logic               t_inverse_i,
    input  logic [MaxLogN-5:0] t_index_i,
    input  logic               we_i,
    input  logic [1:0]         place_i,
    input  logic [1:0]         slot_i,
    input  logic [MaxLogN-4:0] row_i,
    input  logic [31:0]        data_i [8],
    output logic [31:0]        data_o [8]
);
  localparam int unsigned LogLanes = $clog2(Lanes);
  localparam int unsigned RowW = MaxLogN - LogLanes;
  localparam int unsigned Rows = 2 ** RowW;
  localparam int unsigned NarrowRows = 2 ** (MaxLogN - 3);
  localparam int unsigned Narrow = Lanes / 8;  // narrow rows of a row

  logic [31:0] x_mem [4][Rows][Lanes];
  logic [31:0] s_mem [4][NarrowRows/2][8];
  logic [31:0] k_mem [2][Rows][Lanes];

  instr_t cmd;
  assign cmd = '{
    op: op_i, dst: dst_i, src: src_i, src2: src2_i, set: set_i, init: init_i, key: key_i, inverse: inverse_i,
    default: '0
  };

  // ---- Units -----------------------------------------------------------------------------------------
  logic                 moves, paper_ready, rev_ready, paper_busy, rev_busy, paper_done, rev_done;
  logic [1:0]           x_re;
  logic [1:0][1:0]      x_rbuf;
  logic [1:0][RowW-1:0] x_rrow;
  logic [31:0]          x_rdata [2][Lanes], x_wdata [Lanes], no_data [Lanes], k_rdata [Lanes];
  logic                 x_we, s_re, k_re, k_slot, unused_re;
  logic [1:0]           x_wbuf, s_slot, unused_slot;
  logic [RowW-1:0]      x_wrow, k_row;
  logic [RowW-2:0]      unused_row;
  logic [Lanes-1:0]     x_wmask;
  logic                 n_re, n_we;
  logic [1:0]           n_rbuf, n_wbuf;
  logic [MaxLogN-4:0]   n_rrow, n_wrow;
  logic [MaxLogN-5:0]   s_row;
  logic [31:0]          s_rdata [8], n_rdata [8], n_wdata [8];

  assign moves = op_i == OpRevS || op_i == OpRevX;
  // One unit at a time.
  assign ready_o = moves ? rev_ready && (!paper_busy || paper_done) : paper_ready && (!rev_busy || rev_done);
  assign reads_o = x_re;
  assign busy_o = paper_busy || rev_busy;
  assign done_o = paper_done || rev_done;

  always_comb for (int unsigned l = 0; l < Lanes; l++) no_data[l] = 32'hbad0bad0 + l;

  aes_paper #(.Lanes(Lanes), .Starts(Starts), .MaxLogN(MaxLogN), .MinLogN(MinLogN)) u_paper (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i && ready_o && !moves), .cmd_ready_o(paper_ready), .cmd_i(cmd),
      .done_o(paper_done), .busy_o(paper_busy),
      .x_re_o(x_re), .x_rbuf_o(x_rbuf), .x_rrow_o(x_rrow), .x_rdata_i(x_rdata),
      .x_we_o(x_we), .x_wbuf_o(x_wbuf), .x_wrow_o(x_wrow), .x_wmask_o(x_wmask), .x_wdata_o(x_wdata),
      .s_re_o(unused_re), .s_slot_o(unused_slot), .s_row_o(unused_row), .s_rdata_i(no_data),
      .k_re_o(k_re), .k_slot_o(k_slot), .k_row_o(k_row), .k_rdata_i(k_rdata),
      .t_we_i, .t_set_i, .t_inverse_i, .t_index_i, .c_we_i, .t_wdata_i(data_i)
  );
  aes_rev #(.MaxLogN(MaxLogN)) u_rev (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i && ready_o && moves), .cmd_ready_o(rev_ready), .cmd_i(cmd),
      .done_o(rev_done), .busy_o(rev_busy),
      .s_re_o(s_re), .s_slot_o(s_slot), .s_row_o(s_row), .s_rdata_i(s_rdata),
      .x_re_o(n_re), .x_rbuf_o(n_rbuf), .x_rrow_o(n_rrow), .x_rdata_i(n_rdata),
      .x_we_o(n_we), .x_wbuf_o(n_wbuf), .x_wrow_o(n_wrow), .x_wdata_o(n_wdata)
  );

  // ---- Reading: 2 cycles --------------------------------------------------------------------------------
  logic [1:0]  x_re_q;
  logic        k_re_q, s_re_q, n_re_q;
  logic [31:0] x_q [2][Lanes], k_q [Lanes], s_q [8], n_q [8];

  for (genvar p = 0; p < 2; p++) begin : g_port
    always_ff @(posedge clk_i) begin
      x_re_q[p] <= x_re[p];
      if (x_re[p]) begin
        x_q[p] <= x_mem[x_rbuf[p]][x_rrow[p]];
        if (x_we && x_wbuf == x_rbuf[p] && x_wrow == x_rrow[p]) x_q[p] <= no_data;
      end
      x_rdata[p] <= x_re_q[p] ? x_q[p] : no_data;
    end
  end

  always_ff @(posedge clk_i) begin
    {k_re_q, s_re_q, n_re_q} <= {k_re, s_re, n_re};
    if (k_re) k_q <= k_mem[k_slot][k_row];
    if (s_re) s_q <= s_mem[s_slot][s_row];
    if (n_re) for (int unsigned w = 0; w < 8; w++)
      n_q[w] <= x_mem[n_rbuf][RowW'(32'(n_rrow)/Narrow)][(32'(n_rrow)%Narrow)*8+w];
    k_rdata <= k_re_q ? k_q : no_data;
    s_rdata <= s_re_q ? s_q : no_data[0:7];
    n_rdata <= n_re_q ? n_q : no_data[0:7];
  end

  // ---- Writing ---------------------------------------------------------------------------------------
  logic [RowW-1:0]     wide;
  logic [LogLanes-1:0] lane, n_lane;
  assign wide = RowW'(32'(row_i) / Narrow);
  assign lane = LogLanes'((32'(row_i) % Narrow) * 8);
  assign n_lane = LogLanes'((32'(n_wrow) % Narrow) * 8);

  always_ff @(posedge clk_i) begin
    if (x_we) for (int unsigned l = 0; l < Lanes; l++) if (x_wmask[l]) x_mem[x_wbuf][x_wrow][l] <= x_wdata[l];
    if (n_we)
      for (int unsigned w = 0; w < 8; w++) x_mem[n_wbuf][RowW'(32'(n_wrow)/Narrow)][32'(n_lane)+w] <= n_wdata[w];
    if (we_i && place_i == 2'd0) for (int unsigned w = 0; w < 8; w++) x_mem[slot_i][wide][32'(lane)+w] <= data_i[w];
    if (we_i && place_i == 2'd1) s_mem[slot_i][(MaxLogN-4)'(row_i)] <= data_i;
    if (we_i && place_i == 2'd2) for (int unsigned w = 0; w < 8; w++) k_mem[slot_i[0]][wide][32'(lane)+w] <= data_i[w];
  end

  always_comb begin
    for (int unsigned w = 0; w < 8; w++) begin
      case (place_i)
        2'd0: data_o[w] = x_mem[slot_i][wide][32'(lane)+w];
        2'd1: data_o[w] = s_mem[slot_i][(MaxLogN-4)'(row_i)][w];
        default: data_o[w] = k_mem[slot_i[0]][wide][32'(lane)+w];
      endcase
    end
  end
endmodule
