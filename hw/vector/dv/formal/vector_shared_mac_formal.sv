// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of the MAC unit of elements with shared ALUs, beside counters of MACs and of their rows. Assumed: no MAC is
// handed over that the unit does not take, and MACs have one to four rows, as many all the time.

module vector_shared_mac_formal #(
  parameter int unsigned RowBits = 2,
  parameter int unsigned CoreLatency = 2
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [RowBits:0]   rows_i,
  input logic               take_i,
  input logic               ready_o,
  input logic               hold_i,
  input logic               stream_valid_i,
  input logic               stream_ready_o,
  input logic               read_done_o,
  input logic               done_o,
  input logic               rd_en_o,
  input logic               core_valid_o,
  input logic               wr_en_o,
  input logic               next_valid_q,
  input logic               reading_q,
  input logic [RowBits-1:0] row_q
);
  localparam int unsigned Late = rf_pkg::BankLatency + CoreLatency;

  logic started_q = 1'b0;
  logic [RowBits:0] rows_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    rows_q <= rows_i;
    assume (started_q || !rst_ni);
    assume (!take_i || (ready_o && rst_ni));
    assume (rows_i != '0 && 32'(rows_i) <= 2 ** RowBits);
    assume (!started_q || rows_i == rows_q);
  end

  // MACs that were handed over and are not read; rows of the one that is; what happened in the cycles before.
  logic [1:0]       waiting_q;
  logic [RowBits:0] read_q;
  logic [Late-1:0]  reads_q, last_q, held_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waiting_q <= '0;
      read_q <= '0;
      reads_q <= '0;
      last_q <= '0;
      held_q <= '0;
    end else begin
      waiting_q <= waiting_q + 2'(take_i) - 2'(read_done_o);
      if (rd_en_o) read_q <= read_done_o ? '0 : read_q + 1'b1;
      reads_q <= {reads_q[Late-2:0], rd_en_o};
      last_q <= {last_q[Late-2:0], rd_en_o && read_q + 1'b1 == rows_i};
      held_q <= {held_q[Late-2:0], hold_i};
    end
  end

  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni) begin
      // no row comes to the array that was read while the array was promised to a transform
      p_no_collision: assert (!core_valid_o || !held_q[rf_pkg::BankLatency-1]);
      // every row that is read comes to the array, and nothing else does
      p_core: assert (core_valid_o == reads_q[rf_pkg::BankLatency-1]);
      // every row is written once, when the array has it
      p_write: assert (wr_en_o == reads_q[Late-1]);
      // the unit says that a MAC is done with its last row
      p_done: assert (done_o == last_q[Late-1]);
      // no MAC is lost and none is read twice
      p_none_lost: assert (waiting_q == 2'(next_valid_q) + 2'(reading_q));
      // rows are read in order, as many as there are
      p_rows: assert (!reading_q || ((RowBits+1)'(row_q) == read_q && read_q < rows_i));
      // a new MAC begins with its first row
      p_first: assert (reading_q || read_q == '0);
      // a MAC is over with its last row
      p_last: assert (read_done_o == (rd_en_o && read_q + 1'b1 == rows_i));
      // a row of the stream is taken only when it is used
      p_stream: assert (!(stream_valid_i && stream_ready_o) || rd_en_o);
    end
  end
endmodule

bind vector_shared_mac vector_shared_mac_formal #(.RowBits(RowBits), .CoreLatency(CoreLatency)) u_formal (.*);
