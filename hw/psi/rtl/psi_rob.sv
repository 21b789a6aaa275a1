// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reorder buffer: instructions to the inverse transforms, which end as they end, and from there on in program order.
//
// Function    Takes an instruction, checks it, asks for its key, and keeps it until its RLWE goes on. In program order
//             an RLWE from its FIFO is loaded into a unit that is idle, when there is one and, for a result of the loop,
//             when a place of the loop FIFO is free to be promised; OpInit needs no unit. In program order units are
//             sent on (send_*), which wait for their turn meanwhile.
// Latency     instruction to load or send 1 cycle
// Throughput  one instruction, one load, one send per cycle
// Ranges      settings do not change while idle_o is low. An instruction that names a substitution, gate or number that
//             does not exist ends everything: error_o until reset.
module psi_rob
  import psi_pkg::*;
#(
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned Depth = 8,
    parameter int unsigned Intts = 4,
    parameter int unsigned LoopSlots = 16,
    localparam int unsigned UnitW = Intts > 1 ? $clog2(Intts) : 1,
    localparam int unsigned RowsW = 5
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    // Settings
    input  logic               bootstrap_i,
    input  logic [DegreeW-1:0] log_n_i,
    input  logic [3:0]         lwe_log_i,
    input  gadget_t            gadget_i [Gadgets],
    input  logic [LweW-1:0]    bound_i  [Gates],
    input  logic [31:0]        subst_i  [Substitutions],
    // Instructions
    input  logic               instr_valid_i,
    output logic               instr_ready_o,
    input  logic [31:0]        instr_i,
    output error_e             error_o,
    output logic [31:0]        count_o,      // taken
    // Keys
    output logic               key_valid_o,
    input  logic               key_ready_i,
    output logic [KeyW-1:0]    key_o,
    output logic [RowsW-1:0]   key_rows_o,
    // Loads
    input  logic               input_whole_i,
    input  logic               loop_whole_i,
    input  logic [Intts-1:0]   unit_idle_i,
    output logic               load_valid_o,
    input  logic               load_ready_i,
    output logic [UnitW-1:0]   load_unit_o,
    output logic               load_loop_o,
    // On to the forward transform
    output logic               send_valid_o,
    input  logic               send_ready_i,
    output logic [UnitW-1:0]   send_unit_o,
    output job_t               send_job_o,
    // Results
    input  logic               result_i,     // one has left the pipeline
    output logic               idle_o,       // all results have
    output logic               empty_o,
    output logic               full_o,
    output logic               loop_full_o   // every place of the loop FIFO is taken or promised
);
  localparam int unsigned IndexW = $clog2(Depth);
  localparam int unsigned CountW = $clog2(Depth + 1);
  localparam int unsigned LoopW = $clog2(LoopSlots + 1);
  localparam int unsigned FlightW = 8;

  if (Depth < 2 || Depth > 32) begin : g_bad_depth
    $error("psi_rob: Depth %0d is outside 2..32", Depth);
  end
  if (Intts < 1 || Intts > 8 || LoopSlots < 1) begin : g_bad_sizes
    $error("psi_rob: Intts must be 1 to 8, LoopSlots at least 1");
  end

  function automatic logic [IndexW-1:0] next(input logic [IndexW-1:0] index);
    return index == IndexW'(Depth - 1) ? '0 : index + 1'b1;
  endfunction

  // ---- What an instruction says --------------------------------------------------------------------
  op_e                 op;
  job_t                job;
  logic [31:0]         subst;
  logic [2:0]          gate;
  logic [LweW-1:0]     number, bound;
  logic                good, take;
  logic [MostLogN+1:0] limit;    // 2N
  logic [LweW:0]       modulus;  // of LWE

  assign op = op_e'(instr_i[31:30]);
  assign subst = subst_i[instr_i[29:26]];
  assign gate = instr_i[29:27];
  assign number = instr_i[26:17];
  assign limit = (MostLogN + 2)'(2) << log_n_i;
  assign modulus = (LweW + 1)'(1) << lwe_log_i;
  always_comb begin
    bound = '0;
    for (int unsigned g = 0; g < Gates; g++) if (gate == 3'(g)) bound = bound_i[g];
  end

  always_comb begin
    job.op = op;
    job.element = op == OpSubstitute ? subst[ElementW-1:0] : ElementW'(1);
    job.start = (number - bound) & LweW'(modulus - 1'b1);
    key_rows_o = RowsW'(gadget_i[GadgetA].count) + RowsW'(gadget_i[GadgetB].count);
    key_o = instr_i[KeyW-1:0];
    job.to_loop = bootstrap_i;
    good = 1'b1;
    case (op)
      OpSubstitute: begin
        key_rows_o = RowsW'(gadget_i[GadgetS].count);
        key_o = subst[31:ElementW];
        good = subst[0] && {2'b00, subst[ElementW-1:0]} < limit;
      end
      OpInit: begin
        key_o = KeyW'(instr_i[16:0]);
        job.to_loop = 1'b1;
        good = gate < 3'(Gates) && lwe_log_i >= 4'd2 && lwe_log_i <= 4'(LweW) && lwe_log_i <= log_n_i + 4'd1
               && {1'b0, number} < modulus && {1'b0, bound} < modulus;
      end
      default: job.to_loop = bootstrap_i && !instr_i[29];
    endcase
  end

  error_e error_q;
  assign error_o = error_q;
  assign take = instr_valid_i && instr_ready_o;
  assign key_valid_o = instr_valid_i && !full_o && good && error_q == ErrorNone;
  assign instr_ready_o = key_valid_o && key_ready_i;

  always_ff @(posedge clk_i)
    if (!rst_ni) error_q <= ErrorNone;
    else if (instr_valid_i && error_q == ErrorNone) error_q <= good ? ErrorNone : ErrorInstruction;

  // ---- The buffer: entries from send_q on wait for their turn, from issue_q on for their load --------
  job_t              job_q [Depth];
  logic [UnitW-1:0]  unit_q [Depth];
  logic [IndexW-1:0] tail_q, issue_q, send_q;
  logic [CountW-1:0] held_q, loaded_q;  // entries; of these loaded
  op_e               issuing;
  logic              issuing_loop, issue, send, to_issue, there, free, idle_unit;
  logic [LoopW-1:0]  loop_q;            // places of the loop FIFO that are taken or promised
  logic [FlightW-1:0] flight_q;         // instructions taken whose result has not left
  logic [31:0]       count_q;

  assign issuing = job_q[issue_q].op;
  assign issuing_loop = job_q[issue_q].to_loop;
  assign full_o = held_q == CountW'(Depth);
  assign empty_o = held_q == '0;
  assign loop_full_o = loop_q == LoopW'(LoopSlots);
  assign idle_o = flight_q == '0;
  assign count_o = count_q;

  assign to_issue = held_q != loaded_q;
  assign there = issuing == OpInit || (issuing == OpStep ? loop_whole_i : input_whole_i);
  assign free = !issuing_loop || issuing == OpStep || !loop_full_o;
  always_comb begin
    load_unit_o = '0;
    idle_unit = 1'b0;
    for (int unsigned m = 0; m < Intts; m++)
      if (unit_idle_i[m] && !idle_unit) begin
        load_unit_o = UnitW'(m);
        idle_unit = 1'b1;
      end
  end
  assign load_valid_o = to_issue && there && free && idle_unit && issuing != OpInit;
  assign load_loop_o = issuing == OpStep;
  assign issue = to_issue && free && (issuing == OpInit || (load_valid_o && load_ready_i));

  assign send_valid_o = loaded_q != '0;
  assign send_unit_o = unit_q[send_q];
  assign send_job_o = job_q[send_q];
  assign send = send_valid_o && send_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q <= '0;
      issue_q <= '0;
      send_q <= '0;
      held_q <= '0;
      loaded_q <= '0;
      loop_q <= '0;
      flight_q <= '0;
      count_q <= '0;
    end else begin
      if (take) tail_q <= next(tail_q);
      if (issue) issue_q <= next(issue_q);
      if (send) send_q <= next(send_q);
      held_q <= held_q + CountW'(take) - CountW'(send);
      loaded_q <= loaded_q + CountW'(issue) - CountW'(send);
      // A step gives its place back, and takes it again unless its result leaves the loop.
      loop_q <= loop_q + LoopW'(issue && issuing_loop) - LoopW'(issue && issuing == OpStep);
      flight_q <= flight_q + FlightW'(take) - FlightW'(result_i);
      count_q <= count_q + 32'(take);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) job_q[tail_q] <= job;
    if (issue) unit_q[issue_q] <= load_unit_o;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!result_i || flight_q != '0) else $error("a result that no instruction has");
      assert (32'(loop_q) <= LoopSlots) else $error("%0d places of the loop FIFO", loop_q);
      assert (32'(log_n_i) <= MaxLogN || !instr_valid_i) else $error("degree 2^%0d", log_n_i);
    end
`endif
endmodule
