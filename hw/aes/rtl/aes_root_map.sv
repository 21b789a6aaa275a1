// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Where powers of the root lie that a step of the published engine multiplies by. Combinational.
//
// Power e is in bank fold(e), the exclusive or of all pieces of log2(Banks) bits of e, at row e div Banks. The powers of
// a step differ in at most log2(Banks) bits of e that lie side by side: fold takes these to different bits of the bank,
// so that no two powers share a bank, whatever the stride.
//
// Word s of a step takes power e = ((first + s) mod 2^(level-1)) * 2^(log_n - level): bank rotate(s, rotate_o) ^ mask_o,
// where s keeps its low bits_o bits and is rotated to the left within log2(Banks) bits. row_o[b] is the row in bank b,
// of the power that lies there; other banks are not looked at.
// Ranges: 2 <= level <= log_n <= MaxLogN; low log2(Starts) bits of first are 0, but the top one of them where the step
// has only half as many words; Banks >= Starts, Starts >= 4, powers of two.

module aes_root_map #(
    parameter int unsigned Banks = 64,
    parameter int unsigned Starts = 64,
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned BankW = $clog2(Banks),
    localparam int unsigned PowerW = MaxLogN - 1,
    localparam int unsigned RowW = PowerW - BankW
) (
    input  logic [4:0]         log_n_i,
    input  logic [4:0]         level_i,
    input  logic [PowerW-1:0]  first_i,
    output logic [RowW-1:0]    row_o [Banks],
    output logic [BankW-1:0]   mask_o,
    output logic [2:0]         rotate_o,
    output logic [2:0]         bits_o
);
  localparam int unsigned LogStarts = $clog2(Starts);

  if (BankW > 6 || LogStarts > BankW || LogStarts < 2 || PowerW <= BankW) begin : g_check
    $error("aes_root_map: at most 64 banks, 4 to Banks starts, and more powers than banks");
  end

  logic [4:0]        shift;
  logic [PowerW-1:0] common, varies;

  assign shift = log_n_i - level_i;
  assign common = (first_i & PowerW'((32'd1 << (level_i - 5'd1)) - 32'd1)) << shift;
  assign bits_o = level_i > 5'(LogStarts) ? 3'(LogStarts) : 3'(level_i - 5'd1);
  assign varies = PowerW'((32'd1 << bits_o) - 32'd1) << shift;

  always_comb begin
    mask_o = '0;
    for (int unsigned p = 0; p < PowerW; p++) mask_o[p%BankW] = mask_o[p%BankW] ^ common[p];
    rotate_o = '0;
    for (int unsigned d = 0; d < 16; d++) if (32'(shift) == d) rotate_o = 3'(d % BankW);
    for (int unsigned b = 0; b < Banks; b++) begin
      for (int unsigned p = BankW; p < PowerW; p++) begin
        row_o[b][p-BankW] = common[p] ^ (varies[p] && (1'(b >> (p % BankW)) ^ mask_o[p%BankW]));
      end
    end
  end
endmodule
