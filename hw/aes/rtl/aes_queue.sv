// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Instructions of one unit, in order, each given to it when what it waits for has happened.
//
// Function    An instruction that has come to the head is offered once every unit that it names has completed as many
//             instructions as it says. Each entry looks for itself, from its first cycle on, and remembers: counts are
//             modulo 2^16, and what was reached stays so however far they run on.
// Latency     1 from an instruction without waits, 2 from the completion that one waits for, to cmd_valid_o
// Throughput  one instruction a cycle
// Ranges      a count lies less than 2^15 behind what its unit has completed when the instruction comes
// Halt        halt_i: offers none.

module aes_queue
  import aes_pkg::*;
#(
    parameter int unsigned Depth = 4
) (
    input  logic                           clk_i,
    input  logic                           rst_ni,
    input  logic                           halt_i,
    input  logic                           valid_i,
    output logic                           ready_o,
    input  instr_t                         instr_i,
    input  waits_t                         waits_i,
    input  logic [Units-1:0][CounterW-1:0] completed_i,
    output logic                           cmd_valid_o,
    input  logic                           cmd_ready_i,
    output instr_t                         cmd_o
);
  localparam int unsigned LevelW = $clog2(Depth + 1);

  instr_t            instr_q [Depth];
  waits_t            waits_q [Depth];
  logic [Units-1:0]  open    [Depth];   // what an entry goes on waiting for
  logic [LevelW-1:0] level_q, end_at;
  logic              push, pop;

  function automatic logic ahead(logic [CounterW-1:0] completed, logic [CounterW-1:0] count);
    logic [CounterW-1:0] distance = completed - count;
    return distance[CounterW-1];
  endfunction

  always_comb
    for (int unsigned i = 0; i < Depth; i++)
      for (int unsigned u = 0; u < Units; u++)
        open[i][u] = waits_q[i].need[u] && ahead(completed_i[u], waits_q[i].count[u]);

  assign ready_o = level_q != LevelW'(Depth);
  assign cmd_valid_o = level_q != '0 && waits_q[0].need == '0 && !halt_i;
  assign cmd_o = instr_q[0];
  assign push = valid_i && ready_o;
  assign pop = cmd_valid_o && cmd_ready_i;
  assign end_at = level_q - LevelW'(pop);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) level_q <= '0;
    else level_q <= end_at + LevelW'(push);
    for (int unsigned i = 0; i < Depth; i++) begin
      // What lies behind the last entry is never at the head.
      if (pop) instr_q[i] <= instr_q[(i+1)%Depth];
      waits_q[i].need <= pop ? open[(i+1)%Depth] : open[i];
      if (pop) waits_q[i].count <= waits_q[(i+1)%Depth].count;
      if (push && LevelW'(i) == end_at) begin
        instr_q[i] <= instr_i;
        waits_q[i] <= waits_i;
      end
    end
  end
endmodule
