// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Slots to memory, in the format of psi_wide_load.
//
// Function    Commands are worked off in order, of `count` slots each; done_o when memory has acknowledged all of one.
// Throughput  a beat a cycle, if the file's read port gives lines and memory takes beats
// Ranges      addresses in beats of 64 bytes; bursts end at 4 KiB, and are asked for when their data are at hand. halt_i:
//             asks for no more. The read port answers 2 cycles after store_read_o met store_ready_i.

module psi_wide_store
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Depth = 64,      // beats
  parameter int unsigned MaxBeats = 16,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes),
  localparam int unsigned BeatsW = $clog2(MaxBeats + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              halt_i,
  input  logic              short_i,
  input  logic [2:0]        shift_i,

  input  logic              move_valid_i,
  output logic              move_ready_o,
  input  move_t             move_i,
  output logic              idle_o,
  output logic              done_o,
  output logic [3:0]        done_id_o,

  output logic              store_read_o,
  input  logic              store_ready_i,
  output logic [IndexW-1:0] store_slot_o,
  output logic [LineW-1:0]  store_line_o,
  input  logic [W-1:0]      line_i [2*Lanes],

  output logic              req_valid_o,
  input  logic              req_ready_i,
  output logic [AddrW-1:0]  req_addr_o,
  output logic [BeatsW-1:0] req_beats_o,
  output logic              data_valid_o,
  input  logic              data_ready_i,
  output logic [PortW-1:0]  data_o,
  input  logic              ack_i
);
  localparam int unsigned WordBits = W > 32 ? 64 : 32;
  localparam int unsigned LineBeats = 2 * Lanes * WordBits / PortW;
  localparam int unsigned SubW = LineBeats > 1 ? $clog2(LineBeats) : 1;
  localparam int unsigned TotalW = IndexW + MaxLogN + 2;  // beats of a command
  localparam int unsigned CountW = $clog2(Depth + 1);

  if (LineBeats < 1 || LineBeats > 16 || MaxBeats > 64 || Depth < 2 * MaxBeats) begin : g_check
    $error("psi_wide_store: a line must be 1 to 16 beats, Depth at least two bursts");
  end

  move_t             head, move_q;
  logic              head_valid, busy_q, taken, finished;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width($bits(move_t)), .Depth(4)) u_moves (
    .clk_i, .rst_ni, .valid_i(move_valid_i), .ready_o(move_ready_o), .data_i(move_i), .valid_o(head_valid),
    .ready_i(taken), .data_o(head), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign taken = head_valid && !busy_q;

  // ---- Reading lines -------------------------------------------------------------------------------
  localparam int unsigned Ahead = 4;  // lines that were asked for and not yet cut into beats
  localparam int unsigned LineBits = LineBeats * PortW;
  logic [IndexW-1:0] slots_q;     // to be read
  logic [IndexW-1:0] slot_q;
  logic [LineW-1:0]  line_q, last_line;
  logic [1:0]        coming_q;    // a line was asked for, and is here
  logic [2:0]        room_q;
  logic              read, beats_ready, line_valid, last_sub, cut;
  logic [SubW-1:0]   sub_q;
  logic [LineBits-1:0] arrived, whole;

  assign last_line = short_i ? {1'b0, {(LineW-1){1'b1}}} : '1;
  assign last_sub = sub_q == SubW'(LineBeats - 1);
  assign store_read_o = busy_q && slots_q != '0 && room_q != '0;
  assign store_slot_o = slot_q;
  assign store_line_o = line_q;
  assign read = store_read_o && store_ready_i;
  assign cut = line_valid && beats_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      coming_q <= '0;
      sub_q <= '0;
      room_q <= 3'(Ahead);
    end else begin
      coming_q <= {coming_q[0], read};
      if (cut) sub_q <= last_sub ? '0 : sub_q + 1'b1;
      room_q <= room_q + 3'(cut && last_sub) - 3'(read);
    end
    if (taken) begin
      slots_q <= head.count;
      slot_q <= head.first;
      line_q <= '0;
    end else if (read) begin
      line_q <= line_q == last_line ? '0 : line_q + 1'b1;
      if (line_q == last_line) begin
        slot_q <= slot_q + 1'b1;
        slots_q <= slots_q - 1'b1;
      end
    end
  end

  always_comb begin
    arrived = '0;
    if (coming_q[1]) for (int unsigned l = 0; l < 2 * Lanes; l++) arrived[l*WordBits+:W] = line_i[l] >> shift_i;
  end

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(LineBits), .Depth(Ahead)) u_lines (
    .clk_i, .rst_ni, .valid_i(coming_q[1]), .ready_o(), .data_i(arrived), .valid_o(line_valid),
    .ready_i(beats_ready && last_sub), .data_o(whole), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- Bursts --------------------------------------------------------------------------------------
  logic [CountW-1:0] stored, promised_q;   // beats at hand; of these, in bursts that were granted
  logic              beat_valid, sent, granted;
  logic [39:0]       address_q;
  logic [TotalW-1:0] unasked_q;            // beats
  logic [TotalW-1:0] bursts_q;             // not acknowledged
  logic [6:0]        boundary;
  logic [BeatsW-1:0] burst;

  rf_fifo #(.Width(PortW), .Depth(Depth)) u_beats (
    .clk_i, .rst_ni, .valid_i(line_valid), .ready_o(beats_ready),
    .data_i(whole[32'(sub_q)*PortW+:PortW]), .valid_o(beat_valid),
    .ready_i(sent), .data_o(data_o), .count_o(stored)
  );

  assign boundary = 7'd64 - {1'b0, address_q[5:0]};
  always_comb begin
    burst = unasked_q < TotalW'(MaxBeats) ? BeatsW'(unasked_q) : BeatsW'(MaxBeats);
    if (7'(burst) > boundary) burst = BeatsW'(boundary);
  end
  assign req_valid_o = busy_q && !halt_i && unasked_q != '0 && stored - promised_q >= CountW'(burst);
  assign req_addr_o = AddrW'({address_q, 6'd0});
  assign req_beats_o = burst;
  assign granted = req_valid_o && req_ready_i;
  assign data_valid_o = beat_valid && promised_q != '0;
  assign sent = data_valid_o && data_ready_i;
  assign finished = busy_q && unasked_q == '0 && bursts_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      promised_q <= '0;
      bursts_q <= '0;
    end else begin
      if (taken) busy_q <= 1'b1;
      else if (finished) busy_q <= 1'b0;
      promised_q <= promised_q + (granted ? CountW'(burst) : '0) - CountW'(sent);
      bursts_q <= bursts_q + TotalW'(granted) - TotalW'(ack_i);
    end
    if (taken) begin
      move_q <= head;
      address_q <= head.address;
      unasked_q <= (TotalW'(head.count) * TotalW'(LineBeats) << LineW) >> short_i;
    end else if (granted) begin
      address_q <= address_q + 40'(burst);
      unasked_q <= unasked_q - TotalW'(burst);
    end
  end

  assign done_o = finished;
  assign done_id_o = move_q.id;
  assign idle_o = !head_valid && !busy_q;

  logic unused;
  assign unused = ^{move_q};
endmodule
