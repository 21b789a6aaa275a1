// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Performance counters of a machine: what its memory ports moved and waited, and what the machine counts itself.
//
// Function    While count_i is high, adds the number of ones of each event of the ports, and the machine's numbers, to
//             one total each; clear_i sets all totals to 0. Totals 0 ... 3 are beats read, beats written, waits for data,
//             waits for room; the machine's follow.
// Latency     2 cycles from an event to its total
// Throughput  one event of each kind, port and cycle
// Ranges      1 <= Ports <= 64; Counters of the machine from 0 on; totals wrap

module rf_shell_counters
  import rf_shell_pkg::*;
#(
    parameter int unsigned Ports = 4,
    parameter int unsigned Counters = 0,
    parameter int unsigned AmountW = 8,
    localparam int unsigned Amounts = Counters > 0 ? Counters : 1,
    localparam int unsigned Totals = 4 + Counters
) (
    input  logic                clk_i,
    input  logic                clear_i,
    input  logic                count_i,
    input  logic [Ports-1:0]    rd_beat_i,
    input  logic [Ports-1:0]    wr_beat_i,
    input  logic [Ports-1:0]    rd_wait_i,
    input  logic [Ports-1:0]    wr_wait_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a machine without counters has one that nobody reads
    input  logic [AmountW-1:0]  amount_i [Amounts],
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [CounterW-1:0] total_o [Totals]
);

  localparam int unsigned SumW = $clog2(Ports + 1);

  if (Ports < 1 || Ports > 64) begin : g_bad_ports
    $error("Ports %0d is outside 1..64", Ports);
  end
  if (Counters > MostCounters) begin : g_bad_counters
    $error("Counters %0d is above %0d", Counters, MostCounters);
  end
  if (AmountW < 1 || AmountW > CounterW) begin : g_bad_amount_w
    $error("AmountW %0d is outside 1..%0d", AmountW, CounterW);
  end

  logic [Ports-1:0] event_of [4];
  assign event_of = '{rd_beat_i, wr_beat_i, rd_wait_i, wr_wait_i};

  for (genvar k = 0; k < 4; k++) begin : g_ports
    logic [SumW-1:0]     sum_q, ones;
    logic [CounterW-1:0] total_q;

    always_comb begin
      ones = '0;
      for (int unsigned n = 0; n < Ports; n++) ones = ones + SumW'(event_of[k][n]);
    end
    always_ff @(posedge clk_i) begin
      sum_q <= count_i ? ones : '0;
      total_q <= clear_i ? '0 : total_q + CounterW'(sum_q);
    end
    assign total_o[k] = total_q;
  end

  for (genvar k = 0; k < Counters; k++) begin : g_machine
    logic [AmountW-1:0]  amount_q;
    logic [CounterW-1:0] total_q;

    always_ff @(posedge clk_i) begin
      amount_q <= count_i ? amount_i[k] : '0;
      total_q <= clear_i ? '0 : total_q + CounterW'(amount_q);
    end
    assign total_o[4+k] = total_q;
  end

endmodule
