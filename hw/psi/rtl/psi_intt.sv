// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inverse transform of one RLWE, in two butterflies: a module of its own memory and twiddles, not pipelined.
//
// Function: loads a and b (Eval form, bit-reversed), runs all stages of the inverse negacyclic transform but the last
// in its memory, then waits; after release_i the last stage streams out, a first, in natural order: words i = 2c,
// i + 1, i + N/2, i + 1 + N/2 of group c = 0 ... N/4 - 1. 1/N is in the halvings of rf_butterfly: no pass multiplies
// by it.
// Latency     load N/4 cycles (as words come), log2 N - 1 stages of N/2 cycles to done_o; then N/2 cycles, of which the
//             first group appears StageLatency + 1 cycles after release_i
// Throughput  one RLWE in about (log2 N + 1/2) N/2 cycles
// Ranges      N = 2^LogN if long_i, else half of it; N at least 128, so that a polynomial's stage (N/4 cycles) is
//             longer than the pipeline and no stage waits for the last. Words in: unshifted and below the modulus
//
// a and b take turns, a stage of one after a stage of the other, each in a buffer that reads two lines and writes two
// in a cycle; results go back to where operands came from. Table: entry m + i is psi^brv(m + i), the forward
// transform's; read backwards it holds the inverse's factors, negated, which rf_butterfly expects (w^-1[h + i] =
// -w[2h - 1 - i]). Source of the order of stages: P. Longa, M. Naehrig, CANS 2016, Algorithm 2.
//
// idle_o: takes a load (load_i for one cycle, then words). done_o: waits for release_i. Reset forgets everything but
// the table.

