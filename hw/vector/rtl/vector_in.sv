// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inward mover of a processing element: fills a slot from the group's bus (RECV) or from the reduction unit (REDUCE).
// Rows are written one cycle after they arrive.
//
// Interface: start_i with settings held until done_o. recv_o and reduce_o ask for the transfer and fall when its first
//   row arrives; from_bus_i says which of the two.
module vector_in
  import vector_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned RowBits = 11,
    parameter bit Reduces = 1'b1  // 0: from_bus_i is always 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               start_i,
    input  logic               from_bus_i,
    input  logic [  RowBits:0] rows_i,
    output logic               done_o,
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
  logic [RowBits:0] got_q;
  logic busy_q, arrives, from_bus;

  assign from_bus = from_bus_i || !Reduces;
  assign recv_o = busy_q && from_bus && got_q == 0 && !wr_en_o;
  assign reduce_o = busy_q && !from_bus && got_q == 0 && !wr_en_o;
  assign arrives = from_bus ? bus_valid_i : reduce_valid_i;

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    wr_en_o <= busy_q && arrives;
    if (!rst_ni) begin
      busy_q <= 1'b0;
      wr_en_o <= 1'b0;
    end else begin
      if (start_i) begin
        busy_q <= 1'b1;
        got_q <= '0;
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

  always_ff @(posedge clk_i)
    if (arrives) for (int unsigned l = 0; l < Lanes; l++) wr_data_o[l] <= from_bus ? bus_i[l] : reduce_i[l];
endmodule
