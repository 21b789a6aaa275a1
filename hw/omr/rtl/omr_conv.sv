// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The unit of CONV, base conversion to one modulus for each way v:
//   X[dst] = (sum over i < count of D[bank + i] * constants[k + i] + floor(V[src] + 1/2) * constants[k + count]) mod q.
// Integer products are summed, the quotient's with them, and reduced once.
//
// Latency     18 + ceil(log2 Sources) + ceil(log2 (Banks + 1)) + Share from the last read of a row to its write; count + 5
//             from a command to the first read, in which the constants are copied, shifted as q is
// Throughput  a row of Lanes words in max(ceil(count / Sources), Share) cycles, without gaps
// Ranges      1 <= count <= Banks < 64; D and constants below 2^W and q, not shifted; with Montgomery constants carry the
//             radix. The quotient is a number of 0 ... 64. Tables are read in the cycle after their index, banks two cycles
//             after theirs.
//
// Share: a row's sum is complete once in that many cycles at most, so Lanes / Share reductions serve a way, and as many small
// multipliers for the quotient: they take a row's lanes in turn.
//
// Bound: the sum is at most Banks * (2^W - 1) * q + 64 q < q * 2^(W + Extra), as Banks < 2^Extra.

module omr_conv
  import omr_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 4,
    parameter int unsigned Ways = 1,
    parameter int unsigned Sources = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 48,
    parameter int unsigned MaxLogN = 12,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit          Twin = 1'b0,
    parameter int unsigned Share = Sources > 1 ? 2 : Lanes < 8 ? Lanes : 8,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowAW = MaxLogN - $clog2(Lanes),
    localparam int unsigned BufferW = $clog2(Buffers),
    localparam int unsigned BankW = $clog2(Banks),
    localparam int unsigned VIndexW = $clog2(Quotients),
    localparam int unsigned VW = W + QuotientBits
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [LogW-1:0]               log_n_i,
    input  logic                          cmd_valid_i,
    output logic                          cmd_ready_o,
    input  instr_t                        cmd_i,
    output logic                          done_o,
    output logic                          busy_o,

    output logic [ModulusIndexW-1:0]      modulus_index_o,
    input  logic [W-1:0]                  modulus_q_i [Ways],
    input  logic [63:0]                   modulus_k_i [Ways],
    input  logic [rf_pkg::ShiftWidth-1:0] modulus_shift_i [Ways],
    output logic [ConstantIndexW-1:0]     constant_index_o,
    input  logic [W-1:0]                  constant_i [Ways],

    output logic [Sources-1:0]            d_re_o,           // source s is of bank d_bank_o + s
    output logic [BankW-1:0]              d_bank_o,
    output logic [RowAW-1:0]              d_row_o,
    input  logic [W-1:0]                  d_i [Sources][Lanes],
    output logic                          v_re_o,
    output logic [VIndexW-1:0]            v_index_o,
    output logic [RowAW-1:0]              v_row_o,
    input  logic [VW-1:0]                 v_i [Lanes],
    output logic [Ways-1:0]               x_we_o,
    output logic [BufferW-1:0]            x_wbuffer_o,
    output logic [RowAW-1:0]              x_wrow_o,
    output logic [W-1:0]                  x_data_o [Ways][Lanes]
);
  localparam int unsigned Extra = $clog2(Banks + 1);
  localparam int unsigned CountW = Extra;
  localparam int unsigned SumW = Twin ? W : 2 * W + Extra;
  localparam int unsigned Turn = Lanes / Share;       // lanes that the reductions take at a time
  localparam int unsigned RoundW = QuotientBits + 1;
  localparam int unsigned Cycles = (Banks + Sources - 1) / Sources;
  localparam int unsigned CycleW = $clog2((Cycles > Share ? Cycles : Share) + 1);

  // From the last step of a row to operands of the sum; to the complete sum; to its first turn, and that of the quotients
  // three cycles earlier; to its reduction; to the row, which is written.
  localparam int unsigned Operands = rf_pkg::BankLatency;
  localparam int unsigned Complete = Operands + 5 + $clog2(Sources);
  localparam int unsigned Turns = Complete + 1;
  localparam int unsigned Quotient = Turns - 4;       // V's row has been read
  localparam int unsigned ReadV = Quotient - rf_pkg::BankLatency;
  localparam int unsigned Reduced = Turns + 1 + Extra + 9;
  localparam int unsigned Write = Reduced + Share;

  if (Banks > 63 || Lanes % Share != 0 || Share < 1) begin : g_check
    $error("omr_conv: Banks must be at most 63, Share a divisor of Lanes");
  end

  /* verilator lint_off UNUSEDSIGNAL */  // a unit looks at some fields only
  instr_t cmd;
  /* verilator lint_on UNUSEDSIGNAL */
  logic              start, settled, step, busy, last, loaded_q;
  logic [RowAW-1:0]  row;
  logic [Ways-1:0]   ways;

  omr_pass #(.Lanes(Lanes), .MaxLogN(MaxLogN), .Depth(Write + 1)) u_pass (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .done_o, .busy_o(busy), .start_o(start), .cmd_o(cmd),
      .settled_o(settled), .go_i(loaded_q), .last_i(last), .step_o(step), .row_o(row)
  );

  assign ways = cmd.ways[Ways-1:0];
  assign busy_o = busy;
  assign modulus_index_o = cmd.mod[ModulusIndexW-1:0];

  // ---- Constants are copied ------------------------------------------------------------------------
  logic [CountW-1:0]          index_q, put_q, count;  // asked for, come; count is of the quotient
  logic                       asked_q;
  logic [CycleW-1:0]          put_cycle_q;
  logic [$clog2(Sources+1)-1:0] put_source_q;

  assign count = cmd.count[CountW-1:0];
  assign constant_index_o = cmd.k[ConstantIndexW-1:0] + ConstantIndexW'(index_q);

  always_ff @(posedge clk_i) begin
    if (start) begin
      index_q <= '0;
      put_q <= '0;
      asked_q <= 1'b0;
      loaded_q <= 1'b0;
      put_cycle_q <= '0;
      put_source_q <= '0;
    end else if (settled && !loaded_q) begin
      asked_q <= 1'b1;
      index_q <= index_q + 1'b1;
      if (asked_q) begin
        put_q <= put_q + 1'b1;
        loaded_q <= put_q == count;
        put_source_q <= 32'(put_source_q) == Sources - 1 ? '0 : put_source_q + 1'b1;
        if (32'(put_source_q) == Sources - 1) put_cycle_q <= put_cycle_q + 1'b1;
      end
    end
  end

  // ---- Steps ---------------------------------------------------------------------------------------
  logic [CountW-1:0]  left_q;      // sources of this row that are not yet taken
  logic [BankW-1:0]   bank_q;
  logic [CycleW-1:0]  cycle_q;
  logic [$clog2(Share+1)-1:0] shared_q;  // cycles that the row still has to take
  logic [Sources-1:0] used;

  assign last = 32'(left_q) <= Sources && shared_q <= 1;
  always_comb for (int unsigned s = 0; s < Sources; s++) used[s] = s < 32'(left_q);

  always_ff @(posedge clk_i) begin
    if (start || step) begin
      left_q <= 32'(left_q) > Sources ? left_q - CountW'(Sources) : '0;
      shared_q <= shared_q == 0 ? '0 : shared_q - 1'b1;
      bank_q <= bank_q + BankW'(Sources);
      cycle_q <= cycle_q + 1'b1;
      if (start || last) begin
        left_q <= start ? cmd_i.count[CountW-1:0] : count;
        shared_q <= ($clog2(Share+1))'(Share);
        bank_q <= start ? cmd_i.bank[BankW-1:0] : cmd.bank[BankW-1:0];
        cycle_q <= '0;
      end
    end
  end

  assign d_re_o = step ? used : '0;
  assign d_bank_o = bank_q;
  assign d_row_o = row;

  // ---- What follows a step -------------------------------------------------------------------------
  logic               first_q [Operands], end_q [Write];
  logic [Sources-1:0] used_q [Operands];
  logic [CycleW-1:0]  cycles_q [Operands];
  logic [RowAW-1:0]   rows_q [Write];

  always_ff @(posedge clk_i) begin
    first_q[0] <= cycle_q == 0;
    used_q[0] <= step ? used : '0;
    cycles_q[0] <= cycle_q;
    for (int unsigned i = 1; i < Operands; i++) begin
      first_q[i] <= first_q[i-1];
      used_q[i] <= used_q[i-1];
      cycles_q[i] <= cycles_q[i-1];
    end
    end_q[0] <= step && last && rst_ni;
    rows_q[0] <= row;
    for (int unsigned i = 1; i < Write; i++) begin
      end_q[i] <= end_q[i-1] && rst_ni;
      rows_q[i] <= rows_q[i-1];
    end
  end

  assign v_re_o = end_q[ReadV-1];
  assign v_index_o = cmd.src[VIndexW-1:0];
  assign v_row_o = rows_q[ReadV-1];
  assign x_we_o = end_q[Write-1] ? ways : '0;
  assign x_wbuffer_o = cmd.dst[BufferW-1:0];
  assign x_wrow_o = rows_q[Write-1];

  // Quotients of a row, rounded, in turns.
  logic [RoundW-1:0] quotient_q [Lanes];

  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (end_q[Quotient-1]) quotient_q[l] <= RoundW'(v_i[l] >> W) + RoundW'(v_i[l][W-1]);
      else if (l + Turn < Lanes) quotient_q[l] <= quotient_q[l+Turn];
    end
  end

  // ---- Arithmetic ----------------------------------------------------------------------------------
  for (genvar v = 0; v < int'(Ways); v++) begin : g_way
    logic [W-1:0]                  q_q, shifted, rest_q;
    logic [63:0]                   k_q;
    logic [rf_pkg::ShiftWidth-1:0] shift_q;
    logic [W-1:0]                  c [Sources];
    logic [SumW-1:0]               sum [Lanes], turn_q [Lanes], whole_q [Turn];
    logic [W-1:0]                  reduced [Turn], row_q [Lanes];

    always_ff @(posedge clk_i) begin
      q_q <= modulus_q_i[v];
      k_q <= modulus_k_i[v];
      shift_q <= modulus_shift_i[v];
      if (asked_q && !loaded_q) rest_q <= shifted;  // the last one stays
    end
    assign shifted = constant_i[v] << shift_q;

    for (genvar s = 0; s < int'(Sources); s++) begin : g_source
      logic [W-1:0] constants [1<<CycleW];
      always_ff @(posedge clk_i) begin
        if (asked_q && !loaded_q && 32'(put_source_q) == s) constants[put_cycle_q] <= shifted;
      end
      assign c[s] = used_q[Operands-1][s] ? constants[cycles_q[Operands-1]] : '0;
    end

    omr_dot #(.W(W), .Lanes(Lanes), .Sources(Sources), .Extra(Extra), .Kind(Kind), .Twin(Twin)) u_dot (
        .clk_i, .en_i(busy), .first_i(first_q[Operands-1]), .d_i, .c_i(c), .q_i(q_q), .k_i(k_q), .sum_o(sum)
    );

    always_ff @(posedge clk_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (end_q[Complete-1]) turn_q[l] <= sum[l];
        else if (l + Turn < Lanes) turn_q[l] <= turn_q[l+Turn];
      end
    end

    if (Twin) begin : g_twin
      logic [W-1:0] product [Turn], late [Turn];
      logic [63:0]  k;
      assign k = rf_pkg::twin_constant(Kind, 64'(q_q), k_q);
      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Turn; l++) begin
          product[l] = W'(rf_pkg::twin_multiply(
              Kind, W, rf_pkg::MontgomeryWord, 64'(rest_q), 64'(quotient_q[l]), 64'(q_q), k
          ));
        end
      end
      rf_delay #(.W(W), .Lanes(Turn), .Depth(3)) u_delay (.clk_i, .en_i(busy), .x_i(product), .x_o(late));
      always_ff @(posedge clk_i) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Turn; l++) begin
          whole_q[l] <= SumW'(rf_pkg::twin_add(64'(turn_q[l]), 64'(late[l]), 64'(q_q)));
        end
      end
    end else begin : g_hardware
      logic [RoundW-1:0]   quotient [Turn];
      logic [W-1:0]        factor [Turn];
      logic [W+RoundW-1:0] zero [Turn], product [Turn];
      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Turn; l++) begin
          quotient[l] = quotient_q[l];
          factor[l] = rest_q;
          zero[l] = '0;
        end
      end
      rf_mul_tiled #(.WA(W), .WB(RoundW), .Lanes(Turn)) u_quotient (
          .clk_i, .en_i(busy), .a_i(factor), .b_i(quotient), .c_i(zero), .p_o(product)
      );
      always_ff @(posedge clk_i) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Turn; l++) whole_q[l] <= turn_q[l] + SumW'(product[l]);
      end
    end

    omr_reduce #(.W(W), .Lanes(Turn), .Extra(Extra), .Kind(Kind), .Twin(Twin)) u_reduce (
        .clk_i, .en_i(busy), .q_i(q_q), .k_i(k_q), .x_i(whole_q), .r_o(reduced)
    );

    // Lanes of a row come in turns, the lowest ones first, and move down.
    always_ff @(posedge clk_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) row_q[l] <= l + Turn < Lanes ? row_q[(l+Turn)%Lanes] : reduced[(l+Turn)%Turn];
    end
    assign x_data_o[v] = row_q;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (start) assert (32'(cmd_i.count) >= 1 && 32'(cmd_i.bank) + 32'(cmd_i.count) <= Banks)
    else $error("%0d sources from bank %0d on", cmd_i.count, cmd_i.bank);
  end
`endif
endmodule
