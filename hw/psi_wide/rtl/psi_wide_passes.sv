// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials between the two transforms: takes what the inverse one gives and rows of small numbers, and gives the
// forward one a digit or a row at a time.
//
// Function    Polynomials lie in a ring in the order of their arrival; jobs take them in that order, one or two each, and
//             read one once for each digit. A job of rows takes rows instead, one digit each; a job of monomials takes one
//             row, which holds a pair of numbers for each, power and key row, and has as many digits as monomials. With the first line of a
//             transform goes what psi_wide_mac has to know of it (pass_o); cell_bad_o is high with it, if a monomial names
//             a key row that its job has not.
// Latency     6 from a polynomial's last half line to the first digit's first line, if none is before it
// Throughput  a line per clock: transforms follow each other at once, while polynomials are there
// Ranges      Polys and Rows powers of two. Who sends a polynomial or a row has reserved its place; free_o and row_free_o
//             tell when one is free again. Counts of digits at least 1; offsets below 2^(W+1); shifts below W.

module psi_wide_passes
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Polys = 8,
  parameter int unsigned Rows = 4,
  parameter bit          Packed = 1'b1,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes),
  localparam int unsigned Half = Lanes / 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             short_i,
  input  logic [2:0]       shift_i,
  input  logic [W-1:0]     q_i,
  input  gadget_t          gadget_i [1 << GadgetW],

  input  logic             start_i,   // of a polynomial
  input  logic [W-1:0]     half_i [Half],
  output logic             free_o,
  input  logic             row_we_i,  // a line of a row; rows come in order, line by line
  input  logic [PlainBits-1:0] row_i [Lanes],
  output logic             row_free_o,

  input  logic             job_valid_i,
  output logic             job_ready_o,
  input  job_t             job_i,

  output logic             busy_o,      // a line is read
  output logic             cell_bad_o,
  output logic             pass_valid_o,
  output pass_t            pass_o,
  output logic             start_o,
  output logic [W-1:0]     line_o [Lanes]
);
  localparam int unsigned PolyW = $clog2(Polys);
  localparam int unsigned RowW = $clog2(Rows);

  if (Polys < 2 || (Polys & (Polys - 1)) != 0 || Rows < 2 || (Rows & (Rows - 1)) != 0) begin : g_check
    $error("psi_wide_passes: Polys and Rows must be powers of two from 2 on");
  end

  logic [LineW-1:0] last_line;
  assign last_line = short_i ? {1'b0, {(LineW-1){1'b1}}} : '1;

  // ---- Arrival -------------------------------------------------------------------------------------
  logic [LineW:0]   clock_q, clock;  // clocks of the polynomial that arrives
  logic             filling_q, filling, filled;
  logic [PolyW-1:0] to_q;
  logic [PolyW:0]   waiting_q;       // polynomials that are whole and not claimed
  logic             claim;

  assign clock = start_i ? '0 : clock_q;
  assign filling = start_i || filling_q;
  assign filled = filling && clock == {last_line, 1'b1};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      filling_q <= 1'b0;
      to_q <= '0;
      waiting_q <= '0;
    end else begin
      filling_q <= filling && !filled;
      if (filled) to_q <= to_q + 1'b1;
      waiting_q <= waiting_q + (PolyW+1)'(filled) - (PolyW+1)'(claim);
    end
    clock_q <= clock + 1'b1;
  end

  logic [LineW-1:0] row_line_q;
  logic [RowW-1:0]  row_to_q;
  logic [RowW:0]    row_waiting_q;
  logic             row_filled, row_claim;

  assign row_filled = row_we_i && row_line_q == last_line;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      row_line_q <= '0;
      row_to_q <= '0;
      row_waiting_q <= '0;
    end else begin
      if (row_we_i) row_line_q <= row_filled ? '0 : row_line_q + 1'b1;
      if (row_filled) row_to_q <= row_to_q + 1'b1;
      row_waiting_q <= row_waiting_q + (RowW+1)'(row_filled) - (RowW+1)'(row_claim);
    end
  end

  // ---- What comes next -----------------------------------------------------------------------------
  typedef struct packed {
    job_t               job;
    logic               first;  // of the job
    logic               last;
    gadget_t            gadget;
  } part_t;

  part_t             next_q, now_q;
  logic              next_valid_q, there, take;
  logic [IndexW-1:0] part_q;     // polynomials or rows of the job that were claimed
  logic              part_last;

  assign there = job_i.plain ? row_waiting_q != '0 : waiting_q != '0;
  assign part_last = job_i.plain ? job_i.cells || part_q + 1'b1 == job_i.rows : part_q[0] || !job_i.both;
  assign take = job_valid_i && there && !next_valid_q;
  assign claim = take && !job_i.plain;
  assign row_claim = take && job_i.plain;
  assign job_ready_o = take && part_last;

  // ---- Passes --------------------------------------------------------------------------------------
  logic              active_q, begin_part, end_line, end_part;
  logic [IndexW-1:0] digit_q;
  logic [5:0]        right_q;
  logic [LineW-1:0]  line_q;
  logic [IndexW-1:0] row_q;    // key row
  logic [PolyW-1:0]  from_q;
  logic [RowW-1:0]   row_from_q;
  logic              digit_last;

  assign digit_last = now_q.job.cells ? digit_q + 1'b1 == now_q.job.rows :
                      now_q.job.plain || digit_q + 1'b1 == IndexW'(now_q.gadget.count);
  assign end_line = active_q && line_q == last_line;
  assign end_part = end_line && digit_last;
  assign begin_part = next_valid_q && (!active_q || end_part);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_valid_q <= 1'b0;
      active_q <= 1'b0;
      part_q <= '0;
      from_q <= '0;
      row_from_q <= '0;
    end else begin
      if (take) next_valid_q <= 1'b1;
      else if (begin_part) next_valid_q <= 1'b0;
      if (take) part_q <= part_last ? '0 : part_q + 1'b1;
      if (begin_part) active_q <= 1'b1;
      else if (end_part) active_q <= 1'b0;
      if (end_part && !now_q.job.plain) from_q <= from_q + 1'b1;
      if (end_part && now_q.job.plain) row_from_q <= row_from_q + 1'b1;
    end
    if (take) begin
      next_q <= '{job: job_i, first: part_q == '0, last: part_last,
                  gadget: gadget_i[part_q[0] ? job_i.gadget_b : job_i.gadget_a]};
    end
    if (begin_part) begin
      now_q <= next_q;
      digit_q <= '0;
      right_q <= next_q.gadget.drop;
      if (next_q.first) row_q <= next_q.job.row;
      else row_q <= row_q + 1'b1;
    end else if (end_line) begin
      digit_q <= digit_q + 1'b1;
      right_q <= right_q + 6'(now_q.gadget.log_base);
      if (!digit_last) row_q <= row_q + 1'b1;
    end
    line_q <= begin_part || end_line ? '0 : line_q + 1'b1;
  end

  // Monomials: the first one of a row was kept when it came, the others are read while the one before is under way.
  typedef struct packed {
    logic                beyond;  // the row's number has more bits
    logic [IndexW-1:0]   row;
    logic [ElementW-1:0] power;
  } cell_t;
  localparam int unsigned PairW = $clog2(Half);
  cell_t             first_q [Rows], cell_q;
  logic [RowW-1:0]   row_next;
  logic [IndexW-1:0] digit_next;
  logic [LineW-1:0]  cell_line;
  logic [PlainBits-1:0] row [Lanes];

  function automatic cell_t cell_of(logic [ElementW-1:0] power, logic [PlainBits-1:0] number);
    return '{beyond: number[PlainBits-1:IndexW] != '0, row: number[IndexW-1:0], power: power};
  endfunction

  assign row_next = row_from_q + RowW'(end_part && now_q.job.plain);
  assign digit_next = digit_q + 1'b1;
  assign cell_line = LineW'(digit_next >> PairW);

  always_ff @(posedge clk_i) begin
    if (row_we_i && row_line_q == '0)
      first_q[row_to_q] <= cell_of(row_i[0][ElementW-1:0], row_i[1]);
    if (begin_part) begin
      cell_q <= first_q[row_next];
    end else if (end_line) begin
      cell_q <= cell_of(row[{digit_next[PairW-1:0], 1'b0}][ElementW-1:0], row[{digit_next[PairW-1:0], 1'b1}]);
    end
  end

  assign free_o = end_part && !now_q.job.plain;
  assign row_free_o = end_part && now_q.job.plain;

  assign busy_o = active_q;
  assign pass_valid_o = active_q && line_q == '0;
  assign cell_bad_o = pass_valid_o && now_q.job.cells && (cell_q.beyond || cell_q.row >= now_q.job.limit);
  assign pass_o = '{
    id: now_q.job.id, first: now_q.first && digit_q == '0, last: now_q.last && digit_last,
    monomial: now_q.job.cells, power: cell_q.power, row: now_q.job.cells ? now_q.job.row + cell_q.row : row_q,
    has_init: now_q.job.has_init, init: now_q.job.init, beside: now_q.job.beside, to_row: now_q.job.to_row,
    target: now_q.job.target
  };

  // ---- Reading, digits -----------------------------------------------------------------------------
  logic [W-1:0]         lower [Half], upper [Half], x [Lanes];

  rf_bank #(.W(W), .Lanes(Half), .Rows(Polys << LineW), .Packed(Packed)) u_lower (
    .clk_i, .re_i(active_q), .raddr_i({from_q, line_q}), .rdata_o(lower), .we_i(filling && !clock[0]),
    .waddr_i({to_q, clock[LineW:1]}), .wdata_i(half_i)
  );
  rf_bank #(.W(W), .Lanes(Half), .Rows(Polys << LineW), .Packed(Packed)) u_upper (
    .clk_i, .re_i(active_q), .raddr_i({from_q, line_q}), .rdata_o(upper), .we_i(filling && clock[0]),
    .waddr_i({to_q, clock[LineW:1]}), .wdata_i(half_i)
  );
  rf_bank #(.W(PlainBits), .Lanes(Lanes), .Rows(Rows << LineW), .Packed(Packed)) u_rows (
    .clk_i, .re_i(active_q), .raddr_i({row_from_q, now_q.job.cells ? cell_line : line_q}), .rdata_o(row), .we_i(row_we_i),
    .waddr_i({row_to_q, row_line_q}), .wdata_i(row_i)
  );

  typedef struct packed {
    logic       start;
    logic       plain;
    logic       balanced;
    logic       last;
    logic       negate;
    logic [W:0] offset;
    logic [5:0] right;
    logic [4:0] log_base;
  } cut_t;
  cut_t       cut_q [2];
  logic [2:0] start_q;

  always_ff @(posedge clk_i) begin
    cut_q[0] <= '{start: pass_valid_o, plain: now_q.job.plain, balanced: now_q.gadget.balanced, last: digit_last,
                  negate: now_q.job.negate, offset: now_q.gadget.offset[W:0], right: right_q,
                  log_base: now_q.gadget.log_base};
    cut_q[1] <= cut_q[0];
    start_q <= {start_q[1:0], cut_q[1].start};
    if (!rst_ni) begin
      cut_q[0].start <= 1'b0;
      cut_q[1].start <= 1'b0;
      start_q <= '0;
    end
  end

  // Half a line of the inverse transform's is half of each half of the forward one's.
  always_comb begin
    for (int unsigned l = 0; l < Half / 2; l++) begin
      x[l] = lower[l];
      x[Half/2+l] = upper[l];
      x[Half+l] = lower[Half/2+l];
      x[Half+Half/2+l] = upper[Half/2+l];
    end
    if (cut_q[1].plain) for (int unsigned l = 0; l < Lanes; l++) x[l] = W'(row[l]);
  end

  psi_wide_digits #(.W(W), .Lanes(Lanes)) u_digits (
    .clk_i, .shift_i, .q_i, .plain_i(cut_q[1].plain), .balanced_i(cut_q[1].balanced), .last_i(cut_q[1].last),
    .negate_i(cut_q[1].negate), .offset_i(cut_q[1].offset), .right_i(cut_q[1].right),
    .log_base_i(cut_q[1].log_base), .x_i(x), .y_o(line_o)
  );
  assign start_o = start_q[2];

  logic unused;
  always_comb begin
    unused = ^{now_q, next_q};
    for (int unsigned g = 0; g < (1 << GadgetW); g++) unused = unused ^ (^gadget_i[g]);
  end
endmodule
