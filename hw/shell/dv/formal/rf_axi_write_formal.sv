// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_axi_write, beside lists of the bursts that were granted. Clients keep to the handshake and to the
// ranges in its header; memory may answer anything, and be reset at any time with the module. For two clients.

module rf_axi_write_formal #(
  parameter int unsigned DataW = 8,
  parameter int unsigned AddrW = 13,
  parameter int unsigned Clients = 2,
  parameter int unsigned MaxBeats = 3,
  parameter int unsigned Outstanding = 3,
  parameter int unsigned IdW = 1,
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1),
  localparam int unsigned CountW = $clog2(Outstanding + 1),
  localparam int unsigned PtrW = (Outstanding > 1) ? $clog2(Outstanding) : 1,
  localparam int unsigned ClientW = (Clients > 1) ? $clog2(Clients) : 1,
  localparam int unsigned SendW = ClientW + BeatsW
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [Clients-1:0] req_valid_i,
  input logic [Clients-1:0] req_ready_o,
  input logic [AddrW-1:0]   req_addr_i [Clients],
  input logic [BeatsW-1:0]  req_beats_i [Clients],
  input logic [Clients-1:0] data_valid_i,
  input logic [Clients-1:0] data_ready_o,
  input logic [DataW-1:0]   data_i [Clients],
  input logic [Clients-1:0] done_o,
  input logic               idle_o,
  input logic               error_o,
  input logic [AddrW-1:0]   m_axi_awaddr,
  input logic [7:0]         m_axi_awlen,
  input logic [2:0]         m_axi_awsize,
  input logic [1:0]         m_axi_awburst,
  input logic               m_axi_awvalid,
  input logic               m_axi_awready,
  input logic [DataW-1:0]   m_axi_wdata,
  input logic [DataW/8-1:0] m_axi_wstrb,
  input logic               m_axi_wlast,
  input logic               m_axi_wvalid,
  input logic               m_axi_wready,
  input logic [IdW-1:0]     m_axi_bid,
  input logic [1:0]         m_axi_bresp,
  input logic               m_axi_bvalid,
  input logic               m_axi_bready,
  // inside, for induction
  input logic [Clients-1:0] above_q,
  input logic [BeatsW-1:0]  sent_q,
  input logic [CountW-1:0]  order_count,
  input logic [CountW-1:0]  complete_q,
  input logic [Clients-1:0] order_mem [Outstanding],
  input logic [PtrW-1:0]    order_rptr,
  input logic [SendW-1:0]   send_mem [2],
  input logic               send_rptr,
  input logic [1:0]         send_count
);
  localparam int unsigned Bytes = DataW / 8;

  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // What was there before this cycle, since the last reset.
  logic               after_q = 1'b0;
  logic [Clients-1:0] asked_q, granted_q;
  logic [AddrW-1:0]   asked_addr_q [Clients];
  logic [BeatsW-1:0]  asked_beats_q [Clients];
  logic               aw_held_q, w_held_q, wlast_q;
  logic [AddrW-1:0]   awaddr_q;
  logic [7:0]         awlen_q;
  logic [DataW-1:0]   wdata_q;

  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    asked_q <= req_valid_i;
    granted_q <= req_valid_i & req_ready_o;
    asked_addr_q <= req_addr_i;
    asked_beats_q <= req_beats_i;
    aw_held_q <= m_axi_awvalid && !m_axi_awready;
    awaddr_q <= m_axi_awaddr;
    awlen_q <= m_axi_awlen;
    w_held_q <= m_axi_wvalid && !m_axi_wready;
    wdata_q <= m_axi_wdata;
    wlast_q <= m_axi_wlast;
  end

  // Clients ask until they are granted, for bursts of AXI.
  for (genvar c = 0; c < Clients; c++) begin : g_clients
    always_ff @(posedge clk_i) begin
      if (after_q && asked_q[c] && !granted_q[c])
        assume (req_valid_i[c] && req_addr_i[c] == asked_addr_q[c] && req_beats_i[c] == asked_beats_q[c]);
      if (req_valid_i[c]) begin
        assume (req_beats_i[c] >= BeatsW'(1) && 32'(req_beats_i[c]) <= MaxBeats);
        assume (32'(req_addr_i[c]) % Bytes == 0);
        assume (32'(req_addr_i[c][11:0]) + 32'(req_beats_i[c]) * Bytes <= 4096);
      end
    end
  end

  // Bursts that were granted, oldest first: those with data still to send, and those not yet acknowledged. Of the
  // latter, complete_count_q have given memory their last beat.
  logic [Clients-1:0] grant, unanswered_q [Outstanding], send_grant, expect_done_q;
  logic [SendW-1:0]   granted, unsent_q [2];
  logic [1:0]         unsent_count_q;
  logic [CountW-1:0]  unanswered_count_q, complete_count_q;
  logic [ClientW-1:0] head_client;
  logic [BeatsW-1:0]  head_beats, given_q;
  logic               give, give_last, answered, completed, wrong_q;
  logic               expect_valid_q, expect_last_q;
  logic [DataW-1:0]   expect_data_q;

  assign grant = req_valid_i & req_ready_o;
  always_comb begin
    granted = '0;
    for (int unsigned c = 0; c < Clients; c++) if (grant[c]) granted = {ClientW'(c), req_beats_i[c]};
  end
  assign {head_client, head_beats} = unsent_q[0];
  assign send_grant = unsent_count_q == '0 ? '0 : Clients'(1) << head_client;
  assign give = (data_valid_i & data_ready_o) != '0;
  assign give_last = give && given_q + 1'b1 == head_beats;
  assign answered = m_axi_bvalid && m_axi_bready && complete_count_q != '0;
  assign completed = m_axi_wvalid && m_axi_wready && m_axi_wlast;

  always_ff @(posedge clk_i) begin
    if (give_last) unsent_q[0] <= unsent_q[1];
    for (int unsigned i = 0; i < 2; i++)
      if (grant != '0 && i == 32'(unsent_count_q) - 32'(give_last)) unsent_q[i] <= granted;
    for (int unsigned i = 0; i < Outstanding; i++) begin
      if (answered && i + 1 < Outstanding) unanswered_q[i] <= unanswered_q[i+1];
      if (grant != '0 && i == 32'(unanswered_count_q) - 32'(answered)) unanswered_q[i] <= grant;
    end
    if (!rst_ni) begin
      unsent_count_q <= '0;
      unanswered_count_q <= '0;
      complete_count_q <= '0;
      given_q <= '0;
      expect_valid_q <= 1'b0;
      expect_done_q <= '0;
      wrong_q <= 1'b0;
    end else begin
      unsent_count_q <= unsent_count_q + 2'(grant != '0) - 2'(give_last);
      unanswered_count_q <= unanswered_count_q + CountW'(grant != '0) - CountW'(answered);
      complete_count_q <= complete_count_q + CountW'(completed) - CountW'(answered);
      if (give) given_q <= give_last ? '0 : given_q + 1'b1;
      if (give) expect_valid_q <= 1'b1;
      else if (m_axi_wready) expect_valid_q <= 1'b0;
      expect_done_q <= answered ? unanswered_q[0] : '0;
      if (m_axi_bvalid && (complete_count_q == '0 || m_axi_bresp != 2'b00 || m_axi_bid != '0)) wrong_q <= 1'b1;
    end
    if (give) begin
      expect_data_q <= data_i[head_client];
      expect_last_q <= give_last;
    end
  end

  // Clients that wait and have seen another one granted.
  logic [Clients-1:0] passed_q, twice_q;
  always_ff @(posedge clk_i) begin
    passed_q <= rst_ni ? req_valid_i & ~grant & (passed_q | {Clients{grant != '0}}) : '0;
    twice_q <= rst_ni ? req_valid_i & ~grant & (twice_q | (passed_q & {Clients{grant != '0}})) : '0;
  end

  logic listed;
  always_comb begin
    listed = order_count == unanswered_count_q && send_count == unsent_count_q && complete_q == complete_count_q
      && sent_q == given_q && (unsent_count_q == '0 ? given_q == '0 : given_q < head_beats)
      && 32'(unanswered_count_q) == 32'(unsent_count_q) + 32'(expect_valid_q && expect_last_q) + 32'(complete_count_q);
    for (int unsigned i = 0; i < Outstanding; i++)
      listed &= i >= 32'(unanswered_count_q) || order_mem[(32'(order_rptr) + i) % Outstanding] == unanswered_q[i];
    for (int unsigned i = 0; i < 2; i++)
      listed &= i >= 32'(unsent_count_q) || (send_mem[send_rptr ^ 1'(i)] == unsent_q[i]
                                             && unsent_q[i][BeatsW-1:0] != '0
                                             && 32'(unsent_q[i][BeatsW-1:0]) <= MaxBeats);
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // a request on AW that is not taken stays, and stays the same
      p_aw_stable: assert (!after_q || !aw_held_q
          || (m_axi_awvalid && m_axi_awaddr == awaddr_q && m_axi_awlen == awlen_q));
      // a beat on W that is not taken stays, and stays the same
      p_w_stable: assert (!after_q || !w_held_q || (m_axi_wvalid && m_axi_wdata == wdata_q && m_axi_wlast == wlast_q));
      // requests on AW are whole beats, at most MaxBeats of them, inside 4 KiB
      p_burst: assert (!m_axi_awvalid || (m_axi_awburst == 2'b01 && 32'd1 << m_axi_awsize == Bytes
          && 32'(m_axi_awlen) < MaxBeats && 32'(m_axi_awaddr[11:0]) + (32'(m_axi_awlen) + 1) * Bytes <= 4096));
      // one client is granted at a time, one that asks
      p_one_grant: assert ((req_ready_o & (req_ready_o - 1'b1)) == '0 && (req_ready_o & ~req_valid_i) == '0);
      // of two clients, one that waits sees the other granted once at most
      p_fair: assert (twice_q == '0);
      // of two clients, the one that was passed over is next
      p_turn: assert (passed_q == '0 || (passed_q == 2'b01 && above_q == '0)
          || (passed_q == 2'b10 && above_q == 2'b10));
      // no more than Outstanding bursts are not acknowledged
      p_outstanding: assert (32'(unanswered_count_q) <= Outstanding);
      // data are taken only from the client of the oldest burst that lacks some
      p_owner: assert ((data_ready_o & ~send_grant) == '0);
      // W carries what that client gave, whole, each beat once, and the last one is marked
      p_data: assert (m_axi_wvalid == expect_valid_q && m_axi_wstrb == '1
                      && (!expect_valid_q || (m_axi_wdata == expect_data_q && m_axi_wlast == expect_last_q)));
      // a burst is done once it is acknowledged after its last beat was taken, the oldest first
      p_done: assert (done_o == expect_done_q);
      // idle means that nothing is asked, being sent, in flight or being told
      p_idle: assert (idle_o == (!m_axi_awvalid && !expect_valid_q && unanswered_count_q == '0 && expect_done_q == '0));
      // error is set by what memory does wrong, by nothing else, and stays
      p_error: assert (error_o == wrong_q);
      // the queues hold the bursts in flight
      p_listed: assert (listed);
    end
  end
endmodule

bind rf_axi_write rf_axi_write_formal #(
  .DataW(DataW), .AddrW(AddrW), .Clients(Clients), .MaxBeats(MaxBeats), .Outstanding(Outstanding), .IdW(IdW)
) u_formal (
  .order_mem(u_order.mem), .order_rptr(u_order.rptr_q), .send_mem(u_data_queue.mem), .send_rptr(u_data_queue.rptr_q),
  .send_count(u_data_queue.count_q), .*
);
