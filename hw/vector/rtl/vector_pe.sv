// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Processing element: scratchpad banks, twiddle bank, transform unit, MAC array, movers, instruction fetch and
// sequencer. It computes on the residue polynomials assigned to it by its own program.
//
//     bus, reduction    DRAM read: fetch, load, stream          DRAM write
//           |                       |      |      |                 ^
//           in                sequencer  load   stream             out ---> bus, reduction
//           |                              |      |                 ^
//           +----------------+-------------+      v                 |
//                            v                    |                 |
//                 banks 0 ... b-1 <-> MAC array <-> transform unit <- twiddle bank
//
// Residues are held shifted left so that the modulus fills the word (rf_mul_barrett); see README for the format.
module vector_pe
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
    parameter int unsigned StreamRows = 512,
    parameter int unsigned BurstRows = 32,
    parameter int unsigned Pes = 7,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned DataW = Lanes * 64
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
    // DRAM
    output request_t         rd_req_o      [ReadClients],
    input  logic [ReadClients-1:0] rd_ready_i,
    input  logic [ReadClients-1:0] rd_valid_i,
    input  logic [DataW-1:0] rd_data_i,
    output request_t         wr_req_o,
    input  logic             wr_ready_i,
    output logic             wr_valid_o,
    input  logic             wr_data_ready_i,
    output logic [DataW-1:0] wr_data_o,
    input  logic             wr_ack_i,
    // Bus of the group
    output logic             send_o,
    output logic [     31:0] send_mask_o,
    input  logic             send_go_i,
    output logic             recv_o,
    output logic [      6:0] recv_src_o,
    input  logic             recv_valid_i,
    input  logic [    W-1:0] recv_i        [Lanes],
    // Reduction over groups
    output logic             reduce_o,
    output logic [    W-1:0] reduce_q_o,
    input  logic             reduce_go_i,
    input  logic             reduce_valid_i,
    input  logic [    W-1:0] reduce_i      [Lanes],
    // Rows sent to the bus or the reduction unit
    output logic             row_valid_o,
    output logic [    W-1:0] row_o         [Lanes],
    // Barriers
    output logic             sync_o,
    output logic [      1:0] sync_scope_o,
    input  logic             sync_go_i
);
  /* verilator no_inline_module */  // one copy of the code simulates all elements
  localparam int unsigned RowBits = MaxLogN - $clog2(Lanes);
  localparam int unsigned BankAddr = $clog2(BankRows);
  localparam int unsigned TwiddleAddr = $clog2(TwiddleRows);

  if (Lanes < 4 || Lanes > 256 || (Lanes & (Lanes - 1)) != 0) begin : g_bad_lanes
    $error("vector_pe: Lanes must be a power of two, 4 ... 256");
  end
  if (MinLogN < 2 * $clog2(Lanes) || MaxLogN < MinLogN || MaxLogN > 17) begin : g_bad_degree
    $error("vector_pe: degrees must be 2 log2 Lanes <= MinLogN <= MaxLogN <= 17");
  end
  if (Banks < 2 || Banks > 7) begin : g_bad_banks
    $error("vector_pe: Banks must be 2 ... 7");
  end
  if (BankRows < 2 ** RowBits || BankRows > SlotRows || TwiddleRows < 2 ** RowBits || TwiddleRows > SlotRows)
  begin : g_bad_rows
    $error("vector_pe: BankRows and TwiddleRows must hold a polynomial of degree 2^MaxLogN, and be 8192 at most");
  end
  if (W < 32 || W > 62) begin : g_bad_word
    $error("vector_pe: W must be 32 ... 62");
  end
  if (BurstRows < 1 || (BurstRows & (BurstRows - 1)) != 0 || BurstRows * (DataW / 8) > BurstBytes) begin : g_bad_burst
    $error("vector_pe: BurstRows must be a power of two, of 4 KiB at most");
  end
  if (StreamRows < BurstRows) begin : g_bad_stream
    $error("vector_pe: StreamRows must be at least BurstRows");
  end
  if (Pes < 1 || Pes > 32) begin : g_bad_pes
    $error("vector_pe: Pes must be 1 ... 32");
  end
  if (Kind != rf_pkg::MulBarrett && Kind != rf_pkg::MulMontgomery) begin : g_bad_kind
    $error("vector_pe: Kind must be rf_pkg::MulBarrett or rf_pkg::MulMontgomery");
  end

  // ---- Control -------------------------------------------------------------------------------------
  instr_t instr;
  logic fetch_valid, fetch_ready, fetch_idle;
  logic [255:0] fetch_instr;
  logic start_spn, start_mac, start_load, start_in, start_out, push_stream, write_modulus;
  logic spn_src_done, spn_done, mac_done, load_done, in_done, out_done;
  logic stream_full, stream_idle, stores_pending, ended;
  logic [4:0] log_n;
  logic [2:0] word_shift;
  logic [RowBits:0] rows;

  vector_fetch #(.Lanes(Lanes), .BurstRows(BurstRows)) u_fetch (
      .clk_i, .rst_ni, .start_i, .stop_i(ended || halt_i), .program_i,
      .req_o(rd_req_o[FetchClient]), .req_ready_i(rd_ready_i[FetchClient]),
      .rsp_valid_i(rd_valid_i[FetchClient]), .rsp_data_i(rd_data_i),
      .valid_o(fetch_valid), .ready_i(fetch_ready), .instr_o(fetch_instr), .idle_o(fetch_idle)
  );
  vector_sequencer #(
      .W(W), .Lanes(Lanes), .Banks(Banks), .BankRows(BankRows), .TwiddleRows(TwiddleRows), .MinLogN(MinLogN),
      .MaxLogN(MaxLogN), .Pes(Pes), .Kind(Kind)
  ) u_sequencer (
      .clk_i, .rst_ni, .start_i, .halt_i, .index_i, .valid_i(fetch_valid), .ready_o(fetch_ready),
      .instr_i(fetch_instr), .instr_o(instr),
      .start_spn_o(start_spn), .start_mac_o(start_mac), .start_load_o(start_load), .start_in_o(start_in),
      .start_out_o(start_out), .push_stream_o(push_stream), .write_modulus_o(write_modulus),
      .spn_src_done_i(spn_src_done), .spn_done_i(spn_done), .mac_done_i(mac_done), .load_done_i(load_done),
      .in_done_i(in_done), .out_done_i(out_done), .stream_full_i(stream_full), .stream_idle_i(stream_idle),
      .stores_pending_i(stores_pending), .sync_o, .sync_scope_o, .sync_go_i,
      .log_n_o(log_n), .shift_o(word_shift), .rows_o(rows), .done_o(ended), .error_o, .pc_o
  );
  assign done_o = ended && fetch_idle;
  assign rows_o = rows;

  // Settings of each unit, held while it runs.
  logic [W-1:0] modulus_q[Moduli];
  logic [63:0] constant_q[Moduli];
  /* verilator lint_off UNUSEDSIGNAL */  // each unit uses some of the fields
  instr_t spn_q, mac_q, load_q, in_q, out_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic spn_start_q, mac_start_q, load_start_q, in_start_q, out_start_q;
  logic [W-1:0] spn_mod_q, spn_src_mod_q, mac_mod_q;
  logic [63:0] spn_const_q, mac_const_q;

  always_ff @(posedge clk_i) begin
    if (write_modulus) begin
      modulus_q[instr.mod] <= instr.imm[W-1:0];
      constant_q[instr.mod] <= instr.addr;
    end
  end
  always_ff @(posedge clk_i) begin
    spn_start_q <= start_spn && rst_ni;
    mac_start_q <= start_mac && rst_ni;
    load_start_q <= start_load && rst_ni;
    in_start_q <= start_in && rst_ni;
    out_start_q <= start_out && rst_ni;
    if (start_spn) begin
      spn_q <= instr;
      spn_mod_q <= modulus_q[instr.mod];
      spn_src_mod_q <= modulus_q[instr.src_mod];
      spn_const_q <= constant_q[instr.mod];
    end
    if (start_mac) begin
      mac_q <= instr;
      mac_mod_q <= modulus_q[instr.mod];
      mac_const_q <= constant_q[instr.mod];
    end
    if (start_load) load_q <= instr;
    if (start_in) in_q <= instr;
    if (start_out) begin
      out_q <= instr;
      reduce_q_o <= modulus_q[instr.mod];
    end
  end

  // ---- Scratchpad ----------------------------------------------------------------------------------
  logic [Banks-1:0] re, we;
  logic [BankAddr-1:0] raddr[Banks], waddr[Banks];
  logic [W-1:0] rdata[Banks][Lanes], wdata[Banks][Lanes];

  logic spn_rd_en, spn_rd_src, spn_wr_en, tw_en, mac_rd_en, mac_wr_en, load_wr_en, in_wr_en, out_rd_en;
  logic [RowBits-1:0] spn_rd_row, spn_wr_row, tw_row, mac_rd_row, mac_wr_row, load_wr_row, in_wr_row, out_rd_row;
  logic [W-1:0] spn_wr_data[Lanes], mac_wr_data[Lanes], load_wr_data[Lanes], in_wr_data[Lanes];
  slot_t spn_rd_slot, load_wr_slot;

  assign spn_rd_slot = spn_rd_src ? spn_q.a : spn_q.dst;

  // The sequencer grants each port to one unit at a time.
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
      end else if (mac_rd_en && 32'(mac_q.a.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(mac_q.a.row) | BankAddr'(mac_rd_row);
      end else if (mac_rd_en && mac_q.b_from == BFromSlot && 32'(mac_q.b.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(mac_q.b.row) | BankAddr'(mac_rd_row);
      end else if (mac_rd_en && (mac_q.pre_sub || mac_q.post_add) && 32'(mac_q.c.bank) == n) begin
        re[n] = 1'b1;
        raddr[n] = BankAddr'(mac_q.c.row) | BankAddr'(mac_rd_row);
      end

      we[n] = 1'b0;
      waddr[n] = 'x;
      wdata[n] = spn_wr_data;
      if (spn_wr_en && 32'(spn_q.dst.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(spn_q.dst.row) | BankAddr'(spn_wr_row);
      end else if (mac_wr_en && 32'(mac_q.dst.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(mac_q.dst.row) | BankAddr'(mac_wr_row);
        wdata[n] = mac_wr_data;
      end else if (in_wr_en && 32'(in_q.dst.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(in_q.dst.row) | BankAddr'(in_wr_row);
        wdata[n] = in_wr_data;
      end else if (load_wr_en && 32'(load_wr_slot.bank) == n) begin
        we[n] = 1'b1;
        waddr[n] = BankAddr'(load_wr_slot.row) | BankAddr'(load_wr_row);
        wdata[n] = load_wr_data;
      end
    end

  rf_scratchpad #(.W(W), .Lanes(Lanes), .Rows(BankRows), .Banks(Banks), .Packed(!Twin)) u_scratchpad (
      .clk_i, .re_i(re), .raddr_i(raddr), .rdata_o(rdata), .we_i(we), .waddr_i(waddr), .wdata_i(wdata)
  );

  logic [W-1:0] tw_data[Lanes];
  rf_bank #(.W(W), .Lanes(Lanes), .Rows(TwiddleRows), .Packed(!Twin)) u_twiddles (
      .clk_i, .re_i(tw_en), .raddr_i(TwiddleAddr'(spn_q.b.row) | TwiddleAddr'(tw_row)), .rdata_o(tw_data),
      .we_i(load_wr_en && load_wr_slot.bank == TwiddleBank),
      .waddr_i(TwiddleAddr'(load_wr_slot.row) | TwiddleAddr'(load_wr_row)), .wdata_i(load_wr_data)
  );

  // ---- Transform unit ------------------------------------------------------------------------------
  logic [2:0] spn_bank_q[rf_pkg::BankLatency];
  logic [W-1:0] spn_rd_data[Lanes];

  always_ff @(posedge clk_i) begin
    spn_bank_q[0] <= spn_rd_slot.bank;
    spn_bank_q[1] <= spn_bank_q[0];
  end
  always_comb begin
    spn_rd_data = rdata[0];
    for (int unsigned n = 1; n < Banks; n++)
      if (32'(spn_bank_q[rf_pkg::BankLatency-1]) == n) spn_rd_data = rdata[n];
  end

  // It has butterflies of its own.
  logic [W-1:0] no_row[Lanes];
  assign no_row = '{default: '0};

  /* verilator lint_off PINCONNECTEMPTY */
  rf_transform #(.W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)) u_transform (
      .clk_i, .rst_ni, .start_i(spn_start_q), .op_i(spn_q.op[1:0]), .log_n_i(log_n), .g_i(spn_q.imm[MaxLogN:0]),
      .lift_i(spn_q.lift), .pair_i(1'b0), .shift_i(word_shift), .p_i(spn_src_mod_q), .q_i(spn_mod_q), .k_i(spn_const_q),
      .pair_q_i('0),
      .src_done_o(spn_src_done), .done_o(spn_done),
      .rd_en_o(spn_rd_en), .rd_src_o(spn_rd_src), .rd_pair_o(), .rd_row_o(spn_rd_row), .rd_data_i(spn_rd_data),
      .tw_en_o(tw_en), .tw_pair_o(), .tw_row_o(tw_row), .tw_data_i(tw_data),
      .wr_en_o(spn_wr_en), .wr_pair_o(), .wr_row_o(spn_wr_row), .wr_data_o(spn_wr_data),
      .core_soon_o(), .core_valid_o(), .core_pair_o(), .core_a_o(), .core_b_o(), .core_r_i(no_row)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- MAC array -----------------------------------------------------------------------------------
  logic stream_valid, stream_ready;
  logic [W-1:0] stream_row[Lanes];
  logic [W-1:0] mac_a[Lanes], mac_b[Lanes], mac_c[Lanes];

  vector_stream #(
      .W(W), .Lanes(Lanes), .MaxLogN(MaxLogN), .StreamRows(StreamRows), .BurstRows(BurstRows)
  ) u_stream (
      .clk_i, .rst_ni, .halt_i, .rows_i(rows), .push_i(push_stream), .addr_i(instr.addr[AddrW-1:0]),
      .full_o(stream_full), .req_o(rd_req_o[StreamClient]), .req_ready_i(rd_ready_i[StreamClient]),
      .rsp_valid_i(rd_valid_i[StreamClient]), .rsp_data_i(rd_data_i),
      .valid_o(stream_valid), .ready_i(stream_ready), .row_o(stream_row), .idle_o(stream_idle)
  );
  always_comb begin
    mac_a = rdata[0];
    mac_b = rdata[0];
    mac_c = rdata[0];
    for (int unsigned n = 1; n < Banks; n++) begin
      if (32'(mac_q.a.bank) == n) mac_a = rdata[n];
      if (32'(mac_q.b.bank) == n) mac_b = rdata[n];
      if (32'(mac_q.c.bank) == n) mac_c = rdata[n];
    end
  end
  vector_mac #(.W(W), .Lanes(Lanes), .RowBits(RowBits), .Kind(Kind), .Twin(Twin)) u_mac (
      .clk_i, .rst_ni, .start_i(mac_start_q), .rows_i(rows), .b_from_i(mac_q.b_from), .pre_sub_i(mac_q.pre_sub),
      .post_add_i(mac_q.post_add), .shift_i(word_shift), .imm_i(mac_q.imm[W-1:0]), .q_i(mac_mod_q), .k_i(mac_const_q),
      .done_o(mac_done), .rd_en_o(mac_rd_en), .rd_row_o(mac_rd_row),
      .a_i(mac_a), .b_i(mac_b), .c_i(mac_c),
      .stream_valid_i(stream_valid), .stream_ready_o(stream_ready), .stream_i(stream_row),
      .wr_en_o(mac_wr_en), .wr_row_o(mac_wr_row), .wr_data_o(mac_wr_data)
  );

  // ---- Movers --------------------------------------------------------------------------------------
  logic out_reduce, in_reduce;
  logic [W-1:0] out_data[Lanes];

  vector_load #(.W(W), .Lanes(Lanes), .RowBits(RowBits), .BurstRows(BurstRows)) u_load (
      .clk_i, .rst_ni, .halt_i, .start_i(load_start_q), .addr_i(load_q.addr[AddrW-1:0]), .slot_i(load_q.dst),
      .rows_i(rows), .shift_i(word_shift), .done_o(load_done), .req_o(rd_req_o[LoadClient]),
      .req_ready_i(rd_ready_i[LoadClient]), .rsp_valid_i(rd_valid_i[LoadClient]), .rsp_data_i(rd_data_i),
      .wr_en_o(load_wr_en), .wr_slot_o(load_wr_slot), .wr_row_o(load_wr_row), .wr_data_o(load_wr_data)
  );
  vector_in #(.W(W), .Lanes(Lanes), .RowBits(RowBits)) u_in (
      .clk_i, .rst_ni, .start_i(in_start_q), .from_bus_i(in_q.op == OpRecv), .rows_i(rows), .done_o(in_done),
      .recv_o, .bus_valid_i(recv_valid_i), .bus_i(recv_i), .reduce_o(in_reduce), .reduce_valid_i, .reduce_i,
      .wr_en_o(in_wr_en), .wr_row_o(in_wr_row), .wr_data_o(in_wr_data)
  );
  assign recv_src_o = in_q.src_pe;

  always_comb begin
    out_data = rdata[0];
    for (int unsigned n = 1; n < Banks; n++) if (32'(out_q.a.bank) == n) out_data = rdata[n];
  end
  vector_out #(.W(W), .Lanes(Lanes), .RowBits(RowBits), .BurstRows(BurstRows)) u_out (
      .clk_i, .rst_ni, .halt_i, .start_i(out_start_q),
      .target_i(out_q.op == OpStore ? 2'd0 : out_q.op == OpSend ? 2'd1 : 2'd2),
      .addr_i(out_q.addr[AddrW-1:0]), .rows_i(rows), .shift_i(word_shift),
      .done_o(out_done), .pending_o(stores_pending), .rd_en_o(out_rd_en), .rd_row_o(out_rd_row),
      .rd_data_i(out_data), .send_o, .reduce_o(out_reduce), .go_i(send_go_i || reduce_go_i),
      .row_valid_o, .row_o, .req_o(wr_req_o), .req_ready_i(wr_ready_i), .data_valid_o(wr_valid_o),
      .data_ready_i(wr_data_ready_i), .data_o(wr_data_o), .ack_i(wr_ack_i)
  );
  assign send_mask_o = out_q.mask;
  assign reduce_o = out_reduce && in_reduce;

`ifndef SYNTHESIS
  // What the sequencer promises: one reader and one writer per bank.
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!(spn_wr_en && mac_wr_en && spn_q.dst.bank == mac_q.dst.bank));
      assert (!(spn_wr_en && in_wr_en && spn_q.dst.bank == in_q.dst.bank));
      assert (!(mac_wr_en && in_wr_en && mac_q.dst.bank == in_q.dst.bank));
      assert (!(load_wr_en && spn_wr_en && load_wr_slot.bank == spn_q.dst.bank));
      assert (!(load_wr_en && mac_wr_en && load_wr_slot.bank == mac_q.dst.bank));
      assert (!(load_wr_en && in_wr_en && load_wr_slot.bank == in_q.dst.bank));
      assert (!(spn_rd_en && mac_rd_en && spn_rd_slot.bank == mac_q.a.bank));
      assert (!(spn_rd_en && out_rd_en && spn_rd_slot.bank == out_q.a.bank));
      assert (!(mac_rd_en && out_rd_en && mac_q.a.bank == out_q.a.bank));
    end
`endif
endmodule
