// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Run control of a machine: control registers (docs/hw/registers.md), start and end of runs, abort, watchdog,
// interrupt, performance counters. The machine has elements that run programs, and memory ports.
//
//             start
//    Idle ------------> Running ----- all elements done ------------------> Idle, done
//     |                    | error of an element or a port, abort, watchdog
//     | reset              v
//     |                 Draining ---- ports idle: elements are reset -----> Idle, done and error
//     +--------------> Clearing ----- ports idle: elements are reset -----> Idle
//
// Function    start_o is high for one cycle; program_o is right then. halt_o asks the elements to request no more
//             transfers and to carry through those granted; element_rst_no, low for one cycle, puts elements and ports
//             back, and never while a port has anything outstanding, because AXI forbids to withdraw. If memory never
//             answers, Draining lasts until rst_ni: STATUS tells. A start while busy is ignored. A reset command
//             while running is an abort. The cause that came first counts; in one cycle an element's error or a
//             port's, then the end of the run, abort, watchdog.
// Latency     start write to start_o 1 cycle; done_i to the interrupt line 1 cycle; the watchdog acts 2 cycles late; an
//             error is reported once transfers have run out and the element was looked for, one a cycle
// Throughput  -
// Ranges      Elements and Ports 1 ... 64, AddrW 38 ... 64. An element's error_i stays, and its done_i is low, until
//             reset or start; done_i is low from the cycle after start_o on. Codes 6, 7, 8 are ours (rf_shell_pkg).

module rf_shell_control
  import rf_shell_pkg::*;
