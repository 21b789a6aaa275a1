// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The unit of SCALE, which makes a source of a base conversion: in each active way v
//   y = X[src] * constants[k] mod q, not shifted -> D[bank + v],
//   f = y / q with W fractional bits (omr_fraction of y * 2^s, with constants[k + 1] = floor(2^(2W) / (q * 2^s)), whose bit W
//   is not read),
//   V[dst] = (init ? 0 : V[dst]) + the sum of f over the active ways, modulo 2^(W+6).
//
// Latency     15 from the read of a row to the write of D, 20 to that of V; 3 more from a command to the first row
// Throughput  a row of Lanes words a cycle
// Ranges      modulus_shift_i = W - bits of q. X below q, both shifted by it, with Montgomery neither; constants[k] is an
//             operand b of rf_mod_mul. Tables are read in the cycle after their index, banks two cycles after theirs.

module omr_scale
  import omr_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 4,
    parameter int unsigned Ways = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 48,
    parameter int unsigned MaxLogN = 12,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit          Twin = 1'b0,
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

    output logic                          x_re_o,
    output logic [BufferW-1:0]            x_buffer_o,
    output logic [RowAW-1:0]              x_row_o,
    input  logic [W-1:0]                  x_i [Ways][Lanes],
    output logic [Ways-1:0]               d_we_o,
    output logic [BankW-1:0]              d_wbank_o,        // of way 0; the others write to the banks behind it
    output logic [RowAW-1:0]              d_wrow_o,
    output logic [W-1:0]                  d_data_o [Ways][Lanes],
    output logic                          v_re_o,
    output logic [VIndexW-1:0]            v_index_o,
    output logic [RowAW-1:0]              v_row_o,
    input  logic [VW-1:0]                 v_i [Lanes],
    output logic                          v_we_o,
    output logic [VIndexW-1:0]            v_windex_o,
    output logic [RowAW-1:0]              v_wrow_o,
    output logic [VW-1:0]                 v_data_o [Lanes]
);
  // From a step to the shifted product, to D; to the fractions, to their sum over ways, to V.
  localparam int unsigned Product = rf_pkg::BankLatency + rf_pkg::MulLatency;
  localparam int unsigned WriteD = Product + 1;
  localparam int unsigned Fractions = Product + 4;
  localparam int unsigned Sum = Fractions + 1;
  localparam int unsigned ReadV = Sum - rf_pkg::BankLatency;
  localparam int unsigned WriteV = Sum + 1;
  localparam bit          Shifted = Kind == rf_pkg::MulBarrett;

  /* verilator lint_off UNUSEDSIGNAL */  // a unit looks at some fields only
  instr_t cmd;
  logic   start;
  /* verilator lint_on UNUSEDSIGNAL */
  logic             settled, step, busy, second_q;
  logic [RowAW-1:0] row;
  logic [Ways-1:0]  ways;

  omr_pass #(.Lanes(Lanes), .MaxLogN(MaxLogN), .Depth(WriteV + 1)) u_pass (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .done_o, .busy_o(busy), .start_o(start), .cmd_o(cmd),
      .settled_o(settled), .go_i(1'b1), .last_i(1'b1), .step_o(step), .row_o(row)
  );

  assign ways = cmd.ways[Ways-1:0];
  assign busy_o = busy;
  assign modulus_index_o = cmd.mod[ModulusIndexW-1:0];
  assign x_re_o = step;
  assign x_buffer_o = cmd.src[BufferW-1:0];
  assign x_row_o = row;

  // The first constant is read until the unit has settled, the second one from then on: long before the first fraction.
  assign constant_index_o = cmd.k[ConstantIndexW-1:0] + ConstantIndexW'(settled);
  always_ff @(posedge clk_i) second_q <= settled;

  // ---- Where results go ----------------------------------------------------------------------------
  logic             valid_q [WriteV];
  logic [RowAW-1:0] row_q [WriteV];

  always_ff @(posedge clk_i) begin
    valid_q[0] <= step && rst_ni;
    row_q[0] <= row;
    for (int unsigned i = 1; i < WriteV; i++) begin
      valid_q[i] <= valid_q[i-1] && rst_ni;
      row_q[i] <= row_q[i-1];
    end
  end
  assign d_we_o = valid_q[WriteD-1] ? ways : '0;
  assign d_wbank_o = cmd.bank[BankW-1:0];
  assign d_wrow_o = row_q[WriteD-1];
  assign v_re_o = valid_q[ReadV-1] && !cmd.init;
  assign v_index_o = cmd.dst[VIndexW-1:0];
  assign v_row_o = row_q[ReadV-1];
  assign v_we_o = valid_q[WriteV-1];
  assign v_windex_o = cmd.dst[VIndexW-1:0];
  assign v_wrow_o = row_q[WriteV-1];

  // ---- Arithmetic ----------------------------------------------------------------------------------
  logic [W-1:0]  fraction [Ways][Lanes];
  logic [VW-1:0] sum_q [Lanes];

  for (genvar v = 0; v < int'(Ways); v++) begin : g_way
    logic [W-1:0]                  q_q, first_q, then_q;
    logic [63:0]                   k_q;
    logic [rf_pkg::ShiftWidth-1:0] shift_q;
    logic [W-1:0]                  factor [Lanes], y [Lanes], shifted [Lanes];

    always_ff @(posedge clk_i) begin
      q_q <= modulus_q_i[v];
      k_q <= modulus_k_i[v];
      shift_q <= modulus_shift_i[v];
      if (second_q) then_q <= constant_i[v];
      else first_q <= constant_i[v];
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) d_data_o[v][l] <= Shifted ? y[l] >> shift_q : y[l];
    end

    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        factor[l] = first_q;
        shifted[l] = Shifted ? y[l] : y[l] << shift_q;
      end
    end

    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin)) u_mul (
        .clk_i, .en_i(busy), .a_i(x_i[v]), .b_i(factor), .q_i(q_q), .k_i(k_q), .r_o(y)
    );
    omr_fraction #(.W(W), .Lanes(Lanes), .Twin(Twin)) u_fraction (
        .clk_i, .en_i(busy), .y_i(shifted), .k_i(then_q), .f_o(fraction[v])
    );
  end

  always_ff @(posedge clk_i) begin
    /* verilator unroll_disable */
    for (int unsigned l = 0; l < Lanes; l++) begin
      automatic logic [VW-1:0] sum = '0;
      for (int unsigned v = 0; v < Ways; v++) sum = sum + (ways[v] ? VW'(fraction[v][l]) : '0);
      sum_q[l] <= sum;
      v_data_o[l] <= sum_q[l] + (cmd.init ? '0 : v_i[l]);
    end
  end
endmodule
