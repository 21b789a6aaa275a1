// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Outward mover of a processing element: sends a slot to DRAM (STORE), to the group's bus (SEND), or to the
// reduction unit (REDUCE).
//
// Interface: start_i with settings held until done_o. target_i: 0 DRAM, 1 bus, 2 reduction. send_o/reduce_o ask for
//   the transfer; it starts with go_i and then runs one row per cycle without a stop, rows appearing on row_o with
//   row_valid_o. Stores go in bursts; pending_o is set while a burst is not acknowledged.
// Ranges: words to DRAM are shifted right by shift_i.
module vector_out
  import vector_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned RowBits = 11,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned LaneW = 64,           // bits of a word in rows to DRAM
    parameter bit Shifts = 1'b1,                 // 0: shift_i is always 0
    localparam int unsigned DataW = Lanes * LaneW
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               halt_i,
    input  logic               start_i,
    input  logic [        1:0] target_i,
    input  logic [  AddrW-1:0] addr_i,
    input  logic [  RowBits:0] rows_i,
    input  logic [        2:0] shift_i,
    output logic               done_o,
    output logic               pending_o,
    output logic               rd_en_o,
    output logic [RowBits-1:0] rd_row_o,
    input  logic [      W-1:0] rd_data_i   [Lanes],
    output logic               send_o,
    output logic               reduce_o,
    input  logic               go_i,
    output logic               row_valid_o,
    output logic [      W-1:0] row_o       [Lanes],
    output request_t           req_o,
    input  logic               req_ready_i,
    output logic               data_valid_o,
    input  logic               data_ready_i,
    output logic [  DataW-1:0] data_o,
    input  logic               ack_i
);
  localparam logic [1:0] ToDram = 2'd0;
  localparam logic [1:0] ToBus = 2'd1;
  localparam logic [1:0] ToReduction = 2'd2;
  localparam int unsigned Buffer = 8;
  localparam int unsigned Count = $clog2(Buffer + 1);

  logic busy_q, waiting_q, moving_q;
  logic [RowBits:0] rd_q, out_q, ask_q;
  logic [AddrW-1:0] addr_q;
  logic [BeatBits-1:0] beats;
  logic [7:0] unacknowledged_q;
  logic [1:0] flying_q;  // rows read from the bank that have not arrived
  logic [Count-1:0] stored;
  logic room, to_dram, arrives;
  logic [Lanes*W-1:0] in_row, out_row;

  assign to_dram = target_i == ToDram;
  assign send_o = waiting_q && target_i == ToBus;
  assign reduce_o = waiting_q && target_i == ToReduction;
  assign pending_o = unacknowledged_q != 0 || (busy_q && to_dram);
  assign arrives = flying_q[1];

  assign rd_row_o = rd_q[RowBits-1:0];
  assign rd_en_o = moving_q && (!to_dram || 32'(stored) + 32'(flying_q[0]) + 32'(flying_q[1]) < Buffer - 1);

  assign beats = 32'(ask_q) < BurstRows ? BeatBits'(ask_q) : BeatBits'(BurstRows);
  assign req_o.valid = busy_q && to_dram && ask_q != 0 && !halt_i && unacknowledged_q < 8'd64;
  assign req_o.addr = addr_q;
  assign req_o.beats = beats;

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    row_valid_o <= arrives && !to_dram;
    if (!rst_ni) begin
      busy_q <= 1'b0;
      waiting_q <= 1'b0;
      moving_q <= 1'b0;
      flying_q <= '0;
      unacknowledged_q <= '0;
    end else begin
      flying_q <= {flying_q[0], rd_en_o};
      unacknowledged_q <= unacknowledged_q + 8'(req_o.valid && req_ready_i) - 8'(ack_i);
      if (start_i) begin
        busy_q <= 1'b1;
        waiting_q <= target_i != ToDram;
        moving_q <= target_i == ToDram;
        rd_q <= '0;
        out_q <= '0;
        ask_q <= rows_i;
        addr_q <= addr_i;
      end
      if (go_i) begin
        waiting_q <= 1'b0;
        moving_q <= 1'b1;
      end
      if (rd_en_o) begin
        rd_q <= rd_q + 1;
        if (rd_q + 1 == rows_i) moving_q <= 1'b0;
      end
      if (req_o.valid && req_ready_i) begin
        addr_q <= addr_q + AddrW'(BurstRows * DataW / 8);
        ask_q <= ask_q - (RowBits + 1)'(beats);
      end
      // A row has left when the write channel or the bus has taken it.
      if (to_dram ? data_valid_o && data_ready_i : arrives) begin
        out_q <= out_q + 1;
        if (out_q + 1 == rows_i) begin
          busy_q <= 1'b0;
          done_o <= 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (arrives && !to_dram) row_o <= rd_data_i;

  always_comb
    for (int unsigned l = 0; l < Lanes; l++) begin
      in_row[W*l+:W] = rd_data_i[l] >> (Shifts ? shift_i : 3'd0);
      data_o[LaneW*l+:LaneW] = LaneW'(out_row[W*l+:W]);
    end
  rf_fifo #(.Width(Lanes * W), .Depth(Buffer)) u_buffer (
      .clk_i, .rst_ni, .valid_i(arrives && to_dram), .ready_o(room), .data_i(in_row),
      .valid_o(data_valid_o), .ready_i(data_ready_i), .data_o(out_row), .count_o(stored)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni && arrives && to_dram) assert (room);
`endif
endmodule
