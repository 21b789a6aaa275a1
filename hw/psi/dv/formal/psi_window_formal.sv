// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_window. The host keeps to AXI: what it offers stays, and WLAST comes with the last beat of a burst.
// FIFOs and memory may do anything but memory's RLAST, which comes with the last beat.

module psi_window_formal
  import psi_pkg::*;
#(
  parameter int unsigned IdW = 2
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               open_i,
  input logic               fifo_idle_o,
  input logic               in_valid_o,
  input logic               in_ready_i,
  input logic [PortW-1:0]   in_o,
  input logic               out_valid_i,
  input logic               out_ready_o,
  input logic [PortW-1:0]   out_i,
  input logic [IdW-1:0]     s_axi_awid,
  input logic [AddrW-1:0]   s_axi_awaddr,
  input logic [7:0]         s_axi_awlen,
  input logic [2:0]         s_axi_awsize,
  input logic [1:0]         s_axi_awburst,
  input logic               s_axi_awvalid,
  input logic               s_axi_awready,
  input logic [PortW-1:0]   s_axi_wdata,
  input logic [PortW/8-1:0] s_axi_wstrb,
  input logic               s_axi_wlast,
  input logic               s_axi_wvalid,
  input logic               s_axi_wready,
  input logic [IdW-1:0]     s_axi_bid,
  input logic [1:0]         s_axi_bresp,
  input logic               s_axi_bvalid,
  input logic               s_axi_bready,
  input logic [IdW-1:0]     s_axi_arid,
  input logic [AddrW-1:0]   s_axi_araddr,
  input logic [7:0]         s_axi_arlen,
  input logic [2:0]         s_axi_arsize,
  input logic [1:0]         s_axi_arburst,
  input logic               s_axi_arvalid,
  input logic               s_axi_arready,
  input logic [IdW-1:0]     s_axi_rid,
  input logic [PortW-1:0]   s_axi_rdata,
  input logic [1:0]         s_axi_rresp,
  input logic               s_axi_rlast,
  input logic               s_axi_rvalid,
  input logic               s_axi_rready,
  input logic [AddrW-1:0]   m_axi_araddr,
  input logic [7:0]         m_axi_arlen,
  input logic               m_axi_arvalid,
  input logic               m_axi_arready,
  input logic [1:0]         m_axi_rresp,
  input logic               m_axi_rlast,
  input logic               m_axi_rvalid,
  input logic               m_axi_rready,
  input logic [AddrW-1:0]   m_axi_awaddr,
  input logic [7:0]         m_axi_awlen,
  input logic               m_axi_awvalid,
  input logic               m_axi_awready,
  input logic               m_axi_wvalid,
  input logic               m_axi_wready,
  input logic               m_axi_wlast,
  input logic [1:0]         m_axi_bresp,
  input logic               m_axi_bvalid,
  input logic               m_axi_bready,
  // inside, for induction
  input logic [2:0]         wr_q,
  input logic [2:0]         rd_q,
  input logic               sent_q,
  input logic               wr_good_q,
  input logic               rd_good_q,
  input logic [7:0]         left_q,
  input logic               offer_q,
  input logic               refused_q,
  input logic [PortW-1:0]   offered_q
);
  localparam logic [2:0] Idle = 3'd0;
  localparam logic [2:0] Address = 3'd1;
  localparam logic [2:0] Memory = 3'd2;
  localparam logic [2:0] Fifo = 3'd3;
  localparam logic [2:0] Nowhere = 3'd4;
  localparam logic [2:0] Answer = 3'd5;

  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  logic aw, w, b, ar, r, put, got;
  assign aw = s_axi_awvalid && s_axi_awready;
  assign w = s_axi_wvalid && s_axi_wready;
  assign b = s_axi_bvalid && s_axi_bready;
  assign ar = s_axi_arvalid && s_axi_arready;
  assign r = s_axi_rvalid && s_axi_rready;
  assign put = in_valid_o && in_ready_i;
  assign got = out_valid_i && out_ready_o;

  // A window by its address: memory, the FIFO, or nothing.
  function automatic logic [2:0] window(logic [AddrW-1:0] at, logic second);
    if (at < 48'h4_0000_0000) return Memory;
    if (at >= (second ? 48'h4_0000_8000 : 48'h4_0000_0000) && at < (second ? 48'h4_0001_0000 : 48'h4_0000_8000))
      return Fifo;
    return Nowhere;
  endfunction

  // ---- A write: its beats that have not come, where it goes, and whether any was dropped ----------------
  logic           write_q, w_done_q, dropped_q, m_aw_q;
  logic [8:0]     w_left_q;
  logic [2:0]     w_to_q;
  logic [IdW-1:0] w_id_q;
  logic [1:0]     m_bresp_q;
  // ---- A read ----------------------------------------------------------------------------------------
  logic           read_q, m_ar_q;
  logic [8:0]     r_left_q;
  logic [2:0]     r_from_q;
  logic [IdW-1:0] r_id_q;
  logic           held_q;  // a beat that has left the output FIFO and was not given
  logic [PortW-1:0] beat_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {write_q, read_q, held_q} <= '0;
    end else begin
      if (aw) write_q <= 1'b1;
      else if (b) write_q <= 1'b0;
      if (ar) read_q <= 1'b1;
      else if (r && s_axi_rlast) read_q <= 1'b0;
      held_q <= got || (held_q && !r);
    end
    if (aw) begin
      w_left_q <= {1'b0, s_axi_awlen} + 1'b1;
      w_done_q <= 1'b0;
      dropped_q <= 1'b0;
      m_aw_q <= 1'b0;
      w_to_q <= window(s_axi_awaddr, 1'b0);
      w_id_q <= s_axi_awid;
    end else begin
      if (w) w_left_q <= w_left_q - 1'b1;
      if (w && s_axi_wlast) w_done_q <= 1'b1;
      if (w && !put) dropped_q <= 1'b1;
      if (m_axi_awvalid && m_axi_awready) m_aw_q <= 1'b1;
      if (m_axi_bvalid && m_axi_bready) m_bresp_q <= m_axi_bresp;
    end
    if (ar) begin
      r_left_q <= {1'b0, s_axi_arlen} + 1'b1;
      r_from_q <= window(s_axi_araddr, 1'b1);
      r_id_q <= s_axi_arid;
      m_ar_q <= 1'b0;
    end else begin
      if (r) r_left_q <= r_left_q - 1'b1;
      if (m_axi_arvalid && m_axi_arready) m_ar_q <= 1'b1;
    end
    if (got) beat_q <= out_i;
  end

  // ---- What was there before this cycle -----------------------------------------------------------------
  logic after_q = 1'b0;
  logic aw_held_q, w_held_q, ar_held_q, r_held_q, b_held_q, was_last_q, mr_held_q, was_mlast_q;
  logic [7:0]       was_awlen_q, was_arlen_q;
  logic [AddrW-1:0] was_awaddr_q, was_araddr_q;
  logic [1:0]       was_rresp_q, was_mresp_q;
  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    aw_held_q <= s_axi_awvalid && !s_axi_awready;
    ar_held_q <= s_axi_arvalid && !s_axi_arready;
    w_held_q <= s_axi_wvalid && !s_axi_wready;
    r_held_q <= s_axi_rvalid && !s_axi_rready;
    b_held_q <= s_axi_bvalid && !s_axi_bready;
    mr_held_q <= m_axi_rvalid && !m_axi_rready;
    {was_awlen_q, was_awaddr_q, was_arlen_q, was_araddr_q} <= {s_axi_awlen, s_axi_awaddr, s_axi_arlen, s_axi_araddr};
    {was_last_q, was_rresp_q, was_mresp_q, was_mlast_q} <= {s_axi_rlast, s_axi_rresp, m_axi_rresp, m_axi_rlast};
  end

  always_ff @(posedge clk_i) begin
    if (after_q && aw_held_q)
      assume (s_axi_awvalid && s_axi_awlen == was_awlen_q && s_axi_awaddr == was_awaddr_q);
    if (after_q && ar_held_q)
      assume (s_axi_arvalid && s_axi_arlen == was_arlen_q && s_axi_araddr == was_araddr_q);
    if (after_q && w_held_q) assume (s_axi_wvalid);
    assume (!s_axi_wvalid || (write_q && !w_done_q && s_axi_wlast == (w_left_q == 9'd1)));
    assume (m_axi_rlast == (r_left_q == 9'd1));
    assume (!m_axi_rvalid || (m_ar_q && read_q && r_from_q == Memory));
    if (after_q && mr_held_q) assume (m_axi_rvalid && m_axi_rresp == was_mresp_q);
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // a second write is not taken before the first is answered, nor a second read before the last beat of the first
      p_one: assert (!(aw && write_q) && !(ar && read_q));
      // a write is answered once, with its ID, after its last beat
      p_answer: assert (!s_axi_bvalid || (write_q && w_done_q && s_axi_bid == w_id_q));
      // a write to memory is answered as memory answers, one to nowhere by DECERR
      p_write_response: assert (!s_axi_bvalid || ((w_to_q != Nowhere || s_axi_bresp == 2'b11)
          && (w_to_q != Memory || s_axi_bresp == m_bresp_q)));
      // a write to the FIFO is answered OKAY where all of its beats went in, else SLVERR
      p_write_fifo: assert (!s_axi_bvalid || w_to_q != Fifo || s_axi_bresp == (dropped_q ? 2'b10 : 2'b00));
      // the input FIFO gets beats of the host's writes to it, as they are taken, and no others
      p_put: assert ((!in_valid_o || (write_q && w_to_q == Fifo && s_axi_wvalid && in_o == s_axi_wdata))
          && (!put || s_axi_wready));
      // a read gives as many beats as were asked for, the last one marked, with its ID
      p_beats: assert (!s_axi_rvalid || (read_q && r_left_q != '0 && s_axi_rlast == (r_left_q == 9'd1)
          && s_axi_rid == r_id_q));
      // beats that leave the output FIFO are given to its reader, in order, none lost, none twice
      p_given: assert (held_q == offer_q && (!held_q || (read_q && r_from_q == Fifo && s_axi_rvalid
          && s_axi_rdata == beat_q && s_axi_rresp == 2'b00)));
      // a reader of the FIFO gets a beat of it or SLVERR, one of nowhere DECERR
      p_read_response: assert (!s_axi_rvalid || ((r_from_q != Fifo || s_axi_rresp == (held_q ? 2'b00 : 2'b10))
          && (r_from_q != Nowhere || s_axi_rresp == 2'b11)));
      // answers that are not taken stay
      p_stable: assert (!after_q || ((!b_held_q || s_axi_bvalid)
          && (!r_held_q || (s_axi_rvalid && s_axi_rlast == was_last_q && s_axi_rresp == was_rresp_q))));
      // memory is asked once for each access to it, and for no other
      p_memory: assert ((!m_axi_awvalid || (write_q && !m_aw_q && w_to_q == Memory))
          && (!m_axi_arvalid || (read_q && !m_ar_q && r_from_q == Memory)) && (!m_axi_wvalid || m_aw_q));
      // no access to a FIFO is under way while it says so
      p_idle: assert (fifo_idle_o == !((write_q && w_to_q == Fifo && !w_done_q) || (read_q && r_from_q == Fifo)));
      // states are those of the accesses
      p_state: assert ((wr_q != Idle) == write_q && (rd_q != Idle) == read_q && wr_q <= Answer && rd_q <= Nowhere
          && (wr_q != Address || (w_to_q == Memory && !w_done_q && !m_aw_q && !sent_q)) && (wr_q != Answer || w_done_q)
          && (wr_q != Memory || (w_to_q == Memory && m_aw_q && sent_q == w_done_q))
          && (wr_q != Fifo || (w_to_q == Fifo && !w_done_q && s_axi_bresp == (dropped_q ? 2'b10 : 2'b00)))
          && (wr_q != Nowhere || (w_to_q == Nowhere && !w_done_q && s_axi_bresp == 2'b11))
          && (!write_q || (s_axi_bid == w_id_q && (w_left_q == '0) == w_done_q && 32'(w_left_q) <= 256)));
      // and so are those of reads
      p_read_state: assert ((rd_q != Address || (r_from_q == Memory && !m_ar_q))
          && (rd_q != Memory || (r_from_q == Memory && m_ar_q)) && (rd_q != Fifo || r_from_q == Fifo)
          && (rd_q != Nowhere || r_from_q == Nowhere) && (!offer_q || (rd_q == Fifo && offered_q == beat_q))
          && (!read_q || (s_axi_rid == r_id_q && 32'(left_q) + 1 == 32'(r_left_q))) && (!refused_q || rd_q == Fifo)
          && !(refused_q && offer_q));
    end
  end
endmodule

bind psi_window psi_window_formal #(.IdW(IdW)) u_formal (.wr_q(3'(wr_q)), .rd_q(3'(rd_q)), .*);
