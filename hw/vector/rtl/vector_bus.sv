// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inter-element bus of a group: one element broadcasts a polynomial, one row per cycle, to a set of others.
//
// Function: a transfer starts when an element asks to send (send_i) and every element in its mask waits for it
//   (recv_i with recv_src_i); the lowest sender goes first. go_o tells the sender to start; its rows come without a
//   stop and reach the receivers two cycles later. The next transfer starts after the last row.
module vector_bus #(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Pes = 7,
    parameter int unsigned RowBits = 11,
    localparam int unsigned PeBits = Pes > 1 ? $clog2(Pes) : 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [RowBits:0] rows_i,
    input  logic [  Pes-1:0] send_i,
    input  logic [     31:0] mask_i     [Pes],
    output logic [  Pes-1:0] go_o,
    input  logic [  Pes-1:0] recv_i,
    input  logic [      6:0] recv_src_i [Pes],
    input  logic [  Pes-1:0] row_valid_i,
    input  logic [    W-1:0] row_i      [Pes][Lanes],
    output logic [  Pes-1:0] valid_o,
    output logic [    W-1:0] row_o      [Lanes]
);
  logic active_q, found;
  logic [PeBits-1:0] sender_q, candidate;
  logic [Pes-1:0] mask_q, waiting;
  logic [RowBits:0] left_q;

  always_comb begin
    found = 1'b0;
    candidate = '0;
    waiting = '0;
    for (int i = int'(Pes) - 1; i >= 0; i--) begin
      for (int unsigned j = 0; j < Pes; j++) waiting[j] = recv_i[j] && 32'(recv_src_i[j]) == 32'(i);
      if (send_i[i] && (mask_i[i][Pes-1:0] & ~waiting) == 0) begin
        found = 1'b1;
        candidate = PeBits'(i);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    go_o <= '0;
    valid_o <= '0;
    if (!rst_ni) begin
      active_q <= 1'b0;
    end else if (!active_q) begin
      if (found) begin
        active_q <= 1'b1;
        sender_q <= candidate;
        mask_q <= mask_i[candidate][Pes-1:0];
        left_q <= rows_i;
        go_o[candidate] <= 1'b1;
      end
    end else begin
      if (row_valid_i[sender_q]) begin
        valid_o <= mask_q;
        left_q <= left_q - 1;
        active_q <= left_q != 1;
      end
    end
  end
  always_ff @(posedge clk_i) if (active_q) row_o <= row_i[sender_q];
endmodule
