// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Datapath of the published pipeline: from RLWEs, operations and key rows to RLWEs.
//
//   RLWE in -> Intts x psi_intt -> psi_source (map, buffers, digits) -> psi_ntt -> psi_mac -> RLWE out
//
// Who controls it (the reorder buffer, outside) does two things, each in program order, loads as far ahead of
// operations as there are inverse transforms:
//   load  names an idle inverse transform and a FIFO; the next N/4 beats of that go to it
//   send  an operation, and the inverse transform that its RLWE was loaded into; it is taken when that has finished and
//         a source buffer is free, and the transform is idle again N/2 cycles later. OpInit needs none
// Results come in the order of operations. Key rows come in that order too: for OpSubstitute as many as gadget S
// has digits, else as many as A and B have together; a count of 0 is 1.
//
// Latency     of a product alone: load N/4, inverse transform log2 N * N/2, forward transform as psi_ntt, last digit
//             (rows - 1) * (N/4 + drain_i) after the first, sums and way out N/4 each
// Throughput  a polynomial in max(N/4 + drain_i, cycles of a key row); an RLWE in (log2 N + 1/2) * N/2 / Intts cycles
// Ranges      N = 2^LogN if log_n_i is LogN, else half of it, at least 128. q_i: prime = 1 mod 2N, shifted left by
//             shift_i, 2^(W-1) < q_i < 2^W; k_i as rf_mod_mul. Words of RLWEs in and out are canonical and unshifted;
//             words of keys and of the table are operands b of rf_mod_mul: unshifted, and times 2^(Word * ceil(W /
//             Word)) for Montgomery, which needs shift_i = 0. An element's lowest bit is taken as 1
//
// Settings do not change while busy_o. Table: entry m + i is psi^brv(m + i), entries 1 ... N - 1, one table for both
// directions, written when the machine is not busy; which stage an entry goes to depends on log_n_i.
// Reset at any time forgets all operations and words under way (a flush is a reset); tables stay.

