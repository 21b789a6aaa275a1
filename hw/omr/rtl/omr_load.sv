// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LOAD unit: limbs and twiddle tables from memory into every active way's buffers, and the tables of one way.
//
// Function    LOADX: a limb at addr0 + v * stride0 into buffer dst of way v, shifted left as the modulus of entry `mod`
//             says. LOADT: the same into twiddle table dst, unshifted. LOADC, LOADM: words at addr0, read over way 0's
//             stream, into the tables of way src: count constants from k on; count moduli from mod on, of four words
//             each: the shifted modulus, the cells' constant, the shift, and the modulus itself, which is not kept.
// Latency     memory's, and 3 cycles beside the rows
// Throughput  LOADX, LOADT: a row a cycle and way, each way at its own pace; LOADC, LOADM: a word a cycle
// Ranges      cmd_i is taken in the cycle with cmd_valid_i and cmd_ready_o; done_o: everything is written
// Reads       stream v as omr_read: one request of a limb's rows

module omr_load
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
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [LogW-1:0]               log_n_i,
    input  logic                          cmd_valid_i,
    output logic                          cmd_ready_o,
    input  instr_t                        cmd_i,
    output logic                          done_o,

    output logic [Ways-1:0]               rd_valid_o,
    input  logic [Ways-1:0]               rd_ready_i,
    output logic [Ways-1:0][AddrW-1:0]    rd_addr_o,
    output logic [Ways-1:0][RowsW-1:0]    rd_rows_o,
    input  logic [Ways-1:0]               row_valid_i,
    output logic [Ways-1:0]               row_ready_o,
    input  logic [Ways-1:0][RowW-1:0]     row_i,

    output logic [ModulusIndexW-1:0]      modulus_index_o,
    input  logic [2:0]                    shift_i [Ways],

    output logic [Ways-1:0]               x_we_o,
    output logic [Ways-1:0]               t_we_o,
    output logic [7:0]                    buffer_o,
    output logic [RowBits-1:0]            waddr_o [Ways],
    output logic [W-1:0]                  wdata_o [Ways][Lanes],

    output logic [Ways-1:0]               modulus_we_o,
    output logic [ModulusIndexW-1:0]      modulus_waddr_o,
    output logic [W-1:0]                  modulus_q_o,
    output logic [63:0]                   modulus_k_o,
    output logic [2:0]                    modulus_shift_o,
    output logic [Ways-1:0]               constant_we_o,
    output logic [ConstantIndexW-1:0]     constant_waddr_o,
    output logic [W-1:0]                  constant_o
);
  localparam int unsigned LogLanes = $clog2(Lanes);
  localparam int unsigned LaneBits = Lanes > 1 ? LogLanes : 1;
  localparam int unsigned WordsW = 19;   // of a table: four words for each entry of a count of 16 bits

  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t          cmd_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic            take, busy_q, first_q, words, taken_last;
  logic [Ways-1:0] ask_q, left, writing;
  logic [RowsW-1:0] limb_rows, table_rows;

  assign take = cmd_valid_i && cmd_ready_o;
  assign cmd_ready_o = !busy_q;
  assign modulus_index_o = cmd_q.mod[ModulusIndexW-1:0];
  assign buffer_o = cmd_q.dst;
  assign words = cmd_q.op == OpLoadC || cmd_q.op == OpLoadM;
  assign limb_rows = RowsW'(32'd1 << (log_n_i - LogW'(LogLanes)));

  // ---- Words of tables -----------------------------------------------------------------------------
  logic [WordsW-1:0] all_words, word_q;   // word_q: the one at hand
  logic [63:0]       word;
  logic [63:0]       parts_q [3];         // of an entry of moduli
  logic              word_now, word_last, row_end;
  logic [LaneBits-1:0] lane;

  assign all_words = cmd_q.op == OpLoadM ? {1'b0, cmd_q.count, 2'b00} : WordsW'(cmd_q.count);
  assign table_rows = RowsW'((32'(all_words) + Lanes - 1) >> LogLanes);
  assign lane = word_q[LaneBits-1:0];
  assign word = row_i[0][32'(lane)*64+:64];
  assign word_now = words && left[0] && row_valid_i[0];
  assign word_last = word_q == all_words - 1'b1;
  assign row_end = lane == LaneBits'(Lanes - 1) || word_last;

  always_ff @(posedge clk_i) begin
    modulus_we_o <= '0;
    constant_we_o <= '0;
    if (take) word_q <= '0;
    else if (word_now) word_q <= word_q + 1'b1;
    if (word_now) begin
      parts_q <= '{parts_q[1], parts_q[2], word};
      constant_o <= word[W-1:0];
      constant_waddr_o <= ConstantIndexW'(WordsW'(cmd_q.k) + word_q);
      modulus_waddr_o <= ModulusIndexW'(WordsW'(cmd_q.mod) + (word_q >> 2));
      modulus_q_o <= parts_q[0][W-1:0];
      modulus_k_o <= parts_q[1];
      modulus_shift_o <= parts_q[2][2:0];
      for (int unsigned v = 0; v < Ways; v++) begin
        constant_we_o[v] <= rst_ni && cmd_q.op == OpLoadC && cmd_q.src == 8'(v);
        modulus_we_o[v] <= rst_ni && cmd_q.op == OpLoadM && cmd_q.src == 8'(v) && word_q[1:0] == 2'd3;
      end
    end
  end

  logic unused;
  assign unused = ^{parts_q[0][63:W], parts_q[2][63:3], word[63:W]};

  // ---- Rows of limbs -------------------------------------------------------------------------------
  assign taken_last = left == '0 && ask_q == '0;

  for (genvar v = 0; v < Ways; v++) begin : g_way
    logic [RowsW-1:0]   left_q;
    logic [RowBits-1:0] at_q;
    logic               got, got_q, late_q;

    assign left[v] = left_q != '0;
    assign writing[v] = got_q || late_q;
    assign rd_valid_o[v] = ask_q[v];
    assign rd_addr_o[v] = words ? cmd_q.addr0 : AddrW'(cmd_q.addr0 + AddrW'(v) * cmd_q.stride0);
    assign rd_rows_o[v] = words ? table_rows : limb_rows;
    assign row_ready_o[v] = left[v] && (words ? v == 0 && row_end : 1'b1);
    assign got = !words && left[v] && row_valid_i[v];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        ask_q[v] <= 1'b0;
        left_q <= '0;
      end else if (first_q) begin
        ask_q[v] <= words ? v == 0 : cmd_q.ways[v];
        left_q <= words ? (v == 0 ? table_rows : '0) : (cmd_q.ways[v] ? limb_rows : '0);
      end else begin
        if (rd_ready_i[v]) ask_q[v] <= 1'b0;
        if (row_valid_i[v] && row_ready_o[v]) left_q <= left_q - 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      got_q <= got && rst_ni;
      late_q <= got_q;      // one more cycle, in which the banks take the row
      if (first_q) at_q <= '0;
      else if (got_q) at_q <= at_q + 1'b1;
      if (got)
        for (int unsigned l = 0; l < Lanes; l++)
          wdata_o[v][l] <= row_i[v][l*64+:W] << (cmd_q.op == OpLoadX ? shift_i[v] : 3'd0);
    end
    assign waddr_o[v] = at_q;
    assign x_we_o[v] = got_q && cmd_q.op == OpLoadX;
    assign t_we_o[v] = got_q && cmd_q.op == OpLoadT;

    if (64 > W) begin : g_upper
      logic unused_row;
      always_comb begin
        unused_row = 1'b0;
        for (int unsigned l = 0; l < Lanes; l++) unused_row = unused_row ^ ^row_i[v][l*64+W+:64-W];
      end
    end
  end

  // ---- Sequence ------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (take) cmd_q <= cmd_i;
    first_q <= take && rst_ni;    // the shift of `mod` comes with the next cycle
    if (!rst_ni) begin
      busy_q <= 1'b0;
    end else if (take) begin
      busy_q <= 1'b1;
    end else if (busy_q && !first_q && taken_last && writing == '0 && modulus_we_o == '0 && constant_we_o == '0) begin
      busy_q <= 1'b0;
      done_o <= 1'b1;
    end
  end
endmodule
