// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The toy machine: one element, one AXI4 port, the shell's run control.
//
// Control  rf_shell_control (docs/hw/registers.md; ID "RFTY") and the registers of registers.json, which take whole words
//          only. SHAPE holds lanes and word width, a byte each. PC counts beats written.
// Data     one AXI4 master of Lanes*64 bits at the core clock
module toy_top #(
    parameter int unsigned Lanes = 8,
    parameter int unsigned WordBits = 54,
    parameter int unsigned BurstBeats = 32,
    parameter int unsigned Ports = 1,
    localparam int unsigned AddrW = 48,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    output logic                          irq_o,
    input  logic [11:0]                   s_axil_awaddr,
    input  logic                          s_axil_awvalid,
    output logic                          s_axil_awready,
    input  logic [31:0]                   s_axil_wdata,
    input  logic [3:0]                    s_axil_wstrb,
    input  logic                          s_axil_wvalid,
    output logic                          s_axil_wready,
    output logic [1:0]                    s_axil_bresp,
    output logic                          s_axil_bvalid,
    input  logic                          s_axil_bready,
    input  logic [11:0]                   s_axil_araddr,
    input  logic                          s_axil_arvalid,
    output logic                          s_axil_arready,
    output logic [31:0]                   s_axil_rdata,
    output logic [1:0]                    s_axil_rresp,
    output logic                          s_axil_rvalid,
    input  logic                          s_axil_rready,
    output logic [Ports-1:0]              m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]   m_axi_araddr,
    output logic [Ports-1:0][7:0]         m_axi_arlen,
    output logic [Ports-1:0][2:0]         m_axi_arsize,
    output logic [Ports-1:0][1:0]         m_axi_arburst,
    output logic [Ports-1:0][3:0]         m_axi_arcache,
    output logic [Ports-1:0][2:0]         m_axi_arprot,
    output logic [Ports-1:0]              m_axi_arvalid,
    input  logic [Ports-1:0]              m_axi_arready,
    input  logic [Ports-1:0]              m_axi_rid,
    input  logic [Ports-1:0][DataW-1:0]   m_axi_rdata,
    input  logic [Ports-1:0][1:0]         m_axi_rresp,
    input  logic [Ports-1:0]              m_axi_rlast,
    input  logic [Ports-1:0]              m_axi_rvalid,
    output logic [Ports-1:0]              m_axi_rready,
    output logic [Ports-1:0]              m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0]   m_axi_awaddr,
    output logic [Ports-1:0][7:0]         m_axi_awlen,
    output logic [Ports-1:0][2:0]         m_axi_awsize,
    output logic [Ports-1:0][1:0]         m_axi_awburst,
    output logic [Ports-1:0][3:0]         m_axi_awcache,
    output logic [Ports-1:0][2:0]         m_axi_awprot,
    output logic [Ports-1:0]              m_axi_awvalid,
    input  logic [Ports-1:0]              m_axi_awready,
    output logic [Ports-1:0][DataW-1:0]   m_axi_wdata,
    output logic [Ports-1:0][DataW/8-1:0] m_axi_wstrb,
    output logic [Ports-1:0]              m_axi_wlast,
    output logic [Ports-1:0]              m_axi_wvalid,
    input  logic [Ports-1:0]              m_axi_wready,
    input  logic [Ports-1:0]              m_axi_bid,
    input  logic [Ports-1:0][1:0]         m_axi_bresp,
    input  logic [Ports-1:0]              m_axi_bvalid,
    output logic [Ports-1:0]              m_axi_bready
);

  localparam int unsigned BurstW = $clog2(BurstBeats + 1);
  localparam int unsigned Registers = 9;

  if (Ports != 1) begin : g_bad_ports
    $error("%0d ports: the toy machine has one", Ports);
  end

  // ---- Registers of its own ------------------------------------------------------------------------
  logic        own_wr_valid, own_wr_known, own_rd_known;
  /* verilator lint_off UNUSEDSIGNAL */  // the shell gives addresses of bytes
  logic [11:0] own_wr_addr, own_rd_addr;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] own_wr_data, own_rd_data, own_q[Registers];
  logic [3:0]  own_wr_strb;

  assign own_wr_known = own_wr_addr[11:2] < 10'(64 + Registers) && own_wr_strb == '1;
  assign own_rd_known = own_rd_addr[11:2] < 10'(64 + Registers);
  assign own_rd_data = own_rd_known ? own_q[own_rd_addr[5:2]] : '0;

  always_ff @(posedge clk_i)
    if (own_wr_valid && own_wr_known) own_q[own_wr_addr[5:2]] <= own_wr_data;

  // ---- The element ---------------------------------------------------------------------------------
  logic              element_rst_n, start, halt, done;
  logic [7:0]        error;
  logic [31:0]       beats;
  logic [1:0]        rd_req_valid, rd_req_ready, rsp_valid;
  logic [AddrW-1:0]  rd_req_addr[2], wr_req_addr;
  logic [BurstW-1:0] rd_req_beats[2], wr_req_beats;
  logic              wr_req_valid, wr_req_ready, wr_valid, wr_ready, wr_done;
  logic [DataW-1:0]  rsp_data, wr_data;

  toy_adder #(
      .Lanes(Lanes),
      .WordBits(WordBits),
      .BurstBeats(BurstBeats),
      .AddrW(AddrW)
  ) u_adder (
      .clk_i, .rst_ni(element_rst_n), .start_i(start), .halt_i(halt), .done_o(done), .error_o(error), .beats_o(beats),
      .left_i(AddrW'({own_q[1], own_q[0]})), .right_i(AddrW'({own_q[3], own_q[2]})),
      .result_i(AddrW'({own_q[5], own_q[4]})), .modulus_i(WordBits'({own_q[7], own_q[6]})), .beats_i(own_q[8]),
      .rd_valid_o(rd_req_valid), .rd_ready_i(rd_req_ready), .rd_addr_o(rd_req_addr), .rd_beats_o(rd_req_beats),
      .rsp_valid_i(rsp_valid), .rsp_data_i(rsp_data), .wr_valid_o(wr_req_valid), .wr_ready_i(wr_req_ready),
      .wr_addr_o(wr_req_addr), .wr_beats_o(wr_req_beats), .data_valid_o(wr_valid), .data_ready_i(wr_ready),
      .data_o(wr_data), .wr_done_i(wr_done)
  );

  // ---- The port ------------------------------------------------------------------------------------
  logic rd_idle, wr_idle, rd_error, wr_error, rd_beat, wr_beat, rd_wait, wr_wait;

  rf_axi_read #(
      .DataW(DataW),
      .AddrW(AddrW),
      .Clients(2),
      .MaxBeats(BurstBeats)
  ) u_read (
      .clk_i, .rst_ni(element_rst_n), .req_valid_i(rd_req_valid), .req_ready_o(rd_req_ready), .req_addr_i(rd_req_addr),
      .req_beats_i(rd_req_beats), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data), .idle_o(rd_idle), .error_o(rd_error),
      .beat_o(rd_beat), .wait_o(rd_wait), .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst,
      .m_axi_arcache, .m_axi_arprot, .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp,
      .m_axi_rlast, .m_axi_rvalid, .m_axi_rready
  );
  rf_axi_write #(
      .DataW(DataW),
      .AddrW(AddrW),
      .Clients(1),
      .MaxBeats(BurstBeats)
  ) u_write (
      .clk_i, .rst_ni(element_rst_n), .req_valid_i(wr_req_valid), .req_ready_o(wr_req_ready),
      .req_addr_i('{wr_req_addr}), .req_beats_i('{wr_req_beats}), .data_valid_i(wr_valid), .data_ready_o(wr_ready),
      .data_i('{wr_data}), .done_o(wr_done), .idle_o(wr_idle), .error_o(wr_error), .beat_o(wr_beat), .wait_o(wr_wait),
      .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awcache, .m_axi_awprot,
      .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready,
      .m_axi_bid, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready
  );

  // ---- Control -------------------------------------------------------------------------------------
  // It has no programs and no counters of its own.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h59544652),
      .AddrW(AddrW),
      .Elements(1),
      .Ports(1),
      .PortBytes(DataW / 8)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({16'd0, 8'(WordBits), 8'(Lanes)}), .range_i('0), .element_rst_no(element_rst_n), .start_o(start),
      .halt_o(halt), .program_o(), .done_i(done), .error_i('{error}), .pc_i('{beats}), .idle_i(rd_idle && wr_idle),
      .bus_error_i(rd_error || wr_error), .rd_beat_i(rd_beat), .wr_beat_i(wr_beat), .rd_wait_i(rd_wait),
      .wr_wait_i(wr_wait), .amount_i('{8'd0}), .own_wr_valid_o(own_wr_valid), .own_rd_valid_o(),
      .own_wr_addr_o(own_wr_addr), .own_rd_addr_o(own_rd_addr), .own_wr_data_o(own_wr_data),
      .own_wr_strb_o(own_wr_strb), .own_wr_known_i(own_wr_known), .own_rd_data_i(own_rd_data),
      .own_rd_known_i(own_rd_known)
  );
  /* verilator lint_on PINCONNECTEMPTY */

endmodule
