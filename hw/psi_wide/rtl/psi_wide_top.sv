// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The psi_wide machine: RLWE x RGSW products, substitutions and sums of plain rows, everything in Eval form on chip.
//
// Control: rf_shell_control (docs/hw/registers.md; ID "RFPW") and the registers of registers.json, which take whole words
//   only, and none while a run lasts. SHAPE holds lanes, slots less 1, key rows less 1, word width, RANGE least and largest log2 N, multiplier kind, a
//   byte each. The program is at PROGRAM, INSTRUCTIONS long. PC counts instructions started.
// Data: one AXI4 master of 512 bits at the core clock: the program, and what instructions load and store.
// Ranges: MinLogN is MaxLogN or one less; 32 lines at least in the smallest polynomial; N at most 2,048.
module psi_wide_top
  import psi_wide_pkg::*;
#(
    parameter int unsigned WordBits = 27,
    parameter int unsigned Lanes = 16,
    parameter int unsigned MinLogN = 9,
    parameter int unsigned MaxLogN = 10,
    parameter int unsigned Slots = 16,
    parameter int unsigned KeyRows = 16,
    parameter int unsigned Polys = 8,
    parameter int unsigned LoadBeats = 32,
    parameter int unsigned StoreBeats = 16,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned Ports = 1
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    output logic                        irq_o,
    input  logic [11:0]                 s_axil_awaddr,
    input  logic                        s_axil_awvalid,
    output logic                        s_axil_awready,
    input  logic [31:0]                 s_axil_wdata,
    input  logic [3:0]                  s_axil_wstrb,
    input  logic                        s_axil_wvalid,
    output logic                        s_axil_wready,
    output logic [1:0]                  s_axil_bresp,
    output logic                        s_axil_bvalid,
    input  logic                        s_axil_bready,
    input  logic [11:0]                 s_axil_araddr,
    input  logic                        s_axil_arvalid,
    output logic                        s_axil_arready,
    output logic [31:0]                 s_axil_rdata,
    output logic [1:0]                  s_axil_rresp,
    output logic                        s_axil_rvalid,
    input  logic                        s_axil_rready,
    output logic [Ports-1:0]            m_axi_arid,
    output logic [Ports-1:0][AddrW-1:0] m_axi_araddr,
    output logic [Ports-1:0][7:0]       m_axi_arlen,
    output logic [Ports-1:0][2:0]       m_axi_arsize,
    output logic [Ports-1:0][1:0]       m_axi_arburst,
    output logic [Ports-1:0][3:0]       m_axi_arcache,
    output logic [Ports-1:0][2:0]       m_axi_arprot,
    output logic [Ports-1:0]            m_axi_arvalid,
    input  logic [Ports-1:0]            m_axi_arready,
    input  logic [Ports-1:0]            m_axi_rid,
    input  logic [Ports-1:0][PortW-1:0] m_axi_rdata,
    input  logic [Ports-1:0][1:0]       m_axi_rresp,
    input  logic [Ports-1:0]            m_axi_rlast,
    input  logic [Ports-1:0]            m_axi_rvalid,
    output logic [Ports-1:0]            m_axi_rready,
    output logic [Ports-1:0]            m_axi_awid,
    output logic [Ports-1:0][AddrW-1:0] m_axi_awaddr,
    output logic [Ports-1:0][7:0]       m_axi_awlen,
    output logic [Ports-1:0][2:0]       m_axi_awsize,
    output logic [Ports-1:0][1:0]       m_axi_awburst,
    output logic [Ports-1:0][3:0]       m_axi_awcache,
    output logic [Ports-1:0][2:0]       m_axi_awprot,
    output logic [Ports-1:0]            m_axi_awvalid,
    input  logic [Ports-1:0]            m_axi_awready,
    output logic [Ports-1:0][PortW-1:0] m_axi_wdata,
    output logic [Ports-1:0][PortW/8-1:0] m_axi_wstrb,
    output logic [Ports-1:0]            m_axi_wlast,
    output logic [Ports-1:0]            m_axi_wvalid,
    input  logic [Ports-1:0]            m_axi_wready,
    input  logic [Ports-1:0]            m_axi_bid,
    input  logic [Ports-1:0][1:0]       m_axi_bresp,
    input  logic [Ports-1:0]            m_axi_bvalid,
    output logic [Ports-1:0]            m_axi_bready
);
  localparam int unsigned FetchBeats = 4;
  localparam int unsigned ReadBeats = LoadBeats > FetchBeats ? LoadBeats : FetchBeats;
  localparam int unsigned ReadBeatsW = $clog2(ReadBeats + 1);
  localparam int unsigned StoreBeatsW = $clog2(StoreBeats + 1);
  localparam int unsigned Counters = 4;
  localparam int unsigned Registers = 12;

  if (MinLogN > MaxLogN || MinLogN + 1 < MaxLogN || MaxLogN >= ElementW || MinLogN < 5 + $clog2(Lanes)) begin : g_degree
    $error("psi_wide_top: MinLogN must be MaxLogN or one less, polynomials of 32 lines at least, of 2,048 at most");
  end
  if (Lanes < 8 || Lanes > 32 || (Lanes & (Lanes - 1)) != 0) begin : g_lanes
    $error("psi_wide_top: Lanes must be 8, 16 or 32");
  end
  if (WordBits < 18 || WordBits > 62) begin : g_width
    $error("psi_wide_top: WordBits must be between 18 and 62");
  end

  // ---- Registers of its own ------------------------------------------------------------------------
  localparam int unsigned RegModulus = 0, RegBarrett = 2, RegLogN = 4, RegShift = 5, RegScalar = 6;
  localparam int unsigned RegInstructions = 8, RegOffset = 9, RegGadget = 11;

  logic        own_wr_valid, own_wr_known, own_rd_known, start, running_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the shell gives addresses of bytes
  logic [11:0] own_wr_addr, own_rd_addr;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] own_wr_data, own_rd_data, own_q[16];
  logic [3:0]  own_wr_strb;
  gadget_t     gadget_q[1 << GadgetW];

  // Registers hold while a run lasts.
  assign own_wr_known = own_wr_addr[11:2] < 10'(64 + Registers) && own_wr_strb == '1 && !start && !running_q;
  assign own_rd_known = own_rd_addr[11:2] < 10'(64 + Registers);
  assign own_rd_data = own_rd_known ? own_q[own_rd_addr[5:2]] : '0;

  always_ff @(posedge clk_i) begin
    if (own_wr_valid && own_wr_known) begin
      own_q[own_wr_addr[5:2]] <= own_wr_data;
      if (own_wr_addr[5:2] == 4'(RegGadget)) begin
        gadget_q[own_wr_data[31:28]] <= '{offset: {own_q[RegOffset+1], own_q[RegOffset]}, balanced: own_wr_data[24],
                                          drop: own_wr_data[21:16], count: own_wr_data[12:8],
                                          log_base: own_wr_data[4:0]};
      end
    end
  end

  // ---- The element: it starts when the degree is one that it takes -----------------------------------
  logic             element_rst_n, halt, done, run, short_q, fetch_end, core_idle;
  logic [AddrW-1:0] program_addr[1];
  logic [7:0]       error, core_error, degree_error_q;
  logic [31:0]      issued;
  logic             degree_bad, waiting, transforming, gathering;
  logic [2:0]       shift_q;
  logic [WordBits-1:0] q_q, scalar_q;
  logic [63:0]      k_q;

  assign degree_bad = own_q[RegLogN] < 32'(MinLogN) || own_q[RegLogN] > 32'(MaxLogN) || own_q[RegShift] > 32'd7;
  assign run = start && !degree_bad;

  always_ff @(posedge clk_i) begin
    if (!element_rst_n) begin
      running_q <= 1'b0;
      degree_error_q <= ErrorNone;
    end else if (start) begin
      running_q <= run;
      degree_error_q <= degree_bad ? ErrorDegree : ErrorNone;
    end else if (done) begin
      running_q <= 1'b0;
    end
    if (start) begin
      short_q <= own_q[RegLogN] != 32'(MaxLogN);
      shift_q <= own_q[RegShift][2:0];
      q_q <= WordBits'({own_q[RegModulus+1], own_q[RegModulus]}) << own_q[RegShift][2:0];
      k_q <= {own_q[RegBarrett+1], own_q[RegBarrett]};
      scalar_q <= WordBits'({own_q[RegScalar+1], own_q[RegScalar]});
    end
  end

  assign error = degree_error_q != ErrorNone ? degree_error_q : core_error;
  assign done = error == ErrorNone && (!running_q || (fetch_end && core_idle));

  logic              fetch_req, fetch_grant, load_req, load_grant, store_req, store_grant;
  logic [AddrW-1:0]  read_addr[2], store_addr;
  logic [ReadBeatsW-1:0] read_beats[2];
  logic [$clog2(FetchBeats+1)-1:0] fetch_beats;
  logic [$clog2(LoadBeats+1)-1:0] load_beats;
  logic [StoreBeatsW-1:0] store_beats;
  logic [1:0]        rsp_valid;
  logic [PortW-1:0]  rsp_data, store_data;
  logic              valid, ready, store_valid, store_ready, store_ack;
  instruction_t      instruction;

  psi_wide_fetch #(.MaxBeats(FetchBeats)) u_fetch (
      .clk_i, .rst_ni(element_rst_n), .start_i(run), .halt_i(halt), .program_i(program_addr[0]),
      .instructions_i(own_q[RegInstructions]), .req_valid_o(fetch_req), .req_ready_i(fetch_grant),
      .req_addr_o(read_addr[0]), .req_beats_o(fetch_beats), .rsp_valid_i(rsp_valid[0]), .rsp_data_i(rsp_data),
      .valid_o(valid), .ready_i(ready), .instruction_o(instruction), .end_o(fetch_end)
  );

  psi_wide_core #(
      .W(WordBits), .Lanes(Lanes), .MaxLogN(MaxLogN), .Slots(Slots), .Rows(KeyRows), .Polys(Polys),
      .LoadBeats(LoadBeats), .StoreBeats(StoreBeats), .Kind(Kind), .Twin(Twin)
  ) u_core (
      .clk_i, .rst_ni(element_rst_n), .start_i(run), .halt_i(halt), .short_i(short_q), .shift_i(shift_q), .q_i(q_q),
      .k_i(k_q), .scalar_i(scalar_q), .gadget_i(gadget_q), .valid_i(valid), .ready_o(ready),
      .instruction_i(instruction), .idle_o(core_idle), .error_o(core_error), .count_o(issued), .waiting_o(waiting),
      .transforming_o(transforming), .gathering_o(gathering), .load_valid_o(load_req), .load_ready_i(load_grant),
      .load_addr_o(read_addr[1]), .load_beats_o(load_beats), .load_rsp_valid_i(rsp_valid[1]),
      .load_rsp_data_i(rsp_data), .store_valid_o(store_req), .store_ready_i(store_grant), .store_addr_o(store_addr),
      .store_beats_o(store_beats), .store_data_valid_o(store_valid), .store_data_ready_i(store_ready),
      .store_data_o(store_data), .store_ack_i(store_ack)
  );
  assign read_beats[0] = ReadBeatsW'(fetch_beats);
  assign read_beats[1] = ReadBeatsW'(load_beats);

  // ---- The port ------------------------------------------------------------------------------------
  logic rd_idle, wr_idle, rd_error, wr_error, rd_beat, wr_beat, rd_wait, wr_wait;

  rf_axi_read #(.DataW(PortW), .AddrW(AddrW), .Clients(2), .MaxBeats(ReadBeats)) u_read (
      .clk_i, .rst_ni(element_rst_n), .req_valid_i({load_req, fetch_req}), .req_ready_o({load_grant, fetch_grant}),
      .req_addr_i(read_addr), .req_beats_i(read_beats), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data),
      .idle_o(rd_idle), .error_o(rd_error), .beat_o(rd_beat), .wait_o(rd_wait), .m_axi_arid, .m_axi_araddr,
      .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache, .m_axi_arprot, .m_axi_arvalid, .m_axi_arready,
      .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid, .m_axi_rready
  );
  rf_axi_write #(.DataW(PortW), .AddrW(AddrW), .Clients(1), .MaxBeats(StoreBeats)) u_write (
      .clk_i, .rst_ni(element_rst_n), .req_valid_i(store_req), .req_ready_o(store_grant), .req_addr_i('{store_addr}),
      .req_beats_i('{store_beats}), .data_valid_i(store_valid), .data_ready_o(store_ready), .data_i('{store_data}),
      .done_o(store_ack), .idle_o(wr_idle), .error_o(wr_error), .beat_o(wr_beat), .wait_o(wr_wait), .m_axi_awid,
      .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awcache, .m_axi_awprot, .m_axi_awvalid,
      .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp,
      .m_axi_bvalid, .m_axi_bready
  );

  // ---- Control -------------------------------------------------------------------------------------
  logic [7:0] amount[Counters];
  always_comb amount = '{8'(transforming), 8'(gathering), 8'(waiting), 8'(running_q && !valid && !fetch_end)};

  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h57504652), .AddrW(AddrW), .Elements(1), .Ports(1), .PortBytes(PortW / 8), .Counters(Counters)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({8'(WordBits), 8'(KeyRows - 1), 8'(Slots - 1), 8'(Lanes)}),
      .range_i({8'd0, 8'(Kind), 8'(MaxLogN), 8'(MinLogN)}), .element_rst_no(element_rst_n), .start_o(start),
      .halt_o(halt), .program_o(program_addr), .done_i(done), .error_i('{error}), .pc_i('{issued}),
      .idle_i(rd_idle && wr_idle), .bus_error_i(rd_error || wr_error), .rd_beat_i(rd_beat), .wr_beat_i(wr_beat),
      .rd_wait_i(rd_wait), .wr_wait_i(wr_wait), .amount_i(amount), .own_wr_valid_o(own_wr_valid), .own_rd_valid_o(),
      .own_wr_addr_o(own_wr_addr), .own_rd_addr_o(own_rd_addr), .own_wr_data_o(own_wr_data),
      .own_wr_strb_o(own_wr_strb), .own_wr_known_i(own_wr_known), .own_rd_data_i(own_rd_data),
      .own_rd_known_i(own_rd_known)
  );
  /* verilator lint_on PINCONNECTEMPTY */

endmodule
