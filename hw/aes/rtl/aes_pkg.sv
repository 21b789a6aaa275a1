// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Constants and types of the aes machine. README.md has the instruction set; python/ringforge/hw/machines/aes encodes it.

package aes_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no module uses all of them
  localparam int unsigned AddrW = 48;
  localparam int unsigned WordW = 32;         // residues are below 2^31
  localparam int unsigned NarrowWords = 8;    // of a narrow row, which is a beat of a port
  localparam int unsigned NarrowW = WordW * NarrowWords;
  localparam int unsigned InstructionW = 256;
  localparam int unsigned CounterW = 16;      // completed instructions of a unit
  localparam int unsigned RowsW = 32;         // of LOADT's count

  localparam int unsigned Buffers = 4;        // X
  localparam int unsigned Slots = 4;          // S
  localparam int unsigned Keys = 2;           // K
  localparam int unsigned Sets = 2;           // tables and constants

  localparam int unsigned EnginePaper = 0;
  localparam int unsigned EngineFast = 1;

  localparam logic [7:0] ErrorNone = 8'd0;
  localparam logic [7:0] ErrorOperation = 8'd1;
  localparam logic [7:0] ErrorPlace = 8'd2;
  localparam logic [7:0] ErrorRows = 8'd3;
  localparam logic [7:0] ErrorDegree = 8'd4;

  typedef enum logic [3:0] {
    OpNone = 4'd0,
    OpLoadS = 4'd1,
    OpLoadX = 4'd2,
    OpLoadK = 4'd3,
    OpLoadT = 4'd4,
    OpLoadC = 4'd5,
    OpRevS = 4'd6,
    OpRevX = 4'd7,
    OpNtt = 4'd8,
    OpMul = 4'd9,
    OpScale = 4'd10,
    OpStore = 4'd11
  } op_e;

  localparam int unsigned Units = 4;
  localparam int unsigned UnitW = $clog2(Units);
  localparam int unsigned UnitLoad = 0;
  localparam int unsigned UnitMove = 1;
  localparam int unsigned UnitExec = 2;
  localparam int unsigned UnitStore = 3;
  /* verilator lint_on UNUSEDPARAM */

  // What a unit is told.
  typedef struct packed {
    logic [3:0]       op;
    logic [3:0]       dst;
    logic [3:0]       src;
    logic [3:0]       src2;
    logic             set;
    logic             init;
    logic             half;
    logic             key;
    logic             inverse;
    logic             port;
    logic [AddrW-1:0] addr;
    logic [RowsW-1:0] rows;
  } instr_t;

  // What it waits for: counts of completed instructions of the units of `need`.
  typedef struct packed {
    logic [Units-1:0]               need;
    logic [Units-1:0][CounterW-1:0] count;
  } waits_t;

  /* verilator lint_off UNUSEDSIGNAL */  // instructions have spare bits
  function automatic instr_t instruction_of(logic [InstructionW-1:0] raw);
    return '{
      op: raw[3:0], dst: raw[7:4], src: raw[11:8], src2: raw[15:12], set: raw[16], init: raw[17], half: raw[18],
      key: raw[19], inverse: raw[20], port: raw[21], addr: raw[64+:AddrW], rows: raw[192+:RowsW]
    };
  endfunction

  function automatic waits_t waits_of(logic [InstructionW-1:0] raw);
    return '{need: raw[24+:Units], count: raw[128+:Units*CounterW]};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic logic [UnitW-1:0] unit_of(logic [3:0] op);
    case (op)
      OpRevS, OpRevX: return UnitW'(UnitMove);
      OpNtt, OpMul, OpScale: return UnitW'(UnitExec);
      OpStore: return UnitW'(UnitStore);
      default: return UnitW'(UnitLoad);
    endcase
  endfunction
endpackage
