// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Symmetric pipeline for RLWE (x) RGSW: what the asymmetric one of this machine is compared with. Not a part of it.
//
// Function    One inverse transform, `Digits` forward transforms side by side, one for each digit, each with a
//             multiplier of a polynomial by a row of the key, and a wide sum:
//               result = sum over p in {a, b} and j < Digits of digit_j(p) * row(p, j),
//             digit_j(v) = floor(v / 2^(j log_base_i)) mod 2^log_base_i. Transforms are not pipelined: each goes through
//             its own memory LogN times, with its own copy of the twiddles.
// Latency     2 LogN (N/2 + 17) cycles and some tens
// Throughput  one RLWE in LogN (N/2 + 17) + 1 cycles: a polynomial in a transform's time. LogN / Digits of them keep up
//             with one pipelined transform of LogN stages.
// Ranges      N = 2^LogN; q_i shifted left by shift_i to W bits; twiddles, keys, operands in_i and results canonical
// Source      "Hardware Acceleration for Third-Generation FHE and PSI Based on It", section 4.4 and Fig. 9 (a)
//
// Operand and key lie outside: in_valid_i and key_valid_i say that one is there, whole; rows that are asked for arrive 2
// cycles later. out_ready_i says that there is room for a result of N/4 beats, which then come without waiting.

