// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Transform unit: NTT, inverse NTT and automorphisms of one polynomial of N words in rows of Lanes words.
//
// Function: op_i = 0 NTT (Cooley-Tukey, natural to evaluation order), 1 inverse NTT (Gentleman-Sande, halving in
//   every stage instead of a final factor 1/N), 2 automorphism X -> X^g in evaluation form. The unit reads rows of
//   the source (stage 0) or of the destination (later stages), sends them through a permutation network, the
//   butterflies and a second network, and writes each row back where it was read; an automorphism reads rows in
//   permuted order and uses the first network only.
// Butterflies: with Lanes/2 of them a row passes in one cycle, with Lanes/(2*Turns) in Turns cycles: then all but the
//   butterflies moves on every Turns cycles, in turns, and a transform takes so many times the cycles. Automorphisms
//   take one cycle a row in any case.
// Twiddles, in rows of Lanes words, m + i being block i of the stage with m blocks, brv the reversal of log2(m) bits:
//   negacyclic  (Cyclic = 0, modulo X^N + 1): one table for both directions,
//               tw[m + i] = psi^((2*brv(i) + 1) * N/(2m)).
//               The inverse needs tw^-1, which is -tw[m + (m-1-i)]; the butterfly's subtraction takes the sign.
//               Slot j of the evaluation form is the value at psi^(2*brv(j) + 1).
//   cyclic      (Cyclic = 1, modulo X^N - 1): a table for each direction, forward tw[m + i] = w^(brv(i) * N/(2m)), for
//               the inverse -1/tw[m + i]; whoever answers reads of the table looks at op_i. Slot j is the value at
//               w^brv(j).
// Ranges: words in [0, q); q_i, k_i, shift_i as rf_mod_mul and rf_mod_half; log2(Lanes) <= log_n_i <= MaxLogN. Lanes a
//   power of two, at least 4. Lanes/(2*Butterflies) is 1, 2, 4, 8 or 16. g_i is odd.
// Interface: start_i with all settings held until done_o. Rows are read 2 cycles after *_en_o (rf_bank, whose output
//   holds until the next read). rd_src_o says which slot a read is for; src_done_o: no more reads of the source slot.
// Cycles from start to done: Turns * (log2(N) * N/Lanes + Drain) for a transform whose rows number at least 4*Drain
//   (then the first rows a stage reads were written long before; shorter ones wait Drain turns after each stage),
//   N/Lanes + AutoLatency for an automorphism.
// Lend: the unit has no butterflies, and lends its rows to an array of ALUs (rf_alu) instead: core_valid_o with lanes
//   2i and 2i + 1 of core_a_o being words i and i + Lanes/2 of the row, core_b_o[i] the twiddle of that pair; results
//   come back in core_r_i, in the same lanes, ButterflyLatency + 1 cycles later. core_soon_o says BankLatency cycles
//   ahead that a row will be there. A stage then follows the one before as soon as the rows that it reads are written:
//   N/Lanes >= 2*Drain - 2 never wait, and shorter ones only what is missing.
// Pairs (with Lend, pair_i): two transforms of the same direction and lift, the second one modulo pair_q_i, take turns:
//   two rows of the one, two rows of the other. *_pair_o say that a row belongs to the second. The rows of a stage are
//   then twice as many, so that polynomials of half the rows never wait.
// SpnRegisters: registers in the networks (rf_spn); MapRegister: one in the settings of automorphisms (rf_spn_map),
//   which costs no cycle.
// TwiddlePick: twiddles come to their lanes by rf_spn_pick and not by a multiplexer of all words for each, which is
//   the larger one from 32 lanes on; their rows are read a turn earlier.
module rf_transform #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 15,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter int unsigned Butterflies = Lanes / 2,
  parameter bit          Cyclic = 1'b0,
  parameter int unsigned SpnRegisters = 0,
  parameter bit          MapRegister = 1'b0,
  parameter bit          TwiddlePick = 1'b0,
  parameter bit          Lend = 1'b0,
  localparam int unsigned LogLanes = $clog2(Lanes),
  localparam int unsigned RowBits = MaxLogN - LogLanes
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  logic [1:0]         op_i,
  input  logic [4:0]         log_n_i,
  input  logic [MaxLogN:0]   g_i,
  input  logic               lift_i,
  input  logic               pair_i,
  input  logic [2:0]         shift_i,
  input  logic [W-1:0]       p_i,              // source modulus of a lift
  input  logic [W-1:0]       q_i,
  input  logic [63:0]        k_i,
  input  logic [W-1:0]       pair_q_i,
  output logic               src_done_o,
  output logic               done_o,
  output logic               rd_en_o,
  output logic               rd_src_o,
  output logic               rd_pair_o,
  output logic [RowBits-1:0] rd_row_o,
  input  logic [W-1:0]       rd_data_i [Lanes],
  output logic               tw_en_o,
  output logic               tw_pair_o,
  output logic [RowBits-1:0] tw_row_o,
  input  logic [W-1:0]       tw_data_i [Lanes],
  output logic               wr_en_o,
  output logic               wr_pair_o,
  output logic [RowBits-1:0] wr_row_o,
  output logic [W-1:0]       wr_data_o [Lanes],
  output logic               core_soon_o,
  output logic               core_valid_o,
  output logic               core_pair_o,
  output logic [W-1:0]       core_a_o  [Lanes],
  output logic [W-1:0]       core_b_o  [Lanes/2],
  input  logic [W-1:0]       core_r_i  [Lanes]
);
  import rf_pkg::*;

  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned Turns = Half / Butterflies;
  localparam int unsigned NetLatency = SpnLatency + 2 * SpnRegisters;
  // Turns after the one in which the read is issued, at its end.
  localparam int unsigned LiftAt = Turns == 1 ? BankLatency : 1;       // row leaves the bank
  localparam int unsigned NetAt = LiftAt + 1;                          // row enters the first network
  localparam int unsigned CoreAt = NetAt + NetLatency;                 // row enters the butterflies
  localparam int unsigned BackAt =                                     // row enters the second network
      CoreAt + (Turns == 1 ? ButterflyLatency + 32'(Lend) : 1 + ButterflyLatency / Turns);
  localparam int unsigned WriteAt = BackAt + NetLatency;               // row is written
  localparam int unsigned TwiddleAt = CoreAt - LiftAt - 1 - 32'(TwiddlePick);  // twiddle row is read
  localparam int unsigned Drain = WriteAt + 1;
  // The same for automorphisms, whose turns are single cycles.
  localparam int unsigned AutoNetAt = BankLatency + 1;
  localparam int unsigned AutoWriteAt = AutoNetAt + NetLatency;
  localparam int unsigned WaitBits = $clog2(Drain + 1);

  if (Lanes < 4 || Lanes != 2 ** LogLanes || MaxLogN <= LogLanes || MaxLogN > 30) begin : g_lanes
    $error("rf_transform: Lanes must be a power of two, at least 4; MaxLogN above log2(Lanes), at most 30");
  end
  // Results of the butterflies are collected in the turn that ends ButterflyLatency + 1 cycles after their operands'.
  if (Half != Turns * Butterflies || (Turns > 1 && (ButterflyLatency + 1) % Turns != 0)) begin : g_turns
    $error("rf_transform: Lanes / (2 * Butterflies) must be 1 or divide ButterflyLatency + 1");
  end
  if (Lend && Turns != 1) begin : g_lend
    $error("rf_transform: with Lend, Butterflies must be Lanes / 2");
  end

  typedef struct packed {
    logic               valid;
    logic               last;    // last row of the instruction
    logic               second;  // of a pair's second transform
    logic [4:0]         level;   // m = 2^level blocks
    logic [RowBits-1:0] k;       // position in the stage
  } step_t;

  logic                automorphism, paired, busy;
  logic                turn_end;    // all but the butterflies move on
  logic                running_q;
  logic                fresh_q;     // stage 0
  logic [4:0]          stage_q;
  logic [RowBits-1:0]  k_q;
  logic [WaitBits-1:0] wait_q;
  logic [MaxLogN:0]    exponent_q;  // g * (2u + 1) mod 2N, or 2g * u if cyclic
  logic [RowBits-1:0]  last_row;
  logic [4:0]          log_rows;
  logic [WaitBits-1:0] stage_wait;  // turns between two stages
  step_t               step     [WriteAt+1];
  logic [LogLanes-1:0] offset_q [AutoNetAt];

  assign automorphism = op_i[1];
  assign paired = Lend && pair_i && !automorphism;
  assign log_rows = log_n_i - 5'(LogLanes);
  assign last_row = RowBits'((32'd1 << log_rows) - 1);
  // Two reads of a row by stages that follow each other are N/(2*Lanes) + 1 turns apart at least, N/Lanes + 1 in pairs.
  int unsigned apart;
  always_comb begin
    apart = (paired ? 32'(last_row) : 32'(last_row) / 2) + 2;
    if (Lend) stage_wait = apart < Drain ? WaitBits'(Drain - apart) : '0;
    else stage_wait = 32'(last_row) + 1 < 4 * Drain ? WaitBits'(Drain) : '0;
  end
  assign busy = running_q || wait_q != 0;

  // ---- Turns ---------------------------------------------------------------------------------------
  localparam int unsigned PhaseBits = Turns > 1 ? $clog2(Turns) : 1;
  logic [PhaseBits-1:0] phase;

  if (Turns == 1) begin : g_one_turn
    assign phase = '0;
    assign turn_end = 1'b1;
  end else begin : g_turn
    logic [PhaseBits-1:0] phase_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || start_i || turn_end) phase_q <= '0;
      else phase_q <= phase_q + 1'b1;
    end
    assign phase = phase_q;
    assign turn_end = automorphism || phase_q == PhaseBits'(Turns - 1);
  end

  // ---- Sequence of stages and rows -----------------------------------------------------------------
  logic last_k, last_stage, second_q;
  assign last_k = k_q == last_row && (!paired || second_q);
  assign last_stage = automorphism || stage_q == log_n_i - 1;

  always_comb begin
    step[0].valid = running_q && wait_q == 0;
    step[0].last = last_k && last_stage;
    step[0].second = paired && second_q;
    step[0].level = op_i[0] ? log_n_i - 1 - stage_q : stage_q;
    step[0].k = k_q;
  end

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    src_done_o <= 1'b0;
    if (!rst_ni) begin
      running_q <= 1'b0;
      wait_q <= '0;
      fresh_q <= 1'b0;
    end else if (start_i) begin
      running_q <= 1'b1;
      fresh_q <= 1'b1;
      stage_q <= '0;
      k_q <= '0;
      second_q <= 1'b0;
      wait_q <= '0;
      exponent_q <= Cyclic ? '0 : g_i;
    end else if (wait_q != 0) begin
      if (turn_end) begin
        wait_q <= wait_q - 1;
        if (wait_q == 1 && !running_q) done_o <= 1'b1;
      end
    end else if (running_q && turn_end) begin
      // Modulo 2N because the bits above are never read.
      exponent_q <= exponent_q + {g_i[MaxLogN-1:0], 1'b0};
      if (paired && k_q[0]) second_q <= !second_q;
      k_q <= paired && k_q[0] && !second_q ? k_q - 1 : k_q + 1;
      if (last_k) begin
        k_q <= '0;
        stage_q <= stage_q + 1;
        fresh_q <= 1'b0;
        src_done_o <= fresh_q;
        if (last_stage) begin
          running_q <= 1'b0;
          wait_q <= automorphism ? WaitBits'(AutoWriteAt) : WaitBits'(WriteAt);
        end else begin
          wait_q <= stage_wait;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 1; i <= WriteAt; i++) begin
      if (turn_end) step[i] <= step[i-1];
      // Rows of an automorphism end at the first network: further on they would be taken for the next transform's.
      if (!rst_ni || (automorphism && i == AutoWriteAt + 1)) step[i].valid <= 1'b0;
    end
  end

  // ---- Rows ----------------------------------------------------------------------------------------
  function automatic logic [RowBits-1:0] reverse_row(input logic [RowBits-1:0] x, input logic [4:0] bits);
    logic [RowBits-1:0] r;
    for (int unsigned i = 0; i < RowBits; i++) r[i] = x[RowBits-1-i];
    return r >> (5'(RowBits) - bits);
  endfunction

  // Row of position k in a stage with stride 2^log_stride: pairs of rows that are `stride` apart.
  function automatic logic [RowBits-1:0] stage_row(input logic [RowBits-1:0] k, input logic [4:0] log_stride);
    logic [RowBits-1:0] pair, mask;
    logic [4:0] distance;
    distance = log_stride - 5'(LogLanes);
    pair = k >> 1;
    mask = RowBits'((32'd1 << distance) - 1);
    if (log_stride < 5'(LogLanes)) return k;
    return RowBits'({pair & ~mask, 1'b0}) | (pair & mask) | (k[0] ? mask + 1'b1 : '0);
  endfunction

  // log2 of the stride of a level.
  function automatic logic [4:0] stride_of(input logic [4:0] log_degree, input logic [4:0] level);
    return log_degree - 1 - level;
  endfunction

  logic [RowBits-1:0] image_row;
  // Low bits of the exponent, without the 1 at the bottom, name the row; the next log2(Lanes) bits the offset.
  assign image_row = RowBits'(exponent_q >> 1) & last_row;

  assign rd_en_o = step[0].valid && turn_end;
  assign rd_src_o = fresh_q;
  assign rd_pair_o = step[0].second;
  assign rd_row_o = automorphism ? reverse_row(image_row, log_rows) : stage_row(k_q, stride_of(log_n_i, step[0].level));

  assign wr_en_o = (automorphism ? step[AutoWriteAt].valid : step[WriteAt].valid) && turn_end;
  assign wr_pair_o = step[WriteAt].second && !automorphism;
  assign wr_row_o = automorphism ? reverse_row(step[AutoWriteAt].k, log_rows)
                                 : stage_row(step[WriteAt].k, stride_of(log_n_i, step[WriteAt].level));

  always_ff @(posedge clk_i) begin
    offset_q[0] <= LogLanes'(exponent_q >> (log_rows + 1));
    for (int unsigned i = 1; i < AutoNetAt; i++) offset_q[i] <= offset_q[i-1];
  end

  // ---- Lift and first network ----------------------------------------------------------------------
  logic en;
  logic lift_now;
  logic [4:0] lift_stage_q;
  logic [W-1:0] lifted[Lanes];
  logic [W-1:0] lifted_q[Lanes];
  logic [W-1:0] net_data[Lanes];
  logic [Lanes-1:0] stage_in[LogLanes], stage_out[LogLanes], map_in[LogLanes], net_in[LogLanes], net_out[LogLanes];
  logic stage_pair, net_pair;

  assign en = busy && turn_end;
  // Only a forward transform lifts, in its stage 0, which is its level 0.
  assign lift_stage_q = step[LiftAt].level;
  assign lift_now = lift_i && op_i == 2'd0 && lift_stage_q == 0;

  rf_mod_lift #(.W(W), .Lanes(Lanes)) u_lift (
      .x_i(rd_data_i), .p_i, .q_i(step[LiftAt].second ? pair_q_i : q_i), .en_i(lift_now), .r_o(lifted)
  );
  always_ff @(posedge clk_i) if (en) lifted_q <= lifted;

  rf_spn_stage #(.Lanes(Lanes)) u_stage (
      .log_stride_i(stride_of(log_n_i, step[NetAt].level)), .odd_i(step[NetAt].k[0]),
      .swap_in_o(stage_in), .pair_o(stage_pair), .swap_out_o(stage_out)
  );
  rf_spn_map #(.Lanes(Lanes), .Register(MapRegister)) u_map (
      .clk_i, .en_i(en), .g_i(g_i[LogLanes-1:0]), .offset_i(offset_q[AutoNetAt-1-32'(MapRegister)]), .swap_o(map_in)
  );
  always_comb begin
    net_pair = stage_pair && !automorphism;
    for (int unsigned s = 0; s < LogLanes; s++) begin
      net_in[s]  = automorphism ? map_in[s] : stage_in[s];
      net_out[s] = automorphism ? '0 : stage_out[s];
    end
  end
  rf_spn #(.W(W), .Lanes(Lanes), .Registers(SpnRegisters)) u_network (
      .clk_i, .en_i(en), .swap_in_i(net_in), .pair_i(net_pair), .odd_i(step[NetAt].k[0]), .swap_out_i(net_out),
      .data_i(lifted_q), .data_o(net_data)
  );

  // ---- Twiddles ------------------------------------------------------------------------------------
  // A row of stride t < Lanes holds blocks = Lanes/(2t) blocks; its twiddles are as many neighbours in the table.
  /* verilator lint_off UNUSEDSIGNAL */  // parts of a step matter here
  step_t tw_step, tw_pick;
  /* verilator lint_on UNUSEDSIGNAL */
  logic mirrored;
  logic [4:0] tw_stride;
  logic [MaxLogN-1:0] tw_block, tw_index, tw_group;
  logic [LogLanes-1:0] pick_first_q[LiftAt];
  logic [W-1:0] tw_q[Half];

  assign mirrored = op_i[0] && !Cyclic;
  assign tw_step = step[TwiddleAt];
  assign tw_stride = stride_of(log_n_i, tw_step.level);
  always_comb begin
    // First block of this row, and how many blocks the row has, less one.
    tw_block = tw_stride >= 5'(LogLanes) ? MaxLogN'(tw_step.k >> 1) >> (tw_stride - 5'(LogLanes))
                                         : MaxLogN'(tw_step.k) << (5'(LogLanes) - 1 - tw_stride);
    tw_group = tw_stride >= 5'(LogLanes) ? '0 : MaxLogN'((32'd1 << (5'(LogLanes) - 1 - tw_stride)) - 1);
    // Negacyclic inverse: blocks are counted from the end; the group of a row starts at its last block.
    tw_index = MaxLogN'(32'd1 << tw_step.level) +
        (mirrored ? MaxLogN'((32'd1 << tw_step.level) - 1) - tw_block - tw_group : tw_block);
  end
  assign tw_en_o = tw_step.valid && !automorphism && turn_end;
  assign tw_pair_o = tw_step.second;
  assign tw_row_o = RowBits'(tw_index >> LogLanes);

  // The table row arrives LiftAt turns later and is picked apart one turn before the butterflies, or two.
  always_ff @(posedge clk_i) begin
    if (turn_end) begin
      pick_first_q[0] <= tw_index[LogLanes-1:0];
      for (int unsigned i = 1; i < LiftAt; i++) pick_first_q[i] <= pick_first_q[i-1];
    end
  end
  assign tw_pick = step[TwiddleAt+LiftAt];

  if (TwiddlePick) begin : g_pick
    rf_spn_pick #(.W(W), .Lanes(Lanes)) u_pick (
        .clk_i, .en_i(en), .log_stride_i(stride_of(log_n_i, tw_pick.level)), .first_i(pick_first_q[LiftAt-1]),
        .mirrored_i(mirrored), .data_i(tw_data_i), .w_o(tw_q)
    );
  end else begin : g_multiplexer
    logic [LogLanes-1:0] pick[Half];

    always_comb begin
      for (int unsigned j = 0; j < Half; j++) begin
        pick[j] = '0;
        for (int unsigned a = 0; a + 1 < LogLanes; a++) begin
          // Lane bit a of butterfly j is the top bit of its word's place (rf_spn_stage); the bits above a follow.
          automatic int unsigned block = (j[a] ? 1 << (LogLanes - 2 - a) : 0) | (j >> (a + 1));
          automatic int unsigned all = (1 << (LogLanes - 1 - a)) - 1;
          if (stride_of(log_n_i, tw_pick.level) == 5'(a)) pick[j] = LogLanes'(mirrored ? all - block : block);
        end
        pick[j] = pick[j] | pick_first_q[LiftAt-1];
      end
    end
    always_ff @(posedge clk_i) if (en) for (int unsigned j = 0; j < Half; j++) tw_q[j] <= tw_data_i[pick[j]];
  end

  // ---- Butterflies and second network --------------------------------------------------------------
  logic [W-1:0] x0[Butterflies], x1[Butterflies], w[Butterflies], y0[Butterflies], y1[Butterflies];
  logic [W-1:0] back_data[Lanes], net2_data[Lanes];
  logic [Lanes-1:0] back_in[LogLanes], back_out[LogLanes];
  logic back_pair;
  logic core_en;

  assign core_en = busy && !automorphism;
  always_comb
    for (int unsigned b = 0; b < Butterflies; b++) begin
      x0[b] = net_data[32'(phase)*Butterflies+b];
      x1[b] = net_data[Half+32'(phase)*Butterflies+b];
      w[b] = tw_q[32'(phase)*Butterflies+b];
    end
  if (Lend) begin : g_lent
    // The array has its settings from whoever owns it.
    logic unused;
    assign unused = ^{shift_i, k_i};
    assign core_soon_o = step[CoreAt-BankLatency].valid && !automorphism;
    assign core_valid_o = step[CoreAt].valid && !automorphism;
    assign core_pair_o = step[CoreAt].second;
    always_comb
      for (int unsigned j = 0; j < Half; j++) begin
        core_a_o[2*j] = x0[j];
        core_a_o[2*j+1] = x1[j];
        core_b_o[j] = w[j];
        y0[j] = core_r_i[2*j];
        y1[j] = core_r_i[2*j+1];
      end
  end else begin : g_own
    logic unused;
    always_comb begin
      unused = 1'b0;
      for (int unsigned i = 0; i < Lanes; i++) unused = unused ^ ^core_r_i[i];
    end
    assign core_soon_o = 1'b0;
    assign core_valid_o = 1'b0;
    assign core_pair_o = 1'b0;
    assign core_a_o = '{default: '0};
    assign core_b_o = '{default: '0};
    rf_butterfly #(.W(W), .Lanes(Butterflies), .Kind(Kind), .Twin(Twin)) u_butterfly (
        .clk_i, .en_i(core_en), .inverse_i(op_i[0]), .shift_i, .q_i, .k_i,
        .x0_i(x0), .x1_i(x1), .w_i(w), .y0_o(y0), .y1_o(y1)
    );
  end

  if (Turns == 1) begin : g_back
    always_comb
      for (int unsigned j = 0; j < Half; j++) begin
        back_data[j] = y0[j];
        back_data[j+Half] = y1[j];
      end
  end else begin : g_collect
    // Results come one cycle of a turn earlier than their operands went in.
    logic [PhaseBits-1:0] group;
    logic [W-1:0] back_q[Lanes];

    assign group = phase + 1'b1;
    always_ff @(posedge clk_i) begin
      if (core_en)
        for (int unsigned b = 0; b < Butterflies; b++) begin
          back_q[32'(group)*Butterflies+b] <= y0[b];
          back_q[Half+32'(group)*Butterflies+b] <= y1[b];
        end
    end
    assign back_data = back_q;
  end

  rf_spn_stage #(.Lanes(Lanes)) u_back_stage (
      .log_stride_i(stride_of(log_n_i, step[BackAt].level)), .odd_i(step[BackAt].k[0]),
      .swap_in_o(back_in), .pair_o(back_pair), .swap_out_o(back_out)
  );
  rf_spn #(.W(W), .Lanes(Lanes), .Registers(SpnRegisters)) u_back (
      .clk_i, .en_i(core_en && turn_end), .swap_in_i(back_in), .pair_i(back_pair), .odd_i(step[BackAt].k[0]),
      .swap_out_i(back_out), .data_i(back_data), .data_o(net2_data)
  );
  always_comb wr_data_o = automorphism ? net_data : net2_data;
endmodule
