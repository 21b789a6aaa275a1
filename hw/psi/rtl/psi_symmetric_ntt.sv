// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Forward transform of two polynomials that is not pipelined: two butterflies go through one memory once a stage. The
// transform of a symmetric pipeline, in the manner of psi_intt.
//
// Function    the negacyclic transform (natural to bit-reversed order) of a polynomial of a and one of b, which take
//             turns cycle by cycle. The first stage reads its operand outside, words 2c, 2c + 1, 2c + N/2, 2c + 1 + N/2
//             of group c; the last one gives its results outside, words 4c ... 4c + 3
// Latency     SourceLatency from the address of an operand to its words; LogN * N/2 cycles and some 20
// Throughput  two polynomials in LogN * N/2 + DigitLatency + 1 cycles
// Ranges      N = 2^LogN, at least 128, so that what a stage reads has been written by the one before; residues and q_i
//             shifted left by shift_i. Table: entry m + i is psi^brv(m + i)
// Source      "Hardware Acceleration for Third-Generation FHE and PSI Based on It", sections 4.2 and 4.4, Fig. 7

module psi_symmetric_ntt #(
  parameter int unsigned W = 27,
  parameter int unsigned LogN = 10,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0,
  localparam int unsigned GroupW = LogN - 2
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic [63:0]                         k_i,
  input  logic                                tw_we_i,
  input  logic [LogN-1:0]                     tw_addr_i,
  input  logic [W-1:0]                        tw_data_i,
  // Operand: whole while start_i is high; taken_o with its last read.
  input  logic                                start_i,
  output logic                                taken_o,
  output logic                                re_o,
  output logic                                poly_o,
  output logic [GroupW-1:0]                   group_o,
  input  logic [W-1:0]                        x_i [4],
  // Results: after go_i was high, all of them, soon_o two cycles before each.
  input  logic                                go_i,
  output logic                                soon_o,
  output logic                                valid_o,
  output logic                                poly_of_o,
  output logic [W-1:0]                        x_o [4],
  output logic                                busy_o
);
  if (LogN < 7 || LogN > 15) begin : g_check
    $error("psi_symmetric_ntt: LogN must be between 7 and 15");
  end

  localparam int unsigned LineW = LogN - 1;
  localparam int unsigned Read = rf_pkg::BankLatency;
  localparam int unsigned Extra = psi_core_pkg::DigitLatency;  // the operand comes so much later than the memory's words
  localparam int unsigned Latency = psi_core_pkg::StageLatency;
  localparam logic [3:0] LastStage = 4'(LogN - 1);

  typedef enum logic [1:0] {Idle, Run, Pause, Hold} state_e;

  // ---- Control: an access a cycle, and its result Latency cycles after it enters -----------------------
  state_e             state_q;
  logic [3:0]         stage_q, wstage_q;
  logic [GroupW-1:0]  group_q, wgroup_q;
  logic               poly_q, wpoly_q;
  logic [Extra-1:0]   operand_q;        // accesses of the first stage before they enter
  logic [Latency-1:0] flow_q, last_q;   // accesses that have entered, and whether they are of the last stage
  logic               run, first, last, all, write, all_written;

  assign run = state_q == Run;
  assign first = stage_q == '0;
  assign last = stage_q == LastStage;
  assign all = run && poly_q && group_q == '1;
  assign write = flow_q[Latency-1];
  assign all_written = write && wpoly_q && wgroup_q == '1;

  assign re_o = run && first;
  assign poly_o = poly_q;
  assign group_o = group_q;
  assign taken_o = all && first;
  assign soon_o = last_q[Latency-3];
  assign valid_o = last_q[Latency-1];
  assign poly_of_o = wpoly_q;
  assign busy_o = state_q != Idle || flow_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      stage_q <= '0;
      {group_q, poly_q} <= '0;
      operand_q <= '0;
      flow_q <= '0;
      last_q <= '0;
      wstage_q <= '0;
      {wgroup_q, wpoly_q} <= '0;
    end else begin
      operand_q <= {operand_q[Extra-2:0], run && first};
      flow_q <= {flow_q[Latency-2:0], operand_q[Extra-1] || (run && !first)};
      last_q <= {last_q[Latency-2:0], run && last};
      if (run) {group_q, poly_q} <= {group_q, poly_q} + 1'b1;
      if (write) {wgroup_q, wpoly_q} <= {wgroup_q, wpoly_q} + 1'b1;
      if (all_written) wstage_q <= wstage_q == LastStage ? '0 : wstage_q + 1'b1;
      if (all) stage_q <= last ? '0 : stage_q + 1'b1;
      unique case (state_q)
        Idle: if (start_i) state_q <= Run;
        Run:
          if (all && first) state_q <= Pause;
          else if (all && last) state_q <= Idle;
          else if (all && stage_q == LastStage - 4'd1 && !go_i) state_q <= Hold;
        Pause: if (operand_q == Extra'(1) << (Extra - 1)) state_q <= Run;
        Hold: if (go_i) state_q <= Run;
      endcase
    end
  end

  // ---- Lines: pairs that differ in one bit, neighbours where words of one line belong together ---------
  function automatic logic [3:0] apart(logic [3:0] stage);
    return stage == LastStage ? 4'd0 : LastStage - 4'd1 - stage;
  endfunction

  function automatic logic [LineW-1:0] line(logic [GroupW-1:0] group, logic [3:0] stage, logic upper);
    logic [LineW-1:0] below = ~({LineW{1'b1}} << apart(stage));
    return (({1'b0, group} & ~below) << 1) | ({1'b0, group} & below) | (LineW'(upper) << apart(stage));
  endfunction

  logic [LineW-1:0] rline [2], wline [2];
  logic [W-1:0]     memory [4], x [4], y [4];

  always_comb begin
    for (int unsigned p = 0; p < 2; p++) begin
      rline[p] = line(group_q, stage_q, 1'(p));
      wline[p] = line(wgroup_q, wstage_q, 1'(p));
    end
  end

  psi_buffer #(.W(W), .LogN(LogN), .Slots(2)) u_buffer (
    .clk_i, .re_i(run && !first), .rslot_i(poly_q), .rline_i(rline), .x_o(memory),
    .we_i(write && !valid_o), .wslot_i(wpoly_q), .wline_i(wline), .x_i(y)
  );

  // ---- Twiddles: entries 2^stage and up; the last stage takes two side by side -------------------------
  logic [LogN-1:0] entry;
  logic [W-1:0]    even [1], odd [1], data [1];

  assign entry = (LogN'(1) << stage_q) | (last ? {1'b0, group_q, 1'b0} : LogN'({1'b0, group_q} >> apart(stage_q)));
  assign data[0] = tw_data_i;

  rf_bank #(.W(W), .Lanes(1), .Rows(1 << LineW)) u_even (
    .clk_i, .re_i(run), .raddr_i(entry[LogN-1:1]), .rdata_o(even),
    .we_i(tw_we_i && !tw_addr_i[0]), .waddr_i(tw_addr_i[LogN-1:1]), .wdata_i(data)
  );
  rf_bank #(.W(W), .Lanes(1), .Rows(1 << LineW)) u_odd (
    .clk_i, .re_i(run), .raddr_i(entry[LogN-1:1]), .rdata_o(odd),
    .we_i(tw_we_i && tw_addr_i[0]), .waddr_i(tw_addr_i[LogN-1:1]), .wdata_i(data)
  );

  // ---- Butterflies -----------------------------------------------------------------------------------
  logic [Read-1:0] outside_q, inner_q, odd_q;  // of the access whose words come; the first stage's entry stays
  logic            outside, inner;
  logic [W-1:0]    x0 [2], x1 [2], w [2], y0 [2], y1 [2];

  always_ff @(posedge clk_i) begin
    outside_q <= {outside_q[Read-2:0], operand_q[Extra-1]};
    inner_q <= {inner_q[Read-2:0], last};
    odd_q <= {odd_q[Read-2:0], entry[0] || operand_q[Extra-1]};
  end

  assign outside = outside_q[Read-1];
  assign inner = inner_q[Read-1];

  always_comb begin
    x = outside ? x_i : memory;
    x0 = '{x[0], inner ? x[2] : x[1]};
    x1 = '{inner ? x[1] : x[2], x[3]};
    w[0] = odd_q[Read-1] ? odd[0] : even[0];
    w[1] = inner || odd_q[Read-1] ? odd[0] : even[0];
    y = '{y0[0], valid_o ? y1[0] : y0[1], valid_o ? y0[1] : y1[0], y1[1]};
  end

  rf_butterfly #(
    .W(W), .Lanes(2), .Kind(Kind), .Twin(Twin), .ShiftWidth(psi_core_pkg::ShiftWidth), .Word(Word)
  ) u_butterfly (
    .clk_i, .en_i(1'b1), .inverse_i(1'b0), .shift_i, .q_i, .k_i, .x0_i(x0), .x1_i(x1), .w_i(w), .y0_o(y0), .y1_o(y1)
  );

  assign x_o = y;
endmodule
