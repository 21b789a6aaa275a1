// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reads of an element: its clients share a reader of lines, and those that ask for polynomials get rows.
//
// Function    Requests are granted in turn. One of the fetch is for lines and is given them; one of another client is
//             for a polynomial, as many rows as its beats, and is given rows: the lines go through rf_pack. Answers
//             come in the order of the grants.
// Latency     a line to its first row 1 cycle, to the fetch none
// Throughput  one line or one row per cycle
// Ranges      polynomials have 1 ... 256 rows, in which words of W bits make whole lines or the last line is filled up.
//             Answers cannot be stalled.
module matmul_read
  import vector_pkg::*;
  import matmul_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  request_t               rd_req_i    [ReadClients],
    output logic [ReadClients-1:0] rd_ready_o,
    output logic                   fetch_valid_o,
    output logic [DataW-1:0]       fetch_line_o,
    output logic [1:0]             row_valid_o,             // to LoadClient, StreamClient
    output logic [W-1:0]           row_o       [Lanes],
    output logic                   req_valid_o,
    input  logic                   req_ready_i,
    output logic [AddrW-1:0]       req_addr_o,
    output logic [LinesW-1:0]      req_lines_o,
    input  logic                   line_valid_i,
    output logic                   line_ready_o,
    input  logic [DataW-1:0]       line_i
);
  localparam int unsigned RowW = Lanes * W;
  localparam int unsigned Queue = 16;  // requests under way

  // ---- Grants: the lowest client above the one granted last, else the lowest of all ----------------
  logic [ReadClients-1:0] wanted, above_q, above, pick, grant;
  logic lines_room, rows_room, room, to_fetch;
  request_t picked;

  always_comb for (int unsigned c = 0; c < ReadClients; c++) wanted[c] = rd_req_i[c].valid;
  assign above = wanted & above_q;
  assign pick = above != '0 ? above & (~above + 1'b1) : wanted & (~wanted + 1'b1);
  always_comb begin
    picked = '0;
    for (int unsigned c = 0; c < ReadClients; c++) if (pick[c]) picked = picked | rd_req_i[c];
  end
  assign to_fetch = pick[FetchClient];
  assign room = lines_room && rows_room;
  assign grant = req_ready_i && room ? pick : '0;
  assign rd_ready_o = grant;
  assign req_valid_o = wanted != '0 && room;
  assign req_addr_o = picked.addr;
  assign req_lines_o = to_fetch ? LinesW'(picked.beats) : lines_of(W, LinesW'(picked.beats));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) above_q <= '0;
    else if (grant != '0) above_q <= ~(grant | (grant - 1'b1));
  end

  // ---- Whose the lines are, and the rows -----------------------------------------------------------
  logic head_valid, head_fetch, take_line, last_line, row_head, row_valid, take_row, last_row, pack_ready;
  logic [LinesW-1:0] head_lines, got_q, row_count, rows_q;
  logic row_stream;
  logic [RowW-1:0] row;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(1 + LinesW), .Depth(Queue)) u_lines (
      .clk_i, .rst_ni, .valid_i(grant != '0), .ready_o(lines_room), .data_i({to_fetch, req_lines_o}),
      .valid_o(head_valid), .ready_i(take_line && last_line), .data_o({head_fetch, head_lines}), .count_o()
  );
  rf_fifo #(.Width(1 + LinesW), .Depth(Queue)) u_rows (
      .clk_i, .rst_ni, .valid_i(grant != '0 && !to_fetch), .ready_o(rows_room),
      .data_i({grant[StreamClient], LinesW'(picked.beats)}), .valid_o(row_head), .ready_i(last_row),
      .data_o({row_stream, row_count}), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign line_ready_o = head_valid && (head_fetch || pack_ready);
  assign take_line = line_valid_i && line_ready_o;
  assign last_line = got_q + 1'b1 == head_lines;
  assign take_row = row_valid && row_head;
  assign last_row = take_row && rows_q + 1'b1 == row_count;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      got_q <= '0;
      rows_q <= '0;
    end else begin
      if (take_line) got_q <= last_line ? '0 : got_q + 1'b1;
      if (take_row) rows_q <= last_row ? '0 : rows_q + 1'b1;
    end
  end

  rf_pack #(.WordW(DataW), .RowW(RowW)) u_pack (
      .clk_i, .rst_ni, .valid_i(line_valid_i && head_valid && !head_fetch), .ready_o(pack_ready), .data_i(line_i),
      .valid_o(row_valid), .ready_i(1'b1), .end_i(last_row), .data_o(row)
  );

  assign fetch_valid_o = take_line && head_fetch;
  assign fetch_line_o = line_i;
  assign row_valid_o = {take_row && row_stream, take_row && !row_stream};
  always_comb for (int unsigned l = 0; l < Lanes; l++) row_o[l] = row[W*l+:W];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!row_valid || row_head);
      assert (grant == '0 || 32'(picked.beats) inside {[1:256]});
    end
`endif
endmodule
