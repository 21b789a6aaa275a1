// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// mul_bench for one kind of multiplier at several widths and tilings side by side.

module mul_widths #(
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Products = 50_000
) (
  input  logic clk_i,
  output logic done_o
);
  localparam int unsigned Count = 7;
  localparam int unsigned Widths [Count] = '{27, 32, 37, 50, 60, 62, 64};

  logic [Count-1:0] done;
  logic             all_done;

  for (genvar i = 0; i < int'(Count); i++) begin : g_width
    mul_bench #(.W(Widths[i]), .Lanes(1), .Kind(Kind), .ShortInLuts(1'b1), .Products(Products)) u_bench (
      .clk_i, .done_o(done[i])
    );
  end

  // All operands and moduli of a small width, cut into as many tiles and words as the full one.
  if (Kind == rf_pkg::MulBarrett) begin : g_all_barrett
    mul_bench #(.W(7), .Lanes(16), .Kind(Kind), .All(1'b1), .TileA(4), .TileB(2), .LutBits(1)) u_bench (
      .clk_i, .done_o(all_done)
    );
  end else begin : g_all_montgomery
    mul_bench #(.W(7), .Lanes(16), .Kind(Kind), .All(1'b1), .Word(3), .TileA(3), .TileB(2), .LutBits(1)) u_bench (
      .clk_i, .done_o(all_done)
    );
  end

  assign done_o = all_done && (&done);
endmodule
