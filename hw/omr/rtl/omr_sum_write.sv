// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A write stream of the SUM unit: rows on their way out, the room for them, and the request that goes before them.
//
// Function    Whoever sends a row through the pipeline takes room for it first (take_i while space_o); it comes with
//             push_i any time later and finds its place. open_i comes with the first row that takes room for a part: a
//             request is made, and held until it is taken. Rows are offered from then on; done_o is high from the
//             acknowledgement to the next open_i.
// Latency     1 from a row to its offer
// Throughput  a row per clock, if no more than Depth clocks pass from take_i to the row's leaving
// Ranges      open_i only while no part is open: after reset, or done_o

module omr_sum_write #(
  parameter int unsigned Width = 240,
  parameter int unsigned Depth = 32
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             open_i,
  input  logic             take_i,
  output logic             space_o,
  input  logic             push_i,
  input  logic [Width-1:0] row_i,
  output logic             done_o,

  output logic             req_valid_o,
  input  logic             req_ready_i,
  output logic             row_valid_o,
  input  logic             row_ready_i,
  output logic [Width-1:0] row_o,
  input  logic             acked_i
);
  localparam int unsigned CountW = $clog2(Depth + 1);

  logic              asked_q, stored, pop;
  logic [CountW-1:0] room_q;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(Width), .Depth(Depth)) u_rows (
    .clk_i, .rst_ni, .valid_i(push_i), .ready_o(), .data_i(row_i), .valid_o(stored), .ready_i(pop), .data_o(row_o),
    .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign space_o = room_q != '0;
  assign row_valid_o = stored && asked_q;
  assign pop = row_valid_o && row_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      req_valid_o <= 1'b0;
      asked_q <= 1'b0;
      done_o <= 1'b0;
      room_q <= CountW'(Depth);
    end else begin
      if (open_i) req_valid_o <= 1'b1;
      else if (req_ready_i) req_valid_o <= 1'b0;
      if (req_valid_o && req_ready_i) asked_q <= 1'b1;
      else if (acked_i) asked_q <= 1'b0;
      if (open_i) done_o <= 1'b0;
      else if (acked_i) done_o <= 1'b1;
      room_q <= room_q + CountW'(pop) - CountW'(take_i);
    end
  end
endmodule
