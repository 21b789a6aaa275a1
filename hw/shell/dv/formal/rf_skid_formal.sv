// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_skid, beside a queue of two words.

module rf_skid_formal #(
  parameter int unsigned Width = 2
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_o,
  input logic [Width-1:0] data_i,
  input logic             valid_o,
  input logic             ready_i,
  input logic [Width-1:0] data_o,
  input logic             valid_q,
  input logic             spare_valid_q,
  input logic [Width-1:0] spare_q
);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end

  logic [Width-1:0] words_q [2];
  logic [1:0]       count_q;
  logic             push, pop;

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    if (pop) words_q[0] <= words_q[1];
    if (push && count_q - 2'(pop) == 2'd0) words_q[0] <= data_i;
    if (push && count_q - 2'(pop) == 2'd1) words_q[1] <= data_i;
    if (!rst_ni) count_q <= '0;
    else count_q <= count_q + 2'(push) - 2'(pop);
  end

  logic             held_q = 1'b0;
  logic [Width-1:0] before_q;
  always_ff @(posedge clk_i) begin
    held_q <= rst_ni && valid_o && !ready_i;
    before_q <= data_o;
  end

  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni) begin
      // no more than two words are inside
      p_capacity: assert (count_q <= 2'd2);
      // it takes a word exactly while fewer than two are inside
      p_ready: assert (ready_o == (count_q != 2'd2));
      // it gives a word exactly while one is inside
      p_valid: assert (valid_o == (count_q != 2'd0));
      // words come out in order, none lost, none twice
      p_order: assert (!valid_o || data_o == words_q[0]);
      // a word that is not taken stays
      p_stable: assert (!held_q || (valid_o && data_o == before_q));
      // the second word waits in the spare register
      p_spare: assert (spare_valid_q == (count_q == 2'd2) && (!spare_valid_q || (valid_q && spare_q == words_q[1])));
    end
  end
endmodule

bind rf_skid rf_skid_formal #(.Width(Width)) u_formal (.*);
