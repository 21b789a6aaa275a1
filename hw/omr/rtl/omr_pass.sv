// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Control of an arithmetic unit: takes a command, walks the rows of a limb, says when the last result has been written.
//
// Function    a command is taken when the unit is idle and held in cmd_o; start_o in the cycle before. From settled_o on,
//             two cycles later, what the tables of moduli give for cmd_o.mod is registered in the unit. A step is
//             made in every cycle with go_i; the step with last_i ends a row, and row_o is the next one. done_o comes Depth
//             cycles after the last step, in the cycle after its result is written.
// Throughput  a step a cycle; 3 cycles from a command to its first step, 2 from the last result to the next command
// Ranges      Lanes <= 2^log_n_i <= 2^MaxLogN

module omr_pass
  import omr_pkg::*;
#(
    parameter int unsigned Lanes = 4,
    parameter int unsigned MaxLogN = 12,
    parameter int unsigned Depth = 16,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowAW = MaxLogN - $clog2(Lanes)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [LogW-1:0]  log_n_i,
    input  logic             cmd_valid_i,
    output logic             cmd_ready_o,
    input  instr_t           cmd_i,
    output logic             done_o,
    output logic             busy_o,
    output logic             start_o,
    output instr_t           cmd_o,
    output logic             settled_o,
    input  logic             go_i,
    input  logic             last_i,
    output logic             step_o,
    output logic [RowAW-1:0] row_o
);
  logic             busy_q, steps_q;  // of the command, and whether some steps are left
  logic [1:0]       settle_q;
  logic [RowAW-1:0] last_row_q;
  logic [Depth-1:0] tail_q;
  instr_t           cmd_q;
  logic             end_step;

  assign cmd_ready_o = !busy_q;
  assign start_o = cmd_valid_i && !busy_q;
  assign cmd_o = cmd_q;
  assign busy_o = busy_q;
  assign settled_o = settle_q == 2'd2;
  assign step_o = steps_q && settled_o && go_i;
  assign end_step = step_o && last_i && row_o == last_row_q;
  assign done_o = tail_q[Depth-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      steps_q <= 1'b0;
      tail_q <= '0;
    end else begin
      tail_q <= {tail_q[Depth-2:0], end_step};
      if (start_o) begin
        busy_q <= 1'b1;
        steps_q <= 1'b1;
      end else begin
        if (end_step) steps_q <= 1'b0;
        if (done_o) busy_q <= 1'b0;
      end
    end
    if (start_o) begin
      cmd_q <= cmd_i;
      settle_q <= '0;
      row_o <= '0;
      last_row_q <= RowAW'((32'd1 << (32'(log_n_i) - $clog2(Lanes))) - 32'd1);
    end else begin
      if (!settled_o) settle_q <= settle_q + 2'd1;
      if (step_o && last_i) row_o <= row_o + 1'b1;
    end
  end
endmodule
