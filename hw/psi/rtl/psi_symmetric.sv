// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Symmetric pipeline for RLWE (x) RGSW: what psi_pipe is compared with. No machine has it.
//
//   RLWE in -> psi_intt -> source -> Digits x (psi_digits -> psi_symmetric_ntt -> 8 multipliers) -> wide sum -> RLWE out
//
// Function    result = sum over p in {a, b} and j < Digits of digit_j(p) * row(p, j). Forward transforms work side by
//             side, one for each digit, each with its memory, its copy of the twiddles and its multipliers of a
//             polynomial by a row of the key. Like the inverse one they are not pipelined.
// Latency     about 2 LogN * N/2 cycles
// Throughput  one RLWE in (LogN + 1/2) * N/2 + 2 cycles: a polynomial in the time of a transform, whatever the digits.
//             About LogN / Digits of these do as much as one psi_pipe, whose forward transform has LogN stages.
// Ranges      as psi_pipe, for N = 2^LogN only, at least 256; one gadget for a and b, of Digits digits
// Source      "Hardware Acceleration for Third-Generation FHE and PSI Based on It", section 4.4 and Fig. 9 (a)
//
// Keys lie outside: key_valid_i says that all rows for one RLWE are there, until key_taken_o; the row group that is asked
// for arrives BankLatency cycles later. out_ready_i says that there is room for an RLWE, which then comes without stops.

