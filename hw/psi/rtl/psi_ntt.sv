// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Pipelined forward transform: LogN stages in a row, each at work on a polynomial of its own.
//
// Function: negacyclic transform, natural order to bit-reversed, of polynomials read from the source (digits) to the
// buffer of the last stage. The first stage serves the largest N only; at half of that the second one reads the source.
// Source of the order of stages: P. Longa, M. Naehrig, CANS 2016, Algorithm 1.
// Latency     about log2 N * (N/4 + StageLatency), with drain_i = 0 (log2 N - 1) * (N/8 + StageLatency) + N/4
// Throughput  one polynomial in N/4 + drain_i cycles
// Ranges, table, reader: see psi_stage

module psi_ntt #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned MetaW = 8,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                long_i,
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic [63:0]                         k_i,
  input  logic [4:0]                          drain_i,
  input  logic                                tw_we_i,
  input  logic [LogN-1:0]                     tw_addr_i,
  input  logic [W-1:0]                        tw_data_i,
  // The source.
  input  logic                                up_avail_i,
  input  logic [MetaW-1:0]                    up_meta_i,
  output logic                                up_start_o,
  output logic                                up_re_o,
  output logic [LogN-3:0]                     up_group_o,
  output logic                                up_done_o,
  input  logic [W-1:0]                        up_x_i [4],
  // The reader of the result.
  output logic                                avail_o,
  output logic [MetaW-1:0]                    meta_o,
  input  logic                                start_i,
  input  logic                                re_i,
  input  logic [LogN-2:0]                     line_i [2],
  input  logic                                done_i,
  output logic [W-1:0]                        x_o [4],
  output logic                                busy_o
);
  // Ports of stage s, the one with LogT = s: what it reads, and (index s) its own buffer.
  logic             up_avail [LogN];
  logic [MetaW-1:0] up_meta [LogN];
  logic             up_start [LogN];
  logic             up_re [LogN];
  logic [LogN-3:0]  up_group [LogN];
  logic [LogN-2:0]  up_line [LogN][2];
  logic             up_done [LogN];
  logic [W-1:0]     up_x [LogN][4];
  logic             avail [LogN];
  logic [MetaW-1:0] meta [LogN];
  logic             start [LogN];
  logic             re [LogN];
  logic [LogN-2:0]  line [LogN][2];
  logic             done [LogN];
  logic [W-1:0]     x [LogN][4];
  logic [LogN-1:0]  busy;

  for (genvar s = 0; s < int'(LogN); s++) begin : g_stage
    psi_stage #(
      .W(W), .LogN(LogN), .LogT(s), .MetaW(MetaW), .Kind(Kind), .Word(Word), .Twin(Twin),
      .ReadLatency(s >= int'(LogN) - 2 ? psi_core_pkg::SourceLatency : rf_pkg::BankLatency)
    ) u_stage (
      .clk_i, .rst_ni, .long_i, .shift_i, .q_i, .k_i, .drain_i, .tw_we_i, .tw_addr_i, .tw_data_i,
      .up_avail_i(up_avail[s]), .up_meta_i(up_meta[s]), .up_start_o(up_start[s]), .up_re_o(up_re[s]),
      .up_group_o(up_group[s]), .up_line_o(up_line[s]), .up_done_o(up_done[s]), .up_x_i(up_x[s]),
      .avail_o(avail[s]), .meta_o(meta[s]), .start_i(start[s]), .re_i(re[s]), .line_i(line[s]), .done_i(done[s]),
      .x_o(x[s]), .busy_o(busy[s])
    );

    if (s < int'(LogN) - 2) begin : g_chain
      assign up_avail[s] = avail[s+1];
      assign up_meta[s] = meta[s+1];
      assign start[s+1] = up_start[s];
      assign re[s+1] = up_re[s];
      assign line[s+1] = up_line[s];
      assign done[s+1] = up_done[s];
      assign up_x[s] = x[s+1];

      logic unused_group;
      assign unused_group = ^up_group[s];
    end
  end

  // The first stage reads the source. The second one reads the first one's buffer, held back for as long as digits
  // take, or the source.
  localparam int unsigned Top = LogN - 1;
  localparam int unsigned Next = LogN - 2;
  logic [W-1:0] top_x [4];

  rf_delay #(.W(W), .Lanes(4), .Depth(psi_core_pkg::DigitLatency)) u_delay (
    .clk_i, .en_i(1'b1), .x_i(x[Top]), .x_o(top_x)
  );

  assign up_avail[Top] = up_avail_i && long_i;
  assign up_meta[Top] = up_meta_i;
  assign up_x[Top] = up_x_i;
  assign start[Top] = up_start[Next] && long_i;
  assign re[Top] = up_re[Next] && long_i;
  assign line[Top] = up_line[Next];
  assign done[Top] = up_done[Next] && long_i;

  assign up_avail[Next] = long_i ? avail[Top] : up_avail_i;
  assign up_meta[Next] = long_i ? meta[Top] : up_meta_i;
  assign up_x[Next] = long_i ? top_x : up_x_i;

  assign up_start_o = long_i ? up_start[Top] : up_start[Next];
  assign up_re_o = long_i ? up_re[Top] : up_re[Next];
  assign up_group_o = long_i ? up_group[Top] : up_group[Next];
  assign up_done_o = long_i ? up_done[Top] : up_done[Next];

  assign avail_o = avail[0];
  assign meta_o = meta[0];
  assign start[0] = start_i;
  assign re[0] = re_i;
  assign line[0] = line_i;
  assign done[0] = done_i;
  assign x_o = x[0];
  assign busy_o = |busy;

  logic unused_line;
  assign unused_line = ^{up_line[Top][0], up_line[Top][1]};
endmodule
