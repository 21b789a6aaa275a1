// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Words of a port from rows: RowW bits each, laid end to end in the words, lowest bits first. A polynomial begins with
// a new word: last_i marks its last row, and what the last word has behind it is zero; last_o marks that word.
//
// Latency     1 cycle from a row to its first word
// Throughput  one word (or row, if wider) per cycle while rows come when asked for
// Ranges      any widths. ready_o follows ready_i in the same cycle.

module rf_unpack #(
  parameter int unsigned RowW = 864,
  parameter int unsigned WordW = 512
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [RowW-1:0]  data_i,
  input  logic             last_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [WordW-1:0] data_o,
  output logic             last_o
);
  rf_gearbox #(.InW(RowW), .OutW(WordW), .Pad(1'b1)) u_gearbox (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .last_i, .valid_o, .ready_i, .end_i(1'b0), .data_o, .last_o
  );
endmodule
