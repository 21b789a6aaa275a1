// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Stream of multiplier operands (keys, plaintexts) from DRAM into the MAC array, without a stop in the scratchpad.
//
// Function: takes addresses of polynomials (push_i, while !full_o), reads them in order in bursts, never more than
//   the buffer has room for, and presents their rows in order (valid_o/ready_i).
// Throughput: one row per cycle; DRAM latency is hidden by StreamRows rows of buffer.
module vector_stream
  import vector_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned MaxLogN = 15,
    parameter int unsigned StreamRows = 512,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned LaneW = 64,           // bits of a word in rows from DRAM
    localparam int unsigned DataW = Lanes * LaneW,
    localparam int unsigned RowBits = MaxLogN - $clog2(Lanes)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              halt_i,
    input  logic [RowBits:0]  rows_i,
    input  logic              push_i,
    input  logic [AddrW-1:0]  addr_i,
    output logic              full_o,
    output request_t          req_o,
    input  logic              req_ready_i,
    input  logic              rsp_valid_i,
    input  logic [DataW-1:0]  rsp_data_i,
    output logic              valid_o,
    input  logic              ready_i,
    output logic [   W-1:0]   row_o      [Lanes],
    output logic              idle_o
);
  localparam int unsigned Count = $clog2(StreamRows + 1);

  logic queue_room, next_valid, next_take;
  logic [AddrW-1:0] next_addr;
  logic [$clog2(StreamQueue+1)-1:0] queued;
  logic active_q;
  logic [AddrW-1:0] addr_q;
  logic [RowBits:0] left_q;
  logic [BeatBits-1:0] beats;
  logic [Count-1:0] reserved_q;  // rows in the buffer or on their way
  logic [Lanes*W-1:0] in_row, out_row;
  logic [Count-1:0] stored;
  logic room;

  rf_fifo #(.Width(AddrW), .Depth(StreamQueue)) u_queue (
      .clk_i, .rst_ni, .valid_i(push_i), .ready_o(queue_room), .data_i(addr_i),
      .valid_o(next_valid), .ready_i(next_take), .data_o(next_addr), .count_o(queued)
  );
  assign full_o = !queue_room;
  assign next_take = !active_q;
  assign idle_o = queued == 0 && !active_q && reserved_q == 0;

  assign beats = 32'(left_q) < BurstRows ? BeatBits'(left_q) : BeatBits'(BurstRows);
  assign req_o.valid = active_q && !halt_i && 32'(reserved_q) + 32'(beats) <= StreamRows;
  assign req_o.addr = addr_q;
  assign req_o.beats = beats;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      reserved_q <= '0;
    end else begin
      reserved_q <= reserved_q + (req_o.valid && req_ready_i ? Count'(beats) : '0) - Count'(valid_o && ready_i);
      if (!active_q) begin
        active_q <= next_valid;
        addr_q <= next_addr;
        left_q <= rows_i;
      end else if (req_o.valid && req_ready_i) begin
        addr_q <= addr_q + AddrW'(BurstRows * DataW / 8);
        left_q <= left_q - (RowBits + 1)'(beats);
        active_q <= left_q != (RowBits + 1)'(beats);
      end
    end
  end

  always_comb
    for (int unsigned l = 0; l < Lanes; l++) begin
      in_row[W*l+:W] = rsp_data_i[LaneW*l+:W];
      row_o[l] = out_row[W*l+:W];
    end
  rf_fifo #(.Width(Lanes * W), .Depth(StreamRows)) u_rows (
      .clk_i, .rst_ni, .valid_i(rsp_valid_i), .ready_o(room), .data_i(in_row),
      .valid_o, .ready_i, .data_o(out_row), .count_o(stored)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni && rsp_valid_i) assert (room && 32'(stored) < StreamRows);
`endif
endmodule
