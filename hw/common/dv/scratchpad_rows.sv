// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// rf_scratchpad of three banks, the rows of each as a parameter of its own: simulators set no arrays from outside.

module scratchpad_rows #(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 2,
    parameter int unsigned Rows = 16,
    parameter int unsigned Banks = 3,
    parameter int unsigned Rows0 = 16,
    parameter int unsigned Rows1 = 16,
    parameter int unsigned Rows2 = 16,
    localparam int unsigned AddrW = $clog2(Rows)
) (
    input  logic             clk_i,
    input  logic [Banks-1:0] re_i,
    input  logic [AddrW-1:0] raddr_i [Banks],
    output logic [W-1:0]     rdata_o [Banks][Lanes],
    input  logic [Banks-1:0] we_i,
    input  logic [AddrW-1:0] waddr_i [Banks],
    input  logic [W-1:0]     wdata_i [Banks][Lanes]
);
  rf_scratchpad #(.W(W), .Lanes(Lanes), .Rows(Rows), .Banks(Banks), .BankRows('{Rows0, Rows1, Rows2})) u_scratchpad (
      .clk_i, .re_i, .raddr_i, .rdata_o, .we_i, .waddr_i, .wdata_i
  );
endmodule
