// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_queue, beside a list of one bit of its instructions, any, and of what they wait for of one unit, any,
// of whose whole count completed_i has the lowest bits. Surroundings: a count grows by one a cycle at most; what an
// instruction waits for is, when it is handed over, the number next to the count that has its bits, and less than
// 2^15 - 1 behind it.

module aes_queue_formal
  import aes_pkg::*;
#(
  parameter int unsigned Depth = 2,
  localparam int unsigned WholeW = 18,
  localparam int unsigned LevelW = $clog2(Depth + 1),
  localparam int unsigned InstrW = $bits(instr_t),
  localparam int unsigned BitW = $clog2(InstrW)
) (
  input logic                           clk_i,
  input logic                           rst_ni,
  input logic                           halt_i,
  input logic                           valid_i,
  input logic                           ready_o,
  input instr_t                         instr_i,
  input waits_t                         waits_i,
  input logic [Units-1:0][CounterW-1:0] completed_i,
  input logic                           cmd_valid_o,
  input logic                           cmd_ready_i,
  input instr_t                         cmd_o,
  // inside, for induction
  input instr_t                         instr_q [Depth],
  input waits_t                         waits_q [Depth],
  input logic [LevelW-1:0]              level_q
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // ---- The unit, and its whole count -------------------------------------------------------------------
  logic [UnitW-1:0]    unit_q;   // without a reset: any
  logic [BitW-1:0]     bit_q;
  logic [CounterW-1:0] completed, wanted, ahead;
  logic [WholeW-1:0]   whole_q, whole;
  logic                after_q = 1'b0;

  assign completed = completed_i[unit_q];
  assign wanted = waits_i.count[unit_q];
  assign ahead = wanted - completed;
  assign whole = whole_q + WholeW'(completed != whole_q[CounterW-1:0]);

  always_ff @(posedge clk_i) begin
    unit_q <= unit_q;
    bit_q <= bit_q;
    assume (32'(bit_q) < InstrW);
    after_q <= rst_ni;
    whole_q <= rst_ni ? whole : '0;
    assume (completed == whole_q[CounterW-1:0] || (after_q && completed == whole_q[CounterW-1:0] + 1'b1));
    // -2^15 and -(2^15 - 1)
    assume (ahead != CounterW'(1 << (CounterW - 1)) && ahead != CounterW'((1 << (CounterW - 1)) + 1));
  end

  // ---- Instructions, oldest first, and the count that each waits for, until it was reached ------------------
  logic [Depth-1:0]  item_q, need_q, reached_q, reached;
  logic [WholeW-1:0] target_q [Depth];
  logic [LevelW-1:0] size_q;
  logic              push, pop;
  logic [InstrW-1:0] given, taken;

  assign given = instr_i;
  assign taken = cmd_o;
  assign push = valid_i && ready_o;
  assign pop = cmd_valid_o && cmd_ready_i;

  // Whether x - y, of numbers that lie near each other, is 0 or less.
  function automatic logic passed(logic [WholeW-1:0] x, logic [WholeW-1:0] y);
    logic [WholeW-1:0] distance = x - y;
    return distance == '0 || distance[WholeW-1];
  endfunction

  always_comb
    for (int unsigned i = 0; i < Depth; i++) reached[i] = reached_q[i] || passed(target_q[i], whole);

  always_ff @(posedge clk_i) begin
    reached_q <= reached;
    for (int unsigned i = 0; i < Depth; i++) begin
      if (pop && i + 1 < Depth) begin
        item_q[i] <= item_q[i+1];
        need_q[i] <= need_q[i+1];
        reached_q[i] <= reached[i+1];
        target_q[i] <= target_q[i+1];
      end
      if (push && i == 32'(size_q) - 32'(pop)) begin
        item_q[i] <= given[bit_q];
        need_q[i] <= waits_i.need[unit_q];
        reached_q[i] <= 1'b0;
        target_q[i] <= whole + {{(WholeW - CounterW){ahead[CounterW-1]}}, ahead};
      end
    end
    size_q <= rst_ni ? size_q + LevelW'(push) - LevelW'(pop) : '0;
  end

  logic stored, waiting;
  always_comb begin
    stored = level_q == size_q;
    waiting = 1'b1;
    for (int unsigned i = 0; i < Depth; i++)
      if (i < 32'(size_q)) begin
        automatic logic [InstrW-1:0] instr = instr_q[i];
        automatic logic [WholeW-1:0] distance = target_q[i] - whole;
        stored &= instr[bit_q] == item_q[i];
        waiting &= waits_q[i].need[unit_q]
            ? need_q[i] && !reached_q[i] && waits_q[i].count[unit_q] == target_q[i][CounterW-1:0]
              && (distance < WholeW'(1 << (CounterW - 1))
                  || distance > WholeW'((1 << WholeW) - (1 << (CounterW - 1))))
            : !need_q[i] || reached_q[i];
      end
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // an instruction starts only when the unit has once completed what it says, if it waits for it
      p_waits: assert (!cmd_valid_o || (size_q != '0 && (!need_q[0] || reached[0])));
      // instructions start in their order, whole, none lost, none twice
      p_order: assert (!cmd_valid_o || taken[bit_q] == item_q[0]);
      // never more than fit, and one is taken exactly while there is room
      p_room: assert (32'(size_q) <= Depth && ready_o == (32'(size_q) != Depth));
      // nothing starts while halted
      p_halt: assert (!cmd_valid_o || !halt_i);
      // one that waits for nothing more starts, if nothing is before it
      p_starts: assert (cmd_valid_o || halt_i || size_q == '0 || waits_q[0].need != '0);
      // every instruction stands in its place
      p_stored: assert (stored);
      // it waits exactly until the cycle after the one in which its count was reached, and that has the bits it says
      p_waiting: assert (waiting);
    end
  end
endmodule

bind aes_queue aes_queue_formal #(.Depth(Depth)) u_formal (.*);
