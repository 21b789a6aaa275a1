// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rows from the words of a port: RowW bits each, laid end to end in the words, lowest bits first. A polynomial begins
// with a new word: end_i, given while its last row is shown, drops what lies behind that row when it is taken.
//
// Latency     1 cycle from the word that completes a row
// Throughput  one word (or row, if wider) per cycle while rows are taken when shown
// Ranges      any widths; rows of one polynomial come in ceil(rows * RowW / WordW) words. ready_o follows ready_i and
//             end_i in the same cycle.

module rf_pack #(
  parameter int unsigned WordW = 512,
  parameter int unsigned RowW = 864
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [WordW-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  input  logic             end_i,
  output logic [RowW-1:0]  data_o
);
  logic last;

  rf_gearbox #(.InW(WordW), .OutW(RowW), .Pad(1'b0)) u_gearbox (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .last_i(1'b0), .valid_o, .ready_i, .end_i, .data_o, .last_o(last)
  );

  logic unused;
  assign unused = last;
endmodule
