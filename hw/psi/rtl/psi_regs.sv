// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The machine's own registers (registers.json), which hold its settings, give the host's commands, and load twiddles.
//
// Function    A write of the host is of a whole word and of bits that the register has, and is refused, as one where no
//             register is: settings and twiddles while locked_i, commands unless polled_i and the one before has been taken. A queue sets
//             registers over set_*, up to SUBST_15. bad_o: what all commands need is not what this machine has.
// Latency     a write to what is made from it 2 cycles
// Throughput  one access per cycle
// Ranges      Q = q_o / 2^SHIFT is odd and has W - SHIFT bits, SHIFT below 16 (0 and Q = 1 mod 2^MontgomeryWord with
//             Montgomery multipliers); plain digits end at bit 64 at most, balanced ones two bits above Q's.
//             Otherwise bad_o.
module psi_regs
  import psi_pkg::*;
#(
    parameter int unsigned W = 27,
    parameter int unsigned MinLogN = 10,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter int unsigned MontgomeryWord = rf_pkg::MontgomeryWord
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    // The host, as rf_shell_control's own_*
    input  logic                wr_valid_i,
    input  logic [11:0]         wr_addr_i,
    input  logic [31:0]         wr_data_i,
    input  logic [3:0]          wr_strb_i,
    output logic                wr_known_o,
    input  logic [11:0]         rd_addr_i,
    output logic [31:0]         rd_data_o,
    output logic                rd_known_o,
    // The queue
    input  logic                set_valid_i,
    input  logic [11:0]         set_addr_i,
    input  logic [31:0]         set_data_i,
    output logic                set_known_o,
    // Commands of the host
    input  logic                clear_i,       // forgets the one that waits
    input  logic                polled_i,
    output logic                command_valid_o,
    input  logic                command_ready_i,
    output logic [63:0]         command_o,
    // State
    input  logic                locked_i,
    input  logic [31:0]         fifo_state_i,  // without COMMAND
    // Settings
    output logic                bad_o,
    output logic                bootstrap_o,
    output logic                queue_o,
    output logic [DegreeW-1:0]  log_n_o,
    output logic [W-1:0]        q_o,
    output logic [63:0]         k_o,
    output logic [3:0]          shift_o,
    output logic [3:0]          lwe_log_o,
    output logic [AddrW-1:KeyUnitLog] key_base_o,
    output gadget_t             gadget_o [Gadgets],
    output logic [W+2:0]        offset_o [Gadgets],
    output logic [LweW-1:0]     bound_o  [Gates],
    output logic [31:0]         subst_o  [Substitutions],
    // Twiddles
    output logic                tw_valid_o,
    output logic [MaxLogN-1:0]  tw_addr_o,
    output logic [W-1:0]        tw_data_o
);
  // Which setting a word address is; the same for host and queue.
  function automatic logic setting(input logic [11:0] at);
    return at inside {AddrMode, AddrLogN, AddrQ, AddrQ + 12'd4, AddrBarrett, AddrBarrett + 12'd4, AddrShift, AddrLwe,
                        AddrKeyBase, AddrKeyBase + 12'd4}
        || (at >= AddrGadget && at < AddrGadget + 12'(4 * Gadgets))
        || (at >= AddrOffset && at < AddrOffset + 12'(8 * Gadgets))
        || (at >= AddrBound && at < AddrBound + 12'(4 * Gates))
        || (at >= AddrSubst && at < AddrSubst + 12'(4 * Substitutions));
  endfunction

  // Does it have all bits of a value? Others would act as another value.
  function automatic logic fits(input logic [11:0] at, input logic [31:0] value);
    case (at)
      AddrMode: return value[31:2] == '0;
      AddrLogN, AddrShift, AddrLwe: return value[31:8] == '0;
      AddrKeyBase: return value[KeyUnitLog-1:0] == '0;
      AddrKeyBase + 12'd4: return value[31:AddrW-32] == '0;
      AddrTwiddleIndex: return value[31:MaxLogN] == '0;
      default: ;
    endcase
    if (at >= AddrGadget && at < AddrGadget + 12'(4 * Gadgets)) return (value & ~32'h013f_0f3f) == '0;
    return !(at >= AddrBound && at < AddrBound + 12'(4 * Gates)) || value[31:LweW] == '0;
  endfunction

  logic [63:0] q_q, k_q, key_base_q;
  logic [31:0] word_q;  // of a twiddle
  logic [1:0]  mode_q;
  logic [7:0]  log_n_q, shift_q, lwe_q;
  gadget_t     gadget_q[Gadgets];
  logic [63:0] offset_q[Gadgets];
  logic [LweW-1:0] bound_q[Gates];
  logic [31:0] subst_q[Substitutions];
  logic [MaxLogN-1:0] index_q;

  // ---- Writes --------------------------------------------------------------------------------------
  logic        whole, write, is_command, is_twiddle, command_valid_q;
  logic [11:0] addr;
  logic [31:0] data;
  command_e    code;
  logic [63:0] command_q;

  assign whole = wr_strb_i == '1;
  assign is_command = wr_addr_i >= AddrInstruction && wr_addr_i <= AddrFinish;
  assign is_twiddle = wr_addr_i == AddrTwiddleIndex || wr_addr_i == AddrTwiddle || wr_addr_i == AddrTwiddle + 12'd4;
  assign wr_known_o = whole && (is_command ? polled_i && !command_valid_q
                                           : (setting(wr_addr_i) || is_twiddle) && fits(wr_addr_i, wr_data_i) && !locked_i);
  assign set_known_o = setting(set_addr_i) && fits(set_addr_i, set_data_i);

  // The queue sets what the host is refused meanwhile.
  assign write = set_valid_i ? set_known_o : wr_valid_i && wr_known_o && !is_command;
  assign addr = set_valid_i ? set_addr_i : wr_addr_i;
  assign data = set_valid_i ? set_data_i : wr_data_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mode_q <= '0;
      log_n_q <= '0;
      q_q <= '0;
      k_q <= '0;
      shift_q <= '0;
      lwe_q <= '0;
      key_base_q <= '0;
      gadget_q <= '{default: '0};
      offset_q <= '{default: '0};
      bound_q <= '{default: '0};
      subst_q <= '{default: '0};
      index_q <= '0;
      word_q <= '0;
    end else if (write) begin
      case (addr)
        AddrMode: mode_q <= data[1:0];
        AddrLogN: log_n_q <= data[7:0];
        AddrQ: q_q[31:0] <= data;
        AddrQ + 12'd4: q_q[63:32] <= data;
        AddrBarrett: k_q[31:0] <= data;
        AddrBarrett + 12'd4: k_q[63:32] <= data;
        AddrShift: shift_q <= data[7:0];
        AddrLwe: lwe_q <= data[7:0];
        AddrKeyBase: key_base_q[31:0] <= data;
        AddrKeyBase + 12'd4: key_base_q[63:32] <= data;
        AddrTwiddleIndex: index_q <= MaxLogN'(data);
        AddrTwiddle: word_q <= data;
        AddrTwiddle + 12'd4: index_q <= index_q + 1'b1;
        default: ;
      endcase
      for (int unsigned i = 0; i < Gadgets; i++) begin
        if (addr == AddrGadget + 12'(4 * i))
          gadget_q[i] <= '{balanced: data[24], drop: data[21:16], count: data[11:8], log_base: data[5:0]};
        if (addr == AddrOffset + 12'(8 * i)) offset_q[i][31:0] <= data;
        if (addr == AddrOffset + 12'(8 * i + 4)) offset_q[i][63:32] <= data;
      end
      for (int unsigned i = 0; i < Gates; i++) if (addr == AddrBound + 12'(4 * i)) bound_q[i] <= LweW'(data);
      for (int unsigned i = 0; i < Substitutions; i++) if (addr == AddrSubst + 12'(4 * i)) subst_q[i] <= data;
    end
  end

  // ---- Commands ------------------------------------------------------------------------------------
  always_comb
    case (wr_addr_i)
      AddrInstruction: code = CommandExec;
      AddrInput: code = CommandInput;
      AddrOutput: code = CommandOutput;
      AddrTables: code = CommandTables;
      default: code = CommandEnd;
    endcase

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) command_valid_q <= 1'b0;
    else if (wr_valid_i && wr_known_o && is_command) command_valid_q <= 1'b1;
    else if (command_ready_i) command_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i)
    if (wr_valid_i && wr_known_o && is_command)
      command_q <= {code, code == CommandExec ? {28'd0, wr_data_i}
                          : code == CommandEnd ? 60'd0 : {16'd0, wr_data_i, 12'd0}};
  assign command_valid_o = command_valid_q;
  assign command_o = command_q;

  // ---- Twiddles ------------------------------------------------------------------------------------
  assign tw_valid_o = wr_valid_i && wr_known_o && wr_addr_i == AddrTwiddle + 12'd4;
  assign tw_addr_o = index_q;
  assign tw_data_o = W'({wr_data_i, word_q});

  // ---- What is made from settings, a register later ------------------------------------------------
  // Where the highest digit may end: an offset has three bits more than a residue; plain digits fill 64 bits at most.
  function automatic logic [11:0] most(input logic balanced, input logic [7:0] shift);
    return balanced ? 12'(W + 2) - 12'(shift) : 12'd64;
  endfunction

  logic [63:0] shifted;
  logic [W-1:0] modulus_q;
  logic [W+2:0] offset_shifted_q[Gadgets];
  logic         bad_modulus_q, bad_others_q, bad_others;

  assign shifted = q_q << shift_q[3:0];
  always_comb begin
    bad_others = log_n_q < 8'(MinLogN) || log_n_q > 8'(MaxLogN);
    for (int unsigned i = 0; i < Gadgets; i++)
      bad_others = bad_others || gadget_q[i].count == '0 || gadget_q[i].log_base == '0 || gadget_q[i].log_base[5]
                   || 12'(gadget_q[i].drop) + 12'(gadget_q[i].count) * 12'(gadget_q[i].log_base)
                      > most(gadget_q[i].balanced, shift_q) || (offset_q[i] >> (W + 3)) != '0;
  end
  always_ff @(posedge clk_i) begin
    modulus_q <= W'(shifted);
    bad_modulus_q <= q_q[63:W] != '0 || (shifted >> (W - 1)) != 64'd1 || !q_q[0] || shift_q > 8'd15
                     || (Kind == rf_pkg::MulMontgomery
                         && (shift_q != '0 || q_q[MontgomeryWord-1:0] != MontgomeryWord'(1)));
    bad_others_q <= bad_others;
    for (int unsigned i = 0; i < Gadgets; i++) offset_shifted_q[i] <= (W + 3)'(offset_q[i]);
  end

  assign bad_o = bad_modulus_q || bad_others_q;
  assign bootstrap_o = mode_q[0];
  assign queue_o = mode_q[1];
  assign log_n_o = log_n_q[DegreeW-1:0];
  assign q_o = modulus_q;
  assign k_o = k_q;
  assign shift_o = shift_q[3:0];
  // A modulus of LWE that does not exist is 0, which instructions that need it refuse.
  assign lwe_log_o = lwe_q > 8'd15 ? '0 : lwe_q[3:0];
  assign key_base_o = key_base_q[AddrW-1:KeyUnitLog];
  assign gadget_o = gadget_q;
  assign offset_o = offset_shifted_q;
  assign bound_o = bound_q;
  assign subst_o = subst_q;

  // ---- Reads ---------------------------------------------------------------------------------------
  always_comb begin
    rd_known_o = setting(rd_addr_i) || (rd_addr_i >= AddrInstruction && rd_addr_i <= AddrTwiddleIndex)
                 || rd_addr_i == AddrTwiddle || rd_addr_i == AddrTwiddle + 12'd4;
    case (rd_addr_i)
      AddrMode: rd_data_o = 32'(mode_q);
      AddrLogN: rd_data_o = 32'(log_n_q);
      AddrQ: rd_data_o = q_q[31:0];
      AddrQ + 12'd4: rd_data_o = q_q[63:32];
      AddrBarrett: rd_data_o = k_q[31:0];
      AddrBarrett + 12'd4: rd_data_o = k_q[63:32];
      AddrShift: rd_data_o = 32'(shift_q);
      AddrLwe: rd_data_o = 32'(lwe_q);
      AddrKeyBase: rd_data_o = key_base_q[31:0];
      AddrKeyBase + 12'd4: rd_data_o = key_base_q[63:32];
      AddrFifoState: rd_data_o = fifo_state_i | {21'd0, command_valid_q, 10'd0};
      AddrTwiddleIndex: rd_data_o = 32'(index_q);
      AddrTwiddle: rd_data_o = word_q;
      default: rd_data_o = '0;
    endcase
    for (int unsigned i = 0; i < Gadgets; i++) begin
      if (rd_addr_i == AddrGadget + 12'(4 * i))
        rd_data_o = {7'd0, gadget_q[i].balanced, 2'd0, gadget_q[i].drop, 4'd0, gadget_q[i].count, 2'd0,
                     gadget_q[i].log_base};
      if (rd_addr_i == AddrOffset + 12'(8 * i)) rd_data_o = offset_q[i][31:0];
      if (rd_addr_i == AddrOffset + 12'(8 * i + 4)) rd_data_o = offset_q[i][63:32];
    end
    for (int unsigned i = 0; i < Gates; i++) if (rd_addr_i == AddrBound + 12'(4 * i)) rd_data_o = 32'(bound_q[i]);
    for (int unsigned i = 0; i < Substitutions; i++) if (rd_addr_i == AddrSubst + 12'(4 * i)) rd_data_o = subst_q[i];
  end
endmodule
