// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The omr machine: programs of instructions on single limbs, by a rotation core and a grid of products.
//
// Control  rf_shell_control (docs/hw/registers.md; ID "RFOM") and the registers of registers.json, which take whole words
//          and, while a run is under way, none. SHAPE holds lanes, butterflies (a byte each), ways, sources (4 bits each),
//          word width; RANGE least and largest log2 N (a byte each), multiplier kind, rows, columns, groups of products.
//          The program is at PROGRAM, INSTRUCTIONS long. PC counts instructions handed to units, and is the index of one
//          in error.
// Data     AXI4 masters of 64 bits a lane at the core clock, as omr_memory has them.
// Ranges   T = 2 Butterflies >= Lanes, T >= 4, 2^MinLogN >= 8 T

module omr_top
  import omr_pkg::*;
#(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Butterflies = 64,
    parameter int unsigned Ways = 1,
    parameter int unsigned Sources = 1,
    parameter int unsigned Rows = 1,
    parameter int unsigned Cols = 1,
    parameter int unsigned Groups = 2,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 39,
    parameter int unsigned MinLogN = 12,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned BurstRows = 16,
    parameter int unsigned ReadRows = 64,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned PortW = 64 * Lanes,
    localparam int unsigned Grid = Groups * (Rows + Cols),
    localparam int unsigned Ports = 2 * Ways + Grid
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    output logic                          irq_o,
    input  logic [11:0]                   s_axil_awaddr,
    input  logic                          s_axil_awvalid,
    output logic                          s_axil_awready,
    input  logic [31:0]                   s_axil_wdata,
    input  logic [3:0]                    s_axil_wstrb,
    input  logic                          s_axil_wvalid,
    output logic                          s_axil_wready,
    output logic [1:0]                    s_axil_bresp,
    output logic                          s_axil_bvalid,
    input  logic                          s_axil_bready,
    input  logic [11:0]                   s_axil_araddr,
    input  logic                          s_axil_arvalid,
    output logic                          s_axil_arready,
    output logic [31:0]                   s_axil_rdata,
    output logic [1:0]                    s_axil_rresp,
    output logic                          s_axil_rvalid,
    input  logic                          s_axil_rready,
    output logic [Ports-1:0]              m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]   m_axi_araddr,
    output logic [Ports-1:0][7:0]         m_axi_arlen,
    output logic [Ports-1:0][2:0]         m_axi_arsize,
    output logic [Ports-1:0][1:0]         m_axi_arburst,
    output logic [Ports-1:0][3:0]         m_axi_arcache,
    output logic [Ports-1:0][2:0]         m_axi_arprot,
    output logic [Ports-1:0]              m_axi_arvalid,
    input  logic [Ports-1:0]              m_axi_arready,
    input  logic [Ports-1:0]              m_axi_rid,
    input  logic [Ports-1:0][PortW-1:0]   m_axi_rdata,
    input  logic [Ports-1:0][1:0]         m_axi_rresp,
    input  logic [Ports-1:0]              m_axi_rlast,
    input  logic [Ports-1:0]              m_axi_rvalid,
    output logic [Ports-1:0]              m_axi_rready,
    output logic [Ports-1:0]              m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0]   m_axi_awaddr,
    output logic [Ports-1:0][7:0]         m_axi_awlen,
    output logic [Ports-1:0][2:0]         m_axi_awsize,
    output logic [Ports-1:0][1:0]         m_axi_awburst,
    output logic [Ports-1:0][3:0]         m_axi_awcache,
    output logic [Ports-1:0][2:0]         m_axi_awprot,
    output logic [Ports-1:0]              m_axi_awvalid,
    input  logic [Ports-1:0]              m_axi_awready,
    output logic [Ports-1:0][PortW-1:0]   m_axi_wdata,
    output logic [Ports-1:0][PortW/8-1:0] m_axi_wstrb,
    output logic [Ports-1:0]              m_axi_wlast,
    output logic [Ports-1:0]              m_axi_wvalid,
    input  logic [Ports-1:0]              m_axi_wready,
    input  logic [Ports-1:0]              m_axi_bid,
    input  logic [Ports-1:0][1:0]         m_axi_bresp,
    input  logic [Ports-1:0]              m_axi_bvalid,
    output logic [Ports-1:0]              m_axi_bready
);
  localparam int unsigned LogW = $clog2(MaxLogN + 1);
  localparam int unsigned RowsW = MaxLogN + 1;
  localparam int unsigned ProgramRowsW = 34;
  localparam int unsigned Counters = 4;
  localparam int unsigned Core = Units - 1;  // units of the rotation core

  if (Lanes < 2 || Lanes > 16 || (Lanes & (Lanes - 1)) != 0 || Lanes > 2 * Butterflies || Butterflies < 2) begin : g_lanes
    $error("omr_top: Lanes must be 2, 4, 8 or 16, and at most twice the butterflies, of which there are 2 at least");
  end
  if (MinLogN > MaxLogN || MaxLogN > 16 || (1 << MinLogN) < 16 * Butterflies) begin : g_degree
    $error("omr_top: degrees are 8 wide rows at least and 2^16 at most");
  end
  if (Ways != 1 && Ways != 2 && Ways != 4) begin : g_ways
    $error("omr_top: Ways must be 1, 2 or 4");
  end

  // ---- Registers of its own ------------------------------------------------------------------------
  localparam int unsigned Registers = 14;
  localparam int unsigned RegLogN = 0, RegInstructions = 1, RegCtCol = 2, RegCtTerm = 4, RegDiagRow = 6, RegDiagTerm = 8;
  localparam int unsigned RegOutRow = 10, RegOutCol = 12;

  logic        own_wr_valid, own_wr_known, own_rd_known, running_q, start;
  /* verilator lint_off UNUSEDSIGNAL */  // the shell gives addresses of bytes
  logic [11:0] own_wr_addr, own_rd_addr;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] own_wr_data, own_rd_data, own_q[16];
  logic [3:0]  own_wr_strb;

  assign own_rd_known = own_rd_addr[11:2] < 10'(64 + Registers);
  assign own_rd_data = own_rd_known ? own_q[own_rd_addr[5:2]] : '0;
  assign own_wr_known = own_wr_addr[11:2] < 10'(64 + Registers) && own_wr_strb == '1 && !running_q && !start;

  always_ff @(posedge clk_i) if (own_wr_valid && own_wr_known) own_q[own_wr_addr[5:2]] <= own_wr_data;

  // ---- The element: it starts when the degree is one that it takes -----------------------------------
  logic             element_rst_n, halt, done, run, degree_bad, issue_idle;
  logic [AddrW-1:0] program_addr[1];
  logic [7:0]       error, issue_error, degree_error_q;
  logic [31:0]      pc;
  logic [LogW-1:0]  log_n;

  assign degree_bad = own_q[RegLogN] < 32'(MinLogN) || own_q[RegLogN] > 32'(MaxLogN);
  assign run = start && !degree_bad;
  assign log_n = LogW'(own_q[RegLogN]);

  always_ff @(posedge clk_i) begin
    if (!element_rst_n) begin
      running_q <= 1'b0;
      degree_error_q <= ErrorNone;
    end else if (start) begin
      running_q <= 1'b1;
      degree_error_q <= degree_bad ? ErrorDegree : ErrorNone;
    end else if (done) begin
      running_q <= 1'b0;
    end
  end

  assign error = degree_error_q != ErrorNone ? degree_error_q : issue_error;
  assign done = error == ErrorNone && (!running_q || issue_idle);

  // ---- Instructions --------------------------------------------------------------------------------
  logic                    fetch_valid, fetch_ready, fetch_row_valid, fetch_row_ready;
  logic [AddrW-1:0]        fetch_addr;
  logic [ProgramRowsW-1:0] fetch_rows;
  logic [PortW-1:0]        fetch_row;
  logic [Units-1:0]        cmd_valid, cmd_ready, unit_done, busy;
  instr_t                  cmd[Units], core_cmd[Core];

  omr_issue #(
      .Lanes(Lanes), .Ways(Ways), .Rows(Rows), .Buffers(Buffers), .Banks(Banks), .MaxLogN(MaxLogN)
  ) u_issue (
      .clk_i, .rst_ni(element_rst_n), .start_i(run), .halt_i(halt), .log_n_i(log_n), .program_i(program_addr[0]),
      .instructions_i(own_q[RegInstructions]), .req_valid_o(fetch_valid), .req_ready_i(fetch_ready),
      .req_addr_o(fetch_addr), .req_rows_o(fetch_rows), .row_valid_i(fetch_row_valid), .row_ready_o(fetch_row_ready),
      .row_i(fetch_row), .cmd_valid_o(cmd_valid), .cmd_ready_i(cmd_ready), .cmd_o(cmd), .done_i(unit_done),
      .idle_o(issue_idle), .error_o(issue_error), .pc_o(pc)
  );

  // ---- The rotation core ---------------------------------------------------------------------------
  logic [Ways-1:0][ReadClients:0]            rd_valid, rd_ready, row_valid, row_ready;
  logic [Ways-1:0][ReadClients:0][AddrW-1:0] rd_addr;
  logic [Ways-1:0][ReadClients:0][RowsW-1:0] rd_rows;
  logic [Ways-1:0][ReadClients:0][PortW-1:0] row;
  logic [Ways-1:0]                           wr_valid, wr_ready, wr_row_valid, wr_row_ready, wr_acked;
  logic [Ways-1:0][AddrW-1:0]                wr_addr;
  logic [Ways-1:0][RowsW-1:0]                wr_rows;
  logic [Ways-1:0][PortW-1:0]                wr_row;
  logic [ModulusIndexW-1:0]                  sum_index;
  logic [W-1:0]                              sum_q;
  logic [63:0]                               sum_k;
  logic [rf_pkg::ShiftWidth-1:0]             sum_shift;

  always_comb for (int unsigned u = 0; u < Core; u++) core_cmd[u] = cmd[u];

  omr_rot #(
      .W(W), .Lanes(Lanes), .Butterflies(Butterflies), .Ways(Ways), .Sources(Sources), .Buffers(Buffers), .Banks(Banks),
      .MinLogN(MinLogN), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)
  ) u_rot (
      .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[Core-1:0]),
      .cmd_ready_o(cmd_ready[Core-1:0]), .cmd_i(core_cmd), .done_o(unit_done[Core-1:0]), .busy_o(busy[Core-1:0]),
      .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_addr_o(rd_addr), .rd_rows_o(rd_rows), .row_valid_i(row_valid),
      .row_ready_o(row_ready), .row_i(row), .wr_valid_o(wr_valid), .wr_ready_i(wr_ready), .wr_addr_o(wr_addr),
      .wr_rows_o(wr_rows), .wr_row_valid_o(wr_row_valid), .wr_row_ready_i(wr_row_ready), .wr_row_o(wr_row),
      .wr_acked_i(wr_acked), .sum_index_i(sum_index), .sum_q_o(sum_q), .sum_k_o(sum_k), .sum_shift_o(sum_shift)
  );

  // ---- The grid of products ------------------------------------------------------------------------
  logic [Grid-1:0]            sum_rd_valid, sum_rd_ready, sum_row_valid, sum_row_ready;
  logic [Grid-1:0][AddrW-1:0] sum_rd_addr;
  logic [Grid-1:0][RowsW-1:0] sum_rd_rows;
  logic [Grid-1:0][PortW-1:0] sum_row;
  logic [Rows-1:0]            sum_wr_valid, sum_wr_ready, sum_wr_row_valid, sum_wr_row_ready, sum_wr_acked;
  logic [Rows-1:0][AddrW-1:0] sum_wr_addr;
  logic [Rows-1:0][RowsW-1:0] sum_wr_rows;
  logic [Rows-1:0][PortW-1:0] sum_wr_row;

  omr_sum #(
      .W(W), .Lanes(Lanes), .Rows(Rows), .Cols(Cols), .Groups(Groups), .MinLogN(MinLogN), .MaxLogN(MaxLogN),
      .Kind(Kind), .Twin(Twin)
  ) u_sum (
      .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[UnitSum]),
      .cmd_ready_o(cmd_ready[UnitSum]), .cmd_i(cmd[UnitSum]), .done_o(unit_done[UnitSum]), .busy_o(busy[UnitSum]),
      .ct_col_i({own_q[RegCtCol+1], own_q[RegCtCol]}), .ct_term_i({own_q[RegCtTerm+1], own_q[RegCtTerm]}),
      .diag_row_i({own_q[RegDiagRow+1], own_q[RegDiagRow]}), .diag_term_i({own_q[RegDiagTerm+1], own_q[RegDiagTerm]}),
      .out_row_i({own_q[RegOutRow+1], own_q[RegOutRow]}), .out_col_i({own_q[RegOutCol+1], own_q[RegOutCol]}),
      .modulus_index_o(sum_index), .modulus_q_i(sum_q), .modulus_k_i(sum_k), .modulus_shift_i(sum_shift),
      .rd_valid_o(sum_rd_valid), .rd_ready_i(sum_rd_ready), .rd_addr_o(sum_rd_addr), .rd_rows_o(sum_rd_rows),
      .row_valid_i(sum_row_valid), .row_ready_o(sum_row_ready), .row_i(sum_row), .wr_valid_o(sum_wr_valid),
      .wr_ready_i(sum_wr_ready), .wr_addr_o(sum_wr_addr), .wr_rows_o(sum_wr_rows),
      .wr_row_valid_o(sum_wr_row_valid), .wr_row_ready_i(sum_wr_row_ready), .wr_row_o(sum_wr_row),
      .wr_acked_i(sum_wr_acked)
  );

  // ---- The ports -----------------------------------------------------------------------------------
  logic [Ports-1:0] port_idle, port_error, rd_beat, wr_beat, rd_wait, wr_wait;

  omr_memory #(
      .Lanes(Lanes), .Ways(Ways), .Rows(Rows), .Cols(Cols), .Groups(Groups), .MaxLogN(MaxLogN), .BurstRows(BurstRows),
      .ReadRows(ReadRows)
  ) u_memory (
      .clk_i, .rst_ni(element_rst_n), .halt_i(halt), .fetch_valid_i(fetch_valid), .fetch_ready_o(fetch_ready),
      .fetch_addr_i(fetch_addr), .fetch_rows_i(fetch_rows), .fetch_row_valid_o(fetch_row_valid),
      .fetch_row_ready_i(fetch_row_ready), .fetch_row_o(fetch_row), .rd_valid_i(rd_valid), .rd_ready_o(rd_ready),
      .rd_addr_i(rd_addr), .rd_rows_i(rd_rows), .row_valid_o(row_valid), .row_ready_i(row_ready), .row_o(row),
      .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_addr_i(wr_addr), .wr_rows_i(wr_rows),
      .wr_row_valid_i(wr_row_valid), .wr_row_ready_o(wr_row_ready), .wr_row_i(wr_row), .wr_acked_o(wr_acked),
      .sum_rd_valid_i(sum_rd_valid), .sum_rd_ready_o(sum_rd_ready), .sum_rd_addr_i(sum_rd_addr),
      .sum_rd_rows_i(sum_rd_rows), .sum_row_valid_o(sum_row_valid), .sum_row_ready_i(sum_row_ready),
      .sum_row_o(sum_row), .sum_wr_valid_i(sum_wr_valid), .sum_wr_ready_o(sum_wr_ready),
      .sum_wr_addr_i(sum_wr_addr), .sum_wr_rows_i(sum_wr_rows), .sum_wr_row_valid_i(sum_wr_row_valid),
      .sum_wr_row_ready_o(sum_wr_row_ready), .sum_wr_row_i(sum_wr_row), .sum_wr_acked_o(sum_wr_acked),
      .idle_o(port_idle), .error_o(port_error), .rd_beat_o(rd_beat), .wr_beat_o(wr_beat), .rd_wait_o(rd_wait),
      .wr_wait_o(wr_wait), .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache,
      .m_axi_arprot, .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast,
      .m_axi_rvalid, .m_axi_rready, .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst,
      .m_axi_awcache, .m_axi_awprot, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast,
      .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready
  );

  // ---- Control -------------------------------------------------------------------------------------
  logic [7:0] amount[Counters];
  always_comb amount = '{8'(busy[UnitXform]), 8'(busy[UnitConv]), 8'(busy[UnitKmac]), 8'(busy[UnitSum])};
  logic unused;
  assign unused = ^{busy};

  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h4D4F4652), .AddrW(AddrW), .Elements(1), .Ports(Ports), .PortBytes(PortW / 8), .Counters(Counters)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({8'(W), 4'(Sources), 4'(Ways), 8'(Butterflies), 8'(Lanes)}),
      .range_i({4'(Groups), 4'(Cols), 4'(Rows), 4'(Kind), 8'(MaxLogN), 8'(MinLogN)}),
      .element_rst_no(element_rst_n), .start_o(start), .halt_o(halt), .program_o(program_addr), .done_i(done),
      .error_i('{error}), .pc_i('{pc}), .idle_i(port_idle), .bus_error_i(port_error), .rd_beat_i(rd_beat),
      .wr_beat_i(wr_beat), .rd_wait_i(rd_wait), .wr_wait_i(wr_wait), .amount_i(amount),
      .own_wr_valid_o(own_wr_valid), .own_rd_valid_o(), .own_wr_addr_o(own_wr_addr), .own_rd_addr_o(own_rd_addr),
      .own_wr_data_o(own_wr_data), .own_wr_strb_o(own_wr_strb), .own_wr_known_i(own_wr_known),
      .own_rd_data_i(own_rd_data), .own_rd_known_i(own_rd_known)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
