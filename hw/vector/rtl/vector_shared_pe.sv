// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Processing element whose transform unit and MAC unit share one array of ALUs (rf_alu): scratchpad banks of their own
// sizes, twiddle bank, movers, instruction fetch and sequencer.
//
//        bus          near memory: fetch, load, stream         near memory   far memory
//         |                     |      |      |                     ^             ^
//         in              sequencer  load   stream                 out          copies
//         |                            |      |                     ^
//         +----------------+-----------+      v                     |
//                          v            +-> MAC unit --> ALUs       |
//              banks 0 ... b-1 <--------+                 ^ |       |
//                          ^            +-> transform unit+ v       |
//                          +-------------------<------------+-------+
//
// A transform's row that reaches the array has priority; the MAC unit reads a row only when none will be there at the
// same time. MACs follow each other without a gap where polynomials have more rows than the array is long.
//
// Memory. Requests are {address, beats}; the machine answers those of a client in order, and takes none while halted.
//   rd_req_o[FetchClient]   beats lines of Lanes * 64 bits: line_valid_i, line_i
//   rd_req_o[LoadClient]    a polynomial of beats rows: row_valid_i[0], row_i; any pace
//   rd_req_o[StreamClient]  a polynomial of beats rows: row_valid_i[1], row_i; there is room for all of them
//   wr_req_o                a polynomial of beats rows, which follow over wr_valid_o/wr_data_ready_i; wr_ack_i once
//                           for each, when all of it is written
//   copy_*                  a polynomial (rows_o rows) from far_o of far memory to addr_o; copies_pending_i from the
//                           cycle after it was taken until it is there
// Addresses are this element's own, multiples of a line. Rows are words of W bits, not shifted.
module vector_shared_pe
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
    parameter int unsigned StreamRows = 256,
    parameter int unsigned Pes = 2,
    parameter int unsigned NearBits = 32,        // bits of addresses in this element's near memory
    parameter int unsigned FarBits = 34,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    parameter bit ShortInLuts = 1'b0,  // as in rf_mul_montgomery
    parameter int unsigned SpnRegisters = 0,     // rf_transform
    localparam int unsigned LineW = Lanes * 64
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             start_i,
    input  logic             halt_i,
    input  logic [      6:0] index_i,
    input  logic [AddrW-1:0] program_i,
    output logic             done_o,
    output error_e           error_o,
    output logic [     31:0] pc_o,
    output logic [MaxLogN-$clog2(Lanes):0] rows_o,       // rows of a polynomial
    // Near memory
    output request_t         rd_req_o      [ReadClients],
    input  logic [ReadClients-1:0] rd_ready_i,
    input  logic             line_valid_i,
    input  logic [LineW-1:0] line_i,
    input  logic [      1:0] row_valid_i,
    input  logic [    W-1:0] row_i         [Lanes],
    output request_t         wr_req_o,
    input  logic             wr_ready_i,
    output logic             wr_valid_o,
    input  logic             wr_data_ready_i,
    output logic [    W-1:0] wr_row_o      [Lanes],
    input  logic             wr_ack_i,
    // Far memory
    output logic             copy_valid_o,
    input  logic             copy_ready_i,
    output logic [AddrW-1:0] copy_addr_o,
    output logic [AddrW-1:0] copy_far_o,
    input  logic             copies_pending_i,
    // Bus of the group
    output logic             send_o,
    output logic [     31:0] send_mask_o,
    input  logic             send_go_i,
    output logic             recv_o,
    output logic [      6:0] recv_src_o,
    input  logic             recv_valid_i,
    input  logic [    W-1:0] recv_i        [Lanes],
    output logic             bus_valid_o,
    output logic [    W-1:0] bus_row_o     [Lanes],
    // Barriers
    output logic             sync_o,
    output logic [      1:0] sync_scope_o,
    input  logic             sync_go_i
);
  /* verilator no_inline_module */  // one copy of the code simulates all elements
  localparam int unsigned RowBits = MaxLogN - $clog2(Lanes);
  function automatic int unsigned most();
    most = 0;
    for (int unsigned n = 0; n < Banks; n++) if (BankRows[n] > most) most = BankRows[n];
  endfunction
  localparam int unsigned MostRows = most();
  localparam int unsigned BankAddr = $clog2(MostRows);
  localparam int unsigned BankIndex = $clog2(Banks);
  localparam bit Shifts = Kind != rf_pkg::MulMontgomery;  // the sequencer takes no others
  localparam int unsigned TwiddleAddr = $clog2(TwiddleRows);
  localparam int unsigned CoreLatency = rf_pkg::ButterflyLatency + 1;  // the register before the array included

  if (Lanes < 4 || Lanes > 256 || (Lanes & (Lanes - 1)) != 0) begin : g_bad_lanes
    $error("vector_shared_pe: Lanes must be a power of two, 4 ... 256");
  end
  if (MinLogN < $clog2(Lanes) + 1 || MaxLogN < MinLogN || MaxLogN > $clog2(Lanes) + 8) begin : g_bad_degree
    $error("vector_shared_pe: polynomials must have 2 ... 256 rows, MinLogN <= MaxLogN");
  end
  if (Banks < 2 || Banks > 7) begin : g_bad_banks
    $error("vector_shared_pe: Banks must be 2 ... 7");
  end
  for (genvar n = 0; n < Banks; n++) begin : g_rows
    if (BankRows[n] < 2 ** RowBits || BankRows[n] > SlotRows) begin : g_bad
      $error("vector_shared_pe: BankRows must hold a polynomial of degree 2^MaxLogN, and be 8192 at most");
    end
  end
  if (TwiddleRows < 2 ** RowBits || TwiddleRows > SlotRows) begin : g_bad_twiddles
    $error("vector_shared_pe: TwiddleRows must hold a polynomial of degree 2^MaxLogN, and be 8192 at most");
  end
  if (W < 32 || W > 62) begin : g_bad_word
    $error("vector_shared_pe: W must be 32 ... 62");
  end
  if (ModuliEntries < 1 || ModuliEntries > MaxModuli) begin : g_bad_moduli
    $error("vector_shared_pe: ModuliEntries must be 1 ... 64");
  end
  if (StreamRows < 2 ** RowBits) begin : g_bad_stream
    $error("vector_shared_pe: StreamRows must hold a polynomial of degree 2^MaxLogN");
  end
  if (Pes < 1 || Pes > 32) begin : g_bad_pes
    $error("vector_shared_pe: Pes must be 1 ... 32");
  end
  if (NearBits > AddrW || FarBits > AddrW) begin : g_bad_memory
    $error("vector_shared_pe: NearBits and FarBits must be 48 at most");
  end
  if (Kind != rf_pkg::MulBarrett && Kind != rf_pkg::MulMontgomery) begin : g_bad_kind
    $error("vector_shared_pe: Kind must be rf_pkg::MulBarrett or rf_pkg::MulMontgomery");
  end

  // ---- Control -------------------------------------------------------------------------------------
  instr_t instr;
  logic fetch_valid, fetch_ready, fetch_idle;
  logic [255:0] fetch_instr;
  logic take_spn, start_spn, take_mac, start_load, start_in, take_out, start_out, push_stream, write_modulus;
  logic spn_src_done, spn_done, mac_ready, mac_read_done, mac_done, load_done, in_done, out_done;
  logic stream_full, stream_idle, stores_pending, ended;
  logic [4:0] log_n;
  logic [2:0] word_shift;
  logic [RowBits:0] rows;

  vector_fetch #(.Lanes(Lanes), .BurstRows(FetchDepth)) u_fetch (
      .clk_i, .rst_ni, .start_i, .stop_i(ended || halt_i), .program_i,
      .req_o(rd_req_o[FetchClient]), .req_ready_i(rd_ready_i[FetchClient]),
      .rsp_valid_i(line_valid_i), .rsp_data_i(line_i),
      .valid_o(fetch_valid), .ready_i(fetch_ready), .instr_o(fetch_instr), .idle_o(fetch_idle)
  );
  vector_shared_sequencer #(
      .W(W), .Lanes(Lanes), .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows), .MinLogN(MinLogN),
      .MaxLogN(MaxLogN), .ModuliEntries(ModuliEntries), .Pes(Pes), .NearBits(NearBits), .FarBits(FarBits), .Kind(Kind),
      .MacLength(rf_pkg::BankLatency + CoreLatency)
  ) u_sequencer (
      .clk_i, .rst_ni, .start_i, .halt_i, .index_i, .valid_i(fetch_valid), .ready_o(fetch_ready),
      .instr_i(fetch_instr), .instr_o(instr), .take_spn_o(take_spn), .start_spn_o(start_spn), .take_mac_o(take_mac),
      .start_load_o(start_load), .start_in_o(start_in), .take_out_o(take_out), .start_out_o(start_out),
      .push_stream_o(push_stream), .write_modulus_o(write_modulus), .copy_valid_o, .copy_ready_i, .copies_pending_i,
      .spn_src_done_i(spn_src_done), .spn_done_i(spn_done), .mac_ready_i(mac_ready),
      .mac_read_done_i(mac_read_done), .mac_done_i(mac_done), .load_done_i(load_done), .in_done_i(in_done),
      .out_done_i(out_done), .stream_full_i(stream_full), .stream_idle_i(stream_idle),
      .stores_pending_i(stores_pending), .sync_o, .sync_scope_o, .sync_go_i,
      .log_n_o(log_n), .shift_o(word_shift), .rows_o(rows), .done_o(ended), .error_o, .pc_o
  );
  assign done_o = ended && fetch_idle;
  assign rows_o = rows;
  assign copy_addr_o = instr.addr[AddrW-1:0];
  assign copy_far_o = instr.imm[AddrW-1:0];

  // Settings of each unit, held while it runs; the MAC unit has its own.
  logic [W-1:0] modulus_q[ModuliEntries];
  logic [63:0] constant_q[ModuliEntries];
  /* verilator lint_off UNUSEDSIGNAL */  // each unit uses some of the fields
  instr_t spn_q, load_q, in_q, out_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic spn_start_q, load_start_q, in_start_q, out_start_q;
  logic [W-1:0] spn_mod_q, spn_src_mod_q, pair_mod_q;
  logic [63:0] spn_const_q, pair_const_q;

  always_ff @(posedge clk_i) begin
    if (write_modulus) begin
      modulus_q[entry(instr)] <= instr.imm[W-1:0];
      constant_q[entry(instr)] <= instr.addr;
    end
  end
  always_ff @(posedge clk_i) begin
    spn_start_q <= start_spn && rst_ni;
    load_start_q <= start_load && rst_ni;
    in_start_q <= start_in && rst_ni;
    out_start_q <= start_out && rst_ni;
    if (take_spn) begin
      spn_q <= instr;
      spn_mod_q <= modulus_q[entry(instr)];
      spn_src_mod_q <= modulus_q[src_entry(instr)];
      spn_const_q <= constant_q[entry(instr)];
      pair_mod_q <= modulus_q[pair_entry(instr)];
      pair_const_q <= constant_q[pair_entry(instr)];
    end
    if (start_load) load_q <= instr;
    if (start_in) in_q <= instr;
    if (take_out) out_q <= instr;
  end

  // ---- Scratchpad ----------------------------------------------------------------------------------
  logic [Banks-1:0] re, we;
  logic [BankAddr-1:0] raddr[Banks], waddr[Banks];
  logic [W-1:0] rdata[Banks][Lanes], wdata[Banks][Lanes];

  logic spn_rd_en, spn_rd_src, spn_wr_en, tw_en, mac_rd_en, mac_rd_b, mac_rd_c, mac_wr_en;
  logic load_wr_en, in_wr_en, out_rd_en;
  logic [RowBits-1:0] spn_rd_row, spn_wr_row, tw_row, load_wr_row, in_wr_row, out_rd_row;
  logic [W-1:0] spn_wr_data[Lanes], load_wr_data[Lanes], in_wr_data[Lanes], result[Lanes];
  logic spn_pair, spn_rd_pair, spn_wr_pair, tw_pair;
  logic [TwiddleAddr-1:0] tw_base;
  slot_t spn_rd_slot, spn_wr_slot, load_wr_slot, mac_a, mac_b, mac_c, mac_wr;

  assign spn_pair = spn_q.imm[PairLsb-ImmLsb];
  always_comb begin
    spn_rd_slot = spn_rd_src ? spn_q.a : spn_q.dst;
    if (spn_rd_pair)
      spn_rd_slot = slot_t'(spn_rd_src ? spn_q.imm[PairALsb-ImmLsb+:16] : spn_q.imm[PairDstLsb-ImmLsb+:16]);
    spn_wr_slot = spn_wr_pair ? slot_t'(spn_q.imm[PairDstLsb-ImmLsb+:16]) : spn_q.dst;
    tw_base = TwiddleAddr'(tw_pair ? spn_q.imm[PairTwLsb-ImmLsb+:13] : spn_q.b.row);
  end

  // The sequencer grants each port to one unit at a time. What a bank writes is chosen by a number of two bits: four
  // words and two bits are the inputs of a LUT.
  typedef enum logic [1:0] {FromSpn, FromMac, FromIn, FromLoad} source_e;
  source_e source[Banks];

  always_comb
    for (int unsigned n = 0; n < Banks; n++) begin
      re[n] = 1'b0;
      raddr[n] = 'x;
      if (spn_rd_en && 32'(spn_rd_slot.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(spn_rd_slot.row) | BankAddr'(spn_rd_row);
      end else if (out_rd_en && 32'(out_q.a.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(out_q.a.row) | BankAddr'(out_rd_row);
      end else if (mac_rd_en && 32'(mac_a.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(mac_a.row);
      end else if (mac_rd_en && mac_rd_b && 32'(mac_b.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(mac_b.row);
      end else if (mac_rd_en && mac_rd_c && 32'(mac_c.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(mac_c.row);
      end

      we[n] = 1'b0;
      waddr[n] = 'x;
      source[n] = FromSpn;
      if (spn_wr_en && 32'(spn_wr_slot.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(spn_wr_slot.row) | BankAddr'(spn_wr_row);
      end else if (mac_wr_en && 32'(mac_wr.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(mac_wr.row);
        source[n] = FromMac;
      end else if (in_wr_en && 32'(in_q.dst.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(in_q.dst.row) | BankAddr'(in_wr_row);
        source[n] = FromIn;
      end else if (load_wr_en && 32'(load_wr_slot.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(load_wr_slot.row) | BankAddr'(load_wr_row);
        source[n] = FromLoad;
      end
      // Not a case, of which synthesis makes four enables.
      wdata[n] = source[n][1] ? (source[n][0] ? load_wr_data : in_wr_data) : source[n][0] ? result : spn_wr_data;
    end

  rf_scratchpad #(
      .W(W), .Lanes(Lanes), .Rows(MostRows), .Banks(Banks), .BankRows(BankRows), .Packed(!Twin)
  ) u_scratchpad (
      .clk_i, .re_i(re), .raddr_i(raddr), .rdata_o(rdata), .we_i(we), .waddr_i(waddr), .wdata_i(wdata)
  );

  logic [W-1:0] tw_data[Lanes];
  rf_bank #(.W(W), .Lanes(Lanes), .Rows(TwiddleRows), .Packed(!Twin)) u_twiddles (
      .clk_i, .re_i(tw_en), .raddr_i(tw_base | TwiddleAddr'(tw_row)), .rdata_o(tw_data),
      .we_i(load_wr_en && load_wr_slot.bank == TwiddleBank),
      .waddr_i(TwiddleAddr'(load_wr_slot.row) | TwiddleAddr'(load_wr_row)), .wdata_i(load_wr_data)
  );

  // ---- Transform unit ------------------------------------------------------------------------------
  logic [2:0] spn_bank_q[rf_pkg::BankLatency];
  logic [W-1:0] spn_rd_data[Lanes];
  logic spn_core_soon, spn_core, spn_core_pair;
  logic [W-1:0] spn_core_a[Lanes], spn_core_b[Lanes/2];

  always_ff @(posedge clk_i) begin
    spn_bank_q[0] <= spn_rd_slot.bank;
    spn_bank_q[1] <= spn_bank_q[0];
  end
  assign spn_rd_data = rdata[BankIndex'(spn_bank_q[rf_pkg::BankLatency-1])];

  rf_transform #(
      .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin), .SpnRegisters(SpnRegisters),
      .MapRegister(1'b1), .TwiddlePick(Lanes >= 32), .Lend(1'b1)
  ) u_transform (
      .clk_i, .rst_ni, .start_i(spn_start_q), .op_i(spn_q.op[1:0]), .log_n_i(log_n), .g_i(spn_q.imm[MaxLogN:0]),
      .lift_i(spn_q.lift), .pair_i(spn_pair), .shift_i(word_shift), .p_i(spn_src_mod_q), .q_i(spn_mod_q),
      .k_i(spn_const_q), .pair_q_i(pair_mod_q), .src_done_o(spn_src_done), .done_o(spn_done),
      .rd_en_o(spn_rd_en), .rd_src_o(spn_rd_src), .rd_pair_o(spn_rd_pair), .rd_row_o(spn_rd_row),
      .rd_data_i(spn_rd_data), .tw_en_o(tw_en), .tw_pair_o(tw_pair), .tw_row_o(tw_row), .tw_data_i(tw_data),
      .wr_en_o(spn_wr_en), .wr_pair_o(spn_wr_pair), .wr_row_o(spn_wr_row), .wr_data_o(spn_wr_data),
      .core_soon_o(spn_core_soon), .core_valid_o(spn_core), .core_pair_o(spn_core_pair), .core_a_o(spn_core_a),
      .core_b_o(spn_core_b),
      .core_r_i(result)
  );

  // ---- MAC unit ------------------------------------------------------------------------------------
  logic stream_valid, stream_ready;
  logic [W-1:0] stream_row[Lanes];
  logic [Lanes*W-1:0] rsp_row;
  logic mac_core, mac_lift, mac_adds;
  logic [1:0] mac_mode;
  logic [W-1:0] mac_q, mac_p;
  logic [63:0] mac_k;
  logic [W-1:0] mac_core_a[Lanes], mac_core_b[Lanes], mac_core_c[Lanes];

  always_comb for (int unsigned l = 0; l < Lanes; l++) rsp_row[W*l+:W] = row_i[l];

  vector_stream #(
      .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .StreamRows(StreamRows), .BurstRows(2 ** RowBits), .LaneW(W)
  ) u_stream (
      .clk_i, .rst_ni, .halt_i, .rows_i(rows), .push_i(push_stream), .addr_i(instr.addr[AddrW-1:0]),
      .full_o(stream_full), .req_o(rd_req_o[StreamClient]), .req_ready_i(rd_ready_i[StreamClient]),
      .rsp_valid_i(row_valid_i[1]), .rsp_data_i(rsp_row),
      .valid_o(stream_valid), .ready_i(stream_ready), .row_o(stream_row), .idle_o(stream_idle)
  );
  vector_shared_mac #(
      .W(W), .Lanes(Lanes), .Banks(Banks), .RowBits(RowBits), .CoreLatency(CoreLatency), .Shifts(Shifts)
  ) u_mac (
      .clk_i, .rst_ni, .rows_i(rows), .shift_i(word_shift), .take_i(take_mac), .ready_o(mac_ready), .instr_i(instr),
      .q_i(modulus_q[entry(instr)]), .k_i(constant_q[entry(instr)]), .p_i(modulus_q[src_entry(instr)]),
      .read_done_o(mac_read_done), .done_o(mac_done), .hold_i(spn_core_soon), .rd_en_o(mac_rd_en), .rd_a_o(mac_a),
      .rd_b_o(mac_b), .rd_c_o(mac_c), .rd_b_used_o(mac_rd_b), .rd_c_used_o(mac_rd_c), .data_i(rdata),
      .wr_en_o(mac_wr_en), .wr_o(mac_wr), .stream_valid_i(stream_valid), .stream_ready_o(stream_ready),
      .stream_i(stream_row), .core_valid_o(mac_core), .core_mode_o(mac_mode), .core_lift_o(mac_lift), .core_adds_o(mac_adds),
      .core_q_o(mac_q), .core_k_o(mac_k), .core_p_o(mac_p), .core_a_o(mac_core_a), .core_b_o(mac_core_b),
      .core_c_o(mac_core_c)
  );

  // ---- Array ---------------------------------------------------------------------------------------
  logic [CoreLatency-1:0] flight_q;  // rows in the register and in the array
  logic [1:0] mode_q;
  logic lift_q;
  logic [W-1:0] q_q, p_q;
  logic [63:0] k_q;
  logic [W-1:0] a_q[Lanes], b_q[Lanes], c_q[Lanes];

  always_ff @(posedge clk_i) begin
    flight_q <= rst_ni ? {flight_q[CoreLatency-2:0], spn_core || mac_core} : '0;
    if (spn_core) begin
      mode_q <= spn_q.op[0] ? rf_pkg::AluInverse : rf_pkg::AluForward;
      lift_q <= 1'b0;
      q_q <= spn_core_pair ? pair_mod_q : spn_mod_q;
      k_q <= spn_core_pair ? pair_const_q : spn_const_q;
      a_q <= spn_core_a;
      for (int unsigned i = 0; i < Lanes / 2; i++) b_q[2*i+1] <= spn_core_b[i];
    end else if (mac_core) begin
      mode_q <= mac_mode;
      lift_q <= mac_lift;
      q_q <= mac_q;
      k_q <= mac_k;
      p_q <= mac_p;
      a_q <= mac_core_a;
      b_q <= mac_core_b;
      c_q <= mac_adds ? mac_core_c : '{default: '0};
    end
  end
  rf_alu #(.W(W), .Lanes(Lanes), .Kind(Kind), .Twin(Twin), .ShortInLuts(ShortInLuts)) u_alu (
      .clk_i, .en_i(flight_q != '0), .mode_i(mode_q), .lift_i(lift_q), .shift_i(word_shift), .q_i(q_q), .k_i(k_q),
      .p_i(p_q), .a_i(a_q), .b_i(b_q), .c_i(c_q), .r_o(result)
  );

  // ---- Movers --------------------------------------------------------------------------------------
  logic [W-1:0] out_data[Lanes], no_row[Lanes];
  logic [Lanes*W-1:0] wr_row;

  assign no_row = '{default: '0};

  vector_load #(
      .W(W), .Lanes(Lanes), .RowBits(RowBits), .BurstRows(2 ** RowBits), .LaneW(W), .Shifts(Shifts)
  ) u_load (
      .clk_i, .rst_ni, .halt_i, .start_i(load_start_q), .addr_i(load_q.addr[AddrW-1:0]), .slot_i(load_q.dst),
      .rows_i(rows), .shift_i(word_shift), .done_o(load_done), .req_o(rd_req_o[LoadClient]),
      .req_ready_i(rd_ready_i[LoadClient]), .rsp_valid_i(row_valid_i[0]), .rsp_data_i(rsp_row),
      .wr_en_o(load_wr_en), .wr_slot_o(load_wr_slot), .wr_row_o(load_wr_row), .wr_data_o(load_wr_data)
  );
  /* verilator lint_off PINCONNECTEMPTY */  // there is no reduction
  vector_in #(.W(W), .Lanes(Lanes), .RowBits(RowBits), .Reduces(1'b0)) u_in (
      .clk_i, .rst_ni, .start_i(in_start_q), .from_bus_i(1'b1), .rows_i(rows), .done_o(in_done),
      .recv_o, .bus_valid_i(recv_valid_i), .bus_i(recv_i), .reduce_o(), .reduce_valid_i(1'b0), .reduce_i(no_row),
      .wr_en_o(in_wr_en), .wr_row_o(in_wr_row), .wr_data_o(in_wr_data)
  );
  assign recv_src_o = in_q.src_pe;

  assign out_data = rdata[BankIndex'(out_q.a.bank)];
  vector_out #(
      .W(W), .Lanes(Lanes), .RowBits(RowBits), .BurstRows(2 ** RowBits), .LaneW(W), .Shifts(Shifts)
  ) u_out (
      .clk_i, .rst_ni, .halt_i, .start_i(out_start_q), .target_i(out_q.op == OpStore ? 2'd0 : 2'd1),
      .addr_i(out_q.addr[AddrW-1:0]), .rows_i(rows), .shift_i(word_shift),
      .done_o(out_done), .pending_o(stores_pending), .rd_en_o(out_rd_en), .rd_row_o(out_rd_row),
      .rd_data_i(out_data), .send_o, .reduce_o(), .go_i(send_go_i),
      .row_valid_o(bus_valid_o), .row_o(bus_row_o), .req_o(wr_req_o), .req_ready_i(wr_ready_i),
      .data_valid_o(wr_valid_o), .data_ready_i(wr_data_ready_i), .data_o(wr_row), .ack_i(wr_ack_i)
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign send_mask_o = out_q.mask;
  always_comb for (int unsigned l = 0; l < Lanes; l++) wr_row_o[l] = wr_row[W*l+:W];

`ifndef SYNTHESIS
  // What the sequencer promises, one reader and one writer per bank, and what the transform unit does: the array takes
  // a row at a time.
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!(spn_core && mac_core));
      assert (!(spn_wr_en && mac_wr_en && spn_wr_slot.bank == mac_wr.bank));
      assert (!(spn_wr_en && in_wr_en && spn_wr_slot.bank == in_q.dst.bank));
      assert (!(mac_wr_en && in_wr_en && mac_wr.bank == in_q.dst.bank));
      assert (!(load_wr_en && spn_wr_en && load_wr_slot.bank == spn_wr_slot.bank));
      assert (!(load_wr_en && mac_wr_en && load_wr_slot.bank == mac_wr.bank));
      assert (!(load_wr_en && in_wr_en && load_wr_slot.bank == in_q.dst.bank));
      assert (!(spn_rd_en && mac_rd_en && spn_rd_slot.bank == mac_a.bank));
      assert (!(spn_rd_en && mac_rd_en && mac_rd_b && spn_rd_slot.bank == mac_b.bank));
      assert (!(spn_rd_en && mac_rd_en && mac_rd_c && spn_rd_slot.bank == mac_c.bank));
      assert (!(spn_rd_en && out_rd_en && spn_rd_slot.bank == out_q.a.bank));
      assert (!(mac_rd_en && out_rd_en && mac_a.bank == out_q.a.bank));
      for (int unsigned n = 0; n < Banks; n++) begin
        assert (!re[n] || 32'(raddr[n]) < BankRows[n]);
        assert (!we[n] || 32'(waddr[n]) < BankRows[n]);
      end
    end
`endif
endmodule
