// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The FHEW accelerator with the published machine's interfaces: psi_top with a host's window to memory and FIFOs
// (psi_window) in place of the queue.
//
// Control  as psi_top. Runs are polled: the host writes INSTRUCTION, FINISH; other commands are error 3. RLWEs go
//          through the windows while a run goes on.
// Data     AXI4 masters of 512 bits at the core clock: port 0 reads keys; port 1 is the window's to memory.
// Ranges   as psi_top
module psi_f1_top
  import psi_pkg::*;
#(
    parameter int unsigned W = 27,
    parameter int unsigned Lanes = 4,
    parameter int unsigned MinLogN = 10,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned Intts = 4,
    parameter int unsigned Drain = 13,
    parameter bit          KeyPauses = 1'b1,
    parameter int unsigned KeyRows = 8,
    parameter int unsigned InputSlots = 4,
    parameter int unsigned LoopSlots = 16,
    parameter int unsigned OutputSlots = 2,
    parameter int unsigned Reorder = 8,
    parameter int unsigned Ports = 2,
    parameter int unsigned IdW = 6,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter int unsigned MontgomeryWord = 11,
    parameter bit          Twin = 1'b0,
    localparam int unsigned DataW = PortW
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
    input  logic [IdW-1:0]                  s_axi_awid,
    input  logic [AddrW-1:0]                s_axi_awaddr,
    input  logic [7:0]                      s_axi_awlen,
    input  logic [2:0]                      s_axi_awsize,
    input  logic [1:0]                      s_axi_awburst,
    input  logic                            s_axi_awvalid,
    output logic                            s_axi_awready,
    input  logic [PortW-1:0]                s_axi_wdata,
    input  logic [PortW/8-1:0]              s_axi_wstrb,
    input  logic                            s_axi_wlast,
    input  logic                            s_axi_wvalid,
    output logic                            s_axi_wready,
    output logic [IdW-1:0]                  s_axi_bid,
    output logic [1:0]                      s_axi_bresp,
    output logic                            s_axi_bvalid,
    input  logic                            s_axi_bready,
    input  logic [IdW-1:0]                  s_axi_arid,
    input  logic [AddrW-1:0]                s_axi_araddr,
    input  logic [7:0]                      s_axi_arlen,
    input  logic [2:0]                      s_axi_arsize,
    input  logic [1:0]                      s_axi_arburst,
    input  logic                            s_axi_arvalid,
    output logic                            s_axi_arready,
    output logic [IdW-1:0]                  s_axi_rid,
    output logic [PortW-1:0]                s_axi_rdata,
    output logic [1:0]                      s_axi_rresp,
    output logic                            s_axi_rlast,
    output logic                            s_axi_rvalid,
    input  logic                            s_axi_rready,
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
    input  logic [Ports-1:0][DataW-1:0]   m_axi_rdata,
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
    output logic [Ports-1:0][DataW-1:0]   m_axi_wdata,
    output logic [Ports-1:0][DataW/8-1:0] m_axi_wstrb,
    output logic [Ports-1:0]              m_axi_wlast,
    output logic [Ports-1:0]              m_axi_wvalid,
    input  logic [Ports-1:0]              m_axi_wready,
    input  logic [Ports-1:0]              m_axi_bid,
    input  logic [Ports-1:0][1:0]         m_axi_bresp,
    input  logic [Ports-1:0]              m_axi_bvalid,
    output logic [Ports-1:0]              m_axi_bready
);
  localparam int unsigned Counters = 4;
  localparam int unsigned AmountW = 4;

  if (Ports != 2 || Lanes != Coefficients) begin : g_bad_shape
    $error("psi_f1_top: %0d ports and %0d coefficients a beat are not 2 and 4", Ports, Lanes);
  end
  if (MaxLogN < 8 || MaxLogN > 11 || MinLogN != MaxLogN - 1) begin : g_bad_degrees
    $error("psi_f1_top: degrees 2^%0d to 2^%0d are not two within 2^7 to 2^11", MinLogN, MaxLogN);
  end
  if ((Drain > 0 && Drain < 13) || Drain > 31 || Kind > rf_pkg::MulMontgomery || Intts > 8) begin : g_bad_choice
    $error("psi_f1_top: Drain must be 0 or 13 to 31, Kind 0 or 1, Intts at most 8");
  end

  // ---- Registers -----------------------------------------------------------------------------------
  logic               own_wr_valid, own_wr_known, own_rd_known, element_rst_n, unit_rst_n, start, halt;
  logic [11:0]        own_wr_addr, own_rd_addr;
  logic [31:0]        own_wr_data, own_rd_data, instructions;
  logic [3:0]         own_wr_strb, shift, lwe_log, busy_units;
  logic               host_valid, host_ready, polled, running, bad, bootstrap, idle;
  logic               core_empty, locked;
  logic [63:0]        host, k;
  logic [9:0]         state;
  logic [DegreeW-1:0] log_n;
  logic [W-1:0]       q, tw;
  logic [AddrW-1:KeyUnitLog] key_base;
  gadget_t            gadget[Gadgets];
  logic [W+2:0]       offset[Gadgets];
  logic [LweW-1:0]    bound[Gates];
  logic [31:0]        subst[Substitutions];
  logic               tw_valid;
  logic [MaxLogN-1:0] tw_addr;

  // There is no queue that could set registers.
  /* verilator lint_off PINCONNECTEMPTY */
  psi_regs #(
      .W(W), .MinLogN(MinLogN), .MaxLogN(MaxLogN), .Kind(Kind), .MontgomeryWord(MontgomeryWord)
  ) u_regs (
      .clk_i, .rst_ni, .wr_valid_i(own_wr_valid), .wr_addr_i(own_wr_addr), .wr_data_i(own_wr_data),
      .wr_strb_i(own_wr_strb), .wr_known_o(own_wr_known), .rd_addr_i(own_rd_addr), .rd_data_o(own_rd_data),
      .rd_known_o(own_rd_known), .set_valid_i(1'b0), .set_addr_i('0), .set_data_i('0),
      .set_known_o(), .clear_i(!unit_rst_n), .polled_i(polled && !halt), .command_valid_o(host_valid),
      .command_ready_i(host_ready), .command_o(host), .locked_i(locked),
      .fifo_state_i({18'd0, idle, 3'b000, state}), .bad_o(bad), .bootstrap_o(bootstrap),
      .queue_o(), .log_n_o(log_n), .q_o(q), .k_o(k), .shift_o(shift), .lwe_log_o(lwe_log),
      .key_base_o(key_base), .gadget_o(gadget), .offset_o(offset), .bound_o(bound), .subst_o(subst),
      .tw_valid_o(tw_valid), .tw_addr_o(tw_addr), .tw_data_o(tw)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- Commands ------------------------------------------------------------------------------------
  error_e           queue_error, core_error, error;
  logic             instr_valid, instr_ready, core_idle, key_idle, fifo_idle;
  logic [31:0]      instr;
  logic [AddrW-1:0] program_addr[1];

  // Settings hold while anything is under way or waits, and throughout a run with a queue.
  assign locked = start || (running && (!polled || !idle || !core_empty));
  // A run begins with empty FIFOs.
  assign unit_rst_n = element_rst_n && !start;
  assign idle = core_idle;

  // ---- The window ----------------------------------------------------------------------------------
  logic             in_valid, in_ready, out_valid, out_ready;
  logic [PortW-1:0] in_beat, out_beat;

  psi_window #(.IdW(IdW)) u_window (
      .clk_i, .rst_ni, .open_i(running && !halt && unit_rst_n), .fifo_idle_o(fifo_idle), .in_valid_o(in_valid),
      .in_ready_i(in_ready), .in_o(in_beat), .out_valid_i(out_valid), .out_ready_o(out_ready), .out_i(out_beat),
      .s_axi_awid, .s_axi_awaddr, .s_axi_awlen, .s_axi_awsize, .s_axi_awburst, .s_axi_awvalid, .s_axi_awready,
      .s_axi_wdata, .s_axi_wstrb, .s_axi_wlast, .s_axi_wvalid, .s_axi_wready, .s_axi_bid, .s_axi_bresp, .s_axi_bvalid,
      .s_axi_bready, .s_axi_arid, .s_axi_araddr, .s_axi_arlen, .s_axi_arsize, .s_axi_arburst, .s_axi_arvalid,
      .s_axi_arready, .s_axi_rid, .s_axi_rdata, .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid, .s_axi_rready,
      .m_axi_arid(m_axi_arid[1]), .m_axi_araddr(m_axi_araddr[1]), .m_axi_arlen(m_axi_arlen[1]),
      .m_axi_arsize(m_axi_arsize[1]), .m_axi_arburst(m_axi_arburst[1]), .m_axi_arcache(m_axi_arcache[1]),
      .m_axi_arprot(m_axi_arprot[1]), .m_axi_arvalid(m_axi_arvalid[1]), .m_axi_arready(m_axi_arready[1]),
      .m_axi_rid(m_axi_rid[1]), .m_axi_rdata(m_axi_rdata[1]), .m_axi_rresp(m_axi_rresp[1]),
      .m_axi_rlast(m_axi_rlast[1]), .m_axi_rvalid(m_axi_rvalid[1]), .m_axi_rready(m_axi_rready[1]),
      .m_axi_awid(m_axi_awid[1]), .m_axi_awaddr(m_axi_awaddr[1]), .m_axi_awlen(m_axi_awlen[1]),
      .m_axi_awsize(m_axi_awsize[1]), .m_axi_awburst(m_axi_awburst[1]), .m_axi_awcache(m_axi_awcache[1]),
      .m_axi_awprot(m_axi_awprot[1]), .m_axi_awvalid(m_axi_awvalid[1]), .m_axi_awready(m_axi_awready[1]),
      .m_axi_wdata(m_axi_wdata[1]), .m_axi_wstrb(m_axi_wstrb[1]), .m_axi_wlast(m_axi_wlast[1]),
      .m_axi_wvalid(m_axi_wvalid[1]), .m_axi_wready(m_axi_wready[1]), .m_axi_bid(m_axi_bid[1]),
      .m_axi_bresp(m_axi_bresp[1]), .m_axi_bvalid(m_axi_bvalid[1]), .m_axi_bready(m_axi_bready[1])
  );

  // There are no commands for what the windows do, and it is for the host to know what it waits for. The end waits
  // until all results have been read.
  /* verilator lint_off PINCONNECTEMPTY */
  psi_queue #(.Quiet(16 << MaxLogN), .Memory(1'b0)) u_queue (
      .clk_i, .rst_ni(element_rst_n), .start_i(start), .halt_i(halt), .program_i(program_addr[0]),
      .bad_i(bad), .polled_i(1'b1), .polled_o(polled), .running_o(running), .error_o(queue_error), .host_valid_i(host_valid),
      .host_ready_o(host_ready), .host_i(host), .rd_valid_o(), .rd_ready_i(1'b0), .rd_addr_o(), .rsp_valid_i(1'b0),
      .rsp_data_i('0), .instr_valid_o(instr_valid), .instr_ready_i(instr_ready), .instr_o(instr), .input_valid_o(),
      .input_ready_i(1'b0), .output_valid_o(), .output_ready_i(1'b0), .tables_valid_o(), .tables_ready_i(1'b0),
      .address_o(), .set_valid_o(), .set_known_i(1'b0), .set_addr_o(), .set_data_o(), .idle_i(idle && !out_valid),
      .empty_i(core_empty), .moved_i(1'b1)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- The core, and its port ----------------------------------------------------------------------
  logic ended, key_waits, nothing;
  logic key_error, key_beat, key_wait;

  /* verilator lint_off PINCONNECTEMPTY */
  psi_core #(
      .W(W), .MaxLogN(MaxLogN), .Intts(Intts), .Drain(Drain), .KeyPauses(KeyPauses), .KeyRows(KeyRows),
      .InputSlots(InputSlots), .LoopSlots(LoopSlots), .OutputSlots(OutputSlots), .Reorder(Reorder), .Kind(Kind),
      .MontgomeryWord(MontgomeryWord), .Twin(Twin)
  ) u_core (
      .clk_i, .rst_ni(unit_rst_n), .halt_i(halt), .bootstrap_i(bootstrap), .log_n_i(log_n), .q_i(q),
      .k_i(k), .shift_i(shift), .lwe_log_i(lwe_log), .key_base_i(key_base), .gadget_i(gadget), .offset_i(offset),
      .bound_i(bound), .subst_i(subst), .tw_valid_i(tw_valid), .tw_addr_i(tw_addr), .tw_data_i(tw),
      .instr_valid_i(instr_valid), .instr_ready_o(instr_ready),
      .instr_i(instr), .error_o(core_error), .count_o(instructions), .in_valid_i(in_valid), .in_ready_o(in_ready),
      .in_i(in_beat), .in_taken_o(), .out_valid_o(out_valid), .out_ready_i(out_ready), .out_o(out_beat),
      .out_count_o(), .idle_o(core_idle), .empty_o(core_empty), .moved_o(), .state_o(state), .busy_units_o(busy_units),
      .ended_o(ended), .key_waits_o(key_waits), .nothing_o(nothing), .key_idle_o(key_idle),
      .key_error_o(key_error), .key_beat_o(key_beat), .key_wait_o(key_wait),
      .m_axi_arid(m_axi_arid[0]), .m_axi_araddr(m_axi_araddr[0]), .m_axi_arlen(m_axi_arlen[0]),
      .m_axi_arsize(m_axi_arsize[0]), .m_axi_arburst(m_axi_arburst[0]), .m_axi_arcache(m_axi_arcache[0]),
      .m_axi_arprot(m_axi_arprot[0]), .m_axi_arvalid(m_axi_arvalid[0]), .m_axi_arready(m_axi_arready[0]),
      .m_axi_rid(m_axi_rid[0]), .m_axi_rdata(m_axi_rdata[0]), .m_axi_rresp(m_axi_rresp[0]),
      .m_axi_rlast(m_axi_rlast[0]), .m_axi_rvalid(m_axi_rvalid[0]), .m_axi_rready(m_axi_rready[0])
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // Nothing is written to the memory of keys.
  assign m_axi_awid[0] = '0;
  assign m_axi_awaddr[0] = '0;
  assign m_axi_awlen[0] = '0;
  assign m_axi_awsize[0] = '0;
  assign m_axi_awburst[0] = '0;
  assign m_axi_awcache[0] = '0;
  assign m_axi_awprot[0] = '0;
  assign m_axi_awvalid[0] = '0;
  assign m_axi_wdata[0] = '0;
  assign m_axi_wstrb[0] = '0;
  assign m_axi_wlast[0] = '0;
  assign m_axi_wvalid[0] = '0;
  assign m_axi_bready[0] = '1;
  logic unused;
  assign unused = &{1'b0, m_axi_awready[0], m_axi_wready[0], m_axi_bid[0], m_axi_bresp[0], m_axi_bvalid[0]};

  // ---- Control -------------------------------------------------------------------------------------
  logic [AmountW-1:0] amount[Counters];

  assign error = core_error != ErrorNone ? core_error : queue_error;
  assign amount = '{AmountW'(ended), busy_units, AmountW'(key_waits), AmountW'(nothing)};

  /* verilator lint_off PINCONNECTEMPTY */
  rf_shell_control #(
      .Id(32'h49504652), .AddrW(AddrW), .Elements(1), .Ports(Ports), .PortBytes(PortW / 8), .Counters(Counters),
      .AmountW(AmountW)
  ) u_control (
      .clk_i, .rst_ni, .irq_o, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb,
      .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid,
      .s_axil_arready, .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .shape_i({8'(Drain), 8'(Intts), 8'(Lanes), 8'(W)}), .range_i({8'(Kind), 8'd0, 8'(MaxLogN), 8'(MinLogN)}),
      .element_rst_no(element_rst_n), .start_o(start), .halt_o(halt), .program_o(program_addr),
      .done_i(!running && error == ErrorNone), .error_i('{8'(error)}), .pc_i('{instructions}), .idle_i({fifo_idle, key_idle}),
      .bus_error_i({1'b0, key_error}), .rd_beat_i({1'b0, key_beat}), .wr_beat_i(2'b00), .rd_wait_i({1'b0, key_wait}),
      .wr_wait_i(2'b00), .amount_i(amount), .own_wr_valid_o(own_wr_valid), .own_rd_valid_o(),
      .own_wr_addr_o(own_wr_addr), .own_rd_addr_o(own_rd_addr), .own_wr_data_o(own_wr_data),
      .own_wr_strb_o(own_wr_strb), .own_wr_known_i(own_wr_known), .own_rd_data_i(own_rd_data),
      .own_rd_known_i(own_rd_known)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
