// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Negacyclic forward transform of a stream of polynomials, Lanes coefficients a clock: a multi-path delay commutator.
//
// Function    X^N + 1, Cooley-Tukey, natural order to the bit-reversed one of the library's Eval form: position j holds
//             the value at psi^(2*brv(j) + 1).
// Order       In clock c of N / Lanes, input lane l < Lanes/2 is coefficient c*Lanes/2 + l, lane Lanes/2 + l is
//             coefficient N/2 + c*Lanes/2 + l. Output lane l of clock c is position c*Lanes + l.
// Latency     (1 + ButterflyLatency) * log2 N + N / Lanes - 1; start_o comes with a polynomial's first line
// Throughput  one polynomial every N / Lanes clocks exactly, if start_i says so; or after any pause. Nothing waits: who
//             gives a polynomial has room for it.
// Ranges      N = 2^MaxLogN, or half of it if short_i: the first stage is passed by. Residues and modulus shifted left by
//             shift_i; the rest as rf_butterfly. Tables as psi_stream_stage. short_i changes only while nothing is in
//             flight; en_i low holds everything.
// Source      the structure: He, Torkelson, A New Approach to Pipeline FFT Processor (IPPS 1996), its multi-path
//             delay commutator of radix 2, here Lanes/2 times side by side

module psi_stream_ntt #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               en_i,
  input  logic               short_i,
  input  logic [2:0]         shift_i,
  input  logic [W-1:0]       q_i,
  input  logic [63:0]        k_i,
  input  logic               tw_we_i,
  input  logic [MaxLogN-1:0] tw_addr_i,
  input  logic [W-1:0]       tw_data_i,
  input  logic               start_i,
  input  logic [W-1:0]       x_i [Lanes],
  output logic               start_o,
  output logic [W-1:0]       y_o [Lanes]
);
  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned Outer = MaxLogN - $clog2(Lanes);  // commutators

  if (Lanes < 2 || (Lanes & (Lanes - 1)) != 0 || Outer < 2) begin : g_check
    $error("psi_stream_ntt: Lanes must be a power of two from 2 on, a polynomial at least four clocks");
  end

  // before[s] goes into stage s.
  logic         before_start [MaxLogN+1];
  logic [W-1:0] before_x [MaxLogN+1][Half], before_y [MaxLogN+1][Half];

  assign before_start[0] = start_i && !short_i;
  assign before_x[0] = x_i[0:Half-1];
  assign before_y[0] = x_i[Half:Lanes-1];

  for (genvar s = 0; s < int'(MaxLogN); s++) begin : g_stages
    logic         start;
    logic [W-1:0] x [Half], y [Half];

    psi_stream_stage #(
      .W(W), .Lanes(Half), .MaxLogN(MaxLogN), .Stage(s), .Inverse(1'b0), .Kind(Kind), .Twin(Twin)
    ) u_stage (
      .clk_i, .rst_ni, .en_i, .short_i, .shift_i, .q_i, .k_i, .tw_we_i, .tw_addr_i, .tw_data_i,
      .start_i(before_start[s]), .x_i(before_x[s]), .y_i(before_y[s]), .start_o(start), .x_o(x), .y_o(y)
    );

    if (s < int'(Outer)) begin : g_commute
      localparam int unsigned Depth = 1 << (Outer - 1 - s);
      logic [Outer-1:0] now_q, now;
      logic [Depth-1:0] start_q;
      logic [W-1:0]     xd [Half], yd [Half];

      assign now = start ? '0 : now_q;
      always_ff @(posedge clk_i) begin
        if (en_i) now_q <= now + 1'b1;
        if (!rst_ni) start_q <= '0;
        else if (en_i) start_q <= Depth'({start_q, start});
      end

      psi_stream_commute #(.W(W), .Lanes(Half), .Depth(Depth)) u_commute (
        .clk_i, .en_i, .phase_i(now[Outer-1-s]), .x_i(x), .y_i(y), .x_o(xd), .y_o(yd)
      );

      if (s == 0) begin : g_bypass
        assign before_start[1] = short_i ? start_i : start_q[Depth-1];
        assign before_x[1] = short_i ? x_i[0:Half-1] : xd;
        assign before_y[1] = short_i ? x_i[Half:Lanes-1] : yd;
      end else begin : g_next
        assign before_start[s+1] = start_q[Depth-1];
        assign before_x[s+1] = xd;
        assign before_y[s+1] = yd;
      end

      logic unused;
      assign unused = ^now;
    end else begin : g_inner
      // Within the line: pairs Half >> g apart become pairs half as far apart; after the last stage neighbours are 1.
      localparam int unsigned Apart = Half >> (s - int'(Outer));
      localparam int unsigned Next = Apart > 1 ? Apart / 2 : 1;
      logic [W-1:0] line [Lanes];
      for (genvar p = 0; p < int'(Half); p++) begin : g_pairs
        localparam int unsigned From = 2 * Apart * (p / int'(Apart)) + p % int'(Apart);
        localparam int unsigned To = 2 * Next * (p / int'(Next)) + p % int'(Next);
        assign line[From] = x[p];
        assign line[From+Apart] = y[p];
        assign before_x[s+1][p] = line[To];
        assign before_y[s+1][p] = line[To+Next];
      end
      assign before_start[s+1] = start;
    end
  end

  // Neighbours of the last stage are even and odd positions.
  assign start_o = before_start[MaxLogN];
  for (genvar p = 0; p < int'(Half); p++) begin : g_out
    assign y_o[2*p] = before_x[MaxLogN][p];
    assign y_o[2*p+1] = before_y[MaxLogN][p];
  end
endmodule
