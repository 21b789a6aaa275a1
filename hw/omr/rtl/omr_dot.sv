// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Integer sums of products of words with constants, lane by lane, not reduced: Sources products a cycle, over as many
// cycles as last from first_i on.
//
// Function    sum = sum of d[s] * c[s] over all sources s and the cycles from the last one with first_i to this one
// Latency     4 + ceil(log2 Sources) + 1 from operands to the sum that has them in it; busy_i low holds the pipeline
// Throughput  Sources products per lane and cycle
// Ranges      c below q, or 0; sums below q * 2^(W + Extra): at most 2^Extra - 1 products. With Twin the sum is that
//             of rf_mod_mul's products, modulo q; q_i, k_i serve only it.
//
// Stages: 1 operands; 2-4 products; then a tree of adders, one level a stage; and the sum.
//
// As synthesised by Yosys, a lane and source: 6 DSP slices at W = 54, 12 at W = 60.

module omr_dot #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 4,
  parameter int unsigned Sources = 1,
  parameter int unsigned Extra = 6,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  localparam int unsigned SumW = Twin ? W : 2 * W + Extra
) (
  input  logic            clk_i,
  input  logic            en_i,
  input  logic            first_i,   // with operands
  input  logic [W-1:0]    d_i [Sources][Lanes],
  input  logic [W-1:0]    c_i [Sources],
  /* verilator lint_off UNUSEDSIGNAL */
  input  logic [W-1:0]    q_i,
  input  logic [63:0]     k_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic [SumW-1:0] sum_o [Lanes]
);
  localparam int unsigned Levels = $clog2(Sources);
  localparam int unsigned Depth = 4 + Levels;  // to what the tree gives

  logic [Depth-1:0] first_q;
  logic [SumW-1:0]  tree [Lanes];

  always_ff @(posedge clk_i) if (en_i) first_q <= {first_q[Depth-2:0], first_i};

  if (Twin) begin : g_twin
    logic [63:0]  k;
    logic [W-1:0] part [Lanes];

    assign k = rf_pkg::twin_constant(Kind, 64'(q_i), k_i);
    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) part[l] = '0;
      for (int unsigned s = 0; s < Sources; s++) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          automatic logic [63:0] p = rf_pkg::twin_multiply(
              Kind, W, rf_pkg::MontgomeryWord, 64'(c_i[s]), 64'(d_i[s][l]), 64'(q_i), k
          );
          part[l] = W'(rf_pkg::twin_add(64'(part[l]), p, 64'(q_i)));
        end
      end
    end
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(Depth)) u_delay (.clk_i, .en_i, .x_i(part), .x_o(tree));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          sum_o[l] <= first_q[Depth-1] ? tree[l] : W'(rf_pkg::twin_add(64'(sum_o[l]), 64'(tree[l]), 64'(q_i)));
        end
      end
    end
  end else begin : g_hardware
    // Level 0 has the products, level Levels the sum of all; a level's odd last number goes on as it is.
    logic [SumW-1:0] level [Levels+1][Sources][Lanes];

    for (genvar s = 0; s < int'(Sources); s++) begin : g_source
      logic [W-1:0]   d_q [Lanes], c_q [Lanes];
      logic [2*W-1:0] zero [Lanes], product [Lanes];

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          d_q <= d_i[s];
          for (int unsigned l = 0; l < Lanes; l++) c_q[l] <= c_i[s];
        end
      end
      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          zero[l] = '0;
          level[0][s][l] = SumW'(product[l]);
        end
      end
      rf_mul_tiled #(.WA(W), .WB(W), .Lanes(Lanes)) u_mul (
          .clk_i, .en_i, .a_i(d_q), .b_i(c_q), .c_i(zero), .p_o(product)
      );
    end

    for (genvar i = 0; i < int'(Levels); i++) begin : g_level
      localparam int unsigned Left = (Sources + (1 << i) - 1) >> i;  // numbers of this level
      for (genvar s = 0; s < int'(Sources); s++) begin : g_number
        if (2 * s + 1 < Left) begin : g_pair
          always_ff @(posedge clk_i) begin
            /* verilator unroll_disable */
            if (en_i) for (int unsigned l = 0; l < Lanes; l++) level[i+1][s][l] <= level[i][2*s][l] + level[i][2*s+1][l];
          end
        end else if (2 * s < Left) begin : g_odd
          always_ff @(posedge clk_i) if (en_i) level[i+1][s] <= level[i][2*s];
        end else begin : g_none
          for (genvar l = 0; l < int'(Lanes); l++) begin : g_lane
            assign level[i+1][s][l] = '0;
          end
        end
      end
    end
    assign tree = level[Levels][0];

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) sum_o[l] <= (first_q[Depth-1] ? '0 : sum_o[l]) + tree[l];
      end
    end
  end
endmodule
