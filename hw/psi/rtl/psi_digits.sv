// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// One digit of a residue, in each lane, as a residue.
//
// Function, with x the residue without its shift s and B = 2^log_base:
//   plain     d = floor(x / 2^right) mod B
//   balanced  d = floor((x centred + offset) / 2^right) mod B - B/2, for the last digit without the mod
//   pass      d = x
// and the result is d, or q + d if d is negative, shifted left by s again. For digit j of a gadget with `drop`,
// right = drop + j * log_base, and the offset is 2^(drop-1) [if drop > 0] + sum_j B/2 * B^j * 2^drop: the digits of the
// C++ kernels (struct Cut), which add B/2 for each digit in turn.
// Latency     DigitLatency
// Throughput  one digit per lane and cycle; the fields belong to the words that enter with them
// Ranges      x_i < q_i, shifted left; offset_i shifted left as residues are, below 2^(W+2): drop + count * log_base at
//             most 2 more than the bits of q. Digits are below q if the gadget covers the modulus; else results are
//             wrong, and nothing else happens
//
// Stages: 1 centre, 2 offset, 3 shift right, 4 subtract B/2, shift left, make a residue.

module psi_digits #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 4
) (
  input  logic                                clk_i,
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic                                pass_i,
  input  logic                                balanced_i,
  input  logic                                last_i,
  input  logic [5:0]                          log_base_i,
  input  logic [7:0]                          right_i,
  input  logic [W+2:0]                        offset_i,
  input  logic [W-1:0]                        x_i [Lanes],
  output logic [W-1:0]                        x_o [Lanes]
);
  if (W < 16 || W > 64 || Lanes < 1) begin : g_check
    $error("psi_digits: W must be between 16 and 64, Lanes at least 1");
  end

  localparam int unsigned Wide = W + 4;  // a centred residue and an offset, with a sign
  localparam int unsigned Digit = 33;    // the largest digit, with a sign

  typedef struct packed {
    logic       pass;
    logic       balanced;
    logic       last;
    logic [5:0] log_base;
    logic [7:0] right;
  } field_t;

  field_t                  field_q [3];
  logic [W+2:0]            offset_q;
  logic signed [Wide-1:0]  centred_q [Lanes];
  logic signed [Wide-1:0]  sum_q [Lanes];
  logic [Digit-1:0]        digit_q [Lanes];
  logic [W-1:0]            word_q [3][Lanes];  // for pass
  logic [7:0]              amount_q;           // right and the shift of residues
  logic [Digit-1:0]        mask, half;

  always_ff @(posedge clk_i) begin
    field_q[0] <= '{pass: pass_i, balanced: balanced_i, last: last_i, log_base: log_base_i, right: right_i};
    field_q[1] <= field_q[0];
    field_q[2] <= field_q[1];
    offset_q <= offset_i;
    amount_q <= field_q[0].right + 8'(shift_i);
    word_q[0] <= x_i;
    word_q[1] <= word_q[0];
    word_q[2] <= word_q[1];
  end

  assign mask = ~({Digit{1'b1}} << field_q[2].log_base);
  assign half = field_q[2].balanced ? (Digit'(1) << field_q[2].log_base) >> 1 : '0;

  always_ff @(posedge clk_i) begin
    /* verilator unroll_disable */
    for (int unsigned l = 0; l < Lanes; l++) begin
      automatic logic [Wide-1:0] minus = balanced_i && x_i[l] > (q_i >> 1) ? Wide'(q_i) : '0;
      automatic logic [Digit-1:0] low = field_q[2].balanced && field_q[2].last ? digit_q[l] : digit_q[l] & mask;
      automatic logic [Digit-1:0] digit = low - half;
      automatic logic [W-1:0] value = W'(signed'(digit)) << shift_i;
      centred_q[l] <= signed'(Wide'(x_i[l]) - minus);
      sum_q[l] <= centred_q[l] + (field_q[0].balanced ? signed'({1'b0, offset_q}) : '0);
      digit_q[l] <= Digit'(sum_q[l] >>> amount_q);
      x_o[l] <= field_q[2].pass ? word_q[2][l] : digit[Digit-1] ? value + q_i : value;
    end
  end
endmodule