#(
    parameter logic [31:0] Id = 32'h0,
    parameter int unsigned AddrW = 48,
    parameter int unsigned Elements = 14,
    parameter int unsigned Ports = 4,
    parameter int unsigned PortBytes = 128,
    parameter int unsigned Counters = 0,
    parameter int unsigned AmountW = 8,
    localparam int unsigned Amounts = Counters > 0 ? Counters : 1
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    output logic                irq_o,

    input  logic [RegisterAddrW-1:0] s_axil_awaddr,
    input  logic                s_axil_awvalid,
    output logic                s_axil_awready,
    input  logic [31:0]         s_axil_wdata,
    input  logic [3:0]          s_axil_wstrb,
    input  logic                s_axil_wvalid,
    output logic                s_axil_wready,
    output logic [1:0]          s_axil_bresp,
    output logic                s_axil_bvalid,
    input  logic                s_axil_bready,
    input  logic [RegisterAddrW-1:0] s_axil_araddr,
    input  logic                s_axil_arvalid,
    output logic                s_axil_arready,
    output logic [31:0]         s_axil_rdata,
    output logic [1:0]          s_axil_rresp,
    output logic                s_axil_rvalid,
    input  logic                s_axil_rready,

    // What the machine is: constants
    input  logic [31:0]         shape_i,
    input  logic [31:0]         range_i,
    // Elements
    output logic                element_rst_no,
    output logic                start_o,
    output logic                halt_o,
    output logic [AddrW-1:0]    program_o    [Elements],
    input  logic [Elements-1:0] done_i,
    input  logic [7:0]          error_i      [Elements],
    input  logic [31:0]         pc_i         [Elements],
    // Ports
    input  logic [Ports-1:0]    idle_i,
    input  logic [Ports-1:0]    bus_error_i,
    input  logic [Ports-1:0]    rd_beat_i,
    input  logic [Ports-1:0]    wr_beat_i,
    input  logic [Ports-1:0]    rd_wait_i,
    input  logic [Ports-1:0]    wr_wait_i,
    // The machine's counters: what to add in this cycle
    input  logic [AmountW-1:0]  amount_i     [Amounts],
    // The machine's registers, from OwnBase on (as rf_axil_regs); known low where it has none
    output logic                own_wr_valid_o,
    output logic                own_rd_valid_o,
    output logic [RegisterAddrW-1:0] own_wr_addr_o,
    output logic [RegisterAddrW-1:0] own_rd_addr_o,
    output logic [31:0]         own_wr_data_o,
    output logic [3:0]          own_wr_strb_o,
    input  logic                own_wr_known_i,
    input  logic [31:0]         own_rd_data_i,
    input  logic                own_rd_known_i
);

  localparam int unsigned Totals = 4 + Counters;
  localparam int unsigned Most = Elements > Ports ? Elements : Ports;  // of what an error is looked for
  localparam int unsigned IndexW = $clog2(Most + 1);

  if (AddrW < 38 || AddrW > 64) begin : g_bad_addr_w
    $error("AddrW %0d is outside 38..64", AddrW);
  end
  if (PortBytes < 4 || PortBytes > 128 || (PortBytes & (PortBytes - 1)) != 0) begin : g_bad_port_bytes
    $error("PortBytes %0d is not a bus width of AXI", PortBytes);
  end

  // The bytes of a register that a write carries.
  function automatic logic [31:0] merged(input logic [31:0] old, input logic [31:0] data, input logic [3:0] strb);
    for (int unsigned b = 0; b < 4; b++) merged[8*b+:8] = strb[b] ? data[8*b+:8] : old[8*b+:8];
  endfunction

  // ---- Bus -----------------------------------------------------------------------------------------
  logic                     wr_valid, wr_known, rd_valid, rd_known;
  logic [RegisterAddrW-1:0] wr_addr, rd_addr;
  logic [31:0]              wr_data, rd_data, wr_ones;
  logic [3:0]               wr_strb;

  rf_axil_regs #(
      .AddrW(RegisterAddrW)
  ) u_bus (
      .clk_i, .rst_ni, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid,
      .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid, .s_axil_arready,
      .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
      .wr_valid_o(wr_valid), .wr_addr_o(wr_addr), .wr_data_o(wr_data), .wr_strb_o(wr_strb), .wr_known_i(wr_known),
      .rd_valid_o(rd_valid), .rd_addr_o(rd_addr), .rd_data_i(rd_data), .rd_known_i(rd_known)
  );

  // Bits that command something: bytes not written count as 0.
  assign wr_ones = merged('0, wr_data, wr_strb);
  assign own_wr_valid_o = wr_valid && wr_addr >= OwnBase;
  assign own_rd_valid_o = rd_valid && rd_addr >= OwnBase;
  assign own_wr_addr_o = wr_addr;
  assign own_rd_addr_o = rd_addr;
  assign own_wr_data_o = wr_data;
  assign own_wr_strb_o = wr_strb;
  assign wr_known = wr_addr >= OwnBase ? own_wr_known_i : writable(wr_addr);

  // ---- Registers -----------------------------------------------------------------------------------
  logic [AddrW-1:12]   program_q;
  logic [15:0]         stride_q;
  logic [CounterW-1:0] watchdog_q;
  logic                gie_q;
  logic [1:0]          ier_q, isr_q;
  logic [63:0]         program_word, watchdog_word;

  assign program_word = 64'({program_q, 12'd0});
  assign watchdog_word = 64'(watchdog_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      program_q <= '0;
      stride_q <= '0;
      watchdog_q <= '0;
      gie_q <= 1'b0;
      ier_q <= '0;
    end else if (wr_valid) begin
      case (wr_addr)
        AddrProgram: program_q[31:12] <= 20'(merged(program_word[31:0], wr_data, wr_strb) >> 12);
        AddrProgramHigh: program_q[AddrW-1:32] <= (AddrW - 32)'(merged(program_word[63:32], wr_data, wr_strb));
        AddrStride: stride_q <= 16'(merged(32'(stride_q), wr_data, wr_strb));
        AddrWatchdog: watchdog_q[31:0] <= merged(watchdog_word[31:0], wr_data, wr_strb);
        AddrWatchdogHigh: watchdog_q[CounterW-1:32] <= (CounterW - 32)'(merged(watchdog_word[63:32], wr_data, wr_strb));
        AddrGie: gie_q <= 1'(merged(32'(gie_q), wr_data, wr_strb));
        AddrIer: ier_q <= 2'(merged(32'(ier_q), wr_data, wr_strb));
        default: ;
      endcase
    end
  end

  // ---- Runs ----------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    StateIdle,
    StateRunning,
    StateDraining,
    StateClearing
  } state_e;

  state_e              state_q, state_d;
  logic                start, abort_command, reset_command, ended, fail, looked, drained, reset_d;
  logic                start_q, reset_q, done_q, ap_done_q, failed_q, fault_q, expired_q, found_q, any_error;
  logic [7:0]          code_q, code_d, element_q, match_code;
  logic [31:0]         pc_q, match_pc;
  logic [IndexW-1:0]   index_q;
  logic [CounterW-1:0] cycles_q;
  logic                match;

  assign start = wr_valid && wr_addr == AddrCtrl && wr_ones[CtrlStartLsb] && state_q == StateIdle;
  assign reset_command = wr_valid && wr_addr == AddrCommand && wr_ones[CommandResetLsb];
  assign abort_command = wr_valid && wr_addr == AddrCommand && (wr_ones[CommandAbortLsb] || wr_ones[CommandResetLsb]);
  assign drained = idle_i == '1;
  assign looked = found_q || index_q == IndexW'(Most);

  always_comb begin
    any_error = 1'b0;
    for (int unsigned e = 0; e < Elements; e++) any_error = any_error || error_i[e] != 8'd0;
  end

  // Code 0: the element's own, found while draining.
  always_comb begin
    state_d = state_q;
    code_d = code_q;
    ended = 1'b0;
    fail = 1'b0;
    reset_d = 1'b0;
    case (state_q)
      StateIdle:
        if (start) state_d = StateRunning;
        else if (reset_command) state_d = StateClearing;
      StateRunning: begin
        if (!start_q && (fault_q || bus_error_i != '0)) begin
          fail = 1'b1;
          code_d = fault_q ? 8'd0 : CodeBus;
        end else if (!start_q && done_i == '1) begin
          ended = 1'b1;
          state_d = StateIdle;
        end else if (abort_command || expired_q) begin
          fail = 1'b1;
          code_d = abort_command ? CodeAborted : CodeWatchdog;
        end
        if (fail) state_d = StateDraining;
      end
      StateDraining: begin
        if (match && match_code != 8'd0 && !found_q) code_d = match_code;
        if (drained && looked) begin
          ended = 1'b1;
          reset_d = 1'b1;
          state_d = StateIdle;
        end
      end
      default:
        if (drained) begin
          reset_d = 1'b1;
          state_d = StateIdle;
        end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
      start_q <= 1'b0;
      reset_q <= 1'b0;
      done_q <= 1'b0;
      ap_done_q <= 1'b0;
      failed_q <= 1'b0;
      fault_q <= 1'b0;
      expired_q <= 1'b0;
      code_q <= '0;
      cycles_q <= '0;
      isr_q <= '0;
    end else begin
      state_q <= state_d;
      start_q <= start;
      reset_q <= reset_d;
      code_q <= start ? '0 : code_d;
      done_q <= ended || (done_q && !start);
      ap_done_q <= ended || (ap_done_q && !start && !(rd_valid && rd_addr == AddrCtrl));
      failed_q <= fail || (failed_q && !start);
      fault_q <= state_q == StateRunning && !start_q && any_error;
      expired_q <= state_q == StateRunning && watchdog_q != '0 && cycles_q >= watchdog_q;
      isr_q <= (isr_q & ~(wr_valid && wr_addr == AddrIsr ? wr_ones[1:0] : 2'b00)) | (ended ? ier_q : 2'b00);
      if (start) cycles_q <= '0;
      else if (state_q == StateRunning || state_q == StateDraining) cycles_q <= cycles_q + 1'b1;
    end
  end

  // Looks for the lowest element, or port, to blame.
  always_comb begin
    match = 1'b0;
    match_code = 8'd0;
    match_pc = '0;
    for (int unsigned e = 0; e < Elements; e++)
      if (index_q == IndexW'(e) && code_q != CodeBus) begin
        match = (code_q == CodeWatchdog || code_q == CodeAborted) ? !done_i[e] : error_i[e] != 8'd0;
        match_code = (code_q == CodeWatchdog || code_q == CodeAborted) ? 8'd0 : error_i[e];
        match_pc = pc_i[e];
      end
    for (int unsigned n = 0; n < Ports; n++)
      if (index_q == IndexW'(n) && code_q == CodeBus) match = bus_error_i[n];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start) begin
      element_q <= '0;
      pc_q <= '0;
    end else if (state_q == StateDraining && !looked && match) begin
      element_q <= 8'(index_q);
      pc_q <= match_pc;
    end
    found_q <= state_q == StateDraining && (found_q || match);
    index_q <= state_q != StateDraining ? '0 : looked ? index_q : index_q + 1'b1;
  end

  assign start_o = start_q;
  assign halt_o = state_q == StateDraining || state_q == StateClearing;
  assign element_rst_no = rst_ni && !reset_q;
  assign irq_o = gie_q && (isr_q & ier_q) != 2'b00;

  rf_shell_programs #(
      .Elements(Elements),
      .AddrW(AddrW)
  ) u_programs (
      .clk_i,
      .program_i(program_q),
      .stride_i(stride_q),
      .program_o
  );

  // ---- Counters and reads --------------------------------------------------------------------------
  logic [CounterW-1:0] total[Totals];
  logic [31:0]         count_word;
  logic                count_known;

  rf_shell_counters #(
      .Ports(Ports),
      .Counters(Counters),
      .AmountW(AmountW)
  ) u_counters (
      .clk_i,
      .clear_i(start || !rst_ni),
      .count_i((state_q == StateRunning && !start_q) || state_q == StateDraining),
      .rd_beat_i,
      .wr_beat_i,
      .rd_wait_i,
      .wr_wait_i,
      .amount_i,
      .total_o(total)
  );

  always_comb begin
    count_word = '0;
    count_known = 1'b0;
    /* verilator lint_off UNSIGNED */  // a machine may have no counters
    for (int unsigned k = 0; k < Counters; k++)
      if (rd_addr[RegisterAddrW-1:3] == CounterBase[RegisterAddrW-1:3] + (RegisterAddrW - 3)'(k)) begin
        count_word = rd_addr[2] ? 32'(total[4+k] >> 32) : total[4+k][31:0];
        count_known = 1'b1;
      end
    /* verilator lint_on UNSIGNED */
  end

  assign rd_known = rd_addr >= OwnBase ? own_rd_known_i : count_known || readable(rd_addr);

  always_comb
    case (rd_addr)
      AddrCtrl: begin
        rd_data = '0;
        rd_data[CtrlStartLsb] = state_q == StateRunning || state_q == StateDraining;
        rd_data[CtrlDoneLsb] = ap_done_q;
        rd_data[CtrlIdleLsb] = state_q == StateIdle;
        rd_data[CtrlReadyLsb] = ap_done_q;
      end
      AddrGie: rd_data = 32'(gie_q);
      AddrIer: rd_data = 32'(ier_q);
      AddrIsr: rd_data = 32'(isr_q);
      AddrId: rd_data = Id;
      AddrVersion: rd_data = MapVersion;
      AddrStatus: begin
        rd_data = '0;
        rd_data[StatusBusyLsb] = state_q != StateIdle;
        rd_data[StatusDoneLsb] = done_q;
        rd_data[StatusErrorLsb] = failed_q;
        rd_data[StatusAbortedLsb] = failed_q && code_q == CodeAborted;
        rd_data[StatusDrainingLsb] = halt_o;
      end
      AddrError: begin
        rd_data = '0;
        rd_data[ErrorCodeLsb+:ErrorCodeWidth] = code_q;
        rd_data[ErrorElementLsb+:ErrorElementWidth] = element_q;
      end
      AddrPc: rd_data = pc_q;
      AddrProgram: rd_data = program_word[31:0];
      AddrProgramHigh: rd_data = program_word[63:32];
      AddrStride: rd_data = 32'(stride_q);
      AddrCycles: rd_data = cycles_q[31:0];
      AddrCyclesHigh: rd_data = 32'(cycles_q >> 32);
      AddrShape: rd_data = shape_i;
      AddrRange: rd_data = range_i;
      AddrWatchdog: rd_data = watchdog_word[31:0];
      AddrWatchdogHigh: rd_data = watchdog_word[63:32];
      AddrPorts: begin
        rd_data = '0;
        rd_data[PortsCountLsb+:PortsCountWidth] = PortsCountWidth'(Ports);
        rd_data[PortsLogBytesLsb+:PortsLogBytesWidth] = PortsLogBytesWidth'($clog2(PortBytes));
        rd_data[PortsCountersLsb+:PortsCountersWidth] = PortsCountersWidth'(Counters);
      end
      AddrReadBeats: rd_data = total[0][31:0];
      AddrReadBeatsHigh: rd_data = 32'(total[0] >> 32);
      AddrWriteBeats: rd_data = total[1][31:0];
      AddrWriteBeatsHigh: rd_data = 32'(total[1] >> 32);
      AddrReadWaits: rd_data = total[2][31:0];
      AddrReadWaitsHigh: rd_data = 32'(total[2] >> 32);
      AddrWriteWaits: rd_data = total[3][31:0];
      AddrWriteWaitsHigh: rd_data = 32'(total[3] >> 32);
      default: rd_data = rd_addr >= OwnBase ? own_rd_data_i : count_word;
    endcase

`ifndef SYNTHESIS
  // Writes are 3 cycles apart, so programs' addresses have settled when elements start.
  logic [2:0] moved_q;
  always_ff @(posedge clk_i) begin
    moved_q <= {moved_q[1:0], wr_valid && wr_addr inside {AddrProgram, AddrProgramHigh, AddrStride}};
    if (rst_ni && start_q) assert (moved_q == '0) else $error("started before the programs' addresses had settled");
    if (rst_ni && !element_rst_no) assert (drained) else $error("elements are reset while transfers are outstanding");
  end
`endif

endmodule
