// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The unit of KMAC, products with a key: for the parts p = 0, 1 and each way v,
//   r_p = (init ? 0 : ACC[bank].p) + O * K_p mod q,
// with O = X[src] or (from_memory) the limb at addr0 + v * stride0, and rows of K_0 and K_1 in turn at addr1 + v * stride1.
// r_p goes to ACC[bank].p, or with to_x to X[dst + p]. With `add` nothing is multiplied and no key is asked for: O itself is
// added to part `part`, and the other part keeps what it has.
//
// Latency     16 from the reads of a row and part to the write; 3 more from a command to the first row
// Throughput  a row of Lanes words in 2 cycles, one for each part, or as the streams give them
// Ranges      ACC, X, r below q, shifted as q is; words of streams below q, not shifted; keys are operands b of
//             rf_mod_mul. Tables are read in the cycle after their index, banks two cycles after theirs. Rows of all
//             active ways are taken at once; those of O with part 0.

module omr_kmac
  import omr_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 4,
    parameter int unsigned Ways = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned MaxLogN = 12,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit          Twin = 1'b0,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowsW = MaxLogN + 1,
    localparam int unsigned RowW = 64 * Lanes,
    localparam int unsigned RowAW = MaxLogN - $clog2(Lanes),
    localparam int unsigned BufferW = $clog2(Buffers)
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [LogW-1:0]               log_n_i,
    input  logic                          cmd_valid_i,
    output logic                          cmd_ready_o,
    input  instr_t                        cmd_i,
    output logic                          done_o,
    output logic                          busy_o,

    output logic [ModulusIndexW-1:0]      modulus_index_o,
    input  logic [W-1:0]                  modulus_q_i [Ways],
    input  logic [63:0]                   modulus_k_i [Ways],
    input  logic [rf_pkg::ShiftWidth-1:0] modulus_shift_i [Ways],

    output logic                          x_re_o,
    output logic [BufferW-1:0]            x_buffer_o,
    output logic [RowAW-1:0]              x_row_o,
    input  logic [W-1:0]                  x_i [Ways][Lanes],
    output logic                          acc_re_o,
    output logic                          acc_pair_o,
    output logic                          acc_part_o,
    output logic [RowAW-1:0]              acc_row_o,
    input  logic [W-1:0]                  acc_i [Ways][Lanes],
    output logic [Ways-1:0]               x_we_o,
    output logic [BufferW-1:0]            x_wbuffer_o,
    output logic [RowAW-1:0]              x_wrow_o,
    output logic [W-1:0]                  x_data_o [Ways][Lanes],
    output logic [Ways-1:0]               acc_we_o,
    output logic                          acc_wpair_o,
    output logic                          acc_wpart_o,
    output logic [RowAW-1:0]              acc_wrow_o,
    output logic [W-1:0]                  acc_data_o [Ways][Lanes],

    output logic [Ways-1:0]               rd_valid_o,       // the operand's stream
    input  logic [Ways-1:0]               rd_ready_i,
    output logic [Ways-1:0][AddrW-1:0]    rd_addr_o,
    output logic [Ways-1:0][RowsW-1:0]    rd_rows_o,
    input  logic [Ways-1:0]               row_valid_i,
    output logic [Ways-1:0]               row_ready_o,
    output logic [Ways-1:0]               key_valid_o,      // the keys'
    input  logic [Ways-1:0]               key_ready_i,
    output logic [Ways-1:0][AddrW-1:0]    key_addr_o,
    output logic [Ways-1:0][RowsW-1:0]    key_rows_o,
    input  logic [Ways-1:0]               key_row_valid_i,
    output logic [Ways-1:0]               key_row_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // words of memory are wider than those of the machine
    input  logic [Ways-1:0][RowW-1:0]     row_i,
    input  logic [Ways-1:0][RowW-1:0]     key_row_i
    /* verilator lint_on UNUSEDSIGNAL */
);
  // From a step to rows of banks, to operands, to products, to sums, which are written.
  localparam int unsigned Read = rf_pkg::BankLatency;
  localparam int unsigned Product = Read + 1 + rf_pkg::MulLatency;
  localparam int unsigned Write = Product + 1;

  /* verilator lint_off UNUSEDSIGNAL */  // a unit looks at some fields only
  instr_t cmd;
  /* verilator lint_on UNUSEDSIGNAL */
  logic             start, settled, go, step, busy;
  logic [RowAW-1:0] row;
  logic [Ways-1:0]  ways;
  logic             part_q, keys, operand;
  logic [RowsW-1:0] rows;

  omr_pass #(.Lanes(Lanes), .MaxLogN(MaxLogN), .Depth(Write + 1)) u_pass (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .done_o, .busy_o(busy), .start_o(start), .cmd_o(cmd),
      .settled_o(settled), .go_i(go), .last_i(part_q), .step_o(step), .row_o(row)
  );

  assign rows = RowsW'(32'd1 << (32'(log_n_i) - $clog2(Lanes)));

  omr_ask #(.Ways(Ways), .RowsW(RowsW)) u_operand (
      .clk_i, .rst_ni, .start_i(start && cmd_i.from_memory), .ways_i(cmd_i.ways[Ways-1:0]), .addr_i(cmd_i.addr0),
      .stride_i(cmd_i.stride0), .rows_i(rows), .valid_o(rd_valid_o), .ready_i(rd_ready_i), .addr_o(rd_addr_o),
      .rows_o(rd_rows_o)
  );
  omr_ask #(.Ways(Ways), .RowsW(RowsW)) u_keys (
      .clk_i, .rst_ni, .start_i(start && !cmd_i.add), .ways_i(cmd_i.ways[Ways-1:0]), .addr_i(cmd_i.addr1),
      .stride_i(cmd_i.stride1), .rows_i(rows << 1), .valid_o(key_valid_o), .ready_i(key_ready_i), .addr_o(key_addr_o),
      .rows_o(key_rows_o)
  );

  assign ways = cmd.ways[Ways-1:0];
  assign keys = !cmd.add;
  assign operand = cmd.from_memory && !part_q;
  assign go = settled && (!keys || (key_row_valid_i & ways) == ways) && (!operand || (row_valid_i & ways) == ways);
  assign row_ready_o = step && operand ? ways : '0;
  assign key_row_ready_o = step && keys ? ways : '0;
  assign busy_o = busy;
  assign modulus_index_o = cmd.mod[ModulusIndexW-1:0];
  assign x_re_o = step && !cmd.from_memory;
  assign x_buffer_o = cmd.src[BufferW-1:0];
  assign x_row_o = row;
  assign acc_re_o = step && !cmd.init;
  assign acc_pair_o = cmd.bank[0];
  assign acc_part_o = part_q;
  assign acc_row_o = row;

  always_ff @(posedge clk_i) begin
    if (start) part_q <= 1'b0;
    else if (step) part_q <= !part_q;
  end

  // ---- Where results go ----------------------------------------------------------------------------
  logic             valid_q [Write], parts_q [Write];
  logic [RowAW-1:0] row_q [Write];

  always_ff @(posedge clk_i) begin
    valid_q[0] <= step && rst_ni;
    parts_q[0] <= part_q;
    row_q[0] <= row;
    for (int unsigned i = 1; i < Write; i++) begin
      valid_q[i] <= valid_q[i-1] && rst_ni;
      parts_q[i] <= parts_q[i-1];
      row_q[i] <= row_q[i-1];
    end
  end
  assign x_we_o = valid_q[Write-1] && cmd.to_x ? ways : '0;
  assign x_wbuffer_o = cmd.dst[BufferW-1:0] + BufferW'(parts_q[Write-1]);
  assign x_wrow_o = row_q[Write-1];
  assign acc_we_o = valid_q[Write-1] && !cmd.to_x ? ways : '0;
  assign acc_wpair_o = cmd.bank[0];
  assign acc_wpart_o = parts_q[Write-1];
  assign acc_wrow_o = row_q[Write-1];
  assign acc_data_o = x_data_o;

  // ---- Arithmetic ----------------------------------------------------------------------------------
  for (genvar v = 0; v < int'(Ways); v++) begin : g_way
    logic [W-1:0]                  q_q;
    logic [63:0]                   k_q;
    logic [rf_pkg::ShiftWidth-1:0] shift_q;
    logic [W-1:0]                  taken [Lanes], held_q [Lanes], read [Lanes], key [Lanes], read_key [Lanes];
    logic [W-1:0]                  a_q [Lanes], b_q [Lanes], before_q [Lanes], beside_q [Lanes];
    logic [W-1:0]                  begun [Lanes], begun_q [Lanes], late [Lanes], product [Lanes], more [Lanes], sum [Lanes];

    always_ff @(posedge clk_i) begin
      q_q <= modulus_q_i[v];
      k_q <= modulus_k_i[v];
      shift_q <= modulus_shift_i[v];
    end

    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        taken[l] = operand ? row_i[v][64*l+:W] << shift_q : held_q[l];
        key[l] = key_row_i[v][64*l+:W];
        more[l] = cmd.add ? '0 : product[l];
      end
    end
    always_ff @(posedge clk_i) if (step) held_q <= taken;

    rf_delay #(.W(W), .Lanes(Lanes), .Depth(Read)) u_read (.clk_i, .en_i(busy), .x_i(taken), .x_o(read));
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(Read)) u_key (.clk_i, .en_i(busy), .x_i(key), .x_o(read_key));

    always_ff @(posedge clk_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic [W-1:0] o = cmd.from_memory ? read[l] : x_i[v][l];
        a_q[l] <= o;
        b_q[l] <= read_key[l];
        before_q[l] <= cmd.init ? '0 : acc_i[v][l];
        beside_q[l] <= cmd.add && parts_q[Read-1] == cmd.part[0] ? o : '0;
        begun_q[l] <= begun[l];
      end
    end

    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin)) u_mul (
        .clk_i, .en_i(busy), .a_i(a_q), .b_i(b_q), .q_i(q_q), .k_i(k_q), .r_o(product)
    );
    rf_mod_add #(.W(W), .Lanes(Lanes)) u_begin (.a_i(before_q), .b_i(beside_q), .q_i(q_q), .r_o(begun));
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(rf_pkg::MulLatency - 1)) u_late (
        .clk_i, .en_i(busy), .x_i(begun_q), .x_o(late)
    );
    rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (.a_i(late), .b_i(more), .q_i(q_q), .r_o(sum));
    always_ff @(posedge clk_i) x_data_o[v] <= sum;
  end
endmodule
