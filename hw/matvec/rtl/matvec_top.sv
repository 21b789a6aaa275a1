// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The matvec accelerator: Groups x Pes processing elements, partial-sum reduction, DRAM ports, control registers.
//
// Control (AXI4-Lite, 32-bit registers):
//   0x00 ID       "RFMV"             0x04 VERSION  1
//   0x08 CONTROL  write bit 0: start; bit 1: reset of the elements (when no transfer is outstanding)
//   0x0c STATUS   bit 0 busy, bit 1 done, bit 2 error
//   0x10 ERROR    bits 3..0 code (vector_pkg), bits 15..8 group * Pes + element
//   0x14 PC       instructions that element had issued
//   0x18, 0x1c    PROGRAM: address of element 0's program (4 KiB aligned)
//   0x20 STRIDE   distance between programs of consecutive elements, in 4 KiB
//   0x24, 0x28    CYCLES from the start write to done
//   0x2c SHAPE    groups, elements, lanes, word width, a byte each
//   0x30 RANGE    least and largest log2 N, banks, multiplier kind, a byte each
// Data: Ports AXI4 masters of Lanes*64 bits at the core clock; element e of group g uses port
//   g * (Ports/Groups) + e mod (Ports/Groups). irq_o is STATUS.done.
// After an error the elements stop, transfers run out, and done is set together with error.
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

  // ---- Registers -----------------------------------------------------------------------------------
  logic wr_valid, start, reset_request;
  logic [11:0] wr_addr, rd_addr;
  logic [31:0] wr_data, rd_data;
  logic [AddrW-1:0] program_q;
  logic [15:0] stride_q;
  logic busy_q, done_q, error_q, pe_reset_q;
  logic [63:0] cycles_q;
  error_e error_code_q;
  logic [7:0] error_pe_q;
  logic [31:0] error_pc_q;

  rf_axil_regs #(.AddrW(12)) u_registers (
      .clk_i, .rst_ni, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid,
      .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid, .s_axil_arready,
      .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .wr_valid_o(wr_valid), .wr_addr_o(wr_addr), .wr_data_o(wr_data), .rd_addr_o(rd_addr), .rd_data_i(rd_data)
  );
  assign start = wr_valid && wr_addr == 12'h008 && wr_data[0] && !busy_q;
  assign reset_request = wr_valid && wr_addr == 12'h008 && wr_data[1];
  assign irq_o = done_q;

  always_comb
    case (rd_addr)
      12'h000: rd_data = 32'h564d4652;
      12'h004: rd_data = 32'd1;
      12'h00c: rd_data = {29'd0, error_q, done_q, busy_q};
      12'h010: rd_data = {16'd0, error_pe_q, 4'd0, error_code_q};
      12'h014: rd_data = error_pc_q;
      12'h018: rd_data = program_q[31:0];
      12'h01c: rd_data = 32'(program_q >> 32);
      12'h020: rd_data = 32'(stride_q);
      12'h024: rd_data = cycles_q[31:0];
      12'h028: rd_data = cycles_q[63:32];
      12'h02c: rd_data = {8'(WordBits), 8'(Lanes), 8'(Pes), 8'(Groups)};
      12'h030: rd_data = {8'(Kind), 8'(Banks), 8'(MaxLogN), 8'(MinLogN)};
      default: rd_data = '0;
    endcase

  // ---- Groups --------------------------------------------------------------------------------------
  logic pe_rst_n, start_q, halt;
  logic [AddrW-1:0] program_addr_q[Groups][Pes];
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

  assign pe_rst_n = rst_ni && !pe_reset_q;
  assign halt = error_q;

  for (genvar g = 0; g < Groups; g++) begin : g_groups
    matvec_group #(
        .W(WordBits), .Lanes(Lanes), .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows),
        .MinLogN(MinLogN), .MaxLogN(MaxLogN), .StreamRows(StreamRows), .BurstRows(BurstRows), .Pes(Pes), .Kind(Kind),
        .Twin(Twin)
    ) u_group (
        .clk_i, .rst_ni(pe_rst_n), .start_i(start_q), .halt_i(halt), .program_i(program_addr_q[g]), .done_o(done[g]),
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
  logic [Ports-1:0] rd_idle, wr_idle, rd_error, wr_error;

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
        .error_o(rd_error[n]), .m_axi_arid(m_axi_arid[n]), .m_axi_araddr(m_axi_araddr[n]),
        .m_axi_arlen(m_axi_arlen[n]), .m_axi_arsize(m_axi_arsize[n]), .m_axi_arburst(m_axi_arburst[n]),
        .m_axi_arvalid(m_axi_arvalid[n]), .m_axi_arready(m_axi_arready[n]), .m_axi_rid(m_axi_rid[n]),
        .m_axi_rdata(m_axi_rdata[n]), .m_axi_rresp(m_axi_rresp[n]), .m_axi_rlast(m_axi_rlast[n]),
        .m_axi_rvalid(m_axi_rvalid[n]), .m_axi_rready(m_axi_rready[n])
    );
    rf_axi_write #(.DataW(DataW), .AddrW(AddrW), .Clients(Share), .MaxBeats(BurstRows)) u_write (
        .clk_i, .rst_ni(pe_rst_n), .req_valid_i(wreq_valid), .req_ready_o(wreq_ready), .req_addr_i(wreq_addr),
        .req_beats_i(wreq_beats), .data_valid_i(wdata_valid), .data_ready_o(wdata_ready), .data_i(wdata),
        .done_o(wdone), .idle_o(wr_idle[n]), .error_o(wr_error[n]), .m_axi_awid(m_axi_awid[n]),
        .m_axi_awaddr(m_axi_awaddr[n]), .m_axi_awlen(m_axi_awlen[n]), .m_axi_awsize(m_axi_awsize[n]),
        .m_axi_awburst(m_axi_awburst[n]), .m_axi_awvalid(m_axi_awvalid[n]), .m_axi_awready(m_axi_awready[n]),
        .m_axi_wdata(m_axi_wdata[n]), .m_axi_wstrb(m_axi_wstrb[n]), .m_axi_wlast(m_axi_wlast[n]),
        .m_axi_wvalid(m_axi_wvalid[n]), .m_axi_wready(m_axi_wready[n]), .m_axi_bid(m_axi_bid[n]),
        .m_axi_bresp(m_axi_bresp[n]), .m_axi_bvalid(m_axi_bvalid[n]), .m_axi_bready(m_axi_bready[n])
    );
  end

  // ---- Run control ---------------------------------------------------------------------------------
  logic all_done, any_error, drained;
  error_e first_error;
  logic [7:0] first_pe;
  logic [31:0] first_pc;

  // A running address instead of multiplications: the chain settles long before start.
  always_ff @(posedge clk_i) begin
    automatic logic [AddrW-1:0] address = program_q;
    for (int unsigned g = 0; g < Groups; g++)
      for (int unsigned p = 0; p < Pes; p++) begin
        program_addr_q[g][p] <= address;
        address = address + (AddrW'(stride_q) << 12);
      end
  end

  always_comb begin
    all_done = 1'b1;
    any_error = 1'b0;
    first_error = ErrNone;
    first_pe = '0;
    first_pc = '0;
    for (int unsigned g = 0; g < Groups; g++)
      for (int unsigned p = 0; p < Pes; p++) begin
        all_done = all_done && done[g][p];
        if (error[g][p] != ErrNone && !any_error) begin
          any_error = 1'b1;
          first_error = error[g][p];
          first_pe = 8'(g * Pes + p);
          first_pc = pc[g][p];
        end
      end
    if (!any_error && ((|rd_error) || (|wr_error))) begin
      any_error = 1'b1;
      first_error = ErrBus;
    end
    drained = (&rd_idle) && (&wr_idle);
  end

  always_ff @(posedge clk_i) begin
    start_q <= start;
    pe_reset_q <= 1'b0;
    if (!rst_ni) begin
      start_q <= 1'b0;
      busy_q <= 1'b0;
      done_q <= 1'b0;
      error_q <= 1'b0;
      cycles_q <= '0;
      error_code_q <= ErrNone;
    end else begin
      if (wr_valid && wr_addr == 12'h018) program_q[31:0] <= wr_data;
      if (wr_valid && wr_addr == 12'h01c) program_q[AddrW-1:32] <= wr_data[AddrW-33:0];
      if (wr_valid && wr_addr == 12'h020) stride_q <= wr_data[15:0];

      if (busy_q) cycles_q <= cycles_q + 1;
      if (start) begin
        busy_q <= 1'b1;
        done_q <= 1'b0;
        cycles_q <= '0;
        pe_reset_q <= 1'b0;
      end else if (busy_q && !start_q) begin
        if (error_q) begin
          // Wait until nothing is in flight, then put the elements back to their initial state.
          if (drained) begin
            busy_q <= 1'b0;
            done_q <= 1'b1;
            pe_reset_q <= 1'b1;
          end
        end else if (any_error) begin
          error_q <= 1'b1;
          error_code_q <= first_error;
          error_pe_q <= first_pe;
          error_pc_q <= first_pc;
        end else if (all_done) begin
          busy_q <= 1'b0;
          done_q <= 1'b1;
        end
      end
      if (start) error_q <= 1'b0;
      if (reset_request && drained && !busy_q) pe_reset_q <= 1'b1;
    end
  end
endmodule
