// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Twiddle tables of the fast engine: two sets, each with a table for either direction.
//
// Function    A table is N/2 words c of W bits, c[j] the twiddle of w^brv(j), written in rows of 8 words, from row 0 on.
//             Reads give rows of Lanes words of the table that rf_transform indexes by m + i:
//               upper_i = 0  tw[m + i] = c[i]: row r is c's row r without its leading one; in row 0 lane l takes c[l
//                            without its leading one] (lane 0 is of no use);
//               upper_i = 1  tw[j] = c[j]: the second half of a transform of twice the words.
// Latency     2 cycles (rf_bank); data hold until the next read arrives
// Throughput  one read and one write a cycle, of different rows
// Ranges      Lanes a power of two, at least 8; N = 2^MaxLogN >= 4 * Lanes; set_i, inverse_i with row_i; rows written
//             N/16, rows read N/Lanes, upper ones N/(2*Lanes)

module aes_twiddles #(
    parameter int unsigned W = 31,
    parameter int unsigned Lanes = 256,
    parameter int unsigned MaxLogN = 16,
    parameter bit Packed = 1'b1,
    localparam int unsigned Narrow = aes_pkg::NarrowWords,
    localparam int unsigned Groups = Lanes / Narrow,
    localparam int unsigned RowW = MaxLogN - $clog2(Lanes),
    localparam int unsigned IndexW = MaxLogN - 1 - $clog2(Narrow)
) (
    input  logic              clk_i,
    input  logic              re_i,
    input  logic              set_i,
    input  logic              inverse_i,
    input  logic              upper_i,
    input  logic [RowW-1:0]   row_i,
    output logic [W-1:0]      data_o [Lanes],
    input  logic              we_i,
    input  logic              wset_i,
    input  logic              winverse_i,
    input  logic [IndexW-1:0] windex_i,
    input  logic [W-1:0]      wdata_i [Narrow]
);
  localparam int unsigned GroupW = Groups > 1 ? $clog2(Groups) : 1;

  if (Lanes < Narrow || Lanes != 2 ** $clog2(Lanes) || MaxLogN < $clog2(Lanes) + 2) begin : g_check
    $error("aes_twiddles: Lanes must be a power of two, at least 8, and N at least 4 rows");
  end

  function automatic logic [RowW-2:0] without_leading_one(logic [RowW-1:0] x);
    logic [RowW-2:0] out = (RowW-1)'(x);
    for (int unsigned i = 0; i < RowW - 1; i++) if (x >> i == RowW'(1)) out[i] = 1'b0;
    return out;
  endfunction

  // Lane of c that lane l of the first row takes.
  function automatic int unsigned first_source(int unsigned l);
    return l == 0 ? 0 : l - (1 << ($clog2(l + 1) - 1));
  endfunction

  logic [RowW-2:0]   rrow, wrow;
  logic [GroupW-1:0] wgroup;
  logic              re_q, first_q, first_pick_q;
  logic [W-1:0]      row [Lanes];

  assign rrow = upper_i ? (RowW-1)'(row_i) : without_leading_one(row_i);
  assign wrow = (RowW-1)'(windex_i >> $clog2(Groups));
  if (Groups > 1) begin : g_groups
    assign wgroup = windex_i[GroupW-1:0];
  end else begin : g_one
    assign wgroup = '0;
  end

  for (genvar g = 0; g < Groups; g++) begin : g_bank
    rf_bank #(
        .W(W), .Lanes(Narrow), .Rows(4 * 2 ** (RowW - 1)), .Packed(Packed)
    ) u_bank (
        .clk_i, .re_i, .raddr_i({set_i, inverse_i, rrow}), .rdata_o(row[g*Narrow+:Narrow]),
        .we_i(we_i && wgroup == GroupW'(g)), .waddr_i({wset_i, winverse_i, wrow}), .wdata_i
    );
  end

  always_ff @(posedge clk_i) begin
    re_q <= re_i;
    if (re_i) first_q <= !upper_i && row_i == '0;
    if (re_q) first_pick_q <= first_q;
  end

  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++) data_o[l] = first_pick_q ? row[first_source(l)] : row[l];
  end
endmodule
