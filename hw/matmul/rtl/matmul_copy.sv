// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Copies of an element: polynomials from far to near memory, in the background.
//
// Function    Takes pairs of addresses (valid_i/ready_o), up to CopyQueue at a time, and brings the lines of one
//             polynomial for each, in order: it asks a reader of far lines, puts Ratio far lines together to a near
//             one, gathers what makes a burst, and asks a writer for it. idle_o: all of them are written and
//             acknowledged.
// Throughput  one far line per cycle
// Ranges      addresses are multiples of the line. rows_i is held unless idle_o. What is asked of the writer is at
//             hand.
module matmul_copy
  import vector_pkg::*;
  import matmul_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned NearPorts = 2,
    parameter int unsigned FarPorts = 1,
    parameter int unsigned BurstLines = 16,
    localparam int unsigned LineW = NearPorts * PortW,
    localparam int unsigned FarW = FarPorts * PortW
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [LinesW-1:0]    rows_i,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [AddrW-1:0]     near_i,
    input  logic [AddrW-1:0]     far_i,
    output logic                 idle_o,
    // Far memory
    output logic                 far_valid_o,
    input  logic                 far_ready_i,
    output logic [AddrW-1:0]     far_addr_o,
    output logic [FarLinesW-1:0] far_lines_o,
    input  logic                 line_valid_i,
    output logic                 line_ready_o,
    input  logic [FarW-1:0]      line_i,
    // Near memory
    output logic                 near_valid_o,
    input  logic                 near_ready_i,
    output logic [AddrW-1:0]     near_addr_o,
    output logic [LinesW-1:0]    near_lines_o,
    output logic                 line_valid_o,
    input  logic                 line_ready_i,
    output logic [LineW-1:0]     line_o,
    input  logic                 ack_i
);
  localparam int unsigned Ratio = NearPorts / FarPorts;
  localparam int unsigned RatioLog = $clog2(Ratio);
  localparam int unsigned RatioW = Ratio > 1 ? RatioLog : 1;
  localparam int unsigned LineLog = $clog2(LineW / 8);
  localparam int unsigned BlockLog = $clog2(BurstLines);
  localparam int unsigned CountW = $clog2(BurstLines + 1);
  localparam int unsigned AckW = 8;

  if (FarPorts < 1 || NearPorts % FarPorts != 0 || Ratio > 32 || (Ratio & (Ratio - 1)) != 0) begin : g_bad_ports
    $error("matmul_copy: NearPorts must be FarPorts times a power of two, 32 at most");
  end

  logic [LinesW-1:0] lines;
  assign lines = lines_of(W, rows_i);

  // ---- Queues of what is to be read, and of what is to be written ----------------------------------
  logic far_room, near_room, near_head, near_last;
  logic [AddrW-1:0] near_addr;

  assign ready_o = far_room && near_room;
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(AddrW), .Depth(CopyQueue)) u_far (
      .clk_i, .rst_ni, .valid_i(valid_i && ready_o), .ready_o(far_room), .data_i(far_i), .valid_o(far_valid_o),
      .ready_i(far_ready_i), .data_o(far_addr_o), .count_o()
  );
  rf_fifo #(.Width(AddrW), .Depth(CopyQueue)) u_near (
      .clk_i, .rst_ni, .valid_i(valid_i && ready_o), .ready_o(near_room), .data_i(near_i), .valid_o(near_head),
      .ready_i(near_last), .data_o(near_addr), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign far_lines_o = FarLinesW'(lines) << RatioLog;

  // ---- Near lines from far ones --------------------------------------------------------------------
  logic [LineW-1:0] gathered, gathered_q;
  logic [RatioW-1:0] part_q;
  logic whole, line_room;
  logic [CountW-1:0] stored;

  assign whole = part_q == RatioW'(Ratio - 1);
  assign line_ready_o = !whole || line_room;
  always_comb begin
    gathered = gathered_q;
    for (int unsigned i = 0; i < Ratio; i++) if (32'(part_q) == i) gathered[FarW*i+:FarW] = line_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) part_q <= '0;
    else if (line_valid_i && line_ready_o) part_q <= whole ? '0 : part_q + 1'b1;
  end
  always_ff @(posedge clk_i) if (line_valid_i && line_ready_o) gathered_q <= gathered;

  rf_fifo #(.Width(LineW), .Depth(BurstLines)) u_lines (
      .clk_i, .rst_ni, .valid_i(line_valid_i && whole), .ready_o(line_room), .data_i(gathered),
      .valid_o(line_valid_o), .ready_i(line_ready_i), .data_o(line_o), .count_o(stored)
  );

  // ---- Bursts to near memory: a burst is asked for when no other is moving and all of it is at hand --
  logic moving_q;
  logic [LinesW-1:0] done_q, left, room, move_q;  // lines asked for of this polynomial; lines of the burst to come
  logic [AckW-1:0] unacknowledged_q;

  assign left = lines - done_q;
  assign near_addr_o = near_addr + (AddrW'(done_q) << LineLog);
  assign room = LinesW'(BurstLines) - LinesW'(near_addr_o[LineLog+:BlockLog]);
  assign near_lines_o = left < room ? left : room;
  assign near_valid_o = near_head && !moving_q && 32'(stored) >= 32'(near_lines_o) && unacknowledged_q != '1;
  assign near_last = near_valid_o && near_ready_i && left == near_lines_o;
  assign idle_o = !near_head && unacknowledged_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      moving_q <= 1'b0;
      done_q <= '0;
      unacknowledged_q <= '0;
    end else begin
      unacknowledged_q <= unacknowledged_q + AckW'(near_valid_o && near_ready_i) - AckW'(ack_i);
      if (near_valid_o && near_ready_i) begin
        moving_q <= 1'b1;
        done_q <= near_last ? '0 : done_q + near_lines_o;
      end else if (line_valid_o && line_ready_i && move_q == LinesW'(1)) begin
        moving_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (near_valid_o && near_ready_i) move_q <= near_lines_o;
    else if (line_valid_o && line_ready_i) move_q <= move_q - 1'b1;
  end
endmodule
