// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of vector_sequencer, beside a table of running instructions that is kept from what it issues. Programs are
// any; units are done only when they run, the oldest LOAD first.
//
// A start puts the sequencer back as a reset does.

module vector_sequencer_formal
  import vector_pkg::*;
  import vector_isa_pkg::*;
#(
  parameter int unsigned Banks = 2,
  parameter int unsigned BankRows = 16,
  parameter int unsigned TwiddleRows = 16,
  parameter int unsigned RowBits = 3,
  localparam int unsigned LoadBits = $clog2(LoadQueue + 1)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_i,
  input logic             halt_i,
  input instr_t           instr_o,
  input logic             start_spn_o,
  input logic             start_mac_o,
  input logic             start_load_o,
  input logic             start_in_o,
  input logic             start_out_o,
  input logic             push_stream_o,
  input logic             write_modulus_o,
  input logic             spn_src_done_i,
  input logic             spn_done_i,
  input logic             mac_done_i,
  input logic             load_done_i,
  input logic             in_done_i,
  input logic             out_done_i,
  input logic             stream_full_i,
  input logic [RowBits:0] rows_o,
  input logic             done_o,
  input error_e           error_o,
  input logic             ready_o,
  // inside, for induction
  input logic             valid_q,
  input logic             spn_busy_q,
  input logic             spn_src_q,
  input logic             spn_own_bank_q,
  input logic             mac_busy_q,
  input logic             mac_b_used_q,
  input logic             mac_c_used_q,
  input logic             in_busy_q,
  input logic             out_busy_q,
  input logic [LoadBits-1:0] loads_q,
  input slot_t            spn_a_q,
  input slot_t            spn_tw_q,
  input slot_t            spn_dst_q,
  input slot_t            mac_a_q,
  input slot_t            mac_b_q,
  input slot_t            mac_c_q,
  input slot_t            mac_dst_q,
  input slot_t            in_dst_q,
  input slot_t            out_a_q,
  input slot_t            load_dst_q [LoadQueue]
);
  localparam int unsigned Readers = 7;
  localparam int unsigned Writers = 3 + LoadQueue;

  logic started_q = 1'b0;
  logic checked, fresh;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
  end
  assign checked = started_q && rst_ni;
  assign fresh = !rst_ni || start_i;

  // ---- Running instructions --------------------------------------------------------------------------
  instr_t              spn, mac, move_in, move_out;
  logic                spn_run_q, source_q, mac_run_q, in_run_q, out_run_q;
  logic                reduce_q;  // what runs in and out is one REDUCE
  slot_t               loads [LoadQueue];
  logic [LoadBits-1:0] load_run_q;
  logic                any_start, idle;

  assign any_start = start_spn_o || start_mac_o || start_load_o || start_in_o || start_out_o || push_stream_o
      || write_modulus_o;
  assign idle = !spn_run_q && !mac_run_q && !in_run_q && !out_run_q && load_run_q == '0;

  always_ff @(posedge clk_i) begin
    assume (!spn_done_i || (spn_run_q && (!source_q || spn_src_done_i)));
    assume (!spn_src_done_i || (spn_run_q && source_q));
    assume (!mac_done_i || mac_run_q);
    assume (!in_done_i || in_run_q);
    assume (!out_done_i || out_run_q);
    assume (!load_done_i || load_run_q != '0);
  end

  always_ff @(posedge clk_i) begin
    if (fresh) begin
      spn_run_q <= 1'b0;
      source_q <= 1'b0;
      mac_run_q <= 1'b0;
      in_run_q <= 1'b0;
      out_run_q <= 1'b0;
      load_run_q <= '0;
      reduce_q <= 1'b0;
    end else begin
      spn_run_q <= start_spn_o || (spn_run_q && !spn_done_i);
      source_q <= start_spn_o || (source_q && !spn_src_done_i);
      mac_run_q <= start_mac_o || (mac_run_q && !mac_done_i);
      in_run_q <= start_in_o || (in_run_q && !in_done_i);
      out_run_q <= start_out_o || (out_run_q && !out_done_i);
      load_run_q <= load_run_q + LoadBits'(start_load_o) - LoadBits'(load_done_i);
      reduce_q <= (start_in_o && start_out_o) || (reduce_q && !in_done_i && !out_done_i);
    end
    if (start_spn_o) spn <= instr_o;
    if (start_mac_o) mac <= instr_o;
    if (start_in_o) move_in <= instr_o;
    if (start_out_o) move_out <= instr_o;
    for (int unsigned i = 0; i < LoadQueue; i++) begin
      if (load_done_i && i + 1 < LoadQueue) loads[i] <= loads[i+1];
      if (start_load_o && i == 32'(load_run_q) - 32'(load_done_i)) loads[i] <= instr_o.dst;
    end
  end

  // Slots that they read, with the read port of the bank, and write: whose they are, and whether they are in use.
  logic [Readers-1:0] reads;
  logic [Writers-1:0] writes;
  slot_t              read [Readers], written [Writers];
  int unsigned        reader [Readers], writer [Writers];

  logic transform, mac_b, mac_c;
  assign transform = spn_run_q && spn.op != OpAuto;
  assign mac_b = mac_run_q && mac.b_from == BFromSlot;
  assign mac_c = mac_run_q && (mac.pre_sub || mac.post_add);

  always_comb begin
    reads = {out_run_q, mac_c, mac_b, mac_run_q, transform, transform, spn_run_q && source_q};
    read[0] = spn.a;
    read[1] = spn.dst;
    read[2] = spn.b;
    read[3] = mac.a;
    read[4] = mac.b;
    read[5] = mac.c;
    read[6] = move_out.a;
    writes = '0;
    writes[2:0] = {in_run_q, mac_run_q, spn_run_q};
    written[0] = spn.dst;
    written[1] = mac.dst;
    written[2] = move_in.dst;
    for (int unsigned i = 0; i < LoadQueue; i++) begin
      writes[3+i] = i < 32'(load_run_q);
      written[3+i] = loads[i];
    end
  end
  assign reader = '{0, 0, 0, 1, 1, 1, 6};
  always_comb for (int unsigned i = 0; i < Writers; i++) writer[i] = i < 2 ? i : i + 10;

  logic one_reader, one_writer, no_read_of_written, one_slot_written;
  always_comb begin
    one_reader = 1'b1;
    one_writer = 1'b1;
    no_read_of_written = 1'b1;
    one_slot_written = 1'b1;
    for (int unsigned i = 0; i < Readers; i++)
      for (int unsigned j = 0; j < i; j++)
        if (reads[i] && reads[j] && read[i].bank == read[j].bank && read[i].bank != TwiddleBank)
          one_reader &= reader[i] == reader[j] && (reader[i] == 0 || read[i] == read[j]);
    for (int unsigned i = 0; i < Writers; i++)
      for (int unsigned j = 0; j < i; j++)
        if (writes[i] && writes[j]) begin
          one_writer &= written[i].bank != written[j].bank || (i >= 3 && j >= 3);
          one_slot_written &= written[i] != written[j];
        end
    for (int unsigned i = 0; i < Readers; i++)
      for (int unsigned j = 0; j < Writers; j++)
        if (reads[i] && writes[j] && reader[i] != writer[j] && !(i == 6 && j == 2 && reduce_q))
          no_read_of_written &= read[i] != written[j];
  end

  logic same_loads;
  always_comb begin
    same_loads = 1'b1;
    for (int unsigned i = 0; i < LoadQueue; i++) same_loads &= i >= 32'(loads_q) || load_dst_q[i] == loads[i];
  end

  // Is a slot inside the scratchpad, at a multiple of the polynomial's rows?
  function automatic logic inside_bank(input slot_t s, input logic [RowBits:0] n);
    return 32'(s.bank) < Banks && 32'(s.row) % 32'(n) == 0 && 32'(s.row) + 32'(n) <= BankRows;
  endfunction

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // no bank is read by two instructions, nor two of its slots by one MAC
      p_one_reader: assert (one_reader);
      // no bank is written by two instructions but LOADs, whose rows come one after the other
      p_one_writer: assert (one_writer);
      // no instruction reads a slot that another one writes
      p_no_hazard: assert (no_read_of_written);
      // no slot is written by two instructions
      p_one_slot: assert (one_slot_written);
      // no unit starts while it runs, and no more LOADs are under way than are counted
      p_unit_free: assert (start_i || (!(start_spn_o && spn_run_q) && !(start_mac_o && mac_run_q)
          && !(start_in_o && in_run_q) && !(start_out_o && out_run_q)
          && !(start_load_o && 32'(load_run_q) == LoadQueue)));
      // one instruction starts at a time
      p_one_start: assert (32'(start_spn_o) + 32'(start_mac_o) + 32'(start_load_o) + 32'(push_stream_o)
          + 32'(write_modulus_o)
                           + 32'(start_in_o || start_out_o) <= 1);
      // nothing starts after an error, after the end, or while halted
      p_stopped: assert (!any_start || (error_o == ErrNone && !done_o && !halt_i));
      // a modulus is written when no unit runs
      p_modulus: assert (!write_modulus_o || idle);
      // the end is reached when no unit runs
      p_end: assert (!done_o || idle);
      // slots of what starts lie in the scratchpad
      p_slots: assert ((!(start_spn_o || start_mac_o || start_out_o) || inside_bank(instr_o.a, rows_o))
                       && (!(start_spn_o || start_mac_o || start_in_o) || inside_bank(instr_o.dst, rows_o)));
      // the rows of a polynomial are a power of two, as the machine has them
      p_rows: assert ((rows_o & (rows_o - 1'b1)) == '0 && 32'(rows_o) >= 1 && 32'(rows_o) <= 2 ** RowBits);
      // slots of a MAC's other operands, and of a transform's twiddles, lie where they must
      p_operands: assert ((!(start_mac_o && instr_o.b_from == BFromSlot) || inside_bank(instr_o.b, rows_o))
                          && (!(start_mac_o && (instr_o.pre_sub || instr_o.post_add)) || inside_bank(instr_o.c, rows_o))
                          && (!(start_spn_o && instr_o.op != OpAuto) || (instr_o.b.bank == TwiddleBank
                              && 32'(instr_o.b.row) % 32'(rows_o) == 0
                              && 32'(instr_o.b.row) + 32'(rows_o) <= TwiddleRows)));
      // a running transform reads its twiddles from their own bank
      p_twiddles: assert (!transform || spn.b.bank == TwiddleBank);
      // a polynomial is asked of the stream when it has room
      p_stream: assert (!push_stream_o || !stream_full_i);
      // the scoreboard knows what runs
      p_listed: assert (spn_busy_q == spn_run_q && mac_busy_q == mac_run_q && in_busy_q == in_run_q
          && out_busy_q == out_run_q
                        && loads_q == load_run_q && 32'(loads_q) <= LoadQueue && (!spn_run_q || spn_src_q == source_q)
                        && (!reduce_q || (in_run_q && out_run_q && move_in == move_out)) && (!source_q || spn_run_q));
      // and its slots
      p_known: assert ((!spn_run_q || (spn_a_q == spn.a && spn_dst_q == spn.dst && spn_own_bank_q == transform
                                       && spn_tw_q == (transform ? spn.b : spn.a)))
                       && (!mac_run_q || (mac_a_q == mac.a && mac_b_q == mac.b && mac_c_q == mac.c
                       && mac_dst_q == mac.dst
                                          && mac_b_used_q == mac_b && mac_c_used_q == mac_c))
                       && (!in_run_q || in_dst_q == move_in.dst) && (!out_run_q || out_a_q == move_out.a));
      // and the LOADs', in order
      p_loads: assert (same_loads);
      // nothing is kept once the end is reached
      p_finished: assert (!done_o || (!valid_q && !ready_o));
    end
  end
endmodule

bind vector_sequencer vector_sequencer_formal #(
  .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows), .RowBits(RowBits)
) u_formal (.*);
