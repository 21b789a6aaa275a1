// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Registers as wires, to look at a feed-forward pipeline as one combinational function.

module \$dff #(parameter WIDTH = 1, parameter CLK_POLARITY = 1) (input CLK, input [WIDTH-1:0] D, output [WIDTH-1:0] Q);
  assign Q = D;
endmodule

module \$dffe #(
  parameter WIDTH = 1, parameter CLK_POLARITY = 1, parameter EN_POLARITY = 1
) (
  input CLK, input EN, input [WIDTH-1:0] D, output [WIDTH-1:0] Q
);
  assign Q = D;
endmodule
