// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// MAC unit of a processing element: element-wise arithmetic on whole polynomials.
//
// Function: dst = (a or a - c) * B (or + c), row by row, B a constant, a slot, or the stream. Reads the three slots
//   in the same cycle (they are in different banks) and writes each row MacLatency + 2 cycles later; dst may be one
//   of the sources. A streamed operand that is not there delays the row.
// Interface: start_i with all settings held until done_o.
// Cycles from start to done: N/Lanes + MacLatency + BankLatency + 2, plus waits for the stream.
module vector_mac
  import rf_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned RowBits = 11,
    parameter int unsigned Kind = MulBarrett,
    parameter bit Twin = 1'b0
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               start_i,
    input  logic [  RowBits:0] rows_i,
    input  logic [        1:0] b_from_i,
    input  logic               pre_sub_i,
    input  logic               post_add_i,
    input  logic [        2:0] shift_i,
    input  logic [      W-1:0] imm_i,
    input  logic [      W-1:0] q_i,
    input  logic [       63:0] k_i,
    output logic               done_o,
    output logic               rd_en_o,
    output logic [RowBits-1:0] rd_row_o,
    input  logic [      W-1:0] a_i       [Lanes],
    input  logic [      W-1:0] b_i       [Lanes],
    input  logic [      W-1:0] c_i       [Lanes],
    input  logic               stream_valid_i,
    output logic               stream_ready_o,
    input  logic [      W-1:0] stream_i  [Lanes],
    output logic               wr_en_o,
    output logic [RowBits-1:0] wr_row_o,
    output logic [      W-1:0] wr_data_o [Lanes]
);
  localparam int unsigned WriteAt = BankLatency + MacLatency;
  localparam logic [1:0] FromStream = 2'd1;
  localparam logic [1:0] FromSlot = 2'd2;

  logic busy_q, reading_q;
  logic [RowBits:0] rd_q, wr_q;
  logic [WriteAt:1] valid_q;
  logic [W-1:0] stream_q[BankLatency][Lanes];
  logic [W-1:0] b[Lanes];

  assign rd_en_o = reading_q && (b_from_i != FromStream || stream_valid_i);
  assign stream_ready_o = reading_q && b_from_i == FromStream;
  assign rd_row_o = rd_q[RowBits-1:0];
  assign wr_en_o = valid_q[WriteAt];
  assign wr_row_o = wr_q[RowBits-1:0];

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (!rst_ni) begin
      busy_q <= 1'b0;
      reading_q <= 1'b0;
      valid_q <= '0;
    end else begin
      valid_q <= {valid_q[WriteAt-1:1], rd_en_o};
      if (start_i) begin
        busy_q <= 1'b1;
        reading_q <= 1'b1;
        rd_q <= '0;
        wr_q <= '0;
      end
      if (rd_en_o) begin
        rd_q <= rd_q + 1;
        if (rd_q + 1 == rows_i) reading_q <= 1'b0;
      end
      if (wr_en_o) begin
        wr_q <= wr_q + 1;
        if (wr_q + 1 == rows_i) begin
          busy_q <= 1'b0;
          done_o <= 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (b_from_i == FromStream) begin
      stream_q[0] <= stream_i;
      stream_q[1] <= stream_q[0];
    end
  end
  always_comb
    for (int unsigned l = 0; l < Lanes; l++)
      b[l] = b_from_i == FromStream ? stream_q[BankLatency-1][l] : b_from_i == FromSlot ? b_i[l] >> shift_i : imm_i;

  rf_mac #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin)) u_mac (
      .clk_i, .en_i(busy_q), .pre_sub_i, .post_add_i, .q_i, .k_i, .a_i, .b_i(b), .c_i, .r_o(wr_data_o)
  );
endmodule
