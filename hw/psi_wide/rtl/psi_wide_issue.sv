// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Takes instructions in order and starts each when nothing in flight stands against it.
//
// Function    An instruction in flight has an entry with the places that it reads and writes. One starts when no entry
//             writes what it touches, or touches what it writes, when no store is in flight if it has the bit `fence`,
//             when its unit takes it, and when all that it will need on its way has been reserved: places for
//             polynomials between the transforms, for the b beside them, for the lines of a linear instruction. So
//             nothing that has started ever waits for something that has not.
// Latency     3 from an instruction to its start
// Throughput  one instruction in three cycles
// Ranges      error_o: ErrorOperation for an unknown one; ErrorPlace for slots and key rows that there are not;
//             ErrorOperand for a count or a gadget without digits, more monomials than a row of numbers holds, an even
//             element, b beside digits of b, no such factor or table, or a linear instruction that maps a slot onto
//             itself, line by line. An instruction that is refused and all behind it do not start; error_o tells when
//             those before it have ended, so that what they find wrong comes first.

module psi_wide_issue
  import psi_wide_pkg::*;
#(
  parameter int unsigned Slots = 16,
  parameter int unsigned Rows = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Polys = 8,
  parameter int unsigned LinearDepth = 2,
  parameter int unsigned Entries = 12,
  localparam int unsigned PolyW = $clog2(Polys)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             start_i,
  input  logic             halt_i,
  input  logic             short_i,
  input  gadget_t          gadget_i [1 << GadgetW],

  input  logic             valid_i,
  output logic             ready_o,
  input  instruction_t     instruction_i,

  output logic             gather_go_o,
  input  logic             gather_ready_i,
  output logic             linear_go_o,
  output logic             job_valid_o,
  input  logic             job_ready_i,
  output job_t             job_o,
  output logic             load_valid_o,
  input  logic             load_ready_i,
  output logic             store_valid_o,
  input  logic             store_ready_i,
  output move_t            move_o,
  output instruction_t     issued_o,      // what starts, with its number
  output logic [3:0]       id_o,

  input  logic             poly_free_i,
  input  logic             beside_free_i,
  input  logic [3:0]       done_i,        // instructions that have ended
  input  logic [3:0]       done_id_i [4],
  input  logic             linear_done_i,

  output logic             idle_o,
  output logic             waiting_o,     // an instruction is at hand and does not start
  output logic [7:0]       error_o,
  output logic [31:0]      count_o
);
  if (Entries < 2 || Entries > 16) begin : g_check
    $error("psi_wide_issue: Entries must be between 2 and 16");
  end

  // ---- What an instruction touches -----------------------------------------------------------------
  function automatic places_t places(logic valid, logic row, logic [IndexW-1:0] first, logic [IndexW:0] size);
    return '{valid: valid, row: row, first: {1'b0, first}, last: {1'b0, first} + size};
  endfunction

  function automatic logic outside(places_t p);
    return p.valid && (p.last > (IndexW+1)'(p.row ? Rows : Slots) || p.first >= p.last);
  endfunction

  op_e              op;
  logic             gathers, sums;
  logic [IndexW:0]  count, digits;
  claim_t           claim, claim_q;
  logic [7:0]       error;
  logic [4:0]       count_a, count_b;  // of digits

  assign op = op_e'(instruction_i.op);
  assign gathers = op == OpProduct || op == OpLinear;
  assign sums = op == OpPlain || op == OpCells;
  assign count_a = gadget_i[instruction_i.gadget_a].count;
  assign count_b = gadget_i[instruction_i.gadget_b].count;
  assign count = {1'b0, instruction_i.s1};
  assign digits = (IndexW+1)'(count_a) + (instruction_i.both ? (IndexW+1)'(count_b) : '0);

  always_comb begin
    claim = '0;
    claim.all = op == OpTable;
    claim.target = places(gathers || sums || op == OpLoad, instruction_i.to_row, instruction_i.target,
                          op == OpLoad ? count : (IndexW+1)'(1));
    case (op)
      OpProduct: claim.source = places(1'b1, 1'b1, instruction_i.row, digits);
      OpPlain: claim.source = places(1'b1, 1'b1, instruction_i.row, count);
      OpCells: claim.source = places(1'b1, 1'b1, instruction_i.row, {1'b0, instruction_i.s2});
      OpStore: claim.source = places(1'b1, 1'b0, instruction_i.target, count);
      default: claim.source = '0;
    endcase
    claim.slot[0] = places(gathers, 1'b0, instruction_i.s1, (IndexW+1)'(1));
    claim.slot[1] = places(gathers && instruction_i.take != TakeOne, 1'b0, instruction_i.s2, (IndexW+1)'(1));
    claim.slot[2] = places((op == OpProduct || sums) && instruction_i.has_init, 1'b0, instruction_i.init,
                           (IndexW+1)'(1));

    error = ErrorNone;
    if (outside(claim.target) || outside(claim.source) || outside(claim.slot[0]) || outside(claim.slot[1]) ||
        outside(claim.slot[2])) error = ErrorPlace;
    if ((op == OpLoad || op == OpStore || sums) && count == '0) error = ErrorOperand;
    if (op == OpCells && instruction_i.s2 == '0) error = ErrorOperand;
    if (op == OpCells && 32'(count) > (32'd1 << (MaxLogN - 1)) >> short_i) error = ErrorOperand;
    if (op == OpTable && instruction_i.s1 > IndexW'(2)) error = ErrorOperand;
    if (gathers && (!instruction_i.element[0] || instruction_i.times == 2'd3)) error = ErrorOperand;
    if (op == OpProduct && (count_a == '0 || (instruction_i.both && count_b == '0))) error = ErrorOperand;
    if ((op == OpProduct || sums) && instruction_i.beside == 2'd3) error = ErrorOperand;
    if (op == OpProduct && instruction_i.both && instruction_i.beside != BesideNone) error = ErrorOperand;
    if (sums && instruction_i.beside != BesideNone) error = ErrorOperand;
    if (op == OpLinear && instruction_i.element != ElementW'(1) &&
        (meets(claim.target, claim.slot[0]) || meets(claim.target, claim.slot[1]))) error = ErrorOperand;
    if (op == OpNone || op > OpCells) error = ErrorOperation;
  end

  // ---- The instruction at hand ---------------------------------------------------------------------
  instruction_t held_q;
  op_e          held_op;
  logic         held_sums, held_valid_q, clear_q, collision, storing, issue, resources, beside;
  logic [7:0]   error_q;
  logic [31:0]  count_q;

  assign held_op = op_e'(held_q.op);
  assign held_sums = held_op == OpPlain || held_op == OpCells;
  assign ready_o = (!held_valid_q || issue) && error_q == ErrorNone;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_valid_q <= 1'b0;
      clear_q <= 1'b0;
      error_q <= ErrorNone;
      count_q <= '0;
    end else begin
      if (ready_o) held_valid_q <= valid_i && error == ErrorNone;
      if (start_i) error_q <= ErrorNone;
      else if (ready_o && valid_i) error_q <= error;
      clear_q <= held_valid_q && !issue && !collision && !(held_q.fence && storing);
      if (start_i) count_q <= '0;
      else if (issue) count_q <= count_q + 1'b1;
    end
    if (ready_o && valid_i) begin
      held_q <= instruction_i;
      claim_q <= claim;
    end
  end

  // ---- In flight -----------------------------------------------------------------------------------
  claim_t             entry_q [Entries];
  logic [Entries-1:0] used_q, ended;
  logic [3:0]         free_id;
  logic               free_there;

  always_comb begin
    collision = 1'b0;
    storing = 1'b0;
    free_id = '0;
    free_there = 1'b0;
    ended = '0;
    for (int unsigned e = 0; e < Entries; e++) begin
      if (used_q[e] && collides(entry_q[e], claim_q)) collision = 1'b1;
      // Only stores read slots as their source.
      if (used_q[e] && entry_q[e].source.valid && !entry_q[e].source.row) storing = 1'b1;
      for (int unsigned d = 0; d < 4; d++) if (done_i[d] && done_id_i[d] == 4'(e)) ended[e] = 1'b1;
      if (!used_q[Entries-1-e]) begin
        free_id = 4'(Entries - 1 - e);
        free_there = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      for (int unsigned e = 0; e < Entries; e++) begin
        if (ended[e]) used_q[e] <= 1'b0;
        if (issue && free_id == 4'(e)) used_q[e] <= 1'b1;
      end
    end
    if (issue) entry_q[free_id] <= claim_q;
  end

  // ---- Reserved places -----------------------------------------------------------------------------
  logic [PolyW:0] polys_q, besides_q;
  logic [$clog2(LinearDepth+1)-1:0] linears_q;
  logic [1:0] need;

  assign need = held_op == OpProduct ? (held_q.both ? 2'd2 : 2'd1) : 2'd0;
  assign beside = held_op == OpProduct && held_q.beside != BesideNone;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      polys_q <= (PolyW+1)'(Polys);
      besides_q <= (PolyW+1)'(Polys);
      linears_q <= ($bits(linears_q))'(LinearDepth);
    end else begin
      polys_q <= polys_q + (PolyW+1)'(poly_free_i) - (issue ? (PolyW+1)'(need) : '0);
      besides_q <= besides_q + (PolyW+1)'(beside_free_i) - (PolyW+1)'(issue && beside);
      linears_q <= linears_q + ($bits(linears_q))'(linear_done_i) - ($bits(linears_q))'(issue && held_op == OpLinear);
    end
  end

  always_comb begin
    case (held_op)
      OpProduct: resources = gather_ready_i && job_ready_i && polys_q >= (PolyW+1)'(need) && (!beside || besides_q != '0);
      OpLinear: resources = gather_ready_i && linears_q != '0;
      OpPlain, OpCells: resources = job_ready_i && load_ready_i;
      OpStore: resources = store_ready_i;
      default: resources = load_ready_i;
    endcase
  end
  assign issue = held_valid_q && clear_q && free_there && resources && !halt_i;

  assign gather_go_o = issue && (held_op == OpProduct || held_op == OpLinear);
  assign linear_go_o = issue && held_op == OpLinear;
  assign job_valid_o = issue && (held_op == OpProduct || held_sums);
  assign load_valid_o = issue && (held_op == OpTable || held_op == OpLoad || held_sums);
  assign store_valid_o = issue && held_op == OpStore;
  assign issued_o = held_q;
  assign id_o = free_id;

  assign job_o = '{
    id: free_id, plain: held_sums, cells: held_op == OpCells, both: held_q.both, negate: held_q.negate, gadget_a: held_q.gadget_a,
    gadget_b: held_q.gadget_b, rows: held_q.s1, limit: held_q.s2, row: held_q.row, has_init: held_q.has_init, init: held_q.init,
    beside: held_q.beside, to_row: held_q.to_row, target: held_q.target
  };
  assign move_o = '{
    id: free_id, op: held_op == OpCells ? OpPlain : held_q.op, to_row: held_q.to_row, first: held_q.target,
    count: held_op == OpCells ? IndexW'(1) : held_q.s1, address: held_q.address
  };

  assign idle_o = !held_valid_q && used_q == '0;
  assign waiting_o = held_valid_q && !issue;
  assign error_o = used_q == '0 ? error_q : ErrorNone;
  assign count_o = count_q;

  logic unused;
  always_comb begin
    unused = ^{instruction_i, held_q.spare};
    for (int unsigned g = 0; g < (1 << GadgetW); g++) unused = unused ^ (^gadget_i[g]);
  end
endmodule
