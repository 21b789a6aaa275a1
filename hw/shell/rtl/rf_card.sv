// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// All that lies between a machine and the pins of a kernel on a card: resets, control registers, interrupt, data ports.
//
// Function    The kernel's AXI interfaces belong to clk_i, the machine to core_clk_i; both may be the same clock.
//             rf_card_control carries register accesses over and holds the ports' bases, one rf_axi_bridge a port its
//             data. `ringforge hw package` writes the kernel's top: this module beside a machine.
// Latency     see the parts
// Throughput  see rf_axi_bridge
// Ranges      the machine's ports as rf_axi_bridge says: whole rows, incrementing, one ID. core_rst_no belongs to the
//             machine; nothing of it may be reset while transfers are under way, but with the whole kernel.
// Errors      see the parts

module rf_card #(
    parameter int unsigned Ports = 4,
    parameter int unsigned RowW = 1024,
    parameter int unsigned PortW = 512,
    parameter int unsigned AddrW = 48,
    parameter int unsigned Rows = 32,
    parameter int unsigned Outstanding = 32,
    parameter int unsigned MaxWords = 256,
    parameter int unsigned Slices = 1
) (
    // The kernel's pins.
    input  logic                          clk_i,
    input  logic                          rst_ni,
    output logic                          irq_o,
    input  logic [12:0]                   s_axil_awaddr,
    input  logic                          s_axil_awvalid,
    output logic                          s_axil_awready,
    input  logic [31:0]                   s_axil_wdata,
    input  logic [3:0]                    s_axil_wstrb,
    input  logic                          s_axil_wvalid,
    output logic                          s_axil_wready,
    output logic [1:0]                    s_axil_bresp,
    output logic                          s_axil_bvalid,
    input  logic                          s_axil_bready,
    input  logic [12:0]                   s_axil_araddr,
    input  logic                          s_axil_arvalid,
    output logic                          s_axil_arready,
    output logic [31:0]                   s_axil_rdata,
    output logic [1:0]                    s_axil_rresp,
    output logic                          s_axil_rvalid,
    input  logic                          s_axil_rready,
    output logic [Ports-1:0]              m_axi_arid,
    output logic [Ports-1:0][63:0]        m_axi_araddr,
    output logic [Ports-1:0][7:0]         m_axi_arlen,
    output logic [Ports-1:0][2:0]         m_axi_arsize,
    output logic [Ports-1:0][1:0]         m_axi_arburst,
    output logic [Ports-1:0][3:0]         m_axi_arcache,
    output logic [Ports-1:0][2:0]         m_axi_arprot,
    output logic [Ports-1:0]              m_axi_arvalid,
    input  logic [Ports-1:0]              m_axi_arready,
    input  logic [Ports-1:0]              m_axi_rid,
    input  logic [Ports-1:0][PortW-1:0]   m_axi_rdata,
    input  logic [Ports-1:0][1:0]         m_axi_rresp,
    input  logic [Ports-1:0]              m_axi_rlast,
    input  logic [Ports-1:0]              m_axi_rvalid,
    output logic [Ports-1:0]              m_axi_rready,
    output logic [Ports-1:0]              m_axi_awid,
    output logic [Ports-1:0][63:0]        m_axi_awaddr,
    output logic [Ports-1:0][7:0]         m_axi_awlen,
    output logic [Ports-1:0][2:0]         m_axi_awsize,
    output logic [Ports-1:0][1:0]         m_axi_awburst,
    output logic [Ports-1:0][3:0]         m_axi_awcache,
    output logic [Ports-1:0][2:0]         m_axi_awprot,
    output logic [Ports-1:0]              m_axi_awvalid,
    input  logic [Ports-1:0]              m_axi_awready,
    output logic [Ports-1:0][PortW-1:0]   m_axi_wdata,
    output logic [Ports-1:0][PortW/8-1:0] m_axi_wstrb,
    output logic [Ports-1:0]              m_axi_wlast,
    output logic [Ports-1:0]              m_axi_wvalid,
    input  logic [Ports-1:0]              m_axi_wready,
    input  logic [Ports-1:0]              m_axi_bid,
    input  logic [Ports-1:0][1:0]         m_axi_bresp,
    input  logic [Ports-1:0]              m_axi_bvalid,
    output logic [Ports-1:0]              m_axi_bready,

    // The machine.
    input  logic                          core_clk_i,
    output logic                          core_rst_no,
    input  logic                          core_irq_i,
    output logic [11:0]                   m_axil_awaddr,
    output logic                          m_axil_awvalid,
    input  logic                          m_axil_awready,
    output logic [31:0]                   m_axil_wdata,
    output logic [3:0]                    m_axil_wstrb,
    output logic                          m_axil_wvalid,
    input  logic                          m_axil_wready,
    input  logic [1:0]                    m_axil_bresp,
    input  logic                          m_axil_bvalid,
    output logic                          m_axil_bready,
    output logic [11:0]                   m_axil_araddr,
    output logic                          m_axil_arvalid,
    input  logic                          m_axil_arready,
    input  logic [31:0]                   m_axil_rdata,
    input  logic [1:0]                    m_axil_rresp,
    input  logic                          m_axil_rvalid,
    output logic                          m_axil_rready,
    input  logic [Ports-1:0][AddrW-1:0]   s_axi_araddr,
    input  logic [Ports-1:0][7:0]         s_axi_arlen,
    input  logic [Ports-1:0]              s_axi_arvalid,
    output logic [Ports-1:0]              s_axi_arready,
    output logic [Ports-1:0][RowW-1:0]    s_axi_rdata,
    output logic [Ports-1:0][1:0]         s_axi_rresp,
    output logic [Ports-1:0]              s_axi_rlast,
    output logic [Ports-1:0]              s_axi_rvalid,
    input  logic [Ports-1:0]              s_axi_rready,
    input  logic [Ports-1:0][AddrW-1:0]   s_axi_awaddr,
    input  logic [Ports-1:0][7:0]         s_axi_awlen,
    input  logic [Ports-1:0]              s_axi_awvalid,
    output logic [Ports-1:0]              s_axi_awready,
    input  logic [Ports-1:0][RowW-1:0]    s_axi_wdata,
    input  logic [Ports-1:0]              s_axi_wvalid,
    output logic [Ports-1:0]              s_axi_wready,
    output logic [Ports-1:0][1:0]         s_axi_bresp,
    output logic [Ports-1:0]              s_axi_bvalid,
    input  logic [Ports-1:0]              s_axi_bready
);

  logic                   rst_n, core_rst_n;
  logic [Ports-1:0][63:0] base;

  assign core_rst_no = core_rst_n;

  rf_card_reset u_reset (
      .clk_i,
      .rst_ni,
      .rst_no(rst_n),
      .core_clk_i,
      .core_rst_no(core_rst_n)
  );

  logic irq_q;  // what crosses comes from a register

  always_ff @(posedge core_clk_i) irq_q <= core_irq_i;

  rf_sync u_irq (
      .clk_i,
      .d_i(irq_q),
      .q_o(irq_o)
  );

  rf_card_control #(
      .Ports(Ports)
  ) u_control (
      .clk_i,
      .rst_ni(rst_n),
      .s_axil_awaddr,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_bresp,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_araddr,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_rdata,
      .s_axil_rresp,
      .s_axil_rvalid,
      .s_axil_rready,
      .base_o(base),
      .core_clk_i,
      .core_rst_ni(core_rst_n),
      .m_axil_awaddr,
      .m_axil_awvalid,
      .m_axil_awready,
      .m_axil_wdata,
      .m_axil_wstrb,
      .m_axil_wvalid,
      .m_axil_wready,
      .m_axil_bresp,
      .m_axil_bvalid,
      .m_axil_bready,
      .m_axil_araddr,
      .m_axil_arvalid,
      .m_axil_arready,
      .m_axil_rdata,
      .m_axil_rresp,
      .m_axil_rvalid,
      .m_axil_rready
  );

  for (genvar n = 0; n < Ports; n++) begin : g_ports
    rf_axi_bridge #(
        .RowW(RowW),
        .PortW(PortW),
        .AddrW(AddrW),
        .Rows(Rows),
        .Outstanding(Outstanding),
        .MaxWords(MaxWords),
        .Slices(Slices)
    ) u_bridge (
        .clk_i(core_clk_i),
        .rst_ni(core_rst_n),
        .s_axi_araddr(s_axi_araddr[n]),
        .s_axi_arlen(s_axi_arlen[n]),
        .s_axi_arvalid(s_axi_arvalid[n]),
        .s_axi_arready(s_axi_arready[n]),
        .s_axi_rdata(s_axi_rdata[n]),
        .s_axi_rresp(s_axi_rresp[n]),
        .s_axi_rlast(s_axi_rlast[n]),
        .s_axi_rvalid(s_axi_rvalid[n]),
        .s_axi_rready(s_axi_rready[n]),
        .s_axi_awaddr(s_axi_awaddr[n]),
        .s_axi_awlen(s_axi_awlen[n]),
        .s_axi_awvalid(s_axi_awvalid[n]),
        .s_axi_awready(s_axi_awready[n]),
        .s_axi_wdata(s_axi_wdata[n]),
        .s_axi_wvalid(s_axi_wvalid[n]),
        .s_axi_wready(s_axi_wready[n]),
        .s_axi_bresp(s_axi_bresp[n]),
        .s_axi_bvalid(s_axi_bvalid[n]),
        .s_axi_bready(s_axi_bready[n]),
        .m_clk_i(clk_i),
        .m_rst_ni(rst_n),
        .base_i(base[n]),
        .m_axi_arid(m_axi_arid[n]),
        .m_axi_araddr(m_axi_araddr[n]),
        .m_axi_arlen(m_axi_arlen[n]),
        .m_axi_arsize(m_axi_arsize[n]),
        .m_axi_arburst(m_axi_arburst[n]),
        .m_axi_arcache(m_axi_arcache[n]),
        .m_axi_arprot(m_axi_arprot[n]),
        .m_axi_arvalid(m_axi_arvalid[n]),
        .m_axi_arready(m_axi_arready[n]),
        .m_axi_rid(m_axi_rid[n]),
        .m_axi_rdata(m_axi_rdata[n]),
        .m_axi_rresp(m_axi_rresp[n]),
        .m_axi_rlast(m_axi_rlast[n]),
        .m_axi_rvalid(m_axi_rvalid[n]),
        .m_axi_rready(m_axi_rready[n]),
        .m_axi_awid(m_axi_awid[n]),
        .m_axi_awaddr(m_axi_awaddr[n]),
        .m_axi_awlen(m_axi_awlen[n]),
        .m_axi_awsize(m_axi_awsize[n]),
        .m_axi_awburst(m_axi_awburst[n]),
        .m_axi_awcache(m_axi_awcache[n]),
        .m_axi_awprot(m_axi_awprot[n]),
        .m_axi_awvalid(m_axi_awvalid[n]),
        .m_axi_awready(m_axi_awready[n]),
        .m_axi_wdata(m_axi_wdata[n]),
        .m_axi_wstrb(m_axi_wstrb[n]),
        .m_axi_wlast(m_axi_wlast[n]),
        .m_axi_wvalid(m_axi_wvalid[n]),
        .m_axi_wready(m_axi_wready[n]),
        .m_axi_bid(m_axi_bid[n]),
        .m_axi_bresp(m_axi_bresp[n]),
        .m_axi_bvalid(m_axi_bvalid[n]),
        .m_axi_bready(m_axi_bready[n])
    );
  end

endmodule
