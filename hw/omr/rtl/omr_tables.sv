// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A way's tables: moduli with what the cells need beside them, and constants.
//
// Latency     an entry comes the cycle after its index; the index need not be held
// Throughput  every reader an entry a cycle, and one write of each table
// Ranges      moduli shifted left by `shift`, as residues in the wide buffers stand; constants are unshifted residues.
//             Every reader has a memory of its own (LUT memory for moduli, block memory for constants).

module omr_tables
  import omr_pkg::*;
#(
    parameter int unsigned W = 60,
    parameter int unsigned ModulusReaders = 8,
    parameter int unsigned ConstantReaders = 3
) (
    input  logic                      clk_i,
    input  logic                      modulus_we_i,
    input  logic [ModulusIndexW-1:0]  modulus_waddr_i,
    input  logic [W-1:0]              q_i,
    input  logic [63:0]               k_i,
    input  logic [2:0]                shift_i,
    input  logic                      constant_we_i,
    input  logic [ConstantIndexW-1:0] constant_waddr_i,
    input  logic [W-1:0]              constant_i,

    input  logic [ModulusIndexW-1:0]  modulus_index_i [ModulusReaders],
    output logic [W-1:0]              q_o     [ModulusReaders],
    output logic [63:0]               k_o     [ModulusReaders],
    output logic [2:0]                shift_o [ModulusReaders],
    input  logic [ConstantIndexW-1:0] constant_index_i [ConstantReaders],
    output logic [W-1:0]              constant_o [ConstantReaders]
);
  localparam int unsigned EntryW = W + 64 + 3;

  for (genvar r = 0; r < ModulusReaders; r++) begin : g_modulus
    logic [EntryW-1:0] mem [Moduli];
    logic [EntryW-1:0] entry_q;

    always_ff @(posedge clk_i) begin
      if (modulus_we_i) mem[modulus_waddr_i] <= {q_i, k_i, shift_i};
      entry_q <= mem[modulus_index_i[r]];
    end
    assign {q_o[r], k_o[r], shift_o[r]} = entry_q;
  end

  for (genvar r = 0; r < ConstantReaders; r++) begin : g_constant
    logic [W-1:0] mem [Constants];
    logic [W-1:0] word_q;

    always_ff @(posedge clk_i) begin
      if (constant_we_i) mem[constant_waddr_i] <= constant_i;
      word_q <= mem[constant_index_i[r]];
    end
    assign constant_o[r] = word_q;
  end
endmodule
