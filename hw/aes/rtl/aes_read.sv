// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A stream of narrow rows from memory: a client of rf_axi_read that asks ahead.
//
// Function    A request is for `req_rows_i` rows from an address on. They are asked for in bursts, as far as the FIFO has
//             room for them, and come out in the order of requests. A request is taken as soon as all rows of the last one
//             have been asked for, so that consecutive ones keep the port at work.
// Latency     request to the first burst 1 cycle; a row to row_valid_o 1 cycle, 3 where Depth >= 128
// Throughput  one row a cycle, if Depth covers memory's latency and a burst more
// Ranges      req_rows_i >= 1; MaxBeats <= Depth; MaxBeats rows are 4 KiB at most; address bits within a row are ignored.
// Halt        halt_i: asks for no more; what was granted finds room, whatever the client does.

module aes_read
  import aes_pkg::*;
#(
    parameter int unsigned CountW = 32,    // of req_rows_i
    parameter int unsigned Depth = 64,
    parameter int unsigned MaxBeats = 16,
    parameter int unsigned AskW = 5        // of ask_beats_o: the port's bursts may be longer
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               halt_i,

    input  logic               req_valid_i,
    output logic               req_ready_o,
    input  logic [AddrW-1:0]   req_addr_i,
    input  logic [CountW-1:0]  req_rows_i,
    output logic               row_valid_o,
    input  logic               row_ready_i,
    output logic [NarrowW-1:0] row_o,

    output logic               ask_valid_o,
    input  logic               ask_ready_i,
    output logic [AddrW-1:0]   ask_addr_o,
    output logic [AskW-1:0]    ask_beats_o,
    input  logic               rsp_valid_i,
    input  logic [NarrowW-1:0] rsp_data_i
);
  localparam int unsigned ByteW = $clog2(NarrowW / 8);
  localparam int unsigned PageW = 12 - ByteW;   // rows of 4 KiB
  localparam int unsigned RoomW = $clog2(Depth + 1);

  if (MaxBeats < 1 || MaxBeats > Depth || MaxBeats > 2 ** PageW || $clog2(MaxBeats + 1) > AskW) begin : g_check
    $error("aes_read: bursts of %0d rows do not fit", MaxBeats);
  end

  logic [CountW-1:0]      left_q;   // to be asked for
  logic [AddrW-ByteW-1:0] row_q;    // the next one's address
  logic [RoomW-1:0]       room_q;   // places of the FIFO that nothing is on its way to
  logic [PageW:0]         page;     // rows up to the next 4 KiB
  logic [AskW-1:0]        burst;
  logic                   take, granted, pop;

  always_comb begin
    page = (PageW + 1)'(2 ** PageW) - {1'b0, row_q[PageW-1:0]};
    burst = 32'(left_q) < MaxBeats ? AskW'(left_q) : AskW'(MaxBeats);
    if (page < (PageW + 1)'(burst)) burst = AskW'(page);
  end

  assign req_ready_o = left_q == '0;
  assign take = req_valid_i && req_ready_o;
  assign ask_valid_o = left_q != '0 && !halt_i && room_q >= RoomW'(burst);
  assign ask_addr_o = {row_q, ByteW'(0)};
  assign ask_beats_o = burst;
  assign granted = ask_valid_o && ask_ready_i;
  assign pop = row_valid_o && row_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
      room_q <= RoomW'(Depth);
    end else begin
      if (take) left_q <= req_rows_i;
      else if (granted) left_q <= left_q - CountW'(burst);
      room_q <= room_q + RoomW'(pop) - (granted ? RoomW'(burst) : '0);
    end
    if (take) row_q <= req_addr_i[AddrW-1:ByteW];
    else if (granted) row_q <= row_q + (AddrW - ByteW)'(burst);
  end

  logic room, unused;
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width(NarrowW),
      .Depth(Depth)
  ) u_rows (
      .clk_i,
      .rst_ni,
      .valid_i(rsp_valid_i),
      .ready_o(room),
      .data_i(rsp_data_i),
      .valid_o(row_valid_o),
      .ready_i(row_ready_i),
      .data_o(row_o),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign unused = ^{1'b0, room, req_addr_i[ByteW-1:0]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!take || req_rows_i != '0) else $error("a stream of no rows");
      assert (!rsp_valid_i || room) else $error("a row that there is no room for");
    end
`endif
endmodule
