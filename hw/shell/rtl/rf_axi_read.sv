// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// AXI4 read master shared by several clients.
//
// Function    Each request is one INCR burst. Requests are granted round-robin; the client of every granted burst waits
//             in an order queue, and as all bursts carry one ID, beats return in that order. A beat is registered
//             once and shown to all clients, with one bit of rsp_valid_o saying whose it is.
// Latency     request to AR 1 cycle; R to response 1 cycle
// Throughput  one AR and one R beat per cycle, up to Outstanding bursts in flight
// Ranges      1 <= req_beats_i <= MaxBeats <= 256; req_addr_i is a multiple of DataW/8; a burst must not cross a 4 KiB
//             boundary. Clients ask only for what they have room for: responses cannot be stalled.
// Errors      error_o stays set until reset after: a response other than OKAY (its data are still handed over); RLAST
//             before or after the beat that was asked for last (a burst ends with RLAST; surplus beats are dropped);
//             a beat that nobody asked for (taken and dropped); another ID.
// Counting    beat_o: a beat was taken in the cycle before; wait_o: one was wanted and none came.
// Reset       clears all state: reset the memory side together with it, or when idle_o, else late beats meet the wrong
//             burst.

module rf_axi_read #(
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
    output logic [Clients-1:0] rsp_valid_o,
    output logic [DataW-1:0]   rsp_data_o,
    output logic               idle_o,
    output logic               error_o,
    output logic               beat_o,
    output logic               wait_o,

    output logic [IdW-1:0]     m_axi_arid,
    output logic [AddrW-1:0]   m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic [3:0]         m_axi_arcache,
    output logic [2:0]         m_axi_arprot,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    input  logic [IdW-1:0]     m_axi_rid,
    input  logic [DataW-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready
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
  logic               arvalid_q, may_grant, order_ready;

  assign above_req = req_valid_i & above_q;
  assign pick = (above_req != '0) ? (above_req & (~above_req + 1'b1)) : (req_valid_i & (~req_valid_i + 1'b1));
  assign may_grant = (!arvalid_q || m_axi_arready) && order_ready;
  assign grant = may_grant ? pick : '0;
  assign req_ready_o = grant;

  always_comb begin
    pick_index = '0;
    for (int unsigned i = 0; i < Clients; i++) if (pick[i]) pick_index |= ClientW'(i);
  end

  // AR register: changes only when empty or accepted.
  logic [AddrW-1:0]  araddr_q;
  logic [BeatsW-1:0] beats_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arvalid_q <= 1'b0;
      above_q <= '0;
    end else begin
      if (grant != '0) begin
        arvalid_q <= 1'b1;
        above_q <= ~(grant | (grant - 1'b1));
      end else if (m_axi_arready) begin
        arvalid_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (grant != '0) begin
      araddr_q <= req_addr_i[pick_index];
      beats_q <= req_beats_i[pick_index];
    end
  end

  assign m_axi_arid = '0;
  assign m_axi_araddr = araddr_q;
  assign m_axi_arlen = 8'(beats_q - 1'b1);
  assign m_axi_arsize = 3'($clog2(Bytes));
  assign m_axi_arburst = 2'b01;
  assign m_axi_arcache = 4'b0011;  // normal memory, modifiable, bufferable
  assign m_axi_arprot = 3'b000;
  assign m_axi_arvalid = arvalid_q;

  // Order queue: one-hot client and length of each burst in flight.
  logic               order_valid, beat, surplus, last;
  logic [Clients-1:0] order_client;
  logic [BeatsW-1:0]  order_beats, got_q;
  logic [CountW-1:0]  order_count;

  rf_fifo #(
      .Width(Clients + BeatsW),
      .Depth(Outstanding)
  ) u_order (
      .clk_i,
      .rst_ni,
      .valid_i(grant != '0),
      .ready_o(order_ready),
      .data_i({grant, req_beats_i[pick_index]}),
      .valid_o(order_valid),
      .ready_i(beat && m_axi_rlast),
      .data_o({order_client, order_beats}),
      .count_o(order_count)
  );

  // Response register. A burst ends where memory says so: the next one's beats then find their client, and nothing is
  // waited for that does not come.
  logic [Clients-1:0] rsp_valid_q;
  logic [DataW-1:0]   rsp_data_q;
  logic               error_q, beat_q, wait_q;

  assign m_axi_rready = 1'b1;
  assign beat = m_axi_rvalid && order_valid;
  assign surplus = got_q == order_beats;
  assign last = got_q == order_beats - 1'b1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_valid_q <= '0;
      got_q <= '0;
      error_q <= 1'b0;
      beat_q <= 1'b0;
      wait_q <= 1'b0;
    end else begin
      rsp_valid_q <= beat && !surplus ? order_client : '0;
      if (beat) got_q <= m_axi_rlast ? '0 : surplus ? got_q : got_q + 1'b1;
      if (beat && (m_axi_rresp != RespOkay || m_axi_rlast != last || m_axi_rid != '0)) error_q <= 1'b1;
      if (m_axi_rvalid && !order_valid) error_q <= 1'b1;
      beat_q <= beat;
      wait_q <= order_valid && !m_axi_rvalid;
    end
  end

  always_ff @(posedge clk_i) if (beat) rsp_data_q <= m_axi_rdata;

  assign rsp_valid_o = rsp_valid_q;
  assign rsp_data_o = rsp_data_q;
  assign error_o = error_q;
  assign beat_o = beat_q;
  assign wait_o = wait_q;
  assign idle_o = !arvalid_q && order_count == '0 && rsp_valid_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (grant != '0) begin
        assert (32'(req_beats_i[pick_index]) inside {[1:MaxBeats]})
        else $error("client %0d asks for %0d beats", pick_index, req_beats_i[pick_index]);
        assert ((32'(req_addr_i[pick_index][11:0]) & (Bytes - 1)) == '0)
        else $error("client %0d reads at unaligned address %h", pick_index, req_addr_i[pick_index]);
        assert (32'(req_addr_i[pick_index][11:0]) + 32'(req_beats_i[pick_index]) * Bytes <= 4096)
        else $error("client %0d: burst at %h crosses 4 KiB", pick_index, req_addr_i[pick_index]);
      end
    end
  end
`endif

endmodule
