// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A level from another clock, through two registers.
//
// Function    q_o follows d_i two or three edges later
// Latency     2 cycles
// Throughput  levels that stay for more than a cycle of clk_i; each bit for itself
// Ranges      d_i comes from a register of its clock
//
// For timing: no constraint on the way into meta_q.

module rf_sync #(
    parameter int unsigned Width = 1
) (
    input  logic             clk_i,
    input  logic [Width-1:0] d_i,
    output logic [Width-1:0] q_o
);

  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] meta_q, q;

  always_ff @(posedge clk_i) begin
    meta_q <= d_i;
    q <= meta_q;
  end

  assign q_o = q;

endmodule
