// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Delays lines of words by Depth >= 1 clocks while en_i is high; en_i low holds them.
//
// Latency Depth, throughput one line per clock. The last step is a register; what comes before is a ring in memory, read
// at the place that is written next (LUT memory), which simulates faster than a chain of registers. The ring's pointer
// needs no start: wherever it stands, a line comes back after one round.

module psi_stream_delay #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 8,
  parameter int unsigned Depth = 4
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [W-1:0] x_i [Lanes],
  output logic [W-1:0] x_o [Lanes]
);
  if (W < 1 || Lanes < 1 || Depth < 1) begin : g_check
    $error("psi_stream_delay: W, Lanes and Depth must be at least 1");
  end

  if (Depth < 4) begin : g_chain
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(Depth)) u_delay (.clk_i, .en_i, .x_i, .x_o);
  end else begin : g_ring
    localparam int unsigned Rows = Depth - 1;
    localparam int unsigned PtrW = $clog2(Rows);
    logic [Lanes*W-1:0] ring [Rows];
    logic [PtrW-1:0]    at_q;

    // A pointer beyond the ring, as it may be at the beginning, goes to its start.
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        if (at_q < PtrW'(Rows - 1)) at_q <= at_q + 1'b1;
        else at_q <= '0;
      end
    end

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        automatic logic [Lanes*W-1:0] line;
        for (int unsigned l = 0; l < Lanes; l++) line[l*W+:W] = x_i[l];
        ring[at_q] <= line;
      end
    end

    always_ff @(posedge clk_i)
      if (en_i) for (int unsigned l = 0; l < Lanes; l++) x_o[l] <= ring[at_q][l*W+:W];
  end
endmodule
