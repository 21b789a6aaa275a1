// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of omr_queue, beside a list of one bit of its instructions, any, and of what they wait for of one unit, any,
// of whose whole count completed_i has the lowest bits. Surroundings: a count grows by one a cycle at most; what an
// instruction waits for is, when it is handed over, the number next to the count that has its bits, and is not left
// behind by 2^15 while it waits.

module omr_queue_formal
  import omr_pkg::*;
#(
  parameter int unsigned Depth = 2,
  localparam int unsigned WholeW = 18,
  localparam int unsigned SizeW = $clog2(Depth + 1),
  localparam int unsigned PtrW = $clog2(Depth),
  localparam int unsigned WaitsW = $bits(waits_t),
  localparam int unsigned InstrW = $bits(instr_t),
  localparam int unsigned ItemW = InstrW + WaitsW,
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
  input logic                           holds_q,
  input logic [SizeW-1:0]               fifo_count,
  input logic [PtrW-1:0]                fifo_rptr,
  input logic [PtrW-1:0]                fifo_wptr,
  input logic [ItemW-1:0]               fifo_mem [Depth]
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
  logic [CounterW-1:0] completed, wanted;
  logic [WholeW-1:0]   whole_q, whole;
  logic                after_q = 1'b0;

  assign completed = completed_i[unit_q];
  assign wanted = waits_i.count[unit_q];
  assign whole = whole_q + WholeW'(completed != whole_q[CounterW-1:0]);

  always_ff @(posedge clk_i) begin
    unit_q <= unit_q;
    bit_q <= bit_q;
    assume (32'(bit_q) < InstrW);
    after_q <= rst_ni;
    whole_q <= rst_ni ? whole : '0;
    assume (completed == whole_q[CounterW-1:0] || (after_q && completed == whole_q[CounterW-1:0] + 1'b1));
  end

  // ---- Instructions, oldest first, and the count that each waits for -------------------------------------
  logic [Depth-1:0]    item_q, need_q;
  logic [CounterW-1:0] count_q [Depth];
  logic [WholeW-1:0] target_q [Depth];
  logic [SizeW-1:0]  size_q;
  logic [CounterW-1:0] ahead;
  logic              push, pop;
  logic [InstrW-1:0] given, taken;

  assign given = instr_i;
  assign taken = cmd_o;
  assign push = valid_i && ready_o;
  assign pop = cmd_valid_o && cmd_ready_i;
  assign ahead = wanted - completed;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Depth; i++) begin
      if (pop && i + 1 < Depth) begin
        item_q[i] <= item_q[i+1];
        need_q[i] <= need_q[i+1];
        count_q[i] <= count_q[i+1];
        target_q[i] <= target_q[i+1];
      end
      if (push && i == 32'(size_q) - 32'(pop)) begin
        item_q[i] <= given[bit_q];
        need_q[i] <= waits_i.need[unit_q];
        count_q[i] <= wanted;
        target_q[i] <= whole + {{(WholeW - CounterW){ahead[CounterW-1]}}, ahead};
      end
      assume (i >= 32'(size_q) || !signed_below(target_q[i], whole));
    end
    size_q <= rst_ni ? size_q + SizeW'(push) - SizeW'(pop) : '0;
  end

  // Whether x lies behind y by 2^15 or more.
  function automatic logic signed_below(logic [WholeW-1:0] x, logic [WholeW-1:0] y);
    logic [WholeW-1:0] distance = y - x;
    return !distance[WholeW-1] && distance >= WholeW'(1 << (CounterW - 1));
  endfunction

  // ---- What is stored, and whether the oldest's time has come --------------------------------------------
  logic              stored, come, near;
  logic [WholeW-1:0] rest;

  assign rest = target_q[0] - whole;
  assign come = !need_q[0] || rest == '0 || rest[WholeW-1];

  always_comb begin
    // Depth is a power of two.
    stored = 32'(fifo_count) <= Depth && fifo_count == size_q && fifo_wptr == fifo_rptr + PtrW'(fifo_count);
    near = 1'b1;
    for (int unsigned i = 0; i < Depth; i++)
      if (i < 32'(size_q)) begin
        automatic logic [ItemW-1:0] held = fifo_mem[fifo_rptr + PtrW'(i)];
        automatic logic [InstrW-1:0] instr = held[ItemW-1:WaitsW];
        automatic waits_t waits = waits_t'(held[WaitsW-1:0]);
        automatic logic [WholeW-1:0] distance = target_q[i] - whole;
        stored &= instr[bit_q] == item_q[i] && waits.need[unit_q] == need_q[i] && waits.count[unit_q] == count_q[i];
        near &= target_q[i][CounterW-1:0] == count_q[i]
            && (distance < WholeW'(1 << (CounterW - 1))
                || distance >= WholeW'((1 << WholeW) - (1 << (CounterW - 1))));
      end
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // an instruction starts only when the unit has completed what it says, if it waits for it
      p_waits: assert (!cmd_valid_o || (size_q != '0 && come));
      // instructions start in their order, whole, none lost, none twice
      p_order: assert (!cmd_valid_o || taken[bit_q] == item_q[0]);
      // never more than fit, and one is taken exactly while there is room
      p_room: assert (32'(size_q) <= Depth && ready_o == (32'(size_q) != Depth));
      // nothing starts while halted
      p_halt: assert (!cmd_valid_o || !halt_i);
      // what was found to hold goes on holding
      p_holds: assert (!holds_q || (size_q != '0 && come));
      // every instruction stands in the FIFO
      p_stored: assert (stored);
      // what it waits for has the bits that it says, and is near the count
      p_near: assert (near);
    end
  end
endmodule

bind omr_queue omr_queue_formal #(.Depth(Depth)) u_formal (
  .fifo_count(u_fifo.count_q), .fifo_rptr(u_fifo.rptr_q), .fifo_wptr(u_fifo.wptr_q), .fifo_mem(u_fifo.mem), .*
);