module psi_pipe #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned Intts = 4,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0,
  localparam int unsigned UnitW = Intts > 1 ? $clog2(Intts) : 1
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  // Settings.
  input  logic [3:0]                          log_n_i,
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic [63:0]                         k_i,
  input  logic [4:0]                          drain_i,
  input  logic [3:0]                          lwe_log_i,
  input  psi_pkg::gadget_t                    gadget_i [psi_pkg::Gadgets],
  input  logic [W+2:0]                        offset_i [psi_pkg::Gadgets],
  // Table.
  input  logic                                tw_we_i,
  input  logic [LogN-1:0]                     tw_addr_i,
  input  logic [W-1:0]                        tw_data_i,
  // Loads, and the RLWEs from the input FIFO [0] and from the loop FIFO [1]: four words of a, four of b.
  output logic [Intts-1:0]                    idle_o,
  input  logic                                load_valid_i,
  output logic                                load_ready_o,
  input  logic [UnitW-1:0]                    load_unit_i,
  input  logic                                load_loop_i,
  input  logic                                in_valid_i [2],
  output logic                                in_ready_o [2],
  input  logic [W-1:0]                        in_i [2][8],
  // Operations.
  input  logic                                send_valid_i,
  output logic                                send_ready_o,
  input  logic [UnitW-1:0]                    send_unit_i,
  input  psi_pkg::job_t                       send_job_i,
  // Key rows.
  input  logic                                key_valid_i,
  output logic                                key_ready_o,
  input  logic [W-1:0]                        key_i [8],
  // Results.
  output logic                                out_valid_o,
  input  logic                                out_ready_i,
  output logic [W-1:0]                        out_o [8],
  output logic                                out_loop_o,
  output logic                                out_last_o,
  output logic                                busy_o
);
  if (Intts < 1) begin : g_check
    $error("psi_pipe: Intts must be at least 1");
  end

  localparam int unsigned MetaW = 5;
  logic long_n;

  assign long_n = log_n_i == 4'(LogN);

  // Inverse transforms. One of them at most loads, and one gives its last stage.
  logic [Intts-1:0] in_ready, done, load, give, valid;
  logic             loop_q;  // the one that loads takes from the loop FIFO
  logic [W-1:0]     coefficients [Intts][4];
  logic [W-1:0]     word [4];
  logic             source_ready, send;

  assign load_ready_o = in_ready == '0 && idle_o[load_unit_i];
  assign in_ready_o = '{in_ready != '0 && !loop_q, in_ready != '0 && loop_q};
  assign send_ready_o = source_ready && (send_job_i.op == psi_pkg::OpInit || done[send_unit_i]);
  assign send = send_valid_i && send_ready_o;

  always_ff @(posedge clk_i) if (load_valid_i && load_ready_o) loop_q <= load_loop_i;

  always_comb begin
    for (int unsigned m = 0; m < Intts; m++) begin
      load[m] = load_valid_i && load_ready_o && load_unit_i == UnitW'(m);
      give[m] = send && send_job_i.op != psi_pkg::OpInit && send_unit_i == UnitW'(m);
    end
    word = '{default: '0};
    for (int unsigned m = 0; m < Intts; m++) begin
      for (int unsigned i = 0; i < 4; i++) word[i] = word[i] | (valid[m] ? coefficients[m][i] : '0);
    end
  end

  for (genvar m = 0; m < int'(Intts); m++) begin : g_intt
    psi_intt #(.W(W), .LogN(LogN), .Kind(Kind), .Word(Word), .Twin(Twin)) u_intt (
      .clk_i, .rst_ni, .long_i(long_n), .shift_i, .q_i, .k_i, .tw_we_i, .tw_addr_i, .tw_data_i,
      .idle_o(idle_o[m]), .load_i(load[m]), .in_valid_i(in_valid_i[loop_q]), .in_ready_o(in_ready[m]),
      .in_i(in_i[loop_q]), .done_o(done[m]), .release_i(give[m]), .valid_o(valid[m]), .x_o(coefficients[m])
    );
  end

  logic             source_avail, source_start, source_re, source_done, source_busy;
  logic [MetaW-1:0] source_meta;
  logic [LogN-3:0]  source_group;
  logic [W-1:0]     source_x [4];

  psi_source #(.W(W), .LogN(LogN)) u_source (
    .clk_i, .rst_ni, .long_i(long_n), .shift_i, .q_i, .lwe_log_i, .gadget_i, .offset_i,
    .op_valid_i(send), .op_ready_o(source_ready), .op_i(send_job_i),
    .valid_i(valid != '0), .x_i(word),
    .avail_o(source_avail), .meta_o(source_meta), .start_i(source_start), .re_i(source_re), .group_i(source_group),
    .done_i(source_done), .x_o(source_x), .busy_o(source_busy)
  );

  logic             ntt_avail, ntt_start, ntt_re, ntt_done, ntt_busy;
  logic [MetaW-1:0] ntt_meta;
  logic [LogN-2:0]  ntt_line [2];
  logic [W-1:0]     ntt_x [4];

  psi_ntt #(.W(W), .LogN(LogN), .MetaW(MetaW), .Kind(Kind), .Word(Word), .Twin(Twin)) u_ntt (
    .clk_i, .rst_ni, .long_i(long_n), .shift_i, .q_i, .k_i, .drain_i, .tw_we_i, .tw_addr_i, .tw_data_i,
    .up_avail_i(source_avail), .up_meta_i(source_meta), .up_start_o(source_start), .up_re_o(source_re),
    .up_group_o(source_group), .up_done_o(source_done), .up_x_i(source_x),
    .avail_o(ntt_avail), .meta_o(ntt_meta), .start_i(ntt_start), .re_i(ntt_re), .line_i(ntt_line), .done_i(ntt_done),
    .x_o(ntt_x), .busy_o(ntt_busy)
  );

  logic mac_busy;

  psi_mac #(.W(W), .LogN(LogN), .Kind(Kind), .Word(Word), .Twin(Twin)) u_mac (
    .clk_i, .rst_ni, .long_i(long_n), .shift_i, .q_i, .k_i,
    .up_avail_i(ntt_avail), .up_meta_i(ntt_meta), .up_start_o(ntt_start), .up_re_o(ntt_re), .up_line_o(ntt_line),
    .up_done_o(ntt_done), .up_x_i(ntt_x),
    .key_valid_i, .key_ready_o, .key_i, .out_valid_o, .out_ready_i, .out_o, .out_loop_o, .out_last_o, .busy_o(mac_busy)
  );

  assign busy_o = idle_o != '1 || source_busy || ntt_busy || mac_busy;
endmodule
