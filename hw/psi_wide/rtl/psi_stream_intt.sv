// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Negacyclic inverse transform of a stream of polynomials, Lanes values a clock: psi_stream_ntt run backwards.
//
// Function    Gentleman-Sande, from the bit-reversed order to the natural one. Butterflies halve, so that no
//             multiplication by 1/N follows.
// Order       Input lane l of clock c is position c*Lanes + l, as psi_stream_ntt gives them; output lane l < Lanes/2 of
//             clock c is coefficient c*Lanes/2 + l, lane Lanes/2 + l is coefficient N/2 + c*Lanes/2 + l, as it takes them.
//             With half the forward transform's lanes, two clocks make one line of its.
// Latency     (1 + ButterflyLatency) * log2 N + N / Lanes - 1; start_o comes with a polynomial's first line
// Throughput  as psi_stream_ntt
// Ranges      as psi_stream_ntt; twiddles are the negated inverses of the forward ones (rf_butterfly)

module psi_stream_intt #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 8,
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
    $error("psi_stream_intt: Lanes must be a power of two from 2 on, a polynomial at least four clocks");
  end

  // after[s] comes out of stage s.
  logic         after_start [MaxLogN];
  logic [W-1:0] after_x [MaxLogN][Half], after_y [MaxLogN][Half];

  for (genvar s = int'(MaxLogN) - 1; s >= 0; s--) begin : g_stages
    logic         start;
    logic [W-1:0] x [Half], y [Half];

    if (s == int'(MaxLogN) - 1) begin : g_first
      assign start = start_i;
      for (genvar p = 0; p < int'(Half); p++) begin : g_pairs
        assign x[p] = x_i[2*p];
        assign y[p] = x_i[2*p+1];
      end
    end else if (s >= int'(Outer)) begin : g_inner
      // Within the line: pairs become pairs twice as far apart.
      localparam int unsigned Apart = Half >> (s - int'(Outer));
      localparam int unsigned Before = Apart / 2;
      logic [W-1:0] line [Lanes];
      for (genvar p = 0; p < int'(Half); p++) begin : g_pairs
        localparam int unsigned From = 2 * Before * (p / int'(Before)) + p % int'(Before);
        localparam int unsigned To = 2 * Apart * (p / int'(Apart)) + p % int'(Apart);
        assign line[From] = after_x[s+1][p];
        assign line[From+Before] = after_y[s+1][p];
        assign x[p] = line[To];
        assign y[p] = line[To+Apart];
      end
      assign start = after_start[s+1];
    end else begin : g_commute
      localparam int unsigned Depth = 1 << (Outer - 1 - s);
      logic [Outer-1:0] now_q, now;
      logic [Depth-1:0] start_q;

      assign now = after_start[s+1] ? '0 : now_q;
      always_ff @(posedge clk_i) begin
        if (en_i) now_q <= now + 1'b1;
        if (!rst_ni) start_q <= '0;
        else if (en_i) start_q <= Depth'({start_q, after_start[s+1]});
      end

      psi_stream_commute #(.W(W), .Lanes(Half), .Depth(Depth)) u_commute (
        .clk_i, .en_i, .phase_i(now[Outer-1-s]), .x_i(after_x[s+1]), .y_i(after_y[s+1]), .x_o(x), .y_o(y)
      );
      assign start = start_q[Depth-1] && (s > 0 || !short_i);

      logic unused;
      assign unused = ^now;
    end

    psi_stream_stage #(
      .W(W), .Lanes(Half), .MaxLogN(MaxLogN), .Stage(s), .Inverse(1'b1), .Kind(Kind), .Twin(Twin)
    ) u_stage (
      .clk_i, .rst_ni, .en_i, .short_i, .shift_i, .q_i, .k_i, .tw_we_i, .tw_addr_i, .tw_data_i, .start_i(start),
      .x_i(x), .y_i(y), .start_o(after_start[s]), .x_o(after_x[s]), .y_o(after_y[s])
    );
  end

  assign start_o = short_i ? after_start[1] : after_start[0];
  assign y_o[0:Half-1] = short_i ? after_x[1] : after_x[0];
  assign y_o[Half:Lanes-1] = short_i ? after_y[1] : after_y[0];
endmodule
