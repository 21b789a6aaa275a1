// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fast engine of the aes machine: transforms and element-wise arithmetic of polynomials of N words on Lanes / 2
// Montgomery multipliers.
//
// Function, modulo the q of the constants of `set`, with R = 2^32:
//   NTT    X[dst] = values of X[src] (half = 0) or of S[src], N/2 words, padded with zeros (half = 1): slot j is the
//          value at w^brv(j). inverse = 1: X[dst] = the polynomial of the values X[src], with the factor 1/N; half has
//          no effect. half = 1 takes its first level, a copy, for free: the halves modulo X^(N/2) - 1 and X^(N/2) + 1
//          are transforms of N/2 words, which take turns (rf_transform's pairs) and both read S.
//   MUL    X[dst] = (init ? 0 : X[dst]) + X[src] * (key ? K[src2] : X[src2]) / R
//   SCALE  X[dst] = X[src] * scale / R
// dst, src, src2 may be the same buffer in any way.
// Tables: for each set and direction c[j] = R * w^brv(j), inverse -R * w^(-brv(j)), j < N/2 (aes_twiddles). Constants:
// a row of 8 words, of which word 0 is q and word 3 is scale. Those of a set change only while no command of it runs.
// Ranges: q = 1 mod 2^16, q < 2^31; all words < q; MinLogN <= log_n_i <= MaxLogN, N >= 4 * Lanes; log_n_i stays while
//   busy_o; Lanes a power of two, at least 8.
// Interface: a command is taken where cmd_valid_i and cmd_ready_o are high; done_o in the cycle after its last write,
//   in which the next one may be taken already. Rows that are asked for (*_re_o) arrive 2 cycles later and are looked
//   at only then. x_*_o[1] reads in MUL only, never the buffer of x_*_o[0] in the same cycle. A cycle never reads and
//   writes the same row of X.
// Cycles from command to done: log2(N) * N/Lanes + Drain for a transform, one N/Lanes less if half = 1, with Drain
//   of rf_transform (28, or 32 from 32 lanes on); short polynomials wait between stages (there). 2 * N/Lanes + 20 for
//   MUL and SCALE.
// The multipliers are those of the butterflies: x0 + w * x1 of a forward butterfly is c + a * b as well, on Lanes / 2
// words, so that element-wise work takes two turns a row.

