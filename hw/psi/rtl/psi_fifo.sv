// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// FIFO of RLWEs: beats of four words of a and four of b, and whether a whole RLWE is inside.
//
// Latency     as rf_fifo
// Throughput  one beat in and one out per cycle
// Ranges      holds Slots RLWEs of degree 2^MaxLogN, or more of a lower degree; log_n_i does not change while it holds
//             any. whole_o: another RLWE can be taken without a gap; full_o: no room for another whole one.
module psi_fifo
  import psi_pkg::*;
#(
    parameter int unsigned W = 27,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned Slots = 4,
    localparam int unsigned Depth = Slots << (MaxLogN - 2),
    localparam int unsigned CountW = $clog2(Depth + 1)
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [DegreeW-1:0] log_n_i,
    input  logic               valid_i,
    output logic               ready_o,
    input  logic [W-1:0]       data_i [2*Coefficients],
    output logic               valid_o,
    input  logic               ready_i,
    output logic [W-1:0]       data_o [2*Coefficients],
    output logic               whole_o,
    output logic               full_o,
    output logic [CountW-1:0]  count_o             // beats inside
);
  if (MaxLogN < 6 || MaxLogN > MostLogN || Slots < 1) begin : g_check
    $error("psi_fifo: MaxLogN must be 6 to %0d, Slots at least 1", MostLogN);
  end

  localparam int unsigned BeatW = MaxLogN - 2;

  logic [2*Coefficients*W-1:0] in, out;
  logic [BeatW-1:0]     in_q, out_q, last;  // beats of the RLWE that comes, of the one that goes
  logic [CountW-1:0]    whole_q;            // RLWEs whose last beat has come and not gone
  logic                 push, pop, came, went;

  always_comb
    for (int unsigned l = 0; l < 2 * Coefficients; l++) begin
      in[W*l+:W] = data_i[l];
      data_o[l] = out[W*l+:W];
    end

  rf_fifo #(.Width(2 * Coefficients * W), .Depth(Depth)) u_beats (
      .clk_i, .rst_ni, .valid_i, .ready_o, .data_i(in), .valid_o, .ready_i, .data_o(out), .count_o
  );

  assign last = BeatW'((32'd1 << (log_n_i - DegreeW'(2))) - 32'd1);
  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;
  assign came = push && in_q == last;
  assign went = pop && out_q == last;
  assign whole_o = whole_q != '0;
  assign full_o = CountW'(Depth) - count_o <= CountW'(last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_q <= '0;
      out_q <= '0;
      whole_q <= '0;
    end else begin
      if (push) in_q <= came ? '0 : in_q + 1'b1;
      if (pop) out_q <= went ? '0 : out_q + 1'b1;
      if (came && !went) whole_q <= whole_q + 1'b1;
      if (went && !came) whole_q <= whole_q - 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) assert (!went || whole_q != '0) else $error("an RLWE leaves that has not come");
`endif
endmodule
