// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Control registers of every machine. Made from hw/shell/registers.json (edit that file) by
// `python -m ringforge.hw.core.registers`.
package rf_shell_pkg;
  /* verilator lint_off UNUSEDPARAM */  // the description has more than one module needs

  localparam int unsigned RegisterAddrW = 12;
  localparam int unsigned CounterW = 48;
  localparam int unsigned MostCounters = 8;
  localparam logic [31:0] MapVersion = 32'd2;
  localparam logic [11:0] CounterBase = 12'h0c0;
  localparam logic [11:0] OwnBase = 12'h100;

  // Addresses of registers, and bits of their fields.
  localparam logic [11:0] AddrCtrl = 12'h000;
  localparam int unsigned CtrlStartLsb = 0;
  localparam int unsigned CtrlDoneLsb = 1;
  localparam int unsigned CtrlIdleLsb = 2;
  localparam int unsigned CtrlReadyLsb = 3;
  localparam logic [11:0] AddrGie = 12'h004;
  localparam int unsigned GieEnableLsb = 0;
  localparam logic [11:0] AddrIer = 12'h008;
  localparam int unsigned IerDoneLsb = 0;
  localparam int unsigned IerReadyLsb = 1;
  localparam logic [11:0] AddrIsr = 12'h00c;
  localparam int unsigned IsrDoneLsb = 0;
  localparam int unsigned IsrReadyLsb = 1;
  localparam logic [11:0] AddrId = 12'h010;
  localparam logic [11:0] AddrVersion = 12'h014;
  localparam logic [11:0] AddrCommand = 12'h018;
  localparam int unsigned CommandResetLsb = 0;
  localparam int unsigned CommandAbortLsb = 1;
  localparam logic [11:0] AddrStatus = 12'h01c;
  localparam int unsigned StatusBusyLsb = 0;
  localparam int unsigned StatusDoneLsb = 1;
  localparam int unsigned StatusErrorLsb = 2;
  localparam int unsigned StatusAbortedLsb = 3;
  localparam int unsigned StatusDrainingLsb = 4;
  localparam logic [11:0] AddrError = 12'h020;
  localparam int unsigned ErrorCodeLsb = 0;
  localparam int unsigned ErrorCodeWidth = 8;
  localparam int unsigned ErrorElementLsb = 8;
  localparam int unsigned ErrorElementWidth = 8;
  localparam logic [11:0] AddrPc = 12'h024;
  localparam logic [11:0] AddrProgram = 12'h028;
  localparam logic [11:0] AddrProgramHigh = 12'h02c;
  localparam logic [11:0] AddrStride = 12'h030;
  localparam logic [11:0] AddrCycles = 12'h034;
  localparam logic [11:0] AddrCyclesHigh = 12'h038;
  localparam logic [11:0] AddrShape = 12'h03c;
  localparam logic [11:0] AddrRange = 12'h040;
  localparam logic [11:0] AddrWatchdog = 12'h044;
  localparam logic [11:0] AddrWatchdogHigh = 12'h048;
  localparam logic [11:0] AddrPorts = 12'h04c;
  localparam int unsigned PortsCountLsb = 0;
  localparam int unsigned PortsCountWidth = 8;
  localparam int unsigned PortsLogBytesLsb = 8;
  localparam int unsigned PortsLogBytesWidth = 8;
  localparam int unsigned PortsCountersLsb = 16;
  localparam int unsigned PortsCountersWidth = 8;
  localparam logic [11:0] AddrReadBeats = 12'h080;
  localparam logic [11:0] AddrReadBeatsHigh = 12'h084;
  localparam logic [11:0] AddrWriteBeats = 12'h088;
  localparam logic [11:0] AddrWriteBeatsHigh = 12'h08c;
  localparam logic [11:0] AddrReadWaits = 12'h090;
  localparam logic [11:0] AddrReadWaitsHigh = 12'h094;
  localparam logic [11:0] AddrWriteWaits = 12'h098;
  localparam logic [11:0] AddrWriteWaitsHigh = 12'h09c;

  // Error codes that every machine has.
  localparam logic [7:0] CodeBus = 8'd6;
  localparam logic [7:0] CodeWatchdog = 8'd7;
  localparam logic [7:0] CodeAborted = 8'd8;

  // Is there a register that reads at this word address? Neither counters nor a machine's own.
  function automatic logic readable(input logic [11:0] addr);
    case (addr)
      AddrCtrl, AddrGie, AddrIer, AddrIsr, AddrId,
      AddrVersion, AddrCommand, AddrStatus, AddrError, AddrPc,
      AddrProgram, AddrProgramHigh, AddrStride, AddrCycles, AddrCyclesHigh,
      AddrShape, AddrRange, AddrWatchdog, AddrWatchdogHigh, AddrPorts,
      AddrReadBeats, AddrReadBeatsHigh, AddrWriteBeats, AddrWriteBeatsHigh, AddrReadWaits,
      AddrReadWaitsHigh, AddrWriteWaits, AddrWriteWaitsHigh: readable = 1'b1;
      default: readable = 1'b0;
    endcase
  endfunction

  // Is there a register that writes at this word address? Neither counters nor a machine's own.
  function automatic logic writable(input logic [11:0] addr);
    case (addr)
      AddrCtrl, AddrGie, AddrIer, AddrIsr, AddrCommand,
      AddrProgram, AddrProgramHigh, AddrStride, AddrWatchdog, AddrWatchdogHigh: writable = 1'b1;
      default: writable = 1'b0;
    endcase
  endfunction

  /* verilator lint_on UNUSEDPARAM */
endpackage
