// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A chain of register slices for a valid/ready stream, for long ways over the die.
//
// Function    Stages x rf_skid, one after the other; with none the stream passes through unchanged
// Latency     Stages cycles
// Throughput  one word per cycle
// Ranges      holds up to two words a stage

module rf_slices #(
    parameter int unsigned Width = 32,
    parameter int unsigned Stages = 1
) (
    // With no stage neither is used.
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic             clk_i,
    input  logic             rst_ni,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);

  logic [Stages:0]            valid, ready;
  logic [Stages:0][Width-1:0] data;

  assign valid[0] = valid_i;
  assign data[0] = data_i;
  assign ready_o = ready[0];
  assign valid_o = valid[Stages];
  assign data_o = data[Stages];
  assign ready[Stages] = ready_i;

  for (genvar i = 0; i < Stages; i++) begin : g_stages
    rf_skid #(
        .Width(Width)
    ) u_skid (
        .clk_i,
        .rst_ni,
        .valid_i(valid[i]),
        .ready_o(ready[i]),
        .data_i(data[i]),
        .valid_o(valid[i+1]),
        .ready_i(ready[i+1]),
        .data_o(data[i+1])
    );
  end

endmodule
