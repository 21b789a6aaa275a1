// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// omr_sum as a bench drives it: the command's fields one by one, vectors of streams as one number each.
module sum_bench
  import omr_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 4,
    parameter int unsigned Rows = 1,
    parameter int unsigned Cols = 1,
    parameter int unsigned Groups = 2,
    parameter int unsigned MinLogN = 5,
    parameter int unsigned MaxLogN = 7,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowsW = MaxLogN + 1,
    localparam int unsigned RowW = 64 * Lanes,
    localparam int unsigned Streams = Groups * (Rows + Cols)
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic [LogW-1:0]           log_n_i,
    input  logic                      cmd_valid_i,
    output logic                      cmd_ready_o,
    input  logic [7:0]                src_i,
    input  logic [7:0]                mod_i,
    input  logic [15:0]               count_i,
    input  logic [AddrW-1:0]          ct_i,
    input  logic [AddrW-1:0]          diag_i,
    input  logic [AddrW-1:0]          out_i,
    input  logic [63:0]               ct_col_i,
    input  logic [63:0]               ct_term_i,
    input  logic [63:0]               diag_row_i,
    input  logic [63:0]               diag_term_i,
    input  logic [63:0]               out_row_i,
    input  logic [63:0]               out_col_i,
    output logic                      done_o,
    output logic                      busy_o,
    output logic [ModulusIndexW-1:0]  modulus_index_o,
    input  logic [W-1:0]              modulus_q_i,
    input  logic [63:0]               modulus_k_i,
    input  logic [2:0]                modulus_shift_i,
    output logic [Streams-1:0]        rd_valid_o,
    input  logic [Streams-1:0]        rd_ready_i,
    output logic [Streams*AddrW-1:0]  rd_addr_o,
    output logic [Streams*RowsW-1:0]  rd_rows_o,
    input  logic [Streams-1:0]        row_valid_i,
    output logic [Streams-1:0]        row_ready_o,
    input  logic [Streams*RowW-1:0]   row_i,
    output logic [Rows-1:0]           wr_valid_o,
    input  logic [Rows-1:0]           wr_ready_i,
    output logic [Rows*AddrW-1:0]     wr_addr_o,
    output logic [Rows*RowsW-1:0]     wr_rows_o,
    output logic [Rows-1:0]           wr_row_valid_o,
    input  logic [Rows-1:0]           wr_row_ready_i,
    output logic [Rows*RowW-1:0]      wr_row_o,
    input  logic [Rows-1:0]           wr_acked_i
);
  instr_t cmd;

  always_comb begin
    cmd = '1;
    cmd.op = OpSum;
    cmd.src = src_i;
    cmd.mod = mod_i;
    cmd.count = count_i;
    cmd.addr0 = ct_i;
    cmd.addr1 = diag_i;
    cmd.stride0 = out_i;
  end

  omr_sum #(
      .W(W), .Lanes(Lanes), .Rows(Rows), .Cols(Cols), .Groups(Groups), .MinLogN(MinLogN), .MaxLogN(MaxLogN),
      .Kind(Kind), .Twin(Twin)
  ) u_sum (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i(cmd), .done_o, .busy_o, .ct_col_i, .ct_term_i,
      .diag_row_i, .diag_term_i, .out_row_i, .out_col_i, .modulus_index_o, .modulus_q_i, .modulus_k_i,
      .modulus_shift_i, .rd_valid_o, .rd_ready_i, .rd_addr_o, .rd_rows_o, .row_valid_i, .row_ready_o, .row_i,
      .wr_valid_o, .wr_ready_i, .wr_addr_o, .wr_rows_o, .wr_row_valid_o, .wr_row_ready_i, .wr_row_o, .wr_acked_i
  );
endmodule
