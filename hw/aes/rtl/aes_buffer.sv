// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Words on chip in wide rows for an engine, and in narrow rows of 8 words for everybody else.
//
// Function    Narrow row r is words 8 (r mod Lanes / 8) and on of wide row r div (Lanes / 8). A wide write has a bit for
//             each word that it changes.
// Latency     reads 2 cycles; wide_rdata_o and rdata_o are good in that cycle, and hold as long as nothing is read
// Throughput  one read and one write a cycle, each either wide or narrow
// Ranges      Lanes a power of two, at least 8; 2^RowW wide rows. wide_re_i and re_i not in one cycle, nor wide_we_i and
//             we_i. Reading a row in the cycle that writes it gives nothing to rely on.
//
// Packed = 1 has a memory of 32 bits for each lane, a RAMB18 of 512 words and a write enable of its own. Packed = 0 is
// the same behaviour in arrays, faster to simulate, not meant for synthesis.

module aes_buffer
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 256,
    parameter int unsigned RowW = 8,
    parameter bit Packed = 1'b1,
    localparam int unsigned Groups = Lanes / NarrowWords,
    localparam int unsigned GroupW = $clog2(Groups),
    localparam int unsigned NarrowRowW = RowW + GroupW
) (
    input  logic                  clk_i,
    input  logic                  wide_re_i,
    input  logic [RowW-1:0]       wide_raddr_i,
    output logic [WordW-1:0]      wide_rdata_o [Lanes],
    input  logic                  wide_we_i,
    input  logic [RowW-1:0]       wide_waddr_i,
    input  logic [Lanes-1:0]      wide_wmask_i,
    input  logic [WordW-1:0]      wide_wdata_i [Lanes],
    input  logic                  re_i,
    input  logic [NarrowRowW-1:0] raddr_i,
    output logic [WordW-1:0]      rdata_o [NarrowWords],
    input  logic                  we_i,
    input  logic [NarrowRowW-1:0] waddr_i,
    input  logic [WordW-1:0]      wdata_i [NarrowWords]
);
  localparam int unsigned PickW = Groups > 1 ? GroupW : 1;

  if (Lanes < NarrowWords || 2 ** $clog2(Lanes) != Lanes) begin : g_check
    $error("aes_buffer: Lanes must be a power of two, at least %0d", NarrowWords);
  end

  logic [RowW-1:0]  raddr, waddr;
  logic [PickW-1:0] rgroup, wgroup;
  logic             narrow_q;

  if (Groups > 1) begin : g_groups
    assign rgroup = raddr_i[GroupW-1:0];
    assign wgroup = waddr_i[GroupW-1:0];
  end else begin : g_one
    assign rgroup = '0;
    assign wgroup = '0;
  end
  assign raddr = wide_re_i ? wide_raddr_i : RowW'(raddr_i >> GroupW);
  assign waddr = wide_we_i ? wide_waddr_i : RowW'(waddr_i >> GroupW);

  always_ff @(posedge clk_i) narrow_q <= re_i;

  if (Packed) begin : g_packed
    logic [PickW-1:0] rgroup_q, pick_q;
    logic [WordW-1:0] group [Groups][NarrowWords];

    always_ff @(posedge clk_i) begin
      if (re_i) rgroup_q <= rgroup;
      if (narrow_q) pick_q <= rgroup_q;
    end
    assign rdata_o = group[pick_q];

    for (genvar l = 0; l < Lanes; l++) begin : g_lane
      localparam int unsigned Group = l / NarrowWords;
      logic [WordW-1:0] word [1];

      rf_bank #(
          .W(WordW), .Lanes(1), .Rows(2 ** RowW), .Packed(1'b1)
      ) u_bank (
          .clk_i, .re_i(wide_re_i || (re_i && rgroup == PickW'(Group))), .raddr_i(raddr), .rdata_o(word),
          .we_i(wide_we_i ? wide_wmask_i[l] : we_i && wgroup == PickW'(Group)), .waddr_i(waddr),
          .wdata_i('{wide_we_i ? wide_wdata_i[l] : wdata_i[l%NarrowWords]})
      );
      assign wide_rdata_o[l] = word[0];
      assign group[Group][l%NarrowWords] = word[0];
    end
  end else begin : g_arrays
    logic [WordW-1:0] mem [2**RowW][Lanes];
    logic [WordW-1:0] row_q [Lanes];
    logic [WordW-1:0] part_q [NarrowWords];
    logic             wide_q;

    always_ff @(posedge clk_i) wide_q <= wide_re_i;

    always_ff @(posedge clk_i) begin
      if (wide_we_i && wide_wmask_i == '1) begin
        mem[waddr] <= wide_wdata_i;
      end else if (wide_we_i) begin
        for (int unsigned l = 0; l < Lanes; l++) if (wide_wmask_i[l]) mem[waddr][l] <= wide_wdata_i[l];
      end else if (we_i) begin
        for (int unsigned l = 0; l < NarrowWords; l++)
          mem[waddr][32'(wgroup)*NarrowWords+l] <= wdata_i[l];
      end
      if (wide_re_i) row_q <= mem[raddr];
      if (re_i)
        for (int unsigned l = 0; l < NarrowWords; l++) part_q[l] <= mem[raddr][32'(rgroup)*NarrowWords+l];
    end

    always_ff @(posedge clk_i) begin
      if (wide_q) wide_rdata_o <= row_q;
      if (narrow_q) rdata_o <= part_q;
    end
  end
endmodule
