// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// AXI4 write master shared by several clients.
//
// Function    Each request is one INCR burst. Requests are granted round-robin; a granted client then gives its beats
//             over data_valid_i/data_ready_o, bubbles allowed, and done_o pulses once when the burst is acknowledged.
//             All bursts carry one ID, so acknowledgements arrive in the order of the grants.
// Latency     request to AW 1 cycle; data to W 1 cycle; B to done_o 1 cycle
// Throughput  one W beat per cycle without bubbles between bursts, up to Outstanding bursts not yet acknowledged
// Ranges      1 <= req_beats_i <= MaxBeats <= 256; req_addr_i is a multiple of DataW/8; a burst must not cross a 4 KiB
//             boundary; every beat is written whole. Data are sent in the order of the grants, so a client that was
//             granted and has no data yet holds back the others: ask when the data are at hand or sure to come.
// Errors      error_o stays set until reset after: a response other than OKAY (done_o still pulses, so counts agree); one
//             before the burst's last beat was taken (it waits until then); one that no burst waits for (taken and
//             dropped); another ID.
// Counting    beat_o: a beat was taken in the cycle before; wait_o: one was offered and not taken.
// Reset       clears all state: reset the memory side together with it, or when idle_o.

module rf_axi_write #(
    parameter int unsigned DataW = 1024,
    parameter int unsigned AddrW = 48,
    parameter int unsigned Clients = 2,
    parameter int unsigned MaxBeats = 32,
    parameter int unsigned Outstanding = 16,
    parameter int unsigned IdW = 1,
    localparam int unsigned BeatsW = $clog2(MaxBeats + 1)
) (
    input  logic               clk_i,
    input  logic               rst_ni,

    input  logic [Clients-1:0] req_valid_i,
    output logic [Clients-1:0] req_ready_o,
    input  logic [AddrW-1:0]   req_addr_i [Clients],
    input  logic [BeatsW-1:0]  req_beats_i [Clients],
    input  logic [Clients-1:0] data_valid_i,
    output logic [Clients-1:0] data_ready_o,
    input  logic [DataW-1:0]   data_i [Clients],
    output logic [Clients-1:0] done_o,
    output logic               idle_o,
    output logic               error_o,
    output logic               beat_o,
    output logic               wait_o,

    output logic [IdW-1:0]     m_axi_awid,
    output logic [AddrW-1:0]   m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic [3:0]         m_axi_awcache,
    output logic [2:0]         m_axi_awprot,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [DataW-1:0]   m_axi_wdata,
    output logic [DataW/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic [IdW-1:0]     m_axi_bid,
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready
);

  localparam int unsigned ClientW = (Clients > 1) ? $clog2(Clients) : 1;
  localparam int unsigned CountW = $clog2(Outstanding + 1);
  localparam logic [1:0] RespOkay = 2'b00;
  localparam int unsigned Bytes = DataW / 8;

  if (DataW < 8 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : g_bad_data_w
    $error("DataW %0d is not a bus width of AXI", DataW);
  end
  if (AddrW < 12 || AddrW > 64) begin : g_bad_addr_w
    $error("AddrW %0d is outside 12..64", AddrW);
  end
  if (Clients < 1) begin : g_bad_clients
    $error("no clients");
  end
  if (MaxBeats < 1 || MaxBeats > 256 || MaxBeats * Bytes > 4096) begin : g_bad_max_beats
    $error("bursts of %0d beats are none of AXI", MaxBeats);
  end
  if (Outstanding < 1) begin : g_bad_outstanding
    $error("no burst may be outstanding");
  end

  // Round-robin: the lowest client above the one granted last, else the lowest of all.
  logic [Clients-1:0] above_q, above_req, pick, grant;
  logic [ClientW-1:0] pick_index;
  logic               awvalid_q, may_grant, data_queue_ready, order_ready;

  assign above_req = req_valid_i & above_q;
  assign pick = (above_req != '0) ? (above_req & (~above_req + 1'b1)) : (req_valid_i & (~req_valid_i + 1'b1));
  assign may_grant = (!awvalid_q || m_axi_awready) && data_queue_ready && order_ready;
  assign grant = may_grant ? pick : '0;
  assign req_ready_o = grant;

  always_comb begin
    pick_index = '0;
    for (int unsigned i = 0; i < Clients; i++) if (pick[i]) pick_index |= ClientW'(i);
  end

  // AW register: changes only when empty or accepted.
  logic [AddrW-1:0]  awaddr_q;
  logic [BeatsW-1:0] beats_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      awvalid_q <= 1'b0;
      above_q <= '0;
    end else begin
      if (grant != '0) begin
        awvalid_q <= 1'b1;
        above_q <= ~(grant | (grant - 1'b1));
      end else if (m_axi_awready) begin
        awvalid_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (grant != '0) begin
      awaddr_q <= req_addr_i[pick_index];
      beats_q <= req_beats_i[pick_index];
    end
  end

  assign m_axi_awid = '0;
  assign m_axi_awaddr = awaddr_q;
  assign m_axi_awlen = 8'(beats_q - 1'b1);
  assign m_axi_awsize = 3'($clog2(Bytes));
  assign m_axi_awburst = 2'b01;
  assign m_axi_awcache = 4'b0011;  // normal memory, modifiable, bufferable
  assign m_axi_awprot = 3'b000;
  assign m_axi_awvalid = awvalid_q;

  // Data queue: client and length of the bursts whose beats are still to come. Two entries let the next burst follow
  // without a gap, and commit to no more than one burst ahead.
  logic               data_queue_valid, send, send_last;
  logic [ClientW-1:0] send_client;
  logic [BeatsW-1:0]  send_beats, sent_q;

  // Nobody needs to know how many wait here: the order queue counts the bursts.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width(ClientW + BeatsW),
      .Depth(2)
  ) u_data_queue (
      .clk_i,
      .rst_ni,
      .valid_i(grant != '0),
      .ready_o(data_queue_ready),
      .data_i({pick_index, req_beats_i[pick_index]}),
      .valid_o(data_queue_valid),
      .ready_i(send && send_last),
      .data_o({send_client, send_beats}),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // W register.
  logic             wvalid_q, wlast_q, w_free;
  logic [DataW-1:0] wdata_q;

  assign w_free = !wvalid_q || m_axi_wready;
  assign send = data_queue_valid && w_free && data_valid_i[send_client];
  assign send_last = sent_q == send_beats - 1'b1;

  always_comb begin
    data_ready_o = '0;
    if (data_queue_valid) data_ready_o[send_client] = w_free;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wvalid_q <= 1'b0;
      sent_q <= '0;
    end else begin
      if (send) begin
        wvalid_q <= 1'b1;
        sent_q <= send_last ? '0 : sent_q + 1'b1;
      end else if (m_axi_wready) begin
        wvalid_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (send) begin
      wdata_q <= data_i[send_client];
      wlast_q <= send_last;
    end
  end

  assign m_axi_wdata = wdata_q;
  assign m_axi_wstrb = '1;
  assign m_axi_wlast = wlast_q;
  assign m_axi_wvalid = wvalid_q;

  // Order queue: one-hot client of each burst not yet acknowledged; of these, complete_q have sent their last beat.
  logic               order_valid, acknowledged, completed;
  logic [Clients-1:0] order_client, done_q;
  logic [CountW-1:0]  order_count, complete_q;
  logic               error_q, beat_q, wait_q;

  rf_fifo #(
      .Width(Clients),
      .Depth(Outstanding)
  ) u_order (
      .clk_i,
      .rst_ni,
      .valid_i(grant != '0),
      .ready_o(order_ready),
      .data_i(grant),
      .valid_o(order_valid),
      .ready_i(acknowledged),
      .data_o(order_client),
      .count_o(order_count)
  );

  assign m_axi_bready = complete_q != '0 || !order_valid;
  assign acknowledged = m_axi_bvalid && complete_q != '0;
  assign completed = wvalid_q && m_axi_wready && wlast_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      done_q <= '0;
      complete_q <= '0;
      error_q <= 1'b0;
      beat_q <= 1'b0;
      wait_q <= 1'b0;
    end else begin
      done_q <= acknowledged ? order_client : '0;
      if (completed && !acknowledged) complete_q <= complete_q + 1'b1;
      if (!completed && acknowledged) complete_q <= complete_q - 1'b1;
      if (m_axi_bvalid && (complete_q == '0 || m_axi_bresp != RespOkay || m_axi_bid != '0)) error_q <= 1'b1;
      beat_q <= wvalid_q && m_axi_wready;
      wait_q <= wvalid_q && !m_axi_wready;
    end
  end

  assign done_o = done_q;
  assign error_o = error_q;
  assign beat_o = beat_q;
  assign wait_o = wait_q;
  assign idle_o = !awvalid_q && !wvalid_q && order_count == '0 && done_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (grant != '0) begin
        assert (32'(req_beats_i[pick_index]) inside {[1:MaxBeats]})
        else $error("client %0d asks for %0d beats", pick_index, req_beats_i[pick_index]);
        assert ((32'(req_addr_i[pick_index][11:0]) & (Bytes - 1)) == '0)
        else $error("client %0d writes at unaligned address %h", pick_index, req_addr_i[pick_index]);
        assert (32'(req_addr_i[pick_index][11:0]) + 32'(req_beats_i[pick_index]) * Bytes <= 4096)
        else $error("client %0d: burst at %h crosses 4 KiB", pick_index, req_addr_i[pick_index]);
      end
    end
  end
`endif

endmodule
