// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Arithmetic lanes of one multiplier each, of which two form one butterfly by crossing their operands: half the
// butterflies a multiplier of rf_butterfly, but one array for transforms and for element-wise arithmetic (the modular
// ALUs of FAME, an accelerator for encrypted matrix products).
//
// Function, modulo q, with lanes e = 2i and o = 2i + 1, and lift(x) = x if lift_i is low:
//   0 AluMulAdd    r = c + lift(a) * b
//   1 AluForward   r[e] = a[e] + b[o] * a[o],    r[o] = a[e] - b[o] * a[o]
//   2 AluInverse   r[e] = (a[e] + a[o]) / 2,     r[o] = ((a[o] - a[e]) / 2) * b[o]
//   3 AluSubMul    r = (a - lift(c)) * b
// lift(x) takes a residue x modulo p to the residue modulo q of the same signed number, as rf_mod_lift does. In the
// butterflies lift_i and p_i have no effect, the even multiplier is idle, and c and b[e] are not used.
// All settings (mode_i, lift_i, shift_i, q_i, k_i, p_i) belong to the row that enters with them and move along with
// it: any row may have another mode and another modulus than the row before.
// Latency ButterflyLatency in all modes, throughput one result per lane and clock; en_i low holds the whole pipeline.
//
// Ranges: a, c, r < q_i, residues and moduli shifted left by shift_i (0 on Montgomery machines), but what is lifted is
// < p_i, and p and q have the same bit length; b is an operand b of rf_mod_mul, not shifted. Lanes is even.
//
// Stages: 1 first adder, 2 halving or the rest of a subtraction, then the multiplier, then the second adder. A lane
// needs both adders, since a row that enters and a row that leaves may want one in the same cycle.

