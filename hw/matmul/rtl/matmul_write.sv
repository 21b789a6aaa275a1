// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Writes of an element: polynomials that it stores, given as rows, and lines that are copied share a writer of lines.
//
// Function    Requests are granted in turn, the next when the lines of the one before have gone to the writer. A store
//             is a polynomial, as many rows as its beats, which go through rf_unpack; a copy is lines. The requester's
//             ack pulses when all of its request is acknowledged.
// Latency     a row to its first line 1 cycle, a copied line none
// Throughput  one row or one line per cycle; 2 cycles between requests
// Ranges      polynomials have 1 ... 256 rows. Rows and lines are taken after the grant, and must be sure to come.
module matmul_write
  import vector_pkg::*;
  import matmul_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    // Stores
    input  request_t          wr_req_i,
    output logic              wr_ready_o,
    input  logic              wr_valid_i,
    output logic              wr_data_ready_o,
    input  logic [W-1:0]      wr_row_i [Lanes],
    output logic              wr_ack_o,
    // Copies
    input  logic              copy_req_i,
    output logic              copy_ready_o,
    input  logic [AddrW-1:0]  copy_addr_i,
    input  logic [LinesW-1:0] copy_lines_i,
    input  logic              copy_valid_i,
    output logic              copy_taken_o,
    input  logic [DataW-1:0]  copy_line_i,
    output logic              copy_ack_o,
    // Writer
    output logic              req_valid_o,
    input  logic              req_ready_i,
    output logic [AddrW-1:0]  req_addr_o,
    output logic [LinesW-1:0] req_lines_o,
    output logic              line_valid_o,
    input  logic              line_ready_i,
    output logic [DataW-1:0]  line_o,
    input  logic              done_i
);
  localparam int unsigned RowW = Lanes * W;
  localparam int unsigned Queue = 32;  // requests not acknowledged

  // ---- Grants --------------------------------------------------------------------------------------
  logic active_q, copy_q, prefer_copy_q, pick_copy, order_room, grant;
  logic [LinesW-1:0] lines_q, rows_q;

  assign pick_copy = copy_req_i && (prefer_copy_q || !wr_req_i.valid);
  assign req_valid_o = !active_q && order_room && (wr_req_i.valid || copy_req_i);
  assign req_addr_o = pick_copy ? copy_addr_i : wr_req_i.addr;
  assign req_lines_o = pick_copy ? copy_lines_i : lines_of(W, LinesW'(wr_req_i.beats));
  assign grant = req_valid_o && req_ready_i;
  assign wr_ready_o = grant && !pick_copy;
  assign copy_ready_o = grant && pick_copy;

  // ---- Lines ---------------------------------------------------------------------------------------
  logic row_valid, row_ready, packed_valid, packed_last, take;
  logic [RowW-1:0] row;
  logic [DataW-1:0] packed_line;

  always_comb for (int unsigned l = 0; l < Lanes; l++) row[W*l+:W] = wr_row_i[l];
  assign row_valid = active_q && !copy_q && rows_q != '0 && wr_valid_i;
  assign wr_data_ready_o = active_q && !copy_q && rows_q != '0 && row_ready;

  rf_unpack #(.RowW(RowW), .WordW(DataW)) u_unpack (
      .clk_i, .rst_ni, .valid_i(row_valid), .ready_o(row_ready), .data_i(row), .last_i(rows_q == LinesW'(1)),
      .valid_o(packed_valid), .ready_i(line_ready_i), .data_o(packed_line), .last_o(packed_last)
  );

  assign line_valid_o = active_q && (copy_q ? copy_valid_i : packed_valid);
  assign line_o = copy_q ? copy_line_i : packed_line;
  assign take = line_valid_o && line_ready_i;
  assign copy_taken_o = active_q && copy_q && line_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      prefer_copy_q <= 1'b0;
    end else if (grant) begin
      active_q <= 1'b1;
      prefer_copy_q <= !pick_copy;
    end else if (take && lines_q == LinesW'(1)) begin
      active_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (grant) begin
      copy_q <= pick_copy;
      lines_q <= req_lines_o;
      rows_q <= LinesW'(wr_req_i.beats);
    end else begin
      if (take) lines_q <= lines_q - 1'b1;
      if (row_valid && row_ready) rows_q <= rows_q - 1'b1;
    end
  end

  // ---- Acknowledgements ----------------------------------------------------------------------------
  logic order_valid, order_copy;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(1), .Depth(Queue)) u_order (
      .clk_i, .rst_ni, .valid_i(grant), .ready_o(order_room), .data_i(pick_copy), .valid_o(order_valid),
      .ready_i(done_i), .data_o(order_copy), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign wr_ack_o = done_i && !order_copy;
  assign copy_ack_o = done_i && order_copy;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!done_i || order_valid);
      assert (!(take && !copy_q) || packed_last == (lines_q == LinesW'(1)));
      assert (!grant || pick_copy || 32'(wr_req_i.beats) inside {[1:256]});
    end
`endif

  logic unused;
  assign unused = ^{order_valid, packed_last};
endmodule
