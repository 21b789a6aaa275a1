// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Register slice for a valid/ready stream that cuts both directions: every output comes from a register.
//
// Latency     1 cycle
// Throughput  one word per cycle
// Ranges      none; holds up to two words

module rf_skid #(
    parameter int unsigned Width = 32
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);

  if (Width < 1) begin : g_bad_width
    $error("no bits");
  end

  logic             valid_q, spare_valid_q;
  logic [Width-1:0] data_q, spare_q;
  logic             load;

  assign load = !valid_q || ready_i;
  assign ready_o = !spare_valid_q;
  assign valid_o = valid_q;
  assign data_o = data_q;

  // The spare register takes the word that arrives in the cycle in which the output first stalls.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (load) begin
      valid_q <= valid_i || spare_valid_q;
      spare_valid_q <= 1'b0;
    end else if (valid_i) begin
      spare_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load) data_q <= spare_valid_q ? spare_q : data_i;
    if (ready_o) spare_q <= data_i;
  end

endmodule
