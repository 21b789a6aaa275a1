// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Moves RLWEs and the table of twiddles between memory and the core.
//
// Function    input_*: an RLWE at an address, into the input FIFO. output_*: the next result of the output FIFO, to an
//             address. tables_*: N words at an address to the core's tables, one a cycle; ready when all are there.
//             Addresses wait, Waiting of a kind, and RLWEs go in their order. Bursts are asked for when there is room
//             for them, written when they are whole, so that what was granted before a halt is always carried through.
// Latency     -
// Throughput  one beat in and one beat out per cycle; a table word per cycle
// Ranges      addresses are multiples of 4 KiB; log_n_i 7 ... MaxLogN and does not change while idle_o is low
module psi_move
  import psi_pkg::*;
#(
    parameter int unsigned W = 27,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned InputSlots = 4,
    parameter int unsigned OutputSlots = 2,
    parameter int unsigned Waiting = 8,
    localparam int unsigned OutW = $clog2((OutputSlots << (MaxLogN - 2)) + 1),
    localparam int unsigned BurstLog = 6,  // log2 of the beats of a burst
    localparam int unsigned BeatsW = BurstLog + 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               halt_i,
    input  logic [DegreeW-1:0] log_n_i,
    // Commands
    input  logic [AddrW-1:0]   address_i,
    input  logic               input_valid_i,
    output logic               input_ready_o,
    input  logic               output_valid_i,
    output logic               output_ready_o,
    input  logic               tables_valid_i,
    output logic               tables_ready_o,
    output logic               reading_o,
    output logic               writing_o,
    // Memory: reads of RLWEs [0] and of tables [1]
    output logic [1:0]         rd_valid_o,
    input  logic [1:0]         rd_ready_i,
    output logic [AddrW-1:0]   rd_addr_o  [2],
    output logic [BeatsW-1:0]  rd_beats_o [2],
    input  logic [1:0]         rsp_valid_i,
    input  logic [PortW-1:0]   rsp_data_i,
    output logic               wr_valid_o,
    input  logic               wr_ready_i,
    output logic [AddrW-1:0]   wr_addr_o,
    output logic [BeatsW-1:0]  wr_beats_o,
    output logic               data_valid_o,
    input  logic               data_ready_i,
    output logic [PortW-1:0]   data_o,
    input  logic               wr_done_i,
    // The core
    output logic               in_valid_o,
    output logic [PortW-1:0]   in_o,
    input  logic               in_taken_i,   // a beat has left the input FIFO
    input  logic               out_valid_i,
    output logic               out_ready_o,
    input  logic [PortW-1:0]   out_i,
    input  logic [OutW-1:0]    out_count_i,
    output logic               tw_valid_o,
    output logic [MaxLogN-1:0] tw_addr_o,
    output logic [W-1:0]       tw_data_o
);
  localparam int unsigned BeatW = MaxLogN - 2;            // beats of an RLWE: 2^BeatW at most
  localparam int unsigned Room = InputSlots << BeatW;
  localparam int unsigned RoomW = $clog2(Room + 1);
  localparam int unsigned BeatBytes = PortW / 8;
  localparam int unsigned TableBurst = 16;                // beats; a table of N = 128 is one burst

  if (MaxLogN < 7 || MaxLogN > MostLogN) begin : g_bad_degree
    $error("psi_move: MaxLogN %0d is outside 7..%0d", MaxLogN, MostLogN);
  end

  // A burst of an RLWE: 4 KiB, or all of a short one.
  logic [BeatsW-1:0] burst;
  logic [BeatW:0]    beats;

  assign beats = (BeatW + 1)'(1) << (log_n_i - DegreeW'(2));
  assign burst = log_n_i >= DegreeW'(BurstLog + 2) ? BeatsW'(1) << BurstLog : BeatsW'(beats);

  // ---- RLWEs in ------------------------------------------------------------------------------------
  logic             in_head, in_take, in_active_q, in_grant;
  logic [AddrW-1:0] in_address, in_addr_q;
  logic [BeatW:0]   in_left_q;     // beats to ask for
  logic [RoomW-1:0] room_q;        // beats that fit besides those asked for
  logic [RoomW-1:0] coming_q;      // beats asked for that have not come

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(AddrW), .Depth(Waiting)) u_inputs (
      .clk_i, .rst_ni, .valid_i(input_valid_i), .ready_o(input_ready_o), .data_i(address_i), .valid_o(in_head),
      .ready_i(in_take), .data_o(in_address), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign rd_valid_o[0] = in_active_q && !halt_i && room_q >= RoomW'(burst);
  assign rd_addr_o[0] = in_addr_q;
  assign rd_beats_o[0] = burst;
  assign in_grant = rd_valid_o[0] && rd_ready_i[0];
  assign in_take = in_head && !in_active_q;
  assign in_valid_o = rsp_valid_i[0];
  assign in_o = rsp_data_i;
  assign reading_o = in_head || in_active_q || coming_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_active_q <= 1'b0;
      room_q <= RoomW'(Room);
      coming_q <= '0;
    end else begin
      if (in_take) in_active_q <= 1'b1;
      else if (in_grant && in_left_q == (BeatW + 1)'(burst)) in_active_q <= 1'b0;
      room_q <= room_q + RoomW'(in_taken_i) - (in_grant ? RoomW'(burst) : '0);
      coming_q <= coming_q - RoomW'(in_valid_o) + (in_grant ? RoomW'(burst) : '0);
    end
    if (in_take) begin
      in_addr_q <= in_address;
      in_left_q <= beats;
    end else if (in_grant) begin
      in_addr_q <= in_addr_q + AddrW'(burst) * AddrW'(BeatBytes);
      in_left_q <= in_left_q - (BeatW + 1)'(burst);
    end
  end

  // ---- Tables: a burst at a time, then its words ----------------------------------------------------
  typedef enum logic [1:0] {
    StateIdle,
    StateAsk,
    StateWords,
    StateDone
  } state_e;

  state_e             state_q;
  logic [AddrW-1:0]   table_addr_q;
  logic [MaxLogN-1:0] entry_q;     // the next one
  logic               line_valid, last_entry, last_of_burst;
  logic [PortW-1:0]   line;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(PortW), .Depth(TableBurst)) u_table (
      .clk_i, .rst_ni, .valid_i(rsp_valid_i[1]), .ready_o(), .data_i(rsp_data_i), .valid_o(line_valid),
      .ready_i(state_q == StateWords && entry_q[2:0] == '1), .data_o(line), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign rd_valid_o[1] = state_q == StateAsk && !halt_i;
  assign rd_addr_o[1] = table_addr_q;
  assign rd_beats_o[1] = BeatsW'(TableBurst);
  assign tables_ready_o = state_q == StateDone;
  assign tw_valid_o = state_q == StateWords && line_valid && entry_q != '0;  // entry 0 is not used
  assign tw_addr_o = entry_q;
  assign last_of_burst = entry_q[6:0] == '1;
  assign last_entry = entry_q == MaxLogN'((32'd1 << log_n_i) - 32'd1);
  always_comb begin
    tw_data_o = '0;
    for (int unsigned l = 0; l < 8; l++) if (entry_q[2:0] == 3'(l)) tw_data_o = line[64*l+:W];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
    end else begin
      case (state_q)
        StateIdle: if (tables_valid_i) state_q <= StateAsk;
        StateAsk: if (rd_valid_o[1] && rd_ready_i[1]) state_q <= StateWords;
        StateWords: if (line_valid) state_q <= last_entry ? StateDone : last_of_burst ? StateAsk : StateWords;
        default: state_q <= StateIdle;
      endcase
    end
    if (state_q == StateIdle) begin
      table_addr_q <= address_i;
      entry_q <= '0;
    end else if (state_q == StateWords && line_valid) begin
      entry_q <= entry_q + 1'b1;
      if (last_of_burst) table_addr_q <= table_addr_q + AddrW'(TableBurst * BeatBytes);
    end
  end

  // ---- RLWEs out -----------------------------------------------------------------------------------
  logic              out_head, out_take, out_active_q, sending_q, out_grant, out_beat;
  logic [AddrW-1:0]  out_address, out_addr_q;
  logic [BeatW:0]    out_left_q;               // beats to ask for
  logic [BeatsW-1:0] sent_q;
  logic [3:0]        unwritten_q;              // bursts that are not acknowledged

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(AddrW), .Depth(Waiting)) u_outputs (
      .clk_i, .rst_ni, .valid_i(output_valid_i), .ready_o(output_ready_o), .data_i(address_i), .valid_o(out_head),
      .ready_i(out_take), .data_o(out_address), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign wr_valid_o = out_active_q && !sending_q && !halt_i && out_count_i >= OutW'(burst) && unwritten_q != '1;
  assign wr_addr_o = out_addr_q;
  assign wr_beats_o = burst;
  assign out_grant = wr_valid_o && wr_ready_i;
  assign out_take = out_head && !out_active_q;
  assign data_valid_o = sending_q && out_valid_i;
  assign data_o = out_i;
  assign out_ready_o = sending_q && data_ready_i;
  assign out_beat = data_valid_o && data_ready_i;
  assign writing_o = out_head || out_active_q || sending_q || unwritten_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_active_q <= 1'b0;
      sending_q <= 1'b0;
      unwritten_q <= '0;
    end else begin
      if (out_take) out_active_q <= 1'b1;
      else if (out_grant && out_left_q == (BeatW + 1)'(burst)) out_active_q <= 1'b0;
      if (out_grant) sending_q <= 1'b1;
      else if (out_beat && sent_q == burst - 1'b1) sending_q <= 1'b0;
      unwritten_q <= unwritten_q + 4'(out_grant) - 4'(wr_done_i);
    end
    if (out_take) begin
      out_addr_q <= out_address;
      out_left_q <= beats;
    end else if (out_grant) begin
      out_addr_q <= out_addr_q + AddrW'(burst) * AddrW'(BeatBytes);
      out_left_q <= out_left_q - (BeatW + 1)'(burst);
    end
    if (out_grant) sent_q <= '0;
    else if (out_beat) sent_q <= sent_q + 1'b1;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!in_valid_o || coming_q != '0) else $error("a beat that was not asked for");
      assert (32'(room_q) <= Room) else $error("%0d beats of room", room_q);
    end
`endif
endmodule
