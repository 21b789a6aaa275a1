// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Memory side of an element: its clients, and ports of its own to near and to far memory.
//
// Function    matmul_read, matmul_write and matmul_copy over a reader and a writer of near lines and a reader of far
//             lines. Near port p of element `index_i` has the segment index_i * NearPorts + p of the near memory,
//             which begins at address 0; far port f segment index_i * FarPorts + f of the far memory, which begins at
//             far_base_i.
// Halt        as rf_line_read and rf_line_write: what was begun of bursts is carried through, and idle_o tells of it.
// Ranges      addresses of clients are the element's: multiples of the line, below NearPorts * 2^SegmentLog.
module matmul_memory
  import vector_pkg::*;
  import matmul_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned NearPorts = 2,
    parameter int unsigned FarPorts = 1,
    parameter int unsigned SegmentLog = 28,
    parameter int unsigned FarSegmentLog = 31,
    parameter int unsigned BurstLines = 16,
    parameter int unsigned ReadLines = 64,   // lines asked for ahead: what covers the latency of memory
    parameter int unsigned FarBurst = 64,    // beats of a burst to far memory, and those asked for ahead
    parameter int unsigned FarLines = 256,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  logic                   halt_i,
    input  logic [6:0]             index_i,
    input  logic [AddrW-1:0]       far_base_i,
    input  logic [LinesW-1:0]      rows_i,
    // Clients of the element
    input  request_t               rd_req_i    [ReadClients],
    output logic [ReadClients-1:0] rd_ready_o,
    output logic                   fetch_valid_o,
    output logic [DataW-1:0]       fetch_line_o,
    output logic [1:0]             row_valid_o,
    output logic [W-1:0]           row_o       [Lanes],
    input  request_t               wr_req_i,
    output logic                   wr_ready_o,
    input  logic                   wr_valid_i,
    output logic                   wr_data_ready_o,
    input  logic [W-1:0]           wr_row_i    [Lanes],
    output logic                   wr_ack_o,
    input  logic                   copy_valid_i,
    output logic                   copy_ready_o,
    input  logic [AddrW-1:0]       copy_near_i,
    input  logic [AddrW-1:0]       copy_far_i,
    output logic                   copy_idle_o,
    // Ports
    output logic [NearPorts-1:0]   near_idle_o,
    output logic [NearPorts-1:0]   near_error_o,
    output logic [NearPorts-1:0]   rd_beat_o,
    output logic [NearPorts-1:0]   rd_wait_o,
    output logic [NearPorts-1:0]   wr_beat_o,
    output logic [NearPorts-1:0]   wr_wait_o,
    output logic [FarPorts-1:0]    far_idle_o,
    output logic [FarPorts-1:0]    far_error_o,
    output logic [FarPorts-1:0]    far_beat_o,
    output logic [FarPorts-1:0]    far_wait_o,
    output logic [NearPorts-1:0]                   near_arid,
    output logic [NearPorts-1:0][AddrW-1:0]        near_araddr,
    output logic [NearPorts-1:0][7:0]              near_arlen,
    output logic [NearPorts-1:0][2:0]              near_arsize,
    output logic [NearPorts-1:0][1:0]              near_arburst,
    output logic [NearPorts-1:0][3:0]              near_arcache,
    output logic [NearPorts-1:0][2:0]              near_arprot,
    output logic [NearPorts-1:0]                   near_arvalid,
    input  logic [NearPorts-1:0]                   near_arready,
    input  logic [NearPorts-1:0]                   near_rid,
    input  logic [NearPorts-1:0][PortW-1:0]        near_rdata,
    input  logic [NearPorts-1:0][1:0]              near_rresp,
    input  logic [NearPorts-1:0]                   near_rlast,
    input  logic [NearPorts-1:0]                   near_rvalid,
    output logic [NearPorts-1:0]                   near_rready,
    output logic [NearPorts-1:0]                   near_awid,
    output logic [NearPorts-1:0][AddrW-1:0]        near_awaddr,
    output logic [NearPorts-1:0][7:0]              near_awlen,
    output logic [NearPorts-1:0][2:0]              near_awsize,
    output logic [NearPorts-1:0][1:0]              near_awburst,
    output logic [NearPorts-1:0][3:0]              near_awcache,
    output logic [NearPorts-1:0][2:0]              near_awprot,
    output logic [NearPorts-1:0]                   near_awvalid,
    input  logic [NearPorts-1:0]                   near_awready,
    output logic [NearPorts-1:0][PortW-1:0]        near_wdata,
    output logic [NearPorts-1:0][PortW/8-1:0]      near_wstrb,
    output logic [NearPorts-1:0]                   near_wlast,
    output logic [NearPorts-1:0]                   near_wvalid,
    input  logic [NearPorts-1:0]                   near_wready,
    input  logic [NearPorts-1:0]                   near_bid,
    input  logic [NearPorts-1:0][1:0]              near_bresp,
    input  logic [NearPorts-1:0]                   near_bvalid,
    output logic [NearPorts-1:0]                   near_bready,
    output logic [FarPorts-1:0]                    far_arid,
    output logic [FarPorts-1:0][AddrW-1:0]         far_araddr,
    output logic [FarPorts-1:0][7:0]               far_arlen,
    output logic [FarPorts-1:0][2:0]               far_arsize,
    output logic [FarPorts-1:0][1:0]               far_arburst,
    output logic [FarPorts-1:0][3:0]               far_arcache,
    output logic [FarPorts-1:0][2:0]               far_arprot,
    output logic [FarPorts-1:0]                    far_arvalid,
    input  logic [FarPorts-1:0]                    far_arready,
    input  logic [FarPorts-1:0]                    far_rid,
    input  logic [FarPorts-1:0][PortW-1:0]         far_rdata,
    input  logic [FarPorts-1:0][1:0]               far_rresp,
    input  logic [FarPorts-1:0]                    far_rlast,
    input  logic [FarPorts-1:0]                    far_rvalid,
    output logic [FarPorts-1:0]                    far_rready
);
  if (NearPorts * PortW != DataW) begin : g_bad_near_ports
    $error("matmul_memory: a line has 64 bits for each lane: NearPorts must be Lanes / 8");
  end
  if ((FarPorts & (FarPorts - 1)) != 0) begin : g_bad_far_ports
    $error("matmul_memory: FarPorts must be a power of two");
  end
  if (BurstLines * PortW / 8 > BurstBytes || FarBurst * PortW / 8 > BurstBytes) begin : g_bad_burst_lines
    $error("matmul_memory: bursts of %0d or %0d beats are longer than %0d bytes", BurstLines, FarBurst, BurstBytes);
  end

  logic [AddrW-1:0] near_base, far_base;
  assign near_base = AddrW'(32'(index_i) * NearPorts) << SegmentLog;
  assign far_base = far_base_i + (AddrW'(32'(index_i) * FarPorts) << FarSegmentLog);

  // ---- Reads ---------------------------------------------------------------------------------------
  logic read_valid, read_ready, in_valid, in_ready;
  logic [AddrW-1:0] read_addr;
  logic [LinesW-1:0] read_lines;
  logic [DataW-1:0] in_line;
  logic [NearPorts-1:0] rd_idle, rd_error, wr_idle, wr_error;

  matmul_read #(.W(W), .Lanes(Lanes)) u_read (
      .clk_i, .rst_ni, .rd_req_i, .rd_ready_o, .fetch_valid_o, .fetch_line_o, .row_valid_o, .row_o,
      .req_valid_o(read_valid), .req_ready_i(read_ready), .req_addr_o(read_addr), .req_lines_o(read_lines),
      .line_valid_i(in_valid),
      .line_ready_o(in_ready), .line_i(in_line)
  );

  rf_line_read #(
      .Ports(NearPorts), .DataW(PortW), .AddrW(AddrW), .SegmentLog(SegmentLog), .MaxBeats(BurstLines),
      .Depth(ReadLines), .LinesW(LinesW)
  ) u_near_read (
      .clk_i, .rst_ni, .halt_i, .base_i(near_base), .req_valid_i(read_valid), .req_ready_o(read_ready),
      .req_addr_i(read_addr), .req_lines_i(read_lines), .line_valid_o(in_valid), .line_ready_i(in_ready),
      .line_o(in_line), .idle_o(rd_idle), .error_o(rd_error), .beat_o(rd_beat_o), .wait_o(rd_wait_o),
      .m_axi_arid(near_arid), .m_axi_araddr(near_araddr), .m_axi_arlen(near_arlen), .m_axi_arsize(near_arsize),
      .m_axi_arburst(near_arburst), .m_axi_arcache(near_arcache), .m_axi_arprot(near_arprot),
      .m_axi_arvalid(near_arvalid), .m_axi_arready(near_arready), .m_axi_rid(near_rid), .m_axi_rdata(near_rdata),
      .m_axi_rresp(near_rresp), .m_axi_rlast(near_rlast), .m_axi_rvalid(near_rvalid), .m_axi_rready(near_rready)
  );

  // ---- Copies --------------------------------------------------------------------------------------
  localparam int unsigned FarW = FarPorts * PortW;
  logic far_valid, far_ready, far_in_valid, far_in_ready, near_valid, near_ready, moved_valid, moved_ready, copy_ack;
  logic [AddrW-1:0] far_addr, near_addr;
  logic [FarLinesW-1:0] far_lines;
  logic [LinesW-1:0] near_lines;
  logic [FarW-1:0] far_line;
  logic [DataW-1:0] moved_line;

  matmul_copy #(.W(W), .NearPorts(NearPorts), .FarPorts(FarPorts), .BurstLines(BurstLines)) u_copy (
      .clk_i, .rst_ni, .rows_i, .valid_i(copy_valid_i), .ready_o(copy_ready_o), .near_i(copy_near_i),
      .far_i(copy_far_i), .idle_o(copy_idle_o), .far_valid_o(far_valid), .far_ready_i(far_ready),
      .far_addr_o(far_addr), .far_lines_o(far_lines), .line_valid_i(far_in_valid), .line_ready_o(far_in_ready),
      .line_i(far_line), .near_valid_o(near_valid), .near_ready_i(near_ready), .near_addr_o(near_addr),
      .near_lines_o(near_lines), .line_valid_o(moved_valid), .line_ready_i(moved_ready), .line_o(moved_line),
      .ack_i(copy_ack)
  );

  rf_line_read #(
      .Ports(FarPorts), .DataW(PortW), .AddrW(AddrW), .SegmentLog(FarSegmentLog), .MaxBeats(FarBurst), .Depth(FarLines),
      .LinesW(FarLinesW)
  ) u_far_read (
      .clk_i, .rst_ni, .halt_i, .base_i(far_base), .req_valid_i(far_valid), .req_ready_o(far_ready),
      .req_addr_i(far_addr), .req_lines_i(far_lines), .line_valid_o(far_in_valid), .line_ready_i(far_in_ready),
      .line_o(far_line), .idle_o(far_idle_o), .error_o(far_error_o), .beat_o(far_beat_o), .wait_o(far_wait_o),
      .m_axi_arid(far_arid), .m_axi_araddr(far_araddr), .m_axi_arlen(far_arlen), .m_axi_arsize(far_arsize),
      .m_axi_arburst(far_arburst), .m_axi_arcache(far_arcache), .m_axi_arprot(far_arprot), .m_axi_arvalid(far_arvalid),
      .m_axi_arready(far_arready), .m_axi_rid(far_rid), .m_axi_rdata(far_rdata), .m_axi_rresp(far_rresp),
      .m_axi_rlast(far_rlast), .m_axi_rvalid(far_rvalid), .m_axi_rready(far_rready)
  );

  // ---- Writes --------------------------------------------------------------------------------------
  logic write_valid, write_ready, out_valid, out_ready, done;
  logic [AddrW-1:0] write_addr;
  logic [LinesW-1:0] write_lines;
  logic [DataW-1:0] out_line;

  matmul_write #(.W(W), .Lanes(Lanes)) u_write (
      .clk_i, .rst_ni, .wr_req_i, .wr_ready_o, .wr_valid_i, .wr_data_ready_o, .wr_row_i, .wr_ack_o,
      .copy_req_i(near_valid), .copy_ready_o(near_ready), .copy_addr_i(near_addr), .copy_lines_i(near_lines),
      .copy_valid_i(moved_valid), .copy_taken_o(moved_ready), .copy_line_i(moved_line), .copy_ack_o(copy_ack),
      .req_valid_o(write_valid), .req_ready_i(write_ready), .req_addr_o(write_addr), .req_lines_o(write_lines),
      .line_valid_o(out_valid), .line_ready_i(out_ready), .line_o(out_line), .done_i(done)
  );

  rf_line_write #(
      .Ports(NearPorts), .DataW(PortW), .AddrW(AddrW), .SegmentLog(SegmentLog), .MaxBeats(BurstLines), .LinesW(LinesW)
  ) u_near_write (
      .clk_i, .rst_ni, .halt_i, .base_i(near_base), .req_valid_i(write_valid), .req_ready_o(write_ready),
      .req_addr_i(write_addr), .req_lines_i(write_lines), .line_valid_i(out_valid), .line_ready_o(out_ready),
      .line_i(out_line), .done_o(done), .idle_o(wr_idle), .error_o(wr_error), .beat_o(wr_beat_o), .wait_o(wr_wait_o),
      .m_axi_awid(near_awid), .m_axi_awaddr(near_awaddr), .m_axi_awlen(near_awlen), .m_axi_awsize(near_awsize),
      .m_axi_awburst(near_awburst), .m_axi_awcache(near_awcache), .m_axi_awprot(near_awprot),
      .m_axi_awvalid(near_awvalid), .m_axi_awready(near_awready), .m_axi_wdata(near_wdata), .m_axi_wstrb(near_wstrb),
      .m_axi_wlast(near_wlast), .m_axi_wvalid(near_wvalid), .m_axi_wready(near_wready), .m_axi_bid(near_bid),
      .m_axi_bresp(near_bresp), .m_axi_bvalid(near_bvalid), .m_axi_bready(near_bready)
  );

  assign near_idle_o = rd_idle & wr_idle;
  assign near_error_o = rd_error | wr_error;
endmodule
