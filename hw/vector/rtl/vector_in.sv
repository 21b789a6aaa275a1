// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inward mover of a processing element: fills a slot from DRAM (LOAD), from the group's bus (RECV), or from the
// reduction unit (REDUCE). Rows are written one cycle after they arrive.
//
// Interface: start_i with settings held until done_o. source_i: 0 DRAM, 1 bus, 2 reduction. For the bus, recv_o and
//   for the reduction reduce_o ask for the transfer and fall when its first row arrives.
// Ranges: words from DRAM are shifted left by shift_i (residues; 0 for twiddles).
module vector_in
  import vector_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned RowBits = 11,
    parameter int unsigned BurstRows = 32,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               halt_i,
    input  logic               start_i,
    input  logic [        1:0] source_i,
    input  logic [  AddrW-1:0] addr_i,
    input  logic [  RowBits:0] rows_i,
    input  logic [        2:0] shift_i,
    output logic               done_o,
    output request_t           req_o,
    input  logic               req_ready_i,
    input  logic               rsp_valid_i,
    input  logic [  DataW-1:0] rsp_data_i,
    output logic               recv_o,
    input  logic               bus_valid_i,
    input  logic [      W-1:0] bus_i       [Lanes],
    output logic               reduce_o,
    input  logic               reduce_valid_i,
    input  logic [      W-1:0] reduce_i    [Lanes],
    output logic               wr_en_o,
    output logic [RowBits-1:0] wr_row_o,
    output logic [      W-1:0] wr_data_o   [Lanes]
);
  localparam logic [1:0] FromDram = 2'd0;
  localparam logic [1:0] FromBus = 2'd1;
  localparam logic [1:0] FromReduction = 2'd2;

  logic [AddrW-1:0] addr_q;
  logic [RowBits:0] ask_q, got_q;
  logic [BeatBits-1:0] beats;
  logic busy_q, arrives;

  assign beats = 32'(ask_q) < BurstRows ? BeatBits'(ask_q) : BeatBits'(BurstRows);
  assign req_o.valid = busy_q && source_i == FromDram && ask_q != 0 && !halt_i;
  assign req_o.addr = addr_q;
  assign req_o.beats = beats;
  assign recv_o = busy_q && source_i == FromBus && got_q == 0 && !wr_en_o;
  assign reduce_o = busy_q && source_i == FromReduction && got_q == 0 && !wr_en_o;

  always_comb
    case (source_i)
      FromDram: arrives = rsp_valid_i;
      FromBus: arrives = bus_valid_i;
      default: arrives = reduce_valid_i;
    endcase

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    wr_en_o <= busy_q && arrives;
    if (!rst_ni) begin
      busy_q <= 1'b0;
      wr_en_o <= 1'b0;
    end else begin
      if (start_i) begin
        busy_q <= 1'b1;
        addr_q <= addr_i;
        ask_q <= rows_i;
        got_q <= '0;
      end
      if (req_o.valid && req_ready_i) begin
        addr_q <= addr_q + AddrW'(beats) * AddrW'(DataW / 8);
        ask_q <= ask_q - (RowBits + 1)'(beats);
      end
      if (wr_en_o) begin
        got_q <= got_q + 1;
        if (got_q + 1 == rows_i) begin
          busy_q <= 1'b0;
          done_o <= 1'b1;
          wr_en_o <= 1'b0;
        end
      end
    end
  end
  assign wr_row_o = got_q[RowBits-1:0];

  always_ff @(posedge clk_i) begin
    if (arrives)
      for (int unsigned l = 0; l < Lanes; l++)
        case (source_i)
          FromDram: wr_data_o[l] <= rsp_data_i[64*l+:W] << shift_i;
          FromBus: wr_data_o[l] <= bus_i[l];
          default: wr_data_o[l] <= reduce_i[l];
        endcase
  end
endmodule
