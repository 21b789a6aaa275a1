// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Gather unit: reads one or two slots line by line, in Eval form, and gives what the machine works on: to the inverse
// transform, or as a whole ciphertext back to the files.
//
// Function    x = s1, s1 + s2, s1 - s2 or 2 s1 - s2; then x(X^k), which in this order of values is another line and a
//             permutation of its lanes; then times X^r, X^r - 1 or a scalar. To the inverse transform goes a, or a and
//             then b, half a line a clock; `beside_*` is the b of lines of which only a goes there, before the factor. A
//             linear instruction gives lines of a and b together.
// Latency     22 from go to the first half line
// Throughput  half a line per clock, whatever is asked; 2N/Lanes clocks a pass, passes and instructions without a pause
// Ranges      element odd, below 2N; power below 2N; slots that exist. Residues shifted as everywhere. Nothing waits: who
//             starts an instruction has room for what it gives. ready_o: go_i may be high in this clock.
//
// Line c holds values at psi^e with e = 2*brv(c) + 1 plus multiples of 2N/Lanes, one for each lane in bit-reversed
// order. The value at psi^e of x(X^k) is that of x at psi^(e*k): e*k modulo 2N/Lanes is another line, what is above
// turns the lanes.

module psi_wide_gather
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes),
  localparam int unsigned Half = Lanes / 2
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              short_i,
  input  logic [2:0]        shift_i,
  input  logic [W-1:0]      q_i,
  input  logic [63:0]       k_i,
  input  logic [W-1:0]      scalar_i,
  input  logic              table_we_i,
  input  logic [MaxLogN-1:0] table_addr_i,
  input  logic [W-1:0]      table_data_i,

  output logic              ready_o,
  input  logic              go_i,
  input  logic              linear_i,
  input  logic              both_i,
  input  logic              beside_i,
  input  take_e             take_i,
  input  times_e            times_i,
  input  logic [IndexW-1:0] s1_i,
  input  logic [IndexW-1:0] s2_i,
  input  logic [ElementW-1:0] element_i,
  input  logic [ElementW-1:0] power_i,

  output logic              read_o,
  output logic [IndexW-1:0] slot_o,
  output logic [LineW-1:0]  line_o,
  input  logic [W-1:0]      line_i [2*Lanes],

  output logic              start_o,       // the first half line of a polynomial for the inverse transform
  output logic [W-1:0]      half_o [Half],
  output logic              beside_valid_o,
  output logic [LineW-1:0]  beside_line_o,
  output logic [W-1:0]      beside_o [Lanes],
  output logic              linear_valid_o,
  output logic [W-1:0]      linear_o [2*Lanes]
);
  localparam int unsigned LaneW = $clog2(Lanes);
  localparam int unsigned XW = MaxLogN + 1;

  typedef struct packed {
    logic              valid;
    logic              upper;   // the second of a line's two clocks
    logic              first;   // of a polynomial
    logic              second;  // the pass of b
    logic [LineW-1:0]  line;
    logic              linear;
    logic              beside;
    take_e             take;
    times_e            times;
    logic [IndexW-1:0] s1;
    logic [IndexW-1:0] s2;
    logic [ElementW-1:0] element;
    logic [ElementW-1:0] power;
  } token_t;

  function automatic logic [LineW-1:0] reversed(logic [LineW-1:0] x, logic half);
    for (int unsigned b = 0; b < LineW; b++) reversed[b] = x[LineW-1-b];
    if (half) reversed = reversed >> 1;
  endfunction

  function automatic logic [LaneW-1:0] turned(logic [LaneW-1:0] x);
    for (int unsigned b = 0; b < LaneW; b++) turned[b] = x[LaneW-1-b];
  endfunction

  // ---- The walk over lines -------------------------------------------------------------------------
  token_t           held_q;   // the instruction
  logic             both_q, busy_q, final_clock;
  logic [LineW:0]   clock_q;  // clocks of a pass
  logic [LineW:0]   last;
  token_t           token_q [8];

  assign last = short_i ? {1'b0, {LineW{1'b1}}} : '1;
  assign final_clock = clock_q == last && (held_q.second || !both_q);
  assign ready_o = !busy_q || final_clock;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
    end else if (go_i) begin
      busy_q <= 1'b1;
    end else if (final_clock) begin
      busy_q <= 1'b0;
    end
    if (go_i) begin
      clock_q <= '0;
      both_q <= both_i;
      held_q <= '{valid: 1'b1, upper: 1'b0, first: 1'b0, second: 1'b0, line: '0, linear: linear_i, beside: beside_i,
                  take: take_i, times: times_i, s1: s1_i, s2: s2_i, element: element_i, power: power_i};
    end else if (busy_q) begin
      clock_q <= clock_q == last ? '0 : clock_q + 1'b1;
      if (clock_q == last) held_q.second <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    token_q[0] <= held_q;
    token_q[0].valid <= busy_q;
    token_q[0].upper <= clock_q[0];
    token_q[0].first <= clock_q == '0;
    token_q[0].line <= clock_q[LineW:1];
    for (int i = 1; i < 8; i++) token_q[i] <= token_q[i-1];
    if (!rst_ni) for (int i = 0; i < 8; i++) token_q[i].valid <= 1'b0;
  end

  // ---- Reading -------------------------------------------------------------------------------------
  logic [XW-1:0]    image_q;          // e*k
  logic [LaneW-1:0] turn_q [4];       // what is above the line, for tokens 2 to 5

  always_ff @(posedge clk_i)
    image_q <= XW'({reversed(token_q[0].line, short_i), 1'b1}) * XW'(token_q[0].element);

  assign read_o = token_q[1].valid && (!token_q[1].upper || token_q[1].take != TakeOne);
  assign slot_o = token_q[1].upper ? token_q[1].s2 : token_q[1].s1;
  assign line_o = short_i ? reversed({1'b0, image_q[LineW-1:1]}, 1'b1) : reversed(image_q[LineW:1], 1'b0);

  always_ff @(posedge clk_i) begin
    turn_q[0] <= short_i ? image_q[XW-2:LineW] : image_q[XW-1:LineW+1];
    for (int i = 1; i < 4; i++) turn_q[i] <= turn_q[i-1];
  end

  // ---- One or two slots ----------------------------------------------------------------------------
  logic [W-1:0] one_q [2*Lanes], keep_q [2*Lanes], both_line_q [2*Lanes], x_q [2*Lanes];
  logic [W-1:0] sum [2*Lanes], difference [2*Lanes], reflected [2*Lanes];

  rf_mod_add #(.W(W), .Lanes(2 * Lanes)) u_sum (.a_i(one_q), .b_i(line_i), .q_i, .r_o(sum));
  rf_mod_sub #(.W(W), .Lanes(2 * Lanes)) u_difference (.a_i(one_q), .b_i(line_i), .q_i, .r_o(difference));
  rf_mod_add #(.W(W), .Lanes(2 * Lanes)) u_reflected (.a_i(both_line_q), .b_i(keep_q), .q_i, .r_o(reflected));

  always_ff @(posedge clk_i) begin
    if (!token_q[3].upper) one_q <= line_i;
    if (token_q[3].upper) begin
      keep_q <= one_q;
      case (token_q[3].take)
        TakeOne: both_line_q <= one_q;
        TakeSum: both_line_q <= sum;
        default: both_line_q <= difference;
      endcase
    end
    if (token_q[4].upper) x_q <= token_q[4].take == TakeReflection ? reflected : both_line_q;
  end

  // ---- Lanes ---------------------------------------------------------------------------------------
  logic [W-1:0] mapped_q [2*Lanes];

  always_ff @(posedge clk_i) begin
    if (token_q[5].upper) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic [LaneW-1:0] from =
            turned(turned(LaneW'(l)) * token_q[5].element[LaneW-1:0] + turn_q[3]);
        mapped_q[l] <= x_q[{1'b0, from}];
        mapped_q[Lanes+l] <= x_q[{1'b1, from}];
      end
    end
  end

  assign beside_valid_o = token_q[7].valid && token_q[7].beside && !token_q[7].upper;
  assign beside_line_o = token_q[7].line;
  assign beside_o = mapped_q[Lanes:2*Lanes-1];

  // ---- The factor ----------------------------------------------------------------------------------
  typedef struct packed {
    logic start;
    logic linear;
    logic upper;
  } out_t;
  localparam int unsigned OutLatency = rf_pkg::MulLatency + 1;

  logic [W-1:0] a_q [Half], b_q [Half], factor [Half], a_product [Half], b_product [Half], a_half_q [Half];
  logic [W-1:0] b_half_q [Half];
  out_t         out_q [OutLatency];

  psi_wide_powers #(.W(W), .Lanes(Half), .MaxLogN(MaxLogN)) u_powers (
    .clk_i, .en_i(1'b1), .short_i, .q_i(q_i >> shift_i), .scalar_i, .we_i(table_we_i), .waddr_i(table_addr_i),
    .wdata_i(table_data_i), .line_i(reversed(token_q[4].line, short_i)), .upper_i(token_q[4].upper),
    .times_i(token_q[4].times), .power_i(token_q[4].power), .factor_o(factor)
  );

  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Half; l++) begin
      automatic logic [LaneW-1:0] at = {token_q[7].upper, (LaneW-1)'(l)};
      a_q[l] <= mapped_q[{token_q[7].second, at}];
      b_q[l] <= mapped_q[{1'b1, at}];
    end
    out_q[0] <= '{start: token_q[7].valid && token_q[7].first && !token_q[7].linear,
                  linear: token_q[7].valid && token_q[7].linear, upper: token_q[7].upper};
    for (int unsigned i = 1; i < OutLatency; i++) out_q[i] <= out_q[i-1];
    if (!rst_ni) for (int unsigned i = 0; i < OutLatency; i++) out_q[i] <= '0;
  end

  rf_mod_mul #(.W(W), .Lanes(Half), .Kind(Kind), .Twin(Twin)) u_a (
    .clk_i, .en_i(1'b1), .a_i(a_q), .b_i(factor), .q_i, .k_i, .r_o(a_product)
  );
  rf_mod_mul #(.W(W), .Lanes(Half), .Kind(Kind), .Twin(Twin)) u_b (
    .clk_i, .en_i(1'b1), .a_i(b_q), .b_i(factor), .q_i, .k_i, .r_o(b_product)
  );

  assign start_o = out_q[OutLatency-1].start;
  assign half_o = a_product;
  assign linear_valid_o = out_q[OutLatency-1].linear && out_q[OutLatency-1].upper;
  assign linear_o[0:Half-1] = a_half_q;
  assign linear_o[Half:Lanes-1] = a_product;
  assign linear_o[Lanes:Lanes+Half-1] = b_half_q;
  assign linear_o[Lanes+Half:2*Lanes-1] = b_product;

  always_ff @(posedge clk_i) begin
    a_half_q <= a_product;
    b_half_q <= b_product;
  end

  logic unused;
  assign unused = ^{image_q[0], token_q[1], token_q[3], token_q[7]};
endmodule
