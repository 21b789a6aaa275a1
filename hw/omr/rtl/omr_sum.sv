// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The SUM unit: inner sums of diagonals times ciphertexts, a limb of them an instruction.
//
// Function    out[r][c] = sum over b < count of diag[r][b] * ct[c][b] mod q for r < src, c < Cols. Groups x Rows x Cols
//             PCmul cores take Groups terms at once, term b in group b mod Groups: a pass. A tree of adders over the
//             groups gives a pass' sum for every (r, c), and an accumulator bank of a limb keeps it for the next pass.
//             In the last pass of a count that is no multiple of Groups the groups that have no term give zero. Sums of
//             that pass go to the write streams as they come: part 0 of every row. The other parts have no port of
//             their own; their last sums pass through the accumulators and are written after part 0 was acknowledged.
//             ct[c][b] is read at addr0 + c * ct_col + b * ct_term, diag[r][b] at addr1 + r * diag_row + b * diag_term;
//             out[r][c] is written at stride0 + r * out_row + c * out_col. Read streams are Groups times (Rows of
//             diagonals, then Cols of ciphertext parts); write stream r has the results of row r.
// Latency     an instruction takes max(Rows, Cols) + Groups cycles for addresses, then ceil(count / Groups) * N / Lanes
//             cycles, and MulLatency + levels of the tree + 3 until the last row is offered for writing; each part but
//             the first takes another N / Lanes and the time of its acknowledgement
// Throughput  a row per stream and clock without a gap between passes, if memory takes a stream's next request before
//             it has given all rows of the last one
// Ranges      N / Lanes >= 8, so that a sum is written before it is read again; 1 <= src <= Rows, 1 <= count; residues
//             in memory canonical, diagonals times the Montgomery factor if the Kind asks for it; strides modulo 2^48

module omr_sum
  import omr_pkg::*;
