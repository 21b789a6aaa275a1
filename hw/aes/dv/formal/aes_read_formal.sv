// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_read, beside a count of the rows of a request that were not asked for. Surroundings: requests have
// rows; memory gives what it was asked for, here the number of each beat in its lowest bits, when it likes.

module aes_read_formal
  import aes_pkg::*;
#(
  parameter int unsigned CountW = 3,
  parameter int unsigned Depth = 3,
  parameter int unsigned MaxBeats = 2,
  parameter int unsigned AskW = 2,
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
  input logic                   row_valid_o,
  input logic                   row_ready_i,
  input logic [NarrowW-1:0]     row_o,
  input logic                   ask_valid_o,
  input logic                   ask_ready_i,
  input logic [AddrW-1:0]       ask_addr_o,
  input logic [AskW-1:0]        ask_beats_o,
  input logic                   rsp_valid_i,
  input logic [NarrowW-1:0]     rsp_data_i,
  // inside, for induction
  input logic [CountW-1:0]       left_q,
  input logic [AddrW-ByteW-1:0] row_q,
  input logic [RoomW-1:0]       room_q,
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

  // Of the request: rows not asked for, and the first of them. Of memory: beats that it owes, and the next one's
  // number.
  logic [CountW-1:0]       rest_q;
  logic [AddrW-ByteW-1:0] at_q;
  logic [7:0]             owed_q;
  logic [SeenW-1:0]       in_q, out_q;
  logic                   take, granted, pop;

  assign take = req_valid_i && req_ready_o;
  assign granted = ask_valid_o && ask_ready_i;
  assign pop = row_valid_o && row_ready_i;

  always_ff @(posedge clk_i) begin
    assume (!rsp_valid_i || (owed_q != '0 && rsp_data_i[SeenW-1:0] == in_q));
    if (!rst_ni) begin
      rest_q <= '0;
      owed_q <= '0;
      in_q <= '0;
      out_q <= '0;
    end else begin
      rest_q <= take ? req_rows_i : rest_q - (granted ? CountW'(ask_beats_o) : '0);
      owed_q <= owed_q + (granted ? 8'(ask_beats_o) : '0) - 8'(rsp_valid_i);
      in_q <= in_q + SeenW'(rsp_valid_i);
      out_q <= out_q + SeenW'(pop);
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
      // rows come in the order in which they were asked for, none is lost, none comes twice
      p_order: assert (!row_valid_o || (fifo_count != '0 && row_o[SeenW-1:0] == out_q));
      // no more is asked for than there is room for
      p_room: assert (owed_q + 8'(fifo_count) <= 8'(Depth));
      // every beat that comes finds room
      p_place: assert (!rsp_valid_i || 32'(fifo_count) < Depth);
      // a burst is of rows that the request has left, no longer than bursts are, and within 4 KiB
      p_burst: assert (!ask_valid_o || (ask_beats_o != '0 && 32'(ask_beats_o) <= MaxBeats
          && 32'(ask_beats_o) <= 32'(rest_q)
          && 16'(at_q[PageW-1:0]) + 16'(ask_beats_o) <= 16'(1 << PageW)));
      // it begins where the burst before ended
      p_address: assert (!ask_valid_o || ask_addr_o == {at_q, ByteW'(0)});
      // nothing is asked for while halted
      p_halt: assert (!ask_valid_o || !halt_i);
      // a request is taken when all of the one before was asked for
      p_request: assert (req_ready_o == (rest_q == '0));
      // places are counted
      p_counted: assert (8'(room_q) + owed_q + 8'(fifo_count) == 8'(Depth) && owed_q <= 8'(Depth));
      // what is left is what is to be asked for
      p_left: assert (left_q == rest_q && (rest_q == '0 || row_q == at_q));
      // rows that came stand in the FIFO
      p_stored: assert (stored);
    end
  end
endmodule

bind aes_read aes_read_formal #(.CountW(CountW), .Depth(Depth), .MaxBeats(MaxBeats), .AskW(AskW)) u_formal (
  .fifo_count(u_rows.count_q), .fifo_rptr(u_rows.rptr_q), .fifo_wptr(u_rows.wptr_q), .fifo_mem(u_rows.mem), .*
);
