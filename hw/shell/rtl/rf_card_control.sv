// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A kernel's AXI4-Lite slave at the memory's clock: the machine's registers, which live at the core's clock, and those
// of the card's side.
//
// Function    Addresses below 0x1000 are the machine's: the access crosses to the core's clock and is done there by an
//             AXI4-Lite master; its data and response come back. 0x1000 + 8 n holds the base of port n, two registers,
//             lower half first: what the kernel adds to every address of that port. Bases are multiples of 4 KiB, the
//             bits below read 0; change them only while the machine is not busy.
// Latency     two crossings for the machine's registers
// Throughput  one access at a time, writes first
// Ranges      32 bits, whole words
// Errors      SLVERR for an address that has no register here and for a write in part; the machine's own answers are
//             handed on

module rf_card_control #(
    parameter int unsigned Ports = 4
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  logic [12:0]            s_axil_awaddr,
    input  logic                   s_axil_awvalid,
    output logic                   s_axil_awready,
    input  logic [31:0]            s_axil_wdata,
    input  logic [3:0]             s_axil_wstrb,
    input  logic                   s_axil_wvalid,
    output logic                   s_axil_wready,
    output logic [1:0]             s_axil_bresp,
    output logic                   s_axil_bvalid,
    input  logic                   s_axil_bready,
    input  logic [12:0]            s_axil_araddr,
    input  logic                   s_axil_arvalid,
    output logic                   s_axil_arready,
    output logic [31:0]            s_axil_rdata,
    output logic [1:0]             s_axil_rresp,
    output logic                   s_axil_rvalid,
    input  logic                   s_axil_rready,
    output logic [Ports-1:0][63:0] base_o,

    input  logic                   core_clk_i,
    input  logic                   core_rst_ni,
    output logic [11:0]            m_axil_awaddr,
    output logic                   m_axil_awvalid,
    input  logic                   m_axil_awready,
    output logic [31:0]            m_axil_wdata,
    output logic [3:0]             m_axil_wstrb,
    output logic                   m_axil_wvalid,
    input  logic                   m_axil_wready,
    input  logic [1:0]             m_axil_bresp,
    input  logic                   m_axil_bvalid,
    output logic                   m_axil_bready,
    output logic [11:0]            m_axil_araddr,
    output logic                   m_axil_arvalid,
    input  logic                   m_axil_arready,
    input  logic [31:0]            m_axil_rdata,
    input  logic [1:0]             m_axil_rresp,
    input  logic                   m_axil_rvalid,
    output logic                   m_axil_rready
);

  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlvErr = 2'b10;
  localparam int unsigned PortLog = (Ports > 1) ? $clog2(Ports) : 1;

  if (Ports < 1 || Ports > 64) begin : g_bad_ports
    $error("Ports %0d is outside 1..64", Ports);
  end

  // ---- The slave: takes one write and one read, serves one after the other ---------------------------
  typedef enum logic [2:0] {
    Idle,
    Ask,
    Wait,
    Local,
    Answer
  } state_e;

  state_e      state_q;
  logic        aw_full_q, w_full_q, ar_full_q, write_q, ours;
  logic [12:0] awaddr_q, araddr_q, addr_q;
  logic [31:0] wdata_q, data_q;
  logic [3:0]  wstrb_q;
  logic [1:0]  resp_q;
  logic        ask_ready, told_valid;
  logic [33:0] told;

  // The host may be out of reset before this side is: it waits.
  assign s_axil_awready = rst_ni && !aw_full_q;
  assign s_axil_wready = rst_ni && !w_full_q;
  assign s_axil_arready = rst_ni && !ar_full_q;
  assign s_axil_bvalid = state_q == Answer && write_q;
  assign s_axil_rvalid = state_q == Answer && !write_q;
  assign s_axil_bresp = resp_q;
  assign s_axil_rresp = resp_q;
  assign s_axil_rdata = data_q;

  // The card's own registers.
  logic [Ports-1:0][63:12] base_q;
  logic                    known;
  logic [PortLog-1:0]      port;

  assign port = addr_q[3+:PortLog];
  assign known = 32'(addr_q[11:3]) < Ports && addr_q[1:0] == '0;
  assign ours = addr_q[12];

  for (genvar n = 0; n < Ports; n++) begin : g_bases
    assign base_o[n] = {base_q[n], 12'd0};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) base_q <= '0;
    else if (state_q == Local && write_q && known && wstrb_q == '1) begin
      if (addr_q[2]) base_q[port][63:32] <= wdata_q;
      else base_q[port][31:12] <= wdata_q[31:12];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
      ar_full_q <= 1'b0;
    end else begin
      if (s_axil_awvalid && s_axil_awready) aw_full_q <= 1'b1;
      if (s_axil_wvalid && s_axil_wready) w_full_q <= 1'b1;
      if (s_axil_arvalid && s_axil_arready) ar_full_q <= 1'b1;
      unique case (state_q)
        Idle: if ((aw_full_q && w_full_q) || ar_full_q) state_q <= Ask;
        Ask: if (ours) state_q <= Local;
        else if (ask_ready) state_q <= Wait;
        Wait: if (told_valid) state_q <= Answer;
        Local: state_q <= Answer;
        default:
        if (write_q ? s_axil_bready : s_axil_rready) begin
          state_q <= Idle;
          if (write_q) begin
            aw_full_q <= 1'b0;
            w_full_q <= 1'b0;
          end else begin
            ar_full_q <= 1'b0;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axil_awready) awaddr_q <= s_axil_awaddr;
    if (s_axil_arready) araddr_q <= s_axil_araddr;
    if (s_axil_wready) begin
      wdata_q <= s_axil_wdata;
      wstrb_q <= s_axil_wstrb;
    end
    if (state_q == Idle) begin
      write_q <= aw_full_q && w_full_q;
      addr_q <= (aw_full_q && w_full_q) ? awaddr_q : araddr_q;
    end
    if (state_q == Wait) {resp_q, data_q} <= told;
    if (state_q == Local) begin
      resp_q <= (known && (!write_q || wstrb_q == '1)) ? RespOkay : RespSlvErr;
      data_q <= '0;
      if (known) data_q <= addr_q[2] ? base_o[port][63:32] : base_o[port][31:0];
    end
  end

  // ---- The crossing ----------------------------------------------------------------------------------
  logic        asked_valid, asked_write, ended, tell_ready;
  logic [11:0] asked_addr;
  logic [31:0] asked_data;
  logic [3:0]  asked_strb;
  logic [33:0] tell;

  // At most one access is under way, so the way back is always free.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_async_fifo #(
      .Width(1 + 12 + 4 + 32),
      .Depth(2)
  ) u_ask (
      .wclk_i(clk_i),
      .wrst_ni(rst_ni),
      .valid_i(state_q == Ask && !ours),
      .ready_o(ask_ready),
      .data_i({write_q, addr_q[11:0], wstrb_q, wdata_q}),
      .wcount_o(),
      .rclk_i(core_clk_i),
      .rrst_ni(core_rst_ni),
      .valid_o(asked_valid),
      .ready_i(ended),
      .data_o({asked_write, asked_addr, asked_strb, asked_data}),
      .rcount_o()
  );

  rf_async_fifo #(
      .Width(2 + 32),
      .Depth(2)
  ) u_tell (
      .wclk_i(core_clk_i),
      .wrst_ni(core_rst_ni),
      .valid_i(ended),
      .ready_o(tell_ready),
      .data_i(tell),
      .wcount_o(),
      .rclk_i(clk_i),
      .rrst_ni(rst_ni),
      .valid_o(told_valid),
      .ready_i(state_q == Wait),
      .data_o(told),
      .rcount_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- The master at the core's clock ----------------------------------------------------------------
  logic aw_sent_q, w_sent_q, ar_sent_q;

  assign m_axil_awaddr = asked_addr;
  assign m_axil_araddr = asked_addr;
  assign m_axil_wdata = asked_data;
  assign m_axil_wstrb = asked_strb;
  assign m_axil_awvalid = asked_valid && asked_write && !aw_sent_q;
  assign m_axil_wvalid = asked_valid && asked_write && !w_sent_q;
  assign m_axil_arvalid = asked_valid && !asked_write && !ar_sent_q;
  assign m_axil_bready = asked_valid && asked_write && aw_sent_q && w_sent_q && tell_ready;
  assign m_axil_rready = asked_valid && !asked_write && ar_sent_q && tell_ready;
  assign ended = (m_axil_bvalid && m_axil_bready) || (m_axil_rvalid && m_axil_rready);
  assign tell = asked_write ? {m_axil_bresp, 32'd0} : {m_axil_rresp, m_axil_rdata};

  always_ff @(posedge core_clk_i) begin
    if (!core_rst_ni || ended) begin
      aw_sent_q <= 1'b0;
      w_sent_q <= 1'b0;
      ar_sent_q <= 1'b0;
    end else begin
      if (m_axil_awvalid && m_axil_awready) aw_sent_q <= 1'b1;
      if (m_axil_wvalid && m_axil_wready) w_sent_q <= 1'b1;
      if (m_axil_arvalid && m_axil_arready) ar_sent_q <= 1'b1;
    end
  end

endmodule
