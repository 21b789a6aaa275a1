// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Show-ahead FIFO: data_o is the oldest word whenever valid_o is high; ready_i takes it.
//
// Latency     a word is visible 1 cycle after it was accepted (Depth < 128), or 3 cycles (Depth >= 128)
// Throughput  one word in and one word out per cycle (Depth >= 2)
// Ranges      Depth >= 1, any number. ready_o depends on registers only, so a full FIFO takes no word in the cycle
//             that it gives one.
//
// Small FIFOs read their memory combinationally (distributed RAM). From 128 words on the memory has a registered read
// followed by an output register (block RAM); words move ahead through both as soon as there is room.
// count_o counts all words inside, those two registers included; the capacity is exactly Depth.

module rf_fifo #(
    parameter int unsigned Width = 32,
    parameter int unsigned Depth = 16,
    localparam int unsigned CountW = $clog2(Depth + 1)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              valid_i,
    output logic              ready_o,
    input  logic [Width-1:0]  data_i,
    output logic              valid_o,
    input  logic              ready_i,
    output logic [Width-1:0]  data_o,
    output logic [CountW-1:0] count_o
);

  if (Width < 1 || Depth < 1) begin : g_check
    $error("rf_fifo: Width and Depth must be at least 1");
  end

  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1;
  localparam logic [PtrW-1:0] LastPtr = PtrW'(Depth - 1);

  logic [Width-1:0]  mem [Depth];
  logic [PtrW-1:0]   wptr_q, rptr_q;
  logic [CountW-1:0] count_q;
  logic              push, pop, mem_re;

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;
  assign ready_o = count_q != CountW'(Depth);
  assign count_o = count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      count_q <= '0;
    end else begin
      if (push) wptr_q <= (wptr_q == LastPtr) ? '0 : wptr_q + 1'b1;
      if (mem_re) rptr_q <= (rptr_q == LastPtr) ? '0 : rptr_q + 1'b1;
      if (push && !pop) count_q <= count_q + 1'b1;
      if (!push && pop) count_q <= count_q - 1'b1;
    end
  end

  if (Depth < 128) begin : g_small
    always_ff @(posedge clk_i) if (push) mem[wptr_q] <= data_i;

    assign mem_re = pop;
    assign valid_o = count_q != '0;
    assign data_o = mem[rptr_q];
  end else begin : g_large
    logic [Width-1:0]  read_q, data_q;
    logic              read_valid_q, valid_q, advance;
    logic [CountW-1:0] mem_count_q;  // words in the memory, not yet read

    assign advance = read_valid_q && (!valid_q || ready_i);
    assign mem_re = (mem_count_q != '0) && (!read_valid_q || advance);
    assign valid_o = valid_q;
    assign data_o = data_q;

    // Read and write addresses are equal only when the memory is empty (no read) or full (no write).
    always_ff @(posedge clk_i) begin
      if (push) mem[wptr_q] <= data_i;
      if (mem_re) read_q <= mem[rptr_q];
    end

    always_ff @(posedge clk_i) if (advance) data_q <= read_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        read_valid_q <= 1'b0;
        valid_q <= 1'b0;
        mem_count_q <= '0;
      end else begin
        if (mem_re) read_valid_q <= 1'b1;
        else if (advance) read_valid_q <= 1'b0;
        if (advance) valid_q <= 1'b1;
        else if (pop) valid_q <= 1'b0;
        if (push && !mem_re) mem_count_q <= mem_count_q + 1'b1;
        if (!push && mem_re) mem_count_q <= mem_count_q - 1'b1;
      end
    end
  end

endmodule
