// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Constants and types of the omr machine. README.md has the instruction set; python/ringforge/hw/machines/omr encodes it.

package omr_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no module uses all of them
  localparam int unsigned AddrW = 48;
  localparam int unsigned StrideW = 64;       // of the registers that say where SUM's operands lie
  localparam int unsigned InstructionW = 512;
  localparam int unsigned ElementW = 17;      // residues modulo 2N: N is 2^16 at most
  localparam int unsigned CounterW = 16;      // completed instructions of a unit

  // Storage of every configuration; X and D buffers are parameters (Buffers, Banks).
  localparam int unsigned Twiddles = 2;
  localparam int unsigned Quotients = 4;      // V
  localparam int unsigned Accumulators = 2;   // pairs
  localparam int unsigned Moduli = 64;        // entries of a way's table
  localparam int unsigned Constants = 2048;   // words of a way's table
  localparam int unsigned ModulusIndexW = $clog2(Moduli);
  localparam int unsigned ConstantIndexW = $clog2(Constants);
  localparam int unsigned QuotientBits = 6;   // of a quotient above its W fractional bits

  localparam logic [7:0] ErrorNone = 8'd0;
  localparam logic [7:0] ErrorOperation = 8'd1;
  localparam logic [7:0] ErrorPlace = 8'd2;
  localparam logic [7:0] ErrorOperand = 8'd3;
  localparam logic [7:0] ErrorDegree = 8'd4;

  typedef enum logic [3:0] {
    OpNone = 4'd0,
    OpLoadX = 4'd1,
    OpLoadT = 4'd2,
    OpLoadC = 4'd3,
    OpLoadM = 4'd4,
    OpNtt = 4'd5,
    OpIntt = 4'd6,
    OpAuto = 4'd7,
    OpScale = 4'd8,
    OpConv = 4'd9,
    OpKmac = 4'd10,
    OpFinal = 4'd11,
    OpStore = 4'd12,
    OpSum = 4'd13
  } op_e;

  localparam int unsigned Units = 8;
  localparam int unsigned UnitW = $clog2(Units);
  localparam int unsigned UnitLoad = 0;
  localparam int unsigned UnitXform = 1;
  localparam int unsigned UnitScale = 2;
  localparam int unsigned UnitConv = 3;
  localparam int unsigned UnitKmac = 4;
  localparam int unsigned UnitFinal = 5;
  localparam int unsigned UnitStore = 6;
  localparam int unsigned UnitSum = 7;

  // Clients of a way's general port, beside its keys' port and way 0's program.
  localparam int unsigned ReadClients = 4;
  localparam int unsigned ReadLoad = 0;
  localparam int unsigned ReadKmac = 1;
  localparam int unsigned ReadFinal = 2;
  localparam int unsigned ReadStore = 3;
  /* verilator lint_on UNUSEDPARAM */

  // What a unit is told.
  typedef struct packed {
    logic [3:0]          op;
    logic [7:0]          dst;
    logic [7:0]          src;
    logic [7:0]          mod;
    logic [15:0]         k;
    logic [7:0]          bank;
    logic [3:0]          part;
    logic [3:0]          ways;         // mask of those that are active
    logic [AddrW-1:0]    addr0;
    logic [AddrW-1:0]    addr1;
    logic [15:0]         count;
    logic                init;
    logic                from_memory;
    logic                to_x;
    logic                add;
    logic [ElementW-1:0] element;
    logic [AddrW-1:0]    stride0;      // from one way's address to the next one's; of SUM: where its results go
    logic [AddrW-1:0]    stride1;
  } instr_t;

  // What it waits for: counts of completed instructions of the units of `need`.
  typedef struct packed {
    logic [Units-1:0]               need;
    logic [Units-1:0][CounterW-1:0] count;
  } waits_t;

  /* verilator lint_off UNUSEDSIGNAL */  // instructions have spare bits
  function automatic instr_t instruction_of(logic [InstructionW-1:0] raw);
    return '{
      op: raw[3:0], dst: raw[11:4], src: raw[19:12], mod: raw[27:20], k: raw[43:28], bank: raw[51:44], part: raw[55:52],
      ways: raw[59:56], addr0: raw[64+:AddrW], addr1: raw[128+:AddrW], count: raw[192+:16], init: raw[208],
      from_memory: raw[209], to_x: raw[210], add: raw[211], element: raw[224+:ElementW], stride0: raw[384+:AddrW],
      stride1: raw[448+:AddrW]
    };
  endfunction

  function automatic waits_t waits_of(logic [InstructionW-1:0] raw);
    return '{need: raw[248+:Units], count: raw[256+:Units*CounterW]};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic logic [UnitW-1:0] unit_of(logic [3:0] op);
    case (op)
      OpLoadX, OpLoadT, OpLoadC, OpLoadM: return UnitW'(UnitLoad);
      OpNtt, OpIntt, OpAuto: return UnitW'(UnitXform);
      OpScale: return UnitW'(UnitScale);
      OpConv: return UnitW'(UnitConv);
      OpKmac: return UnitW'(UnitKmac);
      OpFinal: return UnitW'(UnitFinal);
      OpStore: return UnitW'(UnitStore);
      default: return UnitW'(UnitSum);
    endcase
  endfunction
endpackage
