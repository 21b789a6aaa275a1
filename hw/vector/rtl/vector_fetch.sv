// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Instruction fetch of one processing element.
//
// Function: from start_i on, reads the program at program_i in bursts of a quarter of the buffer (or BurstRows), as far ahead
//   as that has room, and presents its 256-bit instructions in order on instr_o (valid_o/ready_i). After stop_i nothing more is
//   requested; idle_o says that no response is outstanding. Programs start on 4 KiB boundaries and may be read past
//   their end by up to the buffer's depth, at most 4 KiB: memory there must exist.
// Throughput: one instruction per cycle.
// Ranges: Lanes a power of two, 4 ... 256.
module vector_fetch
  import vector_pkg::*;
#(
    parameter int unsigned Lanes = 16,
    parameter int unsigned BurstRows = 32,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             start_i,
    input  logic             stop_i,
    input  logic [AddrW-1:0] program_i,
    output request_t         req_o,
    input  logic             req_ready_i,
    input  logic             rsp_valid_i,
    input  logic [DataW-1:0] rsp_data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [    255:0] instr_o,
    output logic             idle_o
);
  localparam int unsigned PerBeat = DataW / 256;
  localparam int unsigned Fitting = BurstBytes / (DataW / 8);
  localparam int unsigned Depth = Fitting < FetchDepth ? Fitting : FetchDepth;
  localparam int unsigned Quarter = Depth < 4 ? 1 : Depth / 4;
  localparam int unsigned FetchBeats = Quarter < BurstRows ? Quarter : BurstRows;
  localparam int unsigned Count = $clog2(Depth + 1);
  localparam int unsigned Pick = PerBeat > 1 ? $clog2(PerBeat) : 1;

  logic running_q;
  logic [AddrW-1:0] addr_q;
  logic [Count-1:0] stored, flying_q;
  logic [Pick-1:0] pick_q;
  logic beat_valid, beat_ready, beat_room;
  logic [DataW-1:0] beat;

  assign req_o.valid = running_q && !stop_i && 32'(stored) + 32'(flying_q) + FetchBeats <= Depth;
  assign req_o.addr = addr_q;
  assign req_o.beats = BeatBits'(FetchBeats);
  assign idle_o = flying_q == 0;

  rf_fifo #(.Width(DataW), .Depth(Depth)) u_beats (
      .clk_i, .rst_ni(rst_ni && !start_i), .valid_i(rsp_valid_i), .ready_o(beat_room), .data_i(rsp_data_i),
      .valid_o(beat_valid), .ready_i(beat_ready), .data_o(beat), .count_o(stored)
  );

  assign valid_o = beat_valid;
  assign instr_o = beat[256*pick_q+:256];
  assign beat_ready = ready_i && pick_q == Pick'(PerBeat - 1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      flying_q <= '0;
    end else begin
      flying_q <= flying_q + (req_o.valid && req_ready_i ? Count'(FetchBeats) : '0) - Count'(rsp_valid_i);
      if (req_o.valid && req_ready_i) addr_q <= addr_q + AddrW'(FetchBeats * DataW / 8);
      if (valid_o && ready_i) pick_q <= pick_q == Pick'(PerBeat - 1) ? '0 : pick_q + 1;
      if (start_i) begin
        running_q <= 1'b1;
        addr_q <= program_i;
        pick_q <= '0;
      end else if (stop_i) begin
        running_q <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni && rsp_valid_i) assert (beat_room);
`endif
endmodule
