// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products modulo q of a stream: 4 * Starts multipliers that take 4 cycles each, of which Starts begin in every cycle.
//
// Function    r[s] = a[s] * b[s] mod q
// Latency     20
// Throughput  Starts products a cycle
// Ranges      those of aes_barrett

module aes_multipliers #(
    parameter int unsigned Starts = 64,
    localparam int unsigned W = 32
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,
    input  logic [W-1:0] a_i [Starts],
    input  logic [W-1:0] b_i [Starts],
    input  logic [W-1:0] q_i,
    input  logic [W:0]   mu_i,
    output logic [W-1:0] r_o [Starts]
);
  localparam int unsigned Phases = 4;

  // A multiplier's latency is a multiple of 4, so that its result comes when its phase does.
  logic [1:0]   phase_q;
  logic [W-1:0] r [Phases][Starts];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) phase_q <= '0;
    else phase_q <= phase_q + 2'd1;
  end

  for (genvar p = 0; p < int'(Phases); p++) begin : g_phase
    logic start;
    assign start = valid_i && phase_q == 2'(p);
    for (genvar s = 0; s < int'(Starts); s++) begin : g_lane
      aes_barrett u_mul (.clk_i, .start_i(start), .a_i(a_i[s]), .b_i(b_i[s]), .q_i, .mu_i, .r_o(r[p][s]));
    end
  end

  assign r_o = r[phase_q];
endmodule
