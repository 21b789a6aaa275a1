// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Resets of both clocks of a kernel from the one of its first clock.
//
// Function    rst_no and core_rst_no go low after rst_ni does, and stay low together for so long that FIFOs between the
//             clocks begin anew on both sides, however short rst_ni was.
// Latency     low: 2 cycles, and 2 of the core's clock more for the core; high: Hold cycles after rst_ni
// Ranges      the core's clock is at least 8 / Hold of clk_i; Hold a power of two

module rf_card_reset #(
    parameter int unsigned Hold = 128
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic rst_no,
    input  logic core_clk_i,
    output logic core_rst_no
);

  localparam int unsigned CountW = $clog2(Hold);

  if (Hold < 8 || Hold != 1 << CountW) begin : g_bad_hold
    $error("Hold %0d is no power of two from 8 on", Hold);
  end

  logic              rst_nq, high_q;
  logic [CountW-1:0] count_q;

  always_ff @(posedge clk_i) begin
    rst_nq <= rst_ni;
    if (!rst_nq) begin
      count_q <= '0;
      high_q <= 1'b0;
    end else begin
      count_q <= count_q + 1'b1;
      if (count_q == '1) high_q <= 1'b1;
    end
  end

  assign rst_no = high_q;

  rf_sync u_core (
      .clk_i(core_clk_i),
      .d_i(high_q),
      .q_o(core_rst_no)
  );

endmodule