#(
  parameter int unsigned W = 54,
  parameter int unsigned Lanes = 4,
  parameter int unsigned Rows = 1,
  parameter int unsigned Cols = 1,
  parameter int unsigned Groups = 2,
  parameter int unsigned MinLogN = 6,
  parameter int unsigned MaxLogN = 12,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter bit          Twin = 1'b0,
  parameter bit          Packed = !Twin,
  localparam int unsigned LogW = $clog2(MaxLogN + 1),
  localparam int unsigned RowsW = MaxLogN + 1,
  localparam int unsigned RowW = Lanes * 64,
  localparam int unsigned Streams = Groups * (Rows + Cols)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic [LogW-1:0]               log_n_i,

  input  logic                          cmd_valid_i,
  output logic                          cmd_ready_o,
  input  instr_t                        cmd_i,
  output logic                          done_o,
  output logic                          busy_o,

  input  logic [StrideW-1:0]            ct_col_i,
  input  logic [StrideW-1:0]            ct_term_i,
  input  logic [StrideW-1:0]            diag_row_i,
  input  logic [StrideW-1:0]            diag_term_i,
  input  logic [StrideW-1:0]            out_row_i,
  input  logic [StrideW-1:0]            out_col_i,

  output logic [ModulusIndexW-1:0]      modulus_index_o,
  input  logic [W-1:0]                  modulus_q_i,
  input  logic [63:0]                   modulus_k_i,
  input  logic [rf_pkg::ShiftWidth-1:0] modulus_shift_i,

  output logic [Streams-1:0]            rd_valid_o,
  input  logic [Streams-1:0]            rd_ready_i,
  output logic [Streams-1:0][AddrW-1:0] rd_addr_o,
  output logic [Streams-1:0][RowsW-1:0] rd_rows_o,
  input  logic [Streams-1:0]            row_valid_i,
  output logic [Streams-1:0]            row_ready_o,
  input  logic [Streams-1:0][RowW-1:0]  row_i,

  output logic [Rows-1:0]               wr_valid_o,
  input  logic [Rows-1:0]               wr_ready_i,
  output logic [Rows-1:0][AddrW-1:0]    wr_addr_o,
  output logic [Rows-1:0][RowsW-1:0]    wr_rows_o,
  output logic [Rows-1:0]               wr_row_valid_o,
  input  logic [Rows-1:0]               wr_row_ready_i,
  output logic [Rows-1:0][RowW-1:0]     wr_row_o,
  input  logic [Rows-1:0]               wr_acked_i
);
  localparam int unsigned LogLanes = $clog2(Lanes);
  localparam int unsigned AddressW = MaxLogN - LogLanes;  // of a limb's rows
  localparam int unsigned Levels = $clog2(Groups);
  localparam int unsigned CountW = 16;
  localparam int unsigned Most = Rows > Cols ? Rows : Cols;
  localparam int unsigned Steps = Most + Groups;          // of the setup
  localparam int unsigned StepW = $clog2(Steps + 1);
  localparam int unsigned ColW = Cols > 1 ? $clog2(Cols) : 1;
  // From a row taken to the sum of its products, and of that on to the result.
  localparam int unsigned SumAt = 1 + rf_pkg::MulLatency + Levels;
  localparam int unsigned ReadAt = SumAt - rf_pkg::BankLatency;
  // Results on their way and in the FIFO: enough for one a clock.
  localparam int unsigned Depth = 32;

  if (W < 4 || W > 64 || Lanes < 1 || Rows < 1 || Rows > 8 || Cols < 1 || Groups < 1 || Groups > 8) begin : g_check
    $error("omr_sum: W must be between 4 and 64, Rows and Groups between 1 and 8, Lanes and Cols at least 1");
  end
  if (MaxLogN < MinLogN || MinLogN < LogLanes + 3) begin : g_degree
    $error("omr_sum: the smallest polynomial must have 8 rows");
  end

  typedef enum logic [2:0] {StIdle, StSetup, StPasses, StDrain, StWrite} state_e;

  typedef struct packed {
    logic                valid;
    logic [AddressW-1:0] row;
    logic                first;  // pass: nothing to add to
    logic                last;   // part 0 is written
    logic                drain;  // a later part is written
  } token_t;

  // ---- Instruction ---------------------------------------------------------------------------------
  state_e              state_q;
  instr_t              cmd_q;
  logic [StepW-1:0]    step_q;
  logic [W-1:0]        q_q;
  logic [63:0]         k_q;
  logic [rf_pkg::ShiftWidth-1:0] shift_q;
  logic [RowsW-1:0]    limb_rows;
  logic [AddressW-1:0] last_row, row_q;
  logic [CountW-1:0]   terms_q;        // that no pass before this one took
  logic                first_q, last, go, end_row;
  logic [ColW-1:0]     part_q;         // that is written
  logic [Groups-1:0]   on;
  logic [Rows-1:0]     used, space, written_to;
  logic                written;

  assign cmd_ready_o = state_q == StIdle;
  assign busy_o = state_q != StIdle;
  assign modulus_index_o = cmd_q.mod[ModulusIndexW-1:0];
  assign limb_rows = (RowsW'(1) << log_n_i) >> LogLanes;
  assign last_row = AddressW'(limb_rows - 1'b1);
  assign last = terms_q <= CountW'(Groups);
  assign end_row = go && row_q == last_row;
  assign written = (written_to | ~used) == '1;
  assign done_o = state_q == StWrite && written && part_q == ColW'(Cols - 1);

  always_comb begin
    for (int unsigned g = 0; g < Groups; g++) on[g] = terms_q > CountW'(g);
    for (int unsigned r = 0; r < Rows; r++) used[r] = cmd_q.src > 8'(r);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      case (state_q)
        StIdle: if (cmd_valid_i) state_q <= StSetup;
        StSetup: if (step_q == StepW'(Steps - 1)) state_q <= StPasses;
        StPasses: if (end_row && last) state_q <= StWrite;
        StDrain: if (end_row) state_q <= StWrite;
        default: if (written) state_q <= part_q == ColW'(Cols - 1) ? StIdle : StDrain;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      cmd_q <= cmd_i;
      terms_q <= cmd_i.count;
      step_q <= '0;
      row_q <= '0;
      first_q <= 1'b1;
      part_q <= '0;
    end else begin
      if (state_q == StSetup) step_q <= step_q + 1'b1;
      if (go) row_q <= end_row ? '0 : row_q + 1'b1;
      if (end_row && state_q == StPasses) begin
        first_q <= 1'b0;
        terms_q <= terms_q - CountW'(Groups);
      end
      if (state_q == StWrite && written) part_q <= part_q + 1'b1;
    end
    // The table answers one clock after the instruction came: the last step is late enough.
    if (state_q == StSetup) begin
      q_q <= modulus_q_i;
      k_q <= modulus_k_i;
      shift_q <= Kind == rf_pkg::MulMontgomery ? '0 : modulus_shift_i;
    end
  end

  // ---- Addresses -----------------------------------------------------------------------------------
  // Multiples of strides are sums: part c's or row r's address is there in step c or r, group g's term is added in step
  // Most + g, and what the terms of all groups come to is then the step from pass to pass.
  logic [AddrW-1:0]  ct_q [Groups][Cols];
  logic [AddrW-1:0]  diag_q [Groups][Rows];
  logic [AddrW-1:0]  out_q [Rows];
  logic [AddrW-1:0]  ct_sum_q, diag_sum_q, out_sum_q, ct_step_q, diag_step_q;
  logic [CountW-1:0] ct_left_q [Groups][Cols];
  logic [CountW-1:0] diag_left_q [Groups][Rows];

  function automatic logic [CountW-1:0] less(logic [CountW-1:0] x, logic [CountW-1:0] y);
    return x > y ? x - y : '0;
  endfunction

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      ct_sum_q <= cmd_i.addr0;
      diag_sum_q <= cmd_i.addr1;
      out_sum_q <= cmd_i.stride0;
      ct_step_q <= '0;
      diag_step_q <= '0;
    end else if (state_q == StSetup) begin
      ct_sum_q <= ct_sum_q + AddrW'(ct_col_i);
      diag_sum_q <= diag_sum_q + AddrW'(diag_row_i);
      out_sum_q <= out_sum_q + AddrW'(out_row_i);
      if (step_q >= StepW'(Most)) begin
        ct_step_q <= ct_step_q + AddrW'(ct_term_i);
        diag_step_q <= diag_step_q + AddrW'(diag_term_i);
      end
    end
    for (int unsigned g = 0; g < Groups; g++) begin
      for (int unsigned c = 0; c < Cols; c++) begin
        if (state_q == StSetup) begin
          if (step_q == StepW'(c)) ct_q[g][c] <= ct_sum_q;
          if (step_q == StepW'(Most + g)) ct_q[g][c] <= ct_q[g][c] + ct_step_q;
          ct_left_q[g][c] <= less(cmd_q.count, CountW'(g));
        end else if (rd_valid_o[g*(Rows+Cols)+Rows+c] && rd_ready_i[g*(Rows+Cols)+Rows+c]) begin
          ct_q[g][c] <= ct_q[g][c] + ct_step_q;
          ct_left_q[g][c] <= less(ct_left_q[g][c], CountW'(Groups));
        end
      end
      for (int unsigned r = 0; r < Rows; r++) begin
        if (state_q == StSetup) begin
          if (step_q == StepW'(r)) diag_q[g][r] <= diag_sum_q;
          if (step_q == StepW'(Most + g)) diag_q[g][r] <= diag_q[g][r] + diag_step_q;
          diag_left_q[g][r] <= used[r] ? less(cmd_q.count, CountW'(g)) : '0;
        end else if (rd_valid_o[g*(Rows+Cols)+r] && rd_ready_i[g*(Rows+Cols)+r]) begin
          diag_q[g][r] <= diag_q[g][r] + diag_step_q;
          diag_left_q[g][r] <= less(diag_left_q[g][r], CountW'(Groups));
        end
      end
    end
    for (int unsigned r = 0; r < Rows; r++) begin
      if (state_q == StSetup && step_q == StepW'(r)) out_q[r] <= out_sum_q;
      if (state_q == StWrite && written) out_q[r] <= out_q[r] + AddrW'(out_col_i);
    end
  end

  always_comb begin
    for (int unsigned g = 0; g < Groups; g++) begin
      for (int unsigned r = 0; r < Rows; r++) begin
        rd_valid_o[g*(Rows+Cols)+r] = state_q == StPasses && diag_left_q[g][r] != '0;
        rd_addr_o[g*(Rows+Cols)+r] = diag_q[g][r];
      end
      for (int unsigned c = 0; c < Cols; c++) begin
        rd_valid_o[g*(Rows+Cols)+Rows+c] = state_q == StPasses && ct_left_q[g][c] != '0;
        rd_addr_o[g*(Rows+Cols)+Rows+c] = ct_q[g][c];
      end
    end
  end
  assign rd_rows_o = {Streams{limb_rows}};

  // ---- Rows ----------------------------------------------------------------------------------------
  logic [Streams-1:0] wanted;

  always_comb begin
    for (int unsigned g = 0; g < Groups; g++) wanted[g*(Rows+Cols)+:Rows+Cols] = {{Cols{on[g]}}, {Rows{on[g]}} & used};
  end
  assign go = (state_q == StDrain || (state_q == StPasses && (row_valid_i | ~wanted) == '1)) &&
              ((space | ~used) == '1 || (state_q == StPasses && !last));
  assign row_ready_o = go && state_q == StPasses ? wanted : '0;

  // token_q[d] is that of the rows that were taken d + 1 clocks ago.
  token_t token_q [SumAt+1];

  always_ff @(posedge clk_i) begin
    token_q[0] <= '{
      valid: go, row: row_q, first: first_q, last: state_q == StPasses && last, drain: state_q == StDrain
    };
    for (int unsigned d = 1; d <= SumAt; d++) token_q[d] <= token_q[d-1];
    if (!rst_ni) for (int unsigned d = 0; d <= SumAt; d++) token_q[d].valid <= 1'b0;
  end

  // ---- Products ------------------------------------------------------------------------------------
  logic [W-1:0] products [Rows][Cols][Groups][Lanes];

  for (genvar g = 0; g < int'(Groups); g++) begin : g_group
    logic [W-1:0] x_q [Cols][Lanes];
    logic [W-1:0] y_q [Rows][Lanes];

    always_ff @(posedge clk_i) begin
      for (int unsigned c = 0; c < Cols; c++) begin
        for (int unsigned l = 0; l < Lanes; l++) begin
          x_q[c][l] <= on[g] ? row_i[g*(Rows+Cols)+Rows+c][64*l+:W] << shift_q : '0;
        end
      end
      for (int unsigned r = 0; r < Rows; r++) begin
        for (int unsigned l = 0; l < Lanes; l++) y_q[r][l] <= row_i[g*(Rows+Cols)+r][64*l+:W];
      end
    end

    for (genvar r = 0; r < int'(Rows); r++) begin : g_row
      for (genvar c = 0; c < int'(Cols); c++) begin : g_col
        /* verilator lint_off PINCONNECTEMPTY */
        omr_pcmul #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin), .Moving(1'b0)) u_mul (
          .clk_i, .rst_ni, .q_i(q_q), .k_i(k_q), .a_valid_i(1'b1), .a_ready_o(), .a_i(x_q[c]), .b_valid_i(1'b1),
          .b_ready_o(), .b_i(y_q[r]), .r_valid_o(), .r_ready_i(1'b1), .r_o(products[r][c][g])
        );
        /* verilator lint_on PINCONNECTEMPTY */
      end
    end
  end

  // ---- Sums ----------------------------------------------------------------------------------------
  logic [W-1:0] result_q [Rows][Cols][Lanes];

  for (genvar r = 0; r < int'(Rows); r++) begin : g_sums
    for (genvar c = 0; c < int'(Cols); c++) begin : g_part
      // Level n has half as many numbers as the one before it, rounded up.
      logic [W-1:0] tree [Levels+1][Groups][Lanes];
      logic [W-1:0] kept [Lanes];
      logic [W-1:0] more [Lanes];

      assign tree[0] = products[r][c];
      for (genvar n = 0; n < int'(Levels); n++) begin : g_level
        for (genvar i = 0; i < int'(Groups); i++) begin : g_node
          if (2 * i + 1 < (int'(Groups) + (1 << n) - 1) >> n) begin : g_add
            logic [W-1:0] sum [Lanes];
            logic [W-1:0] sum_q [Lanes];
            rf_mod_add #(.W(W), .Lanes(Lanes)) u_add (
              .a_i(tree[n][2*i]), .b_i(tree[n][2*i+1]), .q_i(q_q), .r_o(sum)
            );
            always_ff @(posedge clk_i) sum_q <= sum;
            assign tree[n+1][i] = sum_q;
          end else if (2 * i < (int'(Groups) + (1 << n) - 1) >> n) begin : g_pass
            logic [W-1:0] pass_q [Lanes];
            always_ff @(posedge clk_i) pass_q <= tree[n][2*i];
            assign tree[n+1][i] = pass_q;
          end else begin : g_none
            for (genvar l = 0; l < int'(Lanes); l++) begin : g_zero
              assign tree[n+1][i][l] = '0;
            end
          end
        end
      end

      rf_bank #(.W(W), .Lanes(Lanes), .Rows(1 << AddressW), .Packed(Packed)) u_kept (
        .clk_i, .re_i(token_q[ReadAt-1].valid && !token_q[ReadAt-1].first),
        .raddr_i(token_q[ReadAt-1].row), .rdata_o(kept),
        .we_i(token_q[SumAt].valid && !token_q[SumAt].drain && !(token_q[SumAt].last && c == 0)),
        .waddr_i(token_q[SumAt].row), .wdata_i(result_q[r][c])
      );
      rf_mod_add #(.W(W), .Lanes(Lanes)) u_more (.a_i(tree[Levels][0]), .b_i(kept), .q_i(q_q), .r_o(more));

      always_ff @(posedge clk_i) begin
        result_q[r][c] <= token_q[SumAt-1].drain ? kept : token_q[SumAt-1].first ? tree[Levels][0] : more;
      end
    end
  end

  // ---- Results -------------------------------------------------------------------------------------
  logic takes, opens;  // a row is on its way that will be written; the first one of a part

  assign takes = go && (state_q == StDrain || last);
  assign opens = takes && row_q == '0;

  for (genvar r = 0; r < int'(Rows); r++) begin : g_write
    logic [Lanes*W-1:0] in, out;

    always_comb begin
      for (int unsigned l = 0; l < Lanes; l++) in[W*l+:W] = result_q[r][part_q][l] >> shift_q;
      for (int unsigned l = 0; l < Lanes; l++) wr_row_o[r][64*l+:64] = 64'(out[W*l+:W]);
    end
    assign wr_addr_o[r] = out_q[r];
    assign wr_rows_o[r] = limb_rows;

    omr_sum_write #(.Width(Lanes * W), .Depth(Depth)) u_write (
      .clk_i, .rst_ni, .open_i(opens && used[r]), .take_i(takes && used[r]), .space_o(space[r]),
      .push_i(token_q[SumAt].valid && (token_q[SumAt].last || token_q[SumAt].drain) && used[r]), .row_i(in),
      .done_o(written_to[r]), .req_valid_o(wr_valid_o[r]), .req_ready_i(wr_ready_i[r]),
      .row_valid_o(wr_row_valid_o[r]), .row_ready_i(wr_row_ready_i[r]), .row_o(out), .acked_i(wr_acked_i[r])
    );
  end

  logic unused;
  assign unused = ^{cmd_q, ct_col_i[StrideW-1:AddrW], ct_term_i[StrideW-1:AddrW], diag_row_i[StrideW-1:AddrW],
                    diag_term_i[StrideW-1:AddrW], out_row_i[StrideW-1:AddrW], out_col_i[StrideW-1:AddrW],
                    token_q[SumAt].first, row_i};
endmodule
