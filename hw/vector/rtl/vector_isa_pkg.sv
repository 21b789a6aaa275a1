// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Instruction set of the vector family. Made from hw/vector/isa.json (edit that file) by
// `python -m ringforge.hw.vector.isa`.
package vector_isa_pkg;
  /* verilator lint_off UNUSEDPARAM */  // the description has more than one machine needs

  localparam int unsigned InstrBits = 256;
  localparam int unsigned Moduli = 32;
  localparam int unsigned MaxModuli = 64;
  localparam logic [2:0] TwiddleBank = 3'd7;

  // Fields: lowest bit in the instruction, and width.
  localparam int unsigned OpLsb = 0;  // operation
  localparam int unsigned OpWidth = 8;
  localparam int unsigned ModLsb = 8;  // entry of the modulus table to compute with
  localparam int unsigned ModWidth = 5;
  localparam int unsigned SrcModLsb = 13;  // modulus of the source, for a centred lift
  localparam int unsigned SrcModWidth = 5;
  localparam int unsigned LiftLsb = 18;  // lift the source: x > p/2 becomes x - p, then modulo q
  localparam int unsigned LiftWidth = 1;
  localparam int unsigned PreSubLsb = 19;  // subtract c from a before multiplying
  localparam int unsigned PreSubWidth = 1;
  localparam int unsigned PostAddLsb = 20;  // add c after multiplying
  localparam int unsigned PostAddWidth = 1;
  localparam int unsigned BFromLsb = 21;  // where the multiplier B is: 0 imm, 1 the next streamed polynomial, 2 slot b
  localparam int unsigned BFromWidth = 2;
  localparam int unsigned ScopeLsb = 23;  // who meets at a SYNC: 0 this element only, 1 its group, 2 the machine
  localparam int unsigned ScopeWidth = 2;
  localparam int unsigned SrcPeLsb = 25;  // element of the group that sends
  localparam int unsigned SrcPeWidth = 7;
  localparam int unsigned MaskLsb = 32;  // elements of the group that receive, a bit each
  localparam int unsigned MaskWidth = 32;
  localparam int unsigned ModHighLsb = 32;  // bit 5 of mod, on machines with more than 32 moduli
  localparam int unsigned ModHighWidth = 1;
  localparam int unsigned SrcModHighLsb = 33;  // bit 5 of src_mod, on machines with more than 32 moduli
  localparam int unsigned SrcModHighWidth = 1;
  localparam int unsigned DstLsb = 64;  // slot written: bank in bits 15..13, first row in bits 12..0
  localparam int unsigned DstWidth = 16;
  localparam int unsigned ALsb = 80;  // slot read
  localparam int unsigned AWidth = 16;
  localparam int unsigned CLsb = 96;  // second slot read
  localparam int unsigned CWidth = 16;
  localparam int unsigned TwLsb = 112;  // twiddle slot, in the twiddle bank
  localparam int unsigned TwWidth = 16;
  localparam int unsigned BLsb = 112;  // slot of the multiplier
  localparam int unsigned BWidth = 16;
  localparam int unsigned ImmLsb = 128;  // immediate number
  localparam int unsigned ImmWidth = 64;
  localparam int unsigned PairDstLsb = 128;  // slot that the second transform of a pair writes
  localparam int unsigned PairDstWidth = 16;
  localparam int unsigned PairALsb = 144;  // slot that the second transform of a pair reads
  localparam int unsigned PairAWidth = 16;
  localparam int unsigned PairTwLsb = 160;  // twiddle slot of the second transform of a pair
  localparam int unsigned PairTwWidth = 16;
  localparam int unsigned PairModLsb = 176;  // modulus of the second transform of a pair
  localparam int unsigned PairModWidth = 6;
  localparam int unsigned PairLsb = 191;  // two transforms, row beside row, on machines with shared ALUs
  localparam int unsigned PairWidth = 1;
  localparam int unsigned AddrLsb = 192;  // byte address in DRAM, or a second immediate
  localparam int unsigned AddrWidth = 64;

  // Operations.
  localparam logic [7:0] OpEnd = 8'd1;
  localparam logic [7:0] OpSync = 8'd2;
  localparam logic [7:0] OpConf = 8'd3;
  localparam logic [7:0] OpModulus = 8'd4;
  localparam logic [7:0] OpStream = 8'd16;
  localparam logic [7:0] OpLoad = 8'd17;
  localparam logic [7:0] OpStore = 8'd18;
  localparam logic [7:0] OpCopy = 8'd19;
  localparam logic [7:0] OpSend = 8'd24;
  localparam logic [7:0] OpRecv = 8'd25;
  localparam logic [7:0] OpReduce = 8'd26;
  localparam logic [7:0] OpNtt = 8'd32;
  localparam logic [7:0] OpIntt = 8'd33;
  localparam logic [7:0] OpAuto = 8'd34;
  localparam logic [7:0] OpMac = 8'd48;

  // Values of fields.
  localparam logic [1:0] ScopeElement = 2'd0;
  localparam logic [1:0] ScopeGroup = 2'd1;
  localparam logic [1:0] ScopeMachine = 2'd2;
  localparam logic [1:0] BFromImm = 2'd0;
  localparam logic [1:0] BFromStream = 2'd1;
  localparam logic [1:0] BFromSlot = 2'd2;

  /* verilator lint_on UNUSEDPARAM */
endpackage
