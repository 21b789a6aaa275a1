// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The machine without its ports and registers: from instructions to requests of memory.
//
//   slots ─► gather ─► inverse transform (half the lanes) ─► polynomials ─► digits ─► forward transform ─► multipliers
//     ▲         └─ linear instructions ─► queue ─┐       rows of numbers ──┘                      key rows ──┘   │
//     └──────────────────────────────────────────┴──────────────────────────────────────────────────────────────┘
//
// Configuration inputs do not change while a run lasts. halt_i, error_o, idle_o as psi_wide_issue.

module psi_wide_core
  import psi_wide_pkg::*;
#(
  parameter int unsigned W = 27,
  parameter int unsigned Lanes = 16,
  parameter int unsigned MaxLogN = 10,
  parameter int unsigned Slots = 16,
  parameter int unsigned Rows = 16,
  parameter int unsigned Polys = 8,
  parameter int unsigned LoadBeats = 32,
  parameter int unsigned StoreBeats = 16,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  localparam int unsigned LoadBeatsW = $clog2(LoadBeats + 1),
  localparam int unsigned StoreBeatsW = $clog2(StoreBeats + 1)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             start_i,
  input  logic             halt_i,
  input  logic             short_i,
  input  logic [2:0]       shift_i,
  input  logic [W-1:0]     q_i,
  input  logic [63:0]      k_i,
  input  logic [W-1:0]     scalar_i,
  input  gadget_t          gadget_i [1 << GadgetW],

  input  logic             valid_i,
  output logic             ready_o,
  input  instruction_t     instruction_i,
  output logic             idle_o,
  output logic [7:0]       error_o,
  output logic [31:0]      count_o,
  output logic             waiting_o,
  output logic             transforming_o,  // a line goes into the forward transform
  output logic             gathering_o,

  output logic             load_valid_o,
  input  logic             load_ready_i,
  output logic [AddrW-1:0] load_addr_o,
  output logic [LoadBeatsW-1:0] load_beats_o,
  input  logic             load_rsp_valid_i,
  input  logic [PortW-1:0] load_rsp_data_i,

  output logic             store_valid_o,
  input  logic             store_ready_i,
  output logic [AddrW-1:0] store_addr_o,
  output logic [StoreBeatsW-1:0] store_beats_o,
  output logic             store_data_valid_o,
  input  logic             store_data_ready_i,
  output logic [PortW-1:0] store_data_o,
  input  logic             store_ack_i
);
  localparam int unsigned LineW = MaxLogN - $clog2(Lanes);
  localparam int unsigned Half = Lanes / 2;
  localparam int unsigned PlainRows = 4;
  localparam int unsigned LinearDepth = 2;
  localparam bit          Packed = !Twin;

  // ---- Issue ---------------------------------------------------------------------------------------
  instruction_t issued;
  logic [3:0]   id;
  logic         gather_go, gather_ready, linear_go, job_push, job_room, job_valid, job_take;
  logic         move_load, move_load_ready, move_store, move_store_ready, load_idle, store_idle, issue_idle;
  logic         poly_free, row_free, beside_free, mac_done, linear_done, load_done, store_done;
  logic [3:0]   mac_id, linear_id, load_id, store_id;
  logic [7:0]   issue_error;
  logic         cell_bad, cell_bad_q;
  job_t         job_pushed, job;
  move_t        move;

  psi_wide_issue #(
    .Slots(Slots), .Rows(Rows), .MaxLogN(MaxLogN), .Polys(Polys), .LinearDepth(LinearDepth)
  ) u_issue (
    .clk_i, .rst_ni, .start_i, .halt_i, .short_i, .gadget_i, .valid_i, .ready_o, .instruction_i, .gather_go_o(gather_go),
    .gather_ready_i(gather_ready), .linear_go_o(linear_go), .job_valid_o(job_push), .job_ready_i(job_room),
    .job_o(job_pushed), .load_valid_o(move_load), .load_ready_i(move_load_ready), .store_valid_o(move_store),
    .store_ready_i(move_store_ready), .move_o(move), .issued_o(issued), .id_o(id), .poly_free_i(poly_free),
    .beside_free_i(beside_free), .done_i({store_done, load_done, linear_done, mac_done}),
    .done_id_i('{mac_id, linear_id, load_id, store_id}), .linear_done_i(linear_done), .idle_o(issue_idle),
    .waiting_o, .error_o(issue_error), .count_o
  );
  assign idle_o = issue_idle && load_idle && store_idle;

  // What an instruction reads from memory is known when it is under way.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) cell_bad_q <= 1'b0;
    else if (cell_bad) cell_bad_q <= 1'b1;
  end
  assign error_o = cell_bad_q ? ErrorCell : issue_error;

  // ---- Front: gather, inverse transform ------------------------------------------------------------
  logic              gather_read, half_start, inverse_start, beside_valid, linear_valid;
  logic [IndexW-1:0] gather_slot;
  logic [LineW-1:0]  gather_line, beside_line;
  logic [W-1:0]      gathered [2*Lanes], half [Half], inverse [Half], beside [Lanes], linear [2*Lanes];
  logic [2:0]        table_we;
  logic [MaxLogN-1:0] table_addr;
  logic [W-1:0]      table_data;

  psi_wide_gather #(.W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)) u_gather (
    .clk_i, .rst_ni, .short_i, .shift_i, .q_i, .k_i, .scalar_i, .table_we_i(table_we[2]), .table_addr_i(table_addr),
    .table_data_i(table_data), .ready_o(gather_ready), .go_i(gather_go), .linear_i(linear_go),
    .both_i(issued.both && !linear_go), .beside_i(issued.beside != BesideNone && !linear_go),
    .take_i(take_e'(issued.take)), .times_i(times_e'(issued.times)), .s1_i(issued.s1), .s2_i(issued.s2),
    .element_i(issued.element), .power_i(issued.power), .read_o(gather_read), .slot_o(gather_slot),
    .line_o(gather_line), .line_i(gathered), .start_o(half_start), .half_o(half), .beside_valid_o(beside_valid),
    .beside_line_o(beside_line), .beside_o(beside), .linear_valid_o(linear_valid), .linear_o(linear)
  );
  assign gathering_o = gather_read;

  psi_stream_intt #(.W(W), .Lanes(Half), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)) u_inverse (
    .clk_i, .rst_ni, .en_i(1'b1), .short_i, .shift_i, .q_i, .k_i, .tw_we_i(table_we[1]), .tw_addr_i(table_addr),
    .tw_data_i(table_data), .start_i(half_start), .x_i(half), .start_o(inverse_start), .y_o(inverse)
  );

  // ---- Back: digits, forward transform, multipliers ------------------------------------------------
  logic              pass_valid, digit_start, forward_start, row_we, mac_row_read, mac_slot_read;
  pass_t             pass;
  logic [IndexW-1:0] mac_row, mac_slot;
  logic [LineW-1:0]  mac_line, result_line;
  logic [W-1:0]      digits [Lanes], forward [Lanes], key [2*Lanes], slot [2*Lanes], result [2*Lanes];
  logic [PlainBits-1:0] row [Lanes];
  logic              result_valid, result_to_row;
  logic [IndexW-1:0] result_place;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width($bits(job_t)), .Depth(Polys)) u_jobs (
    .clk_i, .rst_ni, .valid_i(job_push), .ready_o(job_room), .data_i(job_pushed), .valid_o(job_valid),
    .ready_i(job_take), .data_o(job), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  psi_wide_passes #(
    .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Polys(Polys), .Rows(PlainRows), .Packed(Packed)
  ) u_passes (
    .clk_i, .rst_ni, .short_i, .shift_i, .q_i, .gadget_i, .start_i(inverse_start), .half_i(inverse), .free_o(poly_free),
    .row_we_i(row_we), .row_i(row), .row_free_o(row_free), .job_valid_i(job_valid), .job_ready_o(job_take),
    .job_i(job), .pass_valid_o(pass_valid), .pass_o(pass), .cell_bad_o(cell_bad), .busy_o(transforming_o), .start_o(digit_start),
    .line_o(digits)
  );

  psi_stream_ntt #(.W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)) u_forward (
    .clk_i, .rst_ni, .en_i(1'b1), .short_i, .shift_i, .q_i, .k_i, .tw_we_i(table_we[0]), .tw_addr_i(table_addr),
    .tw_data_i(table_data), .start_i(digit_start), .x_i(digits), .start_o(forward_start), .y_o(forward)
  );

  psi_wide_mac #(
    .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Polys(Polys), .Kind(Kind), .Twin(Twin), .Packed(Packed)
  ) u_mac (
    .clk_i, .rst_ni, .short_i, .shift_i, .q_i, .k_i, .table_we_i(table_we[2]), .table_addr_i(table_addr),
    .table_data_i(table_data), .pass_valid_i(pass_valid), .pass_i(pass), .start_i(forward_start),
    .line_i(forward), .beside_we_i(beside_valid), .beside_line_i(beside_line), .beside_i(beside),
    .beside_free_o(beside_free), .row_read_o(mac_row_read), .row_o(mac_row), .slot_read_o(mac_slot_read),
    .slot_o(mac_slot), .line_o(mac_line), .row_i(key), .slot_i(slot), .result_valid_o(result_valid),
    .result_to_row_o(result_to_row), .result_place_o(result_place), .result_line_o(result_line), .result_o(result),
    .done_o(mac_done), .done_id_o(mac_id)
  );

  // ---- Files and transfers -------------------------------------------------------------------------
  logic              store_read, store_read_ready, line_valid, line_ready, line_to_row;
  logic [IndexW-1:0] store_slot, line_place;
  logic [LineW-1:0]  store_line, load_line;
  logic [W-1:0]      line [2*Lanes];

  psi_wide_files #(
    .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Slots(Slots), .Rows(Rows), .LinearDepth(LinearDepth), .Packed(Packed)
  ) u_files (
    .clk_i, .rst_ni, .short_i, .shift_i, .gather_read_i(gather_read), .gather_slot_i(gather_slot),
    .gather_line_i(gather_line), .gather_o(gathered), .mac_slot_read_i(mac_slot_read), .mac_slot_i(mac_slot),
    .mac_row_read_i(mac_row_read), .mac_row_i(mac_row), .mac_line_i(mac_line), .slot_o(slot), .row_o(key),
    .store_read_i(store_read), .store_ready_o(store_read_ready), .store_slot_i(store_slot), .store_line_i(store_line),
    .result_valid_i(result_valid), .result_to_row_i(result_to_row), .result_place_i(result_place),
    .result_line_i(result_line), .result_i(result), .linear_begin_i(linear_go), .linear_to_row_i(issued.to_row),
    .linear_place_i(issued.target), .linear_id_i(id), .linear_valid_i(linear_valid), .linear_i(linear),
    .linear_done_o(linear_done), .linear_done_id_o(linear_id), .load_valid_i(line_valid), .load_ready_o(line_ready),
    .load_to_row_i(line_to_row), .load_place_i(line_place), .load_line_i(load_line), .load_i(line)
  );

  psi_wide_load #(
    .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .PlainRows(PlainRows), .MaxBeats(LoadBeats)
  ) u_load (
    .clk_i, .rst_ni, .halt_i, .short_i, .move_valid_i(move_load), .move_ready_o(move_load_ready), .move_i(move),
    .idle_o(load_idle), .done_o(load_done), .done_id_o(load_id), .req_valid_o(load_valid_o), .req_ready_i(load_ready_i),
    .req_addr_o(load_addr_o), .req_beats_o(load_beats_o), .rsp_valid_i(load_rsp_valid_i), .rsp_data_i(load_rsp_data_i),
    .line_valid_o(line_valid), .line_ready_i(line_ready), .line_to_row_o(line_to_row), .line_place_o(line_place),
    .line_o(load_line), .data_o(line), .row_we_o(row_we), .row_o(row), .row_free_i(row_free), .table_we_o(table_we),
    .table_addr_o(table_addr), .table_data_o(table_data)
  );

  psi_wide_store #(.W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .MaxBeats(StoreBeats)) u_store (
    .clk_i, .rst_ni, .halt_i, .short_i, .shift_i, .move_valid_i(move_store), .move_ready_o(move_store_ready),
    .move_i(move), .idle_o(store_idle), .done_o(store_done), .done_id_o(store_id), .store_read_o(store_read),
    .store_ready_i(store_read_ready), .store_slot_o(store_slot), .store_line_o(store_line), .line_i(slot),
    .req_valid_o(store_valid_o), .req_ready_i(store_ready_i), .req_addr_o(store_addr_o), .req_beats_o(store_beats_o),
    .data_valid_o(store_data_valid_o), .data_ready_i(store_data_ready_i), .data_o(store_data_o), .ack_i(store_ack_i)
  );

  logic unused;
  assign unused = ^issued;
endmodule
