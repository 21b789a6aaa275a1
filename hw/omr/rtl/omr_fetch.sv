// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reads a program: one stream of rows, cut into instructions or put together to them.
//
// Latency     memory's
// Throughput  one instruction a cycle, or one for the rows that it fills
// Ranges      program_i is a multiple of a row; instructions_i any number: what the last row has besides is ignored. Rows
//             and instructions are powers of two.

module omr_fetch
  import omr_pkg::*;
#(
    parameter int unsigned RowW = 1024,
    localparam int unsigned RowsW = 34
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    start_i,
    input  logic [AddrW-1:0]        program_i,
    input  logic [31:0]             instructions_i,

    output logic                    req_valid_o,
    input  logic                    req_ready_i,
    output logic [AddrW-1:0]        req_addr_o,
    output logic [RowsW-1:0]        req_rows_o,
    input  logic                    row_valid_i,
    output logic                    row_ready_o,
    input  logic [RowW-1:0]         row_i,

    output logic                    valid_o,
    input  logic                    ready_i,
    output logic [InstructionW-1:0] instruction_o,
    output logic                    end_o         // all were taken
);
  logic [31:0] left_q;   // instructions to be taken
  logic        ask_q, take;

  assign req_valid_o = ask_q;
  assign req_addr_o = program_i;
  assign end_o = left_q == '0;
  assign take = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
      ask_q <= 1'b0;
    end else if (start_i) begin
      left_q <= instructions_i;
      ask_q <= instructions_i != '0;
    end else begin
      if (take) left_q <= left_q - 1'b1;
      if (req_ready_i) ask_q <= 1'b0;
    end
  end

  if (RowW >= InstructionW) begin : g_cut
    localparam int unsigned Ratio = RowW / InstructionW;
    localparam int unsigned SubW = Ratio > 1 ? $clog2(Ratio) : 1;
    logic [SubW-1:0] sub_q;

    assign req_rows_o = (RowsW'(instructions_i) + RowsW'(Ratio - 1)) >> $clog2(Ratio);
    assign valid_o = row_valid_i && !end_o;
    assign instruction_o = row_i[32'(sub_q)*InstructionW+:InstructionW];
    assign row_ready_o = take && (sub_q == SubW'(Ratio - 1) || left_q == 32'd1);

    always_ff @(posedge clk_i) begin
      if (!rst_ni || row_ready_o) sub_q <= '0;
      else if (take) sub_q <= sub_q + 1'b1;
    end
  end else begin : g_join
    localparam int unsigned Ratio = InstructionW / RowW;
    localparam int unsigned SubW = $clog2(Ratio);
    logic [SubW-1:0]      sub_q;
    logic [Ratio*RowW-1:0] parts_q;

    assign req_rows_o = RowsW'(instructions_i) << SubW;
    assign valid_o = row_valid_i && !end_o && sub_q == SubW'(Ratio - 1);
    assign instruction_o = {row_i, parts_q[InstructionW-1:RowW]};
    assign row_ready_o = !end_o && (sub_q != SubW'(Ratio - 1) || ready_i);

    always_ff @(posedge clk_i) begin
      if (!rst_ni) sub_q <= '0;
      else if (row_valid_i && row_ready_o) sub_q <= sub_q + 1'b1;
      if (row_valid_i && row_ready_o) parts_q <= {row_i, parts_q[InstructionW-1:RowW]};
    end

    logic unused;
    assign unused = ^{1'b0, parts_q[RowW-1:0]};
  end
endmodule
