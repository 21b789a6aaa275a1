// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Write channels of rf_axi_bridge: from a machine's master, a row a beat at the core's clock, to a card's master of PortW
// bits at the memory's clock.
//
// Function    Every burst of the machine becomes one burst or several (rf_axi_split). Rows cross the clocks in a FIFO and
//             become words on the memory's side. The machine gets one response a burst, when all its parts are
//             acknowledged; bursts are answered in their order, with one ID.
// Latency     AW: Slices + 1 cycles of the core, a crossing, 2 cycles of memory; W: Slices cycles, a crossing, rf_unpack and
//             1 cycle of memory; B: 1 cycle of memory, a crossing, Slices cycles of the core
// Throughput  one row per core cycle or one word per memory cycle, whichever is slower
// Ranges      as rf_axi_bridge_read. Every row is written whole: there are no strobes. The words of a burst are sent after
//             its address was given to the register slice of AW.
// Errors      The machine's response is the OR of its parts' responses.

module rf_axi_bridge_write #(
    parameter int unsigned RowW = 1024,
    parameter int unsigned PortW = 512,
    parameter int unsigned AddrW = 48,
    parameter int unsigned Rows = 32,
    parameter int unsigned Outstanding = 32,
    parameter int unsigned MaxWords = 256,
    parameter int unsigned Slices = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [AddrW-1:0] s_axi_awaddr,
    input  logic [7:0]       s_axi_awlen,
    input  logic             s_axi_awvalid,
    output logic             s_axi_awready,
    input  logic [RowW-1:0]  s_axi_wdata,
    input  logic             s_axi_wvalid,
    output logic             s_axi_wready,
    output logic [1:0]       s_axi_bresp,
    output logic             s_axi_bvalid,
    input  logic             s_axi_bready,

    input  logic             m_clk_i,
    input  logic             m_rst_ni,
    input  logic [63:0]      base_i,
    output logic [63:0]      m_axi_awaddr,
    output logic [7:0]       m_axi_awlen,
    output logic             m_axi_awvalid,
    input  logic             m_axi_awready,
    output logic [PortW-1:0] m_axi_wdata,
    output logic             m_axi_wlast,
    output logic             m_axi_wvalid,
    input  logic             m_axi_wready,
    input  logic [1:0]       m_axi_bresp,
    input  logic             m_axi_bvalid,
    output logic             m_axi_bready
);

  localparam int unsigned RequestW = AddrW + 8 + 1;

  if (RowW % PortW != 0) begin : g_bad_width
    $error("rows of %0d bits are no multiple of the port's %0d", RowW, PortW);
  end

  // Handshakes say all that is needed: counts stay open.
  /* verilator lint_off PINCONNECTEMPTY */

  // ---- Requests: split at the core's clock, based at the memory's ------------------------------------
  logic             aw_valid, aw_ready, split_valid, split_ready, split_final;
  logic [AddrW-1:0] aw_addr, split_addr;
  logic [7:0]       aw_rows, split_words;

  rf_slices #(
      .Width(AddrW + 8),
      .Stages(Slices)
  ) u_aw_slices (
      .clk_i,
      .rst_ni,
      .valid_i(s_axi_awvalid),
      .ready_o(s_axi_awready),
      .data_i({s_axi_awaddr, s_axi_awlen}),
      .valid_o(aw_valid),
      .ready_i(aw_ready),
      .data_o({aw_addr, aw_rows})
  );

  rf_axi_split #(
      .AddrW(AddrW),
      .RowBytes(RowW / 8),
      .WordBytes(PortW / 8),
      .MaxWords(MaxWords)
  ) u_split (
      .clk_i,
      .rst_ni,
      .valid_i(aw_valid),
      .ready_o(aw_ready),
      .addr_i(aw_addr),
      .rows_i(aw_rows),
      .valid_o(split_valid),
      .ready_i(split_ready),
      .addr_o(split_addr),
      .words_o(split_words),
      .final_o(split_final)
  );

  logic             request_valid, request_final, lengths_ready, order_ready, aw_free, may_issue, issue;
  logic [AddrW-1:0] request_addr;
  logic [7:0]       request_words;

  rf_async_fifo #(
      .Width(RequestW),
      .Depth(8)
  ) u_requests (
      .wclk_i(clk_i),
      .wrst_ni(rst_ni),
      .valid_i(split_valid),
      .ready_o(split_ready),
      .data_i({split_addr, split_words, split_final}),
      .wcount_o(),
      .rclk_i(m_clk_i),
      .rrst_ni(m_rst_ni),
      .valid_o(request_valid),
      .ready_i(issue),
      .data_o({request_addr, request_words, request_final}),
      .rcount_o()
  );

  assign may_issue = request_valid && lengths_ready && order_ready;
  assign issue = may_issue && aw_free;

  rf_skid #(
      .Width(64 + 8)
  ) u_aw (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(may_issue),
      .ready_o(aw_free),
      .data_i({base_i + 64'(request_addr), request_words}),
      .valid_o(m_axi_awvalid),
      .ready_i(m_axi_awready),
      .data_o({m_axi_awaddr, m_axi_awlen})
  );

  // ---- Rows to words ---------------------------------------------------------------------------------
  logic             core_valid, core_ready, row_valid, row_ready, word_valid, word_ready, w_free, send;
  logic [RowW-1:0]  core_row, row;
  logic [PortW-1:0] word;

  rf_slices #(
      .Width(RowW),
      .Stages(Slices)
  ) u_w_slices (
      .clk_i,
      .rst_ni,
      .valid_i(s_axi_wvalid),
      .ready_o(s_axi_wready),
      .data_i(s_axi_wdata),
      .valid_o(core_valid),
      .ready_i(core_ready),
      .data_o(core_row)
  );

  rf_async_fifo #(
      .Width(RowW),
      .Depth(Rows)
  ) u_rows (
      .wclk_i(clk_i),
      .wrst_ni(rst_ni),
      .valid_i(core_valid),
      .ready_o(core_ready),
      .data_i(core_row),
      .wcount_o(),
      .rclk_i(m_clk_i),
      .rrst_ni(m_rst_ni),
      .valid_o(row_valid),
      .ready_i(row_ready),
      .data_o(row),
      .rcount_o()
  );

  rf_unpack #(
      .RowW(RowW),
      .WordW(PortW)
  ) u_unpack (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(row_valid),
      .ready_o(row_ready),
      .data_i(row),
      .last_i(1'b0),  // bursts are whole rows: nothing remains
      .valid_o(word_valid),
      .ready_i(word_ready),
      .data_o(word),
      .last_o()
  );

  // Lengths of the bursts whose words are still to be sent; the order queue counts the bursts.
  logic       length_valid, word_last;
  logic [7:0] length, sent_q;

  rf_fifo #(
      .Width(8),
      .Depth(4)
  ) u_lengths (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(issue),
      .ready_o(lengths_ready),
      .data_i(request_words),
      .valid_o(length_valid),
      .ready_i(send && word_last),
      .data_o(length),
      .count_o()
  );

  assign word_last = sent_q == length;
  assign send = word_valid && word_ready;
  assign word_ready = w_free && length_valid;

  always_ff @(posedge m_clk_i) begin
    if (!m_rst_ni) sent_q <= '0;
    else if (send) sent_q <= word_last ? '0 : sent_q + 1'b1;
  end

  rf_skid #(
      .Width(PortW + 1)
  ) u_w (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(word_valid && length_valid),
      .ready_o(w_free),
      .data_i({word_last, word}),
      .valid_o(m_axi_wvalid),
      .ready_i(m_axi_wready),
      .data_o({m_axi_wlast, m_axi_wdata})
  );

  // ---- Responses -------------------------------------------------------------------------------------
  logic       order_valid, order_final, b_valid, b_taken, answer_ready, back_valid, back_ready;
  logic [1:0] b_resp, merged, merged_q, back_resp;

  // For each burst at the memory: whether the machine's burst ends with it.
  rf_fifo #(
      .Width(1),
      .Depth(Outstanding)
  ) u_order (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(issue),
      .ready_o(order_ready),
      .data_i(request_final),
      .valid_o(order_valid),
      .ready_i(b_taken),
      .data_o(order_final),
      .count_o()
  );

  assign b_taken = b_valid && order_valid && (!order_final || answer_ready);
  assign merged = merged_q | b_resp;

  rf_skid #(
      .Width(2)
  ) u_b (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(m_axi_bvalid),
      .ready_o(m_axi_bready),
      .data_i(m_axi_bresp),
      .valid_o(b_valid),
      .ready_i(b_taken),
      .data_o(b_resp)
  );

  always_ff @(posedge m_clk_i) begin
    if (!m_rst_ni) merged_q <= '0;
    else if (b_taken) merged_q <= order_final ? '0 : merged;
  end

  rf_async_fifo #(
      .Width(2),
      .Depth(8)
  ) u_answers (
      .wclk_i(m_clk_i),
      .wrst_ni(m_rst_ni),
      .valid_i(b_valid && order_valid && order_final),
      .ready_o(answer_ready),
      .data_i(merged),
      .wcount_o(),
      .rclk_i(clk_i),
      .rrst_ni(rst_ni),
      .valid_o(back_valid),
      .ready_i(back_ready),
      .data_o(back_resp),
      .rcount_o()
  );

  rf_slices #(
      .Width(2),
      .Stages(Slices)
  ) u_b_slices (
      .clk_i,
      .rst_ni,
      .valid_i(back_valid),
      .ready_o(back_ready),
      .data_i(back_resp),
      .valid_o(s_axi_bvalid),
      .ready_i(s_axi_bready),
      .data_o(s_axi_bresp)
  );

  /* verilator lint_on PINCONNECTEMPTY */

`ifndef SYNTHESIS
  always_ff @(posedge m_clk_i) begin
    if (m_rst_ni) begin
      assert (base_i[11:0] == '0) else $error("base %h is no multiple of 4 KiB", base_i);
      assert (!b_valid || order_valid) else $error("write response without a request");
    end
  end
`endif

endmodule
