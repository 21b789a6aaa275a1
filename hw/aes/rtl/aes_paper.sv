// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The published engine of the aes machine: transforms and element-wise arithmetic of polynomials of N words on
// 4 * Starts Barrett multipliers that take 4 cycles each, Lanes / 2 adders and Lanes / 2 subtractors.
//
// Function, modulo the q of the constants of `set`:
//   NTT    X[dst], in bit-reversed order, becomes its values in natural order: values at the powers of the root whose
//          table is that of `set` and `inverse`. No factor 1/N.
//   MUL    X[dst] = (init ? 0 : X[dst]) + X[src] * (key ? K[src2] : X[src2])
//   SCALE  X[dst] = X[src] * scale
// dst, src, src2 of MUL and SCALE may be the same buffer in any way.
// A transform has a level for each bit of N. A level multiplies its odd words by powers of the root, in place, then adds
// and subtracts pairs, in place; the first level only adds (aes_address, aes_root_map).
// Tables: for each set and direction w^i, i < N/2. Constants: a row of 8 words: q, mu = floor(2^62 / q) in two words,
// scale. Those of a set change only while no command of it runs.
// Ranges: 2^30 < q < 2^31; all words < q; MinLogN <= log_n_i <= MaxLogN, N >= 2 * Lanes; log_n_i stays while busy_o;
//   8 <= Lanes, 4 <= Starts <= Lanes, Starts <= 64, powers of two.
// Interface: a command is taken where cmd_valid_i and cmd_ready_o are high; done_o in the cycle after its last write,
//   in which the next one may be taken already. Rows that are asked for (*_re_o) arrive 2 cycles later and are looked
//   at only then. x_*_o[1] reads in MUL only, never the buffer of x_*_o[0]. s_*_o are never used.
// Cycles from command to done, with R = N / Lanes rows and G = Lanes / Starts: a transform, of log2(N) levels,
//   R + 9 + the sum over levels m > 1 of R * T + 20 + R, T = max(G / 2, 1) for m <= log2(Lanes), G / 2 above: 12,085 for
//   N = 2^16, Lanes = 256, Starts = 64. With fewer than 32 rows passes wait longer for each other.
//   MUL, SCALE: R * G + 29; R * max(G, 2) + 29 where MUL reads three buffers.
//
// Stages of a step: 0 aes_address; 1 address; 3 data; 4 rows in the engine. Multiplications: 5 operands, 25 product, 26
// of the phase, 27 sum, 28 write. Additions: 5 operands, 6 sum and difference, 7 together with those of the half row
// beside, 8 write. Rows above the lanes meet as halves: the lower halves of an even row and its odd row, then the upper.