module rf_alu #(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 2,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0
) (
  input  logic         clk_i,
  input  logic         en_i,
  input  logic [1:0]   mode_i,
  input  logic         lift_i,
  input  logic [2:0]   shift_i,
  input  logic [W-1:0] q_i,
  input  logic [63:0]  k_i,
  input  logic [W-1:0] p_i,
  input  logic [W-1:0] a_i [Lanes],
  input  logic [W-1:0] b_i [Lanes],
  input  logic [W-1:0] c_i [Lanes],
  output logic [W-1:0] r_o [Lanes]
);
  localparam int unsigned Pairs = Lanes / 2;

  if (Kind > rf_pkg::MulMontgomery || Lanes < 2 || Lanes % 2 != 0) begin : g_check
    $error("rf_alu: Kind must be MulBarrett or MulMontgomery, Lanes even");
  end

  if (Twin) begin : g_twin
    if (W < 4 || W > 62) begin : g_width
      $error("rf_alu: with Twin, W must be between 4 and 62");
    end

    // Everything at once, then a ring buffer as in rf_mul_twin.
    logic [W-1:0] ring_e [16][Pairs];
    logic [W-1:0] ring_o [16][Pairs];
    logic [3:0]   slot_q;
    logic [3:0]   last;
    logic [63:0]  q;
    logic [63:0]  k;
    logic [63:0]  limit;   // what exceeds it is lifted
    logic [63:0]  offset;  // by this much

    assign last = slot_q - 4'(rf_pkg::ButterflyLatency);
    assign q = 64'(q_i);
    assign k = rf_pkg::twin_constant(Kind, q, k_i);
    assign limit = 64'(p_i >> 1);
    assign offset = lift_i ? q - 64'(p_i) : '0;

    function automatic logic [63:0] multiply(logic [63:0] a, logic [63:0] b);
      return rf_pkg::twin_multiply(Kind, W, rf_pkg::MontgomeryWord, a, b, q, k);
    endfunction

    function automatic logic [63:0] lift(logic [63:0] x);
      return x + (offset & -64'(x > limit));
    endfunction

    function automatic void fill_mul_add(logic [3:0] slot);
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Pairs; i++) begin
        automatic logic [63:0] p_e = multiply(lift(64'(a_i[2*i])), 64'(b_i[2*i]));
        automatic logic [63:0] p_o = multiply(lift(64'(a_i[2*i+1])), 64'(b_i[2*i+1]));
        ring_e[slot][i] = W'(rf_pkg::twin_add(64'(c_i[2*i]), p_e, q));
        ring_o[slot][i] = W'(rf_pkg::twin_add(64'(c_i[2*i+1]), p_o, q));
      end
    endfunction

    function automatic void fill_forward(logic [3:0] slot);
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Pairs; i++) begin
        automatic logic [63:0] p = multiply(64'(a_i[2*i+1]), 64'(b_i[2*i+1]));
        ring_e[slot][i] = W'(rf_pkg::twin_add(64'(a_i[2*i]), p, q));
        ring_o[slot][i] = W'(rf_pkg::twin_sub(64'(a_i[2*i]), p, q));
      end
    endfunction

    function automatic void fill_inverse(logic [3:0] slot);
      /* verilator unroll_disable */
      for (int unsigned j = 0; j < Pairs; j++) begin
        automatic logic [63:0] sum = rf_pkg::twin_add(64'(a_i[2*j]), 64'(a_i[2*j+1]), q);
        automatic logic [63:0] difference = rf_pkg::twin_sub(64'(a_i[2*j+1]), 64'(a_i[2*j]), q);
        ring_e[slot][j] = W'(rf_pkg::twin_half(sum, q, 6'(shift_i)));
        ring_o[slot][j] = W'(multiply(rf_pkg::twin_half(difference, q, 6'(shift_i)), 64'(b_i[2*j+1])));
      end
    endfunction

    function automatic void fill_sub_mul(logic [3:0] slot);
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Pairs; i++) begin
        automatic logic [63:0] d_e = rf_pkg::twin_sub(64'(a_i[2*i]), lift(64'(c_i[2*i])), q);
        automatic logic [63:0] d_o = rf_pkg::twin_sub(64'(a_i[2*i+1]), lift(64'(c_i[2*i+1])), q);
        ring_e[slot][i] = W'(multiply(d_e, 64'(b_i[2*i])));
        ring_o[slot][i] = W'(multiply(d_o, 64'(b_i[2*i+1])));
      end
    endfunction

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        case (mode_i)
          rf_pkg::AluMulAdd: fill_mul_add(slot_q);
          rf_pkg::AluForward: fill_forward(slot_q);
          rf_pkg::AluInverse: fill_inverse(slot_q);
          default: fill_sub_mul(slot_q);
        endcase
        if (slot_q < 4'd15) slot_q <= slot_q + 4'd1;
        else slot_q <= '0;
      end
    end

    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Pairs; i++) begin
        r_o[2*i] = ring_e[last][i];
        r_o[2*i+1] = ring_o[last][i];
      end
    end
  end else begin : g_hardware
    localparam int unsigned Last = rf_pkg::ButterflyLatency - 1;  // clocks from a row's entry to the second adder

    // Settings, [d] of them d clocks after their row entered.
    logic [1:0]   mode_q [Last+1];
    logic [W-1:0] q_q [Last+1];
    logic [63:0]  k_q [3];
    logic [2:0]   shift_q;

    logic [W:0]   u_d [Lanes], u_q [Lanes];  // after the first adder: below q, or below 3q/2 if c was lifted
    logic [W-1:0] b1_q [Lanes], c1_q [Lanes];
    logic [W-1:0] a2_d [Lanes], a2_q [Lanes], b2_q [Lanes], c2_q [Lanes];
    logic [W-1:0] beside [Lanes];
    logic [W-1:0] product [Lanes];

    // [0] stands for the ports.
    assign mode_q[0] = mode_i;
    assign q_q[0] = q_i;
    assign k_q[0] = k_i;

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned d = 1; d <= Last; d++) begin
          mode_q[d] <= mode_q[d-1];
          q_q[d] <= q_q[d-1];
        end
        for (int unsigned d = 1; d < 3; d++) k_q[d] <= k_q[d-1];
        shift_q <= shift_i;
      end
    end

    // First adder. With lift, x > p/2 stands for x - p: a - p + q, or a - (c - p) = a - c + p, which is below 3q/2.
    function automatic logic [W:0] enter(
      logic [1:0] mode, logic even, logic lift, logic [W-1:0] a, logic [W-1:0] partner, logic [W-1:0] c,
      logic [W-1:0] p, logic [W-1:0] q
    );
      logic inverse = mode == rf_pkg::AluInverse;
      logic sub_mul = mode == rf_pkg::AluSubMul;
      logic add = inverse && even;
      logic negative = lift && (sub_mul ? c : a) > p >> 1;
      logic [W-1:0] y = inverse ? partner : sub_mul ? c : p;
      logic [W-1:0] z = sub_mul && negative ? p : q;
      // Bit W of the first result is the carry or the borrow.
      logic [W:0] first = add ? {1'b0, a} + {1'b0, y} : {1'b0, a} - {1'b0, y};
      logic [W:0] second = add ? first - {1'b0, z} : first + {1'b0, z};
      if (!inverse && !sub_mul) return negative && mode == rf_pkg::AluMulAdd ? second : {1'b0, a};
      return (add ? !second[W] : first[W] || (sub_mul && negative)) ? second : first;
    endfunction

    // Halves u, or subtracts q if u is not below it.
    function automatic logic [W-1:0] finish(logic [1:0] mode, logic [2:0] shift, logic [W:0] u, logic [W-1:0] q);
      logic sub_mul = mode == rf_pkg::AluSubMul;
      logic odd = 1'(u >> shift);
      logic [W:0] sum = u + (sub_mul ? ~{1'b0, q} : odd ? {1'b0, q} : (W+1)'(0)) + (W+1)'(sub_mul);
      if (mode == rf_pkg::AluInverse) return sum[W:1];
      return sub_mul && !sum[W] ? sum[W-1:0] : u[W-1:0];
    endfunction

    // a + b or a - b modulo q.
    function automatic logic [W-1:0] add_sub(logic [W-1:0] a, logic [W-1:0] b, logic [W-1:0] q, logic subtract);
      logic [W:0] first = subtract ? {1'b0, a} - {1'b0, b} : {1'b0, a} + {1'b0, b};
      logic [W:0] second = subtract ? first + {1'b0, q} : first - {1'b0, q};
      // Which one lies in [0, q): after a subtraction, the second one if the first is negative; after an addition, the
      // second one unless it is negative.
      return (subtract ? first[W] : !second[W]) ? second[W-1:0] : first[W-1:0];
    endfunction

    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned i = 0; i < Lanes; i++) begin
        u_d[i] = enter(mode_i, i % 2 == 0, lift_i, a_i[i], a_i[i^1], c_i[i], p_i, q_i);
        a2_d[i] = finish(mode_q[1], shift_q, u_q[i], q_q[1]);
      end
    end

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        u_q <= u_d;
        b1_q <= b_i;
        c1_q <= c_i;
        a2_q <= a2_d;
        b2_q <= b1_q;
        /* verilator unroll_disable */
        for (int unsigned i = 0; i < Pairs; i++) begin
          // What the even lane does not multiply passes beside the multiplier.
          c2_q[2*i] <= mode_q[1] == rf_pkg::AluForward || mode_q[1] == rf_pkg::AluInverse ? a2_d[2*i] : c1_q[2*i];
          c2_q[2*i+1] <= c1_q[2*i+1];
        end
      end
    end

    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Moving(1'b1)) u_mul (
      .clk_i, .en_i, .a_i(a2_q), .b_i(b2_q), .q_i(q_q[2]), .k_i(k_q[2]), .r_o(product)
    );
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(rf_pkg::MulLatency)) u_delay (.clk_i, .en_i, .x_i(c2_q), .x_o(beside));

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        /* verilator unroll_disable */
        for (int unsigned i = 0; i < Pairs; i++) begin
          automatic logic forward = mode_q[Last] == rf_pkg::AluForward;
          automatic logic [W-1:0] p_e = forward ? product[2*i+1] : product[2*i];
          automatic logic [W-1:0] c_o = forward ? beside[2*i] : beside[2*i+1];
          automatic logic [W-1:0] sum_e = add_sub(beside[2*i], p_e, q_q[Last], 1'b0);
          automatic logic [W-1:0] sum_o = add_sub(c_o, product[2*i+1], q_q[Last], forward);
          case (mode_q[Last])
            rf_pkg::AluInverse: r_o[2*i] <= beside[2*i];
            rf_pkg::AluSubMul: r_o[2*i] <= product[2*i];
            default: r_o[2*i] <= sum_e;
          endcase
          r_o[2*i+1] <= mode_q[Last][1] ? product[2*i+1] : sum_o;
        end
      end
    end
  end
endmodule
