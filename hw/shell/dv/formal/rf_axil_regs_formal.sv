// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_axil_regs. The bus master keeps to the handshake; registers may answer anything.

module rf_axil_regs_formal #(
  parameter int unsigned AddrW = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [AddrW-1:0] s_axil_awaddr,
  input logic             s_axil_awvalid,
  input logic             s_axil_awready,
  input logic [31:0]      s_axil_wdata,
  input logic [3:0]       s_axil_wstrb,
  input logic             s_axil_wvalid,
  input logic             s_axil_wready,
  input logic [1:0]       s_axil_bresp,
  input logic             s_axil_bvalid,
  input logic             s_axil_bready,
  input logic [AddrW-1:0] s_axil_araddr,
  input logic             s_axil_arvalid,
  input logic             s_axil_arready,
  input logic [31:0]      s_axil_rdata,
  input logic [1:0]       s_axil_rresp,
  input logic             s_axil_rvalid,
  input logic             s_axil_rready,
  input logic             wr_valid_o,
  input logic [AddrW-1:0] wr_addr_o,
  input logic [31:0]      wr_data_o,
  input logic [3:0]       wr_strb_o,
  input logic             wr_known_i,
  input logic             rd_valid_o,
  input logic [AddrW-1:0] rd_addr_o,
  input logic [31:0]      rd_data_i,
  input logic             rd_known_i,
  // inside, for induction
  input logic             aw_full_q,
  input logic             w_full_q
);
  localparam logic [AddrW-1:0] Word = ~AddrW'(3);

  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // Parts of accesses that were taken and not yet answered, and what they carried.
  logic             aw_q, w_q, ar_q, wr_told_q, rd_told_q, wr_bad_q, rd_bad_q;
  logic [AddrW-1:0] awaddr_q, araddr_q;
  logic [31:0]      wdata_q, rdata_q;
  logic [3:0]       wstrb_q;
  logic             aw, w, b, ar, r;

  assign aw = s_axil_awvalid && s_axil_awready;
  assign w = s_axil_wvalid && s_axil_wready;
  assign b = s_axil_bvalid && s_axil_bready;
  assign ar = s_axil_arvalid && s_axil_arready;
  assign r = s_axil_rvalid && s_axil_rready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_q <= 1'b0;
      w_q <= 1'b0;
      ar_q <= 1'b0;
      wr_told_q <= 1'b0;
      rd_told_q <= 1'b0;
    end else begin
      if (aw) aw_q <= 1'b1;
      if (w) w_q <= 1'b1;
      if (ar) ar_q <= 1'b1;
      if (wr_valid_o) wr_told_q <= 1'b1;
      if (rd_valid_o) rd_told_q <= 1'b1;
      if (b) {aw_q, w_q, wr_told_q} <= '0;
      if (r) {ar_q, rd_told_q} <= '0;
    end
    if (aw) awaddr_q <= s_axil_awaddr;
    if (w) {wdata_q, wstrb_q} <= {s_axil_wdata, s_axil_wstrb};
    if (ar) araddr_q <= s_axil_araddr;
    if (wr_valid_o) wr_bad_q <= !wr_known_i;
    if (rd_valid_o) {rd_bad_q, rdata_q} <= {!rd_known_i, rd_known_i ? rd_data_i : 32'd0};
  end

  // What was there before this cycle, since the last reset.
  logic after_q = 1'b0;
  logic b_held_q, r_held_q;
  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    b_held_q <= s_axil_bvalid && !s_axil_bready;
    r_held_q <= s_axil_rvalid && !s_axil_rready;
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // address and data of a second write are not taken before the first is answered
      p_one_write: assert (!(aw && aw_q) && !(w && w_q));
      // a second read is not taken before the first is answered
      p_one_read: assert (!(ar && ar_q));
      // a write is told once, when address and data are there, with what they carried
      p_write: assert (wr_valid_o == (aw_q && w_q && !wr_told_q)
                       && (!wr_valid_o || (wr_addr_o == (awaddr_q & Word) && wr_data_o == wdata_q
                       && wr_strb_o == wstrb_q)));
      // what was taken of a write waits until it is told
      p_waiting: assert (aw_full_q == (aw_q && !wr_told_q) && w_full_q == (w_q && !wr_told_q)
                         && (!aw_full_q || wr_addr_o == (awaddr_q & Word))
                         && (!w_full_q || (wr_data_o == wdata_q && wr_strb_o == wstrb_q)));
      // a write is answered once, after it was told
      p_write_answer: assert (s_axil_bvalid == wr_told_q && (!wr_told_q || (aw_q && w_q)));
      // a write to what is not known is answered SLVERR, every other OKAY
      p_write_response: assert (!s_axil_bvalid || s_axil_bresp == (wr_bad_q ? 2'b10 : 2'b00));
      // a read is told once, the cycle after it was taken, with its address
      p_read: assert (rd_valid_o == (ar_q && !rd_told_q) && (!rd_valid_o || rd_addr_o == (araddr_q & Word)));
      // a read is answered once, after it was told
      p_read_answer: assert (s_axil_rvalid == rd_told_q && (!rd_told_q || ar_q));
      // a read gives the register's word and OKAY, or 0 and SLVERR where there is none
      p_read_response: assert (!s_axil_rvalid || (s_axil_rdata == rdata_q
          && s_axil_rresp == (rd_bad_q ? 2'b10 : 2'b00)));
      // answers that are not taken stay
      p_stable: assert (!after_q || ((!b_held_q || s_axil_bvalid) && (!r_held_q || s_axil_rvalid)));
      // it takes an access whenever none is in it
      p_free: assert ((aw_q || wr_told_q || s_axil_awready) && (w_q || wr_told_q || s_axil_wready)
          && (ar_q || s_axil_arready));
    end
  end
endmodule

bind rf_axil_regs rf_axil_regs_formal #(.AddrW(AddrW)) u_formal (.*);
