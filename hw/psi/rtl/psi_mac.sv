// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Multiplies transformed digits by rows of a key and sums, in Eval form: the end of an external product or of a
// substitution.
//
// Function: product       (a, b) = sum_r digit_r * (row_r.a, row_r.b)
//           substitution  (a, b) = (0, b') - sum_r digit_r * (row_r.a, row_r.b); b' passes without a row
// Latency     BankLatency + MulLatency + 1 cycles from words and key to the memory of the sums
// Throughput  one polynomial in N/4 cycles while key words come; one RLWE out in N/4 cycles
// Ranges      digits below q_i, shifted; key words (four of a, four of b) any W bits, not shifted, operands b of
//             rf_mod_mul (with the factor of a Montgomery multiplier if it is one); results leave unshifted.
//             N as psi_stage
//
// Sums of two RLWEs are held: one is made while the other goes out. The first polynomial of an operation needs a free
// place. Keys are taken one word group with each group of a polynomial, rows in the order of polynomials.
// out_last_o comes with the last words of an RLWE, out_loop_o with all of them.

module psi_mac #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0,
  localparam int unsigned MetaW = 5
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                long_i,
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic [63:0]                         k_i,
  // The transform's buffer.
  input  logic                                up_avail_i,
  input  logic [MetaW-1:0]                    up_meta_i,
  output logic                                up_start_o,
  output logic                                up_re_o,
  output logic [LogN-2:0]                     up_line_o [2],
  output logic                                up_done_o,
  input  logic [W-1:0]                        up_x_i [4],
  // Key rows.
  input  logic                                key_valid_i,
  output logic                                key_ready_o,
  input  logic [W-1:0]                        key_i [8],
  // Results.
  output logic                                out_valid_o,
  input  logic                                out_ready_i,
  output logic [W-1:0]                        out_o [8],
  output logic                                out_loop_o,
  output logic                                out_last_o,
  output logic                                busy_o
);
  if (LogN < 8 || LogN > 15) begin : g_check
    $error("psi_mac: LogN must be between 8 and 15");
  end

  localparam int unsigned GroupW = LogN - 2;
  localparam int unsigned Product = rf_pkg::BankLatency + rf_pkg::MulLatency;  // from a read to its product
  // Places in the pipeline: where the sum's old words are fetched, and where the product is added to them.
  localparam int unsigned Sum = Product - 1;
  localparam int unsigned Fetch = Sum - rf_pkg::BankLatency;
  localparam int unsigned Credits = 4;  // groups that have left the memory and are not taken

  typedef struct packed {
    logic to_loop;
    logic substitution;
    logic pass;
    logic first;
    logic last;
  } meta_t;

  typedef struct packed {
    logic              slot;
    logic              substitution;
    logic              pass;
    logic              first;
    logic              end_of;  // the last group of an operation
    logic [GroupW-1:0] group;
  } access_t;

  logic [GroupW-1:0] group_last;
  meta_t             up_meta;
  logic              substitution_q, pass_q, first_q, last_q;  // of the polynomial that is read
  logic              work_q;       // a polynomial is read
  logic [GroupW-1:0] group_q;
  logic              slot_q;       // place of its sum
  logic              next_slot_q;  // place of the next operation's
  logic [1:0]        used_q;       // places taken
  logic              issue;
  access_t           access;
  access_t           pipe_q [Product+1];
  logic [Product:0]  valid_q;      // accesses in it

  assign group_last = long_i ? '1 : {1'b0, {(GroupW - 1){1'b1}}};
  assign up_meta = up_meta_i;
  assign issue = work_q && (pass_q || key_valid_i);
  assign key_ready_o = work_q && !pass_q;
  assign up_re_o = issue;
  assign up_done_o = issue && group_q == group_last;
  assign up_start_o = up_avail_i && (!work_q || up_done_o) && (!up_meta.first || !used_q[1]);
  assign up_line_o = '{{group_q, 1'b0}, {group_q, 1'b1}};

  logic free;  // the last words of a place have been read

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      work_q <= 1'b0;
      group_q <= '0;
      next_slot_q <= 1'b0;
      used_q <= '0;
    end else begin
      if (up_start_o) work_q <= 1'b1;
      else if (up_done_o) work_q <= 1'b0;
      if (issue) group_q <= up_done_o ? '0 : group_q + 1'b1;
      if (up_start_o && up_meta.first) next_slot_q <= !next_slot_q;
      used_q <= used_q + 2'(up_start_o && up_meta.first) - 2'(free);
    end
  end

  always_ff @(posedge clk_i) begin
    if (up_start_o) begin
      substitution_q <= up_meta.substitution;
      pass_q <= up_meta.pass;
      first_q <= up_meta.first;
      last_q <= up_meta.last;
      if (up_meta.first) slot_q <= next_slot_q;
    end
  end

  assign access = '{
    slot: slot_q, substitution: substitution_q, pass: pass_q, first: first_q,
    end_of: last_q && up_done_o, group: group_q
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[Product-1:0], issue};
  end

  always_ff @(posedge clk_i) begin
    pipe_q[0] <= access;
    for (int unsigned d = 1; d <= Product; d++) pipe_q[d] <= pipe_q[d-1];
  end

  // Products: lanes 0 to 3 for a, 4 to 7 for b.
  logic [W-1:0] key_q [rf_pkg::BankLatency][8];
  logic [W-1:0] operand [8];
  logic [W-1:0] product [8];
  logic [W-1:0] passed [4];

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      operand[i] = up_x_i[i];
      operand[4+i] = up_x_i[i];
    end
  end

  always_ff @(posedge clk_i) begin
    key_q[0] <= key_i;
    for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) key_q[d] <= key_q[d-1];
  end

  rf_mod_mul #(.W(W), .Lanes(8), .Kind(Kind), .Twin(Twin), .Word(Word)) u_mul (
    .clk_i, .en_i(1'b1), .a_i(operand), .b_i(key_q[rf_pkg::BankLatency-1]), .q_i, .k_i, .r_o(product)
  );
  rf_delay #(.W(W), .Lanes(4), .Depth(rf_pkg::MulLatency)) u_pass (
    .clk_i, .en_i(1'b1), .x_i(up_x_i), .x_o(passed)
  );

  // Sums: read two cycles before the product comes, written one cycle after.
  logic [W-1:0]      held [2][8];
  logic [W-1:0]      base [8], term [8], more [8], less [8], sum_q [8];
  logic              read_out;  // a group of the finished place is read
  logic              out_slot_q;
  logic [GroupW-1:0] out_group_q;

  for (genvar s = 0; s < 2; s++) begin : g_held
    logic              mine, give;
    logic [GroupW-1:0] raddr;
    assign mine = valid_q[Fetch] && !pipe_q[Fetch].first && pipe_q[Fetch].slot == 1'(s);
    assign give = read_out && out_slot_q == 1'(s);
    assign raddr = give ? out_group_q : pipe_q[Fetch].group;
    rf_bank #(.W(W), .Lanes(8), .Rows(1 << GroupW)) u_bank (
      .clk_i, .re_i(mine || give), .raddr_i(raddr), .rdata_o(held[s]),
      .we_i(valid_q[Sum+1] && pipe_q[Sum+1].slot == 1'(s)), .waddr_i(pipe_q[Sum+1].group), .wdata_i(sum_q)
    );
  end

  always_comb begin
    for (int unsigned i = 0; i < 8; i++) base[i] = pipe_q[Sum].first ? '0 : held[pipe_q[Sum].slot][i];
    for (int unsigned i = 0; i < 4; i++) begin
      term[i] = pipe_q[Sum].pass ? '0 : product[i];
      term[4+i] = pipe_q[Sum].pass ? passed[i] : product[4+i];
    end
  end

  rf_mod_add #(.W(W), .Lanes(8)) u_add (.a_i(base), .b_i(term), .q_i, .r_o(more));
  rf_mod_sub #(.W(W), .Lanes(8)) u_sub (.a_i(base), .b_i(term), .q_i, .r_o(less));

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 8; i++) begin
      sum_q[i] <= pipe_q[Sum].substitution && !pipe_q[Sum].pass ? less[i] : more[i];
    end
  end

  // The way out: a place is ready when its last group has been written, and is free when that has been read.
  logic [1:0]         ready_q;  // places finished
  logic               finish;
  logic               to_loop_q [2];
  logic [2:0]         credit_q;
  logic               out_done, pop;
  logic [1:0]         side_q [rf_pkg::BankLatency];
  logic               given_q [rf_pkg::BankLatency];  // read groups on their way to the FIFO
  logic               slot_out_q [rf_pkg::BankLatency];
  logic [8*W+1:0]     row_in, row_out;
  logic               row_ready;
  logic [2:0]         row_count;

  assign finish = valid_q[Sum+1] && pipe_q[Sum+1].end_of;
  assign pop = out_valid_o && out_ready_i;
  assign read_out = ready_q != '0 && credit_q != 3'(Credits);
  assign out_done = read_out && out_group_q == group_last;
  assign free = out_done;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ready_q <= '0;
      credit_q <= '0;
      out_slot_q <= 1'b0;
      out_group_q <= '0;
      for (int unsigned d = 0; d < rf_pkg::BankLatency; d++) given_q[d] <= 1'b0;
    end else begin
      ready_q <= ready_q + 2'(finish) - 2'(out_done);
      credit_q <= credit_q + 3'(read_out) - 3'(pop);
      if (read_out) out_group_q <= out_done ? '0 : out_group_q + 1'b1;
      if (out_done) out_slot_q <= !out_slot_q;
      given_q[0] <= read_out;
      for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) given_q[d] <= given_q[d-1];
    end
  end

  always_ff @(posedge clk_i) begin
    if (up_start_o && up_meta.first) to_loop_q[next_slot_q] <= up_meta.to_loop;
    side_q[0] <= {to_loop_q[out_slot_q], out_done};
    slot_out_q[0] <= out_slot_q;
    for (int unsigned d = 1; d < rf_pkg::BankLatency; d++) begin
      side_q[d] <= side_q[d-1];
      slot_out_q[d] <= slot_out_q[d-1];
    end
  end

  always_comb begin
    row_in[1:0] = side_q[rf_pkg::BankLatency-1];
    for (int unsigned i = 0; i < 8; i++) begin
      row_in[2+i*W+:W] = held[slot_out_q[rf_pkg::BankLatency-1]][i] >> shift_i;
    end
    {out_loop_o, out_last_o} = row_out[1:0];
    for (int unsigned i = 0; i < 8; i++) out_o[i] = row_out[2+i*W+:W];
  end

  rf_fifo #(.Width(8 * W + 2), .Depth(Credits)) u_out (
    .clk_i, .rst_ni, .valid_i(given_q[rf_pkg::BankLatency-1]), .ready_o(row_ready), .data_i(row_in),
    .valid_o(out_valid_o), .ready_i(out_ready_i), .data_o(row_out), .count_o(row_count)
  );

  assign busy_o = used_q != '0 || credit_q != '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (!given_q[rf_pkg::BankLatency-1] || row_ready) else $error("no room for a result");
  end
`endif
  logic unused_count;
  assign unused_count = ^{row_count, row_ready};
endmodule
