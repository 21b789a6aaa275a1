// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Both streaming transforms with tables and operands of their own, so that one build tests them.
module stream_bench #(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 4,
  parameter int unsigned MaxLogN = 6,
  parameter bit          Twin = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [1:0]         en_i,
  input  logic               short_i,
  input  logic [2:0]         shift_i,
  input  logic [W-1:0]       q_i,
  input  logic [63:0]        k_i,
  input  logic [1:0]         tw_we_i,
  input  logic [MaxLogN-1:0] tw_addr_i,
  input  logic [W-1:0]       tw_data_i,
  input  logic [1:0]         start_i,
  input  logic [W-1:0]       forward_i [Lanes],
  input  logic [W-1:0]       inverse_i [Lanes],
  output logic [1:0]         start_o,
  output logic [W-1:0]       forward_o [Lanes],
  output logic [W-1:0]       inverse_o [Lanes]
);
  psi_stream_ntt #(.W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Twin(Twin)) u_forward (
    .clk_i, .rst_ni, .en_i(en_i[0]), .short_i, .shift_i, .q_i, .k_i, .tw_we_i(tw_we_i[0]), .tw_addr_i, .tw_data_i,
    .start_i(start_i[0]), .x_i(forward_i), .start_o(start_o[0]), .y_o(forward_o)
  );
  psi_stream_intt #(.W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Twin(Twin)) u_inverse (
    .clk_i, .rst_ni, .en_i(en_i[1]), .short_i, .shift_i, .q_i, .k_i, .tw_we_i(tw_we_i[1]), .tw_addr_i, .tw_data_i,
    .start_i(start_i[1]), .x_i(inverse_i), .start_o(start_o[1]), .y_o(inverse_o)
  );
endmodule
