// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// aes_mul33 and aes_barrett beside plain products and remainders, on random and extreme operands, one in 4 cycles or, now
// and then, later, at the promised latency, until `Products` are compared. Between, operands are rubbish.

module paper_mul_bench #(
  parameter int unsigned Products = 1
) (
  input  logic clk_i,
  output logic done_o
);
  localparam int unsigned MulLatency = 6;
  localparam int unsigned Latency = 20;
  // Products with one modulus; the pipeline is empty when it changes.
  localparam int unsigned Epoch = 500;

  logic        start;
  logic [32:0] a, b, mu;
  logic [31:0] q, r;
  logic [65:0] p;
  int unsigned count, clock, turn, gap;

  // What is due in a cycle, by the cycle.
  logic        p_due [64], r_due [64];
  logic [65:0] p_wanted [64];
  logic [31:0] r_wanted [64], r_last;
  int unsigned held;

  aes_mul33 u_mul (.clk_i, .start_i(start), .a_i(a), .b_i(b), .p_o(p));
  aes_barrett u_barrett (.clk_i, .start_i(start), .a_i(a[31:0]), .b_i(b[31:0]), .q_i(q), .mu_i(mu), .r_o(r));

  // By turns just above 2^30, just below 2^31, random: odd, which is all that the method asks for beside the range.
  function automatic logic [31:0] modulus(int unsigned by);
    logic [31:0] x = {2'b01, 30'($urandom)};
    if (by % 3 == 0) x = {2'b01, 26'd0, 4'($urandom)};
    if (by % 3 == 1) x = {2'b01, 26'h3ffffff, 4'($urandom)};
    return x | 32'd1;
  endfunction

  // Below q (or below 2^33, for the product alone): extremes, and numbers whose halves are.
  function automatic logic [32:0] operand(logic [32:0] top);
    logic [32:0] x = {1'($urandom), $urandom};
    case ($urandom % 8)
      0: x = '0;
      1: x = top;
      2: x = top - 33'd1;
      3: x = 33'h1ffff;
      4: x = 33'h20000;
      5: x = top >> ($urandom % 33);
      default: ;
    endcase
    return x > top ? x % (top + 33'd1) : x;
  endfunction

  initial begin
    {count, clock, turn, gap, held} = '0;
    {done_o, start} = '0;
    q = modulus(0);
    mu = 33'((64'd1 << 62) / 64'(q));
    for (int i = 0; i < 64; i++) {p_due[i], r_due[i]} = '0;
  end

  always @(negedge clk_i) begin
    /* verilator lint_off BLKSEQ */
    if (p_due[clock%64] && p != p_wanted[clock%64]) $fatal(1, "product %h, not %h", p, p_wanted[clock%64]);
    held = r_due[clock%64] ? 4 : held == 0 ? 0 : held - 1;
    if (r_due[clock%64]) r_last = r_wanted[clock%64];
    if (held != 0 && r != r_last) $fatal(1, "q %h: remainder %h, not %h", q, r, r_last);
    count = count + 32'(r_due[clock%64]);
    {p_due[clock%64], r_due[clock%64]} = '0;
    done_o = done_o || count >= Products;
    // The next cycle.
    clock = clock + 1;
    start = gap == 0 && turn < Epoch;
    gap = gap == 0 ? ($urandom % 16 == 0 ? $urandom % 9 + 3 : 3) : gap - 1;
    a = {1'($urandom), $urandom};
    b = {1'($urandom), $urandom};
    if (start) begin
      // By turns residues, and numbers of 33 bits, whose remainder is not looked at.
      automatic logic [32:0] top = turn < Epoch / 2 ? 33'(q) - 33'd1 : '1;
      a = operand(top);
      b = operand(top);
      turn = turn + 1;
      p_due[(clock+MulLatency-1)%64] = 1'b1;
      p_wanted[(clock+MulLatency-1)%64] = 66'(a) * 66'(b);
      r_due[(clock+Latency-1)%64] = turn <= Epoch / 2;
      r_wanted[(clock+Latency-1)%64] = 32'(66'(a) * 66'(b) % 66'(q));
    end
    if (turn == Epoch && gap == 0) begin
      turn = Epoch + 1;
      gap = 2 * Latency;
    end else if (turn > Epoch && gap == 0) begin
      turn = 0;
      q = modulus($urandom);
      mu = 33'((64'd1 << 62) / 64'(q));
    end
    /* verilator lint_on BLKSEQ */
  end
endmodule