module psi_intt #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
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
  input  logic                                tw_we_i,
  input  logic [LogN-1:0]                     tw_addr_i,
  input  logic [W-1:0]                        tw_data_i,
  output logic                                idle_o,
  input  logic                                load_i,
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  logic [W-1:0]                        in_i [8],
  output logic                                done_o,
  input  logic                                release_i,
  output logic                                valid_o,
  output logic [W-1:0]                        x_o [4]
);
  if (LogN < 8 || LogN > 15) begin : g_check
    $error("psi_intt: LogN must be between 8 and 15");
  end

  localparam int unsigned LineW = LogN - 1;
  localparam int unsigned GroupW = LogN - 2;
  localparam int unsigned Latency = psi_core_pkg::StageLatency;
  localparam int unsigned Read = rf_pkg::BankLatency - 1;  // the access whose words have been read

  typedef enum logic [2:0] {Idle, Load, Run, Done, Last} state_e;

  // An access of the pipeline: which polynomial, which group of which stage.
  typedef struct packed {
    logic              last;  // of the last stage: goes out
    logic              poly;
    logic [3:0]        stage;
    logic [GroupW-1:0] group;
  } access_t;

  state_e            state_q;
  logic              poly_q;
  logic [3:0]        stage_q;  // log2 of the distance of the words of a butterfly
  logic [GroupW-1:0] group_q;
  logic [GroupW-1:0] group_last;
  logic [3:0]        stage_last;
  access_t           issue;
  logic              issued;
  access_t           pipe_q [Latency];
  logic [Latency-1:0] valid_q;  // accesses in it
  access_t           back;
  logic              load_word;

  assign group_last = long_i ? '1 : {1'b0, {(GroupW - 1){1'b1}}};
  assign stage_last = long_i ? 4'(LogN - 1) : 4'(LogN - 2);

  assign idle_o = state_q == Idle;
  assign done_o = state_q == Done;
  assign in_ready_o = state_q == Load;
  assign load_word = in_valid_i && in_ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      poly_q <= 1'b0;
      stage_q <= '0;
      group_q <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          poly_q <= 1'b0;
          stage_q <= '0;
          group_q <= '0;
          if (load_i) state_q <= Load;
        end
        Load: if (load_word) begin
          group_q <= group_q + 1'b1;
          if (group_q == group_last) begin
            group_q <= '0;
            state_q <= Run;
          end
        end
        Run: begin
          group_q <= group_q + 1'b1;
          if (group_q == group_last) begin
            group_q <= '0;
            poly_q <= !poly_q;
            if (poly_q) begin
              stage_q <= stage_q + 1'b1;
              if (stage_q == stage_last - 1'b1) state_q <= Done;
            end
          end
        end
        Done: if (release_i) state_q <= Last;
        Last: begin
          group_q <= group_q + 1'b1;
          if (group_q == group_last) begin
            group_q <= '0;
            poly_q <= !poly_q;
            if (poly_q) state_q <= Idle;
          end
        end
        default: state_q <= Idle;
      endcase
    end
  end

  assign issued = state_q == Run || state_q == Last;
  assign issue = '{last: state_q == Last, poly: poly_q, stage: stage_q, group: group_q};
  assign back = pipe_q[Latency-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[Latency-2:0], issued};
  end

  always_ff @(posedge clk_i) begin
    pipe_q[0] <= issue;
    for (int unsigned d = 1; d < Latency; d++) pipe_q[d] <= pipe_q[d-1];
  end

  // The lower line of a group: within a line (stage 0) or between neighbours (stage 1) lines 2c and 2c + 1; above, c
  // with a zero put in at the bit that the two lines differ in.
  function automatic logic [LineW-1:0] first_line(logic [3:0] stage, logic [GroupW-1:0] group);
    logic [3:0] bit_at = stage == '0 ? 4'd0 : stage - 4'd1;
    logic [LineW-1:0] below = ~({LineW{1'b1}} << bit_at);
    return (({1'b0, group} & ~below) << 1) | ({1'b0, group} & below);
  endfunction

  function automatic logic [LineW-1:0] distance(logic [3:0] stage);
    return stage == '0 ? LineW'(1) : LineW'(1) << (stage - 4'd1);
  endfunction

  logic [LineW-1:0] rline [2];
  logic [LineW-1:0] back_line [2];
  logic [LineW-1:0] wline [2];
  logic [W-1:0]     read_a [4], read_b [4];
  logic [W-1:0]     write_a [4], write_b [4];
  logic [W-1:0]     x0 [2], x1 [2], w [2], y0 [2], y1 [2];
  logic [W-1:0]     result [4];

  always_comb begin
    rline[0] = first_line(issue.stage, issue.group);
    rline[1] = rline[0] | distance(issue.stage);
    back_line[0] = first_line(back.stage, back.group);
    back_line[1] = back_line[0] | distance(back.stage);
    wline = load_word ? '{{group_q, 1'b0}, {group_q, 1'b1}} : back_line;
    for (int unsigned n = 0; n < 4; n++) begin
      write_a[n] = load_word ? in_i[n] << shift_i : result[n];
      write_b[n] = load_word ? in_i[4+n] << shift_i : result[n];
    end
  end

  psi_buffer #(.W(W), .LogN(LogN), .Slots(1)) u_a (
    .clk_i, .re_i(issued && !issue.poly), .rslot_i(1'b0), .rline_i(rline), .x_o(read_a),
    .we_i(load_word || (valid_q[Latency-1] && !back.last && !back.poly)), .wslot_i(1'b0), .wline_i(wline), .x_i(write_a)
  );
  psi_buffer #(.W(W), .LogN(LogN), .Slots(1)) u_b (
    .clk_i, .re_i(issued && issue.poly), .rslot_i(1'b0), .rline_i(rline), .x_o(read_b),
    .we_i(load_word || (valid_q[Latency-1] && !back.last && back.poly)), .wslot_i(1'b0), .wline_i(wline), .x_i(write_b)
  );

  // Twiddles: entry 2h - 1 - i of group i of the stage with h groups; in stage 0 a row of the table has both.
  logic [LogN-1:0] entry;
  logic [W-1:0]    even [1], odd [1];
  logic [W-1:0]    data [1];
  logic            odd_q [rf_pkg::BankLatency];

  always_comb begin
    // 2h - 1 = 2^(log2 N - stage) - 1
    automatic logic [LogN-1:0] top = (long_i ? '1 : {1'b0, {(LogN - 1){1'b1}}}) >> issue.stage;
    entry = top - (LogN'(rline[0]) >> issue.stage);
    data[0] = tw_data_i;
  end

  always_ff @(posedge clk_i) begin
    odd_q[0] <= entry[0];
    for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) odd_q[d] <= odd_q[d-1];
  end

  rf_bank #(.W(W), .Lanes(1), .Rows(1 << (LogN - 1))) u_even (
    .clk_i, .re_i(issued), .raddr_i(entry[LogN-1:1]), .rdata_o(even),
    .we_i(tw_we_i && !tw_addr_i[0]), .waddr_i(tw_addr_i[LogN-1:1]), .wdata_i(data)
  );
  rf_bank #(.W(W), .Lanes(1), .Rows(1 << (LogN - 1))) u_odd (
    .clk_i, .re_i(issued), .raddr_i(entry[LogN-1:1]), .rdata_o(odd),
    .we_i(tw_we_i && tw_addr_i[0]), .waddr_i(tw_addr_i[LogN-1:1]), .wdata_i(data)
  );

  always_comb begin
    automatic logic [W-1:0] x [4] = pipe_q[Read].poly ? read_b : read_a;
    automatic logic [W-1:0] one = odd_q[rf_pkg::BankLatency-1] ? odd[0] : even[0];
    if (pipe_q[Read].stage == '0) begin
      x0 = '{x[0], x[2]};
      x1 = '{x[1], x[3]};
      w = '{odd[0], even[0]};
    end else begin
      x0 = '{x[0], x[1]};
      x1 = '{x[2], x[3]};
      w = '{one, one};
    end
    if (back.stage == '0) result = '{y0[0], y1[0], y0[1], y1[1]};
    else result = '{y0[0], y0[1], y1[0], y1[1]};
  end

  rf_butterfly #(
    .W(W), .Lanes(2), .Kind(Kind), .Twin(Twin), .ShiftWidth(psi_core_pkg::ShiftWidth), .Word(Word)
  ) u_butterfly (
    .clk_i, .en_i(1'b1), .inverse_i(1'b1), .shift_i, .q_i, .k_i, .x0_i(x0), .x1_i(x1), .w_i(w), .y0_o(y0), .y1_o(y1)
  );

  assign valid_o = valid_q[Latency-1] && back.last;
  assign x_o = result;
endmodule
