// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// One processing element with a memory of Words words of 64 bits: reads the memory from the file Image, runs the program
// at address 0, and writes the memory to the file Image.out. Stops with an error when the element reports one.
//
// The memory serves one read burst at a time, Latency cycles after it was asked for, and one write burst at a time.
module vector_pe_bench
  import vector_pkg::*;
#(
    parameter string Image = "",
    parameter int unsigned Words = 1 << 16,
    parameter int unsigned Latency = 20,
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 32,
    parameter int unsigned BankRows = 64,
    parameter int unsigned MinLogN = 10,
    parameter int unsigned MaxLogN = 10,
    parameter int unsigned StreamRows = 32,
    parameter int unsigned BurstRows = 8,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    localparam int unsigned DataW = Lanes * 64
) (
    input  logic clk_i,
    output logic done_o
);
  logic [63:0] mem[Words];
  int unsigned cycle_q;  // counts from 0, as simulation starts
  logic rst_n;

  /* verilator lint_off UNUSEDSIGNAL */  // the memory is small
  request_t rd_req[ReadClients], wr_req;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [ReadClients-1:0] rd_ready, rd_valid_q;
  logic [DataW-1:0] rd_data_q, wr_data;
  logic wr_ready, wr_valid, wr_data_ready, wr_ack_q, pe_done;
  logic [W-1:0] none[Lanes];
  error_e error;

  // Read: the lowest client that asks.
  logic [$clog2(ReadClients)-1:0] rd_client_q;
  int unsigned rd_left_q, rd_wait_q, rd_at_q, wr_left_q, wr_at_q;

  assign rst_n = cycle_q > 4;
  assign none = '{default: '0};
  always_comb begin
    rd_ready = '0;
    if (rd_left_q == 0)
      for (int c = int'(ReadClients) - 1; c >= 0; c--) if (rd_req[c].valid) rd_ready = ReadClients'(1) << c;
  end
  assign wr_ready = wr_left_q == 0;
  assign wr_data_ready = wr_left_q != 0;

  always_ff @(posedge clk_i) begin
    cycle_q <= cycle_q + 1;
    rd_valid_q <= '0;
    wr_ack_q <= 1'b0;
    for (int unsigned c = 0; c < ReadClients; c++)
      if (rd_req[c].valid && rd_ready[c]) begin
        rd_client_q <= $bits(rd_client_q)'(c);
        rd_left_q <= 32'(rd_req[c].beats);
        rd_at_q <= 32'(rd_req[c].addr >> 3);
        rd_wait_q <= Latency;
        if (32'(rd_req[c].addr[11:0]) + 32'(rd_req[c].beats) * DataW / 8 > BurstBytes) $fatal(1, "a burst is too long");
      end
    if (rd_left_q != 0) begin
      if (rd_wait_q != 0) rd_wait_q <= rd_wait_q - 1;
      else begin
        rd_valid_q[rd_client_q] <= 1'b1;
        for (int unsigned l = 0; l < Lanes; l++) rd_data_q[64*l+:64] <= mem[rd_at_q+l];
        rd_at_q <= rd_at_q + Lanes;
        rd_left_q <= rd_left_q - 1;
      end
    end
    if (wr_req.valid && wr_ready) begin
      wr_left_q <= 32'(wr_req.beats);
      wr_at_q <= 32'(wr_req.addr >> 3);
    end
    if (wr_valid && wr_data_ready) begin
      for (int unsigned l = 0; l < Lanes; l++) mem[wr_at_q+l] <= wr_data[64*l+:64];
      wr_at_q <= wr_at_q + Lanes;
      wr_left_q <= wr_left_q - 1;
      wr_ack_q <= wr_left_q == 1;
    end
    if (!rst_n) begin
      rd_left_q <= '0;
      wr_left_q <= '0;
    end
    if (error != ErrNone && rst_n) $fatal(1, "the element reports error %0d", error);
    if (pe_done && cycle_q > 20) begin
      $writememh({Image, ".out"}, mem);
      done_o <= 1'b1;
    end
  end
  initial $readmemh(Image, mem);

  /* verilator lint_off PINCONNECTEMPTY */
  vector_pe #(
      .W(W), .Lanes(Lanes), .Banks(3), .BankRows(BankRows), .TwiddleRows(BankRows), .MinLogN(MinLogN),
      .MaxLogN(MaxLogN), .StreamRows(StreamRows), .BurstRows(BurstRows), .Pes(1), .Kind(Kind), .Twin(1'b1)
  ) u_pe (
      .clk_i, .rst_ni(rst_n), .start_i(cycle_q == 8), .halt_i(1'b0), .index_i('0), .program_i('0), .done_o(pe_done),
      .error_o(error), .pc_o(), .rows_o(), .rd_req_o(rd_req), .rd_ready_i(rd_ready), .rd_valid_i(rd_valid_q),
      .rd_data_i(rd_data_q), .wr_req_o(wr_req), .wr_ready_i(wr_ready), .wr_valid_o(wr_valid),
      .wr_data_ready_i(wr_data_ready), .wr_data_o(wr_data), .wr_ack_i(wr_ack_q), .send_o(), .send_mask_o(),
      .send_go_i(1'b0), .recv_o(), .recv_src_o(), .recv_valid_i(1'b0), .recv_i(none), .reduce_o(), .reduce_q_o(),
      .reduce_go_i(1'b0), .reduce_valid_i(1'b0), .reduce_i(none), .row_valid_o(), .row_o(), .sync_o(),
      .sync_scope_o(), .sync_go_i(1'b0)
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
