// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reads a program: instructions of 128 bits, four a beat, as many beats as said, ahead of their use.
//
// Latency     memory's
// Throughput  one instruction per cycle, if memory gives them
// Ranges      program_i a multiple of 4 KiB; instructions_i any number: the last beat may have fewer than four. halt_i: asks
//             for no more.

module psi_wide_fetch
  import psi_wide_pkg::*;
#(
  parameter int unsigned Depth = 16,      // beats
  parameter int unsigned MaxBeats = 4,
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              start_i,
  input  logic              halt_i,
  input  logic [AddrW-1:0]  program_i,
  input  logic [31:0]       instructions_i,

  output logic              req_valid_o,
  input  logic              req_ready_i,
  output logic [AddrW-1:0]  req_addr_o,
  output logic [BeatsW-1:0] req_beats_o,
  input  logic              rsp_valid_i,
  input  logic [PortW-1:0]  rsp_data_i,

  output logic              valid_o,
  input  logic              ready_i,
  output instruction_t      instruction_o,
  output logic              end_o         // all were taken
);
  localparam int unsigned CountW = $clog2(Depth + 1);

  logic [30:0]       beats_q;   // to be asked for
  logic [31:0]       left_q;    // instructions to be taken
  logic [AddrW-1:0]  address_q;
  logic [CountW-1:0] room_q;
  logic [1:0]        sub_q;
  logic              granted, beat_valid, take, pop;
  logic [PortW-1:0]  beat;

  assign req_valid_o = beats_q != '0 && room_q >= CountW'(MaxBeats) && !halt_i;
  assign req_addr_o = address_q;
  assign req_beats_o = beats_q < 31'(MaxBeats) ? BeatsW'(beats_q) : BeatsW'(MaxBeats);
  assign granted = req_valid_o && req_ready_i;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(PortW), .Depth(Depth)) u_beats (
    .clk_i, .rst_ni, .valid_i(rsp_valid_i), .ready_o(), .data_i(rsp_data_i), .valid_o(beat_valid), .ready_i(pop),
    .data_o(beat), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign valid_o = beat_valid && left_q != '0;
  assign instruction_o = beat[{sub_q, 7'd0}+:128];
  assign take = valid_o && ready_i;
  assign pop = take && (sub_q == 2'd3 || left_q == 32'd1);
  assign end_o = left_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beats_q <= '0;
      left_q <= '0;
      sub_q <= '0;
      room_q <= CountW'(Depth);
    end else begin
      room_q <= room_q + CountW'(pop) - (granted ? CountW'(req_beats_o) : '0);
      if (start_i) begin
        beats_q <= 31'(instructions_i >> 2) + 31'(instructions_i[1:0] != 2'd0);
        left_q <= instructions_i;
        sub_q <= '0;
      end else begin
        if (granted) beats_q <= beats_q - 31'(req_beats_o);
        if (take) begin
          left_q <= left_q - 1'b1;
          sub_q <= pop ? '0 : sub_q + 1'b1;
        end
      end
    end
    if (start_i) address_q <= program_i;
    else if (granted) address_q <= address_q + (AddrW'(req_beats_o) << 6);
  end
endmodule
