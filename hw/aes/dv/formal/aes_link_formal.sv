// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_link, beside the beats of the last cycles.

module aes_link_formal #(
  parameter int unsigned Burst = 3,
  parameter int unsigned Gap = 2
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       valid_i,
  input logic       ready_o,
  input logic       valid_o,
  input logic       ready_i,
  // inside, for induction
  input logic [7:0] left_q,
  input logic [3:0] rest_q
);
  logic started_q = 1'b0;
  logic checked, beat, waited_q;
  logic [7:0] run_q;    // beats since a rest ended
  logic [3:0] since_q;  // cycles of rest that are over, of Gap

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
    assume (!waited_q || !rst_ni || valid_i);
  end
  assign checked = started_q && rst_ni;
  assign beat = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    waited_q <= rst_ni && valid_o && !ready_i;
    if (!rst_ni) begin
      run_q <= '0;
      since_q <= 4'(Gap);
    end else if (since_q != 4'(Gap)) begin
      since_q <= since_q + 1'b1;
    end else if (beat) begin
      run_q <= run_q == 8'(Burst - 1) ? '0 : run_q + 1'b1;
      if (run_q == 8'(Burst - 1)) since_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // both sides see the same beats
      p_same: assert ((valid_i && ready_o) == (valid_o && ready_i));
      // none passes while the link rests, and the rest lasts its cycles
      p_rests: assert (!beat || since_q == 4'(Gap));
      // else every one passes
      p_passes: assert (since_q != 4'(Gap) || (valid_o == valid_i && ready_o == ready_i));
      // what was offered stays offered until it is taken
      p_stays: assert (!waited_q || valid_o);
      // its counters say so
      p_counted: assert (left_q == 8'(Burst) - run_q && rest_q == 4'(Gap) - since_q && since_q <= 4'(Gap)
          && run_q < 8'(Burst) && (since_q == 4'(Gap) || run_q == '0) && !(waited_q && since_q != 4'(Gap)));
    end
  end
endmodule

bind aes_link aes_link_formal #(.Burst(Burst), .Gap(Gap)) u_formal (
  .left_q(g_rests.left_q), .rest_q(g_rests.rest_q), .*
);
