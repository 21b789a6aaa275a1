// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The unit of FINAL, the end of a division by special primes: X[dst] = (ACC[bank].part - X[src]) * constants[k] mod q, plus
// the limb at addr0 + v * stride0 with `add`, in each way v.
//
// Latency     16 from the reads of a row to its write; 3 more from a command to the first row
// Throughput  a row of Lanes words a cycle, or as the stream gives them
// Ranges      ACC and X below q, shifted as q is; constants are operands b of rf_mod_mul; words of the stream below q, not
//             shifted. Tables are read in the cycle after their index, banks two cycles after theirs. The rows of all active
//             ways are taken at once.

module omr_final
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
    output logic [ConstantIndexW-1:0]     constant_index_o,
    input  logic [W-1:0]                  constant_i [Ways],

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

    output logic [Ways-1:0]               rd_valid_o,
    input  logic [Ways-1:0]               rd_ready_i,
    output logic [Ways-1:0][AddrW-1:0]    rd_addr_o,
    output logic [Ways-1:0][RowsW-1:0]    rd_rows_o,
    input  logic [Ways-1:0]               row_valid_i,
    output logic [Ways-1:0]               row_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // words of memory are wider than those of the machine
    input  logic [Ways-1:0][RowW-1:0]     row_i
    /* verilator lint_on UNUSEDSIGNAL */
);
  // From a step to a row of banks, to the difference, to the product, to the sum, which is written.
  localparam int unsigned Read = rf_pkg::BankLatency;
  localparam int unsigned Product = Read + 1 + rf_pkg::MulLatency;
  localparam int unsigned Write = Product + 1;

  /* verilator lint_off UNUSEDSIGNAL */  // a unit looks at some fields only
  instr_t cmd;
  /* verilator lint_on UNUSEDSIGNAL */
  logic             start, settled, go, step, busy;
  logic [RowAW-1:0] row;
  logic [Ways-1:0]  ways;

  omr_pass #(.Lanes(Lanes), .MaxLogN(MaxLogN), .Depth(Write + 1)) u_pass (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .done_o, .busy_o(busy), .start_o(start), .cmd_o(cmd),
      .settled_o(settled), .go_i(go), .last_i(1'b1), .step_o(step), .row_o(row)
  );

  omr_ask #(.Ways(Ways), .RowsW(RowsW)) u_ask (
      .clk_i, .rst_ni, .start_i(start && cmd_i.add), .ways_i(cmd_i.ways[Ways-1:0]), .addr_i(cmd_i.addr0),
      .stride_i(cmd_i.stride0), .rows_i(RowsW'(32'd1 << (32'(log_n_i) - $clog2(Lanes)))), .valid_o(rd_valid_o),
      .ready_i(rd_ready_i), .addr_o(rd_addr_o), .rows_o(rd_rows_o)
  );

  assign ways = cmd.ways[Ways-1:0];
  assign go = settled && (!cmd.add || (row_valid_i & ways) == ways);
  assign row_ready_o = step && cmd.add ? ways : '0;
  assign busy_o = busy;
  assign modulus_index_o = cmd.mod[ModulusIndexW-1:0];
  assign constant_index_o = cmd.k[ConstantIndexW-1:0];
  assign x_re_o = step;
  assign x_buffer_o = cmd.src[BufferW-1:0];
  assign x_row_o = row;
  assign acc_re_o = step;
  assign acc_pair_o = cmd.bank[0];
  assign acc_part_o = cmd.part[0];
  assign acc_row_o = row;

  // ---- Where results go ----------------------------------------------------------------------------
  logic             valid_q [Write];
  logic [RowAW-1:0] row_q [Write];

  always_ff @(posedge clk_i) begin
    valid_q[0] <= step && rst_ni;
    row_q[0] <= row;
    for (int unsigned i = 1; i < Write; i++) begin
      valid_q[i] <= valid_q[i-1] && rst_ni;
      row_q[i] <= row_q[i-1];
    end
  end
  assign x_we_o = valid_q[Write-1] ? ways : '0;
  assign x_wbuffer_o = cmd.dst[BufferW-1:0];
  assign x_wrow_o = row_q[Write-1];

  // ---- Arithmetic ----------------------------------------------------------------------------------
  for (genvar v = 0; v < int'(Ways); v++) begin : g_way
    logic [W-1:0]                  q_q, constant_q;
    logic [63:0]                   k_q;
    logic [rf_pkg::ShiftWidth-1:0] shift_q;
    logic [W-1:0]                  difference [Lanes], product [Lanes], more [Lanes], late [Lanes], sum [Lanes];
    logic [W-1:0]                  factor [Lanes], difference_q [Lanes];

    always_ff @(posedge clk_i) begin
      q_q <= modulus_q_i[v];
      k_q <= modulus_k_i[v];
      shift_q <= modulus_shift_i[v];
      constant_q <= constant_i[v];
      difference_q <= difference;
    end

    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        factor[l] = constant_q;
        more[l] = cmd.add ? row_i[v][64*l+:W] << shift_q : '0;
      end
    end

    rf_mod_sub #(.W(W), .Lanes(Lanes)) u_sub (.a_i(acc_i[v]), .b_i(x_i[v]), .q_i(q_q), .r_o(difference));
    rf_mod_mul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin)) u_mul (
        .clk_i, .en_i(busy), .a_i(difference_q), .b_i(factor), .q_i(q_q), .k_i(k_q), .r_o(product)
    );
    rf_delay #(.W(W), .Lanes(Lanes), .Depth(Product)) u_late (.clk_i, .en_i(busy), .x_i(more), .x_o(late));
    rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (.a_i(product), .b_i(late), .q_i(q_q), .r_o(sum));
    always_ff @(posedge clk_i) x_data_o[v] <= sum;
  end
endmodule
