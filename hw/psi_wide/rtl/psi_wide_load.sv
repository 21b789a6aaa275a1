// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// From memory: slots, key rows, rows of small numbers, tables.
//
// Function    Commands are worked off in order, of `count` units each. A ciphertext is 2N words, by lines: Lanes of a, then
//             Lanes of b. A row of small numbers is N words of 16 bits in the order that psi_stream_ntt takes; it is asked
//             for when a place for it is free. A table is N words. Words have 32 bits, 64 if W is above 32.
// Throughput  a beat a cycle, if memory and the file's write port give it; tables a word a cycle
// Ranges      addresses in beats of 64 bytes; bursts end at 4 KiB. Beats are asked for when there is room. halt_i: asks
//             for no more. 16 * Lanes divides 512.

module psi_wide_load
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned PlainRows = 4,
  parameter int unsigned Depth = 128,     // beats
  parameter int unsigned MaxBeats = 32,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes),
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              halt_i,
  input  logic              short_i,

  input  logic              move_valid_i,
  output logic              move_ready_o,
  input  move_t             move_i,
  output logic              idle_o,
  output logic              done_o,       // a command's last line was written; rows: nothing
  output logic [3:0]        done_id_o,

  output logic              req_valid_o,
  input  logic              req_ready_i,
  output logic [AddrW-1:0]  req_addr_o,
  output logic [BeatsW-1:0] req_beats_o,
  input  logic              rsp_valid_i,
  input  logic [PortW-1:0]  rsp_data_i,

  output logic              line_valid_o,
  input  logic              line_ready_i,
  output logic              line_to_row_o,
  output logic [IndexW-1:0] line_place_o,
  output logic [LineW-1:0]  line_o,
  output logic [W-1:0]      data_o [2*Lanes],

  output logic              row_we_o,
  output logic [PlainBits-1:0] row_o [Lanes],
  input  logic              row_free_i,

  output logic [2:0]        table_we_o,
  output logic [MaxLogN-1:0] table_addr_o,
  output logic [W-1:0]      table_data_o
);
  localparam int unsigned WordBits = W > 32 ? 64 : 32;
  localparam int unsigned LineBeats = 2 * Lanes * WordBits / PortW;
  localparam int unsigned RowLines = PortW / (PlainBits * Lanes);  // lines of a row in a beat
  localparam int unsigned Words = PortW / WordBits;
  localparam int unsigned UnitW = MaxLogN + 2;  // beats of a unit
  localparam int unsigned SubW = 5;
  localparam int unsigned CountW = $clog2(Depth + 1);

  if (LineBeats < 1 || RowLines < 1 || LineBeats > 16 || MaxBeats > 64 || Depth < 2 * MaxBeats) begin : g_check
    $error("psi_wide_load: a line must be 1 to 16 beats, a row's line at most one, Depth at least two bursts");
  end

  function automatic logic [UnitW-1:0] unit_beats(logic [3:0] op);
    automatic logic [UnitW-1:0] beats;
    case (op)
      OpPlain: beats = UnitW'((1 << LineW) / RowLines);
      OpTable: beats = UnitW'((1 << MaxLogN) / Words);
      default: beats = UnitW'(LineBeats << LineW);
    endcase
    return short_i ? beats >> 1 : beats;
  endfunction

  // A table is one unit; its count says which one.
  function automatic logic [IndexW-1:0] units(logic [3:0] op, logic [IndexW-1:0] count);
    return op == OpTable ? IndexW'(1) : count;
  endfunction

  // ---- Asking --------------------------------------------------------------------------------------
  move_t             head, ask_q, work;
  logic              head_valid, asking_q, taken, work_valid, work_end, behind_ready;
  logic [39:0]       address_q;
  logic [IndexW-1:0] units_q;
  logic [UnitW-1:0]  beats_q;
  logic              opened_q;     // the unit's place is reserved
  logic [CountW-1:0] room_q;       // beats that fit besides those asked for
  logic [$clog2(PlainRows+1)-1:0] rows_q;
  logic [6:0]        boundary;
  logic [BeatsW-1:0] burst;
  logic              granted, pop, open;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width($bits(move_t)), .Depth(8)) u_moves (
    .clk_i, .rst_ni, .valid_i(move_valid_i), .ready_o(move_ready_o), .data_i(move_i), .valid_o(head_valid),
    .ready_i(taken), .data_o(head), .count_o()
  );
  // What has been asked for: its beats come in this order.
  rf_fifo #(.Width($bits(move_t)), .Depth(4)) u_asked (
    .clk_i, .rst_ni, .valid_i(taken), .ready_o(behind_ready), .data_i(head), .valid_o(work_valid), .ready_i(work_end),
    .data_o(work), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign taken = head_valid && !asking_q && behind_ready;
  assign boundary = 7'd64 - {1'b0, address_q[5:0]};
  always_comb begin
    burst = beats_q < UnitW'(MaxBeats) ? BeatsW'(beats_q) : BeatsW'(MaxBeats);
    if (7'(burst) > boundary) burst = BeatsW'(boundary);
  end
  assign open = asking_q && !opened_q && (ask_q.op != OpPlain || rows_q != '0);
  assign req_valid_o = asking_q && opened_q && !halt_i && room_q >= CountW'(MaxBeats);
  assign req_addr_o = AddrW'({address_q, 6'd0});
  assign req_beats_o = burst;
  assign granted = req_valid_o && req_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asking_q <= 1'b0;
      opened_q <= 1'b0;
      room_q <= CountW'(Depth);
      rows_q <= ($bits(rows_q))'(PlainRows);
    end else begin
      if (taken) asking_q <= 1'b1;
      else if (granted && beats_q == UnitW'(burst) && units_q == IndexW'(1)) asking_q <= 1'b0;
      if (open) opened_q <= 1'b1;
      else if (granted && beats_q == UnitW'(burst)) opened_q <= 1'b0;
      room_q <= room_q + CountW'(pop) - (granted ? CountW'(burst) : '0);
      rows_q <= rows_q + ($bits(rows_q))'(row_free_i) - ($bits(rows_q))'(open && ask_q.op == OpPlain);
    end
    if (taken) begin
      ask_q <= head;
      address_q <= head.address;
      units_q <= units(head.op, head.count);
      beats_q <= unit_beats(head.op);
    end else if (granted) begin
      address_q <= address_q + 40'(burst);
      if (beats_q == UnitW'(burst)) begin
        units_q <= units_q - 1'b1;
        beats_q <= unit_beats(ask_q.op);
      end else begin
        beats_q <= beats_q - UnitW'(burst);
      end
    end
  end

  // ---- Taking --------------------------------------------------------------------------------------
  logic               beat_valid, last_sub, last_line, last_unit, step;
  logic [PortW-1:0]   beat;
  logic [SubW-1:0]    sub_q, subs;            // beat of a line, line or word of a beat
  logic [MaxLogN-1:0] line_q, lines;          // or word of a table
  logic [IndexW-1:0]  unit_q;
  logic [PortW-1:0]   part_q [LineBeats];
  logic [LineBeats*PortW-1:0] whole;
  logic               is_line;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(PortW), .Depth(Depth)) u_beats (
    .clk_i, .rst_ni, .valid_i(rsp_valid_i), .ready_o(), .data_i(rsp_data_i), .valid_o(beat_valid), .ready_i(pop),
    .data_o(beat), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign is_line = work.op != OpPlain && work.op != OpTable;
  always_comb begin
    case (work.op)
      OpPlain: subs = SubW'(RowLines - 1);
      OpTable: subs = SubW'(Words - 1);
      default: subs = SubW'(LineBeats - 1);
    endcase
    lines = work.op == OpTable ? {!short_i, {(MaxLogN-1){1'b1}}} : MaxLogN'({!short_i, {(LineW-1){1'b1}}});
  end
  assign last_sub = sub_q == subs;
  assign last_line = line_q == lines;
  assign last_unit = unit_q == units(work.op, work.count) - 1'b1;

  // A step: a beat of a line, a line of a row, a word of a table.
  assign step = work_valid && beat_valid && (!is_line || !last_sub || line_ready_i);
  assign pop = step && (is_line || last_sub);
  assign work_end = step && last_line && last_unit && (last_sub || !is_line);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sub_q <= '0;
      line_q <= '0;
      unit_q <= '0;
    end else if (step) begin
      sub_q <= last_sub ? '0 : sub_q + 1'b1;
      if (last_sub || !is_line) begin
        line_q <= last_line ? '0 : line_q + 1'b1;
        if (last_line) unit_q <= last_unit ? '0 : unit_q + 1'b1;
      end
    end
    if (step && is_line) part_q[($clog2(LineBeats) > 0 ? $clog2(LineBeats) : 1)'(sub_q)] <= beat;
  end

  always_comb begin
    for (int unsigned b = 0; b < LineBeats; b++) whole[b*PortW+:PortW] = b + 1 == LineBeats ? beat : part_q[b];
    for (int unsigned l = 0; l < 2 * Lanes; l++) data_o[l] = whole[l*WordBits+:W];
    for (int unsigned l = 0; l < Lanes; l++)
      row_o[l] = PlainBits'(beat >> ((32'(sub_q) * Lanes + l) * PlainBits));
    table_data_o = W'(beat >> (32'(sub_q) * WordBits));
  end

  assign line_valid_o = work_valid && beat_valid && is_line && last_sub;
  assign line_to_row_o = work.to_row;
  assign line_place_o = work.first + unit_q;
  assign line_o = line_q[LineW-1:0];
  assign row_we_o = step && work.op == OpPlain;
  assign table_we_o = step && work.op == OpTable ? 3'b001 << work.count : 3'b000;
  assign table_addr_o = line_q;
  assign done_o = work_end && work.op != OpPlain;
  assign done_id_o = work.id;
  assign idle_o = !head_valid && !asking_q && !work_valid;

  logic unused;
  assign unused = ^{ask_q, work, whole, part_q[LineBeats-1]};
endmodule
