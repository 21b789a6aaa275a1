// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The machine's memory ports, and the streams of rows that its units have over them.
//
// Function    Port 0 is the host's link: the program, LOAD's channel 0 and STORE; its data pass aes_link in each direction.
//             Port 1, if there is one, is the card's memory: LOAD's channel 1 and STORE. Streams are those of aes_read and
//             aes_write; those that read over one port take turns, a burst each.
// Latency     those of aes_read, aes_write and of rf_axi_read, rf_axi_write behind them
// Throughput  a row a cycle and port in each direction, over the link what aes_link lets through
// Halt        halt_i: nothing more is asked for; what was granted is carried through, and idle_o tells of it.
// Ranges      rows are beats; wr_port_i < Ports. ReadRows rows cover a port's latency, or reads are slower.

module aes_memory
  import aes_pkg::*;
#(
    parameter int unsigned Ports = 2,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned ReadRows = 512,
    parameter int unsigned LinkBurst = 8,
    parameter int unsigned LinkGap = 1,
    localparam int unsigned CountW = MaxLogN - $clog2(NarrowWords) + 1
) (
    input  logic                           clk_i,
    input  logic                           rst_ni,
    input  logic                           halt_i,
    // The program
    input  logic                           fetch_valid_i,
    output logic                           fetch_ready_o,
    input  logic [AddrW-1:0]               fetch_addr_i,
    input  logic [31:0]                    fetch_rows_i,
    output logic                           fetch_row_valid_o,
    input  logic                           fetch_row_ready_i,
    output logic [NarrowW-1:0]             fetch_row_o,
    // LOAD
    input  logic [Ports-1:0]               rd_valid_i,
    output logic [Ports-1:0]               rd_ready_o,
    input  logic [Ports-1:0][AddrW-1:0]    rd_addr_i,
    input  logic [Ports-1:0][CountW-1:0]   rd_rows_i,
    output logic [Ports-1:0]               row_valid_o,
    input  logic [Ports-1:0]               row_ready_i,
    output logic [Ports-1:0][NarrowW-1:0]  row_o,
    // STORE
    input  logic                           wr_valid_i,
    output logic                           wr_ready_o,
    input  logic                           wr_port_i,
    input  logic [AddrW-1:0]               wr_addr_i,
    input  logic [CountW-1:0]              wr_rows_i,
    input  logic                           wr_row_valid_i,
    output logic                           wr_row_ready_o,
    input  logic [NarrowW-1:0]             wr_row_i,
    output logic                           wr_acked_o,

    output logic [Ports-1:0]               idle_o,
    output logic [Ports-1:0]               error_o,
    output logic [Ports-1:0]               rd_beat_o,
    output logic [Ports-1:0]               wr_beat_o,
    output logic [Ports-1:0]               rd_wait_o,
    output logic [Ports-1:0]               wr_wait_o,

    output logic [Ports-1:0]                      m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]           m_axi_araddr,
    output logic [Ports-1:0][7:0]                 m_axi_arlen,
    output logic [Ports-1:0][2:0]                 m_axi_arsize,
    output logic [Ports-1:0][1:0]                 m_axi_arburst,
    output logic [Ports-1:0][3:0]                 m_axi_arcache,
    output logic [Ports-1:0][2:0]                 m_axi_arprot,
    output logic [Ports-1:0]                      m_axi_arvalid,
    input  logic [Ports-1:0]                      m_axi_arready,
    input  logic [Ports-1:0]                      m_axi_rid,
    input  logic [Ports-1:0][NarrowW-1:0]         m_axi_rdata,
    input  logic [Ports-1:0][1:0]                 m_axi_rresp,
    input  logic [Ports-1:0]                      m_axi_rlast,
    input  logic [Ports-1:0]                      m_axi_rvalid,
    output logic [Ports-1:0]                      m_axi_rready,
    output logic [Ports-1:0]                      m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0]           m_axi_awaddr,
    output logic [Ports-1:0][7:0]                 m_axi_awlen,
    output logic [Ports-1:0][2:0]                 m_axi_awsize,
    output logic [Ports-1:0][1:0]                 m_axi_awburst,
    output logic [Ports-1:0][3:0]                 m_axi_awcache,
    output logic [Ports-1:0][2:0]                 m_axi_awprot,
    output logic [Ports-1:0]                      m_axi_awvalid,
    input  logic [Ports-1:0]                      m_axi_awready,
    output logic [Ports-1:0][NarrowW-1:0]         m_axi_wdata,
    output logic [Ports-1:0][NarrowW/8-1:0]       m_axi_wstrb,
    output logic [Ports-1:0]                      m_axi_wlast,
    output logic [Ports-1:0]                      m_axi_wvalid,
    input  logic [Ports-1:0]                      m_axi_wready,
    input  logic [Ports-1:0]                      m_axi_bid,
    input  logic [Ports-1:0][1:0]                 m_axi_bresp,
    input  logic [Ports-1:0]                      m_axi_bvalid,
    output logic [Ports-1:0]                      m_axi_bready
);
  localparam int unsigned AskW = $clog2(BurstRows + 1);
  localparam int unsigned FetchBeats = BurstRows < 8 ? BurstRows : 8;
  // Bursts on their way: all that the streams have room for, of any length.
  localparam int unsigned Outstanding = ReadRows / BurstRows + 8;

  // ---- The stream of writes, to whichever port its request names --------------------------------------
  logic               want, out_valid, wr_port_q;
  logic [Ports-1:0]   want_ready, out_ready, done;
  logic [AddrW-1:0]   want_addr;
  logic [AskW-1:0]    want_beats;
  logic [NarrowW-1:0] out_row;
  logic [Ports-1:0]   to_port;

  aes_write #(
      .CountW(CountW), .Depth(2 * BurstRows), .MaxBeats(BurstRows)
  ) u_writes (
      .clk_i, .rst_ni, .halt_i, .req_valid_i(wr_valid_i), .req_ready_o(wr_ready_o), .req_addr_i(wr_addr_i),
      .req_rows_i(wr_rows_i), .row_valid_i(wr_row_valid_i), .row_ready_o(wr_row_ready_o), .row_i(wr_row_i),
      .acked_o(wr_acked_o), .ask_valid_o(want), .ask_ready_i((want_ready & to_port) != '0), .ask_addr_o(want_addr),
      .ask_beats_o(want_beats), .data_valid_o(out_valid), .data_ready_i((out_ready & to_port) != '0),
      .data_o(out_row), .done_i(done != '0)
  );

  // All bursts of a request are acknowledged before the next one is taken, so one port at a time has any.
  always_ff @(posedge clk_i) if (wr_valid_i && wr_ready_o) wr_port_q <= wr_port_i;

  for (genvar p = 0; p < Ports; p++) begin : g_port
    localparam int unsigned Clients = p == 0 ? 2 : 1;
    localparam int unsigned Gap = p == 0 ? LinkGap : 0;

    // ---- Reads -------------------------------------------------------------------------------------
    logic [Clients-1:0] ask_valid, ask_ready, rsp_valid;
    logic [AddrW-1:0]   ask_addr  [Clients];
    logic [AskW-1:0]    ask_beats [Clients];
    logic [NarrowW-1:0] rsp_data;
    logic               rvalid, rready, wvalid, wready;

    aes_read #(
        .CountW(CountW), .Depth(ReadRows), .MaxBeats(BurstRows), .AskW(AskW)
    ) u_load (
        .clk_i, .rst_ni, .halt_i, .req_valid_i(rd_valid_i[p]), .req_ready_o(rd_ready_o[p]),
        .req_addr_i(rd_addr_i[p]), .req_rows_i(rd_rows_i[p]), .row_valid_o(row_valid_o[p]),
        .row_ready_i(row_ready_i[p]), .row_o(row_o[p]), .ask_valid_o(ask_valid[0]), .ask_ready_i(ask_ready[0]),
        .ask_addr_o(ask_addr[0]), .ask_beats_o(ask_beats[0]), .rsp_valid_i(rsp_valid[0]), .rsp_data_i(rsp_data)
    );

    if (p == 0) begin : g_fetch
      aes_read #(
          .CountW(32), .Depth(2 * FetchBeats), .MaxBeats(FetchBeats), .AskW(AskW)
      ) u_program (
          .clk_i, .rst_ni, .halt_i, .req_valid_i(fetch_valid_i), .req_ready_o(fetch_ready_o),
          .req_addr_i(fetch_addr_i), .req_rows_i(fetch_rows_i), .row_valid_o(fetch_row_valid_o),
          .row_ready_i(fetch_row_ready_i), .row_o(fetch_row_o), .ask_valid_o(ask_valid[1]),
          .ask_ready_i(ask_ready[1]), .ask_addr_o(ask_addr[1]), .ask_beats_o(ask_beats[1]),
          .rsp_valid_i(rsp_valid[1]), .rsp_data_i(rsp_data)
      );
    end

    aes_link #(
        .Burst(LinkBurst), .Gap(Gap)
    ) u_read_link (
        .clk_i, .rst_ni, .valid_i(m_axi_rvalid[p]), .ready_o(m_axi_rready[p]), .valid_o(rvalid), .ready_i(rready)
    );

    logic rd_idle, rd_error;
    rf_axi_read #(
        .DataW(NarrowW), .AddrW(AddrW), .Clients(Clients), .MaxBeats(BurstRows), .Outstanding(Outstanding)
    ) u_axi (
        .clk_i, .rst_ni, .req_valid_i(ask_valid), .req_ready_o(ask_ready), .req_addr_i(ask_addr),
        .req_beats_i(ask_beats), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data), .idle_o(rd_idle), .error_o(rd_error),
        .beat_o(rd_beat_o[p]), .wait_o(rd_wait_o[p]), .m_axi_arid(m_axi_arid[p]), .m_axi_araddr(m_axi_araddr[p]),
        .m_axi_arlen(m_axi_arlen[p]), .m_axi_arsize(m_axi_arsize[p]), .m_axi_arburst(m_axi_arburst[p]),
        .m_axi_arcache(m_axi_arcache[p]), .m_axi_arprot(m_axi_arprot[p]), .m_axi_arvalid(m_axi_arvalid[p]),
        .m_axi_arready(m_axi_arready[p]), .m_axi_rid(m_axi_rid[p]), .m_axi_rdata(m_axi_rdata[p]),
        .m_axi_rresp(m_axi_rresp[p]), .m_axi_rlast(m_axi_rlast[p]), .m_axi_rvalid(rvalid), .m_axi_rready(rready)
    );

    // ---- Writes ------------------------------------------------------------------------------------
    logic wr_idle, wr_error;
    assign to_port[p] = wr_port_q == 1'(p);

    rf_axi_write #(
        .DataW(NarrowW), .AddrW(AddrW), .Clients(1), .MaxBeats(BurstRows)
    ) u_axi_write (
        .clk_i, .rst_ni, .req_valid_i(want && to_port[p]), .req_ready_o(want_ready[p]), .req_addr_i('{want_addr}),
        .req_beats_i('{want_beats}), .data_valid_i(out_valid && to_port[p]), .data_ready_o(out_ready[p]),
        .data_i('{out_row}), .done_o(done[p]), .idle_o(wr_idle), .error_o(wr_error), .beat_o(wr_beat_o[p]),
        .wait_o(wr_wait_o[p]), .m_axi_awid(m_axi_awid[p]), .m_axi_awaddr(m_axi_awaddr[p]),
        .m_axi_awlen(m_axi_awlen[p]), .m_axi_awsize(m_axi_awsize[p]), .m_axi_awburst(m_axi_awburst[p]),
        .m_axi_awcache(m_axi_awcache[p]), .m_axi_awprot(m_axi_awprot[p]), .m_axi_awvalid(m_axi_awvalid[p]),
        .m_axi_awready(m_axi_awready[p]), .m_axi_wdata(m_axi_wdata[p]), .m_axi_wstrb(m_axi_wstrb[p]),
        .m_axi_wlast(m_axi_wlast[p]), .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(m_axi_bid[p]),
        .m_axi_bresp(m_axi_bresp[p]), .m_axi_bvalid(m_axi_bvalid[p]), .m_axi_bready(m_axi_bready[p])
    );

    aes_link #(
        .Burst(LinkBurst), .Gap(Gap)
    ) u_write_link (
        .clk_i, .rst_ni, .valid_i(wvalid), .ready_o(wready), .valid_o(m_axi_wvalid[p]), .ready_i(m_axi_wready[p])
    );

    assign idle_o[p] = rd_idle && wr_idle;
    assign error_o[p] = rd_error || wr_error;
  end
endmodule
