// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Some banks of rows that several units read, each at its own bank, and one writes.
//
// Latency     reads rf_bank's 2 cycles; data hold until the port's next read arrives
// Throughput  one read a port and one write a cycle
// Ranges      two ports do not read one bank in one cycle

module omr_banks #(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Rows = 4096,
    parameter int unsigned Banks = 4,
    parameter int unsigned Readers = 2,
    parameter bit Packed = 1'b1,
    localparam int unsigned AddrW = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned BankW = Banks > 1 ? $clog2(Banks) : 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [Readers-1:0] re_i,
    input  logic [BankW-1:0]   rbank_i [Readers],
    input  logic [AddrW-1:0]   raddr_i [Readers],
    output logic [W-1:0]       rdata_o [Readers][Lanes],
    input  logic               we_i,
    input  logic [BankW-1:0]   wbank_i,
    input  logic [AddrW-1:0]   waddr_i,
    input  logic [W-1:0]       wdata_i [Lanes]
);
  localparam int unsigned ReaderBits = Readers > 1 ? $clog2(Readers) : 1;

  logic [W-1:0] rdata [Banks][Lanes];

  for (genvar r = 0; r < Readers; r++) begin : g_reader
    logic             re_q;
    logic [BankW-1:0] bank_q, pick_q;
    always_ff @(posedge clk_i) begin
      re_q <= re_i[r];
      if (re_i[r]) bank_q <= rbank_i[r];
      if (re_q) pick_q <= bank_q;
    end
    assign rdata_o[r] = rdata[pick_q];
  end

  for (genvar b = 0; b < Banks; b++) begin : g_bank
    logic [Readers-1:0]    reads;
    logic [ReaderBits-1:0] reader;

    always_comb begin
      reader = '0;
      for (int unsigned r = 0; r < Readers; r++) begin
        reads[r] = re_i[r] && rbank_i[r] == BankW'(b);
        if (reads[r]) reader = ReaderBits'(r);
      end
    end

    rf_bank #(
        .W(W), .Lanes(Lanes), .Rows(Rows), .Packed(Packed)
    ) u_bank (
        .clk_i, .re_i(reads != '0), .raddr_i(raddr_i[reader]), .rdata_o(rdata[b]),
        .we_i(we_i && wbank_i == BankW'(b)), .waddr_i(waddr_i), .wdata_i(wdata_i)
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i)
      if (rst_ni) assert ($countones(reads) < 2) else $error("two units read bank %0d", b);
`endif
  end
endmodule
