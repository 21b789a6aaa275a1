// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The FHEW accelerator's instruction words, queue commands, and what its units tell each other.
//
// A beat is 512 bits of memory: four words of a polynomial a, then four of b, 64 bits each; an RLWE, or a row of a key,
// is N/4 beats in Eval order. An element of a key's address is 16 KiB.
package psi_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no module uses all of them

  localparam int unsigned AddrW = 48;
  localparam int unsigned PortW = 512;
  localparam int unsigned Coefficients = 4;  // of each polynomial in a beat
  localparam int unsigned DegreeW = 4;       // bits of log2 N
  localparam int unsigned MostLogN = 12;
  localparam int unsigned ElementW = 12;     // bits of X -> X^k's k, as SUBST has them
  localparam int unsigned LweW = 10;         // bits of a value modulo the LWE modulus, at most 2^LweW
  localparam int unsigned Substitutions = 16;
  localparam int unsigned Gates = 6;
  localparam int unsigned KeyW = 20;         // bits of a key's address
  localparam int unsigned KeyUnitLog = 14;   // in units of 16 KiB
  localparam int unsigned KeyBurst = 64;     // beats of a key burst at most: 4 KiB
  localparam int unsigned KeyBursts = 31;    // key bursts that may be outstanding

  // ---- Instructions --------------------------------------------------------------------------------
  // [31:30] operation
  typedef enum logic [1:0] {
    OpStep,        // product of the RLWE from the loop FIFO: [29] last, [19:0] key
    OpSubstitute,  // substitution of the RLWE from the input FIFO: [29:26] entry of SUBST
    OpInit,        // product of an accumulator made here: [29:27] gate, [26:17] b, [16:0] key
    OpProduct      // product of the RLWE from the input FIFO: [29] last, [19:0] key
  } op_e;

  // How coefficients are cut into digits.
  typedef struct packed {
    logic       balanced;
    logic [5:0] drop;
    logic [3:0] count;     // 1 ... 15
    logic [5:0] log_base;  // 1 ... 31
  } gadget_t;

  localparam int unsigned Gadgets = 3;  // of products' a, products' b, substitutions' a
  localparam int unsigned GadgetA = 0;
  localparam int unsigned GadgetB = 1;
  localparam int unsigned GadgetS = 2;

  // What goes along with an RLWE through the pipeline.
  typedef struct packed {
    op_e                 op;
    logic                to_loop;  // its result goes to the loop FIFO, else to the output FIFO
    logic [ElementW-1:0] element;  // X -> X^element of a substitution; 1 of a product
    // OpInit: coefficient i * 2N / q is -(floor(Q/8) + 1) if (start - i) mod q < q / 2, else its negative; q of LWE.
    logic [LweW-1:0]     start;
  } job_t;

  // ---- Commands of the queue, 64 bits --------------------------------------------------------------
  // [63:60] command
  typedef enum logic [3:0] {
    CommandEnd,     // all results that were asked for are in memory: the run ends
    CommandExec,    // [31:0] instruction
    CommandInput,   // [47:0] address of an RLWE, into the input FIFO
    CommandOutput,  // [47:0] where the next result goes
    CommandTables,  // [47:0] address of the table of twiddles: N words, 8 in a beat
    CommandSet      // [59:48] register, [31:0] value; when all before has ended
  } command_e;

  // ---- Registers of its own: addresses of bytes (registers.json) ------------------------------------
  localparam logic [11:0] AddrMode = 12'h100;
  localparam logic [11:0] AddrLogN = 12'h104;
  localparam logic [11:0] AddrQ = 12'h108;
  localparam logic [11:0] AddrBarrett = 12'h110;
  localparam logic [11:0] AddrShift = 12'h118;
  localparam logic [11:0] AddrLwe = 12'h11c;
  localparam logic [11:0] AddrKeyBase = 12'h120;
  localparam logic [11:0] AddrGadget = 12'h130;   // 3 words
  localparam logic [11:0] AddrOffset = 12'h140;   // 3 of 64 bits
  localparam logic [11:0] AddrBound = 12'h160;    // 6 words
  localparam logic [11:0] AddrSubst = 12'h180;    // 16 words
  localparam logic [11:0] AddrInstruction = 12'h1c0;
  localparam logic [11:0] AddrInput = 12'h1c4;
  localparam logic [11:0] AddrOutput = 12'h1c8;
  localparam logic [11:0] AddrTables = 12'h1cc;
  localparam logic [11:0] AddrFinish = 12'h1d0;
  localparam logic [11:0] AddrFifoState = 12'h1d4;
  localparam logic [11:0] AddrTwiddleIndex = 12'h1d8;
  localparam logic [11:0] AddrTwiddle = 12'h1e0;

  // ---- Errors --------------------------------------------------------------------------------------
  typedef enum logic [7:0] {
    ErrorNone,
    ErrorSettings,     // a register holds what this machine does not have
    ErrorInstruction,  // an instruction names an element, gate or number that does not exist
    ErrorCommand,      // no such command, an address that is not aligned, or a register that is not set so
    ErrorStuck         // nothing moves: a command waits for what only later commands would do
  } error_e;

  /* verilator lint_on UNUSEDPARAM */
endpackage
