// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_keys, beside a list of the requests whose bursts have not all been asked for. Surroundings: degree
// and base stand still, requests wait until they are taken; memory may answer anything. That beats come to the row
// FIFO in the order of the bursts, and leave it in that order, is proved of rf_axi_read and rf_fifo.

module psi_keys_formal
  import psi_pkg::*;
#(
  parameter int unsigned MaxLogN = 9,
  parameter int unsigned Rows = 1,
  parameter int unsigned Requests = 2,
  localparam int unsigned RowsW = 5,
  localparam int unsigned Depth = Rows << (MaxLogN - 2),
  localparam int unsigned RoomW = $clog2(Depth + 1),
  localparam int unsigned BurstsW = RowsW + MaxLogN,
  localparam int unsigned CountW = $clog2(Requests + 2),
  localparam int unsigned OrderW = $clog2(KeyBursts + 1)
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  halt_i,
  input logic [DegreeW-1:0]    log_n_i,
  input logic [AddrW-1:KeyUnitLog] base_i,
  input logic                  req_valid_i,
  input logic                  req_ready_o,
  input logic [KeyW-1:0]       req_key_i,
  input logic [RowsW-1:0]      req_rows_i,
  input logic                  pending_o,
  input logic                  key_valid_o,
  input logic                  key_ready_i,
  // inside, for induction
  input logic                  active_q,
  input logic                  ask,
  input logic                  granted,
  input logic [BurstsW-1:0]    left_q,
  input logic [AddrW-1:0]      addr_q,
  input logic [RoomW-1:0]      room_q,
  input logic [6:0]            burst_beats,
  input logic                  rsp_valid,
  input logic [RoomW-1:0]      rows_count,
  input logic                  rows_ready,
  input logic [RoomW-1:0]      rows_stored,  // in its memory, and in its two registers
  input logic [1:0]            rows_held,
  input logic [7:0]            order_mem [KeyBursts],
  input logic [4:0]            order_rptr,
  input logic [4:0]            order_wptr,
  input logic [OrderW-1:0]     order_count,
  input logic [6:0]            got_q,
  input logic [1:0]            requests_count,
  input logic [KeyW+RowsW-1:0] requests_mem [Requests],
  input logic                  requests_rptr,
  input logic                  requests_wptr
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // ---- Surroundings ----------------------------------------------------------------------------------
  logic                        after_q = 1'b0;
  logic [DegreeW-1:0]          log_n_q;
  logic [AddrW-1:KeyUnitLog]   base_q;
  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    log_n_q <= log_n_i;
    base_q <= base_i;
    assume (log_n_i >= DegreeW'(6) && 32'(log_n_i) <= MaxLogN);
    if (after_q) assume (log_n_i == log_n_q && base_i == base_q);
    assume (!req_valid_i || req_rows_i != '0);
  end

  // ---- Requests, oldest first, and the burst of the oldest that is next --------------------------------
  logic [KeyW-1:0]    keys_q [Requests+1];
  logic [RowsW-1:0]   rows_q [Requests+1];
  logic [CountW-1:0]  count_q;
  logic [BurstsW-1:0] burst_q, bursts;  // number of the next one, and of all that the oldest has
  logic [AddrW-1:0]   expected;
  logic               take, ended, long_rows;

  assign long_rows = log_n_i > DegreeW'(8);  // a row is more than 64 beats
  assign bursts = long_rows ? BurstsW'(rows_q[0]) << (log_n_i - DegreeW'(8)) : BurstsW'(rows_q[0]);
  assign expected = {base_i, KeyUnitLog'(0)} + (AddrW'(keys_q[0]) << KeyUnitLog)
      + (AddrW'(burst_q) << (long_rows ? 4'd12 : log_n_i + 4'd4));
  assign take = req_valid_i && req_ready_o;
  assign ended = granted && burst_q + 1'b1 == bursts;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i <= Requests; i++) begin
      if (ended && i < Requests) begin
        keys_q[i] <= keys_q[i+1];
        rows_q[i] <= rows_q[i+1];
      end
      if (take && i == 32'(count_q) - 32'(ended)) begin
        keys_q[i] <= req_key_i;
        rows_q[i] <= req_rows_i;
      end
    end
    if (!rst_ni) begin
      count_q <= '0;
      burst_q <= '0;
    end else begin
      count_q <= count_q + CountW'(take) - CountW'(ended);
      if (granted) burst_q <= ended ? '0 : burst_q + 1'b1;
    end
  end

  // ---- Beats that are still to come, at most, and what waits in the requests' FIFO ------------------------
  logic [31:0] coming;
  logic        alike, stored;

  always_comb begin
    coming = 32'(order_count) * 32'(burst_beats) - 32'(got_q);
    alike = 1'b1;
    for (int unsigned i = 0; i < KeyBursts; i++)
      alike &= (i + (i < 32'(order_rptr) ? KeyBursts : 0) - 32'(order_rptr) >= 32'(order_count))
          || order_mem[i] == {1'b1, burst_beats};
    stored = 1'b1;
    for (int unsigned i = 0; i <= Requests; i++) stored &= i >= 32'(count_q) || rows_q[i] != '0;
    for (int unsigned i = 0; i < Requests; i++)
      stored &= i >= 32'(requests_count)
          || requests_mem[(32'(requests_rptr) + i) % Requests] == {keys_q[i+32'(active_q)], rows_q[i+32'(active_q)]};
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // a burst is asked for only when all of its beats have room in the row FIFO, besides those still to come
      p_room: assert (!granted || 32'(rows_count) + 32'(rsp_valid) + coming + 32'(burst_beats) <= Depth);
      // the row FIFO takes every beat that comes
      p_taken: assert (!rsp_valid || rows_ready);
      // bursts are asked for in the order of requests and of addresses, each once, all of each row
      p_sequence: assert ((!ask || active_q) && (!granted || ask)
          && (!active_q || (count_q != '0 && addr_q == expected && burst_q < bursts)));
      // nothing new is asked for while halted
      p_halt: assert (!halt_i || !granted);
      // it tells of a request that waits or is being read
      p_pending: assert (pending_o == (count_q != '0));
      // bursts to ask for are those of the oldest request that were not
      p_left: assert (32'(count_q) == 32'(requests_count) + 32'(active_q) && (count_q != '0 || burst_q == '0)
          && (active_q || burst_q == '0)
          && (!active_q || (32'(left_q) == 32'(bursts) - 32'(burst_q) && left_q != '0)));
      // room is what is neither taken nor asked for, or less
      p_counted: assert (32'(room_q) + 32'(rows_count) + 32'(rsp_valid) + coming <= Depth
          && 32'(got_q) <= 32'(burst_beats) && (order_count != '0 || got_q == '0)
          && 32'(rows_count) == 32'(rows_stored) + 32'(rows_held[0]) + 32'(rows_held[1]));
      // bursts in flight are alike
      p_alike: assert (alike && 32'(order_count) <= KeyBursts && 32'(order_rptr) < KeyBursts
          && 32'(order_wptr) == (32'(order_rptr) + 32'(order_count)) % KeyBursts);
      // requests that wait stand in their FIFO, none without rows
      p_stored: assert (stored && 32'(requests_count) <= Requests
          && 32'(requests_wptr) == (32'(requests_rptr) + 32'(requests_count)) % Requests);
    end
  end
endmodule

bind psi_keys psi_keys_formal #(.MaxLogN(MaxLogN), .Rows(Rows), .Requests(Requests)) u_formal (
  .rows_count(u_rows.count_q), .rows_ready(u_rows.ready_o), .rows_stored(u_rows.g_large.mem_count_q),
  .rows_held({u_rows.g_large.read_valid_q, u_rows.g_large.valid_q}), .order_mem(u_read.u_order.mem),
  .order_rptr(u_read.u_order.rptr_q), .order_wptr(u_read.u_order.wptr_q), .order_count(u_read.order_count),
  .got_q(u_read.got_q), .requests_count(u_requests.count_q), .requests_mem(u_requests.mem),
  .requests_rptr(u_requests.rptr_q), .requests_wptr(u_requests.wptr_q), .*
);
