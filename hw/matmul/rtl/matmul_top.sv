// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The matmul accelerator: elements of the vector family with shared ALUs, a bus between them, ports of their own to
// near and far memory, control registers.
//
// Control: rf_shell_control (docs/hw/registers.md; ID "RFMM"). SHAPE holds elements, log2 of lanes, near ports of an
//   element, word width, RANGE least and largest log2 N, far ports of an element, multiplier kind, a byte each.
//   Counters: registers.json.
// Data: AXI4 masters of 512 bits at the core clock. Near port p of element e is port e * NearPorts + p; far port f is
//   Pes * NearPorts + e * FarPorts + f, and only reads. Where each port's segment of memory is: matmul_memory; far
//   memory begins where the near one ends, at Pes * NearPorts * 2^SegmentLog.
// Ranges: 1 ... 32 elements, 64 ports at most; NearPorts = Lanes / 8; polynomials of 256 rows at most.
module matmul_top
  import vector_pkg::*;
  import matmul_pkg::*;
#(
    parameter int unsigned Pes = 2,
    parameter int unsigned Lanes = 128,
    parameter int unsigned BankRows0 = 256,
    parameter int unsigned BankRows1 = 256,
    parameter int unsigned BankRows2 = 256,
    parameter int unsigned BankRows3 = 256,
    parameter int unsigned TwiddleRows = 256,
    parameter int unsigned WordBits = 54,
    parameter int unsigned MinLogN = 10,
    parameter int unsigned MaxLogN = 13,
    parameter int unsigned Moduli = 64,
    parameter int unsigned StreamRows = 512,
    parameter int unsigned NearPorts = 16,
    parameter int unsigned FarPorts = 1,
    parameter int unsigned SegmentLog = 28,
    parameter int unsigned FarSegmentLog = 34,
    parameter int unsigned BurstLines = 16,
    parameter int unsigned ReadLines = 64,
    parameter int unsigned FarBurst = 64,
    parameter int unsigned FarLines = 256,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    parameter bit ShortInLuts = 1'b0,
    localparam int unsigned Ports = Pes * (NearPorts + FarPorts)
) (
    input  logic                             clk_i,
    input  logic                             rst_ni,
    output logic                             irq_o,
    input  logic [11:0]                      s_axil_awaddr,
    input  logic                             s_axil_awvalid,
    output logic                             s_axil_awready,
    input  logic [31:0]                      s_axil_wdata,
    input  logic [3:0]                       s_axil_wstrb,
    input  logic                             s_axil_wvalid,
    output logic                             s_axil_wready,
    output logic [1:0]                       s_axil_bresp,
    output logic                             s_axil_bvalid,
    input  logic                             s_axil_bready,
    input  logic [11:0]                      s_axil_araddr,
    input  logic                             s_axil_arvalid,
    output logic                             s_axil_arready,
    output logic [31:0]                      s_axil_rdata,
    output logic [1:0]                       s_axil_rresp,
    output logic                             s_axil_rvalid,
    input  logic                             s_axil_rready,
    output logic [Ports-1:0]                       m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]            m_axi_araddr,
    output logic [Ports-1:0][7:0]                  m_axi_arlen,
    output logic [Ports-1:0][2:0]                  m_axi_arsize,
    output logic [Ports-1:0][1:0]                  m_axi_arburst,
    output logic [Ports-1:0][3:0]                  m_axi_arcache,
    output logic [Ports-1:0][2:0]                  m_axi_arprot,
    output logic [Ports-1:0]                       m_axi_arvalid,
    input  logic [Ports-1:0]                       m_axi_arready,
    input  logic [Ports-1:0]                       m_axi_rid,
    input  logic [Ports-1:0][PortW-1:0]            m_axi_rdata,
    input  logic [Ports-1:0][1:0]                  m_axi_rresp,
    input  logic [Ports-1:0]                       m_axi_rlast,
    input  logic [Ports-1:0]                       m_axi_rvalid,
    output logic [Ports-1:0]                       m_axi_rready,
    output logic [Ports-1:0]                       m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0]            m_axi_awaddr,
    output logic [Ports-1:0][7:0]                  m_axi_awlen,
    output logic [Ports-1:0][2:0]                  m_axi_awsize,
    output logic [Ports-1:0][1:0]                  m_axi_awburst,
    output logic [Ports-1:0][3:0]                  m_axi_awcache,
    output logic [Ports-1:0][2:0]                  m_axi_awprot,
    output logic [Ports-1:0]                       m_axi_awvalid,
    input  logic [Ports-1:0]                       m_axi_awready,
    output logic [Ports-1:0][PortW-1:0]            m_axi_wdata,
    output logic [Ports-1:0][PortW/8-1:0]          m_axi_wstrb,
    output logic [Ports-1:0]                       m_axi_wlast,
    output logic [Ports-1:0]                       m_axi_wvalid,
    input  logic [Ports-1:0]                       m_axi_wready,
    input  logic [Ports-1:0]                       m_axi_bid,
    input  logic [Ports-1:0][1:0]                  m_axi_bresp,
    input  logic [Ports-1:0]                       m_axi_bvalid,
    output logic [Ports-1:0]                       m_axi_bready
);
  localparam int unsigned DataW = Lanes * 64;
  localparam int unsigned RowBits = MaxLogN - $clog2(Lanes);
  localparam int unsigned Near = Pes * NearPorts;
  localparam int unsigned Banks = 4;
  localparam int unsigned BankRows[Banks] = '{BankRows0, BankRows1, BankRows2, BankRows3};
  localparam int unsigned Counters = 3;
  localparam int unsigned AmountW = 8;
  localparam logic [AddrW-1:0] FarBase = AddrW'(Near) << SegmentLog;

  if (Pes < 1 || Pes > 32 || Ports > 64) begin : g_bad_pes
    $error("matmul_top: %0d elements with %0d ports are not 1 to 32 with 64 at most", Pes, Ports);
  end
  if (RowBits > 8) begin : g_bad_degree
    $error("matmul_top: polynomials of 2^%0d rows are longer than 256", RowBits);
  end

  // ---- Elements and their memory -------------------------------------------------------------------
  logic element_rst_n, start, halt;
  logic [AddrW-1:0] program_addr[Pes];
  logic [Pes-1:0] done, copy_idle, sync, send, send_go, recv, recv_valid, sent_valid;
  error_e error[Pes];
  logic [31:0] pc[Pes], send_mask[Pes];
  logic [6:0] recv_src[Pes];
  logic [1:0] scope[Pes];
  logic [RowBits:0] rows[Pes];
  logic [WordBits-1:0] bus_row[Lanes], sent_row[Pes][Lanes];
  logic [Ports-1:0] idle, bus_error, rd_beat, wr_beat, rd_wait, wr_wait;
  logic group_go_q, machine_go_q;

  for (genvar e = 0; e < Pes; e++) begin : g_elements
    localparam int unsigned N = e * NearPorts;
    localparam int unsigned F = Near + e * FarPorts;
    request_t rd_req[ReadClients], wr_req;
    logic [ReadClients-1:0] rd_ready;
    logic [1:0] row_valid;
    logic [DataW-1:0] fetch_line;
    logic [WordBits-1:0] read_row[Lanes], write_row[Lanes];
    logic fetch_valid, wr_ready, wr_valid, wr_data_ready, wr_ack, copy_valid, copy_ready;
    logic [AddrW-1:0] copy_near, copy_far;

    vector_shared_pe #(
        .W(WordBits), .Lanes(Lanes), .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows), .MinLogN(MinLogN),
        .MaxLogN(MaxLogN), .ModuliEntries(Moduli), .StreamRows(StreamRows), .Pes(Pes),
        .NearBits($clog2(NearPorts) + SegmentLog), .FarBits($clog2(FarPorts) + FarSegmentLog), .Kind(Kind), .Twin(Twin),
        .ShortInLuts(ShortInLuts)
    ) u_pe (
        .clk_i, .rst_ni(element_rst_n), .start_i(start), .halt_i(halt), .index_i(7'(e)), .program_i(program_addr[e]),
        .done_o(done[e]), .error_o(error[e]), .pc_o(pc[e]), .rows_o(rows[e]),
        .rd_req_o(rd_req), .rd_ready_i(rd_ready), .line_valid_i(fetch_valid), .line_i(fetch_line),
        .row_valid_i(row_valid), .row_i(read_row), .wr_req_o(wr_req), .wr_ready_i(wr_ready), .wr_valid_o(wr_valid),
        .wr_data_ready_i(wr_data_ready), .wr_row_o(write_row), .wr_ack_i(wr_ack), .copy_valid_o(copy_valid),
        .copy_ready_i(copy_ready), .copy_addr_o(copy_near), .copy_far_o(copy_far), .copies_pending_i(!copy_idle[e]),
        .send_o(send[e]), .send_mask_o(send_mask[e]), .send_go_i(send_go[e]), .recv_o(recv[e]),
        .recv_src_o(recv_src[e]), .recv_valid_i(recv_valid[e]), .recv_i(bus_row), .bus_valid_o(sent_valid[e]),
        .bus_row_o(sent_row[e]), .sync_o(sync[e]), .sync_scope_o(scope[e]),
        .sync_go_i(scope[e] == vector_isa_pkg::ScopeGroup ? group_go_q : machine_go_q)
    );

    matmul_memory #(
        .W(WordBits), .Lanes(Lanes), .NearPorts(NearPorts), .FarPorts(FarPorts), .SegmentLog(SegmentLog),
        .FarSegmentLog(FarSegmentLog), .BurstLines(BurstLines), .ReadLines(ReadLines), .FarBurst(FarBurst),
        .FarLines(FarLines)
    ) u_memory (
        .clk_i, .rst_ni(element_rst_n), .halt_i(halt), .index_i(7'(e)), .far_base_i(FarBase),
        .rows_i(LinesW'(rows[e])), .rd_req_i(rd_req), .rd_ready_o(rd_ready), .fetch_valid_o(fetch_valid),
        .fetch_line_o(fetch_line), .row_valid_o(row_valid), .row_o(read_row), .wr_req_i(wr_req), .wr_ready_o(wr_ready),
        .wr_valid_i(wr_valid), .wr_data_ready_o(wr_data_ready),
        .wr_row_i(write_row), .wr_ack_o(wr_ack), .copy_valid_i(copy_valid), .copy_ready_o(copy_ready),
        .copy_near_i(copy_near), .copy_far_i(copy_far), .copy_idle_o(copy_idle[e]),
        .near_idle_o(idle[N+:NearPorts]), .near_error_o(bus_error[N+:NearPorts]), .rd_beat_o(rd_beat[N+:NearPorts]),
        .rd_wait_o(rd_wait[N+:NearPorts]), .wr_beat_o(wr_beat[N+:NearPorts]), .wr_wait_o(wr_wait[N+:NearPorts]),
        .far_idle_o(idle[F+:FarPorts]), .far_error_o(bus_error[F+:FarPorts]), .far_beat_o(rd_beat[F+:FarPorts]),
        .far_wait_o(rd_wait[F+:FarPorts]),
        .near_arid(m_axi_arid[N+:NearPorts]), .near_araddr(m_axi_araddr[N+:NearPorts]),
        .near_arlen(m_axi_arlen[N+:NearPorts]), .near_arsize(m_axi_arsize[N+:NearPorts]),
        .near_arburst(m_axi_arburst[N+:NearPorts]), .near_arcache(m_axi_arcache[N+:NearPorts]),
        .near_arprot(m_axi_arprot[N+:NearPorts]), .near_arvalid(m_axi_arvalid[N+:NearPorts]),
        .near_arready(m_axi_arready[N+:NearPorts]), .near_rid(m_axi_rid[N+:NearPorts]),
        .near_rdata(m_axi_rdata[N+:NearPorts]), .near_rresp(m_axi_rresp[N+:NearPorts]),
        .near_rlast(m_axi_rlast[N+:NearPorts]), .near_rvalid(m_axi_rvalid[N+:NearPorts]),
        .near_rready(m_axi_rready[N+:NearPorts]), .near_awid(m_axi_awid[N+:NearPorts]),
        .near_awaddr(m_axi_awaddr[N+:NearPorts]), .near_awlen(m_axi_awlen[N+:NearPorts]),
        .near_awsize(m_axi_awsize[N+:NearPorts]), .near_awburst(m_axi_awburst[N+:NearPorts]),
        .near_awcache(m_axi_awcache[N+:NearPorts]), .near_awprot(m_axi_awprot[N+:NearPorts]),
        .near_awvalid(m_axi_awvalid[N+:NearPorts]), .near_awready(m_axi_awready[N+:NearPorts]),
        .near_wdata(m_axi_wdata[N+:NearPorts]), .near_wstrb(m_axi_wstrb[N+:NearPorts]),
        .near_wlast(m_axi_wlast[N+:NearPorts]), .near_wvalid(m_axi_wvalid[N+:NearPorts]),
        .near_wready(m_axi_wready[N+:NearPorts]), .near_bid(m_axi_bid[N+:NearPorts]),
        .near_bresp(m_axi_bresp[N+:NearPorts]), .near_bvalid(m_axi_bvalid[N+:NearPorts]),
        .near_bready(m_axi_bready[N+:NearPorts]), .far_arid(m_axi_arid[F+:FarPorts]),
        .far_araddr(m_axi_araddr[F+:FarPorts]), .far_arlen(m_axi_arlen[F+:FarPorts]),
        .far_arsize(m_axi_arsize[F+:FarPorts]), .far_arburst(m_axi_arburst[F+:FarPorts]),
        .far_arcache(m_axi_arcache[F+:FarPorts]), .far_arprot(m_axi_arprot[F+:FarPorts]),
        .far_arvalid(m_axi_arvalid[F+:FarPorts]), .far_arready(m_axi_arready[F+:FarPorts]),
        .far_rid(m_axi_rid[F+:FarPorts]), .far_rdata(m_axi_rdata[F+:FarPorts]), .far_rresp(m_axi_rresp[F+:FarPorts]),
        .far_rlast(m_axi_rlast[F+:FarPorts]), .far_rvalid(m_axi_rvalid[F+:FarPorts]),
        .far_rready(m_axi_rready[F+:FarPorts])
    );

    // Nothing is written to far memory.
    logic unused;
    assign unused = ^{m_axi_awready[F+:FarPorts], m_axi_wready[F+:FarPorts], m_axi_bid[F+:FarPorts],
                      m_axi_bresp[F+:FarPorts], m_axi_bvalid[F+:FarPorts]};
    assign m_axi_awid[F+:FarPorts] = '0;
    assign m_axi_awaddr[F+:FarPorts] = '0;
    assign m_axi_awlen[F+:FarPorts] = '0;
    assign m_axi_awsize[F+:FarPorts] = '0;
    assign m_axi_awburst[F+:FarPorts] = '0;
    assign m_axi_awcache[F+:FarPorts] = '0;
    assign m_axi_awprot[F+:FarPorts] = '0;
    assign m_axi_awvalid[F+:FarPorts] = '0;
    assign m_axi_wdata[F+:FarPorts] = '0;
    assign m_axi_wstrb[F+:FarPorts] = '0;
    assign m_axi_wlast[F+:FarPorts] = '0;
    assign m_axi_wvalid[F+:FarPorts] = '0;
    assign m_axi_bready[F+:FarPorts] = '1;
    assign wr_beat[F+:FarPorts] = '0;
    assign wr_wait[F+:FarPorts] = '0;
  end

  // The elements are one group, so that barriers of both scopes are for all of them.
  logic [Pes-1:0] at_group, at_machine;
  always_comb
    for (int unsigned e = 0; e < Pes; e++) begin
      at_group[e] = sync[e] && scope[e] == vector_isa_pkg::ScopeGroup;
      at_machine[e] = sync[e] && scope[e] == vector_isa_pkg::ScopeMachine;
    end
  always_ff @(posedge clk_i) begin
    group_go_q <= element_rst_n && at_group == '1 && !group_go_q;
    machine_go_q <= element_rst_n && at_machine == '1 && !machine_go_q;
  end

  vector_bus #(.W(WordBits), .Lanes(Lanes), .Pes(Pes), .RowBits(RowBits)) u_bus (
      .clk_i, .rst_ni(element_rst_n), .rows_i(rows[0]), .send_i(send), .mask_i(send_mask), .go_o(send_go),
      .recv_i(recv), .recv_src_i(recv_src), .row_valid_i(sent_valid), .row_i(sent_row), .valid_o(recv_valid),
      .row_o(bus_row)
  );

  // ---- Control -------------------------------------------------------------------------------------
  logic [7:0] element_error[Pes];
  logic [AmountW-1:0] amount[Counters];

  always_comb begin
    amount = '{default: '0};
    for (int unsigned e = 0; e < Pes; e++) begin
      element_error[e] = 8'(error[e]);
      amount[0] = amount[0] + AmountW'(!done[e]);
      amount[2] = amount[2] + AmountW'(!copy_idle[e]);
    end
    amount[1] = AmountW'(at_group == '1 || at_machine == '1);
  end

  // The machine has no registers of its own.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h4d4d4652), .AddrW(AddrW), .Elements(Pes), .Ports(Ports), .PortBytes(PortW / 8), .Counters(Counters),
      .AmountW(AmountW)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({8'(WordBits), 8'(NearPorts), 8'($clog2(Lanes)), 8'(Pes)}),
      .range_i({8'(Kind), 8'(FarPorts), 8'(MaxLogN), 8'(MinLogN)}),
      .element_rst_no(element_rst_n), .start_o(start), .halt_o(halt), .program_o(program_addr), .done_i(done),
      .error_i(element_error), .pc_i(pc), .idle_i(idle), .bus_error_i(bus_error), .rd_beat_i(rd_beat),
      .wr_beat_i(wr_beat), .rd_wait_i(rd_wait), .wr_wait_i(wr_wait), .amount_i(amount),
      .own_wr_valid_o(), .own_rd_valid_o(), .own_wr_addr_o(), .own_rd_addr_o(), .own_wr_data_o(), .own_wr_strb_o(),
      .own_wr_known_i(1'b0), .own_rd_data_i('0), .own_rd_known_i(1'b0)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
