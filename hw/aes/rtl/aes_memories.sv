// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The words on chip: X[0..3] of N words each, S[0..3] of N/2 in one buffer, K[0..1] of N in another.
//
// Function    An engine reads two wide rows of different X, and rows of S and K, and writes one of X. MOVE reads narrow
//             rows of S and X and writes X; LOAD writes narrow rows of each; STORE reads X. Who uses which X in a cycle
//             is for programs to arrange: a buffer's read port and its write port each have one user (asserted).
// Latency     reads 2 cycles
// Throughput  what the ports of aes_buffer allow: one read and one write a cycle of each X, of S and of K
// Ranges      rows within a buffer or slot; a cycle does not read what it writes

module aes_memories
  import aes_pkg::*;
#(
    parameter int unsigned Lanes = 256,
    parameter int unsigned MaxLogN = 16,
    parameter bit Packed = 1'b1,
    localparam int unsigned RowW = MaxLogN - $clog2(Lanes),
    localparam int unsigned NarrowRowW = MaxLogN - $clog2(NarrowWords)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // The engine
    input  logic [1:0]            x_re_i,
    input  logic [1:0][1:0]       x_rbuf_i,
    input  logic [1:0][RowW-1:0]  x_rrow_i,
    output logic [WordW-1:0]      x_rdata_o [2][Lanes],
    input  logic                  x_we_i,
    input  logic [1:0]            x_wbuf_i,
    input  logic [RowW-1:0]       x_wrow_i,
    input  logic [Lanes-1:0]      x_wmask_i,
    input  logic [WordW-1:0]      x_wdata_i [Lanes],
    input  logic                  s_re_i,
    input  logic [1:0]            s_slot_i,
    input  logic [RowW-2:0]       s_row_i,
    output logic [WordW-1:0]      s_rdata_o [Lanes],
    input  logic                  k_re_i,
    input  logic                  k_slot_i,
    input  logic [RowW-1:0]       k_row_i,
    output logic [WordW-1:0]      k_rdata_o [Lanes],
    // MOVE
    input  logic                  move_s_re_i,
    input  logic [1:0]            move_s_slot_i,
    input  logic [NarrowRowW-2:0] move_s_row_i,
    output logic [WordW-1:0]      move_s_rdata_o [NarrowWords],
    input  logic                  move_x_re_i,
    input  logic [1:0]            move_x_rbuf_i,
    input  logic [NarrowRowW-1:0] move_x_rrow_i,
    output logic [WordW-1:0]      move_x_rdata_o [NarrowWords],
    input  logic                  move_x_we_i,
    input  logic [1:0]            move_x_wbuf_i,
    input  logic [NarrowRowW-1:0] move_x_wrow_i,
    input  logic [WordW-1:0]      move_x_wdata_i [NarrowWords],
    // LOAD
    input  logic                  load_s_we_i,
    input  logic [1:0]            load_s_slot_i,
    input  logic [NarrowRowW-2:0] load_s_row_i,
    input  logic [WordW-1:0]      load_s_wdata_i [NarrowWords],
    input  logic                  load_x_we_i,
    input  logic [1:0]            load_x_buf_i,
    input  logic [NarrowRowW-1:0] load_x_row_i,
    input  logic [WordW-1:0]      load_x_wdata_i [NarrowWords],
    input  logic                  load_k_we_i,
    input  logic                  load_k_slot_i,
    input  logic [NarrowRowW-1:0] load_k_row_i,
    input  logic [WordW-1:0]      load_k_wdata_i [NarrowWords],
    // STORE
    input  logic                  store_re_i,
    input  logic [1:0]            store_buf_i,
    input  logic [NarrowRowW-1:0] store_row_i,
    output logic [WordW-1:0]      store_rdata_o [NarrowWords]
);
  if (RowW < 2) begin : g_check
    $error("aes_memories: a buffer has 4 wide rows at least");
  end

  // ---- X -------------------------------------------------------------------------------------------
  logic [WordW-1:0] wide   [Buffers][Lanes];
  logic [WordW-1:0] narrow [Buffers][NarrowWords];

  // Which buffer a read asked, as far behind it as its data.
  logic [1:0][1:0] buf_q, pick_q;
  logic [1:0]      move_buf_q, move_pick_q, store_buf_q, store_pick_q;

  always_ff @(posedge clk_i) begin
    buf_q <= x_rbuf_i;
    pick_q <= buf_q;
    move_buf_q <= move_x_rbuf_i;
    move_pick_q <= move_buf_q;
    store_buf_q <= store_buf_i;
    store_pick_q <= store_buf_q;
  end

  for (genvar p = 0; p < 2; p++) begin : g_port
    assign x_rdata_o[p] = wide[pick_q[p]];
  end
  assign move_x_rdata_o = narrow[move_pick_q];
  assign store_rdata_o = narrow[store_pick_q];

  for (genvar b = 0; b < Buffers; b++) begin : g_x
    logic [1:0]       re;
    logic             move_re, store_re, we, move_we, load_we;
    logic [WordW-1:0] wdata [NarrowWords];

    for (genvar p = 0; p < 2; p++) begin : g_re
      assign re[p] = x_re_i[p] && x_rbuf_i[p] == 2'(b);
    end
    assign move_re = move_x_re_i && move_x_rbuf_i == 2'(b);
    assign store_re = store_re_i && store_buf_i == 2'(b);
    assign we = x_we_i && x_wbuf_i == 2'(b);
    assign move_we = move_x_we_i && move_x_wbuf_i == 2'(b);
    assign load_we = load_x_we_i && load_x_buf_i == 2'(b);

    always_comb begin
      if (move_we) wdata = move_x_wdata_i;
      else wdata = load_x_wdata_i;
    end

    aes_buffer #(
        .Lanes(Lanes), .RowW(RowW), .Packed(Packed)
    ) u_buffer (
        .clk_i, .wide_re_i(re != '0), .wide_raddr_i(re[0] ? x_rrow_i[0] : x_rrow_i[1]), .wide_rdata_o(wide[b]),
        .wide_we_i(we), .wide_waddr_i(x_wrow_i), .wide_wmask_i(x_wmask_i), .wide_wdata_i(x_wdata_i),
        .re_i(move_re || store_re), .raddr_i(move_re ? move_x_rrow_i : store_row_i), .rdata_o(narrow[b]),
        .we_i(move_we || load_we), .waddr_i(move_we ? move_x_wrow_i : load_x_row_i),
        .wdata_i(wdata)
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i)
      if (rst_ni) begin
        assert ($countones({re, move_re, store_re}) < 2) else $error("X[%0d] is read by two users", b);
        assert ($countones({we, move_we, load_we}) < 2) else $error("X[%0d] is written by two users", b);
      end
`endif
  end

  // ---- S and K -------------------------------------------------------------------------------------
  logic [WordW-1:0] unused_k [NarrowWords];
  logic [WordW-1:0] none     [Lanes];
  assign none = '{default: '0};

  aes_buffer #(
      .Lanes(Lanes), .RowW(RowW + 1), .Packed(Packed)
  ) u_s (
      .clk_i, .wide_re_i(s_re_i), .wide_raddr_i({s_slot_i, s_row_i}), .wide_rdata_o(s_rdata_o), .wide_we_i(1'b0),
      .wide_waddr_i('0), .wide_wmask_i('0), .wide_wdata_i(none), .re_i(move_s_re_i),
      .raddr_i({move_s_slot_i, move_s_row_i}), .rdata_o(move_s_rdata_o), .we_i(load_s_we_i),
      .waddr_i({load_s_slot_i, load_s_row_i}), .wdata_i(load_s_wdata_i)
  );

  aes_buffer #(
      .Lanes(Lanes), .RowW(RowW + 1), .Packed(Packed)
  ) u_k (
      .clk_i, .wide_re_i(k_re_i), .wide_raddr_i({k_slot_i, k_row_i}), .wide_rdata_o(k_rdata_o), .wide_we_i(1'b0),
      .wide_waddr_i('0), .wide_wmask_i('0), .wide_wdata_i(none), .re_i(1'b0), .raddr_i('0), .rdata_o(unused_k),
      .we_i(load_k_we_i), .waddr_i({load_k_slot_i, load_k_row_i}), .wdata_i(load_k_wdata_i)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) assert (!(s_re_i && move_s_re_i)) else $error("S is read by two users");
`endif

  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int unsigned l = 0; l < NarrowWords; l++) unused ^= ^unused_k[l];
  end
endmodule
