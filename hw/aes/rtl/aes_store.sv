// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// STORE unit: a polynomial from chip to memory.
//
// Function    N words of X[src] go to addr over port `port`.
// Latency     5 cycles from a command to its first row, and memory's; done_o when all rows were acknowledged
// Throughput  a row a cycle
// Ranges      cmd_i is taken in the cycle with cmd_valid_i and cmd_ready_o
// Stream      as aes_write: one request of N / 8 rows

module aes_store
  import aes_pkg::*;
#(
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned RowW = MaxLogN - $clog2(NarrowWords),
    localparam int unsigned CountW = RowW + 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [4:0]         log_n_i,
    input  logic               cmd_valid_i,
    output logic               cmd_ready_o,
    input  instr_t             cmd_i,
    output logic               done_o,
    output logic               busy_o,

    output logic               x_re_o,
    output logic [1:0]         x_buf_o,
    output logic [RowW-1:0]    x_row_o,
    input  logic [WordW-1:0]   x_rdata_i [NarrowWords],

    output logic               wr_valid_o,
    input  logic               wr_ready_i,
    output logic               wr_port_o,
    output logic [AddrW-1:0]   wr_addr_o,
    output logic [CountW-1:0]  wr_rows_o,
    output logic               wr_row_valid_o,
    input  logic               wr_row_ready_i,
    output logic [NarrowW-1:0] wr_row_o,
    input  logic               wr_acked_i
);
  // Rows that were read and have not gone: those on their way from the buffer, and some to bridge a memory's pause.
  localparam int unsigned Depth = 8;
  localparam int unsigned RoomW = $clog2(Depth + 1);

  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t             cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic               take, busy_q, ask_q, landed_q, there_q, pop, room;
  logic [CountW-1:0]  rows, left_q;    // rows to be read
  logic [RowW-1:0]    at_q;
  logic [RoomW-1:0]   room_q;
  logic [NarrowW-1:0] row;

  assign take = cmd_valid_i && cmd_ready_o;
  assign cmd_ready_o = !busy_q;
  assign busy_o = busy_q;
  assign done_o = busy_q && wr_acked_i;
  assign rows = CountW'(32'd1 << (log_n_i - 5'd3));

  assign wr_valid_o = ask_q;
  assign wr_port_o = cmd_q.port;
  assign wr_addr_o = cmd_q.addr;
  assign wr_rows_o = rows;

  assign x_re_o = left_q != '0 && room_q != '0;
  assign x_buf_o = cmd_q.src[1:0];
  assign x_row_o = at_q;
  assign pop = wr_row_valid_o && wr_row_ready_i;

  always_ff @(posedge clk_i) begin
    if (take) cmd_q <= cmd_i;
    if (!rst_ni) begin
      busy_q <= 1'b0;
      ask_q <= 1'b0;
      left_q <= '0;
      room_q <= RoomW'(Depth);
      landed_q <= 1'b0;
      there_q <= 1'b0;
    end else begin
      if (take) busy_q <= 1'b1;
      else if (done_o) busy_q <= 1'b0;
      if (take) ask_q <= 1'b1;
      else if (wr_ready_i) ask_q <= 1'b0;
      if (take) left_q <= rows;
      else if (x_re_o) left_q <= left_q - 1'b1;
      room_q <= room_q - RoomW'(x_re_o) + RoomW'(pop);
      landed_q <= x_re_o;
      there_q <= landed_q;
    end
    if (take) at_q <= '0;
    else if (x_re_o) at_q <= at_q + 1'b1;
  end

  always_comb for (int unsigned l = 0; l < NarrowWords; l++) row[l*WordW+:WordW] = x_rdata_i[l];

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width(NarrowW),
      .Depth(Depth)
  ) u_rows (
      .clk_i,
      .rst_ni,
      .valid_i(there_q),
      .ready_o(room),
      .data_i(row),
      .valid_o(wr_row_valid_o),
      .ready_i(wr_row_ready_i),
      .data_o(wr_row_o),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  logic unused;
  assign unused = room;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) assert (!there_q || room) else $error("more rows than there is room for");
`endif
endmodule
