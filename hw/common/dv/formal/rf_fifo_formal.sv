// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_fifo, beside a queue that is shifted instead of addressed. The last property ties its words to the
// memory, which is what induction needs; it is for depths below 128, where the memory is read at once. From there on
// the queue holds 8 words only: enough for the 8 cycles after reset that a bounded proof can look at.

module rf_fifo_formal #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4,
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1,
  localparam int unsigned Words = (Depth < 128) ? Depth : 8
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              valid_i,
  input logic              ready_o,
  input logic [Width-1:0]  data_i,
  input logic              valid_o,
  input logic              ready_i,
  input logic [Width-1:0]  data_o,
  input logic [CountW-1:0] count_o,
  input logic [Width-1:0]  mem [Depth],
  input logic [PtrW-1:0]   rptr_q,
  input logic [PtrW-1:0]   wptr_q
);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end

  // The queue: words in order, oldest first.
  logic [Width-1:0]  words_q [Words];
  logic [CountW-1:0] words_count_q;
  logic              push, pop;

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Words; i++) begin
      if (pop && i + 1 < Words) words_q[i] <= words_q[i+1];
      if (push && i == 32'(words_count_q) - 32'(pop)) words_q[i] <= data_i;
    end
    if (!rst_ni) words_count_q <= '0;
    else words_count_q <= words_count_q + CountW'(push) - CountW'(pop);
  end

  // What was there before this cycle.
  logic             held_q = 1'b0;
  logic [Width-1:0] data_q;
  always_ff @(posedge clk_i) begin
    held_q <= rst_ni && valid_o && !ready_i;
    data_q <= data_o;
  end

  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni) begin
      // never more words than fit
      p_capacity: assert (32'(count_o) <= Depth);
      // the count is that of the words put in and not yet taken
      p_count: assert (count_o == words_count_q);
      // it takes a word exactly while it is not full
      p_ready: assert (ready_o == (32'(words_count_q) != Depth));
      // it gives no word that was not put in
      p_valid: assert (!valid_o || words_count_q != '0);
      // words come out in order, none lost, none twice
      p_order: assert (!valid_o || data_o == words_q[0]);
      // a word that is not taken stays
      p_stable: assert (!held_q || (valid_o && data_o == data_q));
    end
  end

  if (Depth < 128) begin : g_small
    logic stored;
    always_comb begin
      stored = 1'b1;
      for (int unsigned i = 0; i < Depth; i++)
        stored &= i >= 32'(words_count_q) || mem[(32'(rptr_q) + i) % Depth] == words_q[i];
    end

    always_ff @(posedge clk_i) begin
      if (started_q && rst_ni) begin
        // a word is given as soon as there is one
        p_at_once: assert (valid_o == (words_count_q != '0));
        // addresses stay in the memory
        p_pointers: assert (32'(rptr_q) < Depth && 32'(wptr_q) == (32'(rptr_q) + 32'(words_count_q)) % Depth);
        // every word stands at its address
        p_stored: assert (stored);
      end
    end
  end
endmodule

bind rf_fifo rf_fifo_formal #(.Width(Width), .Depth(Depth)) u_formal (.*);
