// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Delay commutator: exchanges the second lines of the first half of a block with the first lines of its second half.
//
// Function    A block is 2*Depth clocks of line pairs (x, y); t counts its clocks. Depth clocks later come the pairs
//             (x[t], x[t+Depth]) for t < Depth, then (y[t], y[t+Depth]): what was apart by Depth clocks is side by side,
//             and the other way round. The same network does both directions of a transform.
// Latency     Depth
// Throughput  one pair of lines per clock; blocks follow each other at once, or after any pause
// Ranges      phase_i is 1 in the second half of a block, and 0 for Depth clocks after its last; en_i low holds all

module psi_stream_commute #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 8,
  parameter int unsigned Depth = 4
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic         phase_i,
  input  logic [W-1:0] x_i [Lanes],
  input  logic [W-1:0] y_i [Lanes],
  output logic [W-1:0] x_o [Lanes],
  output logic [W-1:0] y_o [Lanes]
);
  logic [W-1:0] later [Lanes];
  logic [W-1:0] upper [Lanes];

  psi_stream_delay #(.W(W), .Lanes(Lanes), .Depth(Depth)) u_before (.clk_i, .en_i, .x_i(y_i), .x_o(later));

  assign upper = phase_i ? later : x_i;
  assign y_o = phase_i ? x_i : later;

  psi_stream_delay #(.W(W), .Lanes(Lanes), .Depth(Depth)) u_after (.clk_i, .en_i, .x_i(upper), .x_o(x_o));
endmodule
