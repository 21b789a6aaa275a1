// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The machine between its FIFOs: instructions and RLWEs in, RLWEs out.
//
//   instructions -> psi_rob --------------------+-> psi_keys -> rows of keys
//   input FIFO ---+                             v         |
//   loop FIFO ----+-> psi_pipe: inverse transforms -> digits, forward transform -> products and sums -> output FIFO
//        ^--------------------------------------------------------------------------------+
//
// Function    executes instructions (psi_pkg) in their order. Words of RLWEs are canonical; bits from W on of words
//             that come are ignored.
// Latency     psi_pipe's
// Throughput  psi_pipe's; a row of a key each Drain + N/4 cycles or as psi_keys brings it
// Ranges      settings do not change while idle_o is low. Reset at any
//             time when key_idle_o is high forgets all RLWEs and instructions; tables stay.
module psi_core
  import psi_pkg::*;
#(
    parameter int unsigned W = 27,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned Intts = 4,
    parameter int unsigned Drain = 13,
    parameter bit          KeyPauses = 1'b1,
    parameter int unsigned KeyRows = 8,
    parameter int unsigned InputSlots = 4,
    parameter int unsigned LoopSlots = 16,
    parameter int unsigned OutputSlots = 2,
    parameter int unsigned Reorder = 8,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter int unsigned MontgomeryWord = rf_pkg::MontgomeryWord,
    parameter bit          Twin = 1'b0,
    localparam int unsigned OutW = $clog2((OutputSlots << (MaxLogN - 2)) + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  halt_i,
    // Settings
    input  logic                  bootstrap_i,
    input  logic [DegreeW-1:0]    log_n_i,
    input  logic [W-1:0]          q_i,
    input  logic [63:0]           k_i,
    input  logic [3:0]            shift_i,
    input  logic [3:0]            lwe_log_i,
    input  logic [AddrW-1:KeyUnitLog] key_base_i,
    input  gadget_t               gadget_i [Gadgets],
    input  logic [W+2:0]          offset_i [Gadgets],
    input  logic [LweW-1:0]       bound_i  [Gates],
    input  logic [31:0]           subst_i  [Substitutions],
    // Twiddles
    input  logic                  tw_valid_i,
    input  logic [MaxLogN-1:0]    tw_addr_i,
    input  logic [W-1:0]          tw_data_i,
    // Instructions
    input  logic                  instr_valid_i,
    output logic                  instr_ready_o,
    input  logic [31:0]           instr_i,
    output error_e                error_o,
    output logic [31:0]           count_o,
    // RLWEs
    input  logic                  in_valid_i,
    output logic                  in_ready_o,
    input  logic [PortW-1:0]      in_i,
    output logic                  in_taken_o,    // a beat has left the input FIFO
    output logic                  out_valid_o,
    input  logic                  out_ready_i,
    output logic [PortW-1:0]      out_o,
    output logic [OutW-1:0]       out_count_o,   // beats in the output FIFO
    // State
    output logic                  idle_o,        // no instruction is under way, no key is being read
    output logic                  empty_o,       // no FIFO holds anything
    output logic                  moved_o,       // something has moved in this cycle
    output logic [9:0]            state_o,       // FIFO_STATE
    output logic [3:0]            busy_units_o,
    output logic                  ended_o,       // an instruction's result has left
    output logic                  key_waits_o,
    output logic                  nothing_o,     // no polynomial is in the forward transform
    // Key port
    output logic                  key_idle_o,
    output logic                  key_error_o,
    output logic                  key_beat_o,
    output logic                  key_wait_o,
    output logic                  m_axi_arid,
    output logic [AddrW-1:0]      m_axi_araddr,
    output logic [7:0]            m_axi_arlen,
    output logic [2:0]            m_axi_arsize,
    output logic [1:0]            m_axi_arburst,
    output logic [3:0]            m_axi_arcache,
    output logic [2:0]            m_axi_arprot,
    output logic                  m_axi_arvalid,
    input  logic                  m_axi_arready,
    input  logic                  m_axi_rid,
    input  logic [PortW-1:0]      m_axi_rdata,
    input  logic [1:0]            m_axi_rresp,
    input  logic                  m_axi_rlast,
    input  logic                  m_axi_rvalid,
    output logic                  m_axi_rready
);
  localparam int unsigned UnitW = Intts > 1 ? $clog2(Intts) : 1;
  localparam int unsigned RowsW = 5;

  // ---- Instructions and keys -----------------------------------------------------------------------
  logic             key_req, key_req_ready, key_pending, key_valid, key_ready, input_whole, loop_whole;
  logic             load, load_ready, load_loop, send, send_ready, result;
  logic             rob_idle, rob_empty, rob_full, loop_full, pipe_busy;
  logic [KeyW-1:0]  key_address;
  logic [RowsW-1:0] key_rows;
  logic [UnitW-1:0] load_unit, send_unit;
  logic [Intts-1:0] unit_idle;
  logic [W-1:0]     key[2*Coefficients];
  job_t             send_job;

  psi_rob #(.MaxLogN(MaxLogN), .Depth(Reorder), .Intts(Intts), .LoopSlots(LoopSlots)) u_rob (
      .clk_i, .rst_ni, .bootstrap_i, .log_n_i, .lwe_log_i, .gadget_i, .bound_i, .subst_i, .instr_valid_i,
      .instr_ready_o, .instr_i, .error_o, .count_o, .key_valid_o(key_req), .key_ready_i(key_req_ready),
      .key_o(key_address), .key_rows_o(key_rows), .input_whole_i(input_whole), .loop_whole_i(loop_whole),
      .unit_idle_i(unit_idle), .load_valid_o(load), .load_ready_i(load_ready), .load_unit_o(load_unit),
      .load_loop_o(load_loop), .send_valid_o(send), .send_ready_i(send_ready), .send_unit_o(send_unit),
      .send_job_o(send_job), .result_i(result), .idle_o(rob_idle), .empty_o(rob_empty), .full_o(rob_full),
      .loop_full_o(loop_full)
  );

  psi_keys #(.W(W), .MaxLogN(MaxLogN), .Rows(KeyRows), .Requests(Reorder), .Pauses(KeyPauses)) u_keys (
      .clk_i, .rst_ni, .halt_i, .log_n_i, .base_i(key_base_i), .req_valid_i(key_req), .req_ready_o(key_req_ready),
      .req_key_i(key_address), .req_rows_i(key_rows), .pending_o(key_pending), .key_valid_o(key_valid),
      .key_ready_i(key_ready), .key_o(key), .idle_o(key_idle_o), .error_o(key_error_o), .beat_o(key_beat_o),
      .wait_o(key_wait_o), .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache,
      .m_axi_arprot, .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast,
      .m_axi_rvalid, .m_axi_rready
  );

  // ---- FIFOs ---------------------------------------------------------------------------------------
  logic         input_valid, loop_valid, out_whole, input_full, out_full;
  logic         pipe_in_valid[2], pipe_in_ready[2], loop_ready, output_ready;
  logic         pipe_valid, pipe_ready, pipe_loop, pipe_last;
  logic [$clog2((InputSlots << (MaxLogN - 2)) + 1)-1:0] input_count;
  logic [$clog2((LoopSlots << (MaxLogN - 2)) + 1)-1:0]  loop_count;
  logic [W-1:0] word[2*Coefficients], pipe_in[2][2*Coefficients], made[2*Coefficients], given[2*Coefficients];

  always_comb
    for (int unsigned l = 0; l < 2 * Coefficients; l++) begin
      word[l] = in_i[64*l+:W];
      out_o[64*l+:64] = 64'(given[l]);
    end
  assign pipe_in_valid = '{input_valid, loop_valid};
  assign pipe_ready = pipe_loop ? loop_ready : output_ready;
  assign result = pipe_valid && pipe_ready && pipe_last;

  // Whether the loop's FIFO is full is known by promises.
  /* verilator lint_off PINCONNECTEMPTY */
  psi_fifo #(.W(W), .MaxLogN(MaxLogN), .Slots(InputSlots)) u_input (
      .clk_i, .rst_ni, .log_n_i, .valid_i(in_valid_i), .ready_o(in_ready_o), .data_i(word), .valid_o(input_valid),
      .ready_i(pipe_in_ready[0]), .data_o(pipe_in[0]), .whole_o(input_whole), .full_o(input_full), .count_o(input_count)
  );
  psi_fifo #(.W(W), .MaxLogN(MaxLogN), .Slots(LoopSlots)) u_loop (
      .clk_i, .rst_ni, .log_n_i, .valid_i(pipe_valid && pipe_loop), .ready_o(loop_ready), .data_i(made),
      .valid_o(loop_valid), .ready_i(pipe_in_ready[1]), .data_o(pipe_in[1]), .whole_o(loop_whole), .full_o(),
      .count_o(loop_count)
  );
  psi_fifo #(.W(W), .MaxLogN(MaxLogN), .Slots(OutputSlots)) u_output (
      .clk_i, .rst_ni, .log_n_i, .valid_i(pipe_valid && !pipe_loop), .ready_o(output_ready), .data_i(made),
      .valid_o(out_valid_o), .ready_i(out_ready_i), .data_o(given), .whole_o(out_whole), .full_o(out_full),
      .count_o(out_count_o)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- The pipeline --------------------------------------------------------------------------------
  psi_pipe #(
      .W(W), .LogN(MaxLogN), .Intts(Intts), .Kind(Kind), .Word(MontgomeryWord), .Twin(Twin)
  ) u_pipe (
      .clk_i, .rst_ni, .log_n_i, .shift_i, .q_i, .k_i, .drain_i(5'(Drain)), .lwe_log_i, .gadget_i, .offset_i,
      .tw_we_i(tw_valid_i), .tw_addr_i, .tw_data_i, .idle_o(unit_idle), .load_valid_i(load),
      .load_ready_o(load_ready), .load_unit_i(load_unit), .load_loop_i(load_loop), .in_valid_i(pipe_in_valid),
      .in_ready_o(pipe_in_ready), .in_i(pipe_in), .send_valid_i(send), .send_ready_o(send_ready),
      .send_unit_i(send_unit), .send_job_i(send_job), .key_valid_i(key_valid), .key_ready_o(key_ready), .key_i(key),
      .out_valid_o(pipe_valid), .out_ready_i(pipe_ready), .out_o(made), .out_loop_o(pipe_loop), .out_last_o(pipe_last),
      .busy_o(pipe_busy)
  );

  // ---- State ---------------------------------------------------------------------------------------
  assign empty_o = input_count == '0 && loop_count == '0 && out_count_o == '0;
  assign idle_o = rob_idle && !key_pending && key_idle_o && !pipe_busy;
  assign moved_o = (instr_valid_i && instr_ready_o) || (load && load_ready) || (send && send_ready)
                   || (key_valid && key_ready) || (pipe_valid && pipe_ready) || (in_valid_i && in_ready_o)
                   || (out_valid_o && out_ready_i) || key_beat_o;
  assign state_o = {loop_full, !loop_whole, out_full, !out_whole, input_full, !input_whole, !key_req_ready,
                    !key_pending, rob_full, rob_empty};
  assign in_taken_o = pipe_in_valid[0] && pipe_in_ready[0];
  assign ended_o = result;
  assign key_waits_o = key_ready && !key_valid;
  assign nothing_o = !pipe_busy;
  always_comb begin
    busy_units_o = '0;
    for (int unsigned m = 0; m < Intts; m++) busy_units_o = busy_units_o + 4'(!unit_idle[m]);
  end

  // Words are shorter than 64 bits.
  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int unsigned l = 0; l < 2 * Coefficients; l++) unused = unused ^ (^in_i[64*l+W+:64-W]);
  end
endmodule
