// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Bit reversal of polynomials, for transforms that take their input so.
//
// Function, word j of the result is word brv(j) of the source, brv of log2(N) bits:
//   REVX   X[dst] = X[src] in this order, dst != src
//   REVS   X[dst] = S[src], N/2 words, padded with zeros to N, in this order
// Latency     N / 8 + 13 cycles from command to done
// Throughput  a narrow row, 8 words, read and one written a cycle
// Ranges      6 <= log_n_i <= MaxLogN; log_n_i stays while busy_o
// Interface   a command is taken where cmd_valid_i and cmd_ready_o are high; done_o in the cycle after its last write.
//             Rows that are asked for arrive 2 cycles later and are looked at only then.
//
// A word's number is three high bits, those in the middle, and three low ones. The 64 words with the same middle are a
// block: 8 rows of the source, 8 rows of the result, whose rows are the columns of the source's. Two blocks take turns,
// one is read while the other is written.

module aes_rev
  import aes_pkg::*;
#(
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned W = WordW,
    localparam int unsigned RowW = MaxLogN - $clog2(NarrowWords)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [4:0]           log_n_i,
    input  logic                 cmd_valid_i,
    output logic                 cmd_ready_o,
    input  instr_t               cmd_i,
    output logic                 done_o,
    output logic                 busy_o,

    output logic                 s_re_o,
    output logic [1:0]           s_slot_o,
    output logic [RowW-2:0]      s_row_o,
    input  logic [W-1:0]         s_rdata_i [NarrowWords],
    output logic                 x_re_o,
    output logic [1:0]           x_rbuf_o,
    output logic [RowW-1:0]      x_rrow_o,
    input  logic [W-1:0]         x_rdata_i [NarrowWords],
    output logic                 x_we_o,
    output logic [1:0]           x_wbuf_o,
    output logic [RowW-1:0]      x_wrow_o,
    output logic [W-1:0]         x_wdata_o [NarrowWords]
);
  localparam int unsigned MiddleW = RowW - 3;
  localparam int unsigned DataAt = 3;   // stage at which a row arrives; 0 counts, 1 asks
  localparam int unsigned FillAt = 4;   // stage at which it is in its block
  localparam int unsigned OutAt = FillAt + NarrowWords - 1;  // the block's row of the same number is written behind it

  if (MaxLogN < 7) begin : g_check
    $error("aes_rev: polynomials of 128 words at least");
  end

  function automatic logic [2:0] reversed(logic [2:0] x);
    return {x[0], x[1], x[2]};
  endfunction

  // ---- Commands and counters -------------------------------------------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t             cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic               take, busy_q, run_q, last, pads, done_q;
  logic [RowW-1:0]    count_q;  // block, row of the block
  logic [4:0]         middle_bits;
  logic [MiddleW-1:0] middle, backward;

  assign cmd_ready_o = !busy_q || done_q;
  assign take = cmd_valid_i && cmd_ready_o;
  assign busy_o = busy_q;
  assign done_o = done_q;
  assign middle_bits = log_n_i - 5'd6;
  assign middle = count_q[RowW-1:3];
  assign last = 32'(count_q) == (32'd1 << (log_n_i - 5'd3)) - 32'd1;
  assign pads = cmd_q.op == OpRevS && count_q[2];

  // ---- Steps on their way; index: stage --------------------------------------------------------------
  logic [OutAt:1]  steps_q;
  logic [RowW-1:0] count_at_q [OutAt+1];
  logic            pads_q [DataAt+1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      run_q <= 1'b0;
      steps_q <= '0;
      done_q <= 1'b0;
    end else begin
      if (take) busy_q <= 1'b1;
      else if (done_q) busy_q <= 1'b0;
      if (take) run_q <= 1'b1;
      else if (last) run_q <= 1'b0;
      steps_q <= {steps_q[OutAt-1:1], run_q};
      done_q <= x_we_o && !steps_q[OutAt];
    end
    if (take) cmd_q <= cmd_i;
    if (take) count_q <= '0;
    else if (run_q) count_q <= count_q + RowW'(1);
    count_at_q[1] <= count_q;
    for (int unsigned d = 2; d <= OutAt; d++) count_at_q[d] <= count_at_q[d-1];
    pads_q[1] <= pads;
    for (int unsigned d = 2; d <= DataAt; d++) pads_q[d] <= pads_q[d-1];
  end

  // ---- Reading: row (a, middle) of the source for a = 0..7 ---------------------------------------------
  logic [RowW-1:0] from;
  assign from = (RowW'(count_q[2:0]) << middle_bits) | RowW'(middle);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      x_re_o <= 1'b0;
      s_re_o <= 1'b0;
    end else begin
      x_re_o <= run_q && cmd_q.op == OpRevX;
      s_re_o <= run_q && cmd_q.op == OpRevS && !pads;
    end
    x_rrow_o <= from;
    s_row_o <= from[RowW-2:0];
  end
  assign x_rbuf_o = cmd_q.src[1:0];
  assign s_slot_o = cmd_q.src[1:0];

  // ---- Blocks ------------------------------------------------------------------------------------------
  logic [W-1:0] block_q [2][NarrowWords][NarrowWords];

  always_ff @(posedge clk_i) begin
    if (steps_q[DataAt]) begin
      for (int unsigned w = 0; w < NarrowWords; w++) begin
        block_q[count_at_q[DataAt][3]][count_at_q[DataAt][2:0]][w] <=
            pads_q[DataAt] ? '0 : cmd_q.op == OpRevS ? s_rdata_i[w] : x_rdata_i[w];
      end
    end
  end

  // ---- Writing: row (k, middle reversed) of the result is column brv(k) of the source's block -----------
  logic [MiddleW-1:0] out_middle;

  assign out_middle = count_at_q[OutAt][RowW-1:3];
  always_comb begin
    for (int unsigned i = 0; i < MiddleW; i++) backward[i] = out_middle[MiddleW-1-i];
    backward = backward >> (5'(MiddleW) - middle_bits);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) x_we_o <= 1'b0;
    else x_we_o <= steps_q[OutAt];
    if (steps_q[OutAt]) begin
      x_wrow_o <= (RowW'(count_at_q[OutAt][2:0]) << middle_bits) | RowW'(backward);
      for (int unsigned w = 0; w < NarrowWords; w++) begin
        x_wdata_o[w] <= block_q[count_at_q[OutAt][3]][reversed(3'(w))][reversed(count_at_q[OutAt][2:0])];
      end
    end
  end
  assign x_wbuf_o = cmd_q.dst[1:0];
endmodule
