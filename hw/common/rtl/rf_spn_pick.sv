// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Picks the twiddles of a row's butterflies out of a row of their table, for transforms of many lanes.
//
// Function: a row of a transform stage with stride t = 2^log_stride_i has Lanes/(2t) blocks, or is part of one if
//   t >= Lanes/2. Their twiddles are neighbours in data_i, from first_i on, a multiple of their number. w_o[j] is the
//   one of the block that holds the words of lanes (j, j + Lanes/2) behind rf_spn_stage; with mirrored_i blocks count
//   from the end.
// Latency 2, throughput one row per cycle while en_i. Settings belong to the row on data_i in the same cycle.
// Ranges: Lanes a power of two, at least 4.
//
// Stages: 1 the neighbours move to the front, in Lanes - 1 switches; 2 each lane takes one of log2(Lanes) places, and
// lanes turn round if mirrored. A multiplexer of all words for each lane would be Lanes/2 times Lanes - 1 switches.

module rf_spn_pick #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 16,
  localparam int unsigned LogLanes = $clog2(Lanes)
) (
  input  logic                clk_i,
  input  logic                en_i,
  input  logic [4:0]          log_stride_i,
  input  logic [LogLanes-1:0] first_i,
  input  logic                mirrored_i,
  input  logic [W-1:0]        data_i [Lanes],
  output logic [W-1:0]        w_o    [Lanes/2]
);
  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned Top = LogLanes - 1;
  localparam int unsigned PlaceBits = $clog2(LogLanes);

  if (Lanes < 4 || Lanes != 2 ** LogLanes) begin : g_check
    $error("rf_spn_pick: Lanes must be a power of two, at least 4");
  end

  logic [W-1:0]         front [LogLanes+1][Lanes];
  logic [W-1:0]         front_q [Half];
  logic [PlaceBits-1:0] place_q;  // log2 of the stride, Top if there is only one block
  logic                 mirrored_q;
  logic [W-1:0]         picked [Half];

  // Block, among those of a row of stride 2^a, of butterfly j: lane bit a is the top bit of a word's place in the row,
  // the bits above a follow.
  function automatic int unsigned block(int unsigned j, int unsigned a);
    return a >= Top ? 0 : (j[a] ? 1 << (Top - 1 - a) : 0) | (j >> (a + 1));
  endfunction

  always_comb begin
    front[0] = data_i;
    for (int unsigned s = 0; s < LogLanes; s++)
      for (int unsigned l = 0; l < Lanes; l++)
        front[s+1][l] = l < 1 << (Top - s) && first_i[Top-s] ? front[s][(l+(1<<(Top-s)))%Lanes] : front[s][l];
  end

  always_comb begin
    for (int unsigned j = 0; j < Half; j++) begin
      picked[j] = front_q[0];
      for (int unsigned a = 0; a < Top; a++) if (place_q == PlaceBits'(a)) picked[j] = front_q[block(j, a)];
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      for (int unsigned l = 0; l < Half; l++) front_q[l] <= front[LogLanes][l];
      place_q <= log_stride_i < 5'(Top) ? PlaceBits'(log_stride_i) : PlaceBits'(Top);
      mirrored_q <= mirrored_i;
      for (int unsigned j = 0; j < Half; j++) w_o[j] <= mirrored_q ? picked[Half-1-j] : picked[j];
    end
  end
endmodule
