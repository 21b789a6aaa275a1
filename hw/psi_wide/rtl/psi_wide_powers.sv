// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What the gather unit multiplies with: the values of X^r or X^r - 1 at a row of positions of the Eval form, or a scalar.
//
// Function    Position line*2*Lanes + upper*Lanes + l holds the value at psi^e, e = 2*i + 1, where i is the position with
//             its bits reversed: the line's part of i is the lower one, so e*r is one product for a line and a multiple of
//             2N / (2*Lanes) for each lane. The table holds psi^x for x < N; psi^(x+N) = -psi^x.
// Latency     4; throughput one row per clock; en_i low holds all
// Ranges      N = 2^MaxLogN, or half of it if short_i; power_i < 2N; factors are operands b of rf_mod_mul, below q
// Table       written in order of x; q_i is not shifted

module psi_wide_powers
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 8,
  parameter int unsigned MaxLogN = 10,
  localparam int unsigned LineW = MaxLogN - 1 - $clog2(Lanes)
) (
  input  logic                clk_i,
  input  logic                en_i,
  input  logic                short_i,
  input  logic [W-1:0]        q_i,
  input  logic [W-1:0]        scalar_i,
  input  logic                we_i,
  input  logic [MaxLogN-1:0]  waddr_i,
  input  logic [W-1:0]        wdata_i,
  input  logic [LineW-1:0]    line_i,    // with its bits reversed
  input  logic                upper_i,
  input  times_e              times_i,
  input  logic [ElementW-1:0] power_i,
  output logic [W-1:0]        factor_o [Lanes]
);
  localparam int unsigned LaneW = $clog2(Lanes) + 1;   // bits of a lane of a whole line
  localparam int unsigned XW = MaxLogN + 1;

  function automatic logic [LaneW-1:0] reversed(logic [LaneW-1:0] x);
    for (int unsigned b = 0; b < LaneW; b++) reversed[b] = x[LaneW-1-b];
  endfunction

  times_e              times1_q, times2_q, times3_q;
  logic [XW-1:0]       base_q;     // the line's exponent
  logic [LaneW-1:0]    power_q;
  logic                upper_q;
  logic [MaxLogN-1:0]  at_q [Lanes];
  logic [Lanes-1:0]    minus2_q, minus3_q;
  logic [W-1:0]        value_q [Lanes];

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      base_q <= XW'({line_i, 1'b1}) * XW'(power_i);
      power_q <= power_i[LaneW-1:0];
      upper_q <= upper_i;
      times1_q <= times_i;
      times2_q <= times1_q;
      times3_q <= times2_q;
      minus3_q <= minus2_q;
    end
  end

  // The exponent modulo 2N, its top bit apart.
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic [LaneW-1:0] turns = reversed({upper_q, (LaneW-1)'(l)}) * power_q;
        automatic logic [XW-1:0] x = short_i ? base_q + (XW'(turns) << (LineW)) : base_q + (XW'(turns) << (LineW + 1));
        minus2_q[l] <= short_i ? x[XW-2] : x[XW-1];
        at_q[l] <= short_i ? {1'b0, x[MaxLogN-2:0]} : x[MaxLogN-1:0];
      end
    end
  end

  // A copy for each lane.
  for (genvar l = 0; l < int'(Lanes); l++) begin : g_lanes
    logic [W-1:0] mem [1 << MaxLogN];
    always_ff @(posedge clk_i) begin
      if (we_i) mem[waddr_i] <= wdata_i;
      if (en_i) value_q[l] <= mem[at_q[l]];
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic [W-1:0] value = minus3_q[l] ? q_i - value_q[l] : value_q[l];
        automatic logic [W-1:0] less = value == '0 ? q_i - 1'b1 : value - 1'b1;
        case (times3_q)
          TimesScalar: factor_o[l] <= scalar_i;
          TimesPowerLess: factor_o[l] <= less;
          default: factor_o[l] <= value;
        endcase
      end
    end
  end

  logic unused;
  assign unused = ^power_i;
endmodule
