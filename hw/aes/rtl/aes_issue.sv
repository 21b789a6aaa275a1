// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Runs a program: takes its instructions in order, checks them, and hands each to its unit's queue.
//
// Function    A row of the program is an instruction. It goes into its unit's queue of Depth; while that is full, it and
//             all behind it wait. A unit's instructions start in order, each when what it waits for has happened
//             (aes_queue). Completed instructions are counted for each unit from the start on. A run is done when all were
//             handed out and all completed.
// Latency     2 from an instruction to its queue's output at best
// Throughput  one instruction a cycle
// Ranges      a unit's done_i comes once for each instruction that it took, in their order. At the start nothing is in
//             flight: the run before came to its end, or a reset did.
// Errors      error_o as aes_check; that instruction and all behind it do not start, and pc_o is its index. Else pc_o is
//             how many were handed out.
// Halt        halt_i: nothing starts.

module aes_issue
  import aes_pkg::*;
#(
    parameter int unsigned Engine = EngineFast,
    parameter int unsigned Ports = 2,
    parameter int unsigned Depth = 4
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               start_i,
    input  logic               halt_i,
    input  logic [4:0]         log_n_i,
    input  logic [31:0]        instructions_i,

    output logic               req_valid_o,    // of instructions_i rows
    input  logic               req_ready_i,
    input  logic               row_valid_i,
    output logic               row_ready_o,
    input  logic [NarrowW-1:0] row_i,

    output logic [Units-1:0]   cmd_valid_o,
    input  logic [Units-1:0]   cmd_ready_i,
    output instr_t             cmd_o [Units],
    input  logic [Units-1:0]   done_i,

    output logic               idle_o,         // all were handed out, and all completed
    output logic [7:0]         error_o,
    output logic [31:0]        pc_o
);
  // In flight: in the queue, and those that a unit has taken, of which LOAD has 8 at most.
  localparam int unsigned FlightW = $clog2(Depth + 9);

  // ---- The instruction at hand ---------------------------------------------------------------------
  logic             ask_q, take, held_valid_q, hand_out;
  logic [31:0]      left_q, count_q;      // to be taken; handed out
  instr_t           instr, held_q;
  waits_t           held_waits_q;
  logic [7:0]       error, error_q;
  logic [Units-1:0] room, to_unit;

  assign instr = instruction_of(row_i);

  aes_check #(
      .Engine(Engine),
      .Ports(Ports)
  ) u_check (
      .log_n_i,
      .instr_i(instr),
      .error_o(error)
  );

  assign req_valid_o = ask_q;
  assign to_unit = Units'(1) << unit_of(held_q.op);
  assign hand_out = held_valid_q && error_q == ErrorNone && (room & to_unit) != '0 && !halt_i;
  // An instruction in error stays at hand.
  assign row_ready_o = left_q != '0 && (!held_valid_q || hand_out) && error_q == ErrorNone;
  assign take = row_valid_i && row_ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q <= 1'b0;
      left_q <= '0;
      held_valid_q <= 1'b0;
      error_q <= ErrorNone;
      count_q <= '0;
    end else if (start_i) begin
      ask_q <= instructions_i != '0;
      left_q <= instructions_i;
      held_valid_q <= 1'b0;
      count_q <= '0;
    end else begin
      if (req_ready_i) ask_q <= 1'b0;
      if (take) left_q <= left_q - 1'b1;
      if (take || hand_out) held_valid_q <= take;
      if (take) error_q <= error;
      if (hand_out) count_q <= count_q + 1'b1;
    end
    if (take) begin
      held_q <= instr;
      held_waits_q <= waits_of(row_i);
    end
  end

  // ---- Queues, and what has completed --------------------------------------------------------------
  logic [Units-1:0][CounterW-1:0] completed_q;
  logic [Units-1:0][FlightW-1:0]  flight_q;   // handed out and not completed

  for (genvar u = 0; u < Units; u++) begin : g_unit
    aes_queue #(
        .Depth(Depth)
    ) u_queue (
        .clk_i, .rst_ni, .halt_i, .valid_i(hand_out && to_unit[u]), .ready_o(room[u]), .instr_i(held_q),
        .waits_i(held_waits_q), .completed_i(completed_q), .cmd_valid_o(cmd_valid_o[u]), .cmd_ready_i(cmd_ready_i[u]),
        .cmd_o(cmd_o[u])
    );
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      completed_q <= '0;
      flight_q <= '0;
    end else begin
      for (int unsigned u = 0; u < Units; u++) begin
        completed_q[u] <= completed_q[u] + CounterW'(done_i[u]);
        flight_q[u] <= flight_q[u] + FlightW'(hand_out && to_unit[u]) - FlightW'(done_i[u]);
      end
    end
  end

  assign idle_o = left_q == '0 && !held_valid_q && flight_q == '0;
  assign error_o = error_q;
  assign pc_o = count_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!start_i || (flight_q == '0 && !held_valid_q)) else $error("a start while instructions are in flight");
      for (int unsigned u = 0; u < Units; u++)
        assert (!done_i[u] || flight_q[u] != '0) else $error("unit %0d completes what it was not given", u);
    end
`endif
endmodule
