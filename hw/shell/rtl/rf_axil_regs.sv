// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// AXI4-Lite slave, 32-bit data, that turns bus accesses into register reads and writes.
//
// Function    wr_valid_o is high for one cycle per write, with its word address, data and strobes; wr_known_i, a
//             combinational function of them, says whether there is such a register. rd_valid_o is high for one cycle
//             per read with its word address; rd_data_i and rd_known_i, combinational functions of it, are taken at
//             the end of that cycle.
// Latency     write: 1 cycle from the later of address and data to wr_valid_o, 1 more to B; read: 1 cycle to rd_valid_o,
//             1 more to R
// Throughput  one read and one write outstanding; writes, and reads, are at least 3 cycles apart
// Ranges      the two low address bits are ignored: strobes say which bytes are meant. An access to what is not known
//             is answered SLVERR, with data 0, every other OKAY; a register that has no strobe is still told.

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
    output logic [3:0]       wr_strb_o,
    input  logic             wr_known_i,
    output logic             rd_valid_o,
    output logic [AddrW-1:0] rd_addr_o,
    input  logic [31:0]      rd_data_i,
    input  logic             rd_known_i
);

  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;

  if (AddrW < 3 || AddrW > 64) begin : g_bad_addr_w
    $error("AddrW %0d is outside 3..64", AddrW);
  end

  // Writes: address and data come in any order and wait for each other.
  logic             aw_full_q, w_full_q, bvalid_q, wr_bad_q;
  logic [AddrW-3:0] awaddr_q;
  logic [31:0]      wdata_q;
  logic [3:0]       wstrb_q;

  assign s_axil_awready = !aw_full_q && !bvalid_q;
  assign s_axil_wready = !w_full_q && !bvalid_q;
  assign s_axil_bvalid = bvalid_q;
  assign s_axil_bresp = wr_bad_q ? RespSlverr : RespOkay;
  assign wr_valid_o = aw_full_q && w_full_q;
  assign wr_addr_o = {awaddr_q, 2'b00};
  assign wr_data_o = wdata_q;
  assign wr_strb_o = wstrb_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
      bvalid_q <= 1'b0;
    end else begin
      if (s_axil_awvalid && s_axil_awready) aw_full_q <= 1'b1;
      if (s_axil_wvalid && s_axil_wready) w_full_q <= 1'b1;
      if (wr_valid_o) begin
        aw_full_q <= 1'b0;
        w_full_q <= 1'b0;
        bvalid_q <= 1'b1;
      end
      if (bvalid_q && s_axil_bready) bvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axil_awready) awaddr_q <= s_axil_awaddr[AddrW-1:2];
    if (s_axil_wready) begin
      wdata_q <= s_axil_wdata;
      wstrb_q <= s_axil_wstrb;
    end
    if (wr_valid_o) wr_bad_q <= !wr_known_i;
  end

  // Reads: one cycle with the registered address, then the answer waits for rready.
  logic             ar_full_q, rvalid_q, rd_bad_q;
  logic [AddrW-3:0] araddr_q;
  logic [31:0]      rdata_q;

  assign s_axil_arready = !ar_full_q && !rvalid_q;
  assign s_axil_rvalid = rvalid_q;
  assign s_axil_rdata = rdata_q;
  assign s_axil_rresp = rd_bad_q ? RespSlverr : RespOkay;
  assign rd_valid_o = ar_full_q;
  assign rd_addr_o = {araddr_q, 2'b00};

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
    if (s_axil_arready) araddr_q <= s_axil_araddr[AddrW-1:2];
    if (ar_full_q) begin
      rdata_q <= rd_known_i ? rd_data_i : '0;
      rd_bad_q <= !rd_known_i;
    end
  end

  // What the low address bits say is in the strobes.
  logic unused;
  assign unused = &{1'b0, s_axil_awaddr[1:0], s_axil_araddr[1:0]};

endmodule
