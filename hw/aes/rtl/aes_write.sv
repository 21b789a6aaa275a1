// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A stream of narrow rows to memory: a client of rf_axi_write that asks when a burst's rows are at hand.
//
// Function    A request is for `req_rows_i` rows from an address on, which the client gives; acked_o pulses when memory has
//             acknowledged all of them. The next request is taken from the cycle after on.
// Latency     the last row of a burst to its request 1 cycle; the last acknowledgement to acked_o 1 cycle
// Throughput  one row a cycle
// Ranges      req_rows_i >= 1; 2 MaxBeats <= Depth; MaxBeats rows are 4 KiB at most; address bits within a row are
//             ignored. Rows beyond those asked for wait for the next request.
// Halt        halt_i: asks for no more; rows of what was granted are in the FIFO, whatever the client does.

module aes_write
  import aes_pkg::*;
#(
    parameter int unsigned CountW = 14,    // of req_rows_i
    parameter int unsigned Depth = 32,
    parameter int unsigned MaxBeats = 16,
    localparam int unsigned AskW = $clog2(MaxBeats + 1)
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               halt_i,

    input  logic               req_valid_i,
    output logic               req_ready_o,
    input  logic [AddrW-1:0]   req_addr_i,
    input  logic [CountW-1:0]  req_rows_i,
    input  logic               row_valid_i,
    output logic               row_ready_o,
    input  logic [NarrowW-1:0] row_i,
    output logic               acked_o,

    output logic               ask_valid_o,
    input  logic               ask_ready_i,
    output logic [AddrW-1:0]   ask_addr_o,
    output logic [AskW-1:0]    ask_beats_o,
    output logic               data_valid_o,
    input  logic               data_ready_i,
    output logic [NarrowW-1:0] data_o,
    input  logic               done_i        // a burst was acknowledged
);
  localparam int unsigned ByteW = $clog2(NarrowW / 8);
  localparam int unsigned PageW = 12 - ByteW;   // rows of 4 KiB
  localparam int unsigned RoomW = $clog2(Depth + 1);

  if (MaxBeats < 1 || 2 * MaxBeats > Depth || MaxBeats > 2 ** PageW) begin : g_check
    $error("aes_write: bursts of %0d rows do not fit", MaxBeats);
  end

  logic                   active_q;
  logic [CountW-1:0]      left_q;      // to be asked for
  logic [CountW-1:0]      unacked_q;   // bursts that memory has not acknowledged
  logic [AddrW-ByteW-1:0] row_q;       // the next one's address
  logic [RoomW-1:0]       at_hand_q;   // rows of the FIFO that no burst has been granted for
  logic [PageW:0]         page;        // rows up to the next 4 KiB
  logic [AskW-1:0]        burst;
  logic                   take, granted, push;

  always_comb begin
    page = (PageW + 1)'(2 ** PageW) - {1'b0, row_q[PageW-1:0]};
    burst = 32'(left_q) < MaxBeats ? AskW'(left_q) : AskW'(MaxBeats);
    if (page < (PageW + 1)'(burst)) burst = AskW'(page);
  end

  assign req_ready_o = !active_q;
  assign take = req_valid_i && req_ready_o;
  assign ask_valid_o = left_q != '0 && !halt_i && at_hand_q >= RoomW'(burst);
  assign ask_addr_o = {row_q, ByteW'(0)};
  assign ask_beats_o = burst;
  assign granted = ask_valid_o && ask_ready_i;
  assign push = row_valid_i && row_ready_o;
  assign acked_o = active_q && left_q == '0 && unacked_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      left_q <= '0;
      unacked_q <= '0;
      at_hand_q <= '0;
    end else begin
      if (take) active_q <= 1'b1;
      else if (acked_o) active_q <= 1'b0;
      if (take) left_q <= req_rows_i;
      else if (granted) left_q <= left_q - CountW'(burst);
      unacked_q <= unacked_q + CountW'(granted) - CountW'(done_i);
      at_hand_q <= at_hand_q + RoomW'(push) - (granted ? RoomW'(burst) : '0);
    end
    if (take) row_q <= req_addr_i[AddrW-1:ByteW];
    else if (granted) row_q <= row_q + (AddrW - ByteW)'(burst);
  end

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width(NarrowW),
      .Depth(Depth)
  ) u_rows (
      .clk_i,
      .rst_ni,
      .valid_i(row_valid_i),
      .ready_o(row_ready_o),
      .data_i(row_i),
      .valid_o(data_valid_o),
      .ready_i(data_ready_i),
      .data_o(data_o),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */
  logic unused;
  assign unused = ^{1'b0, req_addr_i[ByteW-1:0]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!take || req_rows_i != '0) else $error("a stream of no rows");
      assert (!done_i || unacked_q != '0) else $error("an acknowledgement of no burst");
    end
`endif
endmodule
