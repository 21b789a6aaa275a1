// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Types shared by the modules of the vector family. Field positions and operation codes are in vector_isa_pkg,
// generated from isa.json.
package vector_pkg;
  localparam int unsigned AddrW = 48;
  localparam int unsigned BeatBits = 9;      // beats of a burst, 1 ... 256, as AXI has them
  localparam int unsigned BurstBytes = 4096; // a burst stays inside such a block
  localparam int unsigned FetchDepth = 16;   // rows that the instruction fetch holds, if they are within BurstBytes
  localparam int unsigned MaxShift = 7;      // primes may be this many bits shorter than words
  localparam int unsigned SlotRows = 8192;   // rows that a slot code reaches
  localparam int unsigned StreamQueue = 8;   // polynomials requested ahead
  localparam int unsigned LoadQueue = 4;     // LOADs under way

  // A polynomial in the scratchpad: bank and first row.
  typedef struct packed {
    logic [2:0]  bank;
    logic [12:0] row;
  } slot_t;

  // An instruction, field by field (isa.json).
  typedef struct packed {
    logic [7:0]  op;
    logic [4:0]  mod;
    logic [4:0]  src_mod;
    logic        lift;
    logic        pre_sub;
    logic        post_add;
    logic [1:0]  b_from;
    logic [1:0]  scope;
    logic [6:0]  src_pe;
    logic [31:0] mask;
    slot_t       dst;
    slot_t       a;
    slot_t       b;         // multiplier, or twiddle table
    slot_t       c;
    logic [63:0] imm;
    logic [63:0] addr;
  } instr_t;

  function automatic instr_t decode(input logic [255:0] x);
    decode.op = x[vector_isa_pkg::OpLsb+:8];
    decode.mod = x[vector_isa_pkg::ModLsb+:5];
    decode.src_mod = x[vector_isa_pkg::SrcModLsb+:5];
    decode.lift = x[vector_isa_pkg::LiftLsb];
    decode.pre_sub = x[vector_isa_pkg::PreSubLsb];
    decode.post_add = x[vector_isa_pkg::PostAddLsb];
    decode.b_from = x[vector_isa_pkg::BFromLsb+:2];
    decode.scope = x[vector_isa_pkg::ScopeLsb+:2];
    decode.src_pe = x[vector_isa_pkg::SrcPeLsb+:7];
    decode.mask = x[vector_isa_pkg::MaskLsb+:32];
    decode.dst = slot_t'(x[vector_isa_pkg::DstLsb+:16]);
    decode.a = slot_t'(x[vector_isa_pkg::ALsb+:16]);
    decode.b = slot_t'(x[vector_isa_pkg::BLsb+:16]);
    decode.c = slot_t'(x[vector_isa_pkg::CLsb+:16]);
    decode.imm = x[vector_isa_pkg::ImmLsb+:64];
    decode.addr = x[vector_isa_pkg::AddrLsb+:64];
  endfunction

  // Entries of the modulus table, with the bits that machines of more than 32 moduli take from the mask.
  /* verilator lint_off UNUSEDSIGNAL */  // fields of an instruction matter here
  function automatic logic [5:0] entry(input instr_t x);
    return {x.mask[vector_isa_pkg::ModHighLsb-vector_isa_pkg::MaskLsb], x.mod};
  endfunction
  function automatic logic [5:0] src_entry(input instr_t x);
    return {x.mask[vector_isa_pkg::SrcModHighLsb-vector_isa_pkg::MaskLsb], x.src_mod};
  endfunction
  function automatic logic [5:0] pair_entry(input instr_t x);
    return x.imm[vector_isa_pkg::PairModLsb-vector_isa_pkg::ImmLsb+:6];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // Clients of a DRAM read port, per element.
  localparam int unsigned ReadClients = 3;
  localparam int unsigned FetchClient = 0;
  localparam int unsigned LoadClient = 1;
  localparam int unsigned StreamClient = 2;

  typedef struct packed {
    logic             valid;
    logic [AddrW-1:0] addr;
    logic [BeatBits-1:0] beats;
  } request_t;

  typedef enum logic [3:0] {
    ErrNone = 4'd0,
    ErrOpcode = 4'd1,     // unknown operation
    ErrSlot = 4'd2,       // slot outside the scratchpad, not aligned, or two sources in one bank
    ErrConfig = 4'd3,     // CONF missing, or a degree, shift or modulus that the machine does not have
    ErrAddress = 4'd4,    // DRAM address not aligned to the polynomial
    ErrOperand = 4'd5,    // Galois element, element number or mask out of range
    ErrBus = 4'd6         // DRAM answered with an error
  } error_e;
endpackage
