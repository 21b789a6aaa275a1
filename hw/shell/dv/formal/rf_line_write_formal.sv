// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_line_write, beside the bursts that a request becomes and a memory behind each port that takes beats
// and acknowledges bursts in order, when it will. A line's data are its number, inverted at the second port, so a beat
// is right when it has the number of the beat at its port so. Requests keep to the ranges in the header; halts come at
// any time. For two ports.

module rf_line_write_formal #(
  parameter int unsigned Ports = 2,
  parameter int unsigned DataW = 8,
  parameter int unsigned AddrW = 14,
  parameter int unsigned SegmentLog = 12,
  parameter int unsigned MaxBeats = 2,
  parameter int unsigned Outstanding = 3,
  parameter int unsigned LinesW = 3,
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1),
  localparam int unsigned CountW = $clog2(Outstanding + 1),
  localparam int unsigned PtrW = (Outstanding > 1) ? $clog2(Outstanding) : 1,
  localparam int unsigned Skew = 8,     // of rf_line_write
  localparam int unsigned Bursts = 16,  // that rf_axi_write keeps account of
  localparam int unsigned SendW = 1 + BeatsW
) (
  input logic                          clk_i,
  input logic                          rst_ni,
  input logic                          halt_i,
  input logic [AddrW-1:0]              base_i,
  input logic                          req_valid_i,
  input logic                          req_ready_o,
  input logic [AddrW-1:0]              req_addr_i,
  input logic [LinesW-1:0]             req_lines_i,
  input logic                          line_valid_i,
  input logic                          line_ready_o,
  input logic [Ports*DataW-1:0]        line_i,
  input logic                          done_o,
  input logic [Ports-1:0]              idle_o,
  input logic [Ports-1:0]              error_o,
  input logic [Ports-1:0][AddrW-1:0]   m_axi_awaddr,
  input logic [Ports-1:0][7:0]         m_axi_awlen,
  input logic [Ports-1:0]              m_axi_awvalid,
  input logic [Ports-1:0]              m_axi_awready,
  input logic [Ports-1:0][DataW-1:0]   m_axi_wdata,
  input logic [Ports-1:0][DataW/8-1:0] m_axi_wstrb,
  input logic [Ports-1:0]              m_axi_wlast,
  input logic [Ports-1:0]              m_axi_wvalid,
  input logic [Ports-1:0]              m_axi_wready,
  input logic [Ports-1:0]              m_axi_bid,
  input logic [Ports-1:0][1:0]         m_axi_bresp,
  input logic [Ports-1:0]              m_axi_bvalid,
  input logic [Ports-1:0]              m_axi_bready,
  // inside, for induction
  input logic                          begin_burst,
  input logic                          acknowledged,
  input logic [Ports-1:0]              taken,
  input logic [LinesW-1:0]             left_q,
  input logic [SegmentLog-1:0]         offset_q,
  input logic [SegmentLog-1:0]         burst_q,
  input logic [BeatsW-1:0]             beats_q,
  input logic [Ports-1:0]              pending_q,
  input logic [Ports-1:0]              done,
  input logic [CountW-1:0]             done_q [Ports],
  input logic [CountW-1:0]             open_count,
  input logic [PtrW-1:0]               open_rptr,
  input logic [PtrW-1:0]               open_wptr,
  input logic                          open_mem [Outstanding],
  input logic [Ports-1:0]              give,
  input logic [Ports-1:0][3:0]         fifo_count,
  input logic [Ports-1:0][2:0]         fifo_rptr,
  input logic [Ports-1:0][2:0]         fifo_wptr,
  input logic [DataW-1:0]              fifo_mem0 [Skew],
  input logic [DataW-1:0]              fifo_mem1 [Skew],
  input logic [Ports-1:0][1:0]         send_count,
  input logic [Ports-1:0]              send_rptr,
  input logic [Ports-1:0]              send_wptr,
  input logic [SendW-1:0]              send_mem0 [2],
  input logic [SendW-1:0]              send_mem1 [2],
  input logic [Ports-1:0][BeatsW-1:0]  sent,
  input logic [Ports-1:0][4:0]         order_count,
  input logic [Ports-1:0][3:0]         order_rptr,
  input logic [Ports-1:0][3:0]         order_wptr,
  input logic                          order_mem0 [Bursts],
  input logic                          order_mem1 [Bursts],
  input logic [Ports-1:0][4:0]         complete
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

  // Requests are whole lines within segments; a line's data are its number.
  logic [31:0]      first;
  logic [DataW-1:0] line_q;
  assign first = 32'(req_addr_i) / Ports;
  always_ff @(posedge clk_i) begin
    if (req_valid_i) begin
      assume (req_lines_i != '0 && 32'(req_addr_i) % (Ports * Bytes) == 0);
      assume (first + 32'(req_lines_i) * Bytes <= Segment);
    end
    if (line_valid_i) assume (line_i == {~line_q, line_q});
    if (!rst_ni) line_q <= '0;
    else if (line_valid_i && line_ready_o) line_q <= line_q + 1'b1;
  end

  // What of a request no burst was begun for, and where that begins; the burst that ports are asked for, and those that
  // were not yet. A burst ends with the request, or at a multiple of MaxBeats beats.
  logic [LinesW-1:0] rest_q;
  logic [31:0]       at_q, burst_at_q, room, length, burst_length_q;
  logic [Ports-1:0]  owed_q;
  // Bursts that were begun and not acknowledged by all ports, oldest first: whether each ends its request.
  logic [31:0]       open_q;
  logic              last_q [Outstanding], ends, expect_done_q;

  assign room = MaxBeats - at_q / Bytes % MaxBeats;
  assign length = 32'(rest_q) < room ? 32'(rest_q) : room;
  assign ends = 32'(rest_q) == length;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rest_q <= '0;
      owed_q <= '0;
      open_q <= '0;
      expect_done_q <= 1'b0;
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
      open_q <= open_q + 32'(begin_burst) - 32'(acknowledged);
      expect_done_q <= acknowledged && last_q[0];
    end
    if (begin_burst) begin
      burst_at_q <= at_q;
      burst_length_q <= length;
    end
    for (int unsigned i = 0; i < Outstanding; i++) begin
      if (acknowledged && i + 1 < Outstanding) last_q[i] <= last_q[i+1];
      if (begin_burst && i == open_q - 32'(acknowledged)) last_q[i] <= ends;
    end
  end

  // Each port: its request on AW; bursts with beats to come, oldest first; how many bursts have all beats and no
  // answer, how many were answered that other ports did not; the number of the next beat on W.
  logic [Ports-1:0] addressed, bounded, sending, listed, stored, counted, quiet, answered;

  for (genvar p = 0; p < Ports; p++) begin : g_ports
    logic [31:0]      aw_at_q, aw_length_q, unsent_q [2], unsent_count_q, given_q, complete_q, answered_q;
    logic [DataW-1:0] number_q, next;
    localparam logic [DataW-1:0] Mark = p == 0 ? '0 : '1;
    logic             give_last, accept, completed, answer, full_q, full_last_q;

    assign give_last = give[p] && given_q + 1 == unsent_q[0];
    assign accept = m_axi_wvalid[p] && m_axi_wready[p];
    assign completed = accept && m_axi_wlast[p];
    assign answer = m_axi_bvalid[p] && m_axi_bready[p];
    always_ff @(posedge clk_i) begin
      // Memory acknowledges bursts whose last beat it has.
      if (m_axi_bvalid[p]) assume (complete_q != '0 && m_axi_bresp[p] == 2'b00 && !m_axi_bid[p]);
      if (give_last) unsent_q[0] <= unsent_q[1];
      for (int unsigned i = 0; i < 2; i++)
        if (taken[p] && i == unsent_count_q - 32'(give_last)) unsent_q[i] <= burst_length_q;
      if (taken[p]) begin
        aw_at_q <= burst_at_q;
        aw_length_q <= burst_length_q;
      end
      if (give[p]) full_last_q <= give_last;
      if (!rst_ni) begin
        unsent_count_q <= '0;
        given_q <= '0;
        complete_q <= '0;
        answered_q <= '0;
        number_q <= '0;
        full_q <= 1'b0;
      end else begin
        unsent_count_q <= unsent_count_q + 32'(taken[p]) - 32'(give_last);
        if (give[p]) given_q <= give_last ? '0 : given_q + 1;
        complete_q <= complete_q + 32'(completed) - 32'(answer);
        answered_q <= answered_q + 32'(answer) - 32'(acknowledged);
        if (accept) number_q <= number_q + 1'b1;
        full_q <= give[p] || (full_q && !accept);
      end
    end

    // What is on AW is the burst, in the port's own segment.
    assign addressed[p] = !m_axi_awvalid[p] || (32'(m_axi_awaddr[p]) == 32'(base_i) + p * Segment + aw_at_q
                                                && 32'(m_axi_awlen[p]) + 1 == aw_length_q);
    assign bounded[p] = !m_axi_awvalid[p] || (32'(m_axi_awaddr[p]) >= 32'(base_i) + p * Segment
        && 32'(m_axi_awaddr[p]) + (32'(m_axi_awlen[p]) + 1) * Bytes <= 32'(base_i) + (p + 1) * Segment
        && 32'(m_axi_awaddr[p][11:0]) + (32'(m_axi_awlen[p]) + 1) * Bytes <= 4096
        && 32'(m_axi_awlen[p]) < MaxBeats);
    assign sending[p] = m_axi_wvalid[p] == full_q
      && (!full_q || (m_axi_wdata[p] == (number_q ^ Mark) && m_axi_wstrb[p] == '1 && m_axi_wlast[p] == full_last_q));

    // The port's master has these bursts in its queues.
    always_comb begin
      listed[p] = 32'(send_count[p]) == unsent_count_q && unsent_count_q <= 2 && 32'(sent[p]) == given_q
        && send_wptr[p] == send_rptr[p] + send_count[p][0] && 32'(complete[p]) == complete_q
        && (unsent_count_q == '0 ? given_q == '0 : given_q < unsent_q[0])
        && 32'(order_count[p]) == unsent_count_q + 32'(full_q && full_last_q) + complete_q
        && order_wptr[p] == order_rptr[p] + order_count[p][3:0] && 32'(order_count[p]) <= Outstanding
        && complete_q <= Outstanding;
      if (m_axi_awvalid[p]) listed[p] &= aw_length_q != '0 && aw_length_q <= MaxBeats
        && aw_at_q + aw_length_q * Bytes <= Segment && aw_at_q % Bytes == 0
        && aw_at_q / Bytes % MaxBeats + aw_length_q <= MaxBeats;
      for (int unsigned i = 0; i < 2; i++)
        if (i < unsent_count_q)
          listed[p] &= (p == 0 ? send_mem0[send_rptr[p] ^ 1'(i)] : send_mem1[send_rptr[p] ^ 1'(i)])
            == {1'b0, BeatsW'(unsent_q[i])} && unsent_q[i] != '0 && unsent_q[i] <= MaxBeats;
      for (int unsigned i = 0; i < Outstanding; i++)
        if (i < 32'(order_count[p]))
          listed[p] &= p == 0 ? order_mem0[order_rptr[p] + 4'(i)] : order_mem1[order_rptr[p] + 4'(i)];
    end

    // Beats of lines that were taken are in the FIFO until they are on W.
    assign next = number_q + DataW'(full_q);
    always_comb begin
      stored[p] = line_q == next + DataW'(fifo_count[p]) && 32'(fifo_count[p]) <= Skew
        && fifo_wptr[p] == fifo_rptr[p] + fifo_count[p][2:0];
      for (int unsigned i = 0; i < Skew; i++)
        if (i < 32'(fifo_count[p]))
          stored[p] &= (p == 0 ? fifo_mem0[fifo_rptr[p] + 3'(i)] : fifo_mem1[fifo_rptr[p] + 3'(i)])
            == ((next + DataW'(i)) ^ Mark);
    end
    assign counted[p] = open_q == 32'(owed_q[p]) + 32'(order_count[p]) + answered_q && answered_q <= Outstanding
      && answered_q == 32'(done[p]) + 32'(done_q[p]);
    assign answered[p] = answered_q != '0;
    assign quiet[p] = !idle_o[p] || (!m_axi_awvalid[p] && !full_q && order_count[p] == '0 && !owed_q[p]
                                     && rest_q == '0);
  end

  logic opened;
  always_comb begin
    opened = 32'(open_count) == open_q && 32'(open_rptr) < Outstanding
      && 32'(open_wptr) == (32'(open_rptr) + 32'(open_count)) % Outstanding;
    for (int unsigned i = 0; i < Outstanding; i++)
      if (i < open_q) opened &= open_mem[(32'(open_rptr) + i) % Outstanding] == last_q[i];
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // each port's W has its beat of every line once, in order, whole, and the last of a burst is marked
      p_line: assert (sending == '1);
      // no more than Outstanding bursts lack an acknowledgement
      p_outstanding: assert (open_q <= Outstanding);
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
      // a burst is over when all ports have acknowledged it
      p_acknowledged: assert (!acknowledged || (open_q != '0 && answered == '1));
      // a request is done once, when all ports have acknowledged its last burst
      p_done: assert (done_o == expect_done_q);
      // a port is idle when nothing is to be asked of it, being sent or in flight
      p_idle: assert (quiet == '1);
      // memory that answers as asked is never blamed
      p_error: assert (error_o == '0);
      // offsets and lengths are those of the request
      p_burst: assert (left_q == rest_q && (rest_q == '0 || (32'(offset_q) == at_q && at_q % Bytes == 0
          && at_q + 32'(rest_q) * Bytes <= Segment))
          && (owed_q == '0 || (32'(burst_q) == burst_at_q && 32'(beats_q) == burst_length_q && burst_length_q != '0
          && burst_length_q <= MaxBeats && burst_at_q % Bytes == 0 && burst_at_q + burst_length_q * Bytes <= Segment
          && burst_at_q / Bytes % MaxBeats + burst_length_q <= MaxBeats)));
      // the queue of open bursts knows which end a request
      p_opened: assert (opened);
      // each port's queues hold its bursts
      p_listed: assert (listed == '1);
      // each port's FIFO holds the beats of lines that were taken
      p_stored: assert (stored == '1);
      // open bursts are still to be asked, in flight or acknowledged, at each port
      p_counted: assert (counted == '1);
    end
  end
endmodule

bind rf_line_write rf_line_write_formal #(
  .Ports(Ports), .DataW(DataW), .AddrW(AddrW), .SegmentLog(SegmentLog), .MaxBeats(MaxBeats), .Outstanding(Outstanding),
  .LinesW(LinesW)
) u_formal (
  .open_count(u_order.count_q), .open_rptr(u_order.rptr_q), .open_wptr(u_order.wptr_q), .open_mem(u_order.mem),
  .give({g_ports[1].beat_valid && g_ports[1].beat_taken, g_ports[0].beat_valid && g_ports[0].beat_taken}),
  .fifo_count({g_ports[1].u_beats.count_q, g_ports[0].u_beats.count_q}),
  .fifo_rptr({g_ports[1].u_beats.rptr_q, g_ports[0].u_beats.rptr_q}),
  .fifo_wptr({g_ports[1].u_beats.wptr_q, g_ports[0].u_beats.wptr_q}),
  .fifo_mem0(g_ports[0].u_beats.mem), .fifo_mem1(g_ports[1].u_beats.mem),
  .send_count({g_ports[1].u_axi.u_data_queue.count_q, g_ports[0].u_axi.u_data_queue.count_q}),
  .send_rptr({g_ports[1].u_axi.u_data_queue.rptr_q, g_ports[0].u_axi.u_data_queue.rptr_q}),
  .send_wptr({g_ports[1].u_axi.u_data_queue.wptr_q, g_ports[0].u_axi.u_data_queue.wptr_q}),
  .send_mem0(g_ports[0].u_axi.u_data_queue.mem), .send_mem1(g_ports[1].u_axi.u_data_queue.mem),
  .sent({g_ports[1].u_axi.sent_q, g_ports[0].u_axi.sent_q}),
  .order_count({g_ports[1].u_axi.u_order.count_q, g_ports[0].u_axi.u_order.count_q}),
  .order_rptr({g_ports[1].u_axi.u_order.rptr_q, g_ports[0].u_axi.u_order.rptr_q}),
  .order_wptr({g_ports[1].u_axi.u_order.wptr_q, g_ports[0].u_axi.u_order.wptr_q}),
  .order_mem0(g_ports[0].u_axi.u_order.mem), .order_mem1(g_ports[1].u_axi.u_order.mem),
  .complete({g_ports[1].u_axi.complete_q, g_ports[0].u_axi.complete_q}), .*
);
