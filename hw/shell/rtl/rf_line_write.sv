// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Writes lines: a beat to each of several AXI4 ports, all at the same offset of the port's own segment of memory.
//
// Function    A request is an address, counted over all ports together, and a number of lines, which are given next
//             over line_valid_i/line_ready_o, bubbles allowed. It becomes INCR bursts as those of rf_line_read. done_o
//             pulses once for each request, in their order, when all ports have acknowledged all of it.
// Latency     request to AW 3 cycles; a line to W 2 cycles; the last B to done_o 3 cycles
// Throughput  one line per cycle, up to Outstanding bursts not yet acknowledged
// Ranges      as rf_line_read. Bursts go out ahead of their lines: ask when the lines are at hand or sure to come.
// Halt        while halt_i is high no burst is begun, and what was not begun of a request is forgotten, without a
//             pulse of done_o. Lines of bursts that were begun must still come.
// Errors      as rf_axi_write, a port each.
// Reset       clears all state: reset the memory side together with it, or when idle_o.

module rf_line_write #(
    parameter int unsigned Ports = 2,
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 48,
    parameter int unsigned SegmentLog = 28,
    parameter int unsigned MaxBeats = 16,
    parameter int unsigned Outstanding = 32,
    parameter int unsigned LinesW = 9,
    localparam int unsigned LineW = Ports * DataW
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic                          halt_i,
    input  logic [AddrW-1:0]              base_i,

    input  logic                          req_valid_i,
    output logic                          req_ready_o,
    input  logic [AddrW-1:0]              req_addr_i,
    input  logic [LinesW-1:0]             req_lines_i,
    input  logic                          line_valid_i,
    output logic                          line_ready_o,
    input  logic [LineW-1:0]              line_i,
    output logic                          done_o,

    output logic [Ports-1:0]              idle_o,
    output logic [Ports-1:0]              error_o,
    output logic [Ports-1:0]              beat_o,
    output logic [Ports-1:0]              wait_o,

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
  localparam int unsigned BeatLog = $clog2(DataW / 8);
  localparam int unsigned PortLog = $clog2(Ports);
  localparam int unsigned BlockLog = $clog2(MaxBeats);
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1);
  localparam int unsigned CountW = $clog2(Outstanding + 1);
  localparam int unsigned Skew = 8;  // beats that a port may be behind another

  if (Ports < 1 || (Ports & (Ports - 1)) != 0) begin : g_bad_ports
    $error("rf_line_write: Ports must be a power of two");
  end
  if (MaxBeats < 1 || (MaxBeats & (MaxBeats - 1)) != 0) begin : g_bad_max_beats
    $error("rf_line_write: MaxBeats must be a power of two");
  end
  if (SegmentLog < 12 || SegmentLog + PortLog > AddrW) begin : g_bad_segment
    $error("rf_line_write: segments must have 4 KiB at least and be within addresses");
  end

  // ---- Bursts --------------------------------------------------------------------------------------
  logic [LinesW-1:0] left_q;              // lines of the request that no burst was begun for
  logic [SegmentLog-1:0] offset_q, burst_q;  // where these begin, and the burst that ports are asked for
  logic [BeatsW-1:0] room, beats, beats_q;
  logic [Ports-1:0] pending_q, taken;     // ports that have not taken the burst
  logic begin_burst, last_burst, order_ready, order_valid, order_last, acknowledged;

  assign req_ready_o = left_q == '0 && !halt_i;
  assign room = BeatsW'(MaxBeats) - BeatsW'(offset_q[BeatLog+:BlockLog]);
  assign last_burst = 32'(left_q) <= 32'(room);
  assign beats = last_burst ? BeatsW'(left_q) : room;
  assign begin_burst = left_q != '0 && !halt_i && (pending_q & ~taken) == '0 && order_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
      pending_q <= '0;
    end else begin
      if (halt_i) left_q <= '0;
      else if (begin_burst) left_q <= left_q - LinesW'(beats);
      else if (req_valid_i && req_ready_o) left_q <= req_lines_i;
      pending_q <= begin_burst ? '1 : pending_q & ~taken;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begin_burst) begin
      burst_q <= offset_q;
      beats_q <= beats;
      offset_q <= offset_q + (SegmentLog'(beats) << BeatLog);
    end else if (req_valid_i && req_ready_o) begin
      offset_q <= req_addr_i[PortLog+:SegmentLog];
    end
  end

  // Bursts that not all ports have acknowledged: whether each is the last of its request.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(1), .Depth(Outstanding)) u_order (
      .clk_i, .rst_ni, .valid_i(begin_burst), .ready_o(order_ready), .data_i(last_burst), .valid_o(order_valid),
      .ready_i(acknowledged), .data_o(order_last), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- Ports ---------------------------------------------------------------------------------------
  logic [Ports-1:0] axi_idle, beat_ready, done, waiting;
  logic [CountW-1:0] done_q[Ports];  // acknowledged bursts that wait for other ports

  assign line_ready_o = beat_ready == '1;

  for (genvar p = 0; p < Ports; p++) begin : g_ports
    logic [AddrW-1:0] addr[1];
    logic [BeatsW-1:0] count[1];
    logic [DataW-1:0] data[1];
    logic beat_valid, beat_taken;

    assign addr[0] = base_i + (AddrW'(p) << SegmentLog) + AddrW'(burst_q);
    assign count[0] = beats_q;

    /* verilator lint_off PINCONNECTEMPTY */
    rf_fifo #(.Width(DataW), .Depth(Skew)) u_beats (
        .clk_i, .rst_ni, .valid_i(line_valid_i && line_ready_o), .ready_o(beat_ready[p]),
        .data_i(line_i[p*DataW+:DataW]), .valid_o(beat_valid), .ready_i(beat_taken), .data_o(data[0]), .count_o()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    rf_axi_write #(.DataW(DataW), .AddrW(AddrW), .Clients(1), .MaxBeats(MaxBeats)) u_axi (
        .clk_i, .rst_ni, .req_valid_i(pending_q[p]), .req_ready_o(taken[p]), .req_addr_i(addr), .req_beats_i(count),
        .data_valid_i(beat_valid), .data_ready_o(beat_taken), .data_i(data), .done_o(done[p]), .idle_o(axi_idle[p]),
        .error_o(error_o[p]), .beat_o(beat_o[p]), .wait_o(wait_o[p]), .m_axi_awid(m_axi_awid[p]),
        .m_axi_awaddr(m_axi_awaddr[p]), .m_axi_awlen(m_axi_awlen[p]), .m_axi_awsize(m_axi_awsize[p]),
        .m_axi_awburst(m_axi_awburst[p]), .m_axi_awcache(m_axi_awcache[p]), .m_axi_awprot(m_axi_awprot[p]),
        .m_axi_awvalid(m_axi_awvalid[p]), .m_axi_awready(m_axi_awready[p]), .m_axi_wdata(m_axi_wdata[p]),
        .m_axi_wstrb(m_axi_wstrb[p]), .m_axi_wlast(m_axi_wlast[p]), .m_axi_wvalid(m_axi_wvalid[p]),
        .m_axi_wready(m_axi_wready[p]), .m_axi_bid(m_axi_bid[p]), .m_axi_bresp(m_axi_bresp[p]),
        .m_axi_bvalid(m_axi_bvalid[p]), .m_axi_bready(m_axi_bready[p])
    );
    assign waiting[p] = done_q[p] != '0;
    assign idle_o[p] = axi_idle[p] && !pending_q[p] && left_q == '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) done_q[p] <= '0;
      else done_q[p] <= done_q[p] + CountW'(done[p]) - CountW'(acknowledged);
    end
  end

  assign acknowledged = waiting == '1;
  always_ff @(posedge clk_i) done_o <= rst_ni && acknowledged && order_last;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      if (req_valid_i && req_ready_o) begin
        assert (req_lines_i != '0)
        else $error("a request of no lines");
        assert (32'(req_addr_i[BeatLog+PortLog-1:0]) == '0)
        else $error("lines at unaligned address %h", req_addr_i);
      end
      assert (!acknowledged || order_valid);
    end
`endif

  logic unused;
  assign unused = ^{req_addr_i, order_valid};
endmodule
