// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Partial-sum reduction unit: adds the same residue polynomial of all groups, one row per cycle, and gives the sum
// to every group.
//
// Function: element index j is served when its elements of all groups ask (req_i[j]); the lowest j goes first. All
//   are told to go in one cycle, so their rows come together; an adder tree with a register per level sums them.
// Ranges: rows in [0, q), q of the served elements (q_i[j], the same in every group).
// Latency: 2 + ceil(log2 Groups) cycles from a row to the sum.
module matvec_reduce #(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Groups = 2,
    parameter int unsigned Pes = 7,
    parameter int unsigned RowBits = 11,
    localparam int unsigned PeBits = Pes > 1 ? $clog2(Pes) : 1,
    localparam int unsigned Levels = $clog2(Groups),
    localparam int unsigned Leaves = 1 << Levels
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [RowBits:0] rows_i,
    input  logic [  Pes-1:0] req_i      [Groups],
    input  logic [    W-1:0] q_i        [Pes],
    output logic [  Pes-1:0] go_o,
    input  logic [  Pes-1:0] row_valid_i,             // of group 0
    input  logic [    W-1:0] row_i      [Groups][Pes][Lanes],
    output logic [  Pes-1:0] valid_o,
    output logic [    W-1:0] sum_o      [Lanes]
);
  logic active_q, found;
  logic [PeBits-1:0] served_q, candidate;
  logic [RowBits:0] left_q;
  /* verilator lint_off UNUSEDSIGNAL */  // a single group adds nothing
  logic [W-1:0] mod_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [Levels:0] valid_q;
  logic [W-1:0] tree_q[Levels+1][Leaves][Lanes];
  logic [Pes-1:0] asked;

  always_comb begin
    asked = '1;
    for (int unsigned g = 0; g < Groups; g++) asked = asked & req_i[g];
    found = 1'b0;
    candidate = '0;
    for (int i = int'(Pes) - 1; i >= 0; i--)
      if (asked[i]) begin
        found = 1'b1;
        candidate = PeBits'(i);
      end
  end

  // Counts rows out of the tree, so that the next transfer cannot overtake this one's last rows.
  always_ff @(posedge clk_i) begin
    go_o <= '0;
    valid_o <= '0;
    valid_q <= (Levels + 1)'({valid_q, active_q && row_valid_i[served_q]});
    if (!rst_ni) begin
      active_q <= 1'b0;
      valid_q <= '0;
    end else if (!active_q) begin
      if (found) begin
        active_q <= 1'b1;
        served_q <= candidate;
        mod_q <= q_i[candidate];
        left_q <= rows_i;
        go_o[candidate] <= 1'b1;
      end
    end else if (valid_q[Levels]) begin
      valid_o[served_q] <= 1'b1;
      left_q <= left_q - 1;
      active_q <= left_q != 1;
    end
  end

  for (genvar v = 1; v <= Levels; v++) begin : g_levels
    for (genvar g = 0; g < (Leaves >> v); g++) begin : g_nodes
      logic [W-1:0] sum[Lanes];
      rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (
          .a_i(tree_q[v-1][2*g]), .b_i(tree_q[v-1][2*g+1]), .q_i(mod_q), .r_o(sum)
      );
      always_ff @(posedge clk_i) if (active_q) tree_q[v][g] <= sum;
    end
  end

  always_ff @(posedge clk_i) begin
    if (active_q) begin
      for (int unsigned g = 0; g < Leaves; g++)
        for (int unsigned l = 0; l < Lanes; l++) tree_q[0][g][l] <= g < Groups ? row_i[g][served_q][l] : '0;
      sum_o <= tree_q[Levels][0];
    end
  end
endmodule
