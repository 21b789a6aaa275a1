// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Adds two polynomials that lie in DRAM: the toy machine's only element.
//
// Function    Reads `beats_i` beats from left_i and from right_i in bursts, adds the residues of a beat in one cycle and
//             writes the sums to result_i. Bursts are asked for when there is room for them, written when they are
//             whole, so that an element that is halted can always carry through what was granted.
// Latency     -
// Throughput  one beat of sums in two cycles: both operands come through one port
// Ranges      residues < modulus_i < 2^WordBits, a 64-bit word each; addresses are multiples of 4 KiB and beats_i is not
//             0, else error_o is 1. BurstBeats is a power of two, and a burst takes 4 KiB at most: then none crosses.
module toy_adder #(
    parameter int unsigned Lanes = 8,
    parameter int unsigned WordBits = 54,
    parameter int unsigned BurstBeats = 32,
    parameter int unsigned AddrW = 48,
    localparam int unsigned DataW = Lanes * 64,
    localparam int unsigned BurstW = $clog2(BurstBeats + 1)
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                start_i,
    input  logic                halt_i,
    output logic                done_o,
    output logic [7:0]          error_o,
    output logic [31:0]         beats_o,
    input  logic [AddrW-1:0]    left_i,
    input  logic [AddrW-1:0]    right_i,
    input  logic [AddrW-1:0]    result_i,
    input  logic [WordBits-1:0] modulus_i,
    input  logic [31:0]         beats_i,
    output logic [1:0]          rd_valid_o,
    input  logic [1:0]          rd_ready_i,
    output logic [AddrW-1:0]    rd_addr_o [2],
    output logic [BurstW-1:0]   rd_beats_o [2],
    input  logic [1:0]          rsp_valid_i,
    input  logic [DataW-1:0]    rsp_data_i,
    output logic                wr_valid_o,
    input  logic                wr_ready_i,
    output logic [AddrW-1:0]    wr_addr_o,
    output logic [BurstW-1:0]   wr_beats_o,
    output logic                data_valid_o,
    input  logic                data_ready_i,
    output logic [DataW-1:0]    data_o,
    input  logic                wr_done_i
);

  localparam int unsigned Depth = 2 * BurstBeats;
  localparam int unsigned CountW = $clog2(Depth + 1);

  if (BurstBeats < 1 || (BurstBeats & (BurstBeats - 1)) != 0 || BurstBeats * DataW / 8 > 4096) begin : g_bad_burst
    $error("bursts of %0d beats are no power of two, or longer than 4 KiB", BurstBeats);
  end
  if (WordBits < 4 || WordBits > 62) begin : g_bad_word_bits
    $error("WordBits %0d is outside 4..62", WordBits);
  end

  // The next burst: whole, or what is left.
  function automatic logic [BurstW-1:0] burst(input logic [31:0] left);
    return left < 32'(BurstBeats) ? BurstW'(left) : BurstW'(BurstBeats);
  endfunction

  logic running_q, bad_q, bad;

  assign bad = beats_i == '0 || left_i[11:0] != '0 || right_i[11:0] != '0 || result_i[11:0] != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      bad_q <= 1'b0;
    end else if (start_i) begin
      running_q <= !bad;
      bad_q <= bad;
    end else if (done_o) begin
      running_q <= 1'b0;
    end
  end
  assign error_o = {7'd0, bad_q};

  // ---- Operands ------------------------------------------------------------------------------------
  logic [1:0]       operand_valid;
  logic             operand_ready;
  logic [DataW-1:0] operand[2];

  for (genvar k = 0; k < 2; k++) begin : g_operands
    logic [31:0]       left_q;    // beats to ask for
    logic [AddrW-1:0]  addr_q;
    logic [CountW-1:0] room_q;    // beats that fit besides those asked for
    logic              granted, taken;

    assign rd_valid_o[k] = running_q && !halt_i && left_q != '0 && room_q >= CountW'(BurstBeats);
    assign rd_addr_o[k] = addr_q;
    assign rd_beats_o[k] = burst(left_q);
    assign granted = rd_valid_o[k] && rd_ready_i[k];
    assign taken = operand_valid[k] && operand_ready;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        room_q <= CountW'(Depth);
      end else begin
        room_q <= room_q + CountW'(taken) - (granted ? CountW'(rd_beats_o[k]) : '0);
      end
      if (start_i) begin
        left_q <= beats_i;
        addr_q <= k == 0 ? left_i : right_i;
      end else if (granted) begin
        left_q <= left_q - 32'(rd_beats_o[k]);
        addr_q <= addr_q + AddrW'(BurstBeats * DataW / 8);
      end
    end

    // Whether there is room was known before it was asked for.
    /* verilator lint_off PINCONNECTEMPTY */
    rf_fifo #(
        .Width(DataW),
        .Depth(Depth)
    ) u_fifo (
        .clk_i, .rst_ni, .valid_i(rsp_valid_i[k]), .ready_o(), .data_i(rsp_data_i), .valid_o(operand_valid[k]),
        .ready_i(operand_ready), .data_o(operand[k]), .count_o()
    );
    /* verilator lint_on PINCONNECTEMPTY */
  end

  // ---- Sums ----------------------------------------------------------------------------------------
  logic [WordBits-1:0] left[Lanes], right[Lanes], sum[Lanes];
  logic [DataW-1:0]    sums, oldest;
  logic                sums_ready, sums_valid, sending_q;
  logic [CountW-1:0]   stored;

  always_comb
    for (int unsigned i = 0; i < Lanes; i++) begin
      left[i] = operand[0][64*i+:WordBits];
      right[i] = operand[1][64*i+:WordBits];
      sums[64*i+:64] = 64'(sum[i]);
    end
  rf_mod_add #(
      .W(WordBits),
      .Lanes(Lanes)
  ) u_add (
      .a_i(left), .b_i(right), .q_i(modulus_i), .r_o(sum)
  );
  assign operand_ready = operand_valid == 2'b11 && sums_ready;

  rf_fifo #(
      .Width(DataW),
      .Depth(Depth)
  ) u_sums (
      .clk_i, .rst_ni, .valid_i(operand_valid == 2'b11), .ready_o(sums_ready), .data_i(sums), .valid_o(sums_valid),
      .ready_i(sending_q && data_ready_i), .data_o(oldest), .count_o(stored)
  );

  // ---- Results -------------------------------------------------------------------------------------
  logic [31:0]       unsent_q, unwritten_q;  // beats to ask for; to be acknowledged
  logic [AddrW-1:0]  addr_q;
  logic [BurstW-1:0] burst_q, sent_q;        // the burst that is being sent, or was last

  assign wr_valid_o = running_q && !halt_i && !sending_q && unsent_q != '0 && stored >= CountW'(burst(unsent_q));
  assign wr_addr_o = addr_q;
  assign wr_beats_o = burst(unsent_q);
  assign data_valid_o = sending_q && sums_valid;
  assign data_o = oldest;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sending_q <= 1'b0;
    end else if (wr_valid_o && wr_ready_i) begin
      sending_q <= 1'b1;
    end else if (data_valid_o && data_ready_i && sent_q == burst_q - 1'b1) begin
      sending_q <= 1'b0;
    end
    if (start_i) begin
      unsent_q <= beats_i;
      unwritten_q <= beats_i;
      addr_q <= result_i;
    end else begin
      if (wr_valid_o && wr_ready_i) begin
        unsent_q <= unsent_q - 32'(wr_beats_o);
        addr_q <= addr_q + AddrW'(BurstBeats * DataW / 8);
        burst_q <= wr_beats_o;
        sent_q <= '0;
      end else if (data_valid_o && data_ready_i) begin
        sent_q <= sent_q + 1'b1;
      end
      if (wr_done_i) unwritten_q <= unwritten_q - 32'(burst(unwritten_q));
    end
  end

  assign done_o = !bad_q && (!running_q || unwritten_q == '0);
  assign beats_o = running_q ? beats_i - unwritten_q : '0;

endmodule
