// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// AXI4-Lite slave, 32-bit data, that turns bus accesses into register reads and writes.
//
// Function    wr_valid_o is high for one cycle per write, with wr_addr_o and wr_data_o. A read puts its address on
//             rd_addr_o and takes rd_data_i, a combinational function of it, at the end of that cycle.
// Throughput  one read and one write outstanding; a write takes at least 3 cycles, a read 3
// Ranges      the two low address bits are given as they came. A write whose strobes are not all ones changes nothing:
//             registers are written whole. Every access is answered OKAY.

module rf_axil_regs #(
    parameter int unsigned AddrW = 12
) (
    input  logic             clk_i,
    input  logic             rst_ni,

    input  logic [AddrW-1:0] s_axil_awaddr,
    input  logic             s_axil_awvalid,
    output logic             s_axil_awready,
    input  logic [31:0]      s_axil_wdata,
    input  logic [3:0]       s_axil_wstrb,
    input  logic             s_axil_wvalid,
    output logic             s_axil_wready,
    output logic [1:0]       s_axil_bresp,
    output logic             s_axil_bvalid,
    input  logic             s_axil_bready,
    input  logic [AddrW-1:0] s_axil_araddr,
    input  logic             s_axil_arvalid,
    output logic             s_axil_arready,
    output logic [31:0]      s_axil_rdata,
    output logic [1:0]       s_axil_rresp,
    output logic             s_axil_rvalid,
    input  logic             s_axil_rready,

    output logic             wr_valid_o,
    output logic [AddrW-1:0] wr_addr_o,
    output logic [31:0]      wr_data_o,
    output logic [AddrW-1:0] rd_addr_o,
    input  logic [31:0]      rd_data_i
);

  localparam logic [1:0] RespOkay = 2'b00;

  // Writes: address and data come in any order and wait for each other.
  logic             aw_full_q, w_full_q, bvalid_q;
  logic [AddrW-1:0] awaddr_q;
  logic [31:0]      wdata_q;
  logic             wwhole_q;
  logic             write;

  assign write = aw_full_q && w_full_q;

  assign s_axil_awready = !aw_full_q && !bvalid_q;
  assign s_axil_wready = !w_full_q && !bvalid_q;
  assign s_axil_bvalid = bvalid_q;
  assign s_axil_bresp = RespOkay;
  assign wr_valid_o = write && wwhole_q;
  assign wr_addr_o = awaddr_q;
  assign wr_data_o = wdata_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
      bvalid_q <= 1'b0;
    end else begin
      if (s_axil_awvalid && s_axil_awready) aw_full_q <= 1'b1;
      if (s_axil_wvalid && s_axil_wready) w_full_q <= 1'b1;
      if (write) begin
        aw_full_q <= 1'b0;
        w_full_q <= 1'b0;
        bvalid_q <= 1'b1;
      end
      if (bvalid_q && s_axil_bready) bvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axil_awready) awaddr_q <= s_axil_awaddr;
    if (s_axil_wready) begin
      wdata_q <= s_axil_wdata;
      wwhole_q <= s_axil_wstrb == 4'hf;
    end
  end

  // Reads: one cycle with the registered address, then the answer waits for rready.
  logic             ar_full_q, rvalid_q;
  logic [AddrW-1:0] araddr_q;
  logic [31:0]      rdata_q;

  assign s_axil_arready = !ar_full_q && !rvalid_q;
  assign s_axil_rvalid = rvalid_q;
  assign s_axil_rdata = rdata_q;
  assign s_axil_rresp = RespOkay;
  assign rd_addr_o = araddr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_full_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      ar_full_q <= s_axil_arvalid && s_axil_arready;
      if (ar_full_q) rvalid_q <= 1'b1;
      else if (s_axil_rready) rvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axil_arready) araddr_q <= s_axil_araddr;
    if (ar_full_q) rdata_q <= rd_data_i;
  end

endmodule
