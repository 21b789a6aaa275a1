// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products of transformed digits with rows of keys, summed: the end of every product.
//
// Function    result = init + sum of line * (row.a, row.b), lane by lane. The first transform of a job begins with a slot,
//             with the gathered b beside it as (0, b) or (b, 0), with both added, or with zero; the last one gives the
//             result, line by line, and done_o with its last line. For a monomial X^power takes the place of the line.
// Latency     19 from a line to its result
// Throughput  one line per clock
// Ranges      lines, slots, results < q_i, shifted by shift_i; rows of keys < q, not shifted. A polynomial has at least 32
//             lines, so that a sum has been written when it is read again.

module psi_wide_mac
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Polys = 8,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter bit          Packed = 1'b1,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              short_i,
  input  logic [2:0]        shift_i,
  input  logic [W-1:0]      q_i,
  input  logic [63:0]       k_i,
  input  logic              table_we_i,     // powers of psi
  input  logic [MaxLogN-1:0] table_addr_i,
  input  logic [W-1:0]      table_data_i,

  input  logic              pass_valid_i,   // with the first line that goes into the transform
  input  pass_t             pass_i,
  input  logic              start_i,        // and out of it
  input  logic [W-1:0]      line_i [Lanes],

  input  logic              beside_we_i,    // lines of a gathered b, in order
  input  logic [LineW-1:0]  beside_line_i,
  input  logic [W-1:0]      beside_i [Lanes],
  output logic              beside_free_o,

  output logic              row_read_o,
  output logic [IndexW-1:0] row_o,
  output logic              slot_read_o,
  output logic [IndexW-1:0] slot_o,
  output logic [LineW-1:0]  line_o,         // of both
  input  logic [W-1:0]      row_i [2*Lanes],
  input  logic [W-1:0]      slot_i [2*Lanes],

  output logic              result_valid_o,
  output logic              result_to_row_o,
  output logic [IndexW-1:0] result_place_o,
  output logic [LineW-1:0]  result_line_o,
  output logic [W-1:0]      result_o [2*Lanes],
  output logic              done_o,
  output logic [3:0]        done_id_o
);
  localparam int unsigned PolyW = $clog2(Polys);
  localparam int unsigned Latency = 3 + rf_pkg::MacLatency;
  localparam int unsigned Passes = 16;  // transforms in flight, at most

  logic [LineW-1:0] last_line;
  assign last_line = short_i ? {1'b0, {(LineW-1){1'b1}}} : '1;

  // ---- Which transform comes out -------------------------------------------------------------------
  pass_t            head, now_q, now;
  logic             active_q, active, end_line;
  logic [LineW-1:0] line_q, line;

  // Fewer transforms are in flight than the queue holds, and each has its entry.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width($bits(pass_t)), .Depth(Passes)) u_queue (
    .clk_i, .rst_ni, .valid_i(pass_valid_i), .ready_o(), .data_i(pass_i), .valid_o(), .ready_i(start_i), .data_o(head),
    .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign now = start_i ? head : now_q;
  assign active = start_i || active_q;
  assign line = start_i ? '0 : line_q;
  assign end_line = active && line == last_line;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) active_q <= 1'b0;
    else active_q <= active && !end_line;
    now_q <= now;
    line_q <= line + 1'b1;
  end

  // Powers take two clocks more than what is read.
  typedef struct packed {
    logic              valid;
    logic              end_line;
    logic [LineW-1:0]  line;
    pass_t             pass;
  } token_t;
  token_t early_q [2], read;

  always_ff @(posedge clk_i) begin
    early_q[0] <= '{valid: active, end_line: end_line, line: line, pass: now};
    early_q[1] <= early_q[0];
    if (!rst_ni) for (int i = 0; i < 2; i++) early_q[i].valid <= 1'b0;
  end
  assign read = early_q[1];

  function automatic logic [LineW-1:0] reversed(logic [LineW-1:0] from);
    for (int unsigned b = 0; b < LineW; b++) reversed[b] = from[LineW-1-b];
    if (short_i) reversed = reversed >> 1;
  endfunction

  logic [W-1:0] powers [Lanes];
  for (genvar h = 0; h < 2; h++) begin : g_powers
    psi_wide_powers #(.W(W), .Lanes(Lanes / 2), .MaxLogN(MaxLogN)) u_powers (
      .clk_i, .en_i(1'b1), .short_i, .q_i(q_i >> shift_i), .scalar_i('0), .we_i(table_we_i), .waddr_i(table_addr_i),
      .wdata_i(table_data_i), .line_i(reversed(line)), .upper_i(h == 1), .times_i(TimesPower), .power_i(now.power),
      .factor_o(powers[h*Lanes/2+:Lanes/2])
    );
  end

  assign row_read_o = read.valid;
  assign row_o = read.pass.row;
  assign slot_read_o = read.valid && read.pass.first && read.pass.has_init;
  assign slot_o = read.pass.init;
  assign line_o = read.line;

  // ---- The gathered b ------------------------------------------------------------------------------
  logic [PolyW-1:0] beside_to_q, beside_from_q;
  logic [W-1:0]     beside [Lanes];

  assign beside_free_o = read.valid && read.end_line && read.pass.first && read.pass.beside != BesideNone;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beside_to_q <= '0;
      beside_from_q <= '0;
    end else begin
      if (beside_we_i && beside_line_i == last_line) beside_to_q <= beside_to_q + 1'b1;
      if (beside_free_o) beside_from_q <= beside_from_q + 1'b1;
    end
  end

  rf_bank #(.W(W), .Lanes(Lanes), .Rows(Polys << LineW), .Packed(Packed)) u_beside (
    .clk_i, .re_i(read.valid && read.pass.first), .raddr_i({beside_from_q, read.line}), .rdata_o(beside), .we_i(beside_we_i),
    .waddr_i({beside_to_q, beside_line_i}), .wdata_i(beside_i)
  );

  // ---- Sums ----------------------------------------------------------------------------------------
  token_t       token_q [Latency];
  logic [W-1:0] x [Lanes], zero [2*Lanes], sum [2*Lanes], start [2*Lanes], more [2*Lanes], begun [2*Lanes];
  logic [W-1:0] x_q [2*Lanes], row_q [2*Lanes], c_q [2*Lanes];

  always_ff @(posedge clk_i) begin
    token_q[0] <= read;
    for (int unsigned i = 1; i < Latency; i++) token_q[i] <= token_q[i-1];
    if (!rst_ni) for (int unsigned i = 0; i < Latency; i++) token_q[i].valid <= 1'b0;
  end

  rf_bank #(.W(W), .Lanes(2 * Lanes), .Rows(1 << LineW), .Packed(Packed)) u_sums (
    .clk_i, .re_i(read.valid && !read.pass.first), .raddr_i(read.line), .rdata_o(sum),
    .we_i(token_q[Latency-1].valid && !token_q[Latency-1].pass.last), .waddr_i(token_q[Latency-1].line),
    .wdata_i(result_o)
  );
  rf_delay #(.W(W), .Lanes(Lanes), .Depth(4)) u_line (.clk_i, .en_i(1'b1), .x_i(line_i), .x_o(x));

  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      zero[l] = '0;
      zero[Lanes+l] = '0;
      more[l] = token_q[1].pass.beside == BesideA ? beside[l] : '0;
      more[Lanes+l] = token_q[1].pass.beside == BesideB ? beside[l] : '0;
    end
    start = token_q[1].pass.has_init ? slot_i : zero;
  end
  rf_mod_add #(.W(W), .Lanes(2 * Lanes)) u_begin (.a_i(start), .b_i(more), .q_i, .r_o(begun));

  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      automatic logic [W-1:0] taken = token_q[1].pass.monomial ? powers[l] << shift_i : x[l];
      x_q[l] <= taken;
      x_q[Lanes+l] <= taken;
    end
    row_q <= row_i;
    c_q <= token_q[1].pass.first ? begun : sum;
  end

  rf_mac #(.W(W), .Lanes(2 * Lanes), .Kind(Kind), .Twin(Twin)) u_mac (
    .clk_i, .en_i(1'b1), .pre_sub_i(1'b0), .post_add_i(1'b1), .q_i, .k_i, .a_i(x_q), .b_i(row_q), .c_i(c_q),
    .r_o(result_o)
  );

  assign result_valid_o = token_q[Latency-1].valid && token_q[Latency-1].pass.last;
  assign result_to_row_o = token_q[Latency-1].pass.to_row;
  assign result_place_o = token_q[Latency-1].pass.target;
  assign result_line_o = token_q[Latency-1].line;
  assign done_o = result_valid_o && token_q[Latency-1].end_line;
  assign done_id_o = token_q[Latency-1].pass.id;
endmodule
