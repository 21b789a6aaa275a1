// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Control sequencer of a processing element: takes instructions in order, checks them, and issues each as soon as
// its unit, its slots and its bank ports are free. Units run concurrently and finish in any order.
//
// An instruction waits while
//   its unit is busy;
//   a running instruction writes a slot that it reads, or reads or writes the slot that it writes;
//   a running instruction holds the read port of a bank that it reads, or the write port of the one it writes; LOADs,
//   whose rows arrive one after the other, hold write ports together.
// Up to LoadQueue LOADs are under way at once, and finish in order.
// Transforms read and write their destination's bank from the second stage on, so they hold both of its ports.
// CONF and MODULUS wait until every unit is idle, END also until every store is acknowledged.
//
// Outputs: start_*_o for one cycle with the instruction on instr_o. error_o stays until reset; code and address of
// the offending instruction with it.
module vector_sequencer
  import vector_pkg::*;
  import vector_isa_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Banks = 3,
    parameter int unsigned BankRows = 4096,
    parameter int unsigned TwiddleRows = 4096,
    parameter int unsigned MinLogN = 8,
    parameter int unsigned MaxLogN = 15,
    parameter int unsigned Pes = 7,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    localparam int unsigned LogLanes = $clog2(Lanes),
    localparam int unsigned RowBits = MaxLogN - LogLanes,
    localparam int unsigned LoadBits = $clog2(LoadQueue + 1)
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    input  logic           start_i,
    input  logic           halt_i,
    input  logic [    6:0] index_i,         // number of this element in its group
    input  logic           valid_i,
    output logic           ready_o,
    input  logic [  255:0] instr_i,
    output instr_t         instr_o,
    output logic           start_spn_o,
    output logic           start_mac_o,
    output logic           start_load_o,
    output logic           start_in_o,
    output logic           start_out_o,
    output logic           push_stream_o,
    output logic           write_modulus_o,
    input  logic           spn_src_done_i,
    input  logic           spn_done_i,
    input  logic           mac_done_i,
    input  logic           load_done_i,
    input  logic           in_done_i,
    input  logic           out_done_i,
    input  logic           stream_full_i,
    input  logic           stream_idle_i,
    input  logic           stores_pending_i,
    output logic           sync_o,
    output logic [    1:0] sync_scope_o,
    input  logic           sync_go_i,
    output logic [    4:0] log_n_o,
    output logic [    2:0] shift_o,
    output logic [RowBits:0] rows_o,
    output logic           done_o,          // END reached
    output error_e         error_o,
    output logic [   31:0] pc_o             // instructions issued
);
  instr_t instr_q;
  logic valid_q, configured_q;
  logic [31:0] pc_q;

  assign instr_o = instr_q;
  assign pc_o = pc_q;

  // ---- What the instruction needs ------------------------------------------------------------------
  logic spn, automorphism, mac, load, in, out, stream, conf, modulus, sync, finish, known;
  logic reads_a, reads_b, reads_c, writes, twiddle_load;

  always_comb begin
    automorphism = instr_q.op == OpAuto;
    spn = instr_q.op == OpNtt || instr_q.op == OpIntt || automorphism;
    mac = instr_q.op == OpMac;
    load = instr_q.op == OpLoad;
    in = instr_q.op == OpRecv || instr_q.op == OpReduce;
    out = instr_q.op == OpStore || instr_q.op == OpSend || instr_q.op == OpReduce;
    stream = instr_q.op == OpStream;
    conf = instr_q.op == OpConf;
    modulus = instr_q.op == OpModulus;
    sync = instr_q.op == OpSync;
    finish = instr_q.op == OpEnd;
    known = spn || mac || load || in || out || stream || conf || modulus || sync || finish;
    reads_a = spn || mac || out;
    reads_b = mac && instr_q.b_from == BFromSlot;
    reads_c = mac && (instr_q.pre_sub || instr_q.post_add);
    writes = spn || mac || load || in;
    twiddle_load = load && instr_q.dst.bank == TwiddleBank;
  end

  // ---- Is it legal -----------------------------------------------------------------------------------
  function automatic logic slot_ok(input slot_t s, input logic [RowBits:0] n);
    return 32'(s.bank) < Banks && (32'(s.row) & (32'(n) - 1)) == 0 && 32'(s.row) + 32'(n) <= BankRows;
  endfunction
  function automatic logic twiddle_ok(input slot_t s, input logic [RowBits:0] n);
    return s.bank == TwiddleBank && (32'(s.row) & (32'(n) - 1)) == 0 && 32'(s.row) + 32'(n) <= TwiddleRows;
  endfunction
  // A Barrett machine's moduli fill its words and end in `shift` zeros; a Montgomery machine's are primes of nearly
  // its words' length.
  function automatic logic modulus_ok(input logic [63:0] q, input logic [2:0] shift);
    if (q >> W != 0) return 1'b0;
    if (Kind == rf_pkg::MulMontgomery) return q[0] && q >> (W - MaxShift - 1) != 0;
    return q[W-1] && (q & ((64'd1 << shift) - 1)) == 0;
  endfunction
  // Two different slots of one bank cannot be read together.
  function automatic logic apart(input slot_t x, input slot_t y);
    return x.bank != y.bank || x == y;
  endfunction

  error_e fault;
  logic slots_ok, address_ok, operand_ok, conf_ok;
  logic [63:0] block;  // alignment of addresses: the polynomial, or a burst's 4 KiB
  always_comb begin
    slots_ok = (!reads_a || slot_ok(instr_q.a, rows_o)) && (!reads_b || slot_ok(instr_q.b, rows_o)) &&
        (!reads_c || slot_ok(instr_q.c, rows_o)) &&
        (!writes || (twiddle_load ? twiddle_ok(instr_q.dst, rows_o) : slot_ok(instr_q.dst, rows_o)));
    if (spn && !automorphism) slots_ok = slots_ok && twiddle_ok(instr_q.b, rows_o);
    if (automorphism) slots_ok = slots_ok && instr_q.a != instr_q.dst;
    if (reads_b) slots_ok = slots_ok && apart(instr_q.a, instr_q.b);
    if (reads_c) slots_ok = slots_ok && apart(instr_q.a, instr_q.c);
    if (reads_b && reads_c) slots_ok = slots_ok && apart(instr_q.b, instr_q.c);
    block = (64'd8 << log_n_o) > 64'd4096 ? 64'd4096 : 64'd8 << log_n_o;
    address_ok = (instr_q.addr & (block - 1)) == 0 && instr_q.addr[63:AddrW] == 0;
    operand_ok = 1'b1;
    if (automorphism) operand_ok = instr_q.imm[0] && instr_q.imm >> (log_n_o + 1) == 0;
    if (instr_q.op == OpRecv) operand_ok = 32'(instr_q.src_pe) < Pes && instr_q.src_pe != index_i;
    if (instr_q.op == OpSend)
      operand_ok = instr_q.mask != 0 && 33'(instr_q.mask) >> Pes == 0 && !instr_q.mask[index_i[4:0]];
    if (sync) operand_ok = instr_q.scope != 2'd3;
    if (mac) operand_ok = instr_q.b_from != 2'd3;
    conf_ok = 32'(instr_q.imm[4:0]) >= MinLogN && 32'(instr_q.imm[4:0]) <= MaxLogN && instr_q.imm[7:5] == 0 &&
        instr_q.imm >> 8 <= (Kind == rf_pkg::MulMontgomery ? 64'd0 : 64'(MaxShift));

    fault = ErrNone;
    if (!known) fault = ErrOpcode;
    else if (conf ? !conf_ok : !configured_q && !finish && !sync) fault = ErrConfig;
    else if (modulus && !modulus_ok(instr_q.imm, shift_o)) fault = ErrConfig;
    else if (!slots_ok) fault = ErrSlot;
    else if ((stream || load || instr_q.op == OpStore) && !address_ok) fault = ErrAddress;
    else if (!operand_ok) fault = ErrOperand;
  end

  // ---- Scoreboard ------------------------------------------------------------------------------------
  logic spn_busy_q, spn_src_q, mac_busy_q, in_busy_q, out_busy_q;
  logic spn_own_bank_q;  // the transform reads its destination too
  slot_t spn_a_q, spn_tw_q, spn_dst_q, mac_a_q, mac_b_q, mac_c_q, mac_dst_q, in_dst_q, out_a_q;
  logic mac_b_used_q, mac_c_used_q;
  // LOADs under way, the oldest first.
  slot_t load_dst_q[LoadQueue];
  logic [LoadBits-1:0] loads_q;

  // Slots that running instructions read or write, and banks whose ports they hold.
  typedef struct packed {
    logic  valid;
    slot_t slot;
  } held_t;
  localparam int unsigned Writers = 3 + LoadQueue;
  localparam int unsigned Readers = 6;
  held_t [Writers-1:0] written;
  held_t [Readers-1:0] read;
  logic [7:0] read_banks, unit_banks, load_banks;  // a bit for each bank: its read port; its write port

  function automatic logic is_written(input held_t [Writers-1:0] held, input slot_t s);
    is_written = 1'b0;
    for (int unsigned i = 0; i < Writers; i++) is_written = is_written || (held[i].valid && held[i].slot == s);
  endfunction
  function automatic logic is_read(input held_t [Readers-1:0] held, input slot_t s);
    is_read = 1'b0;
    for (int unsigned i = 0; i < Readers; i++) is_read = is_read || (held[i].valid && held[i].slot == s);
  endfunction

  always_comb begin
    written[0] = {spn_busy_q, spn_dst_q};
    written[1] = {mac_busy_q, mac_dst_q};
    written[2] = {in_busy_q, in_dst_q};
    read[0] = {spn_busy_q, spn_tw_q};
    read[1] = {spn_busy_q && spn_src_q, spn_a_q};
    read[2] = {mac_busy_q, mac_a_q};
    read[3] = {mac_busy_q && mac_b_used_q, mac_b_q};
    read[4] = {mac_busy_q && mac_c_used_q, mac_c_q};
    read[5] = {out_busy_q, out_a_q};
    for (int unsigned i = 0; i < LoadQueue; i++) written[3+i] = {i < 32'(loads_q), load_dst_q[i]};
    unit_banks = '0;
    for (int unsigned i = 0; i < 3; i++) if (written[i].valid) unit_banks[written[i].slot.bank] = 1'b1;
    load_banks = '0;
    for (int unsigned i = 3; i < Writers; i++) if (written[i].valid) load_banks[written[i].slot.bank] = 1'b1;
    read_banks = '0;
    if (spn_busy_q && spn_own_bank_q) read_banks[spn_dst_q.bank] = 1'b1;
    // Not the first: a twiddle table has a bank of its own, the source of an automorphism is counted as the second.
    for (int unsigned i = 1; i < Readers; i++) if (read[i].valid) read_banks[read[i].slot.bank] = 1'b1;
  end

  logic units_idle, unit_free, no_hazard, ports_free, special_ok, issue;
  always_comb begin
    units_idle = !spn_busy_q && !mac_busy_q && loads_q == 0 && !in_busy_q && !out_busy_q;
    unit_free = !(spn && spn_busy_q) && !(mac && mac_busy_q) && !(load && 32'(loads_q) == LoadQueue) &&
        !(in && in_busy_q) && !(out && out_busy_q);
    no_hazard = !(reads_a && is_written(written, instr_q.a)) && !(reads_b && is_written(written, instr_q.b)) &&
        !(reads_c && is_written(written, instr_q.c)) &&
        !(writes && (is_written(written, instr_q.dst) || is_read(read, instr_q.dst))) &&
        !(spn && !automorphism && is_written(written, instr_q.b));
    ports_free = !(reads_a && read_banks[instr_q.a.bank]) && !(reads_b && read_banks[instr_q.b.bank]) &&
        !(reads_c && read_banks[instr_q.c.bank]) && !(writes && unit_banks[instr_q.dst.bank]) &&
        !(writes && !load && load_banks[instr_q.dst.bank]) &&
        !(spn && !automorphism && read_banks[instr_q.dst.bank]);
    special_ok = 1'b1;
    if (stream) special_ok = !stream_full_i;
    if (conf) special_ok = units_idle && stream_idle_i;
    if (modulus) special_ok = units_idle;
    if (sync) special_ok = !out_busy_q && !stores_pending_i && (instr_q.scope == ScopeElement || sync_go_i);
    if (finish) special_ok = units_idle && stream_idle_i && !stores_pending_i;
    issue = valid_q && !halt_i && fault == ErrNone && error_o == ErrNone && unit_free && no_hazard && ports_free &&
        special_ok;
  end

  assign sync_o = valid_q && sync && fault == ErrNone && !out_busy_q && !stores_pending_i &&
      instr_q.scope != ScopeElement;
  assign sync_scope_o = instr_q.scope;
  assign start_spn_o = issue && spn;
  assign start_mac_o = issue && mac;
  assign start_load_o = issue && load;
  assign start_in_o = issue && in;
  assign start_out_o = issue && out;
  assign push_stream_o = issue && stream;
  assign write_modulus_o = issue && modulus;
  assign ready_o = !done_o && (!valid_q || (issue && !finish));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      valid_q <= 1'b0;
      configured_q <= 1'b0;
      spn_busy_q <= 1'b0;
      spn_src_q <= 1'b0;
      mac_busy_q <= 1'b0;
      loads_q <= '0;
      in_busy_q <= 1'b0;
      out_busy_q <= 1'b0;
      done_o <= 1'b0;
      error_o <= ErrNone;
      pc_q <= '0;
      log_n_o <= 5'(MinLogN);
      shift_o <= '0;
      rows_o <= (RowBits + 1)'(1 << (MinLogN - LogLanes));
    end else begin
      if (ready_o) begin
        valid_q <= valid_i;
        instr_q <= decode(instr_i);
      end
      if (valid_q && fault != ErrNone && error_o == ErrNone && !done_o) error_o <= fault;

      if (spn_src_done_i) spn_src_q <= 1'b0;
      if (spn_done_i) spn_busy_q <= 1'b0;
      if (mac_done_i) mac_busy_q <= 1'b0;
      loads_q <= loads_q + LoadBits'(start_load_o) - LoadBits'(load_done_i);
      if (in_done_i) in_busy_q <= 1'b0;
      if (out_done_i) out_busy_q <= 1'b0;

      if (issue) begin
        pc_q <= pc_q + 1;
        if (spn) begin
          spn_busy_q <= 1'b1;
          spn_src_q <= 1'b1;
          spn_own_bank_q <= !automorphism;
          spn_a_q <= instr_q.a;
          spn_dst_q <= instr_q.dst;
          spn_tw_q <= automorphism ? instr_q.a : instr_q.b;
        end
        if (mac) begin
          mac_busy_q <= 1'b1;
          mac_a_q <= instr_q.a;
          mac_b_q <= instr_q.b;
          mac_c_q <= instr_q.c;
          mac_b_used_q <= reads_b;
          mac_c_used_q <= reads_c;
          mac_dst_q <= instr_q.dst;
        end
        if (in) begin
          in_busy_q <= 1'b1;
          in_dst_q <= instr_q.dst;
        end
        if (out) begin
          out_busy_q <= 1'b1;
          out_a_q <= instr_q.a;
        end
        if (conf) begin
          configured_q <= 1'b1;
          log_n_o <= instr_q.imm[4:0];
          shift_o <= instr_q.imm[10:8];
          rows_o <= (RowBits + 1)'(32'd1 << (instr_q.imm[4:0] - 5'(LogLanes)));
        end
        if (finish) begin
          done_o <= 1'b1;
          valid_q <= 1'b0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_done_i) for (int unsigned i = 1; i < LoadQueue; i++) load_dst_q[i-1] <= load_dst_q[i];
    for (int unsigned i = 0; i < LoadQueue; i++)
      if (start_load_o && 32'(loads_q) == i + 32'(load_done_i)) load_dst_q[i] <= instr_q.dst;
  end
endmodule
