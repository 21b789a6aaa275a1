// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_fifo, beside counts of the beats that came and went. The degree changes only while no beat of an
// RLWE is inside or has come without the others; the order of beats is that of rf_fifo, proved there.

module psi_fifo_formal
  import psi_pkg::*;
#(
  parameter int unsigned MaxLogN = 7,
  parameter int unsigned Slots = 1,
  localparam int unsigned Depth = Slots << (MaxLogN - 2),
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned BeatW = MaxLogN - 2
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [DegreeW-1:0] log_n_i,
  input logic               valid_i,
  input logic               ready_o,
  input logic               valid_o,
  input logic               ready_i,
  input logic               whole_o,
  input logic               full_o,
  input logic [CountW-1:0]  count_o,
  // inside, for induction
  input logic [BeatW-1:0]   in_q,
  input logic [BeatW-1:0]   out_q,
  input logic [CountW-1:0]  whole_q
);
  logic started_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end

  // Beats inside, and of the RLWE that comes.
  logic [31:0] length, inside_q, part_q;
  logic        push, pop;

  assign length = 32'd1 << (log_n_i - DegreeW'(2));
  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= '0;
      part_q <= '0;
    end else begin
      inside_q <= inside_q + 32'(push) - 32'(pop);
      if (push) part_q <= part_q + 1 == length ? '0 : part_q + 1;
    end
  end

  // The degree.
  logic               after_q = 1'b0;
  logic [DegreeW-1:0] was_q;
  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    was_q <= log_n_i;
    assume (log_n_i >= DegreeW'(6) && 32'(log_n_i) <= MaxLogN);
    if (after_q && (inside_q != '0 || part_q != '0)) assume (log_n_i == was_q);
  end

  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni) begin
      // it never holds more than fits, nor gives what it does not hold
      p_room: assert (inside_q <= Depth && (!valid_o || inside_q != '0));
      // the count is that of the beats inside
      p_count: assert (32'(count_o) == inside_q);
      // it tells of a whole RLWE exactly while beats are inside of one whose last beat has come
      p_whole: assert (whole_o == (inside_q > part_q));
      // it tells that it is full exactly while another whole RLWE would not fit
      p_full: assert (full_o == (inside_q + length > Depth));
      // beats of whole RLWEs that have not gone and of the one that comes are all there is
      p_sum: assert (inside_q + 32'(out_q) == (32'(whole_q) << (log_n_i - DegreeW'(2))) + 32'(in_q));
      // of an RLWE so many beats have come, and of one so many have gone
      p_beats: assert (32'(in_q) == part_q && part_q < length && 32'(out_q) < length);
    end
  end
endmodule

bind psi_fifo psi_fifo_formal #(.MaxLogN(MaxLogN), .Slots(Slots)) u_formal (.*);
