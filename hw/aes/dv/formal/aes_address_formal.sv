// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_address, for every length, level and step. The engine reads and writes, in group g of a row, lane
// insert(g * Part + s, level - 1) for odd words within a row, else lane g * Starts + s.

module aes_address_formal
  import aes_pass_pkg::*;
#(
  parameter int unsigned Lanes = 256,
  parameter int unsigned Starts = 64,
  parameter int unsigned MaxLogN = 16,
  localparam int unsigned LogLanes = $clog2(Lanes),
  localparam int unsigned LogStarts = $clog2(Starts),
  localparam int unsigned LogGroups = LogLanes - LogStarts,
  localparam int unsigned SubW = LogGroups > 0 ? LogGroups : 1,
  localparam int unsigned RowW = MaxLogN - LogLanes,
  localparam int unsigned StepW = RowW + SubW,
  localparam int unsigned GapW = $clog2(MulLatency + 1)
) (
  input logic [4:0]         log_n_i,
  input logic [4:0]         level_i,
  input logic [1:0]         pass_i,
  input logic               slow_i,
  input logic [StepW-1:0]   step_i,
  input logic [RowW-1:0]    row_o,
  input logic [SubW-1:0]    sub_o,
  input logic [MaxLogN-2:0] first_o,
  input logic               multiply_o,
  input logic               odd_o,
  input logic               last_o,
  input logic [GapW-1:0]    gap_o
);
  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned Part = Starts < Half ? Starts : Half;
  localparam int unsigned Groups = Lanes / Starts;

  // Numbers with one bit put in, and without one.
  function automatic logic [31:0] insert(logic [31:0] x, logic [31:0] at, logic value);
    return ((x >> at) << (at + 1)) | (32'(value) << at) | (x & ((32'd1 << at) - 1));
  endfunction
  function automatic logic [31:0] without(logic [31:0] x, logic [31:0] at);
    return ((x >> (at + 1)) << at) | (x & ((32'd1 << at) - 1));
  endfunction

  logic        high, next_high;
  logic [31:0] n, rows, steps, step, row, sub, at, next_at;

  assign high = 32'(level_i) > LogLanes;
  assign next_high = 32'(level_i) + 1 > LogLanes;
  assign n = 32'd1 << log_n_i;
  assign rows = n / Lanes;
  assign step = 32'(step_i);
  assign row = 32'(row_o);
  assign sub = 32'(sub_o);
  assign at = 32'(level_i) - 1;  // the bit in which words of a pair differ
  assign next_at = 32'(level_i) - LogLanes;  // the same bit of the next level, of rows

  always_comb begin
    case (pass_i)
      PassAdd: steps = rows;
      PassTwist: steps = high ? n / 2 / Starts : n / 2 / Part;
      default: steps = Groups == 1 && slow_i ? 2 * rows : rows * Groups;
    endcase
  end

  always_comb begin
    assume (32'(log_n_i) > LogLanes && 32'(log_n_i) <= MaxLogN);
    assume (level_i >= 5'd1 && level_i <= log_n_i);
    assume (pass_i != 2'd3 && (pass_i != PassTwist || level_i >= 5'd2));
    assume (step < steps);
  end

  // The first step at which the next pass reads this row, if it does.
  logic        reads;
  logic [31:0] reads_at;
  always_comb begin
    if (pass_i == PassTwist) begin
      reads = 1'b1;
      reads_at = high ? 2 * without(row, at - LogLanes) + ((row >> (at - LogLanes)) & 32'd1) : row;
    end else begin
      reads = level_i < log_n_i && (!next_high || 1'(row >> next_at));
      reads_at = next_high ? without(row, next_at) * Groups : row * (Half / Part);
    end
  end

  // The number, among odd words, of a group's word s is that of its word 0 plus s, for every s: within a row, lanes of odd
  // words are counted without the bit that makes them odd; above the lanes, rows are.
  logic twisted;
  assign twisted = high
      ? 1'(row >> (at - LogLanes)) && 32'(first_o) == without(row, at - LogLanes) * Lanes + sub * Starts && sub < Groups
      : 32'(first_o) == row * Half + sub * Part && sub < Half / Part;

  always_comb begin
    // each word that a step multiplies is the odd word of the number whose power it is multiplied with
    p_twisted: assert (pass_i != PassTwist || (twisted && row < rows));
    // steps go through the odd words in order, so that each has its turn once
    p_once: assert (pass_i != PassTwist || 32'(first_o) == step * (high ? Starts : Part));
    // a pass ends when all words have had their turn
    p_last: assert (last_o == (step == steps - 1));
    // additions go through all rows, above the lanes by pairs of rows, the even one first
    p_pairs: assert (pass_i != PassAdd || (row < rows && (high
        ? row == insert(step / 2, at - LogLanes, step[0]) && odd_o == step[0] : row == step && !odd_o)));
    // element-wise work goes through all groups of all rows
    p_words: assert (pass_i != PassWords || (Groups == 1 && slow_i
        ? row == step / 2 && sub == step % 2 && multiply_o == !step[0]
        : row * Groups + sub == step && sub < Groups && multiply_o));
    // the next pass reads no word before this one has written it
    p_hazard: assert (pass_i == PassWords || !reads
        || step + (pass_i == PassAdd ? AddLatency : MulLatency) < steps + 32'(gap_o) + reads_at + 1);
    // sums are written after the last product, and an end comes after the last write
    p_order: assert (pass_i == PassTwist ? 32'(gap_o) + AddLatency > MulLatency - 1
        : (pass_i == PassAdd && level_i != log_n_i) || 32'(gap_o) >= (pass_i == PassAdd ? AddLatency : MulLatency));
  end
endmodule

bind aes_address aes_address_formal #(.Lanes(Lanes), .Starts(Starts), .MaxLogN(MaxLogN)) u_formal (.*);
