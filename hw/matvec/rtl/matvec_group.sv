// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A group of processing elements with its bus. The group works on one partial sum: residue i of a ciphertext lives on
// element i mod Pes. A group barrier releases its elements in the cycle after the last one has come to it.
module matvec_group
  import vector_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Banks = 3,
    parameter int unsigned BankRows = 4096,
    parameter int unsigned TwiddleRows = 4096,
    parameter int unsigned MinLogN = 8,
    parameter int unsigned MaxLogN = 15,
    parameter int unsigned StreamRows = 512,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned Pes = 7,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned DataW = Lanes * 64,
    localparam int unsigned RowBits = MaxLogN - $clog2(Lanes)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             start_i,
    input  logic             halt_i,
    input  logic [AddrW-1:0] program_i      [Pes],
    output logic [  Pes-1:0] done_o,
    output error_e           error_o        [Pes],
    output logic [     31:0] pc_o           [Pes],
    output request_t         rd_req_o       [Pes][ReadClients],
    input  logic [ReadClients-1:0] rd_ready_i[Pes],
    input  logic [ReadClients-1:0] rd_valid_i[Pes],
    input  logic [DataW-1:0] rd_data_i      [Pes],
    output request_t         wr_req_o       [Pes],
    input  logic [  Pes-1:0] wr_ready_i,
    output logic [  Pes-1:0] wr_valid_o,
    input  logic [  Pes-1:0] wr_data_ready_i,
    output logic [DataW-1:0] wr_data_o      [Pes],
    input  logic [  Pes-1:0] wr_ack_i,
    output logic [RowBits:0] rows_o,
    output logic [  Pes-1:0] reduce_o,
    output logic [    W-1:0] reduce_q_o     [Pes],
    input  logic [  Pes-1:0] reduce_go_i,
    input  logic [  Pes-1:0] reduce_valid_i,
    input  logic [    W-1:0] reduce_i       [Lanes],
    output logic [  Pes-1:0] row_valid_o,
    output logic [    W-1:0] row_o          [Pes][Lanes],
    output logic             sync_o,                       // all elements wait for the machine
    input  logic             sync_go_i
);
  logic [Pes-1:0] send, send_go, recv, recv_valid, sync, at_group, at_machine;
  logic [31:0] send_mask[Pes];
  logic [6:0] recv_src[Pes];
  logic [1:0] scope[Pes];
  logic [W-1:0] bus_row[Lanes];
  logic [RowBits:0] rows[Pes];
  logic group_go_q;

  for (genvar i = 0; i < Pes; i++) begin : g_pes
    vector_pe #(
        .W(W), .Lanes(Lanes), .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows), .MinLogN(MinLogN),
        .MaxLogN(MaxLogN), .StreamRows(StreamRows), .BurstRows(BurstRows), .Pes(Pes), .Kind(Kind), .Twin(Twin)
    ) u_pe (
        .clk_i, .rst_ni, .start_i, .halt_i, .index_i(7'(i)), .program_i(program_i[i]), .done_o(done_o[i]),
        .error_o(error_o[i]), .pc_o(pc_o[i]), .rows_o(rows[i]),
        .rd_req_o(rd_req_o[i]), .rd_ready_i(rd_ready_i[i]), .rd_valid_i(rd_valid_i[i]), .rd_data_i(rd_data_i[i]),
        .wr_req_o(wr_req_o[i]), .wr_ready_i(wr_ready_i[i]), .wr_valid_o(wr_valid_o[i]),
        .wr_data_ready_i(wr_data_ready_i[i]), .wr_data_o(wr_data_o[i]), .wr_ack_i(wr_ack_i[i]),
        .send_o(send[i]), .send_mask_o(send_mask[i]), .send_go_i(send_go[i]), .recv_o(recv[i]),
        .recv_src_o(recv_src[i]), .recv_valid_i(recv_valid[i]), .recv_i(bus_row),
        .reduce_o(reduce_o[i]), .reduce_q_o(reduce_q_o[i]), .reduce_go_i(reduce_go_i[i]),
        .reduce_valid_i(reduce_valid_i[i]), .reduce_i, .row_valid_o(row_valid_o[i]), .row_o(row_o[i]),
        .sync_o(sync[i]), .sync_scope_o(scope[i]),
        .sync_go_i(scope[i] == vector_isa_pkg::ScopeGroup ? group_go_q : sync_go_i)
    );
  end

  assign rows_o = rows[0];
  always_comb
    for (int unsigned i = 0; i < Pes; i++) begin
      at_group[i] = sync[i] && scope[i] == vector_isa_pkg::ScopeGroup;
      at_machine[i] = sync[i] && scope[i] == vector_isa_pkg::ScopeMachine;
    end
  always_ff @(posedge clk_i) group_go_q <= rst_ni && at_group == '1 && !group_go_q;
  assign sync_o = at_machine == '1;

  vector_bus #(.W(W), .Lanes(Lanes), .Pes(Pes), .RowBits(RowBits)) u_bus (
      .clk_i, .rst_ni, .rows_i(rows[0]), .send_i(send), .mask_i(send_mask), .go_o(send_go), .recv_i(recv),
      .recv_src_i(recv_src), .row_valid_i(row_valid_o), .row_i(row_o), .valid_o(recv_valid), .row_o(bus_row)
  );
endmodule
