// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What the published engine does in a step of a pass: the row that it reads, the words of the row that it multiplies, and
// by which power of the root. Combinational, from counters.
//
// Word i of a polynomial is in row i div Lanes, lane i mod Lanes. At level m the words i with bit m-1 set (odd words) are
// multiplied and then added to, and subtracted from, those without (even words); odd word number J is the J-th in order
// of i. l = log2(Lanes).
//
// Passes, in steps of a cycle:
//   PassTwist  multiplies odd words first_o, first_o + 1, ... , each word of its level with the root's power
//              (J mod 2^(m-1)) * 2^(log_n - m). m <= l: the odd words of a row, Lanes / 2, in groups; m > l: rows of odd
//              words, in groups of Starts. sub_o is the group.
//   PassAdd    m <= l: a row, which holds both words of each pair. m > l: a row of even words, then its row of odd ones
//              (odd_o).
//   PassWords  groups of Starts words of a row, all rows. slow_i: at least 2 steps a row; there is nothing to multiply
//              in steps of a row beyond its groups.
// gap_o: cycles after the pass before the next one begins, or, behind PassWords and the last level, until all is written.
// Additions must not write before the multiplications in front of them have, and no pass may read what is not yet
// written; with 32 rows and more, rows come in an order that allows the passes to overlap (dv/formal proves it).
// Ranges: log_n > l; 1 <= level <= log_n, 2 <= level for PassTwist; step below the number of steps, which last_o ends.

module aes_address #(
    parameter int unsigned Lanes = 256,
    parameter int unsigned Starts = 64,
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned LogLanes = $clog2(Lanes),
    localparam int unsigned LogStarts = $clog2(Starts),
    localparam int unsigned LogGroups = LogLanes - LogStarts,
    localparam int unsigned SubW = LogGroups > 0 ? LogGroups : 1,
    localparam int unsigned RowW = MaxLogN - LogLanes,
    localparam int unsigned StepW = RowW + SubW,
    localparam int unsigned GapW = $clog2(aes_pass_pkg::MulLatency + 1)
) (
    input  logic [4:0]         log_n_i,
    input  logic [4:0]         level_i,
    input  logic [1:0]         pass_i,
    input  logic               slow_i,
    input  logic [StepW-1:0]   step_i,
    output logic [RowW-1:0]    row_o,
    output logic [SubW-1:0]    sub_o,
    output logic [MaxLogN-2:0] first_o,
    output logic               multiply_o,
    output logic               odd_o,
    output logic               last_o,
    output logic [GapW-1:0]    gap_o
);
  import aes_pass_pkg::*;

  // Groups of a row's odd words, and the words of such a group.
  localparam int unsigned LogFew = LogGroups > 0 ? LogGroups - 1 : 0;
  localparam int unsigned LogPart = LogLanes - 1 - LogFew;

  // Puts a bit into a number.
  function automatic logic [RowW-1:0] insert(logic [RowW-1:0] x, logic [4:0] place, logic value);
    logic [RowW-1:0] low = (RowW'(1) << place) - RowW'(1);
    return ((x & ~low) << 1) | (x & low) | (RowW'(value) << place);
  endfunction

  logic       high;
  logic [4:0] at, log_steps;

  assign high = level_i > 5'(LogLanes);
  assign at = level_i - 5'(LogLanes + 1);

  always_comb begin
    odd_o = 1'b0;
    multiply_o = pass_i != PassAdd;
    sub_o = '0;
    first_o = (MaxLogN-1)'(step_i) << (high ? LogStarts : LogPart);
    case (pass_i)
      PassAdd: begin
        odd_o = high && step_i[0];
        row_o = high ? insert(RowW'(step_i >> 1), at, step_i[0]) : RowW'(step_i);
        log_steps = log_n_i - 5'(LogLanes);
      end
      PassTwist: begin
        if (high) begin
          if (LogGroups > 0) sub_o = step_i[SubW-1:0];
          row_o = insert(RowW'(step_i >> LogGroups), at, 1'b1);
          log_steps = log_n_i - 5'(LogLanes + 1 - LogGroups);
        end else begin
          if (LogFew > 0) sub_o = step_i[SubW-1:0] & SubW'((1 << LogFew) - 1);
          row_o = RowW'(step_i >> LogFew);
          log_steps = log_n_i - 5'(LogLanes - LogFew);
        end
      end
      default: begin
        if (LogGroups > 0 || slow_i) sub_o = step_i[SubW-1:0];
        if (LogGroups == 0) multiply_o = sub_o == '0;
        row_o = RowW'(step_i >> (LogGroups == 0 && slow_i ? 1 : LogGroups));
        log_steps = log_n_i - (LogGroups == 0 && slow_i ? 5'(LogLanes - 1) : 5'(LogStarts));
      end
    endcase
  end

  logic few;
  assign few = log_n_i < 5'(LogLanes + LogMany);

  always_comb begin
    case (pass_i)
      PassAdd: gap_o = level_i == log_n_i ? GapW'(AddLatency) : few ? GapW'(AddLatency - 1) : '0;
      PassTwist: gap_o = few ? GapW'(MulLatency - 1) : GapW'(MulLatency - AddLatency);
      default: gap_o = GapW'(MulLatency);
    endcase
  end

  assign last_o = step_i == StepW'((32'd1 << log_steps) - 32'd1);
endmodule