module psi_symmetric #(
  parameter int unsigned W = 27,
  parameter int unsigned LogN = 10,
  parameter int unsigned Digits = 3,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  localparam int unsigned RowW = LogN - 2
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [2:0]      shift_i,
  input  logic [W-1:0]    q_i,
  input  logic [63:0]     k_i,
  input  logic [4:0]      log_base_i,
  input  logic            tw_valid_i,
  input  logic [LogN-1:0] tw_addr_i,
  input  logic [W-1:0]    tw_data_i,
  input  logic            in_valid_i,
  output logic            in_taken_o,
  output logic            in_poly_o,
  output logic [RowW-1:0] in_row_o,
  input  logic [W-1:0]    in_i  [4],
  input  logic            key_valid_i,
  output logic            key_taken_o,
  output logic            key_poly_o,  // the row for digits of a, or of b
  output logic [RowW-1:0] key_row_o,
  input  logic [W-1:0]    key_i [8 * Digits],  // of each digit: 4 words of a, then 4 of b
  input  logic            out_ready_i,
  output logic            out_valid_o,
  output logic [W-1:0]    out_o [8]
);
  localparam int unsigned LineW = LogN - 1;
  localparam int unsigned Levels = $clog2(Digits);
  localparam int unsigned Leaves = 2 ** Levels;
  localparam int unsigned Latency = rf_pkg::MulLatency + Levels;

  if (Digits < 2 || Digits > W) begin : g_check
    $error("psi_symmetric: Digits must be between 2 and W");
  end

  /* verilator lint_off PINCONNECTEMPTY */  // a result's lines matter to the source, its announcement to the key

  // ---- Inverse transform -----------------------------------------------------------------------------
  logic             full_q;  // the source holds coefficients
  logic             filled, emptied, poured, poured_poly;
  logic [LineW-1:0] in_line [2], poured_line [2];
  logic [W-1:0]     in_words [4], poured_words [4];

  always_comb for (int unsigned l = 0; l < 4; l++) in_words[l] = in_i[l] << shift_i;

  psi_symmetric_unit #(.W(W), .LogN(LogN), .Inverse(1'b1), .Kind(Kind), .Twin(Twin)) u_inverse (
    .clk_i, .rst_ni, .shift_i, .q_i, .k_i, .tw_valid_i, .tw_addr_i, .tw_data_i,
    .start_i(in_valid_i), .taken_o(in_taken_o), .in_poly_o, .in_line_o(in_line), .in_i(in_words),
    .go_i(!full_q), .soon_o(), .out_valid_o(poured), .out_poly_o(poured_poly), .out_line_o(poured_line),
    .out_o(poured_words), .done_o(filled)
  );
  assign in_row_o = in_line[0][LineW-1:1];  // its first stage takes neighbouring lines

  always_ff @(posedge clk_i) begin
    if (!rst_ni) full_q <= 1'b0;
    else full_q <= filled || (full_q && !emptied);
  end

  // ---- Source of the forward transforms --------------------------------------------------------------
  logic             from_poly [Digits], from_poly_q, from_poly_qq;
  logic [LineW-1:0] from_line [Digits][2];
  logic [2*W-1:0]   pair [2], source [2][2];
  logic [W-1:0]     coefficients [4];

  for (genvar i = 0; i < 2; i++) begin : g_source
    logic             we;
    logic [LineW-1:0] addr [2];

    assign we = poured && poured_poly == 1'(i);
    assign pair[i] = {poured_words[2*i+1], poured_words[2*i]};
    assign addr = we ? poured_line : from_line[0];
    psi_symmetric_memory #(.Width(2 * W), .Rows(2 ** LineW)) u_memory (
      .clk_i, .we_i(we), .addr_i(addr), .wdata_i(pair), .rdata_o(source[i])
    );
  end

  always_ff @(posedge clk_i) begin
    from_poly_q <= from_poly[0];
    from_poly_qq <= from_poly_q;
  end

  always_comb begin
    for (int unsigned p = 0; p < 2; p++)
      {coefficients[2*p+1], coefficients[2*p]} = source[from_poly_qq][p];
  end

  // ---- Forward transforms and products ---------------------------------------------------------------
  logic [Digits-1:0] taken, soon, spectrum_valid, spectrum_poly, done;
  logic [W-1:0]      product [Leaves][8];
  logic [W-1:0]      mask;

  assign mask = ~(W'('1) << log_base_i);
  assign emptied = taken[0];
  assign key_taken_o = done[0];

  for (genvar j = 0; j < Digits; j++) begin : g_digits
    logic [W-1:0] digits [4], spectrum [4], factor [8], key [8];

    always_comb begin
      for (int unsigned l = 0; l < 4; l++)
        digits[l] = (((coefficients[l] >> shift_i) >> (9'(j) * 9'(log_base_i))) & mask) << shift_i;
      for (int unsigned l = 0; l < 8; l++) begin
        factor[l] = spectrum[l % 4];
        key[l] = key_i[8*j+l];
      end
    end

    psi_symmetric_unit #(.W(W), .LogN(LogN), .Inverse(1'b0), .Kind(Kind), .Twin(Twin)) u_forward (
      .clk_i, .rst_ni, .shift_i, .q_i, .k_i, .tw_valid_i, .tw_addr_i, .tw_data_i,
      .start_i(full_q), .taken_o(taken[j]), .in_poly_o(from_poly[j]), .in_line_o(from_line[j]), .in_i(digits),
      .go_i(key_valid_i && out_ready_i), .soon_o(soon[j]), .out_valid_o(spectrum_valid[j]),
      .out_poly_o(spectrum_poly[j]), .out_line_o(), .out_o(spectrum), .done_o(done[j])
    );
    rf_mod_mul #(.W(W), .Lanes(8), .Kind(Kind), .Twin(Twin)) u_multiply (
      .clk_i, .en_i(1'b1), .a_i(factor), .b_i(key), .q_i, .k_i, .r_o(product[j])
    );
  end
  for (genvar j = Digits; j < Leaves; j++) begin : g_none
    assign product[j] = '{default: '0};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) {key_row_o, key_poly_o} <= '0;
    else if (soon[0]) {key_row_o, key_poly_o} <= {key_row_o, key_poly_o} + 1'b1;
  end

  // ---- Sum over digits, in a tree, then over a and b -------------------------------------------------
  logic [W-1:0] sum [Leaves-1][8], sum_q [Leaves-1][8];  // number 0 is the whole one, i that of 2i+1 and 2i+2

  for (genvar i = 0; i < Leaves - 1; i++) begin : g_sums
    logic [W-1:0] left [8], right [8];

    if (2 * i + 1 < Leaves - 1) begin : g_inner
      assign left = sum_q[2*i+1];
      assign right = sum_q[2*i+2];
    end else begin : g_leaves
      assign left = product[2*i+2-Leaves];
      assign right = product[2*i+3-Leaves];
    end
    rf_mod_add #(.W(W), .Lanes(8)) u_add (.a_i(left), .b_i(right), .q_i, .r_o(sum[i]));
  end

  always_ff @(posedge clk_i) sum_q <= sum;

  logic [Latency-1:0] valid_q, poly_q;
  logic [W-1:0]       of_a_q [8], whole [8];

  rf_mod_add #(.W(W), .Lanes(8)) u_whole (.a_i(of_a_q), .b_i(sum_q[0]), .q_i, .r_o(whole));

  always_ff @(posedge clk_i) begin
    poly_q <= {poly_q[Latency-2:0], spectrum_poly[0]};
    of_a_q <= sum_q[0];
    for (int unsigned l = 0; l < 8; l++) out_o[l] <= whole[l] >> shift_i;
    if (!rst_ni) begin
      valid_q <= '0;
      out_valid_o <= 1'b0;
    end else begin
      valid_q <= {valid_q[Latency-2:0], spectrum_valid[0]};
      out_valid_o <= valid_q[Latency-1] && poly_q[Latency-1];
    end
  end

  /* verilator lint_on PINCONNECTEMPTY */

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni)
      for (int unsigned j = 1; j < Digits; j++)
        assert ({taken[j], soon[j], spectrum_valid[j], spectrum_poly[j], done[j]}
                == {taken[0], soon[0], spectrum_valid[0], spectrum_poly[0], done[0]})
        else $error("transforms are out of step");
  end
`endif
endmodule
