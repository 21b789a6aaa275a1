// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Loads of a processing element: fills slots from DRAM, up to LoadQueue polynomials at a time.
//
// Function: takes an address and a slot (start_i, when fewer than LoadQueue LOADs are under way). The requests of one LOAD
//   follow those of the LOAD before it at once, while rows of that are still on their way; rows come back in the order of
//   the requests. A row is written, with its slot, one cycle after it arrives; done_o tells of the oldest LOAD, the cycle
//   after its last row was written.
// Throughput: one row per cycle; the latency of DRAM is seen once by a run of LOADs, not by each.
// Ranges: words are shifted left by shift_i (residues), those of the twiddle bank are not. rows_i and shift_i are held
//   while LOADs are under way.
module vector_load
  import vector_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned RowBits = 11,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned LaneW = 64,           // bits of a word in rows from DRAM
    parameter bit Shifts = 1'b1,                 // 0: shift_i is always 0
    localparam int unsigned DataW = Lanes * LaneW
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               halt_i,
    input  logic               start_i,
    input  logic [  AddrW-1:0] addr_i,
    input  slot_t              slot_i,
    input  logic [  RowBits:0] rows_i,
    input  logic [        2:0] shift_i,
    output logic               done_o,
    output request_t           req_o,
    input  logic               req_ready_i,
    input  logic               rsp_valid_i,
    input  logic [  DataW-1:0] rsp_data_i,
    output logic               wr_en_o,
    output slot_t              wr_slot_o,
    output logic [RowBits-1:0] wr_row_o,
    output logic [      W-1:0] wr_data_o   [Lanes]
);
  localparam int unsigned CountBits = $clog2(LoadQueue + 1);

  // Addresses still to be asked for, the oldest first, and slots of LOADs whose rows are still to come.
  logic [AddrW-1:0] addr_q[LoadQueue];
  slot_t slot_q[LoadQueue];
  logic [CountBits-1:0] asking_q, coming_q;
  logic [RowBits:0] ask_q, got_q;
  logic [BeatBits-1:0] beats;
  logic granted, asked, arrived, last_q;
  logic [2:0] shift;

  assign beats = 32'(ask_q) < BurstRows ? BeatBits'(ask_q) : BeatBits'(BurstRows);
  assign req_o.valid = asking_q != 0 && !halt_i;
  assign req_o.addr = addr_q[0];
  assign req_o.beats = beats;
  assign granted = req_o.valid && req_ready_i;
  assign asked = granted && ask_q == (RowBits + 1)'(beats);
  assign arrived = rsp_valid_i && got_q + 1 == rows_i;
  assign shift = !Shifts || slot_q[0].bank == vector_isa_pkg::TwiddleBank ? 3'd0 : shift_i;

  always_ff @(posedge clk_i) begin
    done_o <= wr_en_o && last_q;
    wr_en_o <= rsp_valid_i;
    last_q <= arrived;
    if (!rst_ni) begin
      done_o <= 1'b0;
      wr_en_o <= 1'b0;
      asking_q <= '0;
      coming_q <= '0;
      got_q <= '0;
    end else begin
      asking_q <= asking_q + CountBits'(start_i) - CountBits'(asked);
      coming_q <= coming_q + CountBits'(start_i) - CountBits'(arrived);
      if (asked || asking_q == 0) ask_q <= rows_i;
      else if (granted) ask_q <= ask_q - (RowBits + 1)'(beats);
      if (rsp_valid_i) got_q <= arrived ? '0 : got_q + 1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (asked) for (int unsigned i = 1; i < LoadQueue; i++) addr_q[i-1] <= addr_q[i];
    else if (granted) addr_q[0] <= addr_q[0] + AddrW'(BurstRows * DataW / 8);
    if (arrived) for (int unsigned i = 1; i < LoadQueue; i++) slot_q[i-1] <= slot_q[i];
    for (int unsigned i = 0; i < LoadQueue; i++) begin
      if (start_i && 32'(asking_q) == i + 32'(asked)) addr_q[i] <= addr_i;
      if (start_i && 32'(coming_q) == i + 32'(arrived)) slot_q[i] <= slot_i;
    end
    if (rsp_valid_i) begin
      wr_slot_o <= slot_q[0];
      wr_row_o <= got_q[RowBits-1:0];
      for (int unsigned l = 0; l < Lanes; l++) wr_data_o[l] <= rsp_data_i[LaneW*l+:W] << shift;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!start_i || 32'(coming_q) < LoadQueue + 32'(arrived));
      assert (!rsp_valid_i || coming_q != 0);
    end
`endif
endmodule
