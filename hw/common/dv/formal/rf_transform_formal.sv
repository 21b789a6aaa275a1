// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What a transform unit that lends its butterflies promises about the array. Assumed: the operation is held.

module rf_transform_formal (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [1:0] op_i,
  input logic       core_soon_o,
  input logic       core_valid_o
);
  logic started_q = 1'b0;
  logic [1:0] op_q;
  logic [rf_pkg::BankLatency-1:0] soon_q, reset_q;

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    op_q <= op_i;
    assume (started_q || !rst_ni);
    assume (!started_q || op_i == op_q);
    soon_q <= {soon_q[rf_pkg::BankLatency-2:0], core_soon_o};
    reset_q <= {reset_q[rf_pkg::BankLatency-2:0], !rst_ni};
    if (!started_q) reset_q <= '1;
  end

  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni) begin
      // no row comes to the array that was not announced
      p_announced: assert (!core_valid_o || soon_q[rf_pkg::BankLatency-1]);
      // every row that was announced comes, unless a reset was in between
      p_comes: assert (core_valid_o || !soon_q[rf_pkg::BankLatency-1] || reset_q != '0);
      // automorphisms need no array
      p_automorphism: assert (!(core_valid_o && op_i[1]));
    end
  end
endmodule

bind rf_transform rf_transform_formal u_formal (.*);
