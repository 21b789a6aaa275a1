// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What rests on chip: the slots (RLWE ciphertexts in Eval form) and the key rows, and who reads and writes them.
//
// Function    A line is Lanes words of a, then Lanes of b. Slots lie in two memories that are written alike, so that the
//             gather unit has a read port, and the multipliers and what goes to memory have the other one. Written are
//             results of products, which come first and never wait; lines of linear instructions, which wait in a queue;
//             and lines from memory. Slots hold shifted residues, key rows such as they are.
// Latency     reads 2 cycles; a line is read as written from the next cycle on
// Throughput  one line per port and cycle
// Ranges      Slots, Rows powers of two, 2 ... 256. Linear instructions in flight: at most LinearDepth; who starts one says so with its
//             place (linear_begin_i), in the order of their lines.

module psi_wide_files
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Slots = 16,
  parameter int unsigned Rows = 16,
  parameter int unsigned LinearDepth = 2,
  parameter bit          Packed = 1'b1,
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              short_i,
  input  logic [2:0]        shift_i,

  input  logic              gather_read_i,
  input  logic [IndexW-1:0] gather_slot_i,
  input  logic [LineW-1:0]  gather_line_i,
  output logic [W-1:0]      gather_o [2*Lanes],

  input  logic              mac_slot_read_i,
  input  logic [IndexW-1:0] mac_slot_i,
  input  logic              mac_row_read_i,
  input  logic [IndexW-1:0] mac_row_i,
  input  logic [LineW-1:0]  mac_line_i,
  output logic [W-1:0]      slot_o [2*Lanes],    // for stores too
  output logic [W-1:0]      row_o [2*Lanes],

  input  logic              store_read_i,
  output logic              store_ready_o,
  input  logic [IndexW-1:0] store_slot_i,
  input  logic [LineW-1:0]  store_line_i,

  input  logic              result_valid_i,
  input  logic              result_to_row_i,
  input  logic [IndexW-1:0] result_place_i,
  input  logic [LineW-1:0]  result_line_i,
  input  logic [W-1:0]      result_i [2*Lanes],

  input  logic              linear_begin_i,
  input  logic              linear_to_row_i,
  input  logic [IndexW-1:0] linear_place_i,
  input  logic [3:0]        linear_id_i,
  input  logic              linear_valid_i,
  input  logic [W-1:0]      linear_i [2*Lanes],
  output logic              linear_done_o,
  output logic [3:0]        linear_done_id_o,

  input  logic              load_valid_i,
  output logic              load_ready_o,
  input  logic              load_to_row_i,
  input  logic [IndexW-1:0] load_place_i,
  input  logic [LineW-1:0]  load_line_i,
  input  logic [W-1:0]      load_i [2*Lanes]     // not shifted
);
  localparam int unsigned SlotW = $clog2(Slots);
  localparam int unsigned RowW = $clog2(Rows);

  if (Slots < 2 || Slots > 256 || (Slots & (Slots - 1)) != 0 || Rows < 2 || Rows > 256 ||
      (Rows & (Rows - 1)) != 0) begin : g_check
    $error("psi_wide_files: Slots and Rows must be powers of two from 2 to 256");
  end

  // ---- Linear instructions -------------------------------------------------------------------------
  typedef struct packed {
    logic [3:0]        id;
    logic              to_row;
    logic [IndexW-1:0] place;
  } linear_t;
  linear_t            linear;
  logic               linear_valid, linear_take, linear_last;
  logic [LineW-1:0]   linear_line_q;
  logic [2*Lanes*W-1:0] linear_packed, linear_head;
  logic [W-1:0]       linear_data [2*Lanes];

  // There is room: it was reserved.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width($bits(linear_t)), .Depth(LinearDepth)) u_places (
    .clk_i, .rst_ni, .valid_i(linear_begin_i), .ready_o(), .data_i({linear_id_i, linear_to_row_i, linear_place_i}),
    .valid_o(), .ready_i(linear_take && linear_last), .data_o(linear), .count_o()
  );
  rf_fifo #(.Width(2 * Lanes * W), .Depth(LinearDepth << LineW)) u_lines (
    .clk_i, .rst_ni, .valid_i(linear_valid_i), .ready_o(), .data_i(linear_packed), .valid_o(linear_valid),
    .ready_i(linear_take), .data_o(linear_head), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */
  always_comb begin
    linear_packed = '0;
    if (linear_valid_i) for (int unsigned l = 0; l < 2 * Lanes; l++) linear_packed[l*W+:W] = linear_i[l];
    for (int unsigned l = 0; l < 2 * Lanes; l++) linear_data[l] = linear_head[l*W+:W];
  end

  assign linear_last = linear_line_q == (short_i ? {1'b0, {(LineW-1){1'b1}}} : '1);
  assign linear_take = linear_valid && !(result_valid_i && result_to_row_i == linear.to_row);
  assign linear_done_o = linear_take && linear_last;
  assign linear_done_id_o = linear.id;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) linear_line_q <= '0;
    else if (linear_take) linear_line_q <= linear_last ? '0 : linear_line_q + 1'b1;
  end

  // ---- Who writes ----------------------------------------------------------------------------------
  logic              slot_we, row_we;
  logic [IndexW-1:0] slot_place, row_place;
  logic [LineW-1:0]  slot_line, row_line;
  logic [W-1:0]      slot_data [2*Lanes], row_data [2*Lanes];

  assign load_ready_o = !(result_valid_i && result_to_row_i == load_to_row_i) &&
                        !(linear_valid && linear.to_row == load_to_row_i);

  always_comb begin
    slot_we = 1'b1;
    slot_place = load_place_i;
    slot_line = load_line_i;
    for (int unsigned l = 0; l < 2 * Lanes; l++) slot_data[l] = load_i[l] << shift_i;
    if (result_valid_i && !result_to_row_i) begin
      slot_place = result_place_i;
      slot_line = result_line_i;
      slot_data = result_i;
    end else if (linear_valid && !linear.to_row) begin
      slot_place = linear.place;
      slot_line = linear_line_q;
      slot_data = linear_data;
    end else begin
      slot_we = load_valid_i && !load_to_row_i;
    end
  end

  always_comb begin
    row_we = 1'b1;
    row_place = load_place_i;
    row_line = load_line_i;
    row_data = load_i;
    if (result_valid_i && result_to_row_i) begin
      row_place = result_place_i;
      row_line = result_line_i;
      for (int unsigned l = 0; l < 2 * Lanes; l++) row_data[l] = result_i[l] >> shift_i;
    end else if (linear_valid && linear.to_row) begin
      row_place = linear.place;
      row_line = linear_line_q;
      for (int unsigned l = 0; l < 2 * Lanes; l++) row_data[l] = linear_data[l] >> shift_i;
    end else begin
      row_we = load_valid_i && load_to_row_i;
    end
  end

  // ---- Memories ------------------------------------------------------------------------------------
  logic              shared_read;
  logic [IndexW-1:0] shared_slot;
  logic [LineW-1:0]  shared_line;

  assign store_ready_o = !mac_slot_read_i;
  assign shared_read = mac_slot_read_i || store_read_i;
  assign shared_slot = mac_slot_read_i ? mac_slot_i : store_slot_i;
  assign shared_line = mac_slot_read_i ? mac_line_i : store_line_i;

  rf_bank #(.W(W), .Lanes(2 * Lanes), .Rows(Slots << LineW), .Packed(Packed)) u_gather (
    .clk_i, .re_i(gather_read_i), .raddr_i({gather_slot_i[SlotW-1:0], gather_line_i}), .rdata_o(gather_o),
    .we_i(slot_we), .waddr_i({slot_place[SlotW-1:0], slot_line}), .wdata_i(slot_data)
  );
  rf_bank #(.W(W), .Lanes(2 * Lanes), .Rows(Slots << LineW), .Packed(Packed)) u_slots (
    .clk_i, .re_i(shared_read), .raddr_i({shared_slot[SlotW-1:0], shared_line}), .rdata_o(slot_o),
    .we_i(slot_we), .waddr_i({slot_place[SlotW-1:0], slot_line}), .wdata_i(slot_data)
  );
  rf_bank #(.W(W), .Lanes(2 * Lanes), .Rows(Rows << LineW), .Packed(Packed)) u_rows (
    .clk_i, .re_i(mac_row_read_i), .raddr_i({mac_row_i[RowW-1:0], mac_line_i}), .rdata_o(row_o),
    .we_i(row_we), .waddr_i({row_place[RowW-1:0], row_line}), .wdata_i(row_data)
  );

  logic unused;
  assign unused = ^{gather_slot_i, shared_slot, mac_row_i, slot_place, row_place};
endmodule
