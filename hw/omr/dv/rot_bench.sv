// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// omr_rot as a bench drives it: an instruction in its 512 bits, for one unit at a time.
module rot_bench
  import omr_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 4,
    parameter int unsigned Butterflies = 4,
    parameter int unsigned Ways = 1,
    parameter int unsigned Sources = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 8,
    parameter int unsigned MinLogN = 6,
    parameter int unsigned MaxLogN = 7,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned Core = Units - 1,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowsW = MaxLogN + 1,
    localparam int unsigned RowW = 64 * Lanes,
    localparam int unsigned Streams = Ways * (ReadClients + 1)
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic [LogW-1:0]            log_n_i,
    input  logic [Core-1:0]            cmd_valid_i,
    output logic [Core-1:0]            cmd_ready_o,
    input  logic [InstructionW-1:0]    instruction_i,
    output logic [Core-1:0]            done_o,
    output logic [Core-1:0]            busy_o,
    output logic [Streams-1:0]         rd_valid_o,
    input  logic [Streams-1:0]         rd_ready_i,
    output logic [Streams*AddrW-1:0]   rd_addr_o,
    output logic [Streams*RowsW-1:0]   rd_rows_o,
    input  logic [Streams-1:0]         row_valid_i,
    output logic [Streams-1:0]         row_ready_o,
    input  logic [Streams*RowW-1:0]    row_i,
    output logic [Ways-1:0]            wr_valid_o,
    input  logic [Ways-1:0]            wr_ready_i,
    output logic [Ways*AddrW-1:0]      wr_addr_o,
    output logic [Ways*RowsW-1:0]      wr_rows_o,
    output logic [Ways-1:0]            wr_row_valid_o,
    input  logic [Ways-1:0]            wr_row_ready_i,
    output logic [Ways*RowW-1:0]       wr_row_o,
    input  logic [Ways-1:0]            wr_acked_i,
    input  logic [ModulusIndexW-1:0]   sum_index_i,
    output logic [W-1:0]               sum_q_o,
    output logic [63:0]                sum_k_o,
    output logic [2:0]                 sum_shift_o
);
  instr_t cmd [Core];
  assign cmd = '{default: instruction_of(instruction_i)};

  omr_rot #(
      .W(W), .Lanes(Lanes), .Butterflies(Butterflies), .Ways(Ways), .Sources(Sources), .Buffers(Buffers), .Banks(Banks),
      .MinLogN(MinLogN), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)
  ) u_rot (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i(cmd), .done_o, .busy_o, .rd_valid_o, .rd_ready_i,
      .rd_addr_o, .rd_rows_o, .row_valid_i, .row_ready_o, .row_i, .wr_valid_o, .wr_ready_i, .wr_addr_o, .wr_rows_o,
      .wr_row_valid_o, .wr_row_ready_i, .wr_row_o, .wr_acked_i, .sum_index_i, .sum_q_o, .sum_k_o, .sum_shift_o
  );

  logic unused;
  assign unused = ^instruction_i;
endmodule
