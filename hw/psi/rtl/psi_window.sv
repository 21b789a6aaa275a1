// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// AXI4 slave through which a host reaches memory and FIFOs, in the published machine's windows.
//
//   below 2^34                     memory: accesses go on to the master port as they are
//   2^34 ... 2^34 + 2^15 - 1       write: the input FIFO, a beat each, whatever the address in the window
//   2^34 + 2^15 ... 2^34 + 2^16 - 1   read: the output FIFO, likewise
//
// Function    One write and one read at a time, of any length. Elsewhere, or a write to what is read: DECERR. A FIFO is
//             reached by whole beats in INCR bursts while open_i is high; else SLVERR, and what is written is dropped.
//             Beats wait while a FIFO is full or empty, and no longer than open_i is high.
// Latency     address to master port or FIFO 1 cycle
// Throughput  one beat per cycle each way within a burst
// Ranges      fifo_idle_o: no access to a FIFO is under way. Reset together with the master of this slave.
module psi_window
  import psi_pkg::*;
#(
    parameter int unsigned IdW = 6
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               open_i,
    output logic               fifo_idle_o,
    // FIFOs
    output logic               in_valid_o,
    input  logic               in_ready_i,
    output logic [PortW-1:0]   in_o,
    input  logic               out_valid_i,
    output logic               out_ready_o,
    input  logic [PortW-1:0]   out_i,
    // The host
    input  logic [IdW-1:0]     s_axi_awid,
    input  logic [AddrW-1:0]   s_axi_awaddr,
    input  logic [7:0]         s_axi_awlen,
    input  logic [2:0]         s_axi_awsize,
    input  logic [1:0]         s_axi_awburst,
    input  logic               s_axi_awvalid,
    output logic               s_axi_awready,
    input  logic [PortW-1:0]   s_axi_wdata,
    input  logic [PortW/8-1:0] s_axi_wstrb,
    input  logic               s_axi_wlast,
    input  logic               s_axi_wvalid,
    output logic               s_axi_wready,
    output logic [IdW-1:0]     s_axi_bid,
    output logic [1:0]         s_axi_bresp,
    output logic               s_axi_bvalid,
    input  logic               s_axi_bready,
    input  logic [IdW-1:0]     s_axi_arid,
    input  logic [AddrW-1:0]   s_axi_araddr,
    input  logic [7:0]         s_axi_arlen,
    input  logic [2:0]         s_axi_arsize,
    input  logic [1:0]         s_axi_arburst,
    input  logic               s_axi_arvalid,
    output logic               s_axi_arready,
    output logic [IdW-1:0]     s_axi_rid,
    output logic [PortW-1:0]   s_axi_rdata,
    output logic [1:0]         s_axi_rresp,
    output logic               s_axi_rlast,
    output logic               s_axi_rvalid,
    input  logic               s_axi_rready,
    // Memory
    output logic               m_axi_arid,
    output logic [AddrW-1:0]   m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic [3:0]         m_axi_arcache,
    output logic [2:0]         m_axi_arprot,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    input  logic               m_axi_rid,
    input  logic [PortW-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready,
    output logic               m_axi_awid,
    output logic [AddrW-1:0]   m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic [3:0]         m_axi_awcache,
    output logic [2:0]         m_axi_awprot,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [PortW-1:0]   m_axi_wdata,
    output logic [PortW/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic               m_axi_bid,
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready
);
  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;
  localparam logic [1:0] RespDecerr = 2'b11;
  localparam int unsigned MemoryLog = 34;
  localparam int unsigned WindowLog = 15;

  typedef enum logic [2:0] {
    StateIdle,
    StateAddress,  // to memory
    StateMemory,   // its data
    StateFifo,
    StateNowhere,
    StateAnswer    // to a write
  } state_e;

  // Where an address leads: reads and writes each have a FIFO of their own.
  function automatic state_e where(input logic [AddrW-1:0] addr, input logic is_read);
    if (addr[AddrW-1:MemoryLog] == '0) return StateAddress;
    if (addr[AddrW-1:MemoryLog] != (AddrW - MemoryLog)'(1) || addr[MemoryLog-1:WindowLog+1] != '0) return StateNowhere;
    return addr[WindowLog] == is_read ? StateFifo : StateNowhere;
  endfunction

  function automatic logic plain(input logic [2:0] size, input logic [1:0] burst);
    return size == 3'($clog2(PortW / 8)) && burst == 2'b01;
  endfunction

  // ---- Writes --------------------------------------------------------------------------------------
  state_e           wr_q;
  logic [IdW-1:0]   awid_q;
  logic [AddrW-1:0] awaddr_q;
  logic [7:0]       awlen_q;
  logic [2:0]       awsize_q;
  logic [1:0]       awburst_q, bresp_q;
  logic             wr_good_q, wr_beat, wr_taken;
  logic             sent_q;  // all data have gone to memory; its answer has not come

  assign s_axi_awready = wr_q == StateIdle;
  // What cannot go into the FIFO is dropped.
  assign wr_taken = wr_good_q && open_i && s_axi_wstrb == '1;
  assign in_valid_o = wr_q == StateFifo && s_axi_wvalid && wr_taken;
  assign in_o = s_axi_wdata;
  always_comb
    case (wr_q)
      StateMemory: s_axi_wready = m_axi_wready && !sent_q;
      StateFifo: s_axi_wready = !wr_taken || in_ready_i;
      default: s_axi_wready = wr_q == StateNowhere;
    endcase
  assign wr_beat = s_axi_wvalid && s_axi_wready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wr_q <= StateIdle;
      sent_q <= 1'b0;
      bresp_q <= RespOkay;
      wr_good_q <= 1'b0;
    end else begin
      case (wr_q)
        StateIdle: begin
          sent_q <= 1'b0;
          wr_good_q <= plain(s_axi_awsize, s_axi_awburst);
          if (s_axi_awvalid) begin
            wr_q <= where(s_axi_awaddr, 1'b0);
            bresp_q <= where(s_axi_awaddr, 1'b0) == StateNowhere ? RespDecerr : RespOkay;
          end
        end
        StateAddress: if (m_axi_awready) wr_q <= StateMemory;
        StateMemory: begin
          if (wr_beat && s_axi_wlast) sent_q <= 1'b1;
          if (m_axi_bvalid && m_axi_bready) begin
            bresp_q <= m_axi_bresp;
            wr_q <= StateAnswer;
          end
        end
        StateFifo: begin
          if (wr_beat && !wr_taken) bresp_q <= RespSlverr;
          if (wr_beat && s_axi_wlast) wr_q <= StateAnswer;
        end
        StateNowhere: if (wr_beat && s_axi_wlast) wr_q <= StateAnswer;
        default: if (s_axi_bready) wr_q <= StateIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i)
    if (s_axi_awready) begin
      awid_q <= s_axi_awid;
      awaddr_q <= s_axi_awaddr;
      awlen_q <= s_axi_awlen;
      awsize_q <= s_axi_awsize;
      awburst_q <= s_axi_awburst;
    end

  assign s_axi_bid = awid_q;
  assign s_axi_bresp = bresp_q;
  assign s_axi_bvalid = wr_q == StateAnswer;
  assign m_axi_awid = '0;
  assign m_axi_awaddr = awaddr_q;
  assign m_axi_awlen = awlen_q;
  assign m_axi_awsize = awsize_q;
  assign m_axi_awburst = awburst_q;
  assign m_axi_awcache = 4'b0011;
  assign m_axi_awprot = 3'b000;
  assign m_axi_awvalid = wr_q == StateAddress;
  assign m_axi_wdata = s_axi_wdata;
  assign m_axi_wstrb = s_axi_wstrb;
  assign m_axi_wlast = s_axi_wlast;
  assign m_axi_wvalid = wr_q == StateMemory && !sent_q && s_axi_wvalid;
  assign m_axi_bready = wr_q == StateMemory && sent_q;

  // ---- Reads ---------------------------------------------------------------------------------------
  state_e           rd_q;
  logic [IdW-1:0]   arid_q;
  logic [AddrW-1:0] araddr_q;
  logic [7:0]       arlen_q, left_q;
  logic [2:0]       arsize_q;
  logic [1:0]       arburst_q;
  logic             rd_good_q, rd_open, rd_last, rd_beat;
  // A beat that is offered stays: it is taken off the FIFO first. So does a refusal.
  logic             offer_q, refused_q;
  logic [PortW-1:0] offered_q;

  assign s_axi_arready = rd_q == StateIdle;
  assign rd_open = rd_good_q && open_i;
  assign rd_last = left_q == '0;
  always_comb begin
    s_axi_rdata = '0;
    s_axi_rresp = RespDecerr;
    s_axi_rlast = rd_last;
    s_axi_rvalid = rd_q == StateNowhere;
    case (rd_q)
      StateMemory: begin
        s_axi_rdata = m_axi_rdata;
        s_axi_rresp = m_axi_rresp;
        s_axi_rlast = m_axi_rlast;
        s_axi_rvalid = m_axi_rvalid;
      end
      StateFifo: begin
        s_axi_rdata = offer_q ? offered_q : '0;
        s_axi_rresp = offer_q ? RespOkay : RespSlverr;
        s_axi_rvalid = offer_q || !rd_open || refused_q;
      end
      default: ;
    endcase
  end
  assign rd_beat = s_axi_rvalid && s_axi_rready;

  assign out_ready_o = rd_q == StateFifo && rd_open && !refused_q && (!offer_q || (s_axi_rready && !rd_last));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rd_q <= StateIdle;
      offer_q <= 1'b0;
      refused_q <= 1'b0;
      rd_good_q <= 1'b0;
    end else begin
      if (out_valid_i && out_ready_o) offer_q <= 1'b1;
      else if (rd_beat) offer_q <= 1'b0;
      refused_q <= rd_q == StateFifo && s_axi_rvalid && !offer_q && !s_axi_rready;
      case (rd_q)
        StateIdle: begin
          rd_good_q <= plain(s_axi_arsize, s_axi_arburst);
          if (s_axi_arvalid) rd_q <= where(s_axi_araddr, 1'b1);
        end
        StateAddress: if (m_axi_arready) rd_q <= StateMemory;
        default: if (rd_beat && s_axi_rlast) rd_q <= StateIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (s_axi_arready) begin
      arid_q <= s_axi_arid;
      araddr_q <= s_axi_araddr;
      arlen_q <= s_axi_arlen;
      arsize_q <= s_axi_arsize;
      arburst_q <= s_axi_arburst;
      left_q <= s_axi_arlen;
    end else if (rd_beat) begin
      left_q <= left_q - 1'b1;
    end
    if (out_valid_i && out_ready_o) offered_q <= out_i;
  end

  assign s_axi_rid = arid_q;
  assign m_axi_arid = '0;
  assign m_axi_araddr = araddr_q;
  assign m_axi_arlen = arlen_q;
  assign m_axi_arsize = arsize_q;
  assign m_axi_arburst = arburst_q;
  assign m_axi_arcache = 4'b0011;
  assign m_axi_arprot = 3'b000;
  assign m_axi_arvalid = rd_q == StateAddress;
  assign m_axi_rready = rd_q == StateMemory && s_axi_rready;

  assign fifo_idle_o = wr_q != StateFifo && rd_q != StateFifo;

  // Bursts end with their last beat; the lengths of writes and the answers' IDs say nothing new.
  logic unused;
  assign unused = &{1'b0, m_axi_rid, m_axi_bid};
endmodule