module psi_symmetric #(
  parameter int unsigned W = 27,
  parameter int unsigned LogN = 10,
  parameter int unsigned Digits = 3,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0,
  localparam int unsigned GroupW = LogN - 2
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  // Settings.
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic [63:0]                         k_i,
  input  logic                                balanced_i,
  input  logic [5:0]                          drop_i,
  input  logic [5:0]                          log_base_i,
  input  logic [W+2:0]                        offset_i,
  // Table.
  input  logic                                tw_we_i,
  input  logic [LogN-1:0]                     tw_addr_i,
  input  logic [W-1:0]                        tw_data_i,
  // RLWEs: four words of a, four of b.
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  logic [W-1:0]                        in_i [8],
  // Keys.
  input  logic                                key_valid_i,
  output logic                                key_taken_o,
  output logic                                key_poly_o,   // the rows for digits of a, or of b
  output logic [GroupW-1:0]                   key_group_o,
  input  logic [W-1:0]                        key_i [8 * Digits],
  // Results.
  input  logic                                out_ready_i,
  output logic                                out_valid_o,
  output logic [W-1:0]                        out_o [8],
  output logic                                busy_o
);
  if (Digits < 2 || Digits > 15) begin : g_check
    $error("psi_symmetric: Digits must be between 2 and 15");
  end

  localparam int unsigned LineW = LogN - 1;
  localparam int unsigned Leaves = 2 ** $clog2(Digits);
  localparam int unsigned Latency = rf_pkg::MulLatency + $clog2(Digits);

  // ---- Inverse transform, source ---------------------------------------------------------------------
  logic              idle, done, release_inverse, poured, poured_poly_q, full_q, filling_q, taken;
  logic              read, read_poly;
  logic [GroupW-1:0] poured_group_q, read_group;
  logic [LineW-1:0]  rline [2], wline [2];
  logic [W-1:0]      coefficients [4], source [4];

  psi_intt #(.W(W), .LogN(LogN), .Kind(Kind), .Word(Word), .Twin(Twin)) u_intt (
    .clk_i, .rst_ni, .long_i(1'b1), .shift_i, .q_i, .k_i, .tw_we_i, .tw_addr_i, .tw_data_i,
    .idle_o(idle), .load_i(in_valid_i), .in_valid_i, .in_ready_o, .in_i,
    .done_o(done), .release_i(release_inverse), .valid_o(poured), .x_o(coefficients)
  );

  assign release_inverse = done && !full_q && !filling_q;
  assign rline = '{{1'b0, read_group}, {1'b1, read_group}};
  assign wline = '{{1'b0, poured_group_q}, {1'b1, poured_group_q}};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {poured_poly_q, poured_group_q} <= '0;
      filling_q <= 1'b0;
      full_q <= 1'b0;
    end else begin
      if (poured) {poured_poly_q, poured_group_q} <= {poured_poly_q, poured_group_q} + 1'b1;
      if (release_inverse) filling_q <= 1'b1;
      if (taken) full_q <= 1'b0;
      if (poured && {poured_poly_q, poured_group_q} == '1) begin
        filling_q <= 1'b0;
        full_q <= 1'b1;
      end
    end
  end

  psi_buffer #(.W(W), .LogN(LogN), .Slots(2)) u_source (
    .clk_i, .re_i(read), .rslot_i(read_poly), .rline_i(rline), .x_o(source),
    .we_i(poured), .wslot_i(poured_poly_q), .wline_i(wline), .x_i(coefficients)
  );

  // ---- Forward transforms and products ---------------------------------------------------------------
  typedef struct packed {
    logic              taken;
    logic              re;
    logic              poly;
    logic [GroupW-1:0] group;
    logic              soon;
    logic              valid;
    logic              poly_of;
    logic              busy;
  } control_t;

  control_t     control [Digits];  // all alike: the transforms work in step
  logic [W-1:0] product [Leaves][8];

  assign taken = control[0].taken;
  assign read = control[0].re;
  assign read_poly = control[0].poly;
  assign read_group = control[0].group;
  assign key_taken_o = control[0].soon && {key_group_o, key_poly_o} == '1;

  for (genvar j = 0; j < int'(Leaves); j++) begin : g_digits
    if (j < int'(Digits)) begin : g_digit
      logic [W-1:0] digits [4], spectrum [4], factor [8], key [8];

      psi_digits #(.W(W), .Lanes(4)) u_digits (
        .clk_i, .shift_i, .q_i, .pass_i(1'b0), .balanced_i, .last_i(j == int'(Digits) - 1),
        .log_base_i, .right_i(8'(drop_i) + 8'(j) * 8'(log_base_i)),
        .offset_i(offset_i << shift_i), .x_i(source), .x_o(digits)
      );
      psi_symmetric_ntt #(.W(W), .LogN(LogN), .Kind(Kind), .Word(Word), .Twin(Twin)) u_ntt (
        .clk_i, .rst_ni, .shift_i, .q_i, .k_i, .tw_we_i, .tw_addr_i, .tw_data_i,
        .start_i(full_q), .taken_o(control[j].taken), .re_o(control[j].re), .poly_o(control[j].poly),
        .group_o(control[j].group), .x_i(digits), .go_i(key_valid_i && out_ready_i), .soon_o(control[j].soon),
        .valid_o(control[j].valid), .poly_of_o(control[j].poly_of), .x_o(spectrum), .busy_o(control[j].busy)
      );
      always_comb begin
        for (int unsigned i = 0; i < 8; i++) begin
          factor[i] = spectrum[i%4];
          key[i] = key_i[8*j+int'(i)];
        end
      end
      rf_mod_mul #(.W(W), .Lanes(8), .Kind(Kind), .Twin(Twin), .Word(Word)) u_mul (
        .clk_i, .en_i(1'b1), .a_i(factor), .b_i(key), .q_i, .k_i, .r_o(product[j])
      );
    end else begin : g_none
      assign product[j] = '{default: '0};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) {key_group_o, key_poly_o} <= '0;
    else if (control[0].soon) {key_group_o, key_poly_o} <= {key_group_o, key_poly_o} + 1'b1;
  end

  // ---- Sum over digits in a tree, then of a's and b's, which take turns ---------------------------------
  logic [W-1:0] sum [Leaves-1][8], sum_q [Leaves-1][8];  // number 0 of all, i of numbers 2i + 1 and 2i + 2

  for (genvar i = 0; i < int'(Leaves) - 1; i++) begin : g_sums
    logic [W-1:0] left [8], right [8];

    if (2 * i + 1 < int'(Leaves) - 1) begin : g_inner
      assign left = sum_q[2*i+1];
      assign right = sum_q[2*i+2];
    end else begin : g_leaves
      assign left = product[2*i+2-int'(Leaves)];
      assign right = product[2*i+3-int'(Leaves)];
    end
    rf_mod_add #(.W(W), .Lanes(8)) u_add (.a_i(left), .b_i(right), .q_i, .r_o(sum[i]));
  end

  logic [Latency-1:0] valid_q, poly_q;
  logic [W-1:0]       of_a_q [8], whole [8];

  rf_mod_add #(.W(W), .Lanes(8)) u_whole (.a_i(of_a_q), .b_i(sum_q[0]), .q_i, .r_o(whole));

  always_ff @(posedge clk_i) begin
    sum_q <= sum;
    of_a_q <= sum_q[0];
    poly_q <= {poly_q[Latency-2:0], control[0].poly_of};
    for (int unsigned i = 0; i < 8; i++) out_o[i] <= whole[i] >> shift_i;
    if (!rst_ni) begin
      valid_q <= '0;
      out_valid_o <= 1'b0;
    end else begin
      valid_q <= {valid_q[Latency-2:0], control[0].valid};
      out_valid_o <= valid_q[Latency-1] && poly_q[Latency-1];
    end
  end

  assign busy_o = !idle || filling_q || full_q || control[0].busy || valid_q != '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni)
      for (int unsigned j = 1; j < Digits; j++)
        assert (control[j] == control[0]) else $error("transforms are out of step");
  end
`endif
endmodule
