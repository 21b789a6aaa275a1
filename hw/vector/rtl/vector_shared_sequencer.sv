// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Control sequencer of an element with shared ALUs: takes instructions in order, checks them, and issues each as soon
// as its unit, its slots and its bank ports are free, as vector_sequencer does. What differs:
//
// MACs. Up to MacQueue are under way: one waits for the MAC unit, one is read, the others are on their way through the
//   array. A MAC holds the read ports of its sources' banks until its last row is read, the write port of its
//   destination's until its last row is written. MACs of the unit follow each other without checks, but a MAC that
//   reads what one under way writes waits unless polynomials have more rows than the array is long (MacLength): row r
//   is then written before it is read again.
// Transforms and outward moves that wait for MACs alone are issued at once, with the number of MACs that have to end
//   first, and start when these have ended: the MACs behind them in the program do not wait with them.
// Checks take a cycle of their own: an instruction is issued two cycles after the one before at the earliest.
// COPY goes to the machine's copier; SYNC, CONF and END wait for copies too. There is no REDUCE.
//
// Outputs: take_* for one cycle with the instruction on instr_o: settings of the unit; start_* in that cycle or later.
//   error_o stays until reset; code and address of the offending instruction with it.
module vector_shared_sequencer
  import vector_pkg::*;
  import vector_isa_pkg::*;
