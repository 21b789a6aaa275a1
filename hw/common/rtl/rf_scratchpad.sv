// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Scratchpad of Banks independent banks (rf_bank), each with its own read port and write port. Banks have Rows rows, or
// fewer if BankRows says so.
//
// Latency     reads 2 cycles
// Throughput  one read and one write per bank and cycle
// Ranges      addresses of bank b < BankRows[b]: it sees no more of an address than it needs

module rf_scratchpad #(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Rows = 4096,
    parameter int unsigned Banks = 3,
    parameter int unsigned BankRows [Banks > 0 ? Banks : 1] = '{default: Rows},
    parameter bit Packed = 1'b1,
    localparam int unsigned AddrW = (Rows > 1) ? $clog2(Rows) : 1
) (
    input  logic             clk_i,
    input  logic [Banks-1:0] re_i,
    input  logic [AddrW-1:0] raddr_i [Banks],
    output logic [W-1:0]     rdata_o [Banks][Lanes],
    input  logic [Banks-1:0] we_i,
    input  logic [AddrW-1:0] waddr_i [Banks],
    input  logic [W-1:0]     wdata_i [Banks][Lanes]
);

  if (Banks < 1) begin : g_check
    $error("rf_scratchpad: Banks must be at least 1");
  end

  for (genvar b = 0; b < Banks; b++) begin : g_banks
    localparam int unsigned BankAddrW = (BankRows[b] > 1) ? $clog2(BankRows[b]) : 1;

    if (BankRows[b] > Rows) begin : g_check
      $error("rf_scratchpad: no bank may have more than Rows rows");
    end

    rf_bank #(
        .W(W),
        .Lanes(Lanes),
        .Rows(BankRows[b]),
        .Packed(Packed)
    ) u_bank (
        .clk_i,
        .re_i(re_i[b]),
        .raddr_i(BankAddrW'(raddr_i[b])),
        .rdata_o(rdata_o[b]),
        .we_i(we_i[b]),
        .waddr_i(BankAddrW'(waddr_i[b])),
        .wdata_i(wdata_i[b])
    );
  end

endmodule
