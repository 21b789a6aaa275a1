// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The matvec accelerator: Groups x Pes processing elements, partial-sum reduction, DRAM ports, control registers.
//
// Control: rf_shell_control (docs/hw/registers.md; ID "RFMV"). SHAPE holds groups, elements of a group, lanes, word width,
//   RANGE least and largest log2 N, banks, multiplier kind, a byte each. Element e of group g is g * Pes + e. Counters:
//   registers.json.
// Data: Ports AXI4 masters of Lanes*64 bits at the core clock; element e of group g uses port
//   g * (Ports/Groups) + e mod (Ports/Groups).
// Ranges: Groups x Pes <= 64; Ports a multiple of Groups, at most Groups * Pes; BurstRows rows take 4 KiB at most.
module matvec_top
  import vector_pkg::*;
#(
    parameter int unsigned Groups = 2,
    parameter int unsigned Pes = 7,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Banks = 3,
    parameter int unsigned BankRows = 4096,
    parameter int unsigned TwiddleRows = 4096,
    parameter int unsigned WordBits = 54,
    parameter int unsigned MinLogN = 8,
    parameter int unsigned MaxLogN = 15,
    parameter int unsigned StreamRows = 512,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned Ports = 4,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    output logic                          irq_o,
    input  logic [       11:0]            s_axil_awaddr,
    input  logic                          s_axil_awvalid,
    output logic                          s_axil_awready,
    input  logic [       31:0]            s_axil_wdata,
    input  logic [        3:0]            s_axil_wstrb,
    input  logic                          s_axil_wvalid,
    output logic                          s_axil_wready,
    output logic [        1:0]            s_axil_bresp,
    output logic                          s_axil_bvalid,
    input  logic                          s_axil_bready,
    input  logic [       11:0]            s_axil_araddr,
    input  logic                          s_axil_arvalid,
    output logic                          s_axil_arready,
    output logic [       31:0]            s_axil_rdata,
    output logic [        1:0]            s_axil_rresp,
    output logic                          s_axil_rvalid,
    input  logic                          s_axil_rready,
    output logic [  Ports-1:0]            m_axi_arid,
    output logic [  Ports-1:0][AddrW-1:0] m_axi_araddr,
    output logic [  Ports-1:0][      7:0] m_axi_arlen,
    output logic [  Ports-1:0][      2:0] m_axi_arsize,
    output logic [  Ports-1:0][      1:0] m_axi_arburst,
    output logic [  Ports-1:0][      3:0] m_axi_arcache,
    output logic [  Ports-1:0][      2:0] m_axi_arprot,
    output logic [  Ports-1:0]            m_axi_arvalid,
    input  logic [  Ports-1:0]            m_axi_arready,
    input  logic [  Ports-1:0]            m_axi_rid,
    input  logic [  Ports-1:0][DataW-1:0] m_axi_rdata,
    input  logic [  Ports-1:0][      1:0] m_axi_rresp,
    input  logic [  Ports-1:0]            m_axi_rlast,
    input  logic [  Ports-1:0]            m_axi_rvalid,
    output logic [  Ports-1:0]            m_axi_rready,
    output logic [  Ports-1:0]            m_axi_awid,
    output logic [  Ports-1:0][AddrW-1:0] m_axi_awaddr,
    output logic [  Ports-1:0][      7:0] m_axi_awlen,
    output logic [  Ports-1:0][      2:0] m_axi_awsize,
    output logic [  Ports-1:0][      1:0] m_axi_awburst,
    output logic [  Ports-1:0][      3:0] m_axi_awcache,
    output logic [  Ports-1:0][      2:0] m_axi_awprot,
    output logic [  Ports-1:0]            m_axi_awvalid,
    input  logic [  Ports-1:0]            m_axi_awready,
    output logic [  Ports-1:0][DataW-1:0] m_axi_wdata,
    output logic [  Ports-1:0][DataW/8-1:0] m_axi_wstrb,
    output logic [  Ports-1:0]            m_axi_wlast,
    output logic [  Ports-1:0]            m_axi_wvalid,
    input  logic [  Ports-1:0]            m_axi_wready,
    input  logic [  Ports-1:0]            m_axi_bid,
    input  logic [  Ports-1:0][      1:0] m_axi_bresp,
    input  logic [  Ports-1:0]            m_axi_bvalid,
    output logic [  Ports-1:0]            m_axi_bready
);
  localparam int unsigned RowBits = MaxLogN - $clog2(Lanes);
  localparam int unsigned PerGroup = Ports / Groups;            // ports of a group
  localparam int unsigned Share = (Pes + PerGroup - 1) / PerGroup;  // elements on a port, at most
  localparam int unsigned Clients = Share * ReadClients;
  localparam int unsigned BurstBits = $clog2(BurstRows + 1);
  localparam int unsigned Elements = Groups * Pes;
  localparam int unsigned Counters = 2;
  localparam int unsigned AmountW = 8;

  if (Groups < 1 || Pes < 1 || Elements > 64) begin : g_bad_groups
    $error("%0d groups of %0d elements are not 1 to 64", Groups, Pes);
  end
  if (Ports < Groups || Ports % Groups != 0 || PerGroup > Pes) begin : g_bad_ports
    $error("%0d ports do not serve %0d groups of %0d elements", Ports, Groups, Pes);
  end
  if (BurstRows < 1 || BurstRows * DataW / 8 > BurstBytes) begin : g_bad_burst_rows
    $error("bursts of %0d rows are empty or longer than %0d bytes", BurstRows, BurstBytes);
  end

  // ---- Groups --------------------------------------------------------------------------------------
  logic pe_rst_n, start, halt;
  logic [AddrW-1:0] program_addr[Groups][Pes];
  logic [Pes-1:0] done[Groups];
  error_e error[Groups][Pes];
  logic [31:0] pc[Groups][Pes];
  request_t rd_req[Groups][Pes][ReadClients];
  logic [ReadClients-1:0] rd_ready[Groups][Pes], rd_valid[Groups][Pes];
  logic [DataW-1:0] rd_row[Groups][Pes];
  request_t wr_req[Groups][Pes];
  logic [Pes-1:0] wr_ready[Groups], wr_row_valid[Groups], wr_row_ready[Groups], wr_ack[Groups];
  logic [DataW-1:0] wr_row[Groups][Pes];
  logic [RowBits:0] rows[Groups];
  logic [Pes-1:0] reduce[Groups], reduce_go, reduce_valid, row_valid[Groups];
  logic [WordBits-1:0] reduce_q[Groups][Pes], sum[Lanes], row[Groups][Pes][Lanes];
  logic [Groups-1:0] at_sync;
  logic sync_go_q;

  for (genvar g = 0; g < Groups; g++) begin : g_groups
    matvec_group #(
        .W(WordBits), .Lanes(Lanes), .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows),
        .MinLogN(MinLogN), .MaxLogN(MaxLogN), .StreamRows(StreamRows), .BurstRows(BurstRows), .Pes(Pes), .Kind(Kind),
        .Twin(Twin)
    ) u_group (
        .clk_i, .rst_ni(pe_rst_n), .start_i(start), .halt_i(halt), .program_i(program_addr[g]), .done_o(done[g]),
        .error_o(error[g]), .pc_o(pc[g]), .rd_req_o(rd_req[g]), .rd_ready_i(rd_ready[g]), .rd_valid_i(rd_valid[g]),
        .rd_data_i(rd_row[g]), .wr_req_o(wr_req[g]), .wr_ready_i(wr_ready[g]), .wr_valid_o(wr_row_valid[g]),
        .wr_data_ready_i(wr_row_ready[g]), .wr_data_o(wr_row[g]), .wr_ack_i(wr_ack[g]), .rows_o(rows[g]),
        .reduce_o(reduce[g]), .reduce_q_o(reduce_q[g]), .reduce_go_i(reduce_go), .reduce_valid_i(reduce_valid),
        .reduce_i(sum), .row_valid_o(row_valid[g]), .row_o(row[g]), .sync_o(at_sync[g]), .sync_go_i(sync_go_q)
    );
  end

  always_ff @(posedge clk_i) sync_go_q <= pe_rst_n && at_sync == '1 && !sync_go_q;

  matvec_reduce #(.W(WordBits), .Lanes(Lanes), .Groups(Groups), .Pes(Pes), .RowBits(RowBits)) u_reduce (
      .clk_i, .rst_ni(pe_rst_n), .rows_i(rows[0]), .req_i(reduce), .q_i(reduce_q[0]), .go_o(reduce_go),
      .row_valid_i(row_valid[0]), .row_i(row), .valid_o(reduce_valid), .sum_o(sum)
  );

  // ---- DRAM ports ----------------------------------------------------------------------------------
  logic [Ports-1:0] rd_idle, wr_idle, rd_error, wr_error, rd_beat, wr_beat, rd_wait, wr_wait;

  for (genvar n = 0; n < Ports; n++) begin : g_ports
    localparam int unsigned G = n / PerGroup;
    localparam int unsigned First = n % PerGroup;
    /* verilator lint_off UNUSEDSIGNAL */  // clients that a port has too many
    logic [Clients-1:0] req_valid, req_ready, rsp_valid;
    logic [AddrW-1:0] req_addr[Clients];
    logic [BurstBits-1:0] req_beats[Clients];
    logic [DataW-1:0] rsp_data;
    logic [Share-1:0] wreq_valid, wreq_ready, wdata_valid, wdata_ready, wdone;
    logic [AddrW-1:0] wreq_addr[Share];
    logic [BurstBits-1:0] wreq_beats[Share];
    logic [DataW-1:0] wdata[Share];
    /* verilator lint_on UNUSEDSIGNAL */

    for (genvar e = 0; e < Share; e++) begin : g_clients
      localparam int unsigned P = First + e * PerGroup;
      if (P < Pes) begin : g_used
        for (genvar c = 0; c < ReadClients; c++) begin : g_read
          assign req_valid[e*ReadClients+c] = rd_req[G][P][c].valid;
          assign req_addr[e*ReadClients+c] = rd_req[G][P][c].addr;
          assign req_beats[e*ReadClients+c] = BurstBits'(rd_req[G][P][c].beats);
        end
        assign rd_ready[G][P] = req_ready[e*ReadClients+:ReadClients];
        assign rd_valid[G][P] = rsp_valid[e*ReadClients+:ReadClients];
        assign rd_row[G][P] = rsp_data;
        assign wreq_valid[e] = wr_req[G][P].valid;
        assign wreq_addr[e] = wr_req[G][P].addr;
        assign wreq_beats[e] = BurstBits'(wr_req[G][P].beats);
        assign wdata_valid[e] = wr_row_valid[G][P];
        assign wdata[e] = wr_row[G][P];
        assign wr_ready[G][P] = wreq_ready[e];
        assign wr_row_ready[G][P] = wdata_ready[e];
        assign wr_ack[G][P] = wdone[e];
      end else begin : g_unused
        for (genvar c = 0; c < ReadClients; c++) begin : g_read
          assign req_valid[e*ReadClients+c] = 1'b0;
          assign req_addr[e*ReadClients+c] = '0;
          assign req_beats[e*ReadClients+c] = '0;
        end
        assign wreq_valid[e] = 1'b0;
        assign wreq_addr[e] = '0;
        assign wreq_beats[e] = '0;
        assign wdata_valid[e] = 1'b0;
        assign wdata[e] = '0;
      end
    end

    rf_axi_read #(.DataW(DataW), .AddrW(AddrW), .Clients(Clients), .MaxBeats(BurstRows)) u_read (
        .clk_i, .rst_ni(pe_rst_n), .req_valid_i(req_valid), .req_ready_o(req_ready), .req_addr_i(req_addr),
        .req_beats_i(req_beats), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data), .idle_o(rd_idle[n]),
        .error_o(rd_error[n]), .beat_o(rd_beat[n]), .wait_o(rd_wait[n]), .m_axi_arid(m_axi_arid[n]),
        .m_axi_araddr(m_axi_araddr[n]), .m_axi_arlen(m_axi_arlen[n]), .m_axi_arsize(m_axi_arsize[n]),
        .m_axi_arburst(m_axi_arburst[n]), .m_axi_arcache(m_axi_arcache[n]), .m_axi_arprot(m_axi_arprot[n]),
        .m_axi_arvalid(m_axi_arvalid[n]), .m_axi_arready(m_axi_arready[n]), .m_axi_rid(m_axi_rid[n]),
        .m_axi_rdata(m_axi_rdata[n]), .m_axi_rresp(m_axi_rresp[n]), .m_axi_rlast(m_axi_rlast[n]),
        .m_axi_rvalid(m_axi_rvalid[n]), .m_axi_rready(m_axi_rready[n])
    );
    rf_axi_write #(.DataW(DataW), .AddrW(AddrW), .Clients(Share), .MaxBeats(BurstRows)) u_write (
        .clk_i, .rst_ni(pe_rst_n), .req_valid_i(wreq_valid), .req_ready_o(wreq_ready), .req_addr_i(wreq_addr),
        .req_beats_i(wreq_beats), .data_valid_i(wdata_valid), .data_ready_o(wdata_ready), .data_i(wdata),
        .done_o(wdone), .idle_o(wr_idle[n]), .error_o(wr_error[n]), .beat_o(wr_beat[n]), .wait_o(wr_wait[n]),
        .m_axi_awid(m_axi_awid[n]), .m_axi_awaddr(m_axi_awaddr[n]), .m_axi_awlen(m_axi_awlen[n]),
        .m_axi_awsize(m_axi_awsize[n]), .m_axi_awburst(m_axi_awburst[n]), .m_axi_awcache(m_axi_awcache[n]),
        .m_axi_awprot(m_axi_awprot[n]), .m_axi_awvalid(m_axi_awvalid[n]), .m_axi_awready(m_axi_awready[n]),
        .m_axi_wdata(m_axi_wdata[n]), .m_axi_wstrb(m_axi_wstrb[n]), .m_axi_wlast(m_axi_wlast[n]),
        .m_axi_wvalid(m_axi_wvalid[n]), .m_axi_wready(m_axi_wready[n]), .m_axi_bid(m_axi_bid[n]),
        .m_axi_bresp(m_axi_bresp[n]), .m_axi_bvalid(m_axi_bvalid[n]), .m_axi_bready(m_axi_bready[n])
    );
  end

  // ---- Control -------------------------------------------------------------------------------------
  logic [Elements-1:0] element_done;
  logic [7:0] element_error[Elements];
  logic [31:0] element_pc[Elements];
  logic [AddrW-1:0] element_program[Elements];
  logic [AmountW-1:0] amount[Counters];

  always_comb
    for (int unsigned g = 0; g < Groups; g++)
      for (int unsigned p = 0; p < Pes; p++) begin
        element_done[g*Pes+p] = done[g][p];
        element_error[g*Pes+p] = 8'(error[g][p]);
        element_pc[g*Pes+p] = pc[g][p];
        program_addr[g][p] = element_program[g*Pes+p];
      end

  always_comb begin
    amount = '{default: '0};
    for (int unsigned e = 0; e < Elements; e++) amount[0] = amount[0] + AmountW'(!element_done[e]);
    for (int unsigned g = 0; g < Groups; g++) amount[1] = amount[1] + AmountW'(at_sync[g]);
  end

  // The machine has no registers of its own.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h564d4652), .AddrW(AddrW), .Elements(Elements), .Ports(Ports), .PortBytes(DataW / 8), .Counters(Counters),
      .AmountW(AmountW)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({8'(WordBits), 8'(Lanes), 8'(Pes), 8'(Groups)}),
      .range_i({8'(Kind), 8'(Banks), 8'(MaxLogN), 8'(MinLogN)}),
      .element_rst_no(pe_rst_n), .start_o(start), .halt_o(halt), .program_o(element_program), .done_i(element_done),
      .error_i(element_error), .pc_i(element_pc), .idle_i(rd_idle & wr_idle), .bus_error_i(rd_error | wr_error),
      .rd_beat_i(rd_beat), .wr_beat_i(wr_beat), .rd_wait_i(rd_wait), .wr_wait_i(wr_wait), .amount_i(amount),
      .own_wr_valid_o(), .own_rd_valid_o(), .own_wr_addr_o(), .own_rd_addr_o(), .own_wr_data_o(), .own_wr_strb_o(),
      .own_wr_known_i(1'b0), .own_rd_data_i('0), .own_rd_known_i(1'b0)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
