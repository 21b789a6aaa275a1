// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_root_map, for every length, level and step.

module aes_root_map_formal #(
  parameter int unsigned Banks = 64,
  parameter int unsigned Starts = 64,
  parameter int unsigned MaxLogN = 16,
  localparam int unsigned BankW = $clog2(Banks),
  localparam int unsigned PowerW = MaxLogN - 1,
  localparam int unsigned RowW = PowerW - BankW
) (
  input logic [4:0]        log_n_i,
  input logic [4:0]        level_i,
  input logic [PowerW-1:0] first_i,
  input logic [RowW-1:0]   row_o [Banks],
  input logic [BankW-1:0]  mask_o,
  input logic [2:0]        rotate_o,
  input logic [2:0]        bits_o
);
  // The bank in which a power is stored.
  function automatic logic [BankW-1:0] fold(logic [PowerW-1:0] power);
    fold = '0;
    for (int unsigned p = 0; p < PowerW; p++) fold[p%BankW] = fold[p%BankW] ^ power[p];
  endfunction

  // Steps begin at a multiple of the words that they have: Starts, or half of them.
  logic half;
  assign half = 1'(first_i >> ($clog2(Starts) - 1));

  always_comb begin
    assume (level_i >= 5'd2 && level_i <= log_n_i && 32'(log_n_i) <= MaxLogN);
    assume (32'(first_i) % (Starts / 2) == 0);
    assume (32'(first_i) < (32'd1 << (log_n_i - 5'd1)));
  end

  // s is any word of the step: a register that nothing sets begins with any value. It needs a clock, and an input that is
  // one is held at one level; this bit is always 0.
  logic [BankW-1:0]  s, lane, bank;
  always_ff @(posedge first_i[0]) s <= s + BankW'(1);

  logic [PowerW-1:0] power;
  logic              takes_part;

  always_comb begin
    takes_part = 32'(s) < (half ? Starts / 2 : Starts);
    power = PowerW'(((32'(first_i) + 32'(s)) & ((32'd1 << (level_i - 5'd1)) - 1)) << (log_n_i - level_i));
    lane = s & BankW'((32'd1 << bits_o) - 1);
    bank = BankW'((32'(lane) << rotate_o) | (32'(lane) >> (BankW - 32'(rotate_o)))) ^ mask_o;
  end

  always_comb begin
    // the bank that a lane looks at gives the row of its power: no bank is asked for two rows
    p_found: assert (!takes_part || row_o[bank] == power[PowerW-1:BankW]);
    // that bank is the one in which the power was stored
    p_stored: assert (!takes_part || fold(power) == bank);
    // the network has the rotation and the repetition that are asked for
    p_network: assert (32'(rotate_o) < BankW && 32'(bits_o) <= $clog2(Starts));
  end
endmodule

bind aes_root_map aes_root_map_formal #(.Banks(Banks), .Starts(Starts), .MaxLogN(MaxLogN)) u_formal (.*);
