// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of omr_sum_write, beside counts of rows. Surroundings: room is taken while there is some, for an open part
// or with its opening; a row comes for each room taken, later; rows are their numbers; a part opens when the last one
// was acknowledged, and is acknowledged after its request was taken, when all its rows have gone.

module omr_sum_write_formal #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned PtrW = $clog2(Depth)
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              open_i,
  input logic              take_i,
  input logic              space_o,
  input logic              push_i,
  input logic [Width-1:0]  row_i,
  input logic              done_o,
  input logic              req_valid_o,
  input logic              req_ready_i,
  input logic              row_valid_o,
  input logic              row_ready_i,
  input logic [Width-1:0]  row_o,
  input logic              acked_i,
  // inside, for induction
  input logic              asked_q,
  input logic [CountW-1:0] room_q,
  input logic [CountW-1:0] fifo_count,
  input logic [PtrW-1:0]   fifo_rptr,
  input logic [PtrW-1:0]   fifo_wptr,
  input logic [Width-1:0]  fifo_mem [Depth]
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // Whether a part is open, whether its request was taken, and whether one was acknowledged since it was last open;
  // rows that took room and have not come; the numbers of the next row in and out.
  logic             open_q, granted_q, ended_q;
  logic [31:0]      flight_q;
  logic [Width-1:0] in_q, out_q;
  logic             sent;

  assign sent = row_valid_o && row_ready_i;

  always_ff @(posedge clk_i) begin
    assume (!take_i || (space_o && (open_q || open_i)));
    assume (!open_i || !open_q);
    assume (!push_i || (flight_q != '0 && row_i == in_q));
    assume (!acked_i || (open_q && granted_q && flight_q == '0 && in_q == out_q && !take_i));
    if (!rst_ni) begin
      open_q <= 1'b0;
      granted_q <= 1'b0;
      ended_q <= 1'b0;
      flight_q <= '0;
      in_q <= '0;
      out_q <= '0;
    end else begin
      open_q <= open_i || (open_q && !acked_i);
      granted_q <= (granted_q || (req_valid_o && req_ready_i)) && !acked_i;
      ended_q <= (ended_q || acked_i) && !open_i;
      flight_q <= flight_q + 32'(take_i) - 32'(push_i);
      in_q <= in_q + Width'(push_i);
      out_q <= out_q + Width'(sent);
    end
  end

  logic stored;
  always_comb begin
    stored = in_q == out_q + Width'(fifo_count) && 32'(fifo_count) <= Depth && 32'(fifo_rptr) < Depth
        && 32'(fifo_wptr) == (32'(fifo_rptr) + 32'(fifo_count)) % Depth;
    for (int unsigned i = 0; i < Depth; i++)
      stored &= i >= 32'(fifo_count) || fifo_mem[(32'(fifo_rptr) + i) % Depth] == out_q + Width'(i);
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // a row that comes finds its place
      p_room: assert (!push_i || 32'(fifo_count) < Depth);
      // rows go out in their order, none is lost, none goes twice
      p_order: assert (!row_valid_o || (fifo_count != '0 && row_o == out_q));
      // none goes before its part's request was taken
      p_after: assert (!row_valid_o || (open_q && granted_q));
      // a part is asked for once
      p_once: assert (!req_valid_o || (open_q && !granted_q));
      // done is told of a part that was acknowledged, until the next one opens
      p_done: assert (done_o == ended_q && !(done_o && open_q));
      // room is what neither a row that is stored nor one on its way takes
      p_counted: assert (32'(room_q) <= Depth && flight_q <= Depth
          && 32'(room_q) + 32'(fifo_count) + flight_q == Depth);
      // of an open part the request is being made or was taken; of no other part anything is there
      p_part: assert (asked_q == granted_q && (open_q ? req_valid_o != granted_q
          : !req_valid_o && !granted_q && flight_q == '0 && fifo_count == '0));
      // rows that came stand in the FIFO
      p_stored: assert (stored);
    end
  end
endmodule

bind omr_sum_write omr_sum_write_formal #(.Width(Width), .Depth(Depth)) u_formal (
  .fifo_count(u_rows.count_q), .fifo_rptr(u_rows.rptr_q), .fifo_wptr(u_rows.wptr_q), .fifo_mem(u_rows.mem), .*
);
