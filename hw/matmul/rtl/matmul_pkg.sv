// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Sizes that the modules of the matmul accelerator have in common.
package matmul_pkg;
  localparam int unsigned PortW = 512;     // bits of a port's beat
  localparam int unsigned LinesW = 9;      // lines of a polynomial, 256 at most
  localparam int unsigned FarLinesW = 14;  // the same in beats of a port to the far memory, 32 to a line at most
  localparam int unsigned CopyQueue = 8;   // copies under way

  // Lines of `rows` rows of words of `bits` bits; a line has 64 bits for each lane.
  function automatic logic [LinesW-1:0] lines_of(int unsigned bits, logic [LinesW-1:0] rows);
    logic [LinesW+6:0] sum = 63;
    for (int unsigned i = 0; i < 6; i++) if (((bits >> i) & 1) != 0) sum = sum + ((LinesW + 7)'(rows) << i);
    return LinesW'(sum >> 6);
  endfunction
endpackage
