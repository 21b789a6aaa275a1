// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reads lines: a beat from each of several AXI4 ports, all at the same offset of the port's own segment of memory.
//
// Function    A request is an address, counted over all ports together, and a number of lines. It becomes INCR bursts,
//             the same ones on every port; port p adds base_i + p * 2^SegmentLog to their offset, address / Ports.
//             Ports answer when they will: a FIFO of Depth beats each makes lines of them, which come in the order of
//             the requests. Bursts are asked for only when the FIFOs have room for them, several at a time; a port
//             that takes an address late holds back the next burst of all.
// Latency     request to AR 3 cycles; R to a line 2 cycles (4 where Depth is 128 or more)
// Throughput  one line per cycle
// Ranges      Ports a power of two; req_addr_i a multiple of Ports * DataW/8 and req_lines_i at least 1; the lines of a
//             request are within segments. MaxBeats a power of two, of 4 KiB at most: a burst ends where MaxBeats
//             beats end that are aligned to their size.
// Halt        while halt_i is high no burst is begun, and what was not begun of a request is forgotten. idle_o does not
//             wait for lines to be taken, so missing beats do not hold it back.
// Errors      as rf_axi_read, a port each. A burst that ends too early leaves its port's FIFO behind: lines stop.
// Reset       clears all state: reset the memory side together with it, or when idle_o.

