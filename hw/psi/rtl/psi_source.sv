// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Buffers between inverse transforms and the forward transform: what an operation's polynomials are made from, and the
// digits that they are cut into.
//
// Function: takes operations in program order, and for each one the words of its inverse transform, mapped by X ->
// X^element (psi_subs); or makes an accumulator (OpInit): a = 0, and b has at the places i * 2N/q', i = 0 ... q'/2 - 1,
// the value -(floor(Q/8) + 1) where (start - i) mod q' < q'/2 and its negative elsewhere, q' = 2^lwe_log_i (the test
// polynomial of D. Micciancio, Y. Polyakov, WAHC 2021). Then gives the polynomials of the operation to the first stage:
//   product, accumulator  digits of a by gadget A, then digits of b by gadget B
//   substitution          digits of a by gadget S, then b as it is
// lowest digit first; a count of 0 counts as 1. Buffers: Slots RLWEs.
// Latency     an operation can be read 1 cycle after its last word came; reads SourceLatency
// Throughput  four words in and four words out per cycle; an accumulator is made in N/2 cycles
// Ranges      N = 2^LogN if long_i, else half of it; gadgets as psi_digits, offset_i not shifted
//
// Reader: avail_o says that a polynomial can be read, meta_o describes it. start_i takes it; from the next cycle on
// re_i and group_i read its words 2r, 2r + 1, 2r + N/2, 2r + 1 + N/2 for r = group_i. done_i comes with the last read.
// meta_o: to_loop, substitution, pass (b as it is), first and last polynomial of the operation.

