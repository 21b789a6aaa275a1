// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Switch settings of rf_spn for one row of an automorphism X -> X^g in evaluation form.
//
// A row holds the exponents e = rho + 2*(N/Lanes)*k, k = 0 ... Lanes-1, lane number and k being each other's bit
// reversal. Row rho' of the result comes from one row rho, and within it k' from k = g*k' + offset mod Lanes, where
// g*rho' = rho + 2*(N/Lanes)*offset. Such a map passes a single network of log2(Lanes) stages (Lawrie 1975): taking
// bits of k from low to high, the switch at bit b and position k' exchanges iff bit b of g*(k' mod 2^b) + offset is
// set. Only adders are needed. Combinational.
module rf_spn_map #(
    parameter int unsigned Lanes = 16,
    localparam int unsigned LogLanes = $clog2(Lanes)
) (
    input  logic [LogLanes-1:0] g_i,                 // Galois element modulo Lanes, odd
    input  logic [LogLanes-1:0] offset_i,
    output logic [   Lanes-1:0] swap_o  [LogLanes]
);
  logic [LogLanes-1:0] image[Lanes];  // g*k + offset

  always_comb begin
    image[0] = offset_i;
    for (int unsigned k = 1; k < Lanes; k++) image[k] = image[k-1] + g_i;
    for (int unsigned b = 0; b < LogLanes; b++)
      for (int unsigned l = 0; l < Lanes; l++) begin
        // low = the b low bits of k, which are the b top bits of the lane number, reversed.
        automatic int unsigned low = 0;
        for (int unsigned i = 0; i < b; i++) if (l[LogLanes-1-i]) low = low | (1 << i);
        swap_o[b][l] = image[low][b];
      end
  end
endmodule
