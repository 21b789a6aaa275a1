// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Switch settings of rf_spn for one row of an automorphism X -> X^g in evaluation form.
//
// Function: a row holds the exponents e = rho + 2*(N/Lanes)*k, k = 0 ... Lanes-1, lane number and k being each other's
//   bit reversal. Row rho' of the result comes from one row rho, and within it k' from k = g*k' + offset mod Lanes,
//   where g*rho' = rho + 2*(N/Lanes)*offset. Such a map passes a single network of log2(Lanes) stages (Lawrie 1975):
//   taking bits of k from low to high, the switch at bit b and position k' exchanges iff bit b of
//   g*(k' mod 2^b) + offset is set. Only adders are needed: the images of 2^b ... 2^(b+1)-1 are those of 0 ... 2^b-1
//   plus g*2^b, so that log2(Lanes) - 1 additions follow each other.
// Latency: 0 (Register = 0) or 1, with a register behind the additions of half of the bits. Throughput: one row per
//   cycle while en_i.
// Ranges: Lanes a power of two, at least 2; g odd. With Register, g_i does not change while rows are in flight.
module rf_spn_map #(
  parameter int unsigned Lanes = 16,
  parameter bit          Register = 1'b0,
  localparam int unsigned LogLanes = $clog2(Lanes)
) (
  input  logic                clk_i,
  input  logic                en_i,
  input  logic [LogLanes-1:0] g_i,                 // Galois element modulo Lanes
  input  logic [LogLanes-1:0] offset_i,
  output logic [Lanes-1:0]    swap_o   [LogLanes]
);
  if (Lanes < 2 || Lanes != 2 ** LogLanes) begin : g_check
    $error("rf_spn_map: Lanes must be a power of two, at least 2");
  end

  // Images of k = 0 ... 2^Split-1, and of all k.
  localparam int unsigned Split = LogLanes / 2;
  logic [LogLanes-1:0] low_d [2**Split];
  logic [LogLanes-1:0] low [2**Split];
  logic [LogLanes-1:0] image [Lanes];

  always_comb begin
    low_d[0] = offset_i;
    for (int unsigned b = 0; b < Split; b++)
      for (int unsigned k = 0; k < 1 << b; k++) low_d[(1 << b) + k] = low_d[k] + LogLanes'(g_i << b);
  end

  if (Register) begin : g_register
    always_ff @(posedge clk_i) if (en_i) low <= low_d;
  end else begin : g_direct
    assign low = low_d;
    logic unused;
    assign unused = clk_i ^ en_i;
  end

  always_comb begin
    for (int unsigned k = 0; k < 1 << Split; k++) image[k] = low[k];
    for (int unsigned b = Split; b < LogLanes; b++)
      for (int unsigned k = 0; k < 1 << b; k++) image[(1 << b) + k] = image[k] + LogLanes'(g_i << b);
    for (int unsigned b = 0; b < LogLanes; b++)
      for (int unsigned l = 0; l < Lanes; l++) begin
        // The b low bits of k, which are the b top bits of the lane number, reversed.
        automatic int unsigned part = 0;
        for (int unsigned i = 0; i < b; i++) if (l[LogLanes-1-i]) part = part | (1 << i);
        swap_o[b][l] = image[part][b];
      end
  end
endmodule
