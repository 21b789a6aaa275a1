// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LOAD's channel of one port: instructions to requests of rows, and rows to writes of X, S, K or tables.
//
// Function    A command's rows are asked for at once, also while those of the command before are on their way, so that
//             the port goes on working. Rows come in the order of commands and are offered as writes; one that is taken
//             has been written 2 cycles later.
// Latency     1 from a command to its request; 0 from a row to its write
// Throughput  a row a cycle; of digits (LOADS with half) a row of memory in two, as it fills two of S
// Ranges      cmd_i is taken in the cycle with cmd_valid_i and cmd_ready_o, Ahead of them before the first is done.
//             done_o: the last write of the oldest one is taken in this cycle.

module aes_fill
  import aes_pkg::*;
#(
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned Ahead = 2,
    localparam int unsigned RowW = MaxLogN - $clog2(NarrowWords),
    localparam int unsigned CountW = RowW + 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [4:0]         log_n_i,
    input  logic               cmd_valid_i,
    output logic               cmd_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
    input  instr_t             cmd_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic               done_o,

    output logic               rd_valid_o,
    input  logic               rd_ready_i,
    output logic [AddrW-1:0]   rd_addr_o,
    output logic [CountW-1:0]  rd_rows_o,
    input  logic               row_valid_i,
    output logic               row_ready_o,
    input  logic [NarrowW-1:0] row_i,

    output logic               write_valid_o,
    input  logic               write_ready_i,
    output instr_t             write_of_o,      // the command that it belongs to
    output logic [RowW-1:0]    write_row_o,
    output logic [WordW-1:0]   write_data_o [NarrowWords]
);
  localparam int unsigned HalfW = WordW / 2;   // of a digit

  // ---- Requests ------------------------------------------------------------------------------------
  logic              ask_q, room, take;
  logic [AddrW-1:0]  addr_q;
  logic [CountW-1:0] rows, rows_q;

  always_comb begin
    rows = CountW'(32'd1 << (log_n_i - 5'd3));
    case (cmd_i.op)
      OpLoadS: rows = rows >> 1;
      OpLoadT: rows = cmd_i.rows[CountW-1:0];
      OpLoadC: rows = CountW'(1);
      default: ;
    endcase
  end

  assign cmd_ready_o = room && (!ask_q || rd_ready_i);
  assign take = cmd_valid_i && cmd_ready_o;
  assign rd_valid_o = ask_q;
  assign rd_addr_o = addr_q;
  assign rd_rows_o = rows_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) ask_q <= 1'b0;
    else if (cmd_ready_o || rd_ready_i) ask_q <= take;
    if (take) begin
      addr_q <= cmd_i.addr;
      rows_q <= cmd_i.op == OpLoadS && cmd_i.half ? rows >> 1 : rows;
    end
  end

  // ---- Writes --------------------------------------------------------------------------------------
  logic              valid, digits, upper, written, last;
  logic [CountW-1:0] at_q, all;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width($bits(instr_t) + CountW),
      .Depth(Ahead)
  ) u_commands (
      .clk_i,
      .rst_ni,
      .valid_i(take),
      .ready_o(room),
      .data_i({cmd_i, rows}),
      .valid_o(valid),
      .ready_i(done_o),
      .data_o({write_of_o, all}),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign digits = write_of_o.op == OpLoadS && write_of_o.half;
  assign upper = at_q[0];               // of a row of digits
  assign write_valid_o = valid && row_valid_i;
  assign written = write_valid_o && write_ready_i;
  assign row_ready_o = written && (!digits || upper);
  assign last = at_q == all - 1'b1;
  assign done_o = written && last;
  assign write_row_o = at_q[RowW-1:0];

  always_comb
    for (int unsigned l = 0; l < NarrowWords; l++)
      write_data_o[l] = digits ? WordW'(row_i[32'({upper, 3'(l)})*HalfW+:HalfW]) : row_i[l*WordW+:WordW];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) at_q <= '0;
    else if (written) at_q <= last ? '0 : at_q + 1'b1;
  end
endmodule
