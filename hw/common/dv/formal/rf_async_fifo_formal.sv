// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_async_fifo from its reset state on, with clocks that tick at any moments, together or apart.
// Registers have no metastable states here. The list of words that were written is as long as a bounded proof can fill.

module rf_async_fifo_formal #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 2,
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input logic             wclk_i,
  input logic             wrst_ni,
  input logic             valid_i,
  input logic             ready_o,
  input logic [Width-1:0] data_i,
  input logic [AddrW:0]   wcount_o,
  input logic             rclk_i,
  input logic             rrst_ni,
  input logic             valid_o,
  input logic             ready_i,
  input logic [Width-1:0] data_o,
  input logic [AddrW+1:0] rcount_o
);
  localparam int unsigned Words = 16;

  always_comb begin
    assume (wrst_ni);
    assume (rrst_ni);
  end

  logic [Width-1:0] words_q [Words];
  logic [7:0]       written_q = '0;
  logic [7:0]       taken_q = '0;
  logic [7:0]       waiting;

  assign waiting = written_q - taken_q;

  always_ff @(posedge wclk_i)
    if (valid_i && ready_o) begin
      words_q[written_q[3:0]] <= data_i;
      written_q <= written_q + 8'd1;
    end

  logic             held_q = 1'b0;
  logic [Width-1:0] data_q;
  always_ff @(posedge rclk_i) begin
    if (valid_o && ready_i) taken_q <= taken_q + 8'd1;
    held_q <= valid_o && !ready_i;
    data_q <= data_o;
  end

  always_ff @(posedge wclk_i) begin
    // no more words are waiting than it holds
    p_capacity: assert (32'(waiting) <= Depth + 1);
    // it takes no word while Depth wait, and the writer's count is never less than what waits
    p_write_count: assert (32'(wcount_o) <= Depth && 32'(wcount_o) + 1 >= 32'(waiting)
        && (ready_o || 32'(wcount_o) == Depth));
  end

  always_ff @(posedge rclk_i) begin
    // it gives no word that was not written
    p_valid: assert (!valid_o || waiting != '0);
    // words come out in order, none lost, none twice
    p_order: assert (!valid_o || data_o == words_q[taken_q[3:0]]);
    // a word that is not taken stays
    p_stable: assert (!held_q || (valid_o && data_o == data_q));
    // the reader's count is never more than what is there
    p_read_count: assert (32'(rcount_o) <= 32'(waiting));
  end
endmodule

bind rf_async_fifo rf_async_fifo_formal #(.Width(Width), .Depth(Depth)) u_formal (.*);
