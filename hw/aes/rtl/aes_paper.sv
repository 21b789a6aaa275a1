// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The published engine of the aes machine: ports only.

module aes_paper
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 256,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned MinLogN = 12,
    parameter int unsigned Starts = 64,
    localparam int unsigned W = WordW,
    localparam int unsigned RowW = MaxLogN - $clog2(Lanes),
    localparam int unsigned IndexW = MaxLogN - 1 - $clog2(NarrowWords)
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic [4:0]                log_n_i,
    input  logic                      cmd_valid_i,
    output logic                      cmd_ready_o,
    input  instr_t                    cmd_i,
    output logic                      done_o,
    output logic                      busy_o,

    output logic [1:0]                x_re_o,
    output logic [1:0][1:0]           x_rbuf_o,
    output logic [1:0][RowW-1:0]      x_rrow_o,
    input  logic [W-1:0]              x_rdata_i [2][Lanes],
    output logic                      x_we_o,
    output logic [1:0]                x_wbuf_o,
    output logic [RowW-1:0]           x_wrow_o,
    output logic [Lanes-1:0]          x_wmask_o,
    output logic [W-1:0]              x_wdata_o [Lanes],
    output logic                      s_re_o,
    output logic [1:0]                s_slot_o,
    output logic [RowW-2:0]           s_row_o,
    input  logic [W-1:0]              s_rdata_i [Lanes],
    output logic                      k_re_o,
    output logic                      k_slot_o,
    output logic [RowW-1:0]           k_row_o,
    input  logic [W-1:0]              k_rdata_i [Lanes],

    input  logic                      t_we_i,
    input  logic                      t_set_i,
    input  logic                      t_inverse_i,
    input  logic [IndexW-1:0]         t_index_i,
    input  logic                      c_we_i,       // constants of t_set_i
    input  logic [W-1:0]              t_wdata_i [NarrowWords]
);
endmodule
