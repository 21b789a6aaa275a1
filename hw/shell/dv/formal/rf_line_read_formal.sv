// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_line_read, beside the bursts that a request becomes and a memory behind each port that answers them
// in order, when it will. The memory's data are the number of the beat at its port, inverted at the second one, so a
// line is right when its beats have the line's number so. Requests keep to the ranges in the header; halts come at any
// time. For two ports.

module rf_line_read_formal #(
  parameter int unsigned Ports = 2,
  parameter int unsigned DataW = 8,
  parameter int unsigned AddrW = 14,
  parameter int unsigned SegmentLog = 12,
  parameter int unsigned MaxBeats = 2,
  parameter int unsigned Depth = 3,
  parameter int unsigned LinesW = 3,
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1),
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1,
  localparam int unsigned Bursts = 16,  // that rf_axi_read keeps account of
  localparam int unsigned OrderW = 1 + BeatsW
) (
  input logic                        clk_i,
  input logic                        rst_ni,
  input logic                        halt_i,
  input logic [AddrW-1:0]            base_i,
  input logic                        req_valid_i,
  input logic                        req_ready_o,
  input logic [AddrW-1:0]            req_addr_i,
  input logic [LinesW-1:0]           req_lines_i,
  input logic                        line_valid_o,
  input logic                        line_ready_i,
  input logic [Ports*DataW-1:0]      line_o,
  input logic [Ports-1:0]            idle_o,
  input logic [Ports-1:0][AddrW-1:0] m_axi_araddr,
  input logic [Ports-1:0][7:0]       m_axi_arlen,
  input logic [Ports-1:0]            m_axi_arvalid,
  input logic [Ports-1:0]            m_axi_arready,
  input logic [Ports-1:0]            m_axi_rid,
  input logic [Ports-1:0][DataW-1:0] m_axi_rdata,
  input logic [Ports-1:0][1:0]       m_axi_rresp,
  input logic [Ports-1:0]            m_axi_rlast,
  input logic [Ports-1:0]            m_axi_rvalid,
  input logic [Ports-1:0]            error_o,
  // inside, for induction
  input logic                        begin_burst,
  input logic [Ports-1:0]            taken,
  input logic [LinesW-1:0]           left_q,
  input logic [SegmentLog-1:0]       offset_q,
  input logic [SegmentLog-1:0]       burst_q,
  input logic [BeatsW-1:0]           beats_q,
  input logic [CountW-1:0]           reserved_q,
  input logic [Ports-1:0]            pending_q,
  input logic [Ports-1:0]            arrives,
  input logic [Ports-1:0][DataW-1:0] arrived,
  input logic [Ports-1:0][CountW-1:0] fifo_count,
  input logic [Ports-1:0][PtrW-1:0]  fifo_rptr,
  input logic [Ports-1:0][PtrW-1:0]  fifo_wptr,
  input logic [DataW-1:0]            fifo_mem0 [Depth],
  input logic [DataW-1:0]            fifo_mem1 [Depth],
  input logic [Ports-1:0][4:0]       order_count,
  input logic [Ports-1:0][3:0]       order_rptr,
  input logic [Ports-1:0][3:0]       order_wptr,
  input logic [OrderW-1:0]           order_mem0 [Bursts],
  input logic [OrderW-1:0]           order_mem1 [Bursts],
  input logic [Ports-1:0][BeatsW-1:0] order_got
);
  localparam int unsigned Bytes = DataW / 8;
  localparam int unsigned Segment = 32'd1 << SegmentLog;

  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // Segments lie in the memory and stay there.
  logic [AddrW-1:0] base_q;
  always_ff @(posedge clk_i) begin
    base_q <= base_i;
    assume (32'(base_i[11:0]) == '0 && 33'(base_i) + 33'(Ports) * 33'(Segment) <= 33'd1 << AddrW);
    if (started_q) assume (base_i == base_q);
  end

  // Requests are whole lines within segments.
  logic [31:0] first;
  assign first = 32'(req_addr_i) / Ports;
  always_ff @(posedge clk_i)
    if (req_valid_i) begin
      assume (req_lines_i != '0 && 32'(req_addr_i) % (Ports * Bytes) == 0);
      assume (first + 32'(req_lines_i) * Bytes <= Segment);
    end

  // What of a request no burst was begun for, and where that begins; the burst that ports are asked for, and those that
  // were not yet. A burst ends with the request, or at a multiple of MaxBeats beats.
  logic [LinesW-1:0] rest_q;
  logic [31:0]       at_q, burst_at_q, room, length, burst_length_q;
  logic [Ports-1:0]  owed_q;
  // Lines that bursts were begun for and nobody took, and the number of the next one.
  logic [31:0]       open_q;
  logic [DataW-1:0]  line_q;
  logic              take;

  assign take = line_valid_o && line_ready_i;
  assign room = MaxBeats - at_q / Bytes % MaxBeats;
  assign length = 32'(rest_q) < room ? 32'(rest_q) : room;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rest_q <= '0;
      owed_q <= '0;
      open_q <= '0;
      line_q <= '0;
    end else begin
      if (halt_i) begin
        rest_q <= '0;
      end else if (req_valid_i && req_ready_o) begin
        rest_q <= req_lines_i;
        at_q <= first;
      end else if (begin_burst) begin
        rest_q <= rest_q - LinesW'(length);
        at_q <= at_q + length * Bytes;
      end
      owed_q <= begin_burst ? '1 : owed_q & ~taken;
      open_q <= open_q + (begin_burst ? length : '0) - 32'(take);
      if (take) line_q <= line_q + 1'b1;
    end
    if (begin_burst) begin
      burst_at_q <= at_q;
      burst_length_q <= length;
    end
  end

  // Each port: its request on AR, bursts that memory was asked for, oldest first, and how many beats it gave.
  logic [Ports-1:0] addressed, bounded, listed, stored, counted, placed, quiet;

  for (genvar p = 0; p < Ports; p++) begin : g_ports
    logic [31:0]      ar_at_q, ar_length_q, lengths_q [Depth], count_q, given_q, sum, waiting;
    logic [DataW-1:0] number_q, next;
    localparam logic [DataW-1:0] Mark = p == 0 ? '0 : '1;
    logic             accept, ended;

    assign accept = m_axi_arvalid[p] && m_axi_arready[p];
    assign ended = m_axi_rvalid[p] && m_axi_rlast[p];
    always_ff @(posedge clk_i) begin
      // Memory gives what it was asked for, beat by beat.
      if (m_axi_rvalid[p]) begin
        assume (count_q != '0 && m_axi_rlast[p] == (given_q + 1 == lengths_q[0]));
        assume (m_axi_rdata[p] == (number_q ^ Mark) && m_axi_rresp[p] == 2'b00 && !m_axi_rid[p]);
      end
      for (int unsigned i = 0; i < Depth; i++) begin
        if (ended && i + 1 < Depth) lengths_q[i] <= lengths_q[i+1];
        if (accept && i == count_q - 32'(ended)) lengths_q[i] <= ar_length_q;
      end
      if (taken[p]) begin
        ar_at_q <= burst_at_q;
        ar_length_q <= burst_length_q;
      end
      if (!rst_ni) begin
        count_q <= '0;
        given_q <= '0;
        number_q <= '0;
      end else begin
        count_q <= count_q + 32'(accept) - 32'(ended);
        if (m_axi_rvalid[p]) begin
          given_q <= m_axi_rlast[p] ? '0 : given_q + 1;
          number_q <= number_q + 1'b1;
        end
      end
    end

    // What is on AR is the burst, in the port's own segment.
    assign addressed[p] = !m_axi_arvalid[p] || (32'(m_axi_araddr[p]) == 32'(base_i) + p * Segment + ar_at_q
                                                && 32'(m_axi_arlen[p]) + 1 == ar_length_q);
    assign bounded[p] = !m_axi_arvalid[p] || (32'(m_axi_araddr[p]) >= 32'(base_i) + p * Segment
        && 32'(m_axi_araddr[p]) + (32'(m_axi_arlen[p]) + 1) * Bytes <= 32'(base_i) + (p + 1) * Segment
        && 32'(m_axi_araddr[p][11:0]) + (32'(m_axi_arlen[p]) + 1) * Bytes <= 4096
        && 32'(m_axi_arlen[p]) < MaxBeats);

    // Bursts are those that the port's master keeps account of; the last one may still be on AR.
    always_comb begin
      listed[p] = 32'(order_count[p]) == count_q + 32'(m_axi_arvalid[p]) && order_wptr[p] == order_rptr[p]
        + order_count[p][3:0] && 32'(order_got[p]) == given_q && count_q <= Depth && 32'(order_count[p]) <= Depth;
      if (m_axi_arvalid[p]) listed[p] &= ar_length_q != '0 && ar_length_q <= MaxBeats
        && ar_at_q + ar_length_q * Bytes <= Segment && ar_at_q % Bytes == 0
        && ar_at_q / Bytes % MaxBeats + ar_length_q <= MaxBeats;
      sum = '0;
      for (int unsigned i = 0; i < Depth; i++) begin
        if (i < count_q) sum += lengths_q[i];
        if (i < 32'(order_count[p]))
          listed[p] &= (p == 0 ? order_mem0[order_rptr[p] + 4'(i)] : order_mem1[order_rptr[p] + 4'(i)])
            == {1'b1, BeatsW'(i < count_q ? lengths_q[i] : ar_length_q)}
            && (i >= count_q || (lengths_q[i] != '0 && lengths_q[i] <= MaxBeats));
      end
      listed[p] &= count_q == '0 ? given_q == '0 : given_q < lengths_q[0];
      // Beats that are asked of memory and did not come.
      waiting = sum - given_q + (m_axi_arvalid[p] ? ar_length_q : '0);
    end

    // Beats that came are in the FIFO, the last one on its way there.
    assign next = line_q + DataW'(fifo_count[p]);
    always_comb begin
      stored[p] = number_q == next + DataW'(arrives[p]) && (!arrives[p] || arrived[p] == (next ^ Mark))
        && 32'(fifo_count[p]) <= Depth && 32'(fifo_rptr[p]) < Depth
        && 32'(fifo_wptr[p]) == (32'(fifo_rptr[p]) + 32'(fifo_count[p])) % Depth;
      for (int unsigned i = 0; i < Depth; i++)
        if (i < 32'(fifo_count[p]))
          stored[p] &= (p == 0 ? fifo_mem0[(32'(fifo_rptr[p]) + i) % Depth]
                               : fifo_mem1[(32'(fifo_rptr[p]) + i) % Depth])
            == ((line_q + DataW'(i)) ^ Mark);
    end
    assign counted[p] = open_q == (owed_q[p] ? burst_length_q : '0) + waiting + 32'(arrives[p]) + 32'(fifo_count[p]);
    assign placed[p] = !arrives[p] || 32'(fifo_count[p]) < Depth;
    assign quiet[p] = !idle_o[p] || (!m_axi_arvalid[p] && count_q == '0 && !arrives[p] && !owed_q[p] && rest_q == '0);
  end

  // What was there before this cycle.
  logic                   held_q = 1'b0;
  logic [Ports*DataW-1:0] held_line_q;
  always_ff @(posedge clk_i) begin
    held_q <= rst_ni && line_valid_o && !line_ready_i;
    held_line_q <= line_o;
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // lines are whole and in order, none is lost, none comes twice
      p_line: assert (!line_valid_o || (open_q != '0 && line_o == {~line_q, line_q}));
      // a line that is not taken stays
      p_stable: assert (!held_q || (line_valid_o && line_o == held_line_q));
      // no more lines are asked for than there is room for
      p_room: assert (open_q <= Depth);
      // every beat that comes finds room
      p_place: assert (placed == '1);
      // each burst is asked of each port once, and the next one when all have taken it
      p_once: assert (pending_q == owed_q && (!begin_burst || (owed_q & ~taken) == '0));
      // a burst is begun for what was asked and not yet begun, never while halted
      p_begun: assert (!begin_burst || (rest_q != '0 && !halt_i));
      // each port is asked for the same offset, in its segment
      p_address: assert (addressed == '1);
      // requests stay in the port's segment and in 4 KiB
      p_segment: assert (bounded == '1);
      // a request is taken when all of the one before is begun
      p_request: assert (req_ready_o == (rest_q == '0 && !halt_i));
      // a port is idle when nothing is to be asked of it, in flight or on its way
      p_idle: assert (quiet == '1);
      // memory that answers as asked is never blamed
      p_error: assert (error_o == '0);
      // offsets and lengths are those of the request
      p_burst: assert (left_q == rest_q && (rest_q == '0 || (32'(offset_q) == at_q && at_q % Bytes == 0
          && at_q + 32'(rest_q) * Bytes <= Segment)) && 32'(reserved_q) == open_q
          && (owed_q == '0 || (32'(burst_q) == burst_at_q && 32'(beats_q) == burst_length_q && burst_length_q != '0
          && burst_length_q <= MaxBeats && burst_at_q % Bytes == 0 && burst_at_q + burst_length_q * Bytes <= Segment
          && burst_at_q / Bytes % MaxBeats + burst_length_q <= MaxBeats)));
      // each port's queue holds the bursts in flight
      p_listed: assert (listed == '1);
      // each port's FIFO holds the beats that came
      p_stored: assert (stored == '1);
      // lines that are open are asked for, in flight or in the FIFO, at each port
      p_counted: assert (counted == '1);
    end
  end
endmodule

bind rf_line_read rf_line_read_formal #(
  .Ports(Ports), .DataW(DataW), .AddrW(AddrW), .SegmentLog(SegmentLog), .MaxBeats(MaxBeats), .Depth(Depth),
  .LinesW(LinesW)
) u_formal (
  .arrives({g_ports[1].arrives, g_ports[0].arrives}), .arrived({g_ports[1].data, g_ports[0].data}),
  .fifo_count({g_ports[1].u_beats.count_q, g_ports[0].u_beats.count_q}),
  .fifo_rptr({g_ports[1].u_beats.rptr_q, g_ports[0].u_beats.rptr_q}),
  .fifo_wptr({g_ports[1].u_beats.wptr_q, g_ports[0].u_beats.wptr_q}),
  .fifo_mem0(g_ports[0].u_beats.mem), .fifo_mem1(g_ports[1].u_beats.mem),
  .order_count({g_ports[1].u_axi.u_order.count_q, g_ports[0].u_axi.u_order.count_q}),
  .order_rptr({g_ports[1].u_axi.u_order.rptr_q, g_ports[0].u_axi.u_order.rptr_q}),
  .order_wptr({g_ports[1].u_axi.u_order.wptr_q, g_ports[0].u_axi.u_order.wptr_q}),
  .order_mem0(g_ports[0].u_axi.u_order.mem), .order_mem1(g_ports[1].u_axi.u_order.mem),
  .order_got({g_ports[1].u_axi.got_q, g_ports[0].u_axi.got_q}), .*
);
