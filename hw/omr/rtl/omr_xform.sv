// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// XFORM unit of one way, with the wide buffers and the twiddle tables that it works on.
//
// Function    NTT, INTT (with the factor 1/N) of X[src] into X[dst] with twiddle table `bank`, modulo the modulus of
//             entry `mod`; AUTO: X[dst] = X[src] under X -> X^element in evaluation form, dst not src. All ways get
//             the same commands and stay in step; one that is not active writes nothing. Other units read and write
//             rows of Lanes words: Readers read ports, Writers write ports, each with its buffer's number.
// Latency     rows of the buffers come 2 cycles after they are asked for
// Cycles      3 and those of rf_transform: log2(N) * N / Wide + Drain for a transform (27 without registers in the
//             networks), N / Wide + 8 for an automorphism
// Throughput  a row a cycle and port; a buffer has one read and one write port, which one unit at a time uses
// Ranges      N at least 8 * Wide; ports' buffers below Buffers; commands as omr_load takes them

module omr_xform
  import omr_pkg::*;
#(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Butterflies = 64,
    parameter int unsigned Buffers = 6,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    parameter int unsigned Readers = 4,
    parameter int unsigned Writers = 5,
    localparam int unsigned Wide = 2 * Butterflies,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowBits = MaxLogN - $clog2(Lanes),
    localparam int unsigned WideBits = MaxLogN - $clog2(Wide)
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic [LogW-1:0]           log_n_i,
    input  logic                      cmd_valid_i,
    output logic                      cmd_ready_o,
    input  instr_t                    cmd_i,
    input  logic                      active_i,     // with the command: this way is one of its ways
    output logic                      done_o,

    output logic [ModulusIndexW-1:0]  modulus_index_o,
    input  logic [W-1:0]              q_i,
    input  logic [63:0]               k_i,
    input  logic [2:0]                shift_i,

    input  logic [Readers-1:0]        re_i,
    input  logic [7:0]                rbuffer_i [Readers],
    input  logic [RowBits-1:0]        raddr_i   [Readers],
    output logic [W-1:0]              rdata_o   [Readers][Lanes],
    input  logic [Writers-1:0]        we_i,
    input  logic [7:0]                wbuffer_i [Writers],
    input  logic [RowBits-1:0]        waddr_i   [Writers],
    input  logic [W-1:0]              wdata_i   [Writers][Lanes],
    input  logic                      t_we_i,
    input  logic                      t_buffer_i,
    input  logic [RowBits-1:0]        t_waddr_i,
    input  logic [W-1:0]              t_wdata_i [Lanes]
);
  localparam int unsigned BufferBits = Buffers > 1 ? $clog2(Buffers) : 1;
  localparam int unsigned ReaderBits = Readers > 1 ? $clog2(Readers) : 1;
  localparam int unsigned WriterBits = Writers > 1 ? $clog2(Writers) : 1;
  localparam bit          Packed = !Twin;
  // The networks have log2(Wide) multiplexers in a row: a register in their middle from 32 words on, and there twiddles
  // are picked apart by a network as well.
  localparam bit          Long = Wide >= 32;

  if (Wide < 4 || Wide < Lanes || MaxLogN < $clog2(Wide) + 3) begin : g_check
    $error("omr_xform: a row has 4 words and Lanes at least, a limb 8 rows at least");
  end

  // ---- Sequence ------------------------------------------------------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t       cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic         take, busy_q, first_q, second_q, start_q, done, active_q;
  logic [W-1:0] q_q;
  logic [63:0]  k_q;
  logic [2:0]   shift_q;

  assign take = cmd_valid_i && cmd_ready_o;
  assign cmd_ready_o = !busy_q;
  assign modulus_index_o = cmd_q.mod[ModulusIndexW-1:0];
  assign done_o = done && busy_q;

  always_ff @(posedge clk_i) begin
    if (take) begin
      cmd_q <= cmd_i;
      active_q <= active_i;
    end
    first_q <= take && rst_ni;
    second_q <= first_q && rst_ni;
    start_q <= second_q && rst_ni;
    if (second_q) begin
      q_q <= q_i;
      k_q <= k_i;
      shift_q <= shift_i;
    end
    if (!rst_ni || done) busy_q <= 1'b0;
    else if (take) busy_q <= 1'b1;
  end

  // ---- Transform -----------------------------------------------------------------------------------
  logic                t_re, x_re, x_from_src, x_we, source_done;
  logic [1:0]          op;
  logic [WideBits-1:0] t_row, x_rrow, x_wrow;
  logic [W-1:0]        t_row_data [Wide], x_row_data [Wide], result [Wide];

  assign op = cmd_q.op == OpAuto ? 2'd2 : cmd_q.op == OpIntt ? 2'd1 : 2'd0;

  logic       unused_pair, unused_t_pair, unused_w_pair, unused_soon, unused_valid, unused_core;
  logic       unused_source;
  logic [W-1:0] unused_a [Wide], unused_b [Butterflies], no_r [Wide];
  assign no_r = '{default: '0};
  assign unused_source = source_done;

  rf_transform #(
      .W(W), .Lanes(Wide), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin), .Butterflies(Butterflies),
      .SpnRegisters(32'(Long)), .MapRegister(Long), .TwiddlePick(Long)
  ) u_transform (
      .clk_i, .rst_ni, .start_i(start_q), .op_i(op), .log_n_i(5'(log_n_i)), .g_i((MaxLogN + 1)'(cmd_q.element)),
      .lift_i(1'b0), .pair_i(1'b0), .shift_i(shift_q), .p_i('0), .q_i(q_q), .k_i(k_q), .pair_q_i('0),
      .src_done_o(source_done), .done_o(done),
      .rd_en_o(x_re), .rd_src_o(x_from_src), .rd_pair_o(unused_pair), .rd_row_o(x_rrow), .rd_data_i(x_row_data),
      .tw_en_o(t_re), .tw_pair_o(unused_t_pair), .tw_row_o(t_row), .tw_data_i(t_row_data),
      .wr_en_o(x_we), .wr_pair_o(unused_w_pair), .wr_row_o(x_wrow), .wr_data_o(result),
      .core_soon_o(unused_soon), .core_valid_o(unused_valid), .core_pair_o(unused_core), .core_a_o(unused_a),
      .core_b_o(unused_b), .core_r_i(no_r)
  );

  // ---- Twiddle tables ------------------------------------------------------------------------------
  logic [W-1:0] t_wide [Twiddles][Wide];
  for (genvar t = 0; t < Twiddles; t++) begin : g_twiddles
    logic [W-1:0] unused_rdata [Lanes];
    logic [W-1:0] none [Wide];
    assign none = '{default: '0};
    omr_buffer #(
        .W(W), .Lanes(Lanes), .Wide(Wide), .MaxLogN(MaxLogN), .Packed(Packed)
    ) u_table (
        .clk_i, .wide_re_i(t_re && cmd_q.bank[0] == 1'(t)), .wide_raddr_i(t_row), .wide_rdata_o(t_wide[t]),
        .wide_we_i(1'b0), .wide_waddr_i('0), .wide_wdata_i(none),
        .re_i(1'b0), .raddr_i('0), .rdata_o(unused_rdata),
        .we_i(t_we_i && t_buffer_i == 1'(t)), .waddr_i(t_waddr_i), .wdata_i(t_wdata_i)
    );
  end
  // An instruction keeps to one table.
  assign t_row_data = t_wide[cmd_q.bank[0]];

  // ---- Buffers -------------------------------------------------------------------------------------
  logic [W-1:0]          x_wide [Buffers][Wide];
  logic [W-1:0]          x_narrow [Buffers][Lanes];
  logic [7:0]            source;
  logic [BufferBits-1:0] wide_q, wide_pick_q;
  logic                  x_re_q;

  assign source = x_from_src ? cmd_q.src : cmd_q.dst;

  // A read's buffer goes with it.
  always_ff @(posedge clk_i) begin
    x_re_q <= x_re;
    if (x_re) wide_q <= BufferBits'(source);
    if (x_re_q) wide_pick_q <= wide_q;
  end
  assign x_row_data = x_wide[wide_pick_q];

  for (genvar r = 0; r < Readers; r++) begin : g_reader
    logic                  re_q;
    logic [BufferBits-1:0] buffer_q, pick_q;
    always_ff @(posedge clk_i) begin
      re_q <= re_i[r];
      if (re_i[r]) buffer_q <= BufferBits'(rbuffer_i[r]);
      if (re_q) pick_q <= buffer_q;
    end
    assign rdata_o[r] = x_narrow[pick_q];
  end

  for (genvar b = 0; b < Buffers; b++) begin : g_buffer
    logic [Readers-1:0]    reads;
    logic [Writers-1:0]    writes;
    logic                  wide_re, wide_we;
    logic [ReaderBits-1:0] reader;
    logic [WriterBits-1:0] writer;

    assign wide_re = x_re && source == 8'(b);
    assign wide_we = x_we && active_q && cmd_q.dst == 8'(b);
    always_comb begin
      reader = '0;
      writer = '0;
      for (int unsigned r = 0; r < Readers; r++) begin
        reads[r] = re_i[r] && rbuffer_i[r] == 8'(b);
        if (reads[r]) reader = ReaderBits'(r);
      end
      for (int unsigned w = 0; w < Writers; w++) begin
        writes[w] = we_i[w] && wbuffer_i[w] == 8'(b);
        if (writes[w]) writer = WriterBits'(w);
      end
    end

    omr_buffer #(
        .W(W), .Lanes(Lanes), .Wide(Wide), .MaxLogN(MaxLogN), .Packed(Packed)
    ) u_buffer (
        .clk_i, .wide_re_i(wide_re), .wide_raddr_i(x_rrow), .wide_rdata_o(x_wide[b]),
        .wide_we_i(wide_we), .wide_waddr_i(x_wrow), .wide_wdata_i(result),
        .re_i(reads != '0), .raddr_i(raddr_i[reader]), .rdata_o(x_narrow[b]),
        .we_i(writes != '0), .waddr_i(waddr_i[writer]), .wdata_i(wdata_i[writer])
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i)
      if (rst_ni) begin
        assert ($countones(reads) + 32'(wide_re) < 2) else $error("units read buffer %0d: %b %b", b, reads, wide_re);
        assert ($countones(writes) + 32'(wide_we) < 2) else $error("units write buffer %0d: %b %b", b, writes, wide_we);
      end
`endif
  end
endmodule
