// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// FIFO between two clocks that know nothing of each other: words enter with wclk_i and leave with rclk_i.
//
// Function    show-ahead: data_o is the oldest word whenever valid_o is high; ready_i takes it. Pointers cross in Gray
//             code, one bit of which changes at a time, through Stages registers: a pointer that is caught while it
//             changes reads as the old one or the new one.
// Latency     a word is visible 1 write edge, then Stages + 1 read edges after it was offered; its place is free for
//             another one Stages + 1 write edges after it was taken
// Throughput  one word per edge of either clock. To keep up with the faster one, Depth is at least 2 * Stages + 4
// Ranges      Depth a power of two, at least 2; Stages at least 2. Holds Depth words, and one on its output.
//             All outputs come from registers of their own clock, but for a comparison of pointers before ready_o.
// Counts      wcount_o: words written and not yet known to be taken, at most Depth: never less than there are.
//             rcount_o: words that can be read without waiting, the one on the output included: never more than there
//             are.
// Reset       each side resets at an edge of its clock. Both are held low together for at least Stages + 1 edges of
//             each clock, else words may be lost or seen twice; which of them ends first does not matter.
//
// For timing: no constraint between the clocks but a bound on the skew of wgray_q and rgray_q, one period of the faster
// clock (set_max_delay -datapath_only, set_bus_skew). Memory is written with one clock and read into data_o with the
// other, which synthesis maps to LUTs, or to block RAM if deep.

module rf_async_fifo #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16,
  parameter int unsigned Stages = 2,
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic             wclk_i,
  input  logic             wrst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic [AddrW:0]   wcount_o,
  input  logic             rclk_i,
  input  logic             rrst_ni,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o,
  output logic [AddrW+1:0] rcount_o
);
  // Pointers count modulo twice the depth: equal when empty, Depth apart when full.
  localparam int unsigned PtrW = AddrW + 1;
  // Depth more is these two bits turned over, in Gray code.
  localparam logic [PtrW-1:0] Opposite = PtrW'(Depth) | PtrW'(Depth / 2);

  if (Width < 1) begin : g_width
    $error("rf_async_fifo: Width must be at least 1");
  end
  if (Depth < 2 || Depth != 2 ** AddrW) begin : g_depth
    $error("rf_async_fifo: Depth must be a power of two, at least 2");
  end
  if (Stages < 2) begin : g_stages
    $error("rf_async_fifo: Stages must be at least 2");
  end

  function automatic logic [PtrW-1:0] to_gray(logic [PtrW-1:0] x);
    return x ^ (x >> 1);
  endfunction

  function automatic logic [PtrW-1:0] from_gray(logic [PtrW-1:0] x);
    logic [PtrW-1:0] r = x;
    for (int unsigned i = 1; i < PtrW; i++) r = r ^ (x >> i);
    return r;
  endfunction

  logic [Width-1:0] mem [Depth];

  logic [PtrW-1:0] wptr_q, wptr_d, wgray_q;
  logic [PtrW-1:0] rptr_q, rptr_d, rgray_q;
  (* ASYNC_REG = "TRUE" *) logic [PtrW-1:0] rgray_sync_q [Stages];  // in the write clock
  (* ASYNC_REG = "TRUE" *) logic [PtrW-1:0] wgray_sync_q [Stages];  // in the read clock

  // ---- Write clock ---------------------------------------------------------------------------------
  logic push;

  assign ready_o = wgray_q != (rgray_sync_q[Stages-1] ^ Opposite);
  assign push = valid_i && ready_o;
  assign wptr_d = wptr_q + PtrW'(push);
  assign wcount_o = wptr_q - from_gray(rgray_sync_q[Stages-1]);

  always_ff @(posedge wclk_i) begin
    if (!wrst_ni) begin
      wptr_q <= '0;
      wgray_q <= '0;
      for (int unsigned i = 0; i < Stages; i++) rgray_sync_q[i] <= '0;
    end else begin
      wptr_q <= wptr_d;
      wgray_q <= to_gray(wptr_d);
      rgray_sync_q[0] <= rgray_q;
      for (int unsigned i = 1; i < Stages; i++) rgray_sync_q[i] <= rgray_sync_q[i-1];
    end
  end

  always_ff @(posedge wclk_i) if (push) mem[wptr_q[AddrW-1:0]] <= data_i;

  // ---- Read clock ----------------------------------------------------------------------------------
  logic valid_q;
  logic fetch;  // the next word of the memory moves to the output

  assign fetch = (wgray_sync_q[Stages-1] != rgray_q) && (!valid_q || ready_i);
  assign rptr_d = rptr_q + PtrW'(fetch);
  assign valid_o = valid_q;
  assign rcount_o = {1'b0, from_gray(wgray_sync_q[Stages-1]) - rptr_q} + (AddrW+2)'(valid_q);

  always_ff @(posedge rclk_i) begin
    if (!rrst_ni) begin
      rptr_q <= '0;
      rgray_q <= '0;
      valid_q <= 1'b0;
      for (int unsigned i = 0; i < Stages; i++) wgray_sync_q[i] <= '0;
    end else begin
      rptr_q <= rptr_d;
      rgray_q <= to_gray(rptr_d);
      if (fetch) valid_q <= 1'b1;
      else if (ready_i) valid_q <= 1'b0;
      wgray_sync_q[0] <= wgray_q;
      for (int unsigned i = 1; i < Stages; i++) wgray_sync_q[i] <= wgray_sync_q[i-1];
    end
  end

  always_ff @(posedge rclk_i) if (fetch) data_o <= mem[rptr_q[AddrW-1:0]];
endmodule