module psi_source #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned Slots = 3,
  localparam int unsigned MetaW = 5
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  logic                                  long_i,
  input  logic [psi_core_pkg::ShiftWidth-1:0]   shift_i,
  input  logic [W-1:0]                          q_i,
  input  logic [3:0]                            lwe_log_i,
  input  psi_pkg::gadget_t                      gadget_i [psi_pkg::Gadgets],
  input  logic [W+2:0]                          offset_i [psi_pkg::Gadgets],
  // Operations.
  input  logic                                  op_valid_i,
  output logic                                  op_ready_o,
  input  psi_pkg::job_t                         op_i,
  // Words of the inverse transform of the operation taken last.
  input  logic                                  valid_i,
  input  logic [W-1:0]                          x_i [4],
  // Reader.
  output logic                                  avail_o,
  output logic [MetaW-1:0]                      meta_o,
  input  logic                                  start_i,
  input  logic                                  re_i,
  input  logic [LogN-3:0]                       group_i,
  input  logic                                  done_i,
  output logic [W-1:0]                          x_o [4],
  output logic                                  busy_o
);
  if (LogN < 8 || Slots < 1 || Slots > 4 || LogN >= psi_pkg::ElementW) begin : g_check
    $error("psi_source: LogN must be between 8 and ElementW - 1, Slots between 1 and 4");
  end

  localparam int unsigned GroupW = LogN - 2;
  localparam int unsigned SlotW = Slots > 1 ? $clog2(Slots) : 1;
  localparam int unsigned UsedW = $clog2(Slots + 1);
  localparam int unsigned Rows = (2 * Slots) << GroupW;
  localparam int unsigned RowW = $clog2(Rows);
  localparam int unsigned Cut = rf_pkg::BankLatency - 1;  // the fields of the words that have been read

  function automatic logic [SlotW-1:0] next(logic [SlotW-1:0] slot);
    return slot == SlotW'(Slots - 1) ? '0 : slot + 1'b1;
  endfunction

  // Filling a buffer.
  logic              fill_q;           // an operation's words are coming
  logic              init_q;
  logic [LogN:1]     element_q;
  logic [LogN:0]     start_q;
  logic [SlotW-1:0]  wslot_q;
  logic              wpoly_q;
  logic [GroupW-1:0] wgroup_q, group_last;
  logic              word, commit, take;
  logic [W-1:0]      word_x [4];
  logic [W-1:0]      eighth_q;         // floor(Q/8) + 1
  logic [W+2:0]      shifted_q [psi_pkg::Gadgets], offset;  // shifted as residues are
  logic              substitution_q [Slots];
  logic              to_loop_q [Slots];

  assign group_last = long_i ? '1 : {1'b0, {(GroupW - 1){1'b1}}};
  assign take = op_valid_i && op_ready_o;
  assign word = fill_q && (init_q || valid_i);
  assign commit = word && wpoly_q && wgroup_q == group_last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= 1'b0;
      wslot_q <= '0;
      wpoly_q <= 1'b0;
      wgroup_q <= '0;
    end else begin
      if (take) fill_q <= 1'b1;
      else if (commit) fill_q <= 1'b0;
      if (word) begin
        wgroup_q <= wgroup_q == group_last ? '0 : wgroup_q + 1'b1;
        if (wgroup_q == group_last) wpoly_q <= !wpoly_q;
      end
      if (commit) wslot_q <= next(wslot_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      init_q <= op_i.op == psi_pkg::OpInit;
      element_q <= op_i.op == psi_pkg::OpSubstitute ? op_i.element[LogN:1] : '0;
      start_q <= (LogN + 1)'(op_i.start);
      substitution_q[wslot_q] <= op_i.op == psi_pkg::OpSubstitute;
      to_loop_q[wslot_q] <= op_i.to_loop;
    end
    for (int unsigned g = 0; g < psi_pkg::Gadgets; g++) shifted_q[g] <= offset_i[g] << shift_i;
    eighth_q <= (((q_i >> shift_i) >> 3) + 1'b1) << shift_i;
  end

  always_comb begin
    automatic logic [3:0] log_2n = long_i ? 4'(LogN + 1) : 4'(LogN);
    automatic logic [3:0] apart = log_2n > lwe_log_i ? log_2n - lwe_log_i : '0;
    automatic logic [3:0] top = lwe_log_i - 1'b1;
    automatic logic [LogN:0] gaps = ~({(LogN + 1){1'b1}} << apart);
    for (int unsigned w = 0; w < 4; w++) begin
      automatic logic [LogN:0] half = w < 2 ? '0 : long_i ? (LogN + 1)'(1 << (LogN - 1)) : (LogN + 1)'(1 << (LogN - 2));
      automatic logic [LogN:0] place = ((LogN + 1)'(wgroup_q) << 1) + (LogN + 1)'(w & 1) + half;
      automatic logic upper = 1'((start_q - (place >> apart)) >> top);
      if (!init_q) word_x[w] = x_i[w];
      else if (!wpoly_q || (place & gaps) != '0) word_x[w] = '0;
      else word_x[w] = upper ? eighth_q : q_i - eighth_q;
    end
  end

  logic              map_we;
  logic [GroupW-1:0] map_row [2];
  logic [W-1:0]      map_even [2], map_odd [2];
  logic [SlotW:0]    map_at_q;

  psi_subs #(.W(W), .LogN(LogN)) u_subs (
    .clk_i, .rst_ni, .long_i, .q_i, .element_i(element_q), .valid_i(word), .first_i(wgroup_q == '0), .x_i(word_x),
    .we_o(map_we), .row_o(map_row), .even_o(map_even), .odd_o(map_odd)
  );

  always_ff @(posedge clk_i) map_at_q <= {wslot_q, wpoly_q};

  // Which polynomial comes next, and of the one that is read how its words are cut.
  typedef struct packed {
    logic       poly;
    logic       own;   // of a substitution, with a gadget of its own
    logic       pass;
    logic       balanced;
    logic       last;
    logic [5:0] log_base;
    logic [7:0] right;
  } field_t;

  logic [UsedW-1:0] used_q;     // buffers taken
  logic [UsedW-1:0] full_q;     // of them filled, and not all polynomials started
  logic [SlotW-1:0] rslot_q;    // of the next polynomial
  logic             poly_q;
  logic [3:0]       digit_q;
  logic [7:0]       right_q;    // of the next digit, after the first one
  logic [SlotW-1:0] cut_slot_q; // of the polynomial that is read
  logic             cut_end_q;  // it is the last one of its buffer
  psi_pkg::gadget_t gadget;
  field_t           cut_q, field;
  field_t           field_q [rf_pkg::BankLatency];
  logic             substitution, digits_end, buffer_end, release_slot;
  logic [W-1:0]     even [2], odd [2], read [4];

  assign substitution = substitution_q[rslot_q];
  assign avail_o = full_q != '0;
  assign op_ready_o = !fill_q && used_q != UsedW'(Slots);
  assign release_slot = done_i && cut_end_q;
  assign busy_o = used_q != '0;

  always_comb begin
    gadget = substitution ? gadget_i[psi_pkg::GadgetS] : gadget_i[psi_pkg::GadgetA+32'(poly_q)];
    field.poly = poly_q;
    field.own = substitution;
    field.pass = substitution && poly_q;
    field.balanced = gadget.balanced;
    field.log_base = gadget.log_base;
    field.right = digit_q == '0 ? 8'(gadget.drop) : right_q;
    field.last = gadget.count == '0 || digit_q == gadget.count - 1'b1;
    digits_end = field.pass || field.last;
    buffer_end = poly_q && digits_end;
  end

  assign meta_o = {to_loop_q[rslot_q], substitution, field.pass, !poly_q && digit_q == '0, buffer_end};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      full_q <= '0;
      rslot_q <= '0;
      poly_q <= 1'b0;
      digit_q <= '0;
      cut_end_q <= 1'b0;
    end else begin
      used_q <= used_q + UsedW'(take) - UsedW'(release_slot);
      full_q <= full_q + UsedW'(commit) - UsedW'(start_i && buffer_end);
      if (start_i) begin
        digit_q <= digits_end ? '0 : digit_q + 1'b1;
        if (digits_end) poly_q <= !poly_q;
        if (buffer_end) rslot_q <= next(rslot_q);
        cut_end_q <= buffer_end;
      end else if (done_i) begin
        cut_end_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      right_q <= field.right + 8'(field.log_base);
      cut_slot_q <= rslot_q;
      cut_q <= field;
    end
    field_q[0] <= cut_q;
    for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) field_q[d] <= field_q[d-1];
  end

  // Before the first reset addresses may be anything.
  rf_bank #(.W(W), .Lanes(2), .Rows(Rows)) u_even (
    .clk_i, .re_i(re_i && rst_ni), .raddr_i(RowW'({cut_slot_q, cut_q.poly, group_i})), .rdata_o(even),
    .we_i(map_we && rst_ni), .waddr_i(RowW'({map_at_q, map_row[0]})), .wdata_i(map_even)
  );
  rf_bank #(.W(W), .Lanes(2), .Rows(Rows)) u_odd (
    .clk_i, .re_i(re_i && rst_ni), .raddr_i(RowW'({cut_slot_q, cut_q.poly, group_i})), .rdata_o(odd),
    .we_i(map_we && rst_ni), .waddr_i(RowW'({map_at_q, map_row[1]})), .wdata_i(map_odd)
  );

  always_comb begin
    if (field_q[Cut].own) offset = shifted_q[psi_pkg::GadgetS];
    else offset = shifted_q[psi_pkg::GadgetA+32'(field_q[Cut].poly)];
  end

  assign read = '{even[0], odd[0], even[1], odd[1]};

  psi_digits #(.W(W), .Lanes(4)) u_digits (
    .clk_i, .shift_i, .q_i, .pass_i(field_q[Cut].pass), .balanced_i(field_q[Cut].balanced),
    .last_i(field_q[Cut].last), .log_base_i(field_q[Cut].log_base), .right_i(field_q[Cut].right), .offset_i(offset),
    .x_i(read), .x_o
  );
endmodule
