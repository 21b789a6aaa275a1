// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Switch settings of rf_spn for one row of a transform stage: the two words of every butterfly come to lanes
// (j, j + Lanes/2). The setting is an involution: the same one on a second network restores the order.
//
// Stride t of the stage, in coefficients, is 2^log_stride_i:
//   t >= Lanes   the words are in two rows, read one after the other: half-rotate the second row, exchange upper
//                halves in time, half-rotate the second result;
//   t < Lanes    the words are in one row, lanes differing in bit a = log2 t: exchange lane bits a and top, by
//                three conditional exchanges, top-a-top (nothing to do for a = top).
// Combinational. Ranges: Lanes a power of two, at least 2.
module rf_spn_stage #(
  parameter int unsigned Lanes = 16,
  localparam int unsigned LogLanes = $clog2(Lanes)
) (
  input  logic [4:0]       log_stride_i,
  input  logic             odd_i,                   // second row of a pair
  output logic [Lanes-1:0] swap_in_o    [LogLanes],
  output logic             pair_o,
  output logic [Lanes-1:0] swap_out_o   [LogLanes]
);
  localparam int unsigned Top = LogLanes - 1;

  if (Lanes < 2 || Lanes != 2 ** LogLanes) begin : g_check
    $error("rf_spn_stage: Lanes must be a power of two, at least 2");
  end

  always_comb begin
    for (int unsigned s = 0; s < LogLanes; s++) begin
      swap_in_o[s]  = '0;
      swap_out_o[s] = '0;
    end
    pair_o = log_stride_i >= 5'(LogLanes);
    if (pair_o) begin
      swap_in_o[0]    = {Lanes{odd_i}};
      swap_out_o[Top] = {Lanes{odd_i}};
    end else begin
      for (int unsigned a = 0; a < Top; a++) begin
        if (log_stride_i == 5'(a)) begin
          for (int unsigned l = 0; l < Lanes; l++) begin
            swap_in_o[0][l]     = l[a];
            swap_in_o[Top-a][l] = l[Top];
            swap_out_o[Top][l]  = l[a];
          end
        end
      end
    end
  end
endmodule
