// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of rf_shell_control. The bus master does anything. Elements keep an error until they are reset or
// started; a port that is idle stays so while elements are halted.

module rf_shell_control_formal
  import rf_shell_pkg::*;
#(
  parameter int unsigned Elements = 2,
  parameter int unsigned Ports = 2,
  localparam int unsigned Most = Elements > Ports ? Elements : Ports,
  localparam int unsigned IndexW = $clog2(Most + 1)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                irq_o,
  input logic                element_rst_no,
  input logic                start_o,
  input logic                halt_o,
  input logic [Elements-1:0] done_i,
  input logic [7:0]          error_i [Elements],
  input logic [Ports-1:0]    idle_i,
  input logic [Ports-1:0]    bus_error_i,
  // inside: commands, the state and what STATUS and ERROR tell
  input logic                     wr_valid,
  input logic [RegisterAddrW-1:0] wr_addr,
  input logic [31:0]              wr_data,
  input logic [3:0]               wr_strb,
  input logic [1:0]               state_q,
  input logic                     reset_q,
  input logic                     failed_q,
  input logic                     fault_q,
  input logic                     expired_q,
  input logic                     found_q,
  input logic [IndexW-1:0]        index_q,
  input logic [7:0]               code_q,
  input logic                     gie_q,
  input logic [1:0]               ier_q,
  input logic [1:0]               isr_q,
  input logic [CounterW-1:0]      cycles_q,
  input logic [CounterW-1:0]      watchdog_q
);
  localparam logic [1:0] Idle = 2'd0;
  localparam logic [1:0] Running = 2'd1;
  localparam logic [1:0] Draining = 2'd2;
  localparam logic [1:0] Clearing = 2'd3;

  logic started_q = 1'b0;
  logic checked;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;

  // What was there before this cycle, since the last reset.
  logic                after_q = 1'b0;
  logic                halted_q, was_start_q, was_reset_q, stop_q, go_q;
  logic [Ports-1:0]    was_idle_q;
  logic [7:0]          was_error_q [Elements];
  logic [1:0]          was_q;

  logic start_command, abort_command;
  assign start_command = wr_valid && wr_addr == AddrCtrl && wr_strb[0] && wr_data[CtrlStartLsb];
  assign abort_command = wr_valid && wr_addr == AddrCommand && wr_strb[0]
      && (wr_data[CommandAbortLsb] || wr_data[CommandResetLsb]);

  always_ff @(posedge clk_i) begin
    after_q <= rst_ni;
    halted_q <= halt_o;
    was_start_q <= start_o;
    was_reset_q <= !element_rst_no;
    was_idle_q <= idle_i;
    was_error_q <= error_i;
    was_q <= state_q;
    stop_q <= abort_command;
    go_q <= start_command;
  end

  always_ff @(posedge clk_i) if (after_q && halted_q) assume ((was_idle_q & ~idle_i) == '0);

  for (genvar e = 0; e < Elements; e++) begin : g_elements
    always_ff @(posedge clk_i)
      if (after_q && was_error_q[e] != '0 && !was_start_q && !was_reset_q) assume (error_i[e] == was_error_q[e]);
  end

  // Cycles in a row in which a run could have ended, or should have been stopped by the watchdog.
  logic [7:0] settled_q;
  logic [2:0] over_q;
  always_ff @(posedge clk_i) begin
    settled_q <= rst_ni && state_q == Draining && idle_i == '1 ? settled_q + 8'd1 : '0;
    over_q <= rst_ni && state_q == Running && watchdog_q != '0 && cycles_q >= watchdog_q ? over_q + 3'd1 : '0;
  end

  logic blamed;  // an element with an error is still to be looked at
  always_comb begin
    blamed = 1'b0;
    for (int unsigned e = 0; e < Elements; e++) blamed |= e >= 32'(index_q) && error_i[e] != '0;
  end

  logic blamed_at_all;
  always_comb begin
    blamed_at_all = 1'b0;
    for (int unsigned e = 0; e < Elements; e++) blamed_at_all |= error_i[e] != '0;
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // elements start the cycle after a start command while idle, at no other time
      p_start: assert (start_o == (after_q && go_q && was_q == Idle));
      // elements are not reset in the cycle in which they start
      p_start_or_reset: assert (!start_o || element_rst_no);
      // elements and ports are reset only when every port is idle
      p_reset_idle: assert (element_rst_no || idle_i == '1);
      // elements are reset only when nothing runs
      p_reset_state: assert (element_rst_no || state_q == Idle || was_q == Idle);
      // a run starts from idle only
      p_enter: assert (!after_q || state_q != Running || was_q == Running || was_q == Idle);
      // a run that is told to abort leaves the running state at once
      p_abort: assert (!after_q || !stop_q || was_q != Running || state_q != Running);
      // an abort while idle stops nothing that follows
      p_abort_idle: assert (!after_q || was_q != Idle || state_q != Draining);
      // elements are halted while transfers run out, and only then
      p_halt: assert (halt_o == (state_q == Draining || state_q == Clearing));
      // once ports are idle, a stopped run ends in as many cycles as there are elements, or ports, and one
      p_ends: assert (32'(settled_q) <= Most + 1 && (state_q != Draining || found_q || 32'(settled_q) <= 32'(index_q)));
      // a clearing ends the cycle after every port is idle
      p_clears: assert (!after_q || was_q != Clearing || was_idle_q != '1 || state_q == Idle);
      // the watchdog stops a run two cycles after its time
      p_watchdog: assert (over_q <= 3'd2 && (state_q != Running || over_q == '0 || (over_q == 3'd1 && expired_q)));
      // a run that has stopped says why
      p_reason: assert (!failed_q || (state_q != Idle && state_q != Clearing) || code_q != '0);
      // a run that was not stopped has no code
      p_no_reason: assert (failed_q || code_q == '0);
      // the interrupt line is what is pending and enabled
      p_irq: assert (irq_o == (gie_q && (isr_q & ier_q) != '0));
      // the search for the cause goes on until it is found
      p_search: assert ((state_q != Draining || (failed_q && 32'(index_q) <= Most))
                        && (state_q != Draining || code_q != '0 || (!found_q && blamed))
                        && (state_q == Draining || state_q == Idle || !failed_q || state_q == Clearing));
      // a reset follows the end of a run, or a clearing
      p_reset_after: assert (!reset_q || (after_q && (was_q == Draining || was_q == Clearing) && state_q == Idle));
      // a fault is seen while a run goes on, and stays until it is dealt with
      p_fault: assert (!fault_q || (after_q && was_q == Running && (state_q != Running || blamed_at_all)));
      // a run's time is up only while it goes on
      p_expired: assert (!expired_q || (after_q && was_q == Running));
    end
  end
endmodule

bind rf_shell_control rf_shell_control_formal #(
  .Elements(Elements), .Ports(Ports)
) u_formal (.state_q(2'(state_q)), .*);
