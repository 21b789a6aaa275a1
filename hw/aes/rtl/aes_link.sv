// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The rate of a host's link on one direction of data: after Burst beats it rests for Gap cycles.
//
// Function    A link sends packets; a header is time in which no data move. Beats pass through unregistered; when Burst of
//             them have passed, none does for Gap cycles. Requests and acknowledgements do not come through here, and the
//             link's latency is memory's.
// Latency     0
// Throughput  Burst beats in Burst + Gap cycles; Gap = 0: one a cycle
// Ranges      valid_o is never withdrawn: a rest begins with the beat that was taken.

module aes_link #(
    parameter int unsigned Burst = 8,
    parameter int unsigned Gap = 1
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic valid_i,
    output logic ready_o,
    output logic valid_o,
    input  logic ready_i
);
  if (Burst < 1 || Burst > 128 || Gap > 15) begin : g_check
    $error("aes_link: rests of %0d cycles after %0d beats are not for it", Gap, Burst);
  end

  if (Gap == 0) begin : g_open
    assign valid_o = valid_i;
    assign ready_o = ready_i;
    logic unused;
    assign unused = ^{clk_i, rst_ni};
  end else begin : g_rests
    logic [7:0] left_q;   // beats up to the next rest
    logic [3:0] rest_q;   // cycles of one

    assign valid_o = valid_i && rest_q == '0;
    assign ready_o = ready_i && rest_q == '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        left_q <= 8'(Burst);
        rest_q <= '0;
      end else if (rest_q != '0) begin
        rest_q <= rest_q - 1'b1;
      end else if (valid_i && ready_i) begin
        left_q <= left_q == 8'd1 ? 8'(Burst) : left_q - 1'b1;
        if (left_q == 8'd1) rest_q <= 4'(Gap);
      end
    end
  end
endmodule
