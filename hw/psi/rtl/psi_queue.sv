// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Works off commands: those of a queue in memory, or of the host.
//
// Function    Reads beats of eight commands from program_i on until one is End, none beyond that beat, and hands each
//             command to its unit: instructions, addresses of RLWEs and of results go on at once, so that units run
//             ahead of each other; Tables and Set wait until all before has ended, as End does, which ends the run.
//             In a polled run commands come over host_*.
// Latency     command to its unit 1 cycle; a beat of commands as memory answers
// Throughput  a command per cycle
// Ranges      addresses are multiples of 4 KiB below 2^AddrW, bits that a command has no use for are 0, and Set names a
//             setting and a value that it has, and not LOG_N while an RLWE is left; otherwise error_o is ErrorCommand, until reset. ErrorSettings: a command that moves or computes
//             came while bad_i was high. ErrorStuck: a command waited for Quiet cycles in
//             which nothing moved while no port had anything outstanding. Memory = 0: no ports, host commands Exec and
//             End only.
module psi_queue
  import psi_pkg::*;
#(
    parameter int unsigned Quiet = 32768,
    parameter bit          Memory = 1'b1,
    localparam int unsigned QuietW = $clog2(Quiet + 1)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             start_i,
    input  logic             halt_i,
    input  logic [AddrW-1:0] program_i,
    input  logic             bad_i,         // settings that the machine does not have
    input  logic             polled_i,      // taken at the start
    output logic             polled_o,      // a polled run
    output logic             running_o,
    output error_e           error_o,
    // Commands of the host
    input  logic             host_valid_i,
    output logic             host_ready_o,
    input  logic [63:0]      host_i,
    // Memory: reads of one beat
    output logic             rd_valid_o,
    input  logic             rd_ready_i,
    output logic [AddrW-1:0] rd_addr_o,
    input  logic             rsp_valid_i,
    input  logic [PortW-1:0] rsp_data_i,
    // Units
    output logic             instr_valid_o,
    input  logic             instr_ready_i,
    output logic [31:0]      instr_o,
    output logic             input_valid_o,
    input  logic             input_ready_i,
    output logic             output_valid_o,
    input  logic             output_ready_i,
    output logic             tables_valid_o,
    input  logic             tables_ready_i,
    output logic [AddrW-1:0] address_o,
    output logic             set_valid_o,
    input  logic             set_known_i,
    output logic [11:0]      set_addr_o,
    output logic [31:0]      set_data_o,
    // All before has ended; something moved in this cycle, or a port has something outstanding
    input  logic             idle_i,
    input  logic             empty_i,       // no RLWE is left in a FIFO
    input  logic             moved_i
);
  localparam int unsigned Commands = PortW / 64;
  localparam int unsigned IndexW = $clog2(Commands);
  localparam int unsigned Settle = 3;  // cycles from a setting to what is made of it

  logic   running_q, polled_q;
  error_e error_q;

  // ---- Beats of commands ---------------------------------------------------------------------------
  logic              asking_q, beat_valid, beat_take, take, ends, ended_q;
  logic [AddrW-1:0]  addr_q;
  logic [PortW-1:0]  beat;
  logic [1:0]        beats;
  logic [IndexW-1:0] index_q;

  // There is room: it was looked for before the beat was asked for.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(PortW), .Depth(2)) u_beats (
      .clk_i, .rst_ni(rst_ni && !start_i), .valid_i(rsp_valid_i), .ready_o(), .data_i(rsp_data_i),
      .valid_o(beat_valid), .ready_i(beat_take), .data_o(beat), .count_o(beats)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  always_comb begin
    ends = 1'b0;
    for (int unsigned c = 0; c < Commands; c++) ends = ends || rsp_data_i[64*c+60+:4] == CommandEnd;
  end
  assign rd_valid_o = Memory && running_q && !polled_q && !halt_i && !asking_q && !ended_q && beats < 2'd2;
  assign rd_addr_o = addr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      asking_q <= 1'b0;
      ended_q <= 1'b0;
      index_q <= '0;
      addr_q <= program_i;
    end else begin
      if (rd_valid_o && rd_ready_i) begin
        asking_q <= 1'b1;
        addr_q <= addr_q + AddrW'(PortW / 8);
      end else if (rsp_valid_i) begin
        asking_q <= 1'b0;
      end
      if (rsp_valid_i && ends) ended_q <= 1'b1;
      if (take && !polled_q) index_q <= index_q + 1'b1;
    end
  end

  // ---- The command ---------------------------------------------------------------------------------
  logic        valid, lacks, good, finish, address_good;
  logic [63:0] command;
  command_e    code;
  logic [2:0]  settle_q;

  assign command = polled_q ? host_i : beat[64*index_q+:64];
  assign code = command_e'(command[63:60]);
  // Only Set and End make do with any settings.
  assign lacks = bad_i && code != CommandSet && code != CommandEnd;
  assign valid = running_q && !halt_i && error_q == ErrorNone && settle_q == '0
                 && (polled_q ? host_valid_i : beat_valid);
  assign address_good = Memory && command[59:48] == '0 && command[11:0] == '0;
  always_comb
    case (code)
      CommandEnd: good = command[59:0] == '0;
      CommandExec: good = command[59:32] == '0 && !lacks;
      CommandInput, CommandOutput, CommandTables: good = address_good && !lacks;
      CommandSet:
        good = Memory && command[47:32] == '0 && set_known_i && !(set_addr_o == AddrLogN && idle_i && !empty_i);
      default: good = 1'b0;
    endcase

  assign instr_valid_o = valid && good && code == CommandExec;
  assign input_valid_o = valid && good && code == CommandInput;
  assign output_valid_o = valid && good && code == CommandOutput;
  assign tables_valid_o = valid && good && code == CommandTables && idle_i;
  assign set_valid_o = valid && good && code == CommandSet && idle_i;
  assign finish = valid && good && code == CommandEnd && idle_i;
  assign take = (instr_valid_o && instr_ready_i) || (input_valid_o && input_ready_i)
                || (output_valid_o && output_ready_i) || (tables_valid_o && tables_ready_i) || set_valid_o || finish;
  assign instr_o = command[31:0];
  assign address_o = command[AddrW-1:0];
  assign set_addr_o = command[59:48];
  assign set_data_o = command[31:0];
  assign host_ready_o = polled_q && take;
  assign beat_take = !polled_q && take && index_q == IndexW'(Commands - 1);

  logic [QuietW-1:0] quiet_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      polled_q <= 1'b0;
      error_q <= ErrorNone;
    end else if (start_i) begin
      running_q <= 1'b1;
      polled_q <= polled_i;
      error_q <= ErrorNone;
    end else begin
      if (finish) running_q <= 1'b0;
      if (valid && !good) error_q <= lacks ? ErrorSettings : ErrorCommand;
      else if (valid && quiet_q == QuietW'(Quiet)) error_q <= ErrorStuck;
    end
    settle_q <= !rst_ni || start_i || set_valid_o ? 3'(Settle) : settle_q != '0 ? settle_q - 1'b1 : '0;
    quiet_q <= !valid || take || moved_i ? '0 : quiet_q == QuietW'(Quiet) ? quiet_q : quiet_q + 1'b1;
  end

  assign running_o = running_q;
  assign polled_o = running_q && polled_q;
  assign error_o = error_q;
endmodule