module rf_line_read #(
    parameter int unsigned Ports = 2,
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 48,
    parameter int unsigned SegmentLog = 28,
    parameter int unsigned MaxBeats = 16,
    parameter int unsigned Depth = 64,
    parameter int unsigned LinesW = 9,
    localparam int unsigned LineW = Ports * DataW
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic                         halt_i,
    input  logic [AddrW-1:0]             base_i,

    input  logic                         req_valid_i,
    output logic                         req_ready_o,
    input  logic [AddrW-1:0]             req_addr_i,
    input  logic [LinesW-1:0]            req_lines_i,
    output logic                         line_valid_o,
    input  logic                         line_ready_i,
    output logic [LineW-1:0]             line_o,

    output logic [Ports-1:0]             idle_o,
    output logic [Ports-1:0]             error_o,
    output logic [Ports-1:0]             beat_o,
    output logic [Ports-1:0]             wait_o,

    output logic [Ports-1:0]             m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]  m_axi_araddr,
    output logic [Ports-1:0][7:0]        m_axi_arlen,
    output logic [Ports-1:0][2:0]        m_axi_arsize,
    output logic [Ports-1:0][1:0]        m_axi_arburst,
    output logic [Ports-1:0][3:0]        m_axi_arcache,
    output logic [Ports-1:0][2:0]        m_axi_arprot,
    output logic [Ports-1:0]             m_axi_arvalid,
    input  logic [Ports-1:0]             m_axi_arready,
    input  logic [Ports-1:0]             m_axi_rid,
    input  logic [Ports-1:0][DataW-1:0]  m_axi_rdata,
    input  logic [Ports-1:0][1:0]        m_axi_rresp,
    input  logic [Ports-1:0]             m_axi_rlast,
    input  logic [Ports-1:0]             m_axi_rvalid,
    output logic [Ports-1:0]             m_axi_rready
);
  localparam int unsigned BeatLog = $clog2(DataW / 8);
  localparam int unsigned PortLog = $clog2(Ports);
  localparam int unsigned BlockLog = $clog2(MaxBeats);
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1);
  localparam int unsigned CountW = $clog2(Depth + 1);

  if (Ports < 1 || (Ports & (Ports - 1)) != 0) begin : g_bad_ports
    $error("rf_line_read: Ports must be a power of two");
  end
  if (MaxBeats < 1 || (MaxBeats & (MaxBeats - 1)) != 0) begin : g_bad_max_beats
    $error("rf_line_read: MaxBeats must be a power of two");
  end
  if (Depth < MaxBeats) begin : g_bad_depth
    $error("rf_line_read: Depth must hold a burst");
  end
  if (SegmentLog < 12 || SegmentLog + PortLog > AddrW) begin : g_bad_segment
    $error("rf_line_read: segments must have 4 KiB at least and be within addresses");
  end

  // ---- Bursts --------------------------------------------------------------------------------------
  logic [LinesW-1:0] left_q;              // lines of the request that no burst was begun for
  logic [SegmentLog-1:0] offset_q, burst_q;  // where these begin, and the burst that ports are asked for
  logic [BeatsW-1:0] room, beats, beats_q;
  logic [CountW-1:0] reserved_q;          // lines on their way, or in the FIFOs
  logic [Ports-1:0] pending_q, taken;     // ports that have not taken the burst
  logic begin_burst, take_line;

  assign req_ready_o = left_q == '0 && !halt_i;
  assign room = BeatsW'(MaxBeats) - BeatsW'(offset_q[BeatLog+:BlockLog]);
  assign beats = 32'(left_q) < 32'(room) ? BeatsW'(left_q) : room;
  assign begin_burst = left_q != '0 && !halt_i && (pending_q & ~taken) == '0 &&
      32'(reserved_q) + 32'(beats) <= Depth;
  assign take_line = line_valid_o && line_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
      reserved_q <= '0;
      pending_q <= '0;
    end else begin
      if (halt_i) left_q <= '0;
      else if (begin_burst) left_q <= left_q - LinesW'(beats);
      else if (req_valid_i && req_ready_o) left_q <= req_lines_i;
      reserved_q <= reserved_q + (begin_burst ? CountW'(beats) : '0) - CountW'(take_line);
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

  // ---- Ports ---------------------------------------------------------------------------------------
  logic [Ports-1:0] axi_idle, beat_valid;

  for (genvar p = 0; p < Ports; p++) begin : g_ports
    logic [AddrW-1:0] addr[1];
    logic [BeatsW-1:0] count[1];
    logic arrives;
    logic [DataW-1:0] data;

    assign addr[0] = base_i + (AddrW'(p) << SegmentLog) + AddrW'(burst_q);
    assign count[0] = beats_q;

    rf_axi_read #(.DataW(DataW), .AddrW(AddrW), .Clients(1), .MaxBeats(MaxBeats)) u_axi (
        .clk_i, .rst_ni, .req_valid_i(pending_q[p]), .req_ready_o(taken[p]), .req_addr_i(addr), .req_beats_i(count),
        .rsp_valid_o(arrives), .rsp_data_o(data), .idle_o(axi_idle[p]), .error_o(error_o[p]), .beat_o(beat_o[p]),
        .wait_o(wait_o[p]), .m_axi_arid(m_axi_arid[p]), .m_axi_araddr(m_axi_araddr[p]), .m_axi_arlen(m_axi_arlen[p]),
        .m_axi_arsize(m_axi_arsize[p]), .m_axi_arburst(m_axi_arburst[p]), .m_axi_arcache(m_axi_arcache[p]),
        .m_axi_arprot(m_axi_arprot[p]), .m_axi_arvalid(m_axi_arvalid[p]), .m_axi_arready(m_axi_arready[p]),
        .m_axi_rid(m_axi_rid[p]), .m_axi_rdata(m_axi_rdata[p]), .m_axi_rresp(m_axi_rresp[p]),
        .m_axi_rlast(m_axi_rlast[p]), .m_axi_rvalid(m_axi_rvalid[p]), .m_axi_rready(m_axi_rready[p])
    );

    /* verilator lint_off PINCONNECTEMPTY */  // reserved_q says that there is room
    rf_fifo #(.Width(DataW), .Depth(Depth)) u_beats (
        .clk_i, .rst_ni, .valid_i(arrives), .ready_o(), .data_i(data), .valid_o(beat_valid[p]), .ready_i(take_line),
        .data_o(line_o[p*DataW+:DataW]), .count_o()
    );
    /* verilator lint_on PINCONNECTEMPTY */
    assign idle_o[p] = axi_idle[p] && !pending_q[p] && left_q == '0;
  end
  assign line_valid_o = beat_valid == '1;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni && req_valid_i && req_ready_o) begin
      assert (req_lines_i != '0)
      else $error("a request of no lines");
      assert (32'(req_addr_i[BeatLog+PortLog-1:0]) == '0)
      else $error("lines at unaligned address %h", req_addr_i);
    end
`endif

  logic unused;
  assign unused = ^req_addr_i;
endmodule
