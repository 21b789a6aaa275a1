// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The FHEW accelerator: one element that works off a queue of commands, or those of the host, over two memory ports.
//
// Control  rf_shell_control (docs/hw/registers.md; ID "RFPI") and the registers and counters of registers.json. SHAPE
//          holds word width, coefficients of a beat, inverse transform modules, drain; RANGE least and largest log2 N, 0,
//          multiplier kind, a byte each. PC counts instructions.
// Data     AXI4 masters of 512 bits at the core clock: port 0 reads keys; port 1 reads commands, RLWEs and tables, and
//          writes results. A run begins with empty FIFOs; tables and registers stay.
// Ranges   Ports = 2, Lanes = 4, MinLogN = MaxLogN - 1 from 7 on
module psi_top
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
  localparam int unsigned OutW = $clog2((OutputSlots << (MaxLogN - 2)) + 1);
  localparam int unsigned BeatsW = 7;
  localparam int unsigned Clients = 3;
  localparam int unsigned Counters = 4;
  localparam int unsigned AmountW = 4;

  if (Ports != 2 || Lanes != Coefficients) begin : g_bad_shape
    $error("psi_top: %0d ports and %0d coefficients a beat are not 2 and 4", Ports, Lanes);
  end
  if (MaxLogN < 8 || MaxLogN > 11 || MinLogN != MaxLogN - 1) begin : g_bad_degrees
    $error("psi_top: degrees 2^%0d to 2^%0d are not two within 2^7 to 2^11", MinLogN, MaxLogN);
  end
  if ((Drain > 0 && Drain < 13) || Drain > 31 || Kind > rf_pkg::MulMontgomery || Intts > 8) begin : g_bad_choice
    $error("psi_top: Drain must be 0 or 13 to 31, Kind 0 or 1, Intts at most 8");
  end

  // ---- Registers -----------------------------------------------------------------------------------
  logic               own_wr_valid, own_wr_known, own_rd_known, element_rst_n, unit_rst_n, start, halt;
  logic [11:0]        own_wr_addr, own_rd_addr, set_addr;
  logic [31:0]        own_wr_data, own_rd_data, set_data, instructions;
  logic [3:0]         own_wr_strb, shift, lwe_log, busy_units;
  logic               set_valid, set_known, host_valid, host_ready, polled, running, bad, bootstrap, queue_mode, idle;
  logic               core_empty, locked;
  logic [63:0]        host, k;
  logic [9:0]         state;
  logic [DegreeW-1:0] log_n;
  logic [W-1:0]       q, host_tw, memory_tw;
  logic [AddrW-1:KeyUnitLog] key_base;
  gadget_t            gadget[Gadgets];
  logic [W+2:0]       offset[Gadgets];
  logic [LweW-1:0]    bound[Gates];
  logic [31:0]        subst[Substitutions];
  logic               host_tw_valid, memory_tw_valid, reading, writing;
  logic [MaxLogN-1:0] host_tw_addr, memory_tw_addr;

  psi_regs #(
      .W(W), .MinLogN(MinLogN), .MaxLogN(MaxLogN), .Kind(Kind), .MontgomeryWord(MontgomeryWord)
  ) u_regs (
      .clk_i, .rst_ni, .wr_valid_i(own_wr_valid), .wr_addr_i(own_wr_addr), .wr_data_i(own_wr_data),
      .wr_strb_i(own_wr_strb), .wr_known_o(own_wr_known), .rd_addr_i(own_rd_addr), .rd_data_o(own_rd_data),
      .rd_known_o(own_rd_known), .set_valid_i(set_valid), .set_addr_i(set_addr), .set_data_i(set_data),
      .set_known_o(set_known), .clear_i(!unit_rst_n), .polled_i(polled && !halt), .command_valid_o(host_valid),
      .command_ready_i(host_ready), .command_o(host), .locked_i(locked),
      .fifo_state_i({18'd0, idle, writing, reading, 1'b0, state}), .bad_o(bad), .bootstrap_o(bootstrap),
      .queue_o(queue_mode), .log_n_o(log_n), .q_o(q), .k_o(k), .shift_o(shift), .lwe_log_o(lwe_log),
      .key_base_o(key_base), .gadget_o(gadget), .offset_o(offset), .bound_o(bound), .subst_o(subst),
      .tw_valid_o(host_tw_valid), .tw_addr_o(host_tw_addr), .tw_data_o(host_tw)
  );

  // ---- Commands ------------------------------------------------------------------------------------
  error_e            queue_error, core_error, error;
  logic              instr_valid, instr_ready, input_valid, input_ready, output_valid, output_ready, tables_valid,
                     tables_ready, core_idle, moved, core_moved, key_idle, rd_idle, wr_idle;
  logic [31:0]       instr;
  logic [AddrW-1:0]  address, program_addr[1];
  logic [Clients-1:0] rd_valid, rd_ready, rsp_valid;
  logic [AddrW-1:0]  rd_addr[Clients], move_addr[2], wr_addr;
  logic [BeatsW-1:0] rd_beats[Clients], move_beats[2], wr_beats;
  logic [PortW-1:0]  rsp_data, wr_data;
  logic              wr_valid, wr_ready, wr_data_valid, wr_data_ready, wr_done;

  // Settings hold while anything is under way or waits, and throughout a run with a queue.
  assign locked = start || (running && (!polled || !idle || !core_empty));
  // A run begins with empty FIFOs.
  assign unit_rst_n = element_rst_n && !start;
  assign idle = core_idle && !reading && !writing;
  assign moved = core_moved || !key_idle || !rd_idle || !wr_idle;

  psi_queue #(.Quiet(16 << MaxLogN)) u_queue (
      .clk_i, .rst_ni(element_rst_n), .start_i(start), .halt_i(halt), .program_i(program_addr[0]),
      .bad_i(bad), .polled_i(!queue_mode), .polled_o(polled), .running_o(running), .error_o(queue_error),
      .host_valid_i(host_valid), .host_ready_o(host_ready), .host_i(host), .rd_valid_o(rd_valid[0]),
      .rd_ready_i(rd_ready[0]), .rd_addr_o(rd_addr[0]), .rsp_valid_i(rsp_valid[0]), .rsp_data_i(rsp_data),
      .instr_valid_o(instr_valid), .instr_ready_i(instr_ready), .instr_o(instr), .input_valid_o(input_valid),
      .input_ready_i(input_ready), .output_valid_o(output_valid), .output_ready_i(output_ready),
      .tables_valid_o(tables_valid), .tables_ready_i(tables_ready), .address_o(address), .set_valid_o(set_valid),
      .set_known_i(set_known), .set_addr_o(set_addr), .set_data_o(set_data), .idle_i(idle), .empty_i(core_empty),
      .moved_i(moved)
  );
  assign rd_beats[0] = BeatsW'(1);

  // ---- RLWEs and tables ----------------------------------------------------------------------------
  logic             in_valid, in_ready, in_taken, out_valid, out_ready;
  logic [PortW-1:0] in_beat, out_beat;
  logic [OutW-1:0]  out_count;

  psi_move #(.W(W), .MaxLogN(MaxLogN), .InputSlots(InputSlots), .OutputSlots(OutputSlots)) u_move (
      .clk_i, .rst_ni(unit_rst_n), .halt_i(halt), .log_n_i(log_n), .address_i(address), .input_valid_i(input_valid),
      .input_ready_o(input_ready), .output_valid_i(output_valid), .output_ready_o(output_ready),
      .tables_valid_i(tables_valid), .tables_ready_o(tables_ready), .reading_o(reading), .writing_o(writing),
      .rd_valid_o(rd_valid[2:1]), .rd_ready_i(rd_ready[2:1]), .rd_addr_o(move_addr), .rd_beats_o(move_beats),
      .rsp_valid_i(rsp_valid[2:1]), .rsp_data_i(rsp_data), .wr_valid_o(wr_valid), .wr_ready_i(wr_ready),
      .wr_addr_o(wr_addr), .wr_beats_o(wr_beats), .data_valid_o(wr_data_valid), .data_ready_i(wr_data_ready),
      .data_o(wr_data), .wr_done_i(wr_done), .in_valid_o(in_valid), .in_o(in_beat), .in_taken_i(in_taken),
      .out_valid_i(out_valid), .out_ready_o(out_ready), .out_i(out_beat), .out_count_i(out_count),
      .tw_valid_o(memory_tw_valid), .tw_addr_o(memory_tw_addr), .tw_data_o(memory_tw)
  );
  assign rd_addr[1] = move_addr[0];
  assign rd_addr[2] = move_addr[1];
  assign rd_beats[1] = move_beats[0];
  assign rd_beats[2] = move_beats[1];

  // ---- The core, and its port ----------------------------------------------------------------------
  logic ended, key_waits, nothing;
  logic [1:0] port_idle, port_error, rd_beat, rd_wait;
  logic wr_beat, wr_wait, rd_error, wr_error;

  psi_core #(
      .W(W), .MaxLogN(MaxLogN), .Intts(Intts), .Drain(Drain), .KeyPauses(KeyPauses), .KeyRows(KeyRows),
      .InputSlots(InputSlots), .LoopSlots(LoopSlots), .OutputSlots(OutputSlots), .Reorder(Reorder), .Kind(Kind),
      .MontgomeryWord(MontgomeryWord), .Twin(Twin)
  ) u_core (
      .clk_i, .rst_ni(unit_rst_n), .halt_i(halt), .bootstrap_i(bootstrap), .log_n_i(log_n), .q_i(q),
      .k_i(k), .shift_i(shift), .lwe_log_i(lwe_log), .key_base_i(key_base), .gadget_i(gadget), .offset_i(offset),
      .bound_i(bound), .subst_i(subst), .tw_valid_i(memory_tw_valid || host_tw_valid),
      .tw_addr_i(memory_tw_valid ? memory_tw_addr : host_tw_addr),
      .tw_data_i(memory_tw_valid ? memory_tw : host_tw), .instr_valid_i(instr_valid), .instr_ready_o(instr_ready),
      .instr_i(instr), .error_o(core_error), .count_o(instructions), .in_valid_i(in_valid), .in_ready_o(in_ready),
      .in_i(in_beat), .in_taken_o(in_taken), .out_valid_o(out_valid), .out_ready_i(out_ready), .out_o(out_beat),
      .out_count_o(out_count), .idle_o(core_idle), .empty_o(core_empty), .moved_o(core_moved), .state_o(state), .busy_units_o(busy_units),
      .ended_o(ended), .key_waits_o(key_waits), .nothing_o(nothing), .key_idle_o(key_idle),
      .key_error_o(port_error[0]), .key_beat_o(rd_beat[0]), .key_wait_o(rd_wait[0]),
      .m_axi_arid(m_axi_arid[0]), .m_axi_araddr(m_axi_araddr[0]), .m_axi_arlen(m_axi_arlen[0]),
      .m_axi_arsize(m_axi_arsize[0]), .m_axi_arburst(m_axi_arburst[0]), .m_axi_arcache(m_axi_arcache[0]),
      .m_axi_arprot(m_axi_arprot[0]), .m_axi_arvalid(m_axi_arvalid[0]), .m_axi_arready(m_axi_arready[0]),
      .m_axi_rid(m_axi_rid[0]), .m_axi_rdata(m_axi_rdata[0]), .m_axi_rresp(m_axi_rresp[0]),
      .m_axi_rlast(m_axi_rlast[0]), .m_axi_rvalid(m_axi_rvalid[0]), .m_axi_rready(m_axi_rready[0])
  );

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
  assign unused = &{1'b0, in_ready, m_axi_awready[0], m_axi_wready[0], m_axi_bid[0], m_axi_bresp[0], m_axi_bvalid[0]};

  // ---- The other port ------------------------------------------------------------------------------
  rf_axi_read #(.DataW(PortW), .AddrW(AddrW), .Clients(Clients), .MaxBeats(64)) u_read (
      .clk_i, .rst_ni(element_rst_n), .req_valid_i(rd_valid), .req_ready_o(rd_ready), .req_addr_i(rd_addr),
      .req_beats_i(rd_beats), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data), .idle_o(rd_idle), .error_o(rd_error),
      .beat_o(rd_beat[1]), .wait_o(rd_wait[1]), .m_axi_arid(m_axi_arid[1]), .m_axi_araddr(m_axi_araddr[1]),
      .m_axi_arlen(m_axi_arlen[1]), .m_axi_arsize(m_axi_arsize[1]), .m_axi_arburst(m_axi_arburst[1]),
      .m_axi_arcache(m_axi_arcache[1]), .m_axi_arprot(m_axi_arprot[1]), .m_axi_arvalid(m_axi_arvalid[1]),
      .m_axi_arready(m_axi_arready[1]), .m_axi_rid(m_axi_rid[1]), .m_axi_rdata(m_axi_rdata[1]),
      .m_axi_rresp(m_axi_rresp[1]), .m_axi_rlast(m_axi_rlast[1]), .m_axi_rvalid(m_axi_rvalid[1]),
      .m_axi_rready(m_axi_rready[1])
  );
  rf_axi_write #(.DataW(PortW), .AddrW(AddrW), .Clients(1), .MaxBeats(64)) u_write (
      .clk_i, .rst_ni(element_rst_n), .req_valid_i(wr_valid), .req_ready_o(wr_ready), .req_addr_i('{wr_addr}),
      .req_beats_i('{wr_beats}), .data_valid_i(wr_data_valid), .data_ready_o(wr_data_ready), .data_i('{wr_data}),
      .done_o(wr_done), .idle_o(wr_idle), .error_o(wr_error), .beat_o(wr_beat), .wait_o(wr_wait),
      .m_axi_awid(m_axi_awid[1]), .m_axi_awaddr(m_axi_awaddr[1]), .m_axi_awlen(m_axi_awlen[1]),
      .m_axi_awsize(m_axi_awsize[1]), .m_axi_awburst(m_axi_awburst[1]), .m_axi_awcache(m_axi_awcache[1]),
      .m_axi_awprot(m_axi_awprot[1]), .m_axi_awvalid(m_axi_awvalid[1]), .m_axi_awready(m_axi_awready[1]),
      .m_axi_wdata(m_axi_wdata[1]), .m_axi_wstrb(m_axi_wstrb[1]), .m_axi_wlast(m_axi_wlast[1]),
      .m_axi_wvalid(m_axi_wvalid[1]), .m_axi_wready(m_axi_wready[1]), .m_axi_bid(m_axi_bid[1]),
      .m_axi_bresp(m_axi_bresp[1]), .m_axi_bvalid(m_axi_bvalid[1]), .m_axi_bready(m_axi_bready[1])
  );

  // ---- Control -------------------------------------------------------------------------------------
  logic [AmountW-1:0] amount[Counters];

  assign error = core_error != ErrorNone ? core_error : queue_error;
  assign port_idle = {rd_idle && wr_idle, key_idle};
  assign port_error[1] = rd_error || wr_error;
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
      .done_i(!running && error == ErrorNone), .error_i('{8'(error)}), .pc_i('{instructions}), .idle_i(port_idle),
      .bus_error_i(port_error), .rd_beat_i(rd_beat), .wr_beat_i({wr_beat, 1'b0}), .rd_wait_i(rd_wait),
      .wr_wait_i({wr_wait, 1'b0}), .amount_i(amount), .own_wr_valid_o(own_wr_valid), .own_rd_valid_o(),
      .own_wr_addr_o(own_wr_addr), .own_rd_addr_o(own_rd_addr), .own_wr_data_o(own_wr_data),
      .own_wr_strb_o(own_wr_strb), .own_wr_known_i(own_wr_known), .own_rd_data_i(own_rd_data),
      .own_rd_known_i(own_rd_known)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
