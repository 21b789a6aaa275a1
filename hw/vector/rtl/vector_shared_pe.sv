// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Processing element whose transform unit and MAC unit share one array of ALUs (rf_alu): scratchpad banks of their own
// sizes, twiddle bank, movers, instruction fetch and sequencer.
//
//        bus          near memory: fetch, load, stream         near memory   far memory
//         |                     |      |      |                     ^             ^
//         in              sequencer  load   stream                 out          copies
//         |                            |      |                     ^
//         +----------------+-----------+      v                     |
//                          v            +-> MAC unit --> ALUs       |
//              banks 0 ... b-1 <--------+                 ^ |       |
//                          ^            +-> transform unit+ v       |
//                          +-------------------<------------+-------+
//
// A transform's row that reaches the array has priority; the MAC unit reads a row only when none will be there at the
// same time. MACs follow each other without a gap where polynomials have more rows than the array is long.
//
// Memory. Requests are {address, beats}; the machine answers those of a client in order, and takes none while halted.
//   rd_req_o[FetchClient]   beats lines of Lanes * 64 bits: line_valid_i, line_i
//   rd_req_o[LoadClient]    a polynomial of beats rows: row_valid_i[0], row_i; any pace
//   rd_req_o[StreamClient]  a polynomial of beats rows: row_valid_i[1], row_i; there is room for all of them
//   wr_req_o                a polynomial of beats rows, which follow over wr_valid_o/wr_data_ready_i; wr_ack_i once
//                           for each, when all of it is written
//   copy_*                  a polynomial (rows_o rows) from far_o of far memory to addr_o; copies_pending_i from the
//                           cycle after it was taken until it is there
// Addresses are this element's own, multiples of a line. Rows are words of W bits, not shifted.
module vector_shared_pe
  import vector_pkg::*;
  import vector_isa_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Banks = 4,
    parameter int unsigned BankRows [Banks] = '{default: 512},
    parameter int unsigned TwiddleRows = 256,
    parameter int unsigned MinLogN = 7,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned ModuliEntries = 64,
    parameter int unsigned StreamRows = 256,
    parameter int unsigned Pes = 2,
    parameter int unsigned NearBits = 32,        // bits of addresses in this element's near memory
    parameter int unsigned FarBits = 34,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned LineW = Lanes * 64
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             start_i,
    input  logic             halt_i,
    input  logic [      6:0] index_i,
    input  logic [AddrW-1:0] program_i,
    output logic             done_o,
    output error_e           error_o,
    output logic [     31:0] pc_o,
    output logic [MaxLogN-$clog2(Lanes):0] rows_o,       // rows of a polynomial
    // Near memory
    output request_t         rd_req_o      [ReadClients],
    input  logic [ReadClients-1:0] rd_ready_i,
    input  logic             line_valid_i,
    input  logic [LineW-1:0] line_i,
    input  logic [      1:0] row_valid_i,
    input  logic [    W-1:0] row_i         [Lanes],
    output request_t         wr_req_o,
    input  logic             wr_ready_i,
    output logic             wr_valid_o,
    input  logic             wr_data_ready_i,
    output logic [    W-1:0] wr_row_o      [Lanes],
    input  logic             wr_ack_i,
    // Far memory
    output logic             copy_valid_o,
    input  logic             copy_ready_i,
    output logic [AddrW-1:0] copy_addr_o,
    output logic [AddrW-1:0] copy_far_o,
    input  logic             copies_pending_i,
    // Bus of the group
    output logic             send_o,
    output logic [     31:0] send_mask_o,
    input  logic             send_go_i,
    output logic             recv_o,
    output logic [      6:0] recv_src_o,
    input  logic             recv_valid_i,
    input  logic [    W-1:0] recv_i        [Lanes],
    output logic             bus_valid_o,
    output logic [    W-1:0] bus_row_o     [Lanes],
    // Barriers
    output logic             sync_o,
    output logic [      1:0] sync_scope_o,
    input  logic             sync_go_i
);
endmodule
