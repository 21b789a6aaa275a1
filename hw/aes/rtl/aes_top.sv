// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The aes machine: programs of transforms, products and bit reversals of N words modulo a prime of 31 bits.
//
// Control  rf_shell_control (docs/hw/registers.md; ID "RFAE") and the registers of registers.json, which take whole words
//          and, while a run is under way, none. SHAPE holds the engine and the ports (4 bits each), multiplications begun
//          in a cycle (a byte), words of a wide row; RANGE the link's gap and burst, largest and least log2 N (a byte
//          each). The program is at PROGRAM, INSTRUCTIONS long. PC counts instructions handed to units, and is the index
//          of one in error.
// Data     AXI4 masters of 256 bits at the core clock, as aes_memory has them.
// Ranges   2^MinLogN >= 4 Lanes of the fast engine, 2 Lanes of the published one, and 64

module aes_top
  import aes_pkg::*;
#(
    parameter int unsigned Engine = EngineFast,
    parameter int unsigned Lanes = 256,
    parameter int unsigned Starts = 64,     // of the published engine
    parameter int unsigned Ports = 2,
    parameter int unsigned MinLogN = 12,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned ReadRows = 512,
    parameter int unsigned LinkBurst = 8,
    parameter int unsigned LinkGap = 1,
    parameter bit Twin = 1'b0
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        irq_o,
    input  logic [11:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [3:0]  s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [1:0]  s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [11:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0]  s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic [Ports-1:0]                      m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0]           m_axi_araddr,
    output logic [Ports-1:0][7:0]                 m_axi_arlen,
    output logic [Ports-1:0][2:0]                 m_axi_arsize,
    output logic [Ports-1:0][1:0]                 m_axi_arburst,
    output logic [Ports-1:0][3:0]                 m_axi_arcache,
    output logic [Ports-1:0][2:0]                 m_axi_arprot,
    output logic [Ports-1:0]                      m_axi_arvalid,
    input  logic [Ports-1:0]                      m_axi_arready,
    input  logic [Ports-1:0]                      m_axi_rid,
    input  logic [Ports-1:0][NarrowW-1:0]         m_axi_rdata,
    input  logic [Ports-1:0][1:0]                 m_axi_rresp,
    input  logic [Ports-1:0]                      m_axi_rlast,
    input  logic [Ports-1:0]                      m_axi_rvalid,
    output logic [Ports-1:0]                      m_axi_rready,
    output logic [Ports-1:0]                      m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0]           m_axi_awaddr,
    output logic [Ports-1:0][7:0]                 m_axi_awlen,
    output logic [Ports-1:0][2:0]                 m_axi_awsize,
    output logic [Ports-1:0][1:0]                 m_axi_awburst,
    output logic [Ports-1:0][3:0]                 m_axi_awcache,
    output logic [Ports-1:0][2:0]                 m_axi_awprot,
    output logic [Ports-1:0]                      m_axi_awvalid,
    input  logic [Ports-1:0]                      m_axi_awready,
    output logic [Ports-1:0][NarrowW-1:0]         m_axi_wdata,
    output logic [Ports-1:0][NarrowW/8-1:0]       m_axi_wstrb,
    output logic [Ports-1:0]                      m_axi_wlast,
    output logic [Ports-1:0]                      m_axi_wvalid,
    input  logic [Ports-1:0]                      m_axi_wready,
    input  logic [Ports-1:0]                      m_axi_bid,
    input  logic [Ports-1:0][1:0]                 m_axi_bresp,
    input  logic [Ports-1:0]                      m_axi_bvalid,
    output logic [Ports-1:0]                      m_axi_bready
);
  localparam int unsigned RowW = MaxLogN - $clog2(Lanes);
  localparam int unsigned NarrowRowW = MaxLogN - $clog2(NarrowWords);
  localparam int unsigned CountW = NarrowRowW + 1;
  localparam int unsigned Counters = Units;
  localparam bit Paper = Engine == EnginePaper;

  if (Engine > EngineFast || Ports < 1 || Ports > 2 || Lanes < 8 || Lanes > 256 || 2 ** $clog2(Lanes) != Lanes) begin : g_shape
    $error("aes_top: engine 0 or 1, 1 or 2 ports, and rows of 8 to 256 words, a power of two");
  end
  if (MinLogN < 6 || MinLogN > MaxLogN || MaxLogN > 16 || (1 << MinLogN) < (Paper ? 2 : 4) * Lanes) begin : g_degree
    $error("aes_top: transforms have 64 words and 4 wide rows (the published engine's 2) at least, and 2^16 words at most");
  end

  // ---- Registers of its own ------------------------------------------------------------------------
  localparam int unsigned Registers = 2;

  logic        own_wr_valid, own_wr_known, own_rd_known, running_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the shell gives addresses of bytes
  logic [11:0] own_wr_addr, own_rd_addr;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] own_wr_data, own_rd_data, log_n_q, instructions_q;
  logic [3:0]  own_wr_strb;

  logic        element_rst_n, start, halt, done, run, degree_bad, issue_idle;

  // A write in the cycle of the start would come after the run has looked at the length.
  assign own_rd_known = own_rd_addr[11:2] < 10'(64 + Registers);
  assign own_rd_data = own_rd_known ? (own_rd_addr[2] ? instructions_q : log_n_q) : '0;
  assign own_wr_known = own_wr_addr[11:2] < 10'(64 + Registers) && own_wr_strb == '1 && !running_q && !start;

  always_ff @(posedge clk_i)
    if (own_wr_valid && own_wr_known) begin
      if (own_wr_addr[2]) instructions_q <= own_wr_data;
      else log_n_q <= own_wr_data;
    end

  // ---- The element: it starts when the length is one that it takes ------------------------------------
  logic [AddrW-1:0] program_addr [1];
  logic [7:0]       error, issue_error, degree_error_q;
  logic [31:0]      pc;
  logic [4:0]       log_n;

  assign degree_bad = log_n_q < 32'(MinLogN) || log_n_q > 32'(MaxLogN);
  assign run = start && !degree_bad;
  assign log_n = log_n_q[4:0];

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
  logic               fetch_valid, fetch_ready, fetch_row_valid, fetch_row_ready;
  logic [NarrowW-1:0] fetch_row;
  logic [Units-1:0]   cmd_valid, cmd_ready, unit_done, busy;
  instr_t             cmd [Units];

  aes_issue #(
      .Engine(Engine), .Ports(Ports)
  ) u_issue (
      .clk_i, .rst_ni(element_rst_n), .start_i(run), .halt_i(halt), .log_n_i(log_n), .instructions_i(instructions_q),
      .req_valid_o(fetch_valid), .req_ready_i(fetch_ready), .row_valid_i(fetch_row_valid),
      .row_ready_o(fetch_row_ready), .row_i(fetch_row), .cmd_valid_o(cmd_valid), .cmd_ready_i(cmd_ready),
      .cmd_o(cmd), .done_i(unit_done), .idle_o(issue_idle), .error_o(issue_error), .pc_o(pc)
  );

  // ---- Words on chip -------------------------------------------------------------------------------
  logic [1:0]            x_re;
  logic [1:0][1:0]       x_rbuf;
  logic [1:0][RowW-1:0]  x_rrow;
  logic [WordW-1:0]      x_rdata [2][Lanes];
  logic                  x_we, s_re, k_re, k_slot;
  logic [1:0]            x_wbuf, s_slot;
  logic [RowW-1:0]       x_wrow, k_row;
  logic [Lanes-1:0]      x_wmask;
  logic [WordW-1:0]      x_wdata [Lanes];
  logic [RowW-2:0]       s_row;
  logic [WordW-1:0]      s_rdata [Lanes];
  logic [WordW-1:0]      k_rdata [Lanes];

  logic                  move_s_re, move_x_re, move_x_we;
  logic [1:0]            move_s_slot, move_x_rbuf, move_x_wbuf;
  logic [NarrowRowW-2:0] move_s_row;
  logic [NarrowRowW-1:0] move_x_rrow, move_x_wrow;
  logic [WordW-1:0]      move_s_rdata [NarrowWords];
  logic [WordW-1:0]      move_x_rdata [NarrowWords];
  logic [WordW-1:0]      move_x_wdata [NarrowWords];

  logic                  load_s_we, load_x_we, load_k_we, load_k_slot, t_we, c_we, t_set, t_inverse;
  logic [1:0]            load_s_slot, load_x_buf;
  logic [NarrowRowW-2:0] load_s_row, t_index;
  logic [NarrowRowW-1:0] load_x_row, load_k_row;
  logic [WordW-1:0]      load_s_wdata [NarrowWords];
  logic [WordW-1:0]      load_x_wdata [NarrowWords];
  logic [WordW-1:0]      load_k_wdata [NarrowWords];
  logic [WordW-1:0]      t_wdata [NarrowWords];

  logic                  store_re;
  logic [1:0]            store_buf;
  logic [NarrowRowW-1:0] store_row;
  logic [WordW-1:0]      store_rdata [NarrowWords];

  aes_memories #(
      .Lanes(Lanes), .MaxLogN(MaxLogN), .Packed(!Twin)
  ) u_memories (
      .clk_i, .rst_ni(element_rst_n), .x_re_i(x_re), .x_rbuf_i(x_rbuf), .x_rrow_i(x_rrow), .x_rdata_o(x_rdata),
      .x_we_i(x_we), .x_wbuf_i(x_wbuf), .x_wrow_i(x_wrow), .x_wmask_i(x_wmask), .x_wdata_i(x_wdata), .s_re_i(s_re),
      .s_slot_i(s_slot), .s_row_i(s_row), .s_rdata_o(s_rdata), .k_re_i(k_re), .k_slot_i(k_slot), .k_row_i(k_row),
      .k_rdata_o(k_rdata), .move_s_re_i(move_s_re), .move_s_slot_i(move_s_slot), .move_s_row_i(move_s_row),
      .move_s_rdata_o(move_s_rdata), .move_x_re_i(move_x_re), .move_x_rbuf_i(move_x_rbuf),
      .move_x_rrow_i(move_x_rrow), .move_x_rdata_o(move_x_rdata), .move_x_we_i(move_x_we),
      .move_x_wbuf_i(move_x_wbuf), .move_x_wrow_i(move_x_wrow), .move_x_wdata_i(move_x_wdata),
      .load_s_we_i(load_s_we), .load_s_slot_i(load_s_slot), .load_s_row_i(load_s_row), .load_s_wdata_i(load_s_wdata),
      .load_x_we_i(load_x_we), .load_x_buf_i(load_x_buf), .load_x_row_i(load_x_row), .load_x_wdata_i(load_x_wdata),
      .load_k_we_i(load_k_we), .load_k_slot_i(load_k_slot), .load_k_row_i(load_k_row), .load_k_wdata_i(load_k_wdata),
      .store_re_i(store_re), .store_buf_i(store_buf), .store_row_i(store_row), .store_rdata_o(store_rdata)
  );

  // ---- EXEC and MOVE -------------------------------------------------------------------------------
  if (Paper) begin : g_paper
    aes_paper #(
        .Lanes(Lanes), .MaxLogN(MaxLogN), .MinLogN(MinLogN), .Starts(Starts)
    ) u_engine (
        .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[UnitExec]),
        .cmd_ready_o(cmd_ready[UnitExec]), .cmd_i(cmd[UnitExec]), .done_o(unit_done[UnitExec]),
        .busy_o(busy[UnitExec]), .x_re_o(x_re), .x_rbuf_o(x_rbuf), .x_rrow_o(x_rrow), .x_rdata_i(x_rdata),
        .x_we_o(x_we), .x_wbuf_o(x_wbuf), .x_wrow_o(x_wrow), .x_wmask_o(x_wmask), .x_wdata_o(x_wdata), .s_re_o(s_re),
        .s_slot_o(s_slot), .s_row_o(s_row), .s_rdata_i(s_rdata), .k_re_o(k_re), .k_slot_o(k_slot), .k_row_o(k_row),
        .k_rdata_i(k_rdata), .t_we_i(t_we), .t_set_i(t_set), .t_inverse_i(t_inverse), .t_index_i(t_index),
        .c_we_i(c_we), .t_wdata_i(t_wdata)
    );

    aes_rev #(
        .MaxLogN(MaxLogN)
    ) u_rev (
        .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[UnitMove]),
        .cmd_ready_o(cmd_ready[UnitMove]), .cmd_i(cmd[UnitMove]), .done_o(unit_done[UnitMove]),
        .busy_o(busy[UnitMove]), .s_re_o(move_s_re), .s_slot_o(move_s_slot), .s_row_o(move_s_row),
        .s_rdata_i(move_s_rdata), .x_re_o(move_x_re), .x_rbuf_o(move_x_rbuf), .x_rrow_o(move_x_rrow),
        .x_rdata_i(move_x_rdata), .x_we_o(move_x_we), .x_wbuf_o(move_x_wbuf), .x_wrow_o(move_x_wrow),
        .x_wdata_o(move_x_wdata)
    );
  end else begin : g_fast
    aes_fast #(
        .Lanes(Lanes), .MaxLogN(MaxLogN), .MinLogN(MinLogN), .Twin(Twin)
    ) u_engine (
        .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[UnitExec]),
        .cmd_ready_o(cmd_ready[UnitExec]), .cmd_i(cmd[UnitExec]), .done_o(unit_done[UnitExec]),
        .busy_o(busy[UnitExec]), .x_re_o(x_re), .x_rbuf_o(x_rbuf), .x_rrow_o(x_rrow), .x_rdata_i(x_rdata),
        .x_we_o(x_we), .x_wbuf_o(x_wbuf), .x_wrow_o(x_wrow), .x_wmask_o(x_wmask), .x_wdata_o(x_wdata), .s_re_o(s_re),
        .s_slot_o(s_slot), .s_row_o(s_row), .s_rdata_i(s_rdata), .k_re_o(k_re), .k_slot_o(k_slot), .k_row_o(k_row),
        .k_rdata_i(k_rdata), .t_we_i(t_we), .t_set_i(t_set), .t_inverse_i(t_inverse), .t_index_i(t_index),
        .c_we_i(c_we), .t_wdata_i(t_wdata)
    );

    // Its transforms need no other order, so nothing is moved.
    assign cmd_ready[UnitMove] = 1'b0;
    assign unit_done[UnitMove] = 1'b0;
    assign busy[UnitMove] = 1'b0;
    assign move_s_re = 1'b0;
    assign move_s_slot = '0;
    assign move_s_row = '0;
    assign move_x_re = 1'b0;
    assign move_x_rbuf = '0;
    assign move_x_rrow = '0;
    assign move_x_we = 1'b0;
    assign move_x_wbuf = '0;
    assign move_x_wrow = '0;
    assign move_x_wdata = '{default: '0};

    logic unused;
    always_comb begin
      unused = ^{cmd_valid[UnitMove], cmd[UnitMove]};
      for (int unsigned l = 0; l < NarrowWords; l++) unused ^= ^{move_s_rdata[l], move_x_rdata[l]};
    end
  end

  // ---- LOAD and STORE ------------------------------------------------------------------------------
  logic [Ports-1:0]              rd_valid, rd_ready, row_valid, row_ready;
  logic [Ports-1:0][AddrW-1:0]   rd_addr;
  logic [Ports-1:0][CountW-1:0]  rd_rows;
  logic [Ports-1:0][NarrowW-1:0] row;
  logic                          wr_valid, wr_ready, wr_port, wr_row_valid, wr_row_ready, wr_acked;
  logic [AddrW-1:0]              wr_addr;
  logic [CountW-1:0]             wr_rows;
  logic [NarrowW-1:0]            wr_row;

  aes_load #(
      .Ports(Ports), .MaxLogN(MaxLogN)
  ) u_load (
      .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[UnitLoad]),
      .cmd_ready_o(cmd_ready[UnitLoad]), .cmd_i(cmd[UnitLoad]), .done_o(unit_done[UnitLoad]), .busy_o(busy[UnitLoad]),
      .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_addr_o(rd_addr), .rd_rows_o(rd_rows),
      .row_valid_i(row_valid), .row_ready_o(row_ready), .row_i(row), .s_we_o(load_s_we), .s_slot_o(load_s_slot),
      .s_row_o(load_s_row), .s_wdata_o(load_s_wdata), .x_we_o(load_x_we), .x_buf_o(load_x_buf),
      .x_row_o(load_x_row), .x_wdata_o(load_x_wdata), .k_we_o(load_k_we), .k_slot_o(load_k_slot),
      .k_row_o(load_k_row), .k_wdata_o(load_k_wdata), .t_we_o(t_we), .c_we_o(c_we), .t_set_o(t_set),
      .t_inverse_o(t_inverse), .t_index_o(t_index), .t_wdata_o(t_wdata)
  );

  aes_store #(
      .MaxLogN(MaxLogN)
  ) u_store (
      .clk_i, .rst_ni(element_rst_n), .log_n_i(log_n), .cmd_valid_i(cmd_valid[UnitStore]),
      .cmd_ready_o(cmd_ready[UnitStore]), .cmd_i(cmd[UnitStore]), .done_o(unit_done[UnitStore]),
      .busy_o(busy[UnitStore]), .x_re_o(store_re), .x_buf_o(store_buf), .x_row_o(store_row), .x_rdata_i(store_rdata),
      .wr_valid_o(wr_valid), .wr_ready_i(wr_ready), .wr_port_o(wr_port), .wr_addr_o(wr_addr), .wr_rows_o(wr_rows),
      .wr_row_valid_o(wr_row_valid), .wr_row_ready_i(wr_row_ready), .wr_row_o(wr_row), .wr_acked_i(wr_acked)
  );

  // ---- The ports -----------------------------------------------------------------------------------
  logic [Ports-1:0] port_idle, port_error, rd_beat, wr_beat, rd_wait, wr_wait;

  aes_memory #(
      .Ports(Ports), .MaxLogN(MaxLogN), .BurstRows(BurstRows), .ReadRows(ReadRows), .LinkBurst(LinkBurst),
      .LinkGap(LinkGap)
  ) u_memory (
      .clk_i, .rst_ni(element_rst_n), .halt_i(halt), .fetch_valid_i(fetch_valid), .fetch_ready_o(fetch_ready),
      .fetch_addr_i(program_addr[0]), .fetch_rows_i(instructions_q), .fetch_row_valid_o(fetch_row_valid),
      .fetch_row_ready_i(fetch_row_ready), .fetch_row_o(fetch_row), .rd_valid_i(rd_valid), .rd_ready_o(rd_ready),
      .rd_addr_i(rd_addr), .rd_rows_i(rd_rows), .row_valid_o(row_valid), .row_ready_i(row_ready), .row_o(row),
      .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_port_i(wr_port), .wr_addr_i(wr_addr), .wr_rows_i(wr_rows),
      .wr_row_valid_i(wr_row_valid), .wr_row_ready_o(wr_row_ready), .wr_row_i(wr_row), .wr_acked_o(wr_acked),
      .idle_o(port_idle), .error_o(port_error), .rd_beat_o(rd_beat), .wr_beat_o(wr_beat), .rd_wait_o(rd_wait),
      .wr_wait_o(wr_wait),
      .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache, .m_axi_arprot,
      .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid,
      .m_axi_rready, .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awcache,
      .m_axi_awprot, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid,
      .m_axi_wready, .m_axi_bid, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready
  );

  // ---- Control -------------------------------------------------------------------------------------
  logic [7:0] amount [Counters];
  always_comb for (int unsigned u = 0; u < Units; u++) amount[u] = 8'(busy[u]);

  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h45414652), .AddrW(AddrW), .Elements(1), .Ports(Ports), .PortBytes(NarrowW / 8), .Counters(Counters)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({4'(Engine), 4'(Ports), 8'(Starts), 16'(Lanes)}),
      .range_i({8'(LinkGap), 8'(LinkBurst), 8'(MaxLogN), 8'(MinLogN)}),
      .element_rst_no(element_rst_n), .start_o(start), .halt_o(halt), .program_o(program_addr), .done_i(done),
      .error_i('{error}), .pc_i('{pc}), .idle_i(port_idle), .bus_error_i(port_error), .rd_beat_i(rd_beat),
      .wr_beat_i(wr_beat), .rd_wait_i(rd_wait), .wr_wait_i(wr_wait), .amount_i(amount),
      .own_wr_valid_o(own_wr_valid), .own_rd_valid_o(), .own_wr_addr_o(own_wr_addr), .own_rd_addr_o(own_rd_addr),
      .own_wr_data_o(own_wr_data), .own_wr_strb_o(own_wr_strb), .own_wr_known_i(own_wr_known),
      .own_rd_data_i(own_rd_data), .own_rd_known_i(own_rd_known)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
