// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// STORE unit: a limb of every active way's buffers to memory, with the limb of another address added if asked.
//
// Function    memory at addr0 + v * stride0 <- X[src] of way v, shifted back; with `add` plus the limb at
//             addr1 + v * stride1, modulo the modulus of entry `mod`.
// Latency     8 cycles from a command to its first row, and memory's; done_o when all rows were acknowledged
// Throughput  a row a cycle and way, each way at its own pace
// Ranges      residues in [0, q) on both sides; cmd_i is taken in the cycle with cmd_valid_i and cmd_ready_o
// Streams     reads as omr_read, writes as omr_write: one request of a limb's rows each

module omr_store
  import omr_pkg::*;
#(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Ways = 1,
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowsW = MaxLogN + 1,
    localparam int unsigned RowBits = MaxLogN - $clog2(Lanes),
    localparam int unsigned RowW = 64 * Lanes
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic [LogW-1:0]            log_n_i,
    input  logic                       cmd_valid_i,
    output logic                       cmd_ready_o,
    input  instr_t                     cmd_i,
    output logic                       done_o,

    output logic [ModulusIndexW-1:0]   modulus_index_o,
    input  logic [W-1:0]               q_i     [Ways],
    input  logic [2:0]                 shift_i [Ways],

    output logic [Ways-1:0]            x_re_o,
    output logic [7:0]                 buffer_o,
    output logic [RowBits-1:0]         x_raddr_o [Ways],
    input  logic [W-1:0]               x_rdata_i [Ways][Lanes],

    output logic [Ways-1:0]            rd_valid_o,
    input  logic [Ways-1:0]            rd_ready_i,
    output logic [Ways-1:0][AddrW-1:0] rd_addr_o,
    output logic [Ways-1:0][RowsW-1:0] rd_rows_o,
    input  logic [Ways-1:0]            row_valid_i,
    output logic [Ways-1:0]            row_ready_o,
    input  logic [Ways-1:0][RowW-1:0]  row_i,

    output logic [Ways-1:0]            wr_valid_o,
    input  logic [Ways-1:0]            wr_ready_i,
    output logic [Ways-1:0][AddrW-1:0] wr_addr_o,
    output logic [Ways-1:0][RowsW-1:0] wr_rows_o,
    output logic [Ways-1:0]            wr_row_valid_o,
    input  logic [Ways-1:0]            wr_row_ready_i,
    output logic [Ways-1:0][RowW-1:0]  wr_row_o,
    input  logic [Ways-1:0]            wr_acked_i
);
  localparam int unsigned LogLanes = $clog2(Lanes);
  // Rows that were read and have not gone: those on their way from the banks, and some to bridge a memory's pause.
  localparam int unsigned Depth = 8;
  localparam int unsigned RoomW = $clog2(Depth + 1);

  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t           cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic             take, busy_q, first_q, second_q;
  logic [Ways-1:0]  open_q;      // not yet acknowledged
  logic [RowsW-1:0] limb_rows;

  assign take = cmd_valid_i && cmd_ready_o;
  assign cmd_ready_o = !busy_q;
  assign modulus_index_o = cmd_q.mod[ModulusIndexW-1:0];
  assign buffer_o = cmd_q.src;
  assign limb_rows = RowsW'(32'd1 << (log_n_i - LogW'(LogLanes)));

  // ---- Sequence ------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (take) cmd_q <= cmd_i;
    first_q <= take && rst_ni;
    second_q <= first_q && rst_ni;   // the modulus is there
    if (!rst_ni) begin
      busy_q <= 1'b0;
    end else if (take) begin
      busy_q <= 1'b1;
    end else if (busy_q && !first_q && !second_q && open_q == '0) begin
      busy_q <= 1'b0;
      done_o <= 1'b1;
    end
  end

  for (genvar v = 0; v < Ways; v++) begin : g_way
    logic               ask_rd_q, ask_wr_q, active;
    logic [RowsW-1:0]   left_q;      // rows to be read
    logic [RowBits-1:0] at_q;
    logic [RoomW-1:0]   room_q;
    logic               re, landed_q, there_q, pop;
    logic [W-1:0]       q_q;         // unshifted
    logic [Lanes*W-1:0] in_row, held;
    logic               in_valid_q, held_valid, held_ready, out_valid_q;
    logic [W-1:0]       out_q [Lanes];
    logic [Lanes*W-1:0] in_q;

    assign active = cmd_q.ways[v];

    // Requests
    assign rd_valid_o[v] = ask_rd_q;
    assign rd_addr_o[v] = AddrW'(cmd_q.addr1 + AddrW'(v) * cmd_q.stride1);
    assign rd_rows_o[v] = limb_rows;
    assign wr_valid_o[v] = ask_wr_q;
    assign wr_addr_o[v] = AddrW'(cmd_q.addr0 + AddrW'(v) * cmd_q.stride0);
    assign wr_rows_o[v] = limb_rows;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        ask_rd_q <= 1'b0;
        ask_wr_q <= 1'b0;
        open_q[v] <= 1'b0;
      end else begin
        if (rd_ready_i[v]) ask_rd_q <= 1'b0;
        if (wr_ready_i[v]) ask_wr_q <= 1'b0;
        if (wr_acked_i[v]) open_q[v] <= 1'b0;
        if (second_q && active) begin
          ask_rd_q <= cmd_q.add;
          ask_wr_q <= 1'b1;
          open_q[v] <= 1'b1;
        end
      end
      if (second_q) q_q <= q_i[v] >> shift_i[v];
    end

    // Reads of the buffer, as far as there is room
    assign re = left_q != '0 && room_q != '0;
    assign x_re_o[v] = re;
    assign x_raddr_o[v] = at_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        left_q <= '0;
        room_q <= RoomW'(Depth);
        landed_q <= 1'b0;
        there_q <= 1'b0;
        in_valid_q <= 1'b0;
      end else begin
        if (second_q && active) left_q <= limb_rows;
        else if (re) left_q <= left_q - 1'b1;
        room_q <= room_q - RoomW'(re) + RoomW'(pop);
        landed_q <= re;
        there_q <= landed_q;
        in_valid_q <= there_q;
      end
      if (second_q) at_q <= '0;
      else if (re) at_q <= at_q + 1'b1;
      if (there_q) in_q <= in_row;
    end
    always_comb
      for (int unsigned l = 0; l < Lanes; l++) in_row[l*W+:W] = x_rdata_i[v][l] >> shift_i[v];

    logic unused_ready;
    logic [RoomW-1:0] unused_count;
    rf_fifo #(
        .Width(Lanes * W), .Depth(Depth)
    ) u_rows (
        .clk_i, .rst_ni, .valid_i(in_valid_q), .ready_o(unused_ready), .data_i(in_q), .valid_o(held_valid),
        .ready_i(held_ready), .data_o(held), .count_o(unused_count)
    );

    // The other limb, and the way out
    assign pop = held_valid && held_ready;
    assign held_ready = (!out_valid_q || wr_row_ready_i[v]) && (!cmd_q.add || row_valid_i[v]);
    assign row_ready_o[v] = cmd_q.add && pop;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) out_valid_q <= 1'b0;
      else if (!out_valid_q || wr_row_ready_i[v]) out_valid_q <= pop;
      if (pop)
        for (int unsigned l = 0; l < Lanes; l++) begin
          automatic logic [W:0] sum =
              {1'b0, held[l*W+:W]} + (cmd_q.add ? {1'b0, row_i[v][l*64+:W]} : (W+1)'(0));
          automatic logic [W+1:0] less = {1'b0, sum} - {2'b0, q_q};
          out_q[l] <= cmd_q.add && !less[W+1] ? less[W-1:0] : sum[W-1:0];
        end
    end
    assign wr_row_valid_o[v] = out_valid_q;
    always_comb begin
      wr_row_o[v] = '0;
      for (int unsigned l = 0; l < Lanes; l++) wr_row_o[v][l*64+:W] = out_q[l];
    end

    if (64 > W) begin : g_upper
      logic unused_row;
      always_comb begin
        unused_row = 1'b0;
        for (int unsigned l = 0; l < Lanes; l++) unused_row = unused_row ^ ^row_i[v][l*64+W+:64-W];
      end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i)
      if (rst_ni) assert (!in_valid_q || unused_ready) else $error("more rows than there is room for");
`endif
  end
endmodule
