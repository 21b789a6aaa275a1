// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Runs a program: takes its instructions in order, checks them, and hands each to its unit's queue.
//
// Function    An instruction goes into its unit's queue of Depth; while that is full, it and all behind it wait. A unit's
//             instructions start in order, each when what it waits for has happened (omr_queue). Completed instructions
//             are counted for each unit from the start on. A run is done when all were handed out and all completed.
// Latency     2 from an instruction to its queue's output at best, and 1 for the register here
// Throughput  one instruction a cycle
// Ranges      a unit's done_i comes once for each instruction that it took, in their order. At the start nothing is in
//             flight: the run before came to its end, or a reset did.
// Errors      error_o as omr_check; that instruction and all behind it do not start, and pc_o is its index. Else pc_o is
//             how many were handed out.
// Halt        halt_i: nothing starts.

module omr_issue
  import omr_pkg::*;
#(
    parameter int unsigned Lanes = 16,
    parameter int unsigned Ways = 1,
    parameter int unsigned Rows = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 39,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned Depth = 4,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowW = 64 * Lanes,
    localparam int unsigned ProgramRowsW = 34
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    start_i,
    input  logic                    halt_i,
    input  logic [LogW-1:0]         log_n_i,
    input  logic [AddrW-1:0]        program_i,
    input  logic [31:0]             instructions_i,

    output logic                    req_valid_o,
    input  logic                    req_ready_i,
    output logic [AddrW-1:0]        req_addr_o,
    output logic [ProgramRowsW-1:0] req_rows_o,
    input  logic                    row_valid_i,
    output logic                    row_ready_o,
    input  logic [RowW-1:0]         row_i,

    output logic [Units-1:0]        cmd_valid_o,
    input  logic [Units-1:0]        cmd_ready_i,
    output instr_t                  cmd_o [Units],
    input  logic [Units-1:0]        done_i,

    output logic                    idle_o,       // all were handed out, and all completed
    output logic [7:0]              error_o,
    output logic [31:0]             pc_o
);
  localparam int unsigned FlightW = $clog2(Depth + 2);

  // ---- The instruction at hand ---------------------------------------------------------------------
  logic [InstructionW-1:0] raw;
  logic                    fetched, fetch_end, take, held_valid_q, hand_out;
  instr_t                  instr, held_q;
  waits_t                  held_waits_q;
  logic [7:0]              error, error_q;
  logic [31:0]             count_q;
  logic [Units-1:0]        room, to_unit;

  omr_fetch #(
      .RowW(RowW)
  ) u_fetch (
      .clk_i, .rst_ni, .start_i, .program_i, .instructions_i, .req_valid_o, .req_ready_i, .req_addr_o, .req_rows_o,
      .row_valid_i, .row_ready_o, .row_i, .valid_o(fetched), .ready_i(take), .instruction_o(raw), .end_o(fetch_end)
  );

  assign instr = instruction_of(raw);

  omr_check #(
      .Ways(Ways),
      .Rows(Rows),
      .Buffers(Buffers),
      .Banks(Banks),
      .LogW(LogW)
  ) u_check (
      .log_n_i,
      .instr_i(instr),
      .error_o(error)
  );

  // An instruction in error stays at hand.
  assign take = (!held_valid_q || hand_out) && error_q == ErrorNone;
  assign to_unit = Units'(1) << unit_of(held_q.op);
  assign hand_out = held_valid_q && error_q == ErrorNone && (room & to_unit) != '0 && !halt_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_valid_q <= 1'b0;
      error_q <= ErrorNone;
      count_q <= '0;
    end else begin
      if (take) held_valid_q <= fetched;
      if (take && fetched) error_q <= error;
      if (start_i) count_q <= '0;
      else if (hand_out) count_q <= count_q + 1'b1;
    end
    if (take && fetched) begin
      held_q <= instr;
      held_waits_q <= waits_of(raw);
    end
  end

  // ---- Queues, and what has completed --------------------------------------------------------------
  logic [Units-1:0][CounterW-1:0] completed_q;
  logic [Units-1:0][FlightW-1:0]  flight_q;   // handed out and not completed

  for (genvar u = 0; u < Units; u++) begin : g_unit
    omr_queue #(
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

  assign idle_o = fetch_end && !held_valid_q && flight_q == '0;
  assign error_o = error_q;
  assign pc_o = count_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!start_i || flight_q == '0) else $error("a start while instructions are in flight");
      for (int unsigned u = 0; u < Units; u++)
        assert (!done_i[u] || flight_q[u] != '0) else $error("unit %0d completes what it was not given", u);
    end
`endif
endmodule
