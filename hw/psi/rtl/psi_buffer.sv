// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Memory of Slots polynomials in lines of two words, that reads two lines and writes two lines in a cycle.
//
// Latency     reads BankLatency cycles
// Throughput  two lines read and two written per cycle
// Ranges      line numbers below 2^(LogN - 1), slots below Slots. The two lines of an access differ in an odd number
//             of bits, as those of a butterfly do (in one): even lines by the parity of their bits lie in one bank, odd
//             ones in the other, so that each bank needs one read port and one write port.
//
// x_o, x_i: words 0 and 1 of the first line, then of the second.

module psi_buffer #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned Slots = 2,
  localparam int unsigned LineW = LogN - 1,
  localparam int unsigned SlotW = Slots > 1 ? $clog2(Slots) : 1
) (
  input  logic             clk_i,
  input  logic             re_i,
  input  logic [SlotW-1:0] rslot_i,
  input  logic [LineW-1:0] rline_i [2],
  output logic [W-1:0]     x_o [4],
  input  logic             we_i,
  input  logic [SlotW-1:0] wslot_i,
  input  logic [LineW-1:0] wline_i [2],
  input  logic [W-1:0]     x_i [4]
);
  if (LogN < 3 || Slots < 1) begin : g_check
    $error("psi_buffer: LogN must be at least 3, Slots at least 1");
  end

  localparam int unsigned Rows = Slots << (LogN - 2);
  localparam int unsigned RowW = $clog2(Rows);

  logic [RowW-1:0] rrow [2];
  logic [RowW-1:0] wrow [2];
  logic [W-1:0]    even_w [2], odd_w [2];
  logic [W-1:0]    even_r [2], odd_r [2];
  logic            rswap, wswap;
  logic            swap_q [rf_pkg::BankLatency];

  // The first line is the odd one.
  assign rswap = ^rline_i[0];
  assign wswap = ^wline_i[0];

  always_comb begin
    for (int unsigned w = 0; w < 2; w++) begin
      even_w[w] = wswap ? x_i[2+w] : x_i[w];
      odd_w[w] = wswap ? x_i[w] : x_i[2+w];
      x_o[w] = swap_q[rf_pkg::BankLatency-1] ? odd_r[w] : even_r[w];
      x_o[2+w] = swap_q[rf_pkg::BankLatency-1] ? even_r[w] : odd_r[w];
    end
    rrow[0] = RowW'({rslot_i, rline_i[rswap][LineW-1:1]});
    rrow[1] = RowW'({rslot_i, rline_i[!rswap][LineW-1:1]});
    wrow[0] = RowW'({wslot_i, wline_i[wswap][LineW-1:1]});
    wrow[1] = RowW'({wslot_i, wline_i[!wswap][LineW-1:1]});
  end

  always_ff @(posedge clk_i) begin
    swap_q[0] <= rswap;
    for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) swap_q[d] <= swap_q[d-1];
  end

  rf_bank #(.W(W), .Lanes(2), .Rows(Rows)) u_even (
    .clk_i, .re_i, .raddr_i(rrow[0]), .rdata_o(even_r), .we_i, .waddr_i(wrow[0]), .wdata_i(even_w)
  );
  rf_bank #(.W(W), .Lanes(2), .Rows(Rows)) u_odd (
    .clk_i, .re_i, .raddr_i(rrow[1]), .rdata_o(odd_r), .we_i, .waddr_i(wrow[1]), .wdata_i(odd_w)
  );
endmodule
