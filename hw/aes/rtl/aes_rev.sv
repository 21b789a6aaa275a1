// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Bit reversal of polynomials: ports only.

module aes_rev
  import aes_pkg::*;
#(
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned W = WordW,
    localparam int unsigned RowW = MaxLogN - $clog2(NarrowWords)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [4:0]           log_n_i,
    input  logic                 cmd_valid_i,
    output logic                 cmd_ready_o,
    input  instr_t               cmd_i,
    output logic                 done_o,
    output logic                 busy_o,

    output logic                 s_re_o,
    output logic [1:0]           s_slot_o,
    output logic [RowW-2:0]      s_row_o,
    input  logic [W-1:0]         s_rdata_i [NarrowWords],
    output logic                 x_re_o,
    output logic [1:0]           x_rbuf_o,
    output logic [RowW-1:0]      x_rrow_o,
    input  logic [W-1:0]         x_rdata_i [NarrowWords],
    output logic                 x_we_o,
    output logic [1:0]           x_wbuf_o,
    output logic [RowW-1:0]      x_wrow_o,
    output logic [W-1:0]         x_wdata_o [NarrowWords]
);
endmodule
