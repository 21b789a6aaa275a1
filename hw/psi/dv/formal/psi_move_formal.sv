// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_move's RLWEs, beside lists of the addresses that wait and counts of beats. Surroundings: the degree
// stands still while anything moves; memory answers what was asked for, the writer asks for data of what it granted;
// beats leave the input FIFO once they have come, and the output FIFO counts those that it offers.

module psi_move_formal
  import psi_pkg::*;
#(
  parameter int unsigned MaxLogN = 9,
  parameter int unsigned InputSlots = 1,
  parameter int unsigned OutputSlots = 1,
  parameter int unsigned Waiting = 2,
  localparam int unsigned OutW = $clog2((OutputSlots << (MaxLogN - 2)) + 1),
  localparam int unsigned BeatsW = 7,
  localparam int unsigned BeatW = MaxLogN - 2,
  localparam int unsigned Room = InputSlots << BeatW,
  localparam int unsigned RoomW = $clog2(Room + 1)
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               halt_i,
  input logic [DegreeW-1:0] log_n_i,
  input logic [AddrW-1:0]   address_i,
  input logic               input_valid_i,
  input logic               input_ready_o,
  input logic               output_valid_i,
  input logic               output_ready_o,
  input logic               reading_o,
  input logic               writing_o,
  input logic [1:0]         rd_valid_o,
  input logic [1:0]         rd_ready_i,
  input logic [AddrW-1:0]   rd_addr_o  [2],
  input logic [BeatsW-1:0]  rd_beats_o [2],
  input logic [1:0]         rsp_valid_i,
  input logic               wr_valid_o,
  input logic               wr_ready_i,
  input logic [AddrW-1:0]   wr_addr_o,
  input logic [BeatsW-1:0]  wr_beats_o,
  input logic               data_valid_o,
  input logic               data_ready_i,
  input logic               wr_done_i,
  input logic               in_valid_o,
  input logic               in_taken_i,
  input logic               out_valid_i,
  input logic               out_ready_o,
  input logic [OutW-1:0]    out_count_i,
  // inside, for induction
  input logic               in_active_q,
  input logic [BeatW:0]     in_left_q,
  input logic [AddrW-1:0]   in_addr_q,
  input logic [RoomW-1:0]   room_q,
  input logic [RoomW-1:0]   coming_q,
  input logic               out_active_q,
  input logic               sending_q,
  input logic [BeatW:0]     out_left_q,
  input logic [AddrW-1:0]   out_addr_q,
  input logic [BeatsW-1:0]  sent_q,
  input logic [3:0]         unwritten_q,
  input logic [1:0]         in_count,
  input logic [1:0]         out_count,
  input logic [AddrW-1:0]   in_mem [Waiting],
  input logic [AddrW-1:0]   out_mem [Waiting],
  input logic               in_rptr,
  input logic               in_wptr,
  input logic               out_rptr,
  input logic               out_wptr
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // ---- Lists of addresses, oldest first: the first is that of the RLWE that moves -----------------------
  logic [AddrW-1:0] ins_q [Waiting+1], outs_q [Waiting+1];
  logic [2:0]       ins_count_q, outs_count_q;
  logic [9:0]       length, burst, asked_q, granted_q;  // beats: of an RLWE, of a burst; asked for of the first
  logic             take_in, take_out, ask, grant, in_ends, out_ends;

  assign length = 10'd1 << (log_n_i - DegreeW'(2));
  assign burst = length < 64 ? length : 64;
  assign take_in = input_valid_i && input_ready_o;
  assign take_out = output_valid_i && output_ready_o;
  assign ask = rd_valid_o[0] && rd_ready_i[0];
  assign grant = wr_valid_o && wr_ready_i;
  assign in_ends = ask && asked_q + burst == length;
  assign out_ends = grant && granted_q + burst == length;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i <= Waiting; i++) begin
      if (in_ends && i < Waiting) ins_q[i] <= ins_q[i+1];
      if (take_in && i == 32'(ins_count_q) - 32'(in_ends)) ins_q[i] <= address_i;
      if (out_ends && i < Waiting) outs_q[i] <= outs_q[i+1];
      if (take_out && i == 32'(outs_count_q) - 32'(out_ends)) outs_q[i] <= address_i;
    end
    if (!rst_ni) begin
      ins_count_q <= '0;
      outs_count_q <= '0;
      asked_q <= '0;
      granted_q <= '0;
    end else begin
      ins_count_q <= ins_count_q + 3'(take_in) - 3'(in_ends);
      outs_count_q <= outs_count_q + 3'(take_out) - 3'(out_ends);
      if (ask) asked_q <= in_ends ? '0 : asked_q + burst;
      if (grant) granted_q <= out_ends ? '0 : granted_q + burst;
    end
  end

  // ---- Beats: on their way from memory, in the input FIFO; of the burst that is written, in the output FIFO --
  logic [9:0] coming_count_q, inside_q, owed_q;
  logic [4:0]  unanswered_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      coming_count_q <= '0;
      inside_q <= '0;
      owed_q <= '0;
      unanswered_q <= '0;
    end else begin
      coming_count_q <= coming_count_q + (ask ? burst : '0) - 10'(in_valid_o);
      inside_q <= inside_q + 10'(in_valid_o) - 10'(in_taken_i);
      owed_q <= owed_q + (grant ? burst : '0) - 10'(data_valid_o && data_ready_i);
      unanswered_q <= unanswered_q + 5'(grant) - 5'(wr_done_i);
    end
  end

  // ---- Surroundings ----------------------------------------------------------------------------------
  logic               after_q = 1'b0;
  logic [DegreeW-1:0] log_n_q;
  logic [OutW-1:0]    was_q;
  logic               gone_q;
  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    log_n_q <= log_n_i;
    was_q <= out_count_i;
    gone_q <= out_valid_i && out_ready_o;
    assume (log_n_i >= DegreeW'(6) && 32'(log_n_i) <= MaxLogN);
    if (after_q && (ins_count_q != '0 || outs_count_q != '0 || coming_count_q != '0 || inside_q != '0 || owed_q != '0))
      assume (log_n_i == log_n_q);
    assume (!rsp_valid_i[0] || coming_count_q != '0);
    assume (!in_taken_i || inside_q != '0);
    assume (!data_ready_i || owed_q != '0);
    assume (!wr_done_i || 32'(unanswered_q) > 32'(owed_q != '0));
    assume (32'(out_count_i) <= OutputSlots << BeatW);
    // The output FIFO loses no beat but those taken.
    if (after_q) assume (32'(out_count_i) + 32'(gone_q) >= 32'(was_q));
    if (out_count_i == '0) assume (!out_valid_i);
  end

  logic stored;
  always_comb begin
    stored = 1'b1;
    for (int unsigned i = 0; i < Waiting; i++) begin
      stored &= i >= 32'(in_count) || in_mem[(32'(in_rptr) + i) % Waiting] == ins_q[i+32'(in_active_q)];
      stored &= i >= 32'(out_count) || out_mem[(32'(out_rptr) + i) % Waiting] == outs_q[i+32'(out_active_q)];
    end
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // bursts of operands are asked for in the order of their addresses, all of each, once
      p_in_order: assert (!rd_valid_o[0] || (ins_count_q != '0 && rd_addr_o[0] == ins_q[0] + (AddrW'(asked_q) << 6)
          && 10'(rd_beats_o[0]) == burst && asked_q < length));
      // the input FIFO has room for every beat that comes
      p_in_room: assert (32'(inside_q) + 32'(coming_count_q) <= Room);
      // bursts of results are written in the order of their addresses, all of each, once
      p_out_order: assert (!wr_valid_o || (outs_count_q != '0 && wr_addr_o == outs_q[0] + (AddrW'(granted_q) << 6)
          && 10'(wr_beats_o) == burst && granted_q < length));
      // what was granted for writing is in the output FIFO, and is offered until all of it is written, halted or not
      p_carried: assert (10'(out_count_i) >= owed_q && data_valid_o == (owed_q != '0 && out_valid_i));
      // no beat leaves the output FIFO but those that are written
      p_taken: assert (out_ready_o == (owed_q != '0 && data_ready_i));
      // nothing new is asked for while halted
      p_halt: assert (!halt_i || (!rd_valid_o[0] && !wr_valid_o));
      // it says that it reads, and writes, until the last beat has come, or the last burst is acknowledged
      p_busy: assert (reading_o == (ins_count_q != '0 || coming_count_q != '0)
          && writing_o == (outs_count_q != '0 || owed_q != '0 || unanswered_q != '0));
      // counts inside are those of the beats
      p_counted: assert (32'(room_q) + 32'(inside_q) + 32'(coming_count_q) == Room && 10'(coming_q) == coming_count_q
          && 5'(unwritten_q) == unanswered_q && 32'(unanswered_q) >= 32'(owed_q != '0)
          && sending_q == (owed_q != '0) && (!sending_q || 10'(sent_q) + owed_q == burst));
      // the RLWEs that move are the first of the lists
      p_left: assert (32'(ins_count_q) == 32'(in_count) + 32'(in_active_q) && (in_active_q || asked_q == '0)
          && 32'(outs_count_q) == 32'(out_count) + 32'(out_active_q) && (out_active_q || granted_q == '0)
          && (!in_active_q || (10'(in_left_q) == length - asked_q && asked_q < length
                               && in_addr_q == ins_q[0] + (AddrW'(asked_q) << 6) && (asked_q & (burst - 1)) == 0))
          && (!out_active_q || (10'(out_left_q) == length - granted_q && granted_q < length
                                && out_addr_q == outs_q[0] + (AddrW'(granted_q) << 6) && (granted_q & (burst - 1)) == 0)));
      // addresses that wait stand in their FIFOs
      p_stored: assert (stored && 32'(in_count) <= Waiting && 32'(out_count) <= Waiting
          && 32'(in_wptr) == (32'(in_rptr) + 32'(in_count)) % Waiting
          && 32'(out_wptr) == (32'(out_rptr) + 32'(out_count)) % Waiting);
    end
  end
endmodule

bind psi_move psi_move_formal #(
  .MaxLogN(MaxLogN), .InputSlots(InputSlots), .OutputSlots(OutputSlots), .Waiting(Waiting)
) u_formal (
  .in_count(u_inputs.count_q), .out_count(u_outputs.count_q), .in_mem(u_inputs.mem), .out_mem(u_outputs.mem),
  .in_rptr(u_inputs.rptr_q), .in_wptr(u_inputs.wptr_q), .out_rptr(u_outputs.rptr_q), .out_wptr(u_outputs.wptr_q), .*
);
