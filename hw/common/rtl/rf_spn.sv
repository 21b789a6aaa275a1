// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Streaming permutation network, spatial - temporal - spatial, without a crossbar.
//
// Function: permutes a stream of rows of Lanes words. Each spatial network is log2(Lanes) stages of 2x2
//   switches; stage s exchanges lanes whose numbers differ in one bit: the first network goes from the top
//   lane bit down to bit 0, the second from bit 0 up to the top. The temporal part exchanges the upper halves
//   of the two rows of a pair (pair_i), which with the half-rotations around it transposes 2x2 half rows.
//   Permutations that reach further in time are made by the order in which rows are read (rf_spn_agu), so
//   that two words per lane are all the storage needed.
// Settings belong to the row on data_i in the same cycle: swap_in_i/swap_out_i[s][l] exchange lane l with its
//   partner in stage s (both lanes of a pair carry the same bit); pair_i, odd_i: temporal exchange on, and
//   whether this is the second row of its pair. With pair_i, rows come in pairs without a gap between the two.
// Latency: rf_pkg::SpnLatency (4). Throughput: one row per cycle while en_i.
// Source: C. Zhao et al., NTTGen / streaming permutation network, folded Benes; the two-row temporal part is ours.
module rf_spn #(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    localparam int unsigned LogLanes = $clog2(Lanes)
) (
    input  logic             clk_i,
    input  logic             en_i,
    input  logic [Lanes-1:0] swap_in_i [LogLanes],
    input  logic             pair_i,
    input  logic             odd_i,
    input  logic [Lanes-1:0] swap_out_i[LogLanes],
    input  logic [    W-1:0] data_i    [Lanes],
    output logic [    W-1:0] data_o    [Lanes]
);
  localparam int unsigned Half = Lanes / 2;

  logic [W-1:0] in_d[LogLanes+1][Lanes];
  logic [W-1:0] out_d[LogLanes+1][Lanes];
  logic [W-1:0] first_q[Lanes];   // after the first network
  logic [W-1:0] hold_q[Lanes];    // one row earlier
  logic [W-1:0] before_q[Half];   // upper half, two rows earlier
  logic [W-1:0] middle_q[Lanes];  // after the temporal exchange
  logic [Lanes-1:0] swap_q[3][LogLanes];
  logic pair_q[2], odd_q[2];

  always_comb begin
    in_d[0] = data_i;
    for (int unsigned s = 0; s < LogLanes; s++)
      for (int unsigned l = 0; l < Lanes; l++)
        in_d[s+1][l] = swap_in_i[s][l] ? in_d[s][l^(1<<(LogLanes-1-s))] : in_d[s][l];
    out_d[0] = middle_q;
    for (int unsigned s = 0; s < LogLanes; s++)
      for (int unsigned l = 0; l < Lanes; l++)
        out_d[s+1][l] = swap_q[2][s][l] ? out_d[s][l^(1<<s)] : out_d[s][l];
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      first_q <= in_d[LogLanes];
      hold_q  <= first_q;
      for (int unsigned l = 0; l < Half; l++) begin
        before_q[l] <= hold_q[l+Half];
        middle_q[l] <= hold_q[l];
        // hold_q is the row this output stands for: its partner is the next row or the one before.
        middle_q[l+Half] <= !pair_q[1] ? hold_q[l+Half] : odd_q[1] ? before_q[l] : first_q[l+Half];
      end
      data_o <= out_d[LogLanes];
      swap_q[0] <= swap_out_i;
      swap_q[1] <= swap_q[0];
      swap_q[2] <= swap_q[1];
      pair_q[0] <= pair_i;
      pair_q[1] <= pair_q[0];
      odd_q[0]  <= odd_i;
      odd_q[1]  <= odd_q[0];
    end
  end
endmodule
