// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of psi_rob, beside a list of the instructions that were taken and not yet sent, oldest first, the first
// loaded_q of them loaded. Surroundings: settings stand still; FIFOs tell of an RLWE only where one is, the loop FIFO
// only of one that was sent to it; a unit that was loaded is not idle before it is sent; a result comes of what was sent.

module psi_rob_formal
  import psi_pkg::*;
#(
  parameter int unsigned Depth = 3,
  parameter int unsigned Intts = 2,
  parameter int unsigned LoopSlots = 2,
  localparam int unsigned UnitW = Intts > 1 ? $clog2(Intts) : 1,
  localparam int unsigned RowsW = 5,
  localparam int unsigned IndexW = $clog2(Depth),
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned LoopW = $clog2(LoopSlots + 1)
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               bootstrap_i,
  input logic [DegreeW-1:0] log_n_i,
  input logic [3:0]         lwe_log_i,
  input gadget_t            gadget_i [Gadgets],
  input logic [LweW-1:0]    bound_i  [Gates],
  input logic [31:0]        subst_i  [Substitutions],
  input logic               instr_valid_i,
  input logic               instr_ready_o,
  input logic [31:0]        instr_i,
  input error_e             error_o,
  input logic [31:0]        count_o,
  input logic               key_valid_o,
  input logic               key_ready_i,
  input logic [KeyW-1:0]    key_o,
  input logic [RowsW-1:0]   key_rows_o,
  input logic               input_whole_i,
  input logic               loop_whole_i,
  input logic [Intts-1:0]   unit_idle_i,
  input logic               load_valid_o,
  input logic               load_ready_i,
  input logic [UnitW-1:0]   load_unit_o,
  input logic               load_loop_o,
  input logic               send_valid_o,
  input logic               send_ready_i,
  input logic [UnitW-1:0]   send_unit_o,
  input job_t               send_job_o,
  input logic               result_i,
  input logic               idle_o,
  input logic               empty_o,
  input logic               full_o,
  input logic               loop_full_o,
  // inside, for induction
  input job_t               job_q [Depth],
  input logic [UnitW-1:0]   unit_q [Depth],
  input logic [IndexW-1:0]  tail_q,
  input logic [IndexW-1:0]  issue_q,
  input logic [IndexW-1:0]  send_q,
  input logic [CountW-1:0]  held_q,
  input logic [CountW-1:0]  loaded_q,
  input logic [LoopW-1:0]   loop_q,
  input logic               issue,
  input logic [7:0]         flight
);
  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  logic after_q = 1'b0;
  always_ff @(posedge clk_i) after_q <= rst_ni;

  // ---- What an instruction means ---------------------------------------------------------------------
  logic                legal, take, load, send;
  job_t                meant;
  logic [10:0]      q_lwe;
  logic [31:0]      subst;
  logic [LweW-1:0]     bound;
  logic [KeyW-1:0]     key;
  logic [RowsW-1:0]    rows;

  assign q_lwe = 11'd1 << lwe_log_i;
  assign subst = subst_i[instr_i[29:26]];
  assign take = instr_valid_i && instr_ready_o;
  assign load = load_valid_o && load_ready_i;
  assign send = send_valid_o && send_ready_i;

  always_comb begin
    bound = '0;
    for (int unsigned g = 0; g < Gates; g++) if (32'(instr_i[29:27]) == g) bound = bound_i[g];
    meant.op = op_e'(instr_i[31:30]);
    meant.to_loop = bootstrap_i && !instr_i[29];
    meant.element = 12'd1;
    meant.start = (instr_i[26:17] - bound) & LweW'(q_lwe - 11'd1);
    legal = 1'b1;
    key = instr_i[19:0];
    rows = RowsW'(gadget_i[GadgetA].count) + RowsW'(gadget_i[GadgetB].count);
    if (meant.op == OpSubstitute) begin
      meant.to_loop = bootstrap_i;
      meant.element = subst[11:0];
      legal = subst[0] && 32'(subst[11:0]) < 32'd2 << log_n_i;
      key = subst[31:12];
      rows = RowsW'(gadget_i[GadgetS].count);
    end
    if (meant.op == OpInit) begin
      meant.to_loop = 1'b1;
      legal = instr_i[29:27] < 3'd6 && lwe_log_i >= 4'd2 && lwe_log_i <= 4'd10 && 32'(lwe_log_i) <= 32'(log_n_i) + 1
          && {1'b0, instr_i[26:17]} < q_lwe && {1'b0, bound} < q_lwe;
      key = {3'd0, instr_i[16:0]};
    end
  end

  // ---- Instructions inside ---------------------------------------------------------------------------
  job_t              list_q [Depth];
  logic [UnitW-1:0]  units_q [Depth];
  logic [CountW-1:0] count_q, done_q;  // of them, and of those loaded
  logic [LoopW:0]    sent_q;           // results of the loop that were sent and that no step has taken
  logic [6:0]        away_q;           // results that were sent and have not left

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Depth; i++) begin
      if (send && i + 1 < Depth) begin
        list_q[i] <= list_q[i+1];
        units_q[i] <= units_q[i+1];
      end
      if (take && i == 32'(count_q) - 32'(send)) list_q[i] <= meant;
      if (load && i == 32'(done_q) - 32'(send)) units_q[i] <= load_unit_o;
    end
    if (!rst_ni) begin
      count_q <= '0;
      done_q <= '0;
      sent_q <= '0;
      away_q <= '0;
    end else begin
      count_q <= count_q + CountW'(take) - CountW'(send);
      done_q <= done_q + CountW'(issue) - CountW'(send);
      sent_q <= sent_q + (LoopW+1)'(send && send_job_o.to_loop) - (LoopW+1)'(load && load_loop_o);
      away_q <= away_q + 7'(send) - 7'(result_i);
    end
  end

  // The next to be loaded, and what is promised to those that are loaded.
  job_t           next;
  logic           waiting, there, room, same, apart;
  logic [LoopW:0] promised;

  always_comb begin
    next = list_q[0];
    promised = sent_q;
    same = 1'b1;
    apart = 1'b1;
    for (int unsigned i = 0; i < Depth; i++) begin
      if (i == 32'(done_q)) next = list_q[i];
      if (i < 32'(done_q)) promised += (LoopW+1)'(list_q[i].to_loop);
      same &= i >= 32'(count_q) || job_q[(32'(send_q) + i) % Depth] == list_q[i];
      same &= i >= 32'(done_q) || list_q[i].op == OpInit || unit_q[(32'(send_q) + i) % Depth] == units_q[i];
      for (int unsigned j = 0; j < i; j++)
        apart &= i >= 32'(done_q) || list_q[i].op == OpInit || list_q[j].op == OpInit || units_q[i] != units_q[j];
    end
    waiting = done_q != count_q;
    there = next.op == OpStep ? loop_whole_i : input_whole_i;
    room = !next.to_loop || next.op == OpStep || 32'(promised) < LoopSlots;
  end

  // ---- Surroundings ----------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    assume (!instr_valid_i || 32'(log_n_i) <= 11);
    assume (!loop_whole_i || sent_q != '0);
    assume (!result_i || away_q != '0);
    assume (!send || away_q != '1);
    for (int unsigned i = 0; i < Depth; i++)
      assume (i >= 32'(done_q) || list_q[i].op == OpInit || !unit_idle_i[units_q[i]]);
  end

  // What was there before this cycle.
  error_e error_q;
  logic   offended_q, unsent_q;
  job_t   job_was_q;
  always_ff @(posedge clk_i) begin
    error_q <= error_o;
    offended_q <= instr_valid_i && !legal;
    unsent_q <= send_valid_o && !send_ready_i;
    job_was_q <= send_job_o;
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // an instruction is taken with its key's request, both or neither
      p_take: assert (take == (key_valid_o && key_ready_i));
      // only legal instructions are taken, and none after an error
      p_legal: assert (!key_valid_o || (instr_valid_i && legal && error_o == ErrorNone));
      // such an instruction is taken whenever there is room and its key's request is
      p_taken: assert (take || !(instr_valid_i && legal && error_o == ErrorNone && key_ready_i)
                       || 32'(count_q) == Depth);
      // its key's address and rows are those that it names
      p_key: assert (!key_valid_o || (key_o == key && key_rows_o == rows));
      // no more instructions are inside than fit
      p_capacity: assert (32'(count_q) <= Depth && done_q <= count_q);
      // it tells how many: none, or all that fit
      p_told: assert (empty_o == (count_q == '0) && full_o == (32'(count_q) == Depth));
      // instructions are sent in program order, none lost, none twice, each after it was loaded
      p_order: assert (send_valid_o == (done_q != '0) && (!send_valid_o || send_job_o == list_q[0]));
      // an RLWE is sent from the unit that it was loaded into
      p_unit: assert (!send_valid_o || list_q[0].op == OpInit || send_unit_o == units_q[0]);
      // a send that is not taken stays
      p_stable: assert (!after_q || !unsent_q || (send_valid_o && send_job_o == job_was_q));
      // RLWEs are loaded in program order, when they and a place for the result are there, into a unit that is idle
      p_load: assert (load_valid_o == (waiting && next.op != OpInit && there && room && unit_idle_i != '0)
                      && (!load_valid_o || (unit_idle_i[load_unit_o] && load_loop_o == (next.op == OpStep))));
      // what needs no unit waits for its turn and a place only
      p_issue: assert (issue == (load || (waiting && next.op == OpInit && room)));
      // no two that wait name one unit
      p_apart: assert (apart);
      // no more results are on their way to the loop FIFO, or in it, than it holds
      p_promise: assert (32'(promised) <= LoopSlots && 32'(sent_q) <= LoopSlots);
      // it counts them
      p_promised: assert (32'(loop_q) == 32'(promised) && loop_full_o == (32'(promised) == LoopSlots));
      // it is idle exactly while no instruction is inside and no result on its way
      p_idle: assert (idle_o == (count_q == '0 && away_q == '0) && 32'(flight) == 32'(count_q) + 32'(away_q));
      // an error comes from an instruction that is not legal, and stays
      p_error: assert (!after_q || (error_o != ErrorNone) == (error_q != ErrorNone || offended_q));
      // the list is what stands in the buffer
      p_stored: assert (held_q == count_q && loaded_q == done_q && same && 32'(send_q) < Depth
          && 32'(issue_q) == (32'(send_q) + 32'(done_q)) % Depth
          && 32'(tail_q) == (32'(send_q) + 32'(count_q)) % Depth);
    end
  end
endmodule

bind psi_rob psi_rob_formal #(.Depth(Depth), .Intts(Intts), .LoopSlots(LoopSlots)) u_formal (.flight(flight_q), .*);
