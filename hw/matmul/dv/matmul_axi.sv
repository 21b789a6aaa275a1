// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// matmul_top with every data port in a scope of its own, g_port[n]: AXI models find their signals by name.
module matmul_axi #(
    parameter int unsigned Pes = 2,
    parameter int unsigned Lanes = 8,
    parameter int unsigned BankRows0 = 64,
    parameter int unsigned BankRows1 = 64,
    parameter int unsigned BankRows2 = 64,
    parameter int unsigned BankRows3 = 64,
    parameter int unsigned TwiddleRows = 64,
    parameter int unsigned WordBits = 54,
    parameter int unsigned MinLogN = 6,
    parameter int unsigned MaxLogN = 8,
    parameter int unsigned Moduli = 64,
    parameter int unsigned StreamRows = 64,
    parameter int unsigned NearPorts = 1,
    parameter int unsigned FarPorts = 1,
    parameter int unsigned SegmentLog = 16,
    parameter int unsigned FarSegmentLog = 16,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned Ports = Pes * (NearPorts + FarPorts),
    localparam int unsigned DataW = 512
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        irq_o,
    input  logic [11:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [11:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready
);
  logic [Ports-1:0] m_axi_arid;
  logic [Ports-1:0][47:0] m_axi_araddr;
  logic [Ports-1:0][7:0] m_axi_arlen;
  logic [Ports-1:0][2:0] m_axi_arsize;
  logic [Ports-1:0][1:0] m_axi_arburst;
  logic [Ports-1:0][3:0] m_axi_arcache;
  logic [Ports-1:0][2:0] m_axi_arprot;
  logic [Ports-1:0] m_axi_arvalid;
  logic [Ports-1:0] m_axi_arready;
  logic [Ports-1:0] m_axi_rid;
  logic [Ports-1:0][DataW-1:0] m_axi_rdata;
  logic [Ports-1:0][1:0] m_axi_rresp;
  logic [Ports-1:0] m_axi_rlast;
  logic [Ports-1:0] m_axi_rvalid;
  logic [Ports-1:0] m_axi_rready;
  logic [Ports-1:0] m_axi_awid;
  logic [Ports-1:0][47:0] m_axi_awaddr;
  logic [Ports-1:0][7:0] m_axi_awlen;
  logic [Ports-1:0][2:0] m_axi_awsize;
  logic [Ports-1:0][1:0] m_axi_awburst;
  logic [Ports-1:0][3:0] m_axi_awcache;
  logic [Ports-1:0][2:0] m_axi_awprot;
  logic [Ports-1:0] m_axi_awvalid;
  logic [Ports-1:0] m_axi_awready;
  logic [Ports-1:0][DataW-1:0] m_axi_wdata;
  logic [Ports-1:0][DataW/8-1:0] m_axi_wstrb;
  logic [Ports-1:0] m_axi_wlast;
  logic [Ports-1:0] m_axi_wvalid;
  logic [Ports-1:0] m_axi_wready;
  logic [Ports-1:0] m_axi_bid;
  logic [Ports-1:0][1:0] m_axi_bresp;
  logic [Ports-1:0] m_axi_bvalid;
  logic [Ports-1:0] m_axi_bready;

  for (genvar n = 0; n < Ports; n++) begin : g_port
    logic arid /* verilator public_flat_rw */;
    logic [47:0] araddr /* verilator public_flat_rw */;
    logic [7:0] arlen /* verilator public_flat_rw */;
    logic [2:0] arsize /* verilator public_flat_rw */;
    logic [1:0] arburst /* verilator public_flat_rw */;
    logic [3:0] arcache /* verilator public_flat_rw */;
    logic [2:0] arprot /* verilator public_flat_rw */;
    logic arvalid /* verilator public_flat_rw */;
    logic arready /* verilator public_flat_rw */;
    logic rid /* verilator public_flat_rw */;
    logic [DataW-1:0] rdata /* verilator public_flat_rw */;
    logic [1:0] rresp /* verilator public_flat_rw */;
    logic rlast /* verilator public_flat_rw */;
    logic rvalid /* verilator public_flat_rw */;
    logic rready /* verilator public_flat_rw */;
    logic awid /* verilator public_flat_rw */;
    logic [47:0] awaddr /* verilator public_flat_rw */;
    logic [7:0] awlen /* verilator public_flat_rw */;
    logic [2:0] awsize /* verilator public_flat_rw */;
    logic [1:0] awburst /* verilator public_flat_rw */;
    logic [3:0] awcache /* verilator public_flat_rw */;
    logic [2:0] awprot /* verilator public_flat_rw */;
    logic awvalid /* verilator public_flat_rw */;
    logic awready /* verilator public_flat_rw */;
    logic [DataW-1:0] wdata /* verilator public_flat_rw */;
    logic [DataW/8-1:0] wstrb /* verilator public_flat_rw */;
    logic wlast /* verilator public_flat_rw */;
    logic wvalid /* verilator public_flat_rw */;
    logic wready /* verilator public_flat_rw */;
    logic bid /* verilator public_flat_rw */;
    logic [1:0] bresp /* verilator public_flat_rw */;
    logic bvalid /* verilator public_flat_rw */;
    logic bready /* verilator public_flat_rw */;
    assign arid = m_axi_arid[n];
    assign araddr = m_axi_araddr[n];
    assign arlen = m_axi_arlen[n];
    assign arsize = m_axi_arsize[n];
    assign arburst = m_axi_arburst[n];
    assign arcache = m_axi_arcache[n];
    assign arprot = m_axi_arprot[n];
    assign arvalid = m_axi_arvalid[n];
    assign m_axi_arready[n] = arready;
    assign m_axi_rid[n] = rid;
    assign m_axi_rdata[n] = rdata;
    assign m_axi_rresp[n] = rresp;
    assign m_axi_rlast[n] = rlast;
    assign m_axi_rvalid[n] = rvalid;
    assign rready = m_axi_rready[n];
    assign awid = m_axi_awid[n];
    assign awaddr = m_axi_awaddr[n];
    assign awlen = m_axi_awlen[n];
    assign awsize = m_axi_awsize[n];
    assign awburst = m_axi_awburst[n];
    assign awcache = m_axi_awcache[n];
    assign awprot = m_axi_awprot[n];
    assign awvalid = m_axi_awvalid[n];
    assign m_axi_awready[n] = awready;
    assign wdata = m_axi_wdata[n];
    assign wstrb = m_axi_wstrb[n];
    assign wlast = m_axi_wlast[n];
    assign wvalid = m_axi_wvalid[n];
    assign m_axi_wready[n] = wready;
    assign m_axi_bid[n] = bid;
    assign m_axi_bresp[n] = bresp;
    assign m_axi_bvalid[n] = bvalid;
    assign bready = m_axi_bready[n];
  end

  matmul_top #(
      .Pes(Pes), .Lanes(Lanes), .BankRows0(BankRows0), .BankRows1(BankRows1), .BankRows2(BankRows2),
      .BankRows3(BankRows3), .TwiddleRows(TwiddleRows), .WordBits(WordBits), .MinLogN(MinLogN), .MaxLogN(MaxLogN),
      .Moduli(Moduli), .StreamRows(StreamRows), .NearPorts(NearPorts), .FarPorts(FarPorts), .SegmentLog(SegmentLog),
      .FarSegmentLog(FarSegmentLog), .Kind(Kind), .Twin(Twin)
  ) u_machine (.*);
endmodule
