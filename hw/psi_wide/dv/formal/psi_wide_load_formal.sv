// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_wide_load, beside the command that is being asked for and counts of beats and rows. Surroundings: the
// degree stands still; memory answers what was asked for; a row becomes free that was taken; commands have units. That
// commands and beats leave their queues in order is proved of rf_fifo.

module psi_wide_load_formal
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 8,
  parameter int unsigned MaxLogN = 6,
  parameter int unsigned PlainRows = 2,
  parameter int unsigned Depth = 8,
  parameter int unsigned MaxBeats = 4,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes),
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1),
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned UnitW = MaxLogN + 2
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              halt_i,
  input logic              short_i,
  input logic              move_valid_i,
  input logic              move_ready_o,
  input move_t             move_i,
  input logic              idle_o,
  input logic              req_valid_o,
  input logic              req_ready_i,
  input logic [AddrW-1:0]  req_addr_o,
  input logic [BeatsW-1:0] req_beats_o,
  input logic              rsp_valid_i,
  input logic              row_free_i,
  // inside, for induction
  input move_t             head_i,
  input logic              asking_q,
  input logic              opened_q,
  input move_t             ask_q,
  input logic [39:0]       address_q,
  input logic [IndexW-1:0] units_q,
  input logic [UnitW-1:0]  beats_q,
  input logic [CountW-1:0] room_q,
  input logic [$clog2(PlainRows+1)-1:0] rows_q,
  input logic              granted,
  input logic              taken,
  input logic              open,
  input logic              beats_ready,
  input logic [CountW-1:0] stored
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // ---- Beats: on their way, inside; rows: promised ---------------------------------------------------
  logic [15:0] coming_q, rows_used_q, moved_q, total;
  move_t       first_q;     // what is asked for
  logic        after_q = 1'b0, short_q;

  function automatic logic [15:0] unit(logic [3:0] op);
    automatic logic [15:0] n = 16'd1 << (MaxLogN - 32'(short_i));
    automatic logic [15:0] word = W > 32 ? 16'd8 : 16'd4;
    return op == OpPlain ? n * 16'd2 / 16'd64 : op == OpTable ? n * word / 16'd64 : n * 16'd2 * word / 16'd64;
  endfunction

  assign total = unit(first_q.op) * (first_q.op == OpTable ? 16'd1 : 16'(first_q.count));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      coming_q <= '0;
      rows_used_q <= '0;
      moved_q <= '0;
    end else begin
      coming_q <= coming_q + (granted ? 16'(req_beats_o) : 16'd0) - 16'(rsp_valid_i);
      rows_used_q <= rows_used_q + 16'(open && ask_q.op == OpPlain) - 16'(row_free_i);
      if (taken) moved_q <= '0;
      else if (granted) moved_q <= moved_q + 16'(req_beats_o);
    end
    if (taken) first_q <= head_i;
  end

  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    short_q <= short_i;
    if (after_q) assume (short_i == short_q);
    assume (!rsp_valid_i || coming_q != '0);
    assume (!row_free_i || rows_used_q != '0);
    assume (!taken || head_i.count != '0 || head_i.op == OpTable);
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // beats are asked for only when there is room for them besides those inside and those still to come
      p_room: assert (!granted || 32'(stored) + 32'(coming_q) + 32'(req_beats_o) <= Depth);
      // every beat that comes is taken
      p_taken: assert (!rsp_valid_i || beats_ready);
      // no more rows are promised than there are places
      p_rows: assert (32'(rows_used_q) <= PlainRows);
      // a command's beats are asked for in the order of their addresses, each once, all of them before the next one's
      p_sequence: assert (!req_valid_o || (asking_q && req_addr_o == AddrW'({first_q.address + 40'(moved_q), 6'd0})
          && req_beats_o != '0 && 16'(req_beats_o) <= total - moved_q));
      // no burst crosses 4 KiB
      p_page: assert (!req_valid_o || 32'(req_addr_o[11:6]) + 32'(req_beats_o) <= 64);
      // nothing new is asked for while halted
      p_halt: assert (!halt_i || !granted);
      // it is idle only when nothing is asked for
      p_idle: assert (!idle_o || !asking_q);
      // room is what is neither inside nor on its way
      p_counted: assert (32'(room_q) + 32'(stored) + 32'(coming_q) == Depth && 32'(rows_q) + 32'(rows_used_q) == PlainRows
          && 32'(stored) <= Depth);
      // beats and units to ask for are those of the command that were not
      p_left: assert (!asking_q || (ask_q == first_q && address_q == first_q.address + 40'(moved_q) && moved_q < total
          && units_q != '0 && beats_q != '0 && beats_q <= UnitW'(unit(ask_q.op))
          && 16'(beats_q) + 16'(units_q - 1'b1) * unit(ask_q.op) == total - moved_q
          && (first_q.op == OpTable || first_q.count != '0)));
    end
  end
endmodule

bind psi_wide_load psi_wide_load_formal #(
  .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .PlainRows(PlainRows), .Depth(Depth), .MaxBeats(MaxBeats)
) u_formal (.head_i(head), .beats_ready(u_beats.ready_o), .stored(u_beats.count_q), .*);
