// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Where the elements' programs start: program_i + e * stride_i for element e, both in units of 4 KiB.
//
// Function    e = 8 h + l: multiples 0 ... 7 of the stride, then multiple h times 8 plus multiple l, then the program;
//             one addition of each, so one a clock, and no multiplication.
// Latency     3 cycles from a change of either to program_o
// Throughput  a change a cycle
// Ranges      1 <= Elements <= 64; sums beyond AddrW bits wrap

module rf_shell_programs #(
    parameter int unsigned Elements = 14,
    parameter int unsigned AddrW = 48,
    parameter int unsigned StrideW = 16
) (
    input  logic               clk_i,
    input  logic [AddrW-1:12]  program_i,
    input  logic [StrideW-1:0] stride_i,
    output logic [AddrW-1:0]   program_o [Elements]
);

  localparam int unsigned PageW = AddrW - 12;
  localparam int unsigned FewW = StrideW + 3;   // a multiple up to 7
  localparam int unsigned OffsetW = StrideW + 6;

  if (Elements < 1 || Elements > 64) begin : g_bad_elements
    $error("Elements %0d is outside 1..64", Elements);
  end
  if (PageW < OffsetW) begin : g_bad_page_w
    $error("AddrW %0d is less than %0d, which the strides need", AddrW, OffsetW + 12);
  end

  logic [FewW-1:0]  one_q, three_q, five_q, seven_q;
  logic [FewW-1:0]  few [8];

  always_ff @(posedge clk_i) begin
    one_q <= FewW'(stride_i);
    three_q <= FewW'(stride_i) + (FewW'(stride_i) << 1);
    five_q <= FewW'(stride_i) + (FewW'(stride_i) << 2);
    seven_q <= (FewW'(stride_i) << 3) - FewW'(stride_i);
  end
  assign few = '{'0, one_q, one_q << 1, three_q, one_q << 2, five_q, three_q << 1, seven_q};

  for (genvar e = 0; e < Elements; e++) begin : g_elements
    logic [OffsetW-1:0] offset_q;
    logic [PageW-1:0]   page_q;

    always_ff @(posedge clk_i) begin
      offset_q <= (OffsetW'(few[e/8]) << 3) + OffsetW'(few[e%8]);
      page_q <= program_i + PageW'(offset_q);
    end
    assign program_o[e] = {page_q, 12'd0};
  end

endmodule
