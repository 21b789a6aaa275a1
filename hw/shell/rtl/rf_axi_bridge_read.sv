// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Read channels of rf_axi_bridge: from a machine's master, a row a beat at the core's clock, to a card's master of PortW
// bits at the memory's clock.
//
// Function    Every burst of the machine becomes one burst or several (rf_axi_split). Words become rows on the memory's
//             side, so that the narrow port's rate is not limited by the core's clock; rows cross the clocks in a FIFO.
//             Bursts are answered in their order, with one ID.
// Latency     AR: Slices + 1 cycles of the core, a crossing, 2 cycles of memory; R: 1 cycle of memory and those of
//             rf_pack, a crossing, Slices cycles of the core
// Throughput  one word per memory cycle or one row per core cycle, whichever is slower
// Ranges      RowW is a multiple of PortW; addresses are multiples of PortW/8, base_i of 4 KiB. base_i belongs to the
//             memory's clock and stays as it is while bursts are under way. Both resets overlap, and traffic starts after
//             both. Up to Outstanding bursts are under way at the memory; any number of rows may wait for the core.
// Errors      A row's response is the OR of its words' responses: an error of any word reaches the machine.

module rf_axi_bridge_read #(
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
    input  logic [AddrW-1:0] s_axi_araddr,
    input  logic [7:0]       s_axi_arlen,
    input  logic             s_axi_arvalid,
    output logic             s_axi_arready,
    output logic [RowW-1:0]  s_axi_rdata,
    output logic [1:0]       s_axi_rresp,
    output logic             s_axi_rlast,
    output logic             s_axi_rvalid,
    input  logic             s_axi_rready,

    input  logic             m_clk_i,
    input  logic             m_rst_ni,
    input  logic [63:0]      base_i,
    output logic [63:0]      m_axi_araddr,
    output logic [7:0]       m_axi_arlen,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic [PortW-1:0] m_axi_rdata,
    input  logic [1:0]       m_axi_rresp,
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready
);

  localparam int unsigned Ratio = RowW / PortW;
  localparam int unsigned RequestW = AddrW + 8 + 1;
  localparam int unsigned WordW = PortW + 2 + 1;  // data, response, whether it ends the machine's burst

  if (RowW % PortW != 0) begin : g_bad_width
    $error("rows of %0d bits are no multiple of the port's %0d", RowW, PortW);
  end

  // Handshakes say all that is needed: counts stay open.
  /* verilator lint_off PINCONNECTEMPTY */

  // ---- Requests: split at the core's clock, based at the memory's ------------------------------------
  logic             ar_valid, ar_ready, split_valid, split_ready, split_final;
  logic [AddrW-1:0] ar_addr, split_addr;
  logic [7:0]       ar_rows, split_words;

  rf_slices #(
      .Width(AddrW + 8),
      .Stages(Slices)
  ) u_ar_slices (
      .clk_i,
      .rst_ni,
      .valid_i(s_axi_arvalid),
      .ready_o(s_axi_arready),
      .data_i({s_axi_araddr, s_axi_arlen}),
      .valid_o(ar_valid),
      .ready_i(ar_ready),
      .data_o({ar_addr, ar_rows})
  );

  rf_axi_split #(
      .AddrW(AddrW),
      .RowBytes(RowW / 8),
      .WordBytes(PortW / 8),
      .MaxWords(MaxWords)
  ) u_split (
      .clk_i,
      .rst_ni,
      .valid_i(ar_valid),
      .ready_o(ar_ready),
      .addr_i(ar_addr),
      .rows_i(ar_rows),
      .valid_o(split_valid),
      .ready_i(split_ready),
      .addr_o(split_addr),
      .words_o(split_words),
      .final_o(split_final)
  );

  logic             request_valid, request_final, order_ready, ar_free, issue;
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

  assign issue = request_valid && order_ready && ar_free;

  rf_skid #(
      .Width(64 + 8)
  ) u_ar (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(request_valid && order_ready),
      .ready_o(ar_free),
      .data_i({base_i + 64'(request_addr), request_words}),
      .valid_o(m_axi_arvalid),
      .ready_i(m_axi_arready),
      .data_o({m_axi_araddr, m_axi_arlen})
  );

  // ---- Words to rows, at the memory's clock ----------------------------------------------------------
  logic             order_valid, order_final, word_valid, word_ready, word_last;
  logic [1:0]       word_resp;
  logic [PortW-1:0] word_data;

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
      .ready_i(word_valid && word_ready && word_last),
      .data_o(order_final),
      .count_o()
  );

  rf_skid #(
      .Width(WordW)
  ) u_r (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(m_axi_rvalid),
      .ready_o(m_axi_rready),
      .data_i({m_axi_rlast, m_axi_rresp, m_axi_rdata}),
      .valid_o(word_valid),
      .ready_i(word_ready && order_valid),
      .data_o({word_last, word_resp, word_data})
  );

  // Response and end travel with the words, so that a row brings those of all its words.
  logic                        parts_valid, parts_ready, row_valid, row_ready, row_last;
  logic [Ratio-1:0][WordW-1:0] parts;
  logic [Ratio-1:0][PortW-1:0] row_data;
  logic [1:0]                  row_resp;

  rf_pack #(
      .WordW(WordW),
      .RowW(Ratio * WordW)
  ) u_pack (
      .clk_i(m_clk_i),
      .rst_ni(m_rst_ni),
      .valid_i(word_valid && order_valid),
      .ready_o(word_ready),
      .data_i({word_last && order_final, word_resp, word_data}),
      .valid_o(parts_valid),
      .ready_i(parts_ready),
      .end_i(1'b0),  // bursts are whole rows: nothing remains
      .data_o(parts)
  );

  logic [2:0] parts_flags;

  always_comb begin
    parts_flags = '0;
    for (int unsigned i = 0; i < Ratio; i++) begin
      row_data[i] = parts[i][PortW-1:0];
      parts_flags |= parts[i][PortW+:3];
    end
  end

  // ---- Rows to the core ------------------------------------------------------------------------------
  logic [RowW-1:0] core_data;

  rf_async_fifo #(
      .Width(RowW + 3),
      .Depth(Rows)
  ) u_rows (
      .wclk_i(m_clk_i),
      .wrst_ni(m_rst_ni),
      .valid_i(parts_valid),
      .ready_o(parts_ready),
      .data_i({parts_flags, row_data}),
      .wcount_o(),
      .rclk_i(clk_i),
      .rrst_ni(rst_ni),
      .valid_o(row_valid),
      .ready_i(row_ready),
      .data_o({row_last, row_resp, core_data}),
      .rcount_o()
  );

  rf_slices #(
      .Width(RowW + 3),
      .Stages(Slices)
  ) u_r_slices (
      .clk_i,
      .rst_ni,
      .valid_i(row_valid),
      .ready_o(row_ready),
      .data_i({row_last, row_resp, core_data}),
      .valid_o(s_axi_rvalid),
      .ready_i(s_axi_rready),
      .data_o({s_axi_rlast, s_axi_rresp, s_axi_rdata})
  );

  /* verilator lint_on PINCONNECTEMPTY */

`ifndef SYNTHESIS
  always_ff @(posedge m_clk_i) begin
    if (m_rst_ni) begin
      assert (base_i[11:0] == '0) else $error("base %h is no multiple of 4 KiB", base_i);
      assert (!word_valid || order_valid) else $error("read data without a request");
    end
  end
`endif

endmodule
