// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Instructions of one unit, in order, each given to it when what it waits for has happened.
//
// Function    The instruction at the head is offered once every unit that it names has completed as many instructions as
//             it says. Counts are modulo 2^16: a count is reached if it lies not ahead by less than half of that.
// Latency     2 from an instruction, or from the completion that it waits for, to cmd_valid_o
// Throughput  one instruction in two cycles
// Halt        halt_i: offers none.

module omr_queue
  import omr_pkg::*;
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
  waits_t           waits;
  logic             head_valid, pop, holds, holds_q;
  logic [Units-1:0] reached;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width($bits(instr_t) + $bits(waits_t)),
      .Depth(Depth)
  ) u_fifo (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i({instr_i, waits_i}),
      .valid_o(head_valid),
      .ready_i(pop),
      .data_o({cmd_o, waits}),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  function automatic logic ahead(logic [CounterW-1:0] completed, logic [CounterW-1:0] count);
    logic [CounterW-1:0] distance = completed - count;
    return distance[CounterW-1];
  endfunction

  always_comb
    for (int unsigned u = 0; u < Units; u++) reached[u] = !waits.need[u] || !ahead(completed_i[u], waits.count[u]);
  assign holds = head_valid && reached == '1;
  assign cmd_valid_o = holds_q && !halt_i;
  assign pop = cmd_valid_o && cmd_ready_i;

  // Counts only grow, so what holds goes on holding until the instruction is taken.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) holds_q <= 1'b0;
    else holds_q <= holds && !pop;
  end
endmodule
