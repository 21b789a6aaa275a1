// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_write, beside counts of what was asked for, sent and acknowledged. Surroundings: requests have
// rows; rows are their numbers; rf_axi_write takes the rows of what it granted, in order, and acknowledges bursts that
// were granted, once each.

module aes_write_formal
  import aes_pkg::*;
#(
  parameter int unsigned CountW = 3,
  parameter int unsigned Depth = 4,
  parameter int unsigned MaxBeats = 2,
  localparam int unsigned AskW = $clog2(MaxBeats + 1),
  localparam int unsigned ByteW = $clog2(NarrowW / 8),
  localparam int unsigned SeenW = 8,
  localparam int unsigned PageW = 12 - ByteW,
  localparam int unsigned RoomW = $clog2(Depth + 1),
  localparam int unsigned PtrW = $clog2(Depth)
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   halt_i,
  input logic                   req_valid_i,
  input logic                   req_ready_o,
  input logic [AddrW-1:0]       req_addr_i,
  input logic [CountW-1:0]       req_rows_i,
  input logic                   row_valid_i,
  input logic                   row_ready_o,
  input logic [NarrowW-1:0]     row_i,
  input logic                   acked_o,
  input logic                   ask_valid_o,
  input logic                   ask_ready_i,
  input logic [AddrW-1:0]       ask_addr_o,
  input logic [AskW-1:0]        ask_beats_o,
  input logic                   data_valid_o,
  input logic                   data_ready_i,
  input logic [NarrowW-1:0]     data_o,
  input logic                   done_i,
  // inside, for induction
  input logic                   active_q,
  input logic [CountW-1:0]       left_q,
  input logic [CountW-1:0]       unacked_q,
  input logic [AddrW-ByteW-1:0] row_q,
  input logic [RoomW-1:0]       at_hand_q,
  input logic [RoomW-1:0]       fifo_count,
  input logic [PtrW-1:0]        fifo_rptr,
  input logic [PtrW-1:0]        fifo_wptr,
  input logic [NarrowW-1:0]     fifo_mem [Depth]
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
    assume (!req_valid_i || req_rows_i != '0);
  end
  assign checked = started_q && rst_ni;

  // Of the request: whether one is under way, rows not asked for and the first of them, bursts not acknowledged. Rows
  // that were granted and not sent; the numbers of the next row in and out.
  logic                   open_q;
  logic [CountW-1:0]       rest_q;
  logic [AddrW-ByteW-1:0] at_q;
  logic [7:0]             bursts_q, owed_q;
  logic [SeenW-1:0]       in_q, out_q;
  logic                   take, granted, sent, push;

  assign take = req_valid_i && req_ready_o;
  assign granted = ask_valid_o && ask_ready_i;
  assign push = row_valid_i && row_ready_o;
  assign sent = data_valid_o && data_ready_i;

  always_ff @(posedge clk_i) begin
    assume (!row_valid_i || row_i[SeenW-1:0] == in_q);
    assume (!data_ready_i || owed_q != '0);
    assume (!done_i || bursts_q != '0);
    if (!rst_ni) begin
      open_q <= 1'b0;
      rest_q <= '0;
      bursts_q <= '0;
      owed_q <= '0;
      in_q <= '0;
      out_q <= '0;
    end else begin
      open_q <= take || (open_q && !acked_o);
      rest_q <= take ? req_rows_i : rest_q - (granted ? CountW'(ask_beats_o) : '0);
      bursts_q <= bursts_q + 8'(granted) - 8'(done_i);
      owed_q <= owed_q + (granted ? 8'(ask_beats_o) : '0) - 8'(sent);
      in_q <= in_q + SeenW'(push);
      out_q <= out_q + SeenW'(sent);
    end
    if (take) at_q <= req_addr_i[AddrW-1:ByteW];
    else if (granted) at_q <= at_q + (AddrW - ByteW)'(ask_beats_o);
  end

  logic stored;
  always_comb begin
    // Depth is a power of two.
    stored = in_q == out_q + SeenW'(fifo_count) && 32'(fifo_count) <= Depth
        && fifo_wptr == fifo_rptr + PtrW'(fifo_count);
    for (int unsigned i = 0; i < Depth; i++)
      stored &= i >= 32'(fifo_count) || fifo_mem[fifo_rptr + PtrW'(i)][SeenW-1:0] == out_q + SeenW'(i);
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // rows go out in their order, none is lost, none goes twice
      p_order: assert (!data_valid_o || (fifo_count != '0 && data_o[SeenW-1:0] == out_q));
      // the rows of what was granted are at hand, so that memory never waits for the client
      p_at_hand: assert (owed_q <= 8'(fifo_count) && (owed_q == '0 || data_valid_o));
      // a burst is of rows that the request has left, no longer than bursts are, and within 4 KiB
      p_burst: assert (!ask_valid_o || (ask_beats_o != '0 && 32'(ask_beats_o) <= MaxBeats
          && 32'(ask_beats_o) <= 32'(rest_q)
          && 16'(at_q[PageW-1:0]) + 16'(ask_beats_o) <= 16'(1 << PageW)));
      // it begins where the burst before ended
      p_address: assert (!ask_valid_o || ask_addr_o == {at_q, ByteW'(0)});
      // nothing is asked for while halted
      p_halt: assert (!ask_valid_o || !halt_i);
      // a request is told as acknowledged when all of it was asked for and every burst was acknowledged, and once
      p_acked: assert (!acked_o || (open_q && rest_q == '0 && bursts_q == '0));
      // the next request is taken when that has been told
      p_request: assert (req_ready_o == !open_q);
      // rows are counted
      p_counted: assert (8'(at_hand_q) + owed_q == 8'(fifo_count));
      // what is left is what is to be asked for, and each burst has a row at least
      p_left: assert (active_q == open_q && left_q == rest_q && (rest_q == '0 || (open_q && row_q == at_q))
          && 8'(unacked_q) == bursts_q && bursts_q + 8'(rest_q) < 8'(1 << CountW) && (open_q || bursts_q == '0));
      // rows that came stand in the FIFO
      p_stored: assert (stored);
    end
  end
endmodule

bind aes_write aes_write_formal #(.CountW(CountW), .Depth(Depth), .MaxBeats(MaxBeats)) u_formal (
  .fifo_count(u_rows.count_q), .fifo_rptr(u_rows.rptr_q), .fifo_wptr(u_rows.wptr_q), .fifo_mem(u_rows.mem), .*
);
