// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// matmul_memory of an element with two near ports and one far port, each under a name of its own (AXI models find their
// signals by prefix), and with clients that a bench can drive: plain vectors.
module memory_bench
  import vector_pkg::*;
  import matmul_pkg::*;
#(
    parameter int unsigned W = 54,
    localparam int unsigned Lanes = 16,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    input  logic                        halt_i,
    input  logic [LinesW-1:0]           rows_i,
    input  logic [ReadClients-1:0]      rd_valid_i,
    input  logic [ReadClients-1:0][AddrW-1:0] rd_addr_i,
    input  logic [ReadClients-1:0][BeatBits-1:0] rd_beats_i,
    output logic [ReadClients-1:0]      rd_ready_o,
    output logic                        fetch_valid_o,
    output logic [DataW-1:0]            fetch_line_o,
    output logic [1:0]                  row_valid_o,
    output logic [Lanes-1:0][W-1:0]     row_o,
    input  logic                        wr_valid_i,
    input  logic [AddrW-1:0]            wr_addr_i,
    input  logic [BeatBits-1:0]         wr_beats_i,
    output logic                        wr_ready_o,
    input  logic                        wr_row_valid_i,
    output logic                        wr_row_ready_o,
    input  logic [Lanes-1:0][W-1:0]     wr_row_i,
    output logic                        wr_ack_o,
    input  logic                        copy_valid_i,
    output logic                        copy_ready_o,
    input  logic [AddrW-1:0]            copy_near_i,
    input  logic [AddrW-1:0]            copy_far_i,
    output logic                        copy_idle_o,
    output logic [2:0]                  idle_o,
    output logic [2:0]                  error_o,
    output logic [2:0]                  rd_beat_o,
    output logic [2:0]                  rd_wait_o,
    output logic [1:0]                  wr_beat_o,
    output logic [1:0]                  wr_wait_o,
    output logic               p0_axi_arid,
    output logic   [AddrW-1:0] p0_axi_araddr,
    output logic         [7:0] p0_axi_arlen,
    output logic         [2:0] p0_axi_arsize,
    output logic         [1:0] p0_axi_arburst,
    output logic         [3:0] p0_axi_arcache,
    output logic         [2:0] p0_axi_arprot,
    output logic               p0_axi_arvalid,
    input  logic               p0_axi_arready,
    input  logic               p0_axi_rid,
    input  logic   [PortW-1:0] p0_axi_rdata,
    input  logic         [1:0] p0_axi_rresp,
    input  logic               p0_axi_rlast,
    input  logic               p0_axi_rvalid,
    output logic               p0_axi_rready,
    output logic               p0_axi_awid,
    output logic   [AddrW-1:0] p0_axi_awaddr,
    output logic         [7:0] p0_axi_awlen,
    output logic         [2:0] p0_axi_awsize,
    output logic         [1:0] p0_axi_awburst,
    output logic         [3:0] p0_axi_awcache,
    output logic         [2:0] p0_axi_awprot,
    output logic               p0_axi_awvalid,
    input  logic               p0_axi_awready,
    output logic   [PortW-1:0] p0_axi_wdata,
    output logic [PortW/8-1:0] p0_axi_wstrb,
    output logic               p0_axi_wlast,
    output logic               p0_axi_wvalid,
    input  logic               p0_axi_wready,
    input  logic               p0_axi_bid,
    input  logic         [1:0] p0_axi_bresp,
    input  logic               p0_axi_bvalid,
    output logic               p0_axi_bready,
    output logic               p1_axi_arid,
    output logic   [AddrW-1:0] p1_axi_araddr,
    output logic         [7:0] p1_axi_arlen,
    output logic         [2:0] p1_axi_arsize,
    output logic         [1:0] p1_axi_arburst,
    output logic         [3:0] p1_axi_arcache,
    output logic         [2:0] p1_axi_arprot,
    output logic               p1_axi_arvalid,
    input  logic               p1_axi_arready,
    input  logic               p1_axi_rid,
    input  logic   [PortW-1:0] p1_axi_rdata,
    input  logic         [1:0] p1_axi_rresp,
    input  logic               p1_axi_rlast,
    input  logic               p1_axi_rvalid,
    output logic               p1_axi_rready,
    output logic               p1_axi_awid,
    output logic   [AddrW-1:0] p1_axi_awaddr,
    output logic         [7:0] p1_axi_awlen,
    output logic         [2:0] p1_axi_awsize,
    output logic         [1:0] p1_axi_awburst,
    output logic         [3:0] p1_axi_awcache,
    output logic         [2:0] p1_axi_awprot,
    output logic               p1_axi_awvalid,
    input  logic               p1_axi_awready,
    output logic   [PortW-1:0] p1_axi_wdata,
    output logic [PortW/8-1:0] p1_axi_wstrb,
    output logic               p1_axi_wlast,
    output logic               p1_axi_wvalid,
    input  logic               p1_axi_wready,
    input  logic               p1_axi_bid,
    input  logic         [1:0] p1_axi_bresp,
    input  logic               p1_axi_bvalid,
    output logic               p1_axi_bready,
    output logic               p2_axi_arid,
    output logic   [AddrW-1:0] p2_axi_araddr,
    output logic         [7:0] p2_axi_arlen,
    output logic         [2:0] p2_axi_arsize,
    output logic         [1:0] p2_axi_arburst,
    output logic         [3:0] p2_axi_arcache,
    output logic         [2:0] p2_axi_arprot,
    output logic               p2_axi_arvalid,
    input  logic               p2_axi_arready,
    input  logic               p2_axi_rid,
    input  logic   [PortW-1:0] p2_axi_rdata,
    input  logic         [1:0] p2_axi_rresp,
    input  logic               p2_axi_rlast,
    input  logic               p2_axi_rvalid,
    output logic               p2_axi_rready
);
  request_t rd_req[ReadClients], wr_req;
  logic [W-1:0] row[Lanes], wr_row[Lanes];

  always_comb begin
    for (int unsigned c = 0; c < ReadClients; c++) begin
      rd_req[c].valid = rd_valid_i[c];
      rd_req[c].addr = rd_addr_i[c];
      rd_req[c].beats = rd_beats_i[c];
    end
    wr_req.valid = wr_valid_i;
    wr_req.addr = wr_addr_i;
    wr_req.beats = wr_beats_i;
    for (int unsigned l = 0; l < Lanes; l++) begin
      row_o[l] = row[l];
      wr_row[l] = wr_row_i[l];
    end
  end

  matmul_memory #(
      .W(W), .Lanes(Lanes), .NearPorts(2), .FarPorts(1), .SegmentLog(16), .FarSegmentLog(17), .ReadLines(32),
      .FarLines(128)
  ) u_memory (
      .clk_i, .rst_ni, .halt_i, .index_i(7'd1), .far_base_i(48'h40000), .rows_i, .rd_req_i(rd_req), .rd_ready_o,
      .fetch_valid_o, .fetch_line_o, .row_valid_o, .row_o(row), .wr_req_i(wr_req), .wr_ready_o,
      .wr_valid_i(wr_row_valid_i), .wr_data_ready_o(wr_row_ready_o), .wr_row_i(wr_row), .wr_ack_o, .copy_valid_i,
      .copy_ready_o, .copy_near_i, .copy_far_i, .copy_idle_o, .near_idle_o(idle_o[1:0]), .near_error_o(error_o[1:0]),
      .rd_beat_o(rd_beat_o[1:0]), .rd_wait_o(rd_wait_o[1:0]), .wr_beat_o, .wr_wait_o, .far_idle_o(idle_o[2]),
      .far_error_o(error_o[2]), .far_beat_o(rd_beat_o[2]), .far_wait_o(rd_wait_o[2]),
      .near_arid({p1_axi_arid, p0_axi_arid}), .near_araddr({p1_axi_araddr, p0_axi_araddr}),
      .near_arlen({p1_axi_arlen, p0_axi_arlen}), .near_arsize({p1_axi_arsize, p0_axi_arsize}),
      .near_arburst({p1_axi_arburst, p0_axi_arburst}), .near_arcache({p1_axi_arcache, p0_axi_arcache}),
      .near_arprot({p1_axi_arprot, p0_axi_arprot}), .near_arvalid({p1_axi_arvalid, p0_axi_arvalid}),
      .near_arready({p1_axi_arready, p0_axi_arready}), .near_rid({p1_axi_rid, p0_axi_rid}),
      .near_rdata({p1_axi_rdata, p0_axi_rdata}), .near_rresp({p1_axi_rresp, p0_axi_rresp}),
      .near_rlast({p1_axi_rlast, p0_axi_rlast}), .near_rvalid({p1_axi_rvalid, p0_axi_rvalid}),
      .near_rready({p1_axi_rready, p0_axi_rready}), .near_awid({p1_axi_awid, p0_axi_awid}),
      .near_awaddr({p1_axi_awaddr, p0_axi_awaddr}), .near_awlen({p1_axi_awlen, p0_axi_awlen}),
      .near_awsize({p1_axi_awsize, p0_axi_awsize}), .near_awburst({p1_axi_awburst, p0_axi_awburst}),
      .near_awcache({p1_axi_awcache, p0_axi_awcache}), .near_awprot({p1_axi_awprot, p0_axi_awprot}),
      .near_awvalid({p1_axi_awvalid, p0_axi_awvalid}), .near_awready({p1_axi_awready, p0_axi_awready}),
      .near_wdata({p1_axi_wdata, p0_axi_wdata}), .near_wstrb({p1_axi_wstrb, p0_axi_wstrb}),
      .near_wlast({p1_axi_wlast, p0_axi_wlast}), .near_wvalid({p1_axi_wvalid, p0_axi_wvalid}),
      .near_wready({p1_axi_wready, p0_axi_wready}), .near_bid({p1_axi_bid, p0_axi_bid}),
      .near_bresp({p1_axi_bresp, p0_axi_bresp}), .near_bvalid({p1_axi_bvalid, p0_axi_bvalid}),
      .near_bready({p1_axi_bready, p0_axi_bready}), .far_arid(p2_axi_arid), .far_araddr(p2_axi_araddr),
      .far_arlen(p2_axi_arlen), .far_arsize(p2_axi_arsize), .far_arburst(p2_axi_arburst), .far_arcache(p2_axi_arcache),
      .far_arprot(p2_axi_arprot), .far_arvalid(p2_axi_arvalid), .far_arready(p2_axi_arready), .far_rid(p2_axi_rid),
      .far_rdata(p2_axi_rdata), .far_rresp(p2_axi_rresp), .far_rlast(p2_axi_rlast), .far_rvalid(p2_axi_rvalid),
      .far_rready(p2_axi_rready)
  );
endmodule
