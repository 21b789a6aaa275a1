// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The machine's memory ports, and the streams of rows that its units have over them.
//
// Function    Way v: port 2v reads keys; port 2v + 1 reads for the way's other clients, of way 0 also the program, and
//             writes what STORE gives. Behind them group g of the grid of products has Rows ports for diagonals, then
//             Cols for ciphertexts; sums go out over the diagonals' ports of group 0. Streams are those of omr_read and
//             omr_write; those of one port take turns, a burst each.
// Latency     those of omr_read, omr_write and of rf_axi_read, rf_axi_write behind them
// Throughput  a row a cycle and port in each direction
// Halt        halt_i: nothing more is asked for; what was granted is carried through, and idle_o tells of it.
// Ranges      rows are beats: 64 bits a lane. rd_* and row_* [v][ReadClients] are the keys of way v.

module omr_memory
  import omr_pkg::*;
#(
    parameter int unsigned Lanes = 16,
    parameter int unsigned Ways = 1,
    parameter int unsigned Rows = 1,
    parameter int unsigned Cols = 1,
    parameter int unsigned Groups = 2,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned BurstRows = 16,
    parameter int unsigned ReadRows = 64,
    localparam int unsigned RowW = 64 * Lanes,
    localparam int unsigned RowsW = MaxLogN + 1,
    localparam int unsigned ProgramRowsW = 34,
    localparam int unsigned Grid = Groups * (Rows + Cols),
    localparam int unsigned Ports = 2 * Ways + Grid
) (
    input  logic                                         clk_i,
    input  logic                                         rst_ni,
    input  logic                                         halt_i,
    // The program
    input  logic                                         fetch_valid_i,
    output logic                                         fetch_ready_o,
    input  logic [AddrW-1:0]                             fetch_addr_i,
    input  logic [ProgramRowsW-1:0]                      fetch_rows_i,
    output logic                                         fetch_row_valid_o,
    input  logic                                         fetch_row_ready_i,
    output logic [RowW-1:0]                              fetch_row_o,
    // The rotation core
    input  logic [Ways-1:0][ReadClients:0]               rd_valid_i,
    output logic [Ways-1:0][ReadClients:0]               rd_ready_o,
    input  logic [Ways-1:0][ReadClients:0][AddrW-1:0]    rd_addr_i,
    input  logic [Ways-1:0][ReadClients:0][RowsW-1:0]    rd_rows_i,
    output logic [Ways-1:0][ReadClients:0]               row_valid_o,
    input  logic [Ways-1:0][ReadClients:0]               row_ready_i,
    output logic [Ways-1:0][ReadClients:0][RowW-1:0]     row_o,
    input  logic [Ways-1:0]                              wr_valid_i,
    output logic [Ways-1:0]                              wr_ready_o,
    input  logic [Ways-1:0][AddrW-1:0]                   wr_addr_i,
    input  logic [Ways-1:0][RowsW-1:0]                   wr_rows_i,
    input  logic [Ways-1:0]                              wr_row_valid_i,
    output logic [Ways-1:0]                              wr_row_ready_o,
    input  logic [Ways-1:0][RowW-1:0]                    wr_row_i,
    output logic [Ways-1:0]                              wr_acked_o,
    // The grid of products
    input  logic [Grid-1:0]                              sum_rd_valid_i,
    output logic [Grid-1:0]                              sum_rd_ready_o,
    input  logic [Grid-1:0][AddrW-1:0]                   sum_rd_addr_i,
    input  logic [Grid-1:0][RowsW-1:0]                   sum_rd_rows_i,
    output logic [Grid-1:0]                              sum_row_valid_o,
    input  logic [Grid-1:0]                              sum_row_ready_i,
    output logic [Grid-1:0][RowW-1:0]                    sum_row_o,
    input  logic [Rows-1:0]                              sum_wr_valid_i,
    output logic [Rows-1:0]                              sum_wr_ready_o,
    input  logic [Rows-1:0][AddrW-1:0]                   sum_wr_addr_i,
    input  logic [Rows-1:0][RowsW-1:0]                   sum_wr_rows_i,
    input  logic [Rows-1:0]                              sum_wr_row_valid_i,
    output logic [Rows-1:0]                              sum_wr_row_ready_o,
    input  logic [Rows-1:0][RowW-1:0]                    sum_wr_row_i,
    output logic [Rows-1:0]                              sum_wr_acked_o,
    // Ports
    output logic [Ports-1:0]                             idle_o,
    output logic [Ports-1:0]                             error_o,
    output logic [Ports-1:0]                             rd_beat_o,
    output logic [Ports-1:0]                             wr_beat_o,
    output logic [Ports-1:0]                             rd_wait_o,
    output logic [Ports-1:0]                             wr_wait_o,
    output logic [Ports-1:0]                             m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]                  m_axi_araddr,
    output logic [Ports-1:0][7:0]                        m_axi_arlen,
    output logic [Ports-1:0][2:0]                        m_axi_arsize,
    output logic [Ports-1:0][1:0]                        m_axi_arburst,
    output logic [Ports-1:0][3:0]                        m_axi_arcache,
    output logic [Ports-1:0][2:0]                        m_axi_arprot,
    output logic [Ports-1:0]                             m_axi_arvalid,
    input  logic [Ports-1:0]                             m_axi_arready,
    input  logic [Ports-1:0]                             m_axi_rid,
    input  logic [Ports-1:0][RowW-1:0]                   m_axi_rdata,
    input  logic [Ports-1:0][1:0]                        m_axi_rresp,
    input  logic [Ports-1:0]                             m_axi_rlast,
    input  logic [Ports-1:0]                             m_axi_rvalid,
    output logic [Ports-1:0]                             m_axi_rready,
    output logic [Ports-1:0]                             m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0]                  m_axi_awaddr,
    output logic [Ports-1:0][7:0]                        m_axi_awlen,
    output logic [Ports-1:0][2:0]                        m_axi_awsize,
    output logic [Ports-1:0][1:0]                        m_axi_awburst,
    output logic [Ports-1:0][3:0]                        m_axi_awcache,
    output logic [Ports-1:0][2:0]                        m_axi_awprot,
    output logic [Ports-1:0]                             m_axi_awvalid,
    input  logic [Ports-1:0]                             m_axi_awready,
    output logic [Ports-1:0][RowW-1:0]                   m_axi_wdata,
    output logic [Ports-1:0][RowW/8-1:0]                 m_axi_wstrb,
    output logic [Ports-1:0]                             m_axi_wlast,
    output logic [Ports-1:0]                             m_axi_wvalid,
    input  logic [Ports-1:0]                             m_axi_wready,
    input  logic [Ports-1:0]                             m_axi_bid,
    input  logic [Ports-1:0][1:0]                        m_axi_bresp,
    input  logic [Ports-1:0]                             m_axi_bvalid,
    output logic [Ports-1:0]                             m_axi_bready
);
  localparam int unsigned AskW = $clog2(BurstRows + 1);
  localparam int unsigned FetchBeats = BurstRows < 8 ? BurstRows : 8;

  // ---- Reads ---------------------------------------------------------------------------------------
  for (genvar p = 0; p < Ports; p++) begin : g_read
    localparam bit InWay = p < 2 * Ways;
    localparam int unsigned Way = InWay ? p / 2 : 0;
    localparam bit General = InWay && p % 2 == 1;
    localparam int unsigned First = General ? 0 : ReadClients;     // of the way's streams
    localparam int unsigned Streams = General ? ReadClients : 1;
    localparam int unsigned Clients = p == 1 ? ReadClients + 1 : Streams;
    localparam int unsigned Cell = InWay ? 0 : p - 2 * Ways;       // of the grid

    logic [Clients-1:0] ask_valid, ask_ready, rsp_valid;
    logic [AddrW-1:0]   ask_addr  [Clients];
    logic [AskW-1:0]    ask_beats [Clients];
    logic [RowW-1:0]    rsp_data;

    for (genvar c = 0; c < Streams; c++) begin : g_stream
      if (InWay) begin : g_way
        omr_read #(
            .RowW(RowW), .RowsW(RowsW), .Depth(ReadRows), .MaxBeats(BurstRows), .AskW(AskW)
        ) u_stream (
            .clk_i, .rst_ni, .halt_i, .req_valid_i(rd_valid_i[Way][First+c]), .req_ready_o(rd_ready_o[Way][First+c]),
            .req_addr_i(rd_addr_i[Way][First+c]), .req_rows_i(rd_rows_i[Way][First+c]),
            .row_valid_o(row_valid_o[Way][First+c]), .row_ready_i(row_ready_i[Way][First+c]),
            .row_o(row_o[Way][First+c]), .ask_valid_o(ask_valid[c]), .ask_ready_i(ask_ready[c]),
            .ask_addr_o(ask_addr[c]), .ask_beats_o(ask_beats[c]), .rsp_valid_i(rsp_valid[c]), .rsp_data_i(rsp_data)
        );
      end else begin : g_grid
        omr_read #(
            .RowW(RowW), .RowsW(RowsW), .Depth(ReadRows), .MaxBeats(BurstRows), .AskW(AskW)
        ) u_stream (
            .clk_i, .rst_ni, .halt_i, .req_valid_i(sum_rd_valid_i[Cell]), .req_ready_o(sum_rd_ready_o[Cell]),
            .req_addr_i(sum_rd_addr_i[Cell]), .req_rows_i(sum_rd_rows_i[Cell]), .row_valid_o(sum_row_valid_o[Cell]),
            .row_ready_i(sum_row_ready_i[Cell]), .row_o(sum_row_o[Cell]), .ask_valid_o(ask_valid[c]),
            .ask_ready_i(ask_ready[c]), .ask_addr_o(ask_addr[c]), .ask_beats_o(ask_beats[c]),
            .rsp_valid_i(rsp_valid[c]), .rsp_data_i(rsp_data)
        );
      end
    end

    if (p == 1) begin : g_fetch
      omr_read #(
          .RowW(RowW), .RowsW(ProgramRowsW), .Depth(2 * FetchBeats), .MaxBeats(FetchBeats), .AskW(AskW)
      ) u_stream (
          .clk_i, .rst_ni, .halt_i, .req_valid_i(fetch_valid_i), .req_ready_o(fetch_ready_o),
          .req_addr_i(fetch_addr_i), .req_rows_i(fetch_rows_i), .row_valid_o(fetch_row_valid_o),
          .row_ready_i(fetch_row_ready_i), .row_o(fetch_row_o), .ask_valid_o(ask_valid[ReadClients]),
          .ask_ready_i(ask_ready[ReadClients]), .ask_addr_o(ask_addr[ReadClients]),
          .ask_beats_o(ask_beats[ReadClients]), .rsp_valid_i(rsp_valid[ReadClients]), .rsp_data_i(rsp_data)
      );
    end

    logic rd_idle, rd_error;
    rf_axi_read #(
        .DataW(RowW), .AddrW(AddrW), .Clients(Clients), .MaxBeats(BurstRows)
    ) u_axi (
        .clk_i, .rst_ni, .req_valid_i(ask_valid), .req_ready_o(ask_ready), .req_addr_i(ask_addr),
        .req_beats_i(ask_beats), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data), .idle_o(rd_idle), .error_o(rd_error),
        .beat_o(rd_beat_o[p]), .wait_o(rd_wait_o[p]), .m_axi_arid(m_axi_arid[p]), .m_axi_araddr(m_axi_araddr[p]),
        .m_axi_arlen(m_axi_arlen[p]), .m_axi_arsize(m_axi_arsize[p]), .m_axi_arburst(m_axi_arburst[p]),
        .m_axi_arcache(m_axi_arcache[p]), .m_axi_arprot(m_axi_arprot[p]), .m_axi_arvalid(m_axi_arvalid[p]),
        .m_axi_arready(m_axi_arready[p]), .m_axi_rid(m_axi_rid[p]), .m_axi_rdata(m_axi_rdata[p]),
        .m_axi_rresp(m_axi_rresp[p]), .m_axi_rlast(m_axi_rlast[p]), .m_axi_rvalid(m_axi_rvalid[p]),
        .m_axi_rready(m_axi_rready[p])
    );

    // ---- Writes ------------------------------------------------------------------------------------
    logic wr_idle, wr_error;
    if (General || (!InWay && Cell < Rows)) begin : g_write
      logic            req_valid, req_ready, in_valid, in_ready, acked, want, want_ready, out_valid, out_ready, done;
      logic [AddrW-1:0] req_addr, want_addr;
      logic [RowsW-1:0] req_rows;
      logic [AskW-1:0]  want_beats;
      logic [RowW-1:0]  in_row, out_row;

      if (General) begin : g_store
        assign req_valid = wr_valid_i[Way];
        assign req_addr = wr_addr_i[Way];
        assign req_rows = wr_rows_i[Way];
        assign in_valid = wr_row_valid_i[Way];
        assign in_row = wr_row_i[Way];
        assign wr_ready_o[Way] = req_ready;
        assign wr_row_ready_o[Way] = in_ready;
        assign wr_acked_o[Way] = acked;
      end else begin : g_sum
        assign req_valid = sum_wr_valid_i[Cell];
        assign req_addr = sum_wr_addr_i[Cell];
        assign req_rows = sum_wr_rows_i[Cell];
        assign in_valid = sum_wr_row_valid_i[Cell];
        assign in_row = sum_wr_row_i[Cell];
        assign sum_wr_ready_o[Cell] = req_ready;
        assign sum_wr_row_ready_o[Cell] = in_ready;
        assign sum_wr_acked_o[Cell] = acked;
      end

      omr_write #(
          .RowW(RowW), .RowsW(RowsW), .Depth(2 * BurstRows), .MaxBeats(BurstRows)
      ) u_stream (
          .clk_i, .rst_ni, .halt_i, .req_valid_i(req_valid), .req_ready_o(req_ready), .req_addr_i(req_addr),
          .req_rows_i(req_rows), .row_valid_i(in_valid), .row_ready_o(in_ready), .row_i(in_row), .acked_o(acked),
          .ask_valid_o(want), .ask_ready_i(want_ready), .ask_addr_o(want_addr), .ask_beats_o(want_beats),
          .data_valid_o(out_valid), .data_ready_i(out_ready), .data_o(out_row), .done_i(done)
      );

      rf_axi_write #(
          .DataW(RowW), .AddrW(AddrW), .Clients(1), .MaxBeats(BurstRows)
      ) u_axi_write (
          .clk_i, .rst_ni, .req_valid_i(want), .req_ready_o(want_ready), .req_addr_i('{want_addr}),
          .req_beats_i('{want_beats}), .data_valid_i(out_valid), .data_ready_o(out_ready), .data_i('{out_row}),
          .done_o(done), .idle_o(wr_idle), .error_o(wr_error), .beat_o(wr_beat_o[p]), .wait_o(wr_wait_o[p]),
          .m_axi_awid(m_axi_awid[p]), .m_axi_awaddr(m_axi_awaddr[p]), .m_axi_awlen(m_axi_awlen[p]),
          .m_axi_awsize(m_axi_awsize[p]), .m_axi_awburst(m_axi_awburst[p]), .m_axi_awcache(m_axi_awcache[p]),
          .m_axi_awprot(m_axi_awprot[p]), .m_axi_awvalid(m_axi_awvalid[p]), .m_axi_awready(m_axi_awready[p]),
          .m_axi_wdata(m_axi_wdata[p]), .m_axi_wstrb(m_axi_wstrb[p]), .m_axi_wlast(m_axi_wlast[p]),
          .m_axi_wvalid(m_axi_wvalid[p]), .m_axi_wready(m_axi_wready[p]), .m_axi_bid(m_axi_bid[p]),
          .m_axi_bresp(m_axi_bresp[p]), .m_axi_bvalid(m_axi_bvalid[p]), .m_axi_bready(m_axi_bready[p])
      );
    end else begin : g_silent
      assign m_axi_awid[p] = '0;
      assign m_axi_awaddr[p] = '0;
      assign m_axi_awlen[p] = '0;
      assign m_axi_awsize[p] = '0;
      assign m_axi_awburst[p] = '0;
      assign m_axi_awcache[p] = '0;
      assign m_axi_awprot[p] = '0;
      assign m_axi_awvalid[p] = 1'b0;
      assign m_axi_wdata[p] = '0;
      assign m_axi_wstrb[p] = '0;
      assign m_axi_wlast[p] = 1'b0;
      assign m_axi_wvalid[p] = 1'b0;
      assign m_axi_bready[p] = 1'b1;
      assign wr_idle = 1'b1;
      assign wr_error = 1'b0;
      assign wr_beat_o[p] = 1'b0;
      assign wr_wait_o[p] = 1'b0;

      logic unused;
      assign unused = ^{m_axi_awready[p], m_axi_wready[p], m_axi_bid[p], m_axi_bresp[p], m_axi_bvalid[p]};
    end

    assign idle_o[p] = rd_idle && wr_idle;
    assign error_o[p] = rd_error || wr_error;
  end
endmodule
