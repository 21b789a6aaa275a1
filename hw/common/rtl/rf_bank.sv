// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Memory bank with one read port and one write port; a row is Lanes words of W bits.
//
// Latency     reads 2 cycles (memory register, then output register); rdata_o then holds until the next read arrives
// Throughput  one read and one write per cycle
// Ranges      raddr_i, waddr_i < Rows. Reading a row in the cycle that writes it gives its old contents in
//             simulation; users must not rely on it, because memory primitives differ.
//
// Packed = 1 keeps a row as one wide word, which synthesis maps to block or ultra RAM side by side. Packed = 0 keeps a
// row as an array of words: the same behaviour, about twice as fast to simulate, not meant for synthesis.

module rf_bank #(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Rows = 4096,
    parameter bit Packed = 1'b1,
    localparam int unsigned AddrW = (Rows > 1) ? $clog2(Rows) : 1
) (
    input  logic             clk_i,
    input  logic             re_i,
    input  logic [AddrW-1:0] raddr_i,
    output logic [W-1:0]     rdata_o [Lanes],
    input  logic             we_i,
    input  logic [AddrW-1:0] waddr_i,
    input  logic [W-1:0]     wdata_i [Lanes]
);

  if (W < 1 || Lanes < 1 || Rows < 1) begin : g_check
    $error("rf_bank: W, Lanes and Rows must be at least 1");
  end

  logic re_q;

  always_ff @(posedge clk_i) re_q <= re_i;

  if (Packed) begin : g_packed
    logic [Lanes*W-1:0] mem [Rows];
    logic [Lanes*W-1:0] rrow_q;

    always_ff @(posedge clk_i) begin
      // The row is put together only when it is written: outside, simulation would pack wdata_i in every cycle.
      if (we_i) begin
        automatic logic [Lanes*W-1:0] row;
        for (int unsigned l = 0; l < Lanes; l++) row[l*W+:W] = wdata_i[l];
        mem[waddr_i] <= row;
      end
      if (re_i) rrow_q <= mem[raddr_i];
    end

    // rrow_q changes only after a read, so the enable alters nothing but saves work in simulation.
    always_ff @(posedge clk_i)
      if (re_q) for (int unsigned l = 0; l < Lanes; l++) rdata_o[l] <= rrow_q[l*W+:W];
  end else begin : g_lanes
    logic [W-1:0] mem [Rows][Lanes];
    logic [W-1:0] rrow_q [Lanes];

    always_ff @(posedge clk_i) begin
      if (we_i) mem[waddr_i] <= wdata_i;
      if (re_i) rrow_q <= mem[raddr_i];
    end

    always_ff @(posedge clk_i) if (re_q) rdata_o <= rrow_q;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (re_i) assert (32'(raddr_i) < Rows) else $error("read address %0d of %0d rows", raddr_i, Rows);
    if (we_i) assert (32'(waddr_i) < Rows) else $error("write address %0d of %0d rows", waddr_i, Rows);
  end
`endif

endmodule
