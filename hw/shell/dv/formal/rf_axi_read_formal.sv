// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_axi_read, beside a list of the bursts that were granted. Clients keep to the handshake and to the
// ranges in its header; memory may answer anything, and be reset at any time with the module. For two clients.

module rf_axi_read_formal #(
  parameter int unsigned DataW = 16,
  parameter int unsigned AddrW = 13,
  parameter int unsigned Clients = 2,
  parameter int unsigned MaxBeats = 3,
  parameter int unsigned Outstanding = 2,
  parameter int unsigned IdW = 1,
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1),
  localparam int unsigned CountW = $clog2(Outstanding + 1),
  localparam int unsigned PtrW = (Outstanding > 1) ? $clog2(Outstanding) : 1,
  localparam int unsigned BurstW = Clients + BeatsW
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [Clients-1:0] req_valid_i,
  input logic [Clients-1:0] req_ready_o,
  input logic [AddrW-1:0]   req_addr_i [Clients],
  input logic [BeatsW-1:0]  req_beats_i [Clients],
  input logic [Clients-1:0] rsp_valid_o,
  input logic [DataW-1:0]   rsp_data_o,
  input logic               idle_o,
  input logic               error_o,
  input logic [AddrW-1:0]   m_axi_araddr,
  input logic [7:0]         m_axi_arlen,
  input logic [2:0]         m_axi_arsize,
  input logic [1:0]         m_axi_arburst,
  input logic               m_axi_arvalid,
  input logic               m_axi_arready,
  input logic [IdW-1:0]     m_axi_rid,
  input logic [DataW-1:0]   m_axi_rdata,
  input logic [1:0]         m_axi_rresp,
  input logic               m_axi_rlast,
  input logic               m_axi_rvalid,
  input logic               m_axi_rready,
  // inside, for induction
  input logic [Clients-1:0] above_q,
  input logic [BeatsW-1:0]  got_q,
  input logic [CountW-1:0]  order_count,
  input logic [BurstW-1:0]  order_mem [Outstanding],
  input logic [PtrW-1:0]    order_rptr
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
  logic               ar_held_q;
  logic [AddrW-1:0]   araddr_q;
  logic [7:0]         arlen_q;

  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    asked_q <= req_valid_i;
    granted_q <= req_valid_i & req_ready_o;
    asked_addr_q <= req_addr_i;
    asked_beats_q <= req_beats_i;
    ar_held_q <= m_axi_arvalid && !m_axi_arready;
    araddr_q <= m_axi_araddr;
    arlen_q <= m_axi_arlen;
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

  // Bursts that were granted and not yet ended by memory, oldest first.
  logic [Clients-1:0] grant;
  logic [BurstW-1:0]  granted, bursts_q [Outstanding];
  logic [CountW-1:0]  count_q;
  logic [BeatsW-1:0]  taken_q, head_beats;
  logic [Clients-1:0] head_client, expect_q;
  logic [DataW-1:0]   data_q;
  logic               beat, ended, wanted, wrong_q;

  assign grant = req_valid_i & req_ready_o;
  always_comb begin
    granted = '0;
    for (int unsigned c = 0; c < Clients; c++) if (grant[c]) granted = {grant, req_beats_i[c]};
  end
  assign {head_client, head_beats} = bursts_q[0];
  assign beat = m_axi_rvalid && m_axi_rready && count_q != '0;
  assign ended = beat && m_axi_rlast;
  assign wanted = beat && taken_q != head_beats;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Outstanding; i++) begin
      if (ended && i + 1 < Outstanding) bursts_q[i] <= bursts_q[i+1];
      if (grant != '0 && i == 32'(count_q) - 32'(ended)) bursts_q[i] <= granted;
    end
    data_q <= m_axi_rdata;
    if (!rst_ni) begin
      count_q <= '0;
      taken_q <= '0;
      expect_q <= '0;
      wrong_q <= 1'b0;
    end else begin
      count_q <= count_q + CountW'(grant != '0) - CountW'(ended);
      if (beat) taken_q <= m_axi_rlast ? '0 : wanted ? taken_q + 1'b1 : taken_q;
      expect_q <= wanted ? head_client : '0;
      if (m_axi_rvalid && m_axi_rready && (count_q == '0 || m_axi_rresp != 2'b00 || m_axi_rid != '0)) wrong_q <= 1'b1;
      if (beat && m_axi_rlast != (taken_q + 1'b1 == head_beats && wanted)) wrong_q <= 1'b1;
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
    listed = 1'b1;
    for (int unsigned i = 0; i < Outstanding; i++)
      listed &= i >= 32'(count_q) || (order_mem[(32'(order_rptr) + i) % Outstanding] == bursts_q[i]
                                      && bursts_q[i][BeatsW-1:0] != '0 && 32'(bursts_q[i][BeatsW-1:0]) <= MaxBeats);
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // a request on AR that is not taken stays, and stays the same
      p_ar_stable: assert (!after_q || !ar_held_q
          || (m_axi_arvalid && m_axi_araddr == araddr_q && m_axi_arlen == arlen_q));
      // requests on AR are whole beats, at most MaxBeats of them, inside 4 KiB
      p_burst: assert (!m_axi_arvalid || (m_axi_arburst == 2'b01 && 32'd1 << m_axi_arsize == Bytes
          && 32'(m_axi_arlen) < MaxBeats && 32'(m_axi_araddr[11:0]) + (32'(m_axi_arlen) + 1) * Bytes <= 4096));
      // one client is granted at a time, one that asks
      p_one_grant: assert ((req_ready_o & (req_ready_o - 1'b1)) == '0 && (req_ready_o & ~req_valid_i) == '0);
      // of two clients, one that waits sees the other granted once at most
      p_fair: assert (twice_q == '0);
      // of two clients, the one that was passed over is next
      p_turn: assert (passed_q == '0 || (passed_q == 2'b01 && above_q == '0)
          || (passed_q == 2'b10 && above_q == 2'b10));
      // no more than Outstanding bursts are in flight
      p_outstanding: assert (32'(count_q) <= Outstanding);
      // each beat that was asked for goes to the client of the oldest burst, no other beat to any
      p_response: assert (rsp_valid_o == expect_q && (expect_q == '0 || rsp_data_o == data_q));
      // idle means that nothing is asked, in flight or being given
      p_idle: assert (idle_o == (!m_axi_arvalid && count_q == '0 && expect_q == '0));
      // error is set by what memory does wrong, by nothing else, and stays
      p_error: assert (error_o == wrong_q);
      // the order queue holds the bursts in flight
      p_listed: assert (order_count == count_q && listed && got_q == taken_q
          && (count_q == '0 ? taken_q == '0 : taken_q <= head_beats));
      // beats are taken at once
      p_taken: assert (m_axi_rready);
    end
  end
endmodule

bind rf_axi_read rf_axi_read_formal #(
  .DataW(DataW), .AddrW(AddrW), .Clients(Clients), .MaxBeats(MaxBeats), .Outstanding(Outstanding), .IdW(IdW)
) u_formal (.order_mem(u_order.mem), .order_rptr(u_order.rptr_q), .*);
