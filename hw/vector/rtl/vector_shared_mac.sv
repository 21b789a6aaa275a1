// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// MAC unit of an element with shared ALUs: brings rows of its operands to the array (rf_alu), and its results back.
//
// Function: dst = a * B, c + a * B or (a - c) * B on whole polynomials, B a constant, a slot, or the stream; a, or c
//   where it is subtracted, may be lifted from another modulus. Reads the three slots in the same cycle (they are in
//   different banks). A row is not read when hold_i says that the array is taken at that time, nor while a streamed
//   operand is missing.
// MACs follow each other: take_i hands over the next one (ready_o), which is read from the cycle on in which no row of
//   the one before is left. read_done_o with the last read of a MAC, done_o with its last write.
// Array: core_valid_o with operands and settings BankLatency cycles after the read; the array has them in a register,
//   and result_i comes CoreLatency cycles after core_valid_o, in the cycle that writes it.
// Throughput: one row per cycle. Settings belong to the row: every MAC may have other moduli.
module vector_shared_mac
  import rf_pkg::*;
  import vector_pkg::*;
  import vector_isa_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Banks = 4,
    parameter int unsigned RowBits = 7,
    parameter int unsigned CoreLatency = ButterflyLatency + 1,
    parameter bit Shifts = 1'b1  // 0: shift_i is always 0
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [  RowBits:0] rows_i,
    input  logic [        2:0] shift_i,
    input  logic               take_i,
    output logic               ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a MAC uses some of the fields
    input  instr_t             instr_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic [      W-1:0] q_i,
    input  logic [       63:0] k_i,
    input  logic [      W-1:0] p_i,
    output logic               read_done_o,
    output logic               done_o,
    // Banks
    input  logic               hold_i,
    output logic               rd_en_o,
    output slot_t              rd_a_o,                   // rows to read
    output slot_t              rd_b_o,
    output slot_t              rd_c_o,
    output logic               rd_b_used_o,
    output logic               rd_c_used_o,
    input  logic [      W-1:0] data_i       [Banks][Lanes],
    output logic               wr_en_o,
    output slot_t              wr_o,                     // row to write
    // Stream
    input  logic               stream_valid_i,
    output logic               stream_ready_o,
    input  logic [      W-1:0] stream_i     [Lanes],
    // Array
    output logic               core_valid_o,
    output logic [        1:0] core_mode_o,
    output logic               core_lift_o,
    output logic               core_adds_o,              // there is an operand c; else the array takes zero
    output logic [      W-1:0] core_q_o,
    output logic [       63:0] core_k_o,
    output logic [      W-1:0] core_p_o,
    output logic [      W-1:0] core_a_o     [Lanes],
    output logic [      W-1:0] core_b_o     [Lanes],
    output logic [      W-1:0] core_c_o     [Lanes]
);
  typedef struct packed {
    slot_t        a;
    slot_t        b;
    slot_t        c;
    slot_t        dst;
    logic         streams;  // B comes from the stream
    logic         slots;    // B comes from a slot
    logic         pre_sub;
    logic         post_add;
    logic         lift;
    logic [W-1:0] imm;
    logic [W-1:0] q;
    logic [63:0]  k;
    logic [W-1:0] p;
  } mac_t;
  typedef struct packed {
    logic  valid;
    logic  last;
    slot_t row;
  } write_t;

  localparam int unsigned BankIndex = $clog2(Banks);

  mac_t next_q, mac_q;            // handed over, being read
  logic next_valid_q, reading_q;
  logic [RowBits-1:0] row_q;
  logic last, advance;
  logic [2:0] shift;

  // Rows on their way from the banks to the array, and through it.
  mac_t on_q[BankLatency];
  write_t write_q[BankLatency+CoreLatency];
  logic [W-1:0] stream_q[BankLatency][Lanes];

  // ---- Reads -----------------------------------------------------------------------------------------
  function automatic slot_t row_of(input slot_t s, input logic [RowBits-1:0] row);
    return '{s.bank, s.row | 13'(row)};
  endfunction

  assign rd_en_o = reading_q && !hold_i && (!mac_q.streams || stream_valid_i);
  assign stream_ready_o = reading_q && !hold_i && mac_q.streams;
  assign rd_a_o = row_of(mac_q.a, row_q);
  assign rd_b_o = row_of(mac_q.b, row_q);
  assign rd_c_o = row_of(mac_q.c, row_q);
  assign rd_b_used_o = mac_q.slots;
  assign rd_c_used_o = mac_q.pre_sub || mac_q.post_add;
  assign last = (RowBits + 1)'(row_q) + 1'b1 == rows_i;
  assign read_done_o = rd_en_o && last;
  assign advance = next_valid_q && (!reading_q || read_done_o);
  assign ready_o = !next_valid_q || advance;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_valid_q <= 1'b0;
      reading_q <= 1'b0;
    end else begin
      if (take_i) next_valid_q <= 1'b1;
      else if (advance) next_valid_q <= 1'b0;
      if (advance) reading_q <= 1'b1;
      else if (read_done_o) reading_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      mac_q <= next_q;
      row_q <= '0;
    end else if (rd_en_o) begin
      row_q <= row_q + 1'b1;
    end
    if (take_i) begin
      next_q.a <= instr_i.a;
      next_q.b <= instr_i.b;
      next_q.c <= instr_i.c;
      next_q.dst <= instr_i.dst;
      next_q.streams <= instr_i.b_from == BFromStream;
      next_q.slots <= instr_i.b_from == BFromSlot;
      next_q.pre_sub <= instr_i.pre_sub;
      next_q.post_add <= instr_i.post_add;
      next_q.lift <= instr_i.lift;
      next_q.imm <= instr_i.imm[W-1:0];
      next_q.q <= q_i;
      next_q.k <= k_i;
      next_q.p <= p_i;
    end
  end

  // ---- To the array, and back ------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    write_q[0] <= '{rd_en_o, last, row_of(mac_q.dst, row_q)};
    for (int unsigned i = 1; i < BankLatency + CoreLatency; i++) write_q[i] <= write_q[i-1];
    on_q[0] <= mac_q;
    for (int unsigned i = 1; i < BankLatency; i++) on_q[i] <= on_q[i-1];
    if (!rst_ni) for (int unsigned i = 0; i < BankLatency + CoreLatency; i++) write_q[i].valid <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (rd_en_o && mac_q.streams) stream_q[0] <= stream_i;
    if (write_q[0].valid && on_q[0].streams) stream_q[1] <= stream_q[0];
  end

  /* verilator lint_off UNUSEDSIGNAL */  // its destination goes with write_q
  mac_t at;
  /* verilator lint_on UNUSEDSIGNAL */
  assign at = on_q[BankLatency-1];
  assign core_valid_o = write_q[BankLatency-1].valid;
  assign core_mode_o = at.pre_sub ? AluSubMul : AluMulAdd;
  assign core_lift_o = at.lift;
  assign core_adds_o = at.pre_sub || at.post_add;
  assign core_q_o = at.q;
  assign core_k_o = at.k;
  assign core_p_o = at.p;
  assign shift = Shifts ? shift_i : 3'd0;
  always_comb begin
    core_a_o = data_i[BankIndex'(at.a.bank)];
    core_b_o = data_i[BankIndex'(at.b.bank)];
    core_c_o = data_i[BankIndex'(at.c.bank)];
    for (int unsigned l = 0; l < Lanes; l++) begin
      core_b_o[l] = at.streams ? stream_q[BankLatency-1][l] : at.slots ? core_b_o[l] >> shift : at.imm;
    end
  end

  assign wr_en_o = write_q[BankLatency+CoreLatency-1].valid;
  assign wr_o = write_q[BankLatency+CoreLatency-1].row;
  assign done_o = wr_en_o && write_q[BankLatency+CoreLatency-1].last;
endmodule