module aes_fast
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 256,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned MinLogN = 10,
    parameter bit Twin = 1'b0,
    localparam int unsigned W = WordW,
    localparam int unsigned RowW = MaxLogN - $clog2(Lanes),
    localparam int unsigned IndexW = MaxLogN - 1 - $clog2(NarrowWords)
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic [4:0]                log_n_i,
    input  logic                      cmd_valid_i,
    output logic                      cmd_ready_o,
    input  instr_t                    cmd_i,
    output logic                      done_o,
    output logic                      busy_o,

    output logic [1:0]                x_re_o,
    output logic [1:0][1:0]           x_rbuf_o,
    output logic [1:0][RowW-1:0]      x_rrow_o,
    input  logic [W-1:0]              x_rdata_i [2][Lanes],
    output logic                      x_we_o,
    output logic [1:0]                x_wbuf_o,
    output logic [RowW-1:0]           x_wrow_o,
    output logic [Lanes-1:0]          x_wmask_o,
    output logic [W-1:0]              x_wdata_o [Lanes],
    output logic                      s_re_o,
    output logic [1:0]                s_slot_o,
    output logic [RowW-2:0]           s_row_o,
    input  logic [W-1:0]              s_rdata_i [Lanes],
    output logic                      k_re_o,
    output logic                      k_slot_o,
    output logic [RowW-1:0]           k_row_o,
    input  logic [W-1:0]              k_rdata_i [Lanes],

    input  logic                      t_we_i,
    input  logic                      t_set_i,
    input  logic                      t_inverse_i,
    input  logic [IndexW-1:0]         t_index_i,
    input  logic                      c_we_i,       // constants of t_set_i
    input  logic [W-1:0]              t_wdata_i [NarrowWords]
);
  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned LogLanes = $clog2(Lanes);
  // Bits of a residue. The transform's words have one more, always 0: its synthesis is put together from slices of two.
  localparam int unsigned V = 31;
  // Cycles from a read of element-wise work to the multipliers' operands, and to its write.
  localparam int unsigned PickAt = rf_pkg::BankLatency + 1;
  localparam int unsigned WriteAt = PickAt + 1 + rf_pkg::ButterflyLatency;
  // The networks have log2(Lanes) multiplexers in a row: a register in their middle from 32 words on, and there
  // twiddles are picked apart by a network as well.
  localparam bit Long = Lanes >= 32;

  if (Lanes < 8 || Lanes != 2 ** LogLanes || MinLogN < LogLanes + 2 || MaxLogN < MinLogN) begin : g_check
    $error("aes_fast: Lanes must be a power of two, at least 8, and N at least 4 rows");
  end

  // ---- Commands ------------------------------------------------------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t       cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic         take, busy_q, transforms, multiplies, paired, done, transformed, passed_q;
  logic [V-1:0] q_q, scale_q;
  logic [V-1:0] modulus [2];
  logic [V-1:0] scale [2];

  assign done = busy_q && (transformed || passed_q);
  assign done_o = done;
  assign busy_o = busy_q;
  assign cmd_ready_o = !busy_q || done;
  assign take = cmd_valid_i && cmd_ready_o;
  assign transforms = cmd_q.op == OpNtt;
  assign multiplies = cmd_q.op == OpMul;
  assign paired = transforms && cmd_q.half && !cmd_q.inverse;

  always_ff @(posedge clk_i) begin
    if (c_we_i) begin
      modulus[t_set_i] <= V'(t_wdata_i[0]);
      scale[t_set_i] <= V'(t_wdata_i[3]);
    end
    if (take) begin
      cmd_q <= cmd_i;
      q_q <= modulus[cmd_i.set];
      scale_q <= scale[cmd_i.set];
    end
    if (!rst_ni) busy_q <= 1'b0;
    else if (take) busy_q <= 1'b1;
    else if (done) busy_q <= 1'b0;
  end

  // ---- Transforms ----------------------------------------------------------------------------------
  logic            rd_en, rd_src, rd_pair, tw_en, tw_pair, wr_en, wr_pair;
  logic [RowW-1:0] rd_row, tw_row, wr_row, upper;
  logic [V-1:0]    twiddles [Lanes], t_residues [NarrowWords];
  logic [W-1:0]    rd_data [Lanes], tw_data [Lanes], wr_data [Lanes];
  logic [W-1:0]    core_a [Lanes], core_b [Half], core_r [Lanes];
  logic            from_s_q [rf_pkg::BankLatency];
  logic            unused_source, unused_soon, unused_valid, unused_pair;

  // Rows of the second transform of a pair lie behind those of the first.
  assign upper = RowW'(32'd1 << (log_n_i - 5'd1 - 5'(LogLanes)));

  always_ff @(posedge clk_i) begin
    from_s_q[0] <= s_re_o;
    for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) from_s_q[d] <= from_s_q[d-1];
  end
  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++)
      rd_data[l] = W'(V'(from_s_q[rf_pkg::BankLatency-1] ? s_rdata_i[l] : x_rdata_i[0][l]));
    for (int unsigned l = 0; l < Lanes; l++) tw_data[l] = W'(twiddles[l]);
  end

  rf_transform #(
      .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Kind(rf_pkg::MulMontgomery), .Twin(Twin), .Cyclic(1'b1),
      .SpnRegisters(32'(Long)), .MapRegister(1'b0), .TwiddlePick(Long), .Lend(1'b1)
  ) u_transform (
      .clk_i, .rst_ni, .start_i(take && cmd_i.op == OpNtt), .op_i({1'b0, cmd_q.inverse}),
      .log_n_i(paired ? log_n_i - 5'd1 : log_n_i), .g_i('0), .lift_i(1'b0), .pair_i(paired), .shift_i('0), .p_i('0),
      .q_i(W'(q_q)), .k_i('0), .pair_q_i(W'(q_q)), .src_done_o(unused_source), .done_o(transformed),
      .rd_en_o(rd_en), .rd_src_o(rd_src), .rd_pair_o(rd_pair), .rd_row_o(rd_row), .rd_data_i(rd_data),
      .tw_en_o(tw_en), .tw_pair_o(tw_pair), .tw_row_o(tw_row), .tw_data_i(tw_data),
      .wr_en_o(wr_en), .wr_pair_o(wr_pair), .wr_row_o(wr_row), .wr_data_o(wr_data),
      .core_soon_o(unused_soon), .core_valid_o(unused_valid), .core_pair_o(unused_pair), .core_a_o(core_a),
      .core_b_o(core_b), .core_r_i(core_r)
  );

  always_comb for (int unsigned i = 0; i < NarrowWords; i++) t_residues[i] = V'(t_wdata_i[i]);

  aes_twiddles #(
      .W(V), .Lanes(Lanes), .MaxLogN(MaxLogN), .Packed(!Twin)
  ) u_twiddles (
      .clk_i, .re_i(tw_en), .set_i(cmd_q.set), .inverse_i(cmd_q.inverse), .upper_i(tw_pair), .row_i(tw_row),
      .data_o(twiddles), .we_i(t_we_i), .wset_i(t_set_i), .winverse_i(t_inverse_i), .windex_i(t_index_i),
      .wdata_i(t_residues)
  );

  // ---- Element-wise work ---------------------------------------------------------------------------
  // The first cycle of a row reads the factors, the second one the addend. The words' lower half is worked on first.
  logic            run_q, second_q, wsecond_q;
  logic            step_q [WriteAt+1];  // cycles since a turn's read; the first is the read's own
  logic            turn_q [PickAt+1];   // which half of the words
  logic [RowW-1:0] row_q, wrow_q, last_row;
  logic [V-1:0]    a_q [Lanes], b_q [Lanes], c_q [Half];
  logic            turn;

  assign last_row = RowW'((32'd1 << (log_n_i - 5'(LogLanes))) - 1);
  assign turn = turn_q[PickAt];

  always_comb begin
    step_q[0] = run_q;
    turn_q[0] = second_q;
  end

  always_ff @(posedge clk_i) begin
    passed_q <= 1'b0;
    for (int unsigned d = 1; d <= WriteAt; d++) step_q[d] <= step_q[d-1] && rst_ni;
    for (int unsigned d = 1; d <= PickAt; d++) turn_q[d] <= turn_q[d-1];
    if (!rst_ni) begin
      run_q <= 1'b0;
    end else if (take) begin
      run_q <= cmd_i.op != OpNtt;
      second_q <= 1'b0;
      row_q <= '0;
      wsecond_q <= 1'b0;
      wrow_q <= '0;
    end else begin
      if (run_q) begin
        second_q <= !second_q;
        if (second_q) begin
          row_q <= row_q + 1'b1;
          run_q <= row_q != last_row;
        end
      end
      if (step_q[WriteAt]) begin
        wsecond_q <= !wsecond_q;
        if (wsecond_q) begin
          wrow_q <= wrow_q + 1'b1;
          passed_q <= wrow_q == last_row;
        end
      end
    end
  end

  // Operands. The addend arrives a cycle behind the factors, when those are looked at for the first time.
  always_ff @(posedge clk_i) begin
    if (step_q[PickAt-1] && !turn_q[PickAt-1]) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        a_q[l] <= V'(x_rdata_i[0][l]);
        if (cmd_q.key) b_q[l] <= V'(k_rdata_i[l]);
        else if (cmd_q.src == cmd_q.src2) b_q[l] <= V'(x_rdata_i[0][l]);
        else b_q[l] <= V'(x_rdata_i[1][l]);
      end
    end
    if (step_q[PickAt] && !turn) for (int unsigned j = 0; j < Half; j++) c_q[j] <= V'(x_rdata_i[0][Half+j]);
  end

  // ---- Multipliers ---------------------------------------------------------------------------------
  logic [V-1:0] x0_q [Half], x1_q [Half], w_q [Half], y0 [Half], y1 [Half];
  logic         adds;

  assign adds = multiplies && !cmd_q.init;

  always_ff @(posedge clk_i) begin
    if (busy_q) begin
      for (int unsigned j = 0; j < Half; j++) begin
        if (transforms) begin
          x0_q[j] <= V'(core_a[2*j]);
          x1_q[j] <= V'(core_a[2*j+1]);
          w_q[j] <= V'(core_b[j]);
        end else begin
          if (adds) x0_q[j] <= turn ? c_q[j] : V'(x_rdata_i[0][j]);
          else x0_q[j] <= '0;
          x1_q[j] <= turn ? a_q[Half+j] : a_q[j];
          if (multiplies) w_q[j] <= turn ? b_q[Half+j] : b_q[j];
          else w_q[j] <= scale_q;
        end
      end
    end
  end

  aes_butterfly #(
      .W(V), .Lanes(Half), .Twin(Twin)
  ) u_butterflies (
      .clk_i, .en_i(busy_q), .inverse_i(transforms && cmd_q.inverse), .q_i(q_q), .x0_i(x0_q), .x1_i(x1_q), .w_i(w_q),
      .y0_o(y0), .y1_o(y1)
  );

  always_comb begin
    for (int unsigned j = 0; j < Half; j++) begin
      core_r[2*j] = W'(y0[j]);
      core_r[2*j+1] = W'(y1[j]);
    end
  end

  // ---- Storage -------------------------------------------------------------------------------------
  assign s_re_o = rd_en && rd_src && paired;
  assign s_slot_o = cmd_q.src[1:0];
  assign s_row_o = (RowW-1)'(rd_row);
  assign k_re_o = run_q && !second_q && multiplies && cmd_q.key;
  assign k_slot_o = cmd_q.src2[0];
  assign k_row_o = row_q;

  always_comb begin
    x_re_o[0] = run_q ? !second_q || adds : rd_en && !s_re_o;
    x_re_o[1] = run_q && !second_q && multiplies && !cmd_q.key && cmd_q.src != cmd_q.src2;
    x_rbuf_o[0] = (run_q ? second_q : !rd_src) ? cmd_q.dst[1:0] : cmd_q.src[1:0];
    x_rbuf_o[1] = cmd_q.src2[1:0];
    x_rrow_o[0] = run_q ? row_q : rd_row | (rd_pair ? upper : '0);
    x_rrow_o[1] = row_q;
    x_we_o = transforms ? wr_en : step_q[WriteAt];
    x_wbuf_o = cmd_q.dst[1:0];
    x_wrow_o = transforms ? wr_row | (wr_pair ? upper : '0) : wrow_q;
    x_wmask_o = transforms ? '1 : {{Half{wsecond_q}}, {Half{!wsecond_q}}};
    for (int unsigned l = 0; l < Lanes; l++) x_wdata_o[l] = transforms ? wr_data[l] : W'(y0[l%Half]);
  end
endmodule
