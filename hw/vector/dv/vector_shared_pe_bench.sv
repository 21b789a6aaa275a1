// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// One element with shared ALUs, a near memory of Words words of 64 bits and a far memory of FarWords. Runs programs one
// after the other, each from a reset on, on the same memory:
//   Image           near memory; afterwards Image.out
//   Image.far       far memory
//   Image.programs  for each program its address and how many of 256 cycles no row comes, 0 at the end; afterwards
//                   Image.cycles has each one's cycles from start to done, with the error code from bit 60 on
//
// The memory takes a request at a time and serves them in order, Latency cycles after each came, a row a cycle; lines
// of instructions beside that.
module vector_shared_pe_bench
  import vector_pkg::*;
#(
    parameter string Image = "",
    parameter int unsigned Words = 1 << 16,
    parameter int unsigned FarWords = 1 << 12,
    parameter int unsigned Latency = 20,
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned BankRows = 512,
    parameter int unsigned LastBankRows = 512,
    parameter int unsigned TwiddleRows = 512,
    parameter int unsigned MinLogN = 7,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned StreamRows = 256,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter int unsigned SpnRegisters = 0,
    parameter int unsigned Most = 64,            // programs
    localparam int unsigned LineW = Lanes * 64,
    localparam int unsigned RowBits = MaxLogN - $clog2(Lanes)
) (
    input  logic clk_i,
    output logic done_o
);
  typedef struct packed {
    logic             stream;
    logic [AddrW-1:0] addr;
    logic [BeatBits-1:0] beats;
    logic [31:0]      from;  // cycle from which on rows come
  } read_t;

  logic [63:0] mem[Words], far[FarWords], list[2*Most], cycles[Most];
  int unsigned cycle_q, age_q, program_q, write_at_q, written_q, copy_wait_q, seed_q;
  logic rst_n, pe_done, quiet;
  read_t reads[$];
  int unsigned row_q, fetch_left_q, fetch_wait_q, fetch_at_q, write_left_q;

  /* verilator lint_off UNUSEDSIGNAL */  // the memory is small
  request_t rd_req[ReadClients], wr_req;
  logic [AddrW-1:0] copy_addr, copy_far;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [ReadClients-1:0] rd_ready;
  logic [RowBits:0] rows;
  logic line_valid_q, wr_ready, wr_valid, wr_data_ready, wr_ack_q, copy_valid, copy_ready;
  logic [1:0] row_valid_q;
  logic [LineW-1:0] line_q;
  logic [W-1:0] row[Lanes], wr_row[Lanes], none[Lanes];
  error_e error;

  // Residue i of the polynomial at a byte address.
  function automatic logic [W-1:0] get(input int unsigned address, input int unsigned i);
    int unsigned bit_at = address * 8 + i * W;
    int unsigned word = bit_at / 64;
    logic [127:0] pair = {mem[word+1], mem[word]};
    return W'(pair >> (bit_at % 64));
  endfunction
  function automatic void put(input int unsigned address, input int unsigned i, input logic [W-1:0] x);
    int unsigned bit_at = address * 8 + i * W;
    int unsigned word = bit_at / 64;
    logic [127:0] mask = 128'((W + 1)'(1 << W) - 1'b1) << (bit_at % 64);
    logic [127:0] pair = ({mem[word+1], mem[word]} & ~mask) | 128'(x) << (bit_at % 64);
    {mem[word+1], mem[word]} = pair;
  endfunction

  assign rst_n = age_q > 4;
  assign none = '{default: '0};
  assign quiet = 64'(seed_q[15:8]) < list[2*program_q+1];
  always_comb begin
    rd_ready = '0;
    rd_ready[FetchClient] = fetch_left_q == 0;
    if (rd_req[StreamClient].valid) rd_ready[StreamClient] = 1'b1;
    else rd_ready[LoadClient] = 1'b1;
  end
  assign wr_ready = write_left_q == 0;
  assign wr_data_ready = write_left_q != 0 && !quiet;
  assign copy_ready = copy_wait_q == 0;

  always_ff @(posedge clk_i) begin
    cycle_q <= cycle_q + 1;
    age_q <= age_q + 1;
    seed_q <= seed_q * 1664525 + 1013904223;
    row_valid_q <= '0;
    line_valid_q <= 1'b0;
    wr_ack_q <= 1'b0;

    // Instructions.
    if (rd_req[FetchClient].valid && rd_ready[FetchClient]) begin
      fetch_left_q <= 32'(rd_req[FetchClient].beats);
      fetch_at_q <= 32'(rd_req[FetchClient].addr) / 8;
      fetch_wait_q <= Latency;
    end else if (fetch_wait_q != 0) fetch_wait_q <= fetch_wait_q - 1;
    else if (fetch_left_q != 0) begin
      line_valid_q <= 1'b1;
      for (int unsigned l = 0; l < Lanes; l++) line_q[64*l+:64] <= mem[fetch_at_q+l];
      fetch_at_q <= fetch_at_q + Lanes;
      fetch_left_q <= fetch_left_q - 1;
    end

    // Rows.
    for (int unsigned c = LoadClient; c <= StreamClient; c++)
      if (rst_n && rd_req[c].valid && rd_ready[c])
        reads.push_back('{c == StreamClient, rd_req[c].addr, rd_req[c].beats, cycle_q + Latency});
    if (reads.size() != 0 && reads[0].from <= cycle_q && !quiet) begin
      row_valid_q[reads[0].stream] <= 1'b1;
      for (int unsigned l = 0; l < Lanes; l++) row[l] <= get(32'(reads[0].addr), row_q * Lanes + l);
      row_q <= row_q + 1;
      if (row_q + 1 == 32'(reads[0].beats)) begin
        row_q <= 0;
        void'(reads.pop_front());
      end
    end

    // Stores.
    if (wr_req.valid && wr_ready) begin
      write_left_q <= 32'(wr_req.beats);
      write_at_q <= 32'(wr_req.addr);
      written_q <= 0;
    end
    if (wr_valid && wr_data_ready) begin
      for (int unsigned l = 0; l < Lanes; l++) put(write_at_q, written_q * Lanes + l, wr_row[l]);
      written_q <= written_q + 1;
      write_left_q <= write_left_q - 1;
      wr_ack_q <= write_left_q == 1;
    end

    // Copies: all at once, some time later.
    if (copy_valid && copy_ready) begin
      for (int unsigned i = 0; i < (32'(rows) * Lanes * W + 63) / 64; i++)
        mem[32'(copy_addr) / 8 + i] <= far[32'(copy_far) / 8 + i];
      copy_wait_q <= 3 * Latency;
    end else if (copy_wait_q != 0) copy_wait_q <= copy_wait_q - 1;

    if (!rst_n) begin
      fetch_left_q <= 0;
      fetch_wait_q <= 0;
      write_left_q <= 0;
      copy_wait_q <= 0;
      row_q <= 0;
      reads.delete();
    end
    if (age_q > 20 && (pe_done || error != ErrNone)) begin
      cycles[program_q] <= 64'(age_q - 8) | 64'(error) << 60;
      program_q <= program_q + 1;
      age_q <= 0;
    end
    if (list[2*program_q] == 0) begin
      $writememh({Image, ".out"}, mem);
      $writememh({Image, ".cycles"}, cycles);
      done_o <= 1'b1;
    end
  end
  initial begin
    seed_q = 1;
    $readmemh(Image, mem);
    $readmemh({Image, ".far"}, far);
    $readmemh({Image, ".programs"}, list);
  end

  localparam int unsigned Rows[4] = '{BankRows, BankRows, BankRows, LastBankRows};
  /* verilator lint_off PINCONNECTEMPTY */
  vector_shared_pe #(
      .W(W), .Lanes(Lanes), .Banks(4), .BankRows(Rows), .TwiddleRows(TwiddleRows), .MinLogN(MinLogN),
      .MaxLogN(MaxLogN), .StreamRows(StreamRows), .Pes(2), .Kind(Kind), .Twin(1'b1), .SpnRegisters(SpnRegisters)
  ) u_pe (
      .clk_i, .rst_ni(rst_n), .start_i(age_q == 8), .halt_i(1'b0), .index_i('0),
      .program_i(AddrW'(list[2*program_q])), .done_o(pe_done), .error_o(error), .pc_o(), .rows_o(rows),
      .rd_req_o(rd_req), .rd_ready_i(rd_ready), .line_valid_i(line_valid_q), .line_i(line_q),
      .row_valid_i(row_valid_q), .row_i(row), .wr_req_o(wr_req), .wr_ready_i(wr_ready), .wr_valid_o(wr_valid),
      .wr_data_ready_i(wr_data_ready), .wr_row_o(wr_row), .wr_ack_i(wr_ack_q), .copy_valid_o(copy_valid),
      .copy_ready_i(copy_ready), .copy_addr_o(copy_addr), .copy_far_o(copy_far),
      .copies_pending_i(copy_wait_q != 0), .send_o(), .send_mask_o(), .send_go_i(1'b0), .recv_o(), .recv_src_o(),
      .recv_valid_i(1'b0), .recv_i(none), .bus_valid_o(), .bus_row_o(), .sync_o(), .sync_scope_o(), .sync_go_i(1'b0)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
