// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Constants and types of the psi_wide machine. README.md has the instruction set; python/ringforge/hw/machines/psi_wide
// encodes it.

package psi_wide_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no module uses all of them
  localparam int unsigned AddrW = 48;
  localparam int unsigned PortW = 512;
  localparam int unsigned IndexW = 8;     // of slots and of key rows
  localparam int unsigned ElementW = 12;  // residues modulo 2N: N is 2,048 at most
  localparam int unsigned GadgetW = 4;
  localparam int unsigned PlainBits = 16;

  localparam logic [7:0] ErrorNone = 8'd0;
  localparam logic [7:0] ErrorOperation = 8'd1;
  localparam logic [7:0] ErrorPlace = 8'd2;
  localparam logic [7:0] ErrorOperand = 8'd3;
  localparam logic [7:0] ErrorDegree = 8'd4;
  localparam logic [7:0] ErrorCell = 8'd5;

  typedef enum logic [3:0] {
    OpNone = 4'd0,
    OpTable = 4'd1,
    OpLoad = 4'd2,
    OpStore = 4'd3,
    OpProduct = 4'd4,
    OpLinear = 4'd5,
    OpPlain = 4'd6,
    OpCells = 4'd7
  } op_e;

  // What the gather unit reads.
  typedef enum logic [1:0] {
    TakeOne = 2'd0,         // s1
    TakeSum = 2'd1,         // s1 + s2
    TakeDifference = 2'd2,  // s1 - s2
    TakeReflection = 2'd3   // 2 s1 - s2
  } take_e;

  // What it multiplies with.
  typedef enum logic [1:0] {
    TimesPower = 2'd0,      // X^r
    TimesPowerLess = 2'd1,  // X^r - 1
    TimesScalar = 2'd2      // the register SCALAR
  } times_e;

  // What becomes of the gathered b, if only a is cut into digits.
  typedef enum logic [1:0] {
    BesideNone = 2'd0,
    BesideB = 2'd1,  // (0, b) is added
    BesideA = 2'd2   // (b, 0) is added
  } beside_e;
  /* verilator lint_on UNUSEDPARAM */

  typedef struct packed {
    logic [39:0]         address;  // in beats of 64 bytes
    logic [IndexW-1:0]   target;
    logic [IndexW-1:0]   row;
    logic [IndexW-1:0]   init;
    logic                spare;
    logic                fence;    // what was stored before is in memory
    logic                to_row;   // the target, or what is loaded, is a key row
    logic [1:0]          beside;
    logic                has_init;
    logic                negate;
    logic                both;     // digits of a and of b
    logic [GadgetW-1:0]  gadget_b;
    logic [GadgetW-1:0]  gadget_a;
    logic [ElementW-1:0] power;
    logic [ElementW-1:0] element;
    logic [IndexW-1:0]   s2;
    logic [IndexW-1:0]   s1;       // or a count, or which table
    logic [1:0]          times;
    logic [1:0]          take;
    logic [3:0]          op;
  } instruction_t;

  // A gadget: what is added before digits are cut, and how they are cut.
  typedef struct packed {
    logic [63:0] offset;
    logic        balanced;
    logic [5:0]  drop;
    logic [4:0]  count;
    logic [4:0]  log_base;
  } gadget_t;

  // Places that an instruction in flight reads or writes.
  typedef struct packed {
    logic            valid;
    logic            row;    // of key rows, else of slots
    logic [IndexW:0] first;
    logic [IndexW:0] last;   // the one behind the last
  } places_t;

  typedef struct packed {
    logic         all;       // everything: nothing else may be in flight
    places_t      target;
    places_t      source;    // key rows, or slots that are stored
    places_t [2:0] slot;
  } claim_t;

  function automatic logic meets(places_t x, places_t y);
    return x.valid && y.valid && x.row == y.row && x.first < y.last && y.first < x.last;
  endfunction

  // Whether two instructions must not be in flight together: one writes what the other reads or writes.
  function automatic logic collides(claim_t x, claim_t y);
    collides = x.all || y.all || meets(x.target, y.target) || meets(x.target, y.source) || meets(x.source, y.target);
    for (int i = 0; i < 3; i++) collides = collides || meets(x.target, y.slot[i]) || meets(x.slot[i], y.target);
  endfunction

  // A product's or a sum of rows' way through the second half of the machine.
  typedef struct packed {
    logic [3:0]         id;
    logic               plain;    // rows of numbers
    logic               cells;    // monomials: a row of numbers says which
    logic               both;
    logic               negate;
    logic [GadgetW-1:0] gadget_a;
    logic [GadgetW-1:0] gadget_b;
    logic [IndexW-1:0]  rows;     // of a sum, or its monomials
    logic [IndexW-1:0]  limit;    // key rows that monomials may name
    logic [IndexW-1:0]  row;
    logic               has_init;
    logic [IndexW-1:0]  init;
    logic [1:0]         beside;
    logic               to_row;
    logic [IndexW-1:0]  target;
  } job_t;

  // One transform of it, as the multipliers need it.
  typedef struct packed {
    logic [3:0]        id;
    logic              first;
    logic              last;
    logic              monomial;  // X^power in place of what comes out of the transform
    logic [ElementW-1:0] power;
    logic [IndexW-1:0] row;
    logic              has_init;
    logic [IndexW-1:0] init;
    logic [1:0]        beside;
    logic              to_row;
    logic [IndexW-1:0] target;
  } pass_t;

  // A transfer from or to memory.
  typedef struct packed {
    logic [3:0]        id;
    logic [3:0]        op;
    logic              to_row;
    logic [IndexW-1:0] first;
    logic [IndexW-1:0] count;  // or which table
    logic [39:0]       address;
  } move_t;
endpackage
