// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// psi_pipe with beats of 512 bits as its bench writes them: eight words of 64 bits each.

module psi_pipe_bench #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned Intts = 4,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [3:0]   log_n_i,
  input  logic [3:0]   shift_i,
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  input  logic [4:0]   drain_i,
  input  logic [3:0]   lwe_log_i,
  input  logic [16:0]  gadget_i [3],
  input  logic [W+2:0] offset_i [3],
  input  logic         tw_we_i,
  input  logic [LogN-1:0] tw_addr_i,
  input  logic [W-1:0] tw_data_i,
  input  logic         load_valid_i,
  output logic         load_ready_o,
  input  logic [1:0]   load_unit_i,
  input  logic         load_loop_i,
  input  logic [1:0]   in_valid_i,
  output logic [1:0]   in_ready_o,
  input  logic [511:0] in_i [2],
  input  logic         send_valid_i,
  output logic         send_ready_o,
  input  logic [1:0]   send_unit_i,
  input  logic [1:0]   op_i,
  input  logic         to_loop_i,
  input  logic [11:0]  element_i,
  input  logic [9:0]   start_i,
  input  logic         key_valid_i,
  output logic         key_ready_o,
  input  logic [511:0] key_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output logic [511:0] out_o,
  output logic         out_loop_o,
  output logic         out_last_o,
  output logic [Intts-1:0] idle_o,
  output logic         busy_o
);
  psi_pkg::gadget_t gadget [3];
  psi_pkg::job_t    job;
  logic             in_valid [2], in_ready [2];
  logic [W-1:0]     in [2][8], key [8], out [8];

  assign job = '{op: psi_pkg::op_e'(op_i), to_loop: to_loop_i, element: element_i, start: start_i};
  assign in_ready_o = {in_ready[1], in_ready[0]};

  always_comb begin
    for (int unsigned g = 0; g < 3; g++) gadget[g] = gadget_i[g];
    for (int unsigned s = 0; s < 2; s++) begin
      in_valid[s] = in_valid_i[s];
      for (int unsigned w = 0; w < 8; w++) in[s][w] = W'(in_i[s] >> (64 * w));
    end
    for (int unsigned w = 0; w < 8; w++) begin
      key[w] = W'(key_i >> (64 * w));
      out_o[64*w+:64] = 64'(out[w]);
    end
  end

  psi_pipe #(.W(W), .LogN(LogN), .Intts(Intts), .Kind(Kind), .Word(Word), .Twin(Twin)) u_pipe (
    .clk_i, .rst_ni, .log_n_i, .shift_i, .q_i, .k_i, .drain_i, .lwe_log_i, .gadget_i(gadget), .offset_i,
    .tw_we_i, .tw_addr_i, .tw_data_i, .idle_o, .load_valid_i, .load_ready_o, .load_unit_i, .load_loop_i,
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_i(in), .send_valid_i, .send_ready_o, .send_unit_i,
    .send_job_i(job), .key_valid_i, .key_ready_o, .key_i(key), .out_valid_o, .out_ready_i, .out_o(out), .out_loop_o,
    .out_last_o, .busy_o
  );
endmodule
