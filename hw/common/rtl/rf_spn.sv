// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Streaming permutation network, spatial - temporal - spatial, without a crossbar.
//
// Function: permutes a stream of rows of Lanes words. Each spatial network is log2(Lanes) stages of 2x2
//   switches; stage s exchanges lanes whose numbers differ in one bit: the first network goes from the top
//   lane bit down to bit 0, the second from bit 0 up to the top. The temporal part exchanges the upper halves
//   of the two rows of a pair (pair_i), which with the half-rotations around it transposes 2x2 half rows.
//   Permutations that reach further in time are made by the order in which rows are read (rf_transform does so), so
//   that two words per lane are all the storage needed.
// Settings belong to the row on data_i in the same cycle: swap_in_i/swap_out_i[s][l] exchange lane l with its
//   partner in stage s (both lanes of a pair carry the same bit); pair_i, odd_i: temporal exchange on, and
//   whether this is the second row of its pair. With pair_i, rows come in pairs without a gap between the two.
// Latency: rf_pkg::SpnLatency + 2*Registers (4 without). Throughput: one row per cycle while en_i.
// Ranges: Lanes a power of two, at least 2; Registers < log2(Lanes): registers between the stages of each spatial
//   network, evenly spread, which cut its log2(Lanes) multiplexers in a row into Registers + 1 runs.
// Source: C. Zhao et al., NTTGen / streaming permutation network, folded Benes; the two-row temporal part is ours.
module rf_spn #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 16,
  parameter int unsigned Registers = 0,
  localparam int unsigned LogLanes = $clog2(Lanes)
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [Lanes-1:0] swap_in_i  [LogLanes],
  input  logic             pair_i,
  input  logic             odd_i,
  input  logic [Lanes-1:0] swap_out_i [LogLanes],
  input  logic [W-1:0]     data_i     [Lanes],
  output logic [W-1:0]     data_o     [Lanes]
);
  localparam int unsigned Half = Lanes / 2;
  // Cycles from data_i to the second network.
  localparam int unsigned OutAt = Registers + 3;

  if (W < 1 || Lanes < 2 || Lanes != 2 ** LogLanes) begin : g_lanes
    $error("rf_spn: Lanes must be a power of two, at least 2, and W at least 1");
  end
  if (Registers >= LogLanes) begin : g_registers
    $error("rf_spn: Registers must be less than log2(Lanes)");
  end

  // Registers before stage s, and the first stage behind register r (of which 0 is the input).
  function automatic int unsigned ranks_before(int unsigned s);
    return s * (Registers + 1) / LogLanes;
  endfunction

  function automatic int unsigned stage_behind(int unsigned r);
    return (r * LogLanes + Registers) / (Registers + 1);
  endfunction

  // Row s + r goes into stage s, which lies behind register r; the last row of each run goes into the next register.
  logic [W-1:0]     in_d [LogLanes+Registers+1][Lanes];
  logic [W-1:0]     out_d [LogLanes+Registers+1][Lanes];
  logic [W-1:0]     first_q [Lanes];   // after the first network
  logic [W-1:0]     hold_q [Lanes];    // one row earlier
  logic [W-1:0]     before_q [Half];   // upper half, two rows earlier
  logic [W-1:0]     middle_q [Lanes];  // after the temporal exchange
  logic [Lanes-1:0] swap_in [LogLanes];
  logic [Lanes-1:0] swap_out [LogLanes];
  logic [Lanes-1:0] swap_q [OutAt+Registers][LogLanes];
  logic             pair_q [Registers+2];
  logic             odd_q [Registers+2];

  if (Registers == 0) begin : g_straight
    always_comb begin
      in_d[0] = data_i;
      out_d[0] = middle_q;
      for (int unsigned s = 0; s < LogLanes; s++)
        for (int unsigned l = 0; l < Lanes; l++) begin
          in_d[s+1][l] = swap_in[s][l] ? in_d[s][l^(1<<(LogLanes-1-s))] : in_d[s][l];
          out_d[s+1][l] = swap_out[s][l] ? out_d[s][l^(1<<s)] : out_d[s][l];
        end
    end
    assign swap_in = swap_in_i;
  end else begin : g_registers_between
    logic [W-1:0]     in_q [Registers][Lanes];
    logic [W-1:0]     out_q [Registers][Lanes];
    logic [Lanes-1:0] swap_in_q [Registers][LogLanes];

    always_comb begin
      in_d[0] = data_i;
      out_d[0] = middle_q;
      for (int unsigned r = 0; r <= Registers; r++) begin
        if (r > 0) begin
          in_d[stage_behind(r)+r] = in_q[r-1];
          out_d[stage_behind(r)+r] = out_q[r-1];
        end
        for (int unsigned s = stage_behind(r); s < stage_behind(r + 1) && s < LogLanes; s++)
          for (int unsigned l = 0; l < Lanes; l++) begin
            in_d[s+r+1][l] = swap_in[s][l] ? in_d[s+r][l^(1<<(LogLanes-1-s))] : in_d[s+r][l];
            out_d[s+r+1][l] = swap_out[s][l] ? out_d[s+r][l^(1<<s)] : out_d[s+r][l];
          end
      end
    end

    always_comb begin
      for (int unsigned s = 0; s < LogLanes; s++)
        swap_in[s] = ranks_before(s) == 0 ? swap_in_i[s] : swap_in_q[ranks_before(s)-1][s];
    end

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned r = 0; r < Registers; r++) begin
          in_q[r] <= in_d[stage_behind(r+1)+r];
          out_q[r] <= out_d[stage_behind(r+1)+r];
        end
        swap_in_q[0] <= swap_in_i;
        for (int unsigned r = 1; r < Registers; r++) swap_in_q[r] <= swap_in_q[r-1];
      end
    end
  end

  always_comb for (int unsigned s = 0; s < LogLanes; s++) swap_out[s] = swap_q[OutAt-1+ranks_before(s)][s];

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      first_q <= in_d[LogLanes+Registers];
      hold_q <= first_q;
      for (int unsigned l = 0; l < Half; l++) begin
        before_q[l] <= hold_q[l+Half];
        middle_q[l] <= hold_q[l];
        // hold_q is the row this output stands for: its partner is the next row or the one before.
        middle_q[l+Half] <= !pair_q[Registers+1] ? hold_q[l+Half]
                                                 : odd_q[Registers+1] ? before_q[l] : first_q[l+Half];
      end
      data_o <= out_d[LogLanes+Registers];
      swap_q[0] <= swap_out_i;
      for (int unsigned d = 1; d < OutAt + Registers; d++) swap_q[d] <= swap_q[d-1];
      pair_q[0] <= pair_i;
      odd_q[0] <= odd_i;
      for (int unsigned d = 1; d < Registers + 2; d++) begin
        pair_q[d] <= pair_q[d-1];
        odd_q[d] <= odd_q[d-1];
      end
    end
  end
endmodule