module aes_paper
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 256,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned MinLogN = 12,
    parameter int unsigned Starts = 64,
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
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [W-1:0]              s_rdata_i [Lanes],
    /* verilator lint_on UNUSEDSIGNAL */
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
  import aes_pass_pkg::*;

  localparam int unsigned LogLanes = $clog2(Lanes);
  localparam int unsigned LogStarts = $clog2(Starts);
  localparam int unsigned LogGroups = LogLanes - LogStarts;
  localparam int unsigned SubW = LogGroups > 0 ? LogGroups : 1;
  localparam int unsigned StepW = RowW + SubW;
  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned Part = Starts < Half ? Starts : Half;  // odd words of a row in a step
  localparam int unsigned WaitW = $clog2(MulLatency + 1);

  if (Lanes < 8 || Lanes != 2 ** LogLanes || Starts != 2 ** LogStarts || Starts > Lanes || Starts < 4 || Starts > 64
      || Lanes > 16 * Starts || MinLogN < LogLanes + 1 || MaxLogN < MinLogN) begin : g_check
    $error("aes_paper: 8 <= Lanes, 4 <= Starts <= 64, Starts <= Lanes <= 16 * Starts, powers of two, N at least 2 rows");
  end

  // A word's number without bit `at`: its number among the words that have it, or that do not.
  function automatic int unsigned without(int unsigned i, int unsigned at);
    return ((i >> (at + 1)) << at) | (i & ((32'd1 << at) - 32'd1));
  endfunction

  // The bit of a lane's number in which the words of a pair differ. Above the lanes pairs are taken half row by half row.
  function automatic logic [LogLanes-1:0] pair_bit(logic [4:0] level);
    return level > 5'(LogLanes) ? LogLanes'(1) << (LogLanes - 1) : LogLanes'(1) << (level - 5'd1);
  endfunction

  // ---- Commands ------------------------------------------------------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t       cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic         take, busy_q;
  logic [W-1:0] q_q, scale_q;
  logic [W:0]   mu_q;
  logic [W-1:0] modulus [2];
  logic [W:0]   mu [2];
  logic [W-1:0] scale [2];
  // Of MUL: whether there is a sum, the places where its operands come from, and whether they are three buffers.
  logic         sums_q, keyed_q, square_q, onto_a_q, three_q;
  logic         sums, square, onto_a, onto_b, is_mul;

  assign is_mul = cmd_i.op == OpMul;
  assign sums = is_mul && !cmd_i.init;
  assign square = !cmd_i.key && cmd_i.src == cmd_i.src2;
  assign onto_a = cmd_i.dst == cmd_i.src;
  assign onto_b = !cmd_i.key && cmd_i.dst == cmd_i.src2;

  always_ff @(posedge clk_i) begin
    if (c_we_i) begin
      modulus[t_set_i] <= t_wdata_i[0];
      mu[t_set_i] <= {t_wdata_i[2][0], t_wdata_i[1]};
      scale[t_set_i] <= t_wdata_i[3];
    end
    if (take) begin
      cmd_q <= cmd_i;
      q_q <= modulus[cmd_i.set];
      mu_q <= mu[cmd_i.set];
      scale_q <= scale[cmd_i.set];
      sums_q <= sums;
      keyed_q <= is_mul && cmd_i.key;
      square_q <= is_mul && square;
      onto_a_q <= onto_a;
      three_q <= sums && !cmd_i.key && !square && !onto_a && !onto_b;
    end
  end

  // ---- Passes and their steps ------------------------------------------------------------------------
  logic               run_q, end_q, done, last, odd, multiply;
  logic [1:0]         pass_q;
  logic [4:0]         level_q;
  logic [StepW-1:0]   step_q;
  logic [WaitW-1:0]   wait_q, gap;
  logic [RowW-1:0]    row;
  logic [SubW-1:0]    sub;
  logic [MaxLogN-2:0] first;

  aes_address #(.Lanes(Lanes), .Starts(Starts), .MaxLogN(MaxLogN)) u_address (
      .log_n_i, .level_i(level_q), .pass_i(pass_q), .slow_i(three_q), .step_i(step_q),
      .row_o(row), .sub_o(sub), .first_o(first), .multiply_o(multiply), .odd_o(odd), .last_o(last),
      .gap_o(gap)
  );

  assign done = busy_q && end_q && wait_q == '0;
  assign done_o = done;
  assign busy_o = busy_q;
  assign cmd_ready_o = !busy_q || done;
  assign take = cmd_valid_i && cmd_ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      run_q <= 1'b0;
      end_q <= 1'b0;
      wait_q <= '0;
    end else if (take) begin
      busy_q <= 1'b1;
      run_q <= 1'b1;
      end_q <= 1'b0;
    end else if (run_q) begin
      if (last) begin
        run_q <= gap == '0;
        wait_q <= gap;
        end_q <= pass_q == PassWords || (pass_q == PassAdd && level_q == log_n_i);
      end
    end else if (wait_q != '0) begin
      wait_q <= wait_q - WaitW'(1);
      run_q <= !end_q && wait_q == WaitW'(1);
    end else if (done) begin
      busy_q <= 1'b0;
      end_q <= 1'b0;
    end
    if (take) begin
      pass_q <= cmd_i.op == OpNtt ? PassAdd : PassWords;
      level_q <= 5'd1;
      step_q <= '0;
    end else if (run_q) begin
      step_q <= last ? '0 : step_q + StepW'(1);
      if (last && pass_q == PassTwist) pass_q <= PassAdd;
      if (last && pass_q == PassAdd) begin
        pass_q <= PassTwist;
        level_q <= level_q + 5'd1;
      end
    end
  end

  // ---- Steps on their way; index: stage --------------------------------------------------------------
  localparam int unsigned RowAt = 4;      // rows are in the engine
  localparam int unsigned JoinAt = 7;     // sums and differences are together
  localparam int unsigned ProductAt = 25;

  logic [MulLatency-1:1] adds_q, muls_q;
  logic [RowW-1:0]       row_q [MulLatency];
  logic [SubW-1:0]       sub_q [MulLatency];
  logic [JoinAt:1]       odd_q, high_q, steps_q;
  logic [LogLanes-1:0]   bit_q [JoinAt+1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      adds_q <= '0;
      muls_q <= '0;
      steps_q <= '0;
    end else begin
      adds_q <= {adds_q[MulLatency-2:1], run_q && pass_q == PassAdd};
      muls_q <= {muls_q[MulLatency-2:1], run_q && multiply};
      steps_q <= {steps_q[JoinAt-1:1], run_q};
    end
    odd_q <= {odd_q[JoinAt-1:1], odd};
    high_q <= {high_q[JoinAt-1:1], level_q > 5'(LogLanes) || pass_q == PassWords};
    row_q[1] <= row;
    sub_q[1] <= sub;
    bit_q[1] <= pair_bit(level_q);
    for (int unsigned d = 2; d < MulLatency; d++) begin
      row_q[d] <= row_q[d-1];
      sub_q[d] <= sub_q[d-1];
    end
    for (int unsigned d = 2; d <= JoinAt; d++) bit_q[d] <= bit_q[d-1];
  end

  // ---- Reading ---------------------------------------------------------------------------------------
  logic [1:0] other;  // what port 1 reads

  assign other = three_q ? (sub == '0 ? cmd_q.src2[1:0] : cmd_q.dst[1:0])
               : keyed_q || square_q ? cmd_q.dst[1:0] : cmd_q.src2[1:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      x_re_o <= '0;
      k_re_o <= 1'b0;
    end else begin
      x_re_o[0] <= run_q;
      x_re_o[1] <= run_q && cmd_q.op == OpMul && ((keyed_q || square_q) ? sums_q && !onto_a_q : 1'b1);
      k_re_o <= run_q && keyed_q;
    end
    x_rbuf_o[0] <= cmd_q.op == OpNtt ? cmd_q.dst[1:0] : cmd_q.src[1:0];
    x_rbuf_o[1] <= other;
    x_rrow_o[0] <= row;
    x_rrow_o[1] <= row;
    k_row_o <= row;
  end
  assign k_slot_o = cmd_q.src2[0];
  assign s_re_o = 1'b0;
  assign s_slot_o = '0;
  assign s_row_o = '0;

  // Rows of X[src], or the polynomial that is transformed, of the second operand, of what is added to, and the upper half
  // of the row before.
  logic [W-1:0] a_row_q [Lanes], b_row_q [Lanes], c_row_q [Lanes], upper_q [Half];

  always_ff @(posedge clk_i) begin
    if (steps_q[RowAt-1]) a_row_q <= x_rdata_i[0];
    if (steps_q[RowAt]) upper_q <= a_row_q[Half+:Half];
    if (steps_q[RowAt-1] && cmd_q.op == OpMul) begin
      if (!three_q || sub_q[RowAt-1] == '0) b_row_q <= keyed_q ? k_rdata_i : square_q ? x_rdata_i[0] : x_rdata_i[1];
      if (sums_q && (!three_q || sub_q[RowAt-1] == SubW'(1))) c_row_q <= onto_a_q ? x_rdata_i[0] : x_rdata_i[1];
    end
  end

  // ---- Even and odd words of pairs ---------------------------------------------------------------------
  logic [W-1:0] even [Half], odds [Half], even_q [Half], odds_q [Half];

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned j = 0; j < Half; j++) begin
      even[j] = '0;
      odds[j] = '0;
    end
    for (int unsigned k = 0; k < LogLanes; k++) begin
      if (bit_q[RowAt][k]) begin
        /* verilator unroll_disable */
        for (int unsigned j = 0; j < Half; j++) begin
          even[j] = even[j] | a_row_q[j+((j>>k)<<k)];
          odds[j] = odds[j] | a_row_q[j+((j>>k)<<k)+(32'd1<<k)];
        end
      end
    end
  end

  // ---- Additions -------------------------------------------------------------------------------------
  logic [W-1:0] sum [Half], difference [Half];
  logic [W-1:0] sum_q [2][Half], difference_q [3][Half];

  rf_mod_add #(.W(W), .Lanes(Half)) u_add (.a_i(even_q), .b_i(odds_q), .q_i(q_q), .r_o(sum));
  rf_mod_sub #(.W(W), .Lanes(Half)) u_sub (.a_i(even_q), .b_i(odds_q), .q_i(q_q), .r_o(difference));

  always_ff @(posedge clk_i) begin
    if (adds_q[RowAt]) begin
      even_q <= high_q[RowAt] && odd_q[RowAt] ? upper_q : even;
      if (high_q[RowAt] && !odd_q[RowAt]) odds_q <= x_rdata_i[0][0+:Half];
      else odds_q <= odds;
    end
    sum_q[0] <= sum;
    difference_q[0] <= difference;
    sum_q[1] <= sum_q[0];
    difference_q[1] <= difference_q[0];
    difference_q[2] <= difference_q[1];
  end

  // ---- Multiplications -------------------------------------------------------------------------------
  logic [W-1:0] a [Starts], b [Starts], c [Starts], w [Starts], a_q [Starts], b_q [Starts], r [Starts], r_q [Starts];
  logic [W-1:0] c_q [2][Starts], c_late [Starts], c_then [Starts], total [Starts], total_q [Starts];

  aes_roots #(.Starts(Starts), .MaxLogN(MaxLogN)) u_roots (
      .clk_i, .t_we_i, .t_set_i, .t_inverse_i, .t_index_i, .t_wdata_i,
      .re_i(run_q && pass_q == PassTwist), .set_i(cmd_q.set), .inverse_i(cmd_q.inverse), .log_n_i,
      .level_i(level_q), .first_i(first), .w_o(w)
  );

  // Groups of rows. What is added to a product is with it, or a step later if three buffers take turns.
  logic [SubW-1:0] c_sub;
  assign c_sub = three_q ? sub_q[RowAt+1] : sub_q[RowAt];

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < Starts; s++) begin
      a[s] = '0;
      b[s] = '0;
      c[s] = '0;
    end
    for (int unsigned g = 0; g < Lanes / Starts; g++) begin
      if (sub_q[RowAt] == SubW'(g)) begin
        /* verilator unroll_disable */
        for (int unsigned s = 0; s < Starts; s++) begin
          b[s] = b[s] | b_row_q[g*Starts+s];
          if (high_q[RowAt]) a[s] = a[s] | a_row_q[g*Starts+s];
          else a[s] = a[s] | odds[(g*Part+s)%Half];
        end
      end
      if (c_sub == SubW'(g)) begin
        /* verilator unroll_disable */
        for (int unsigned s = 0; s < Starts; s++) c[s] = c[s] | c_row_q[g*Starts+s];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (muls_q[RowAt]) begin
      a_q <= a;
      case (cmd_q.op)
        OpNtt: b_q <= w;
        OpMul: b_q <= b;
        default: for (int unsigned s = 0; s < Starts; s++) b_q[s] <= scale_q;
      endcase
    end
    c_q[0] <= c;
    c_q[1] <= c_q[0];
  end

  aes_multipliers #(.Starts(Starts)) u_multipliers (
      .clk_i, .rst_ni, .valid_i(muls_q[RowAt+1]), .a_i(a_q), .b_i(b_q), .q_i(q_q), .mu_i(mu_q), .r_o(r)
  );

  // c_late is of stage 6, c_then of stage 26.
  assign c_late = three_q ? c_q[0] : c_q[1];
  rf_delay #(.W(W), .Lanes(Starts), .Depth(ProductAt - RowAt - 1)) u_delay (
      .clk_i, .en_i(busy_q), .x_i(c_late), .x_o(c_then)
  );

  logic [W-1:0] addend [Starts];
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < Starts; s++) addend[s] = sums_q ? c_then[s] : '0;
  end
  rf_mod_add #(.W(W), .Lanes(Starts)) u_sum (.a_i(r_q), .b_i(addend), .q_i(q_q), .r_o(total));

  always_ff @(posedge clk_i) begin
    if (muls_q[ProductAt]) r_q <= r;
    if (muls_q[ProductAt+1]) total_q <= total;
  end

  // ---- Writing ---------------------------------------------------------------------------------------
  // Halves of a row as they are before lanes of pairs are put side by side.
  logic                joins, multiplied, twisted;
  logic [W-1:0]        evens [Half], others [Half], wdata [Lanes];
  logic [LogLanes-1:0] bit_out;
  logic [Lanes-1:0]    wmask;

  assign joins = adds_q[JoinAt];
  assign multiplied = muls_q[MulLatency-1];
  // Odd words between even ones. The level lasts until the additions behind these products.
  assign twisted = pass_q != PassWords && level_q <= 5'(LogLanes);
  assign bit_out = joins ? bit_q[JoinAt] : twisted ? pair_bit(level_q) : LogLanes'(1) << (LogLanes - 1);

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned j = 0; j < Half; j++) begin
      if (!joins) begin
        evens[j] = total_q[j%Starts];
        others[j] = twisted ? total_q[j%Part] : total_q[(j+Half)%Starts];
      end else if (!high_q[JoinAt]) begin
        evens[j] = sum_q[1][j];
        others[j] = difference_q[1][j];
      end else begin
        evens[j] = odd_q[JoinAt] ? difference_q[2][j] : sum_q[1][j];
        others[j] = odd_q[JoinAt] ? difference_q[1][j] : sum_q[0][j];
      end
    end
  end

  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned i = 0; i < Lanes; i++) begin
      wdata[i] = '0;
      wmask[i] = joins || (!twisted && 32'(sub_q[MulLatency-1]) == i / Starts);
    end
    for (int unsigned k = 0; k < LogLanes; k++) begin
      if (bit_out[k]) begin
        /* verilator unroll_disable */
        for (int unsigned i = 0; i < Lanes; i++) begin
          wdata[i] = wdata[i] | (i[k] ? others[without(i, k)] : evens[without(i, k)]);
          if (twisted && i[k] && 32'(sub_q[MulLatency-1]) == without(i, k) / Part) wmask[i] = 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) x_we_o <= 1'b0;
    else x_we_o <= joins || multiplied;
    if (joins || multiplied) begin
      x_wrow_o <= joins ? row_q[JoinAt] : row_q[MulLatency-1];
      x_wmask_o <= wmask;
      x_wdata_o <= wdata;
    end
  end
  assign x_wbuf_o = cmd_q.dst[1:0];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(joins && multiplied)) else $error("a sum and a product are to be written in one cycle");
      assert (!(x_re_o[0] && x_re_o[1] && x_rbuf_o[0] == x_rbuf_o[1])) else $error("both ports read one buffer");
    end
  end
`endif
endmodule