#(
    parameter int unsigned W = 54,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Banks = 4,
    parameter int unsigned BankRows [Banks] = '{default: 512},
    parameter int unsigned TwiddleRows = 256,
    parameter int unsigned MinLogN = 7,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned ModuliEntries = 64,
    parameter int unsigned Pes = 2,
    parameter int unsigned NearBits = 32,
    parameter int unsigned FarBits = 34,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter int unsigned MacLength = 18,
    localparam int unsigned LogLanes = $clog2(Lanes),
    localparam int unsigned RowBits = MaxLogN - LogLanes
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
    output logic           take_spn_o,
    output logic           start_spn_o,
    output logic           take_mac_o,
    output logic           start_load_o,
    output logic           start_in_o,
    output logic           take_out_o,
    output logic           start_out_o,
    output logic           push_stream_o,
    output logic           write_modulus_o,
    output logic           copy_valid_o,
    input  logic           copy_ready_i,
    input  logic           copies_pending_i,
    input  logic           spn_src_done_i,
    input  logic           spn_done_i,
    input  logic           mac_ready_i,     // the MAC unit can take another MAC
    input  logic           mac_read_done_i, // the oldest MAC that was being read no longer is
    input  logic           mac_done_i,      // the oldest MAC has ended
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
  localparam int unsigned MacQueue = 4;
  localparam int unsigned MacBits = $clog2(MacQueue + 1);
  localparam int unsigned LoadBits = $clog2(LoadQueue + 1);
  localparam int unsigned LineBytes = Lanes * 8;

  instr_t instr_q;
  logic valid_q, checked_q, configured_q;
  logic [31:0] pc_q;
  logic long_q;                  // polynomials have more rows than the array is long
  logic [AddrW-1:0] bytes_q;     // of a polynomial, whole lines

  assign instr_o = instr_q;
  assign pc_o = pc_q;

  // ---- What the instruction needs ------------------------------------------------------------------
  logic spn, automorphism, paired, mac, load, in, out, stream, copy, conf, modulus, sync, finish, known;
  logic reads_a, reads_b, reads_c, writes, twiddle_load;
  slot_t pair_dst, pair_a, pair_tw;
  logic [7:0] read_banks, write_banks;  // a bit for each bank

  always_comb begin
    automorphism = instr_q.op == OpAuto;
    spn = instr_q.op == OpNtt || instr_q.op == OpIntt || automorphism;
    paired = spn && !automorphism && instr_q.imm[PairLsb-ImmLsb];
    mac = instr_q.op == OpMac;
    load = instr_q.op == OpLoad;
    in = instr_q.op == OpRecv;
    out = instr_q.op == OpStore || instr_q.op == OpSend;
    stream = instr_q.op == OpStream;
    copy = instr_q.op == OpCopy;
    conf = instr_q.op == OpConf;
    modulus = instr_q.op == OpModulus;
    sync = instr_q.op == OpSync;
    finish = instr_q.op == OpEnd;
    known = spn || mac || load || in || out || stream || copy || conf || modulus || sync || finish;
    reads_a = spn || mac || out;
    reads_b = mac && instr_q.b_from == BFromSlot;
    reads_c = mac && (instr_q.pre_sub || instr_q.post_add);
    writes = spn || mac || load || in;
    twiddle_load = load && instr_q.dst.bank == TwiddleBank;
    pair_dst = slot_t'(instr_q.imm[PairDstLsb-ImmLsb+:16]);
    pair_a = slot_t'(instr_q.imm[PairALsb-ImmLsb+:16]);
    pair_tw = slot_t'(instr_q.imm[PairTwLsb-ImmLsb+:16]);
    read_banks = '0;
    write_banks = '0;
    if (reads_a) read_banks[instr_q.a.bank] = 1'b1;
    if (reads_b) read_banks[instr_q.b.bank] = 1'b1;
    if (reads_c) read_banks[instr_q.c.bank] = 1'b1;
    if (spn && !automorphism) read_banks[instr_q.dst.bank] = 1'b1;
    if (writes) write_banks[instr_q.dst.bank] = 1'b1;
    if (paired) begin
      read_banks[pair_a.bank] = 1'b1;
      read_banks[pair_dst.bank] = 1'b1;
      write_banks[pair_dst.bank] = 1'b1;
    end
  end

  // ---- Is it legal -----------------------------------------------------------------------------------
  function automatic logic slot_ok(input slot_t s, input logic [RowBits:0] n);
    slot_ok = 1'b0;
    for (int unsigned b = 0; b < Banks; b++)
      if (32'(s.bank) == b) slot_ok = (32'(s.row) & (32'(n) - 1)) == 0 && 32'(s.row) + 32'(n) <= BankRows[b];
  endfunction
  function automatic logic twiddle_ok(input slot_t s, input logic [RowBits:0] n);
    return s.bank == TwiddleBank && (32'(s.row) & (32'(n) - 1)) == 0 && 32'(s.row) + 32'(n) <= TwiddleRows;
  endfunction
  // As in vector_sequencer.
  function automatic logic modulus_ok(input logic [63:0] q, input logic [2:0] shift);
    if (q >> W != 0) return 1'b0;
    if (Kind == rf_pkg::MulMontgomery) return q[0] && q >> (W - MaxShift - 1) != 0;
    return q[W-1] && (q & ((64'd1 << shift) - 1)) == 0;
  endfunction
  // Two different slots of one bank cannot be read together.
  function automatic logic apart(input slot_t x, input slot_t y);
    return x.bank != y.bank || x == y;
  endfunction
  // A polynomial lies inside a memory of 2^bits bytes, from a line on.
  function automatic logic place_ok(input logic [63:0] address, input logic [AddrW-1:0] bytes, input int unsigned bits);
    logic [64:0] last;
    last = 65'(address) + 65'(bytes) - 65'd1;
    return (address & 64'(LineBytes - 1)) == 0 && last >> bits == 0;
  endfunction

  error_e fault, fault_q;
  logic legal;  // the instruction was checked
  logic slots_ok, address_ok, operand_ok, conf_ok;
  always_comb begin
    slots_ok = (!reads_a || slot_ok(instr_q.a, rows_o)) && (!reads_b || slot_ok(instr_q.b, rows_o)) &&
        (!reads_c || slot_ok(instr_q.c, rows_o)) &&
        (!writes || (twiddle_load ? twiddle_ok(instr_q.dst, rows_o) : slot_ok(instr_q.dst, rows_o)));
    if (spn && !automorphism) slots_ok = slots_ok && twiddle_ok(instr_q.b, rows_o);
    if (automorphism) slots_ok = slots_ok && instr_q.a != instr_q.dst;
    if (paired)
      slots_ok = slots_ok && slot_ok(pair_dst, rows_o) && slot_ok(pair_a, rows_o) && twiddle_ok(pair_tw, rows_o) &&
          instr_q.dst != pair_dst && instr_q.dst != pair_a && pair_dst != instr_q.a;
    if (reads_b) slots_ok = slots_ok && apart(instr_q.a, instr_q.b);
    if (reads_c) slots_ok = slots_ok && apart(instr_q.a, instr_q.c);
    if (reads_b && reads_c) slots_ok = slots_ok && apart(instr_q.b, instr_q.c);
    address_ok = place_ok(instr_q.addr, bytes_q, NearBits);
    if (copy) address_ok = address_ok && place_ok(instr_q.imm, bytes_q, FarBits);
    operand_ok = 1'b1;
    if (automorphism) operand_ok = instr_q.imm[0] && instr_q.imm >> (log_n_o + 1) == 0;
    if (instr_q.op == OpRecv) operand_ok = 32'(instr_q.src_pe) < Pes && instr_q.src_pe != index_i;
    if (instr_q.op == OpSend)
      operand_ok = instr_q.mask != 0 && 33'(instr_q.mask) >> Pes == 0 && !instr_q.mask[index_i[4:0]];
    if (sync) operand_ok = instr_q.scope != 2'd3;
    if (mac) operand_ok = instr_q.b_from != 2'd3 && !(instr_q.pre_sub && instr_q.post_add);
    if (mac || modulus || (spn && !automorphism)) operand_ok = operand_ok && 32'(entry(instr_q)) < ModuliEntries;
    if ((mac || instr_q.op == OpNtt) && instr_q.lift)
      operand_ok = operand_ok && 32'(src_entry(instr_q)) < ModuliEntries;
    if (paired) operand_ok = operand_ok && 32'(pair_entry(instr_q)) < ModuliEntries;
    conf_ok = 32'(instr_q.imm[4:0]) >= MinLogN && 32'(instr_q.imm[4:0]) <= MaxLogN && instr_q.imm[7:5] == 0 &&
        instr_q.imm >> 8 <= (Kind == rf_pkg::MulMontgomery ? 64'd0 : 64'(MaxShift));

    fault = ErrNone;
    if (!known) fault = ErrOpcode;
    else if (conf ? !conf_ok : !configured_q && !finish && !sync) fault = ErrConfig;
    else if (modulus && !modulus_ok(instr_q.imm, shift_o)) fault = ErrConfig;
    else if (!slots_ok) fault = ErrSlot;
    else if ((stream || load || copy || instr_q.op == OpStore) && !address_ok) fault = ErrAddress;
    else if (!operand_ok) fault = ErrOperand;
  end
  assign legal = valid_q && checked_q && fault_q == ErrNone && error_o == ErrNone;

  // ---- Scoreboard ------------------------------------------------------------------------------------
  logic spn_busy_q, spn_src_q, in_busy_q, out_busy_q;
  logic spn_own_bank_q;  // the transform reads its destination too
  logic spn_pair_q;
  slot_t spn_a_q, spn_tw_q, spn_dst_q, pair_a_q, pair_tw_q, pair_dst_q, in_dst_q, out_a_q;
  // LOADs under way, the oldest first.
  slot_t load_dst_q[LoadQueue];
  logic [LoadBits-1:0] loads_q;

  // MACs under way, the oldest first; the first `read_q` of them have read all their rows.
  typedef struct packed {
    slot_t a;
    slot_t b;
    slot_t c;
    slot_t dst;
    logic  b_used;
    logic  c_used;
  } mac_t;
  mac_t mac_q[MacQueue];
  logic [MacBits-1:0] macs_q, read_q;

  // What transforms, moves and loads under way read or write, and the ports they hold.
  typedef struct packed {
    logic  valid;
    slot_t slot;
  } held_t;
  localparam int unsigned Writers = 3 + LoadQueue;
  localparam int unsigned Readers = 5;
  held_t [Writers-1:0] written;
  held_t [Readers-1:0] read;
  logic [7:0] held_read, held_write, held_load;

  function automatic logic is_written(input held_t [Writers-1:0] held, input slot_t s);
    is_written = 1'b0;
    for (int unsigned i = 0; i < Writers; i++) is_written = is_written || (held[i].valid && held[i].slot == s);
  endfunction
  function automatic logic is_read(input held_t [Readers-1:0] held, input slot_t s);
    is_read = 1'b0;
    for (int unsigned i = 0; i < Readers; i++) is_read = is_read || (held[i].valid && held[i].slot == s);
  endfunction
  /* verilator lint_off UNUSEDSIGNAL */  // what a MAC reads
  function automatic logic mac_reads(input mac_t m, input slot_t s);
    return m.a == s || (m.b_used && m.b == s) || (m.c_used && m.c == s);
  endfunction
  function automatic logic [7:0] mac_banks(input mac_t m);
    mac_banks = 8'd1 << m.a.bank;
    if (m.b_used) mac_banks = mac_banks | 8'd1 << m.b.bank;
    if (m.c_used) mac_banks = mac_banks | 8'd1 << m.c.bank;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  always_comb begin
    written[0] = {spn_busy_q, spn_dst_q};
    written[1] = {spn_busy_q && spn_pair_q, pair_dst_q};
    written[2] = {in_busy_q, in_dst_q};
    for (int unsigned i = 0; i < LoadQueue; i++) written[3+i] = {i < 32'(loads_q), load_dst_q[i]};
    read[0] = {spn_busy_q, spn_tw_q};
    read[1] = {spn_busy_q && spn_pair_q, pair_tw_q};
    read[2] = {spn_busy_q && spn_src_q, spn_a_q};
    read[3] = {spn_busy_q && spn_src_q && spn_pair_q, pair_a_q};
    read[4] = {out_busy_q, out_a_q};
    held_write = '0;
    for (int unsigned i = 0; i < 3; i++) if (written[i].valid) held_write[written[i].slot.bank] = 1'b1;
    held_load = '0;
    for (int unsigned i = 3; i < Writers; i++) if (written[i].valid) held_load[written[i].slot.bank] = 1'b1;
    held_read = '0;
    if (spn_busy_q && spn_own_bank_q) held_read[spn_dst_q.bank] = 1'b1;
    if (spn_busy_q && spn_pair_q) held_read[pair_dst_q.bank] = 1'b1;
    // Not the first two: twiddle tables have a bank of their own; an automorphism's source is counted as the third.
    for (int unsigned i = 2; i < Readers; i++) if (read[i].valid) held_read[read[i].slot.bank] = 1'b1;
  end

  // MACs that the instruction has to wait for: the youngest of them, counted from the oldest, from 1.
  logic [MacBits-1:0] behind;
  always_comb begin
    behind = '0;
    for (int unsigned i = 0; i < MacQueue; i++) begin
      automatic logic reading = i >= 32'(read_q);
      automatic logic raw = (reads_a && instr_q.a == mac_q[i].dst) || (reads_b && instr_q.b == mac_q[i].dst) ||
          (reads_c && instr_q.c == mac_q[i].dst) || (paired && pair_a == mac_q[i].dst);
      automatic logic waw = (writes && instr_q.dst == mac_q[i].dst) || (paired && pair_dst == mac_q[i].dst);
      automatic logic war = reading &&
          ((writes && mac_reads(mac_q[i], instr_q.dst)) || (paired && mac_reads(mac_q[i], pair_dst)));
      automatic logic ports = (reading && (read_banks & mac_banks(mac_q[i])) != '0) ||
          write_banks[mac_q[i].dst.bank];
      if (i < 32'(macs_q) && (mac ? raw && !long_q : raw || waw || war || ports)) behind = MacBits'(i + 1);
    end
  end

  logic units_idle, unit_free, no_hazard, ports_free, macs_ok, special_ok, issue;
  logic [MacBits-1:0] wait_now;  // MACs to wait for, less the one that ends now
  logic [MacBits-1:0] spn_wait_q, out_wait_q;
  always_comb begin
    units_idle = !spn_busy_q && macs_q == 0 && loads_q == 0 && !in_busy_q && !out_busy_q;
    unit_free = !(spn && spn_busy_q) && !(mac && (!mac_ready_i || 32'(macs_q) == MacQueue)) &&
        !(load && 32'(loads_q) == LoadQueue) && !(in && in_busy_q) && !(out && out_busy_q);
    no_hazard = !(reads_a && is_written(written, instr_q.a)) && !(reads_b && is_written(written, instr_q.b)) &&
        !(reads_c && is_written(written, instr_q.c)) &&
        !(writes && (is_written(written, instr_q.dst) || is_read(read, instr_q.dst))) &&
        !(spn && !automorphism && is_written(written, instr_q.b)) &&
        !(paired && (is_written(written, pair_a) || is_written(written, pair_dst) || is_read(read, pair_dst) ||
            is_written(written, pair_tw)));
    // LOADs, whose rows arrive one after the other, hold write ports together.
    ports_free = (read_banks & held_read) == '0 && (write_banks & held_write) == '0 &&
        (load || (write_banks & held_load) == '0);
    macs_ok = behind == '0 || spn || out;
    wait_now = behind - MacBits'(behind != '0 && mac_done_i);
    special_ok = 1'b1;
    if (stream) special_ok = !stream_full_i;
    if (copy) special_ok = copy_ready_i;
    if (conf) special_ok = units_idle && stream_idle_i && !stores_pending_i && !copies_pending_i;
    if (modulus) special_ok = units_idle;
    if (sync)
      special_ok = !out_busy_q && !stores_pending_i && !copies_pending_i &&
          (instr_q.scope == ScopeElement || sync_go_i);
    if (finish) special_ok = units_idle && stream_idle_i && !stores_pending_i && !copies_pending_i;
    issue = legal && !halt_i && unit_free && no_hazard && ports_free && macs_ok && special_ok;
  end

  assign sync_o = legal && sync && !out_busy_q && !stores_pending_i && !copies_pending_i &&
      instr_q.scope != ScopeElement;
  assign sync_scope_o = instr_q.scope;
  assign take_spn_o = issue && spn;
  assign start_spn_o = (take_spn_o && wait_now == '0) || (spn_wait_q == MacBits'(1) && mac_done_i);
  assign take_mac_o = issue && mac;
  assign start_load_o = issue && load;
  assign start_in_o = issue && in;
  assign take_out_o = issue && out;
  assign start_out_o = (take_out_o && wait_now == '0) || (out_wait_q == MacBits'(1) && mac_done_i);
  assign push_stream_o = issue && stream;
  assign write_modulus_o = issue && modulus;
  // The copier's readiness does not depend on this.
  assign copy_valid_o = legal && copy && !halt_i;
  assign ready_o = !done_o && (!valid_q || (issue && !finish));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      valid_q <= 1'b0;
      checked_q <= 1'b0;
      configured_q <= 1'b0;
      spn_busy_q <= 1'b0;
      spn_src_q <= 1'b0;
      spn_pair_q <= 1'b0;
      spn_wait_q <= '0;
      macs_q <= '0;
      read_q <= '0;
      loads_q <= '0;
      in_busy_q <= 1'b0;
      out_busy_q <= 1'b0;
      out_wait_q <= '0;
      done_o <= 1'b0;
      error_o <= ErrNone;
      pc_q <= '0;
      log_n_o <= 5'(MinLogN);
      shift_o <= '0;
      rows_o <= (RowBits + 1)'(1 << (MinLogN - LogLanes));
      long_q <= 1'b0;
    end else begin
      if (ready_o) begin
        valid_q <= valid_i;
        instr_q <= decode(instr_i);
      end
      fault_q <= fault;
      checked_q <= valid_q && !ready_o;
      if (valid_q && checked_q && error_o == ErrNone && !done_o) error_o <= fault_q;

      if (spn_src_done_i) spn_src_q <= 1'b0;
      if (spn_done_i) begin
        spn_busy_q <= 1'b0;
        spn_pair_q <= 1'b0;
      end
      if (in_done_i) in_busy_q <= 1'b0;
      if (out_done_i) out_busy_q <= 1'b0;
      loads_q <= loads_q + LoadBits'(start_load_o) - LoadBits'(load_done_i);
      macs_q <= macs_q + MacBits'(take_mac_o) - MacBits'(mac_done_i);
      read_q <= read_q + MacBits'(mac_read_done_i) - MacBits'(mac_done_i);
      if (spn_wait_q != '0) spn_wait_q <= spn_wait_q - MacBits'(mac_done_i);
      if (out_wait_q != '0) out_wait_q <= out_wait_q - MacBits'(mac_done_i);

      if (issue) begin
        pc_q <= pc_q + 1;
        if (spn) begin
          spn_busy_q <= 1'b1;
          spn_src_q <= 1'b1;
          spn_own_bank_q <= !automorphism;
          spn_pair_q <= paired;
          spn_wait_q <= wait_now;
          spn_a_q <= instr_q.a;
          spn_dst_q <= instr_q.dst;
          spn_tw_q <= automorphism ? instr_q.a : instr_q.b;
          pair_a_q <= pair_a;
          pair_dst_q <= pair_dst;
          pair_tw_q <= pair_tw;
        end
        if (in) begin
          in_busy_q <= 1'b1;
          in_dst_q <= instr_q.dst;
        end
        if (out) begin
          out_busy_q <= 1'b1;
          out_wait_q <= wait_now;
          out_a_q <= instr_q.a;
        end
        if (conf) begin
          configured_q <= 1'b1;
          log_n_o <= instr_q.imm[4:0];
          shift_o <= instr_q.imm[10:8];
          rows_o <= (RowBits + 1)'(32'd1 << (instr_q.imm[4:0] - 5'(LogLanes)));
          long_q <= 32'd1 << (instr_q.imm[4:0] - 5'(LogLanes)) > MacLength;
          // Whole lines: N * W / 8 bytes, rounded up.
          bytes_q <= ((AddrW'(W) << instr_q.imm[4:0]) / 8 + AddrW'(LineBytes - 1)) & ~AddrW'(LineBytes - 1);
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
    if (mac_done_i) for (int unsigned i = 1; i < MacQueue; i++) mac_q[i-1] <= mac_q[i];
    for (int unsigned i = 0; i < MacQueue; i++)
      if (take_mac_o && 32'(macs_q) == i + 32'(mac_done_i))
        mac_q[i] <= '{instr_q.a, instr_q.b, instr_q.c, instr_q.dst, reads_b, reads_c};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!mac_done_i || read_q != '0);
      assert (!mac_read_done_i || read_q < macs_q);
    end
`endif
endmodule
