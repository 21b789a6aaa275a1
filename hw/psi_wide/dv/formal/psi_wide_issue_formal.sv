// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_wide_issue, beside sets of places, a bit each, that instructions in flight read and write, and counts
// of what they were promised. Surroundings: gadgets and degree stand still; what ends is in flight, what becomes free
// was taken. That only legal instructions start is what its bench shows.

module psi_wide_issue_formal
  import psi_wide_pkg::*;
#(
  parameter int unsigned Slots = 4,
  parameter int unsigned Rows = 4,
  parameter int unsigned Polys = 2,
  parameter int unsigned LinearDepth = 1,
  parameter int unsigned Entries = 3,
  localparam int unsigned PolyW = $clog2(Polys)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_i,
  input logic             halt_i,
  input logic             short_i,
  input gadget_t          gadget_i [1 << GadgetW],
  input logic             valid_i,
  input logic             ready_o,
  input instruction_t     instruction_i,
  input logic             gather_go_o,
  input logic             gather_ready_i,
  input logic             linear_go_o,
  input logic             job_valid_o,
  input logic             job_ready_i,
  input logic             load_valid_o,
  input logic             load_ready_i,
  input logic             store_valid_o,
  input logic             store_ready_i,
  input instruction_t     issued_o,
  input logic [3:0]       id_o,
  input logic             poly_free_i,
  input logic             beside_free_i,
  input logic [3:0]       done_i,
  input logic [3:0]       done_id_i [4],
  input logic             linear_done_i,
  input logic             idle_o,
  input logic [7:0]       error_o,
  // inside, for induction
  input logic             held_valid_q,
  input instruction_t     held_q,
  input claim_t           claim_q,
  input logic             clear_q,
  input logic [7:0]       error_q,
  input claim_t           entry_q [Entries],
  input logic [Entries-1:0] used_q,
  input logic [PolyW:0]   polys_q,
  input logic [PolyW:0]   besides_q,
  input logic [$clog2(LinearDepth+1)-1:0] linears_q
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // ---- What an instruction reads and writes ----------------------------------------------------------
  typedef struct packed {
    logic             alone;        // nothing beside it
    logic             store;
    logic [Slots-1:0] slot_read;
    logic [Slots-1:0] slot_written;
    logic [Rows-1:0]  row_read;
    logic [Rows-1:0]  row_written;
  } touch_t;

  function automatic logic lies(int unsigned place, logic [IndexW-1:0] first, int unsigned count);
    return place >= 32'(first) && place < 32'(first) + count;
  endfunction

  function automatic touch_t touched(instruction_t i, int unsigned digits);
    automatic logic gathers = i.op == OpProduct || i.op == OpLinear;
    automatic logic sums = i.op == OpPlain || i.op == OpCells;
    automatic int unsigned written = i.op == OpLoad ? 32'(i.s1) : gathers || sums ? 1 : 0;
    automatic int unsigned read = i.op == OpProduct ? digits : i.op == OpPlain ? 32'(i.s1) :
                                  i.op == OpCells ? 32'(i.s2) : 0;
    touched = '0;
    touched.alone = i.op == OpTable;
    touched.store = i.op == OpStore;
    for (int unsigned s = 0; s < Slots; s++) begin
      touched.slot_read[s] = (gathers && (32'(i.s1) == s || (i.take != TakeOne && 32'(i.s2) == s)))
          || ((i.op == OpProduct || sums) && i.has_init && 32'(i.init) == s)
          || (i.op == OpStore && lies(s, i.target, 32'(i.s1)));
      touched.slot_written[s] = !i.to_row && lies(s, i.target, written);
    end
    for (int unsigned r = 0; r < Rows; r++) begin
      touched.row_read[r] = lies(r, i.row, read);
      touched.row_written[r] = i.to_row && lies(r, i.target, written);
    end
  endfunction

  // Whether they must not be in flight together.
  function automatic logic against(touch_t x, touch_t y);
    return x.alone || y.alone || (x.slot_written & (y.slot_read | y.slot_written)) != '0
        || (x.slot_read & y.slot_written) != '0 || (x.row_written & (y.row_read | y.row_written)) != '0
        || (x.row_read & y.row_written) != '0;
  endfunction

  // The same of what stands inside.
  function automatic touch_t claimed(claim_t c);
    claimed = '0;
    claimed.alone = c.all;
    claimed.store = c.source.valid && !c.source.row;
    for (int unsigned s = 0; s < Slots; s++) begin
      claimed.slot_read[s] = c.source.valid && !c.source.row && s >= 32'(c.source.first) && s < 32'(c.source.last);
      for (int unsigned k = 0; k < 3; k++)
        claimed.slot_read[s] |= c.slot[k].valid && s >= 32'(c.slot[k].first) && s < 32'(c.slot[k].last);
      claimed.slot_written[s] = c.target.valid && !c.target.row && s >= 32'(c.target.first) && s < 32'(c.target.last);
    end
    for (int unsigned r = 0; r < Rows; r++) begin
      claimed.row_read[r] = c.source.valid && c.source.row && r >= 32'(c.source.first) && r < 32'(c.source.last);
      claimed.row_written[r] = c.target.valid && c.target.row && r >= 32'(c.target.first) && r < 32'(c.target.last);
    end
  endfunction

  // Places that there are.
  function automatic logic inside_of(places_t p, logic row);
    return !p.valid || (p.first < p.last && 32'(p.last) <= (p.row ? Rows : Slots) && (row || !p.row));
  endfunction
  function automatic logic sound(claim_t c);
    return inside_of(c.target, 1'b1) && inside_of(c.source, 1'b1) && inside_of(c.slot[0], 1'b0)
        && inside_of(c.slot[1], 1'b0) && inside_of(c.slot[2], 1'b0);
  endfunction

  // ---- In flight -------------------------------------------------------------------------------------
  logic                 go, taken;
  instruction_t         next_q;      // the one that was taken and has not started
  touch_t               next, flying_q [Entries];
  logic [Entries-1:0]   live_q;
  int unsigned          digits;
  logic [7:0]           polys_used_q, besides_used_q, linears_used_q, polys_need;
  logic                 beside_need;

  assign go = gather_go_o || job_valid_o || load_valid_o || store_valid_o;
  assign taken = valid_i && ready_o;
  assign digits = 32'(gadget_i[next_q.gadget_a].count) + (next_q.both ? 32'(gadget_i[next_q.gadget_b].count) : 0);
  assign next = touched(next_q, digits);
  assign polys_need = next_q.op != OpProduct ? 8'd0 : next_q.both ? 8'd2 : 8'd1;
  assign beside_need = next_q.op == OpProduct && next_q.beside != BesideNone;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      live_q <= '0;
      polys_used_q <= '0;
      besides_used_q <= '0;
      linears_used_q <= '0;
    end else begin
      for (int unsigned e = 0; e < Entries; e++) begin
        for (int unsigned d = 0; d < 4; d++) if (done_i[d] && 32'(done_id_i[d]) == e) live_q[e] <= 1'b0;
        if (go && 32'(id_o) == e) live_q[e] <= 1'b1;
      end
      polys_used_q <= polys_used_q + (go ? polys_need : 8'd0) - 8'(poly_free_i);
      besides_used_q <= besides_used_q + 8'(go && beside_need) - 8'(beside_free_i);
      linears_used_q <= linears_used_q + 8'(go && next_q.op == OpLinear) - 8'(linear_done_i);
    end
    if (taken) next_q <= instruction_i;
    for (int unsigned e = 0; e < Entries; e++) if (go && 32'(id_o) == e) flying_q[e] <= next;
  end

  // ---- Surroundings ----------------------------------------------------------------------------------
  logic    after_q = 1'b0;
  logic    short_q;
  gadget_t gadget_q [1 << GadgetW];
  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    short_q <= short_i;
    for (int unsigned g = 0; g < (1 << GadgetW); g++) gadget_q[g] <= gadget_i[g];
    if (after_q) assume (short_i == short_q);
    for (int unsigned g = 0; g < (1 << GadgetW); g++) if (after_q) assume (gadget_i[g].count == gadget_q[g].count);
    for (int unsigned d = 0; d < 4; d++)
      assume (!done_i[d] || (32'(done_id_i[d]) < Entries && live_q[done_id_i[d]]));
    assume (!poly_free_i || polys_used_q != '0);
    assume (!beside_free_i || besides_used_q != '0);
    assume (!linear_done_i || linears_used_q != '0);
    // A run starts when nothing is inside.
    assume (!start_i || (!held_valid_q && live_q == '0 && !valid_i));
  end

  logic apart, meeting, storing, alike, clear;
  assign clear = held_valid_q && clear_q;
  always_comb begin
    apart = 1'b1;
    meeting = 1'b0;
    storing = 1'b0;
    alike = 1'b1;
    for (int unsigned e = 0; e < Entries; e++) begin
      for (int unsigned f = 0; f < e; f++) apart &= !live_q[e] || !live_q[f] || !against(flying_q[e], flying_q[f]);
      meeting |= live_q[e] && against(flying_q[e], next);
      storing |= live_q[e] && flying_q[e].store;
      alike &= !live_q[e] || (claimed(entry_q[e]) == flying_q[e] && sound(entry_q[e]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // no two in flight of which one writes what the other reads or writes, none beside a table; nor one found clear
      p_hazard: assert (apart && (!clear || !meeting));
      // one with the bit fence is found clear, and starts, when no store is in flight
      p_fence: assert ((!clear && !go) || !next_q.fence || !storing);
      // those in flight have polynomials between the transforms for all that they give
      p_polys: assert (32'(polys_used_q) <= Polys);
      // and lines of b beside them
      p_besides: assert (32'(besides_used_q) <= Polys);
      // and lines of linear instructions
      p_linears: assert (32'(linears_used_q) <= LinearDepth);
      // they start in the order in which they were taken, none twice
      p_order: assert (!go || (held_valid_q && issued_o == next_q));
      // under a number that is free
      p_number: assert (!go || (32'(id_o) < Entries && !live_q[id_o]));
      // each at units that take it
      p_units: assert ((!gather_go_o || gather_ready_i) && (!job_valid_o || job_ready_i)
          && (!load_valid_o || load_ready_i) && (!store_valid_o || store_ready_i) && (!linear_go_o || gather_go_o));
      // none while halted, and none behind one that was refused
      p_halt: assert (!go || (!halt_i && error_o == ErrorNone));
      // an error is told when nothing is in flight
      p_told: assert (error_o == ErrorNone || (live_q == '0 && !held_valid_q));
      // it is idle exactly when nothing is in flight or waits
      p_idle: assert (idle_o == (live_q == '0 && !held_valid_q));
      // what stands inside is what is in flight and what waits
      p_alike: assert (live_q == used_q && alike && (!held_valid_q || (held_q == next_q && claimed(claim_q) == next
          && sound(claim_q) && next_q.op >= OpTable && next_q.op <= OpCells)));
      // nothing waits behind an error
      p_refused: assert (error_q == ErrorNone || !held_valid_q);
      // room is what was not promised
      p_counted: assert (32'(polys_q) + 32'(polys_used_q) == Polys && 32'(besides_q) + 32'(besides_used_q) == Polys
          && 32'(linears_q) + 32'(linears_used_q) == LinearDepth);
    end
  end
endmodule

bind psi_wide_issue psi_wide_issue_formal #(
  .Slots(Slots), .Rows(Rows), .Polys(Polys), .LinearDepth(LinearDepth), .Entries(Entries)
) u_formal (.*);
