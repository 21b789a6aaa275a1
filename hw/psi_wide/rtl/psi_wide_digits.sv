// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// One digit of each coefficient of a line, as a residue: gadget decomposition as the library's kernels do it.
//
// Function    Balanced: c = centred x + offset, with the offset 2^(drop-1) (if drop > 0) + sum_j (B/2) B^j 2^drop, which the
//             host gives; digit j is (c >> (drop + j log2 B)) mod B - B/2, the last one without the mod. Plain: (x >> j log2 B)
//             mod B. A negative digit becomes q - |d|; negate_i gives minus the digit; plain_i lets x pass as it is.
// Latency     3
// Throughput  one line per clock; what describes the digit enters with its line
// Ranges      x_i, y_o < q_i, residues and modulus shifted left by shift_i; digits below 2^30 in amount; right_i < W.
//             plain_i: x_i is not shifted.

module psi_wide_digits #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16
) (
  input  logic         clk_i,
  input  logic [2:0]   shift_i,
  input  logic [W-1:0] q_i,
  input  logic         plain_i,
  input  logic         balanced_i,
  input  logic         last_i,
  input  logic         negate_i,
  input  logic [W:0]   offset_i,
  input  logic [5:0]   right_i,
  input  logic [4:0]   log_base_i,
  input  logic [W-1:0] x_i [Lanes],
  output logic [W-1:0] y_o [Lanes]
);
  typedef struct packed {
    logic       plain;
    logic       balanced;
    logic       last;
    logic       negate;
    logic [5:0] right;
    logic [4:0] log_base;
  } cut_t;

  logic [W-1:0] q;
  cut_t         cut_q;
  logic [W+1:0] sum_q [Lanes];                // the centred number above its offset: never negative
  logic signed [W+2:0] d_q [Lanes];

  assign q = q_i >> shift_i;

  always_ff @(posedge clk_i) begin
    cut_q <= '{plain: plain_i, balanced: balanced_i, last: last_i, negate: negate_i, right: right_i,
               log_base: log_base_i};
  end

  function automatic logic [W+1:0] centred(logic [W-1:0] x);
    automatic logic [W+1:0] sum = (W+2)'(x) + (W+2)'(offset_i);
    return {x, 1'b0} > {1'b0, q} ? sum - (W+2)'(q) : sum;
  endfunction

  function automatic logic signed [W+2:0] digit(logic [W+1:0] c);
    automatic logic [W+1:0] mask = cut_q.last ? '1 : ((W+2)'(1) << cut_q.log_base) - 1'b1;
    automatic logic [W+1:0] u = (c >> cut_q.right) & mask;
    automatic logic [W+1:0] half = cut_q.balanced ? ((W+2)'(1) << cut_q.log_base) >> 1 : '0;
    automatic logic signed [W+2:0] d = signed'({1'b0, u}) - signed'({1'b0, half});
    return cut_q.negate ? -d : d;
  endfunction

  always_ff @(posedge clk_i) begin
    /* verilator unroll_disable */
    for (int unsigned l = 0; l < Lanes; l++) begin
      automatic logic [W-1:0] x = x_i[l] >> shift_i;
      automatic logic [W-1:0] residue = d_q[l][W+2] ? W'(d_q[l]) + q : W'(d_q[l]);
      if (plain_i) sum_q[l] <= (W+2)'(x_i[l]);
      else sum_q[l] <= balanced_i ? centred(x) : (W+2)'(x);
      d_q[l] <= cut_q.plain ? signed'({1'b0, sum_q[l]}) : digit(sum_q[l]);
      y_o[l] <= residue << shift_i;
    end
  end
endmodule
