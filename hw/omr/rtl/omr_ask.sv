// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Requests of one stream for each active way: way v asks for rows at address + v * stride, as soon as start_i says so.
//
// Latency     1 from start_i to the requests, which stay until they are taken
// Ranges      start_i comes when all requests have been taken

module omr_ask
  import omr_pkg::*;
#(
    parameter int unsigned Ways = 1,
    parameter int unsigned RowsW = 13
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    input  logic                        start_i,
    input  logic [Ways-1:0]             ways_i,
    input  logic [AddrW-1:0]            addr_i,
    input  logic [AddrW-1:0]            stride_i,
    input  logic [RowsW-1:0]            rows_i,
    output logic [Ways-1:0]             valid_o,
    input  logic [Ways-1:0]             ready_i,
    output logic [Ways-1:0][AddrW-1:0]  addr_o,
    output logic [Ways-1:0][RowsW-1:0]  rows_o
);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= '0;
    else if (start_i) valid_o <= ways_i;
    else valid_o <= valid_o & ~ready_i;

    if (start_i) begin
      for (int unsigned v = 0; v < Ways; v++) begin
        addr_o[v] <= addr_i + (v[0] ? stride_i : '0) + (v[1] ? stride_i << 1 : '0);
        rows_o[v] <= rows_i;
      end
    end
  end
endmodule
