// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// From a machine's AXI4 master to a card's: another width, another clock, addresses of 64 bits.
//
// Function    The machine's side takes a row a beat: RowW bits at clk_i, addresses of AddrW bits, bursts of up to 256 rows
//             of any length in bytes. The card's side has words of PortW bits at m_clk_i and bursts that are AXI's: at
//             most MaxWords words, none across 4 KiB, whole words, incrementing, AxCACHE 3 (modifiable, bufferable), one
//             ID. base_i is added to every address, for a buffer wherever the card's driver put it. Reads and writes know
//             nothing of each other: who needs a read after a write waits for the write's response.
// Latency     see rf_axi_bridge_read, rf_axi_bridge_write
// Throughput  one word per cycle of m_clk_i or one row per cycle of clk_i, whichever is slower, in both directions
// Ranges      RowW is a multiple of PortW: rows of 2^k lanes of 64 bits, or packed to 54 bits where they fill words
//             (128 lanes over 256 bits, 256 lanes over 256 and 512). Slices register slices in each channel lie on the
//             machine's side, as many as the way to its group is long.
// Errors      responses are kept: an error of any word reaches the machine's burst

module rf_axi_bridge #(
    parameter int unsigned RowW = 1024,
    parameter int unsigned PortW = 512,
    parameter int unsigned AddrW = 48,
    parameter int unsigned Rows = 32,
    parameter int unsigned Outstanding = 32,
    parameter int unsigned MaxWords = 256,
    parameter int unsigned Slices = 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [AddrW-1:0]   s_axi_araddr,
    input  logic [7:0]         s_axi_arlen,
    input  logic               s_axi_arvalid,
    output logic               s_axi_arready,
    output logic [RowW-1:0]    s_axi_rdata,
    output logic [1:0]         s_axi_rresp,
    output logic               s_axi_rlast,
    output logic               s_axi_rvalid,
    input  logic               s_axi_rready,
    input  logic [AddrW-1:0]   s_axi_awaddr,
    input  logic [7:0]         s_axi_awlen,
    input  logic               s_axi_awvalid,
    output logic               s_axi_awready,
    input  logic [RowW-1:0]    s_axi_wdata,
    input  logic               s_axi_wvalid,
    output logic               s_axi_wready,
    output logic [1:0]         s_axi_bresp,
    output logic               s_axi_bvalid,
    input  logic               s_axi_bready,

    input  logic               m_clk_i,
    input  logic               m_rst_ni,
    input  logic [63:0]        base_i,
    output logic               m_axi_arid,
    output logic [63:0]        m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic [3:0]         m_axi_arcache,
    output logic [2:0]         m_axi_arprot,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    // One ID only, so rid and bid carry nothing.
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic               m_axi_rid,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic [PortW-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready,
    output logic               m_axi_awid,
    output logic [63:0]        m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic [3:0]         m_axi_awcache,
    output logic [2:0]         m_axi_awprot,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [PortW-1:0]   m_axi_wdata,
    output logic [PortW/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic               m_axi_bid,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready
);

  localparam logic [2:0] WordSize = 3'($clog2(PortW / 8));
  localparam logic [1:0] Incrementing = 2'b01;
  localparam logic [3:0] ModifiableBufferable = 4'b0011;

  if (PortW < 8 || PortW > 1024) begin : g_bad_port
    $error("PortW %0d is not a bus width of AXI", PortW);
  end

  assign m_axi_arid = 1'b0;
  assign m_axi_arsize = WordSize;
  assign m_axi_arburst = Incrementing;
  assign m_axi_arcache = ModifiableBufferable;
  assign m_axi_arprot = '0;
  assign m_axi_awid = 1'b0;
  assign m_axi_awsize = WordSize;
  assign m_axi_awburst = Incrementing;
  assign m_axi_awcache = ModifiableBufferable;
  assign m_axi_awprot = '0;
  assign m_axi_wstrb = '1;

  rf_axi_bridge_read #(
      .RowW(RowW),
      .PortW(PortW),
      .AddrW(AddrW),
      .Rows(Rows),
      .Outstanding(Outstanding),
      .MaxWords(MaxWords),
      .Slices(Slices)
  ) u_read (
      .clk_i,
      .rst_ni,
      .s_axi_araddr,
      .s_axi_arlen,
      .s_axi_arvalid,
      .s_axi_arready,
      .s_axi_rdata,
      .s_axi_rresp,
      .s_axi_rlast,
      .s_axi_rvalid,
      .s_axi_rready,
      .m_clk_i,
      .m_rst_ni,
      .base_i,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready
  );

  rf_axi_bridge_write #(
      .RowW(RowW),
      .PortW(PortW),
      .AddrW(AddrW),
      .Rows(Rows),
      .Outstanding(Outstanding),
      .MaxWords(MaxWords),
      .Slices(Slices)
  ) u_write (
      .clk_i,
      .rst_ni,
      .s_axi_awaddr,
      .s_axi_awlen,
      .s_axi_awvalid,
      .s_axi_awready,
      .s_axi_wdata,
      .s_axi_wvalid,
      .s_axi_wready,
      .s_axi_bresp,
      .s_axi_bvalid,
      .s_axi_bready,
      .m_clk_i,
      .m_rst_ni,
      .base_i,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready
  );

endmodule
