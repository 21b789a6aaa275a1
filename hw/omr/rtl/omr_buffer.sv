// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Buffer of one limb: whole rows of Wide words for transforms, rows of Lanes words for everybody else.
//
// Function    Groups = Wide / Lanes banks side by side. Row r of Lanes words is group r mod Groups of wide row
//             r div Groups. wide_* move a wide row, the others a row of Lanes words.
// Latency     reads rf_bank's 2 cycles; data hold until the next read arrives
// Throughput  one read and one write a cycle, each either wide or narrow
// Ranges      Lanes, Wide powers of two, Lanes <= Wide; 2^MaxLogN words. wide_re_i and re_i not in one cycle, nor
//             wide_we_i and we_i. Reading a row in the cycle that writes it gives nothing to rely on.

module omr_buffer #(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Wide = 128,
    parameter int unsigned MaxLogN = 16,
    parameter bit Packed = 1'b1,
    localparam int unsigned Groups = Wide / Lanes,
    localparam int unsigned RowBits = MaxLogN - $clog2(Lanes),
    localparam int unsigned WideBits = MaxLogN - $clog2(Wide)
) (
    input  logic                clk_i,
    input  logic                wide_re_i,
    input  logic [WideBits-1:0] wide_raddr_i,
    output logic [W-1:0]        wide_rdata_o [Wide],
    input  logic                wide_we_i,
    input  logic [WideBits-1:0] wide_waddr_i,
    input  logic [W-1:0]        wide_wdata_i [Wide],
    input  logic                re_i,
    input  logic [RowBits-1:0]  raddr_i,
    output logic [W-1:0]        rdata_o [Lanes],
    input  logic                we_i,
    input  logic [RowBits-1:0]  waddr_i,
    input  logic [W-1:0]        wdata_i [Lanes]
);
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1;

  if (Lanes < 1 || Wide < Lanes || Groups * Lanes != Wide || 2 ** $clog2(Wide) != Wide) begin : g_check
    $error("omr_buffer: Lanes and Wide must be powers of two, Lanes at most Wide");
  end

  // The group of a narrow read, as far behind it as its data.
  logic                 re_q;
  logic [GroupBits-1:0] rgroup, rgroup_q, pick_q, wgroup;

  if (Groups > 1) begin : g_groups
    assign rgroup = raddr_i[GroupBits-1:0];
    assign wgroup = waddr_i[GroupBits-1:0];
  end else begin : g_one
    assign rgroup = '0;
    assign wgroup = '0;
  end

  always_ff @(posedge clk_i) begin
    re_q <= re_i;
    if (re_i) rgroup_q <= rgroup;
    if (re_q) pick_q <= rgroup_q;
  end

  logic [W-1:0] group [Groups][Lanes];

  for (genvar g = 0; g < Groups; g++) begin : g_bank
    logic [W-1:0] wdata [Lanes];

    assign wide_rdata_o[g*Lanes+:Lanes] = group[g];

    always_comb begin
      if (wide_we_i) wdata = wide_wdata_i[g*Lanes+:Lanes];
      else wdata = wdata_i;
    end

    rf_bank #(
        .W(W), .Lanes(Lanes), .Rows(2 ** WideBits), .Packed(Packed)
    ) u_bank (
        .clk_i,
        .re_i(wide_re_i || (re_i && rgroup == GroupBits'(g))),
        .raddr_i(wide_re_i ? wide_raddr_i : WideBits'(raddr_i >> (RowBits - WideBits))),
        .rdata_o(group[g]),
        .we_i(wide_we_i || (we_i && wgroup == GroupBits'(g))),
        .waddr_i(wide_we_i ? wide_waddr_i : WideBits'(waddr_i >> (RowBits - WideBits))),
        .wdata_i(wdata)
    );
  end

  assign rdata_o = group[pick_q];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    assert (!(wide_re_i && re_i)) else $error("a wide and a narrow read in one cycle");
    assert (!(wide_we_i && we_i)) else $error("a wide and a narrow write in one cycle");
  end
`endif
endmodule
