// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of omr_queue, beside a list of its instructions and whole counts, of which completed_i is the lowest bits.
// Surroundings: a count grows by one a cycle at most; what an instruction waits for is, when it is handed over, the
// number next to the count that has its bits, and is not left behind by 2^15 while the instruction waits.

module omr_queue_formal
  import omr_pkg::*;
#(
  parameter int unsigned Depth = 2,
  localparam int unsigned WholeW = 20,
  localparam int unsigned SizeW = $clog2(Depth + 1),
  localparam int unsigned PtrW = $clog2(Depth),
  localparam int unsigned ItemW = $bits(instr_t) + $bits(waits_t)
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

  // ---- Whole counts ----------------------------------------------------------------------------------
  logic [Units-1:0][CounterW-1:0] was_q;
  logic [Units-1:0][WholeW-1:0]   whole_q, whole;
  logic                           after_q = 1'b0;

  always_comb
    for (int unsigned u = 0; u < Units; u++) whole[u] = whole_q[u] + WholeW'(completed_i[u] != was_q[u]);

  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    was_q <= rst_ni ? completed_i : '0;
    whole_q <= rst_ni ? whole : '0;
    for (int unsigned u = 0; u < Units; u++) begin
      assume (completed_i[u] == was_q[u] || completed_i[u] == was_q[u] + 1'b1 || !after_q);
      assume (whole[u] < WholeW'(3 << (WholeW - 2)));
      if (rst_ni && !after_q) assume (completed_i[u] == '0);
    end
  end

  // ---- Instructions, oldest first, and what they wait for ----------------------------------------------
  logic [ItemW-1:0]                       item_q [Depth];
  logic [Units-1:0][WholeW-1:0]           target_q [Depth];
  logic [Units-1:0]                       need_q [Depth];
  logic [SizeW-1:0]                       size_q;
  logic                                   push, pop;

  assign push = valid_i && ready_o;
  assign pop = cmd_valid_o && cmd_ready_i;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Depth; i++) begin
      if (pop && i + 1 < Depth) begin
        item_q[i] <= item_q[i+1];
        target_q[i] <= target_q[i+1];
        need_q[i] <= need_q[i+1];
      end
      if (push && i == 32'(size_q) - 32'(pop)) begin
        item_q[i] <= {instr_i, waits_i};
        need_q[i] <= waits_i.need;
        for (int unsigned u = 0; u < Units; u++)
          target_q[i][u] <= whole[u] + WholeW'(signed'(CounterW'(waits_i.count[u] - completed_i[u])));
      end
    end
    size_q <= rst_ni ? size_q + SizeW'(push) - SizeW'(pop) : '0;
    for (int unsigned u = 0; u < Units; u++) begin
      // Counts before the first are none that could be waited for.
      assume (!push || !waits_i.need[u] || completed_i[u] - waits_i.count[u] <= CounterW'(whole[u])
              || WholeW'(CounterW'(completed_i[u] - waits_i.count[u])) <= whole[u]
              || waits_i.count[u] - completed_i[u] < CounterW'(1 << (CounterW - 1)));
      for (int unsigned i = 0; i < Depth; i++)
        if (i < 32'(size_q) && need_q[i][u])
          assume (signed'(whole[u] - target_q[i][u]) < signed'(WholeW'(1 << (CounterW - 1))));
    end
  end

  // ---- What is stored, and whether the oldest's time has come --------------------------------------------
  logic stored, told, come, same;
  always_comb begin
    stored = 32'(fifo_count) <= Depth && fifo_count == size_q && 32'(fifo_rptr) < Depth
        && 32'(fifo_wptr) == (32'(fifo_rptr) + 32'(fifo_count)) % Depth;
    told = 1'b1;
    for (int unsigned i = 0; i < Depth; i++)
      if (i < 32'(size_q)) begin
        automatic waits_t waits = waits_t'(item_q[i][$bits(waits_t)-1:0]);
        stored &= fifo_mem[(32'(fifo_rptr) + i) % Depth] == item_q[i];
        told &= need_q[i] == waits.need;
        for (int unsigned u = 0; u < Units; u++)
          told &= target_q[i][u][CounterW-1:0] == waits.count[u]
              && signed'(WholeW'(target_q[i][u] - whole[u])) < signed'(WholeW'(1 << (CounterW - 1)));
      end
    come = 1'b1;
    for (int unsigned u = 0; u < Units; u++)
      come &= !need_q[0][u] || signed'(WholeW'(whole[u] - target_q[0][u])) >= 0;
    same = 1'b1;
    for (int unsigned u = 0; u < Units; u++) same &= whole_q[u][CounterW-1:0] == was_q[u];
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // an instruction starts only when every unit that it waits for has completed what it says
      p_waits: assert (!cmd_valid_o || (size_q != '0 && come));
      // instructions start in their order, whole, none lost, none twice
      p_order: assert (!cmd_valid_o || cmd_o == item_q[0][ItemW-1:$bits(waits_t)]);
      // never more than fit, and one is taken exactly while there is room
      p_room: assert (32'(size_q) <= Depth && ready_o == (32'(size_q) != Depth));
      // nothing starts while halted
      p_halt: assert (!cmd_valid_o || !halt_i);
      // what was found to hold goes on holding
      p_holds: assert (!holds_q || (size_q != '0 && come));
      // every instruction stands in the FIFO, with what it waits for
      p_stored: assert (stored && told && same);
    end
  end
endmodule

bind omr_queue omr_queue_formal #(.Depth(Depth)) u_formal (
  .fifo_count(u_fifo.count_q), .fifo_rptr(u_fifo.rptr_q), .fifo_wptr(u_fifo.wptr_q), .fifo_mem(u_fifo.mem), .*
);
