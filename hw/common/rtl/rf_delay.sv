// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Delays words by Depth >= 1 clocks while en_i is high; en_i low holds them. Throughput one word per lane and clock.
// A shift register, which synthesis maps to shift-register LUTs.

module rf_delay #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 1,
  parameter int unsigned Depth = 2
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [W-1:0] x_i [Lanes],
  output logic [W-1:0] x_o [Lanes]
);
  if (W < 1 || Lanes < 1 || Depth < 1) begin : g_check
    $error("rf_delay: W, Lanes and Depth must be at least 1");
  end

  logic [W-1:0] line_q [Depth][Lanes];

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      line_q[0] <= x_i;
      for (int d = 1; d < int'(Depth); d++) line_q[d] <= line_q[d-1];
    end
  end

  assign x_o = line_q[Depth-1];
endmodule
