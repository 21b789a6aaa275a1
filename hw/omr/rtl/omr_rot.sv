// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rotation core: the buffers of all ways, and the seven units that work on them.
//
// Function    Units LOAD, XFORM, SCALE, CONV, KMAC, FINAL and STORE, in this order in all vectors of commands. Every
//             way has buffers X and twiddle tables (in omr_xform), pairs of accumulators ACC and tables of moduli and
//             constants; source banks D and quotients V serve all ways. Units run side by side; whoever gives commands
//             sees to it that no two of them read, and no two write, one buffer at a time, and that no unit reads what
//             another has not written.
// Latency     that of the units
// Throughput  each unit its own
// Ranges      cmd_i[u] is taken in the cycle with cmd_valid_i[u] and cmd_ready_o[u], done_o[u] is one pulse for each.
//             log_n_i from MinLogN to MaxLogN, held while a unit is at work. Reset is the way to stop a run.
// Streams     reads [v][client] as omr_pkg has the clients, the keys of way v behind them; rows have 64 bits a word
// sum_*       a read port of way 0's moduli for the SUM unit: the entry comes in the next cycle
//
// Montgomery machines hold residues unshifted: there the shift of an entry is for SCALE alone.

module omr_rot
  import omr_pkg::*;
#(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Butterflies = 64,
    parameter int unsigned Ways = 1,
    parameter int unsigned Sources = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 39,
    parameter int unsigned MinLogN = 12,
    parameter int unsigned MaxLogN = 16,
    parameter int unsigned Kind = rf_pkg::MulBarrett,
    parameter bit Twin = 1'b0,
    localparam int unsigned Core = Units - 1,
    localparam int unsigned LogW = $clog2(MaxLogN + 1),
    localparam int unsigned RowsW = MaxLogN + 1,
    localparam int unsigned RowW = 64 * Lanes
) (
    input  logic                                      clk_i,
    input  logic                                      rst_ni,
    input  logic [LogW-1:0]                           log_n_i,
    input  logic [Core-1:0]                           cmd_valid_i,
    output logic [Core-1:0]                           cmd_ready_o,
    input  instr_t                                    cmd_i [Core],
    output logic [Core-1:0]                           done_o,
    output logic [Core-1:0]                           busy_o,

    output logic [Ways-1:0][ReadClients:0]            rd_valid_o,
    input  logic [Ways-1:0][ReadClients:0]            rd_ready_i,
    output logic [Ways-1:0][ReadClients:0][AddrW-1:0] rd_addr_o,
    output logic [Ways-1:0][ReadClients:0][RowsW-1:0] rd_rows_o,
    input  logic [Ways-1:0][ReadClients:0]            row_valid_i,
    output logic [Ways-1:0][ReadClients:0]            row_ready_o,
    input  logic [Ways-1:0][ReadClients:0][RowW-1:0]  row_i,

    output logic [Ways-1:0]                           wr_valid_o,
    input  logic [Ways-1:0]                           wr_ready_i,
    output logic [Ways-1:0][AddrW-1:0]                wr_addr_o,
    output logic [Ways-1:0][RowsW-1:0]                wr_rows_o,
    output logic [Ways-1:0]                           wr_row_valid_o,
    input  logic [Ways-1:0]                           wr_row_ready_i,
    output logic [Ways-1:0][RowW-1:0]                 wr_row_o,
    input  logic [Ways-1:0]                           wr_acked_i,

    input  logic [ModulusIndexW-1:0]                  sum_index_i,
    output logic [W-1:0]                              sum_q_o,
    output logic [63:0]                               sum_k_o,
    output logic [2:0]                                sum_shift_o
);
  localparam int unsigned RowAW = MaxLogN - $clog2(Lanes);
  localparam int unsigned LimbRows = 1 << RowAW;
  localparam int unsigned BufferW = $clog2(Buffers);
  localparam int unsigned BankW = $clog2(Banks);
  localparam int unsigned VW = W + QuotientBits;
  localparam bit          Packed = !Twin;

  if (Lanes < 2 || Lanes > 32 || 2 ** $clog2(Lanes) != Lanes || 2 * Butterflies < Lanes) begin : g_check
    $error("omr_rot: Lanes is a power of two from 2 to 32, at most twice the butterflies");
  end
  if (2 ** MinLogN < 16 * Butterflies || MinLogN > MaxLogN || MaxLogN > 16) begin : g_degrees
    $error("omr_rot: a polynomial has eight wide rows at least, 2^16 words at most");
  end
  if (W < 36 || W > 62 || Buffers < 2 || Buffers > 64 || Banks < 2 || Ways < 1 || Ways > 4) begin : g_sizes
    $error("omr_rot: W is 36 to 62, Ways 1 to 4, Buffers 2 to 64, Banks at least 2");
  end

  // ---- Tables --------------------------------------------------------------------------------------
  localparam int unsigned ConstantReaders = 3;    // SCALE, CONV, FINAL

  logic [ModulusIndexW-1:0]  modulus_index [Units];       // a unit's own reader
  logic [W-1:0]              q     [Units][Ways];
  logic [63:0]               k     [Units][Ways];
  logic [2:0]                shift [Units][Ways];
  logic [2:0]                move  [Units][Ways];         // by which residues stand left
  logic [ConstantIndexW-1:0] constant_index [ConstantReaders];
  logic [W-1:0]              constant       [ConstantReaders][Ways];

  logic [Ways-1:0]           modulus_we, constant_we;
  logic [ModulusIndexW-1:0]  modulus_waddr;
  logic [ConstantIndexW-1:0] constant_waddr;
  logic [W-1:0]              new_q, new_constant;
  logic [63:0]               new_k;
  logic [2:0]                new_shift;

  for (genvar v = 0; v < Ways; v++) begin : g_tables
    logic [W-1:0] way_q     [Units];
    logic [63:0]  way_k     [Units];
    logic [2:0]   way_shift [Units];
    logic [W-1:0] way_constant [ConstantReaders];

    omr_tables #(
        .W(W), .ModulusReaders(Units), .ConstantReaders(ConstantReaders)
    ) u_tables (
        .clk_i, .modulus_we_i(modulus_we[v]), .modulus_waddr_i(modulus_waddr), .q_i(new_q), .k_i(new_k),
        .shift_i(new_shift), .constant_we_i(constant_we[v]), .constant_waddr_i(constant_waddr),
        .constant_i(new_constant), .modulus_index_i(modulus_index), .q_o(way_q), .k_o(way_k), .shift_o(way_shift),
        .constant_index_i(constant_index), .constant_o(way_constant)
    );
    for (genvar u = 0; u < Units; u++) begin : g_unit
      assign q[u][v] = way_q[u];
      assign k[u][v] = way_k[u];
      assign shift[u][v] = way_shift[u];
      assign move[u][v] = Kind == rf_pkg::MulMontgomery ? '0 : way_shift[u];
    end
    for (genvar r = 0; r < ConstantReaders; r++) begin : g_constant
      assign constant[r][v] = way_constant[r];
    end
  end

  assign modulus_index[UnitSum] = sum_index_i;
  assign sum_q_o = q[UnitSum][0];
  assign sum_k_o = k[UnitSum][0];
  assign sum_shift_o = move[UnitSum][0];

  // ---- Streams of the units ------------------------------------------------------------------------
  // [client][way] inside, as the units have them.
  logic [ReadClients:0][Ways-1:0]            ask_valid, ask_ready, in_valid, in_ready;
  logic [ReadClients:0][Ways-1:0][AddrW-1:0] ask_addr;
  logic [ReadClients:0][Ways-1:0][RowsW-1:0] ask_rows;
  logic [ReadClients:0][Ways-1:0][RowW-1:0]  in_row;
  localparam int unsigned ReadKeys = ReadClients;

  for (genvar v = 0; v < Ways; v++) begin : g_streams
    for (genvar c = 0; c <= ReadClients; c++) begin : g_client
      assign rd_valid_o[v][c] = ask_valid[c][v];
      assign ask_ready[c][v] = rd_ready_i[v][c];
      assign rd_addr_o[v][c] = ask_addr[c][v];
      assign rd_rows_o[v][c] = ask_rows[c][v];
      assign in_valid[c][v] = row_valid_i[v][c];
      assign row_ready_o[v][c] = in_ready[c][v];
      assign in_row[c][v] = row_i[v][c];
    end
  end

  // ---- Ports of the buffers ------------------------------------------------------------------------
  // Who reads X: SCALE, KMAC, FINAL, STORE; who writes it: LOAD, CONV, KMAC, FINAL.
  localparam int unsigned Readers = 4;
  localparam int unsigned Writers = 4;

  logic               scale_re, kmac_re, final_re;
  logic [BufferW-1:0] scale_buffer, kmac_buffer, final_buffer;
  logic [7:0]         store_buffer, load_buffer;
  logic [RowAW-1:0]   scale_row, kmac_row, final_row;
  logic [RowAW-1:0]   store_row [Ways], load_row [Ways];
  logic [Ways-1:0]    store_re, load_we, table_we, conv_we, kmac_we, final_we;
  logic [W-1:0]       scale_x [Ways][Lanes], kmac_x [Ways][Lanes], final_x [Ways][Lanes], store_x [Ways][Lanes];
  logic [BufferW-1:0] conv_buffer, kmac_wbuffer, final_wbuffer;
  logic [RowAW-1:0]   conv_row, kmac_wrow, final_wrow;
  logic [W-1:0]       load_data [Ways][Lanes], conv_data [Ways][Lanes], kmac_data [Ways][Lanes];
  logic [W-1:0]       final_data [Ways][Lanes];

  // ACC
  logic               kmac_acc_re, kmac_acc_pair, kmac_acc_part, final_acc_re, final_acc_pair, final_acc_part;
  logic [RowAW-1:0]   kmac_acc_row, final_acc_row, acc_wrow;
  logic [Ways-1:0]    acc_we;
  logic               acc_wpair, acc_wpart;
  logic [W-1:0]       kmac_acc [Ways][Lanes], final_acc [Ways][Lanes], acc_data [Ways][Lanes];

  // D and V
  logic [Sources-1:0] d_re;
  logic [BankW-1:0]   d_bank, d_wbank;
  logic [RowAW-1:0]   d_row, d_wrow;
  logic [Ways-1:0]    d_we;
  logic [W-1:0]       d_rdata [Sources][Lanes], d_data [Ways][Lanes];
  logic               scale_v_re, conv_v_re, v_we;
  logic [1:0]         scale_v_index, conv_v_index, v_windex;
  logic [RowAW-1:0]   scale_v_row, conv_v_row, v_wrow;
  logic [VW-1:0]      v_rdata [2][Lanes], v_data [Lanes];

  // ---- Ways ----------------------------------------------------------------------------------------
  logic [Ways-1:0] xform_ready, xform_done;
  assign cmd_ready_o[UnitXform] = xform_ready[0];
  assign done_o[UnitXform] = xform_done[0];

  for (genvar v = 0; v < Ways; v++) begin : g_way
    logic [RowAW-1:0]         x_raddr [Readers], x_waddr [Writers], acc_raddr [2];
    logic [7:0]               x_rbuffer [Readers], x_wbuffer [Writers];
    logic [W-1:0]             x_rdata [Readers][Lanes], x_wdata [Writers][Lanes], acc_rdata [2][Lanes];
    logic [1:0]               acc_rbank [2];
    logic [ModulusIndexW-1:0] index;

    assign x_raddr = '{scale_row, kmac_row, final_row, store_row[v]};
    assign x_rbuffer = '{8'(scale_buffer), 8'(kmac_buffer), 8'(final_buffer), store_buffer};
    assign scale_x[v] = x_rdata[0];
    assign kmac_x[v] = x_rdata[1];
    assign final_x[v] = x_rdata[2];
    assign store_x[v] = x_rdata[3];
    assign x_waddr = '{load_row[v], conv_row, kmac_wrow, final_wrow};
    assign x_wbuffer = '{load_buffer, 8'(conv_buffer), 8'(kmac_wbuffer), 8'(final_wbuffer)};
    assign x_wdata[0] = load_data[v];
    assign x_wdata[1] = conv_data[v];
    assign x_wdata[2] = kmac_data[v];
    assign x_wdata[3] = final_data[v];

    omr_xform #(
        .W(W), .Lanes(Lanes), .Butterflies(Butterflies), .Buffers(Buffers), .MaxLogN(MaxLogN), .Kind(Kind),
        .Twin(Twin), .Readers(Readers), .Writers(Writers)
    ) u_xform (
        .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitXform]), .cmd_ready_o(xform_ready[v]),
        .cmd_i(cmd_i[UnitXform]), .active_i(cmd_i[UnitXform].ways[v]), .done_o(xform_done[v]),
        .modulus_index_o(index), .q_i(q[UnitXform][v]), .k_i(k[UnitXform][v]), .shift_i(move[UnitXform][v]),
        .re_i({store_re[v], final_re, kmac_re, scale_re}), .rbuffer_i(x_rbuffer), .raddr_i(x_raddr), .rdata_o(x_rdata),
        .we_i({final_we[v], kmac_we[v], conv_we[v], load_we[v]}), .wbuffer_i(x_wbuffer), .waddr_i(x_waddr),
        .wdata_i(x_wdata), .t_we_i(table_we[v]), .t_buffer_i(load_buffer[0]), .t_waddr_i(load_row[v]),
        .t_wdata_i(load_data[v])
    );
    if (v == 0) begin : g_first
      assign modulus_index[UnitXform] = index;
    end else begin : g_other
      logic unused;
      assign unused = ^index;
    end

    assign acc_rbank = '{{kmac_acc_pair, kmac_acc_part}, {final_acc_pair, final_acc_part}};
    assign acc_raddr = '{kmac_acc_row, final_acc_row};
    assign kmac_acc[v] = acc_rdata[0];
    assign final_acc[v] = acc_rdata[1];

    omr_banks #(
        .W(W), .Lanes(Lanes), .Rows(LimbRows), .Banks(2 * Accumulators), .Readers(2), .Packed(Packed)
    ) u_acc (
        .clk_i, .rst_ni, .re_i({final_acc_re, kmac_acc_re}), .rbank_i(acc_rbank), .raddr_i(acc_raddr),
        .rdata_o(acc_rdata), .we_i(acc_we[v]), .wbank_i({acc_wpair, acc_wpart}), .waddr_i(acc_wrow),
        .wdata_i(acc_data[v])
    );
  end

  logic unused_ways;
  assign unused_ways = ^{xform_ready, xform_done, load_buffer[7:1]};

  // ---- Sources and quotients -----------------------------------------------------------------------
  omr_sources #(
      .W(W), .Lanes(Lanes), .Rows(LimbRows), .Banks(Banks), .Sources(Sources), .Ways(Ways), .Packed(Packed)
  ) u_sources (
      .clk_i, .rst_ni, .re_i(d_re), .rbank_i(d_bank), .raddr_i(d_row), .rdata_o(d_rdata), .we_i(d_we),
      .wbank_i(d_wbank), .waddr_i(d_wrow), .wdata_i(d_data)
  );

  logic [1:0]       v_rbank [2];
  logic [RowAW-1:0] v_raddr [2];
  assign v_rbank = '{scale_v_index, conv_v_index};
  assign v_raddr = '{scale_v_row, conv_v_row};

  omr_banks #(
      .W(VW), .Lanes(Lanes), .Rows(LimbRows), .Banks(Quotients), .Readers(2), .Packed(Packed)
  ) u_quotients (
      .clk_i, .rst_ni, .re_i({conv_v_re, scale_v_re}), .rbank_i(v_rbank), .raddr_i(v_raddr), .rdata_o(v_rdata),
      .we_i(v_we), .wbank_i(v_windex), .waddr_i(v_wrow), .wdata_i(v_data)
  );

  // ---- Units ---------------------------------------------------------------------------------------
  assign busy_o[UnitLoad] = !cmd_ready_o[UnitLoad];
  assign busy_o[UnitXform] = !cmd_ready_o[UnitXform];
  assign busy_o[UnitStore] = !cmd_ready_o[UnitStore];

  omr_load #(
      .W(W), .Lanes(Lanes), .Ways(Ways), .MaxLogN(MaxLogN)
  ) u_load (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitLoad]), .cmd_ready_o(cmd_ready_o[UnitLoad]),
      .cmd_i(cmd_i[UnitLoad]), .done_o(done_o[UnitLoad]), .rd_valid_o(ask_valid[ReadLoad]),
      .rd_ready_i(ask_ready[ReadLoad]), .rd_addr_o(ask_addr[ReadLoad]), .rd_rows_o(ask_rows[ReadLoad]),
      .row_valid_i(in_valid[ReadLoad]), .row_ready_o(in_ready[ReadLoad]), .row_i(in_row[ReadLoad]),
      .modulus_index_o(modulus_index[UnitLoad]), .shift_i(move[UnitLoad]), .x_we_o(load_we), .t_we_o(table_we),
      .buffer_o(load_buffer), .waddr_o(load_row), .wdata_o(load_data), .modulus_we_o(modulus_we),
      .modulus_waddr_o(modulus_waddr), .modulus_q_o(new_q), .modulus_k_o(new_k), .modulus_shift_o(new_shift),
      .constant_we_o(constant_we), .constant_waddr_o(constant_waddr), .constant_o(new_constant)
  );

  omr_scale #(
      .W(W), .Lanes(Lanes), .Ways(Ways), .Buffers(Buffers), .Banks(Banks), .MaxLogN(MaxLogN), .Kind(Kind),
      .Twin(Twin)
  ) u_scale (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitScale]), .cmd_ready_o(cmd_ready_o[UnitScale]),
      .cmd_i(cmd_i[UnitScale]), .done_o(done_o[UnitScale]), .busy_o(busy_o[UnitScale]),
      .modulus_index_o(modulus_index[UnitScale]), .modulus_q_i(q[UnitScale]), .modulus_k_i(k[UnitScale]),
      .modulus_shift_i(shift[UnitScale]), .constant_index_o(constant_index[0]), .constant_i(constant[0]),
      .x_re_o(scale_re), .x_buffer_o(scale_buffer), .x_row_o(scale_row), .x_i(scale_x),
      .v_re_o(scale_v_re), .v_index_o(scale_v_index), .v_row_o(scale_v_row), .v_i(v_rdata[0]),
      .d_we_o(d_we), .d_wbank_o(d_wbank), .d_wrow_o(d_wrow), .d_data_o(d_data),
      .v_we_o(v_we), .v_windex_o(v_windex), .v_wrow_o(v_wrow), .v_data_o(v_data)
  );

  omr_conv #(
      .W(W), .Lanes(Lanes), .Ways(Ways), .Sources(Sources), .Buffers(Buffers), .Banks(Banks), .MaxLogN(MaxLogN),
      .Kind(Kind), .Twin(Twin)
  ) u_conv (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitConv]), .cmd_ready_o(cmd_ready_o[UnitConv]),
      .cmd_i(cmd_i[UnitConv]), .done_o(done_o[UnitConv]), .busy_o(busy_o[UnitConv]),
      .modulus_index_o(modulus_index[UnitConv]), .modulus_q_i(q[UnitConv]), .modulus_k_i(k[UnitConv]),
      .modulus_shift_i(move[UnitConv]), .constant_index_o(constant_index[1]), .constant_i(constant[1]),
      .d_re_o(d_re), .d_bank_o(d_bank), .d_row_o(d_row), .d_i(d_rdata),
      .v_re_o(conv_v_re), .v_index_o(conv_v_index), .v_row_o(conv_v_row), .v_i(v_rdata[1]),
      .x_we_o(conv_we), .x_wbuffer_o(conv_buffer), .x_wrow_o(conv_row), .x_data_o(conv_data)
  );

  omr_kmac #(
      .W(W), .Lanes(Lanes), .Ways(Ways), .Buffers(Buffers), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)
  ) u_kmac (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitKmac]), .cmd_ready_o(cmd_ready_o[UnitKmac]),
      .cmd_i(cmd_i[UnitKmac]), .done_o(done_o[UnitKmac]), .busy_o(busy_o[UnitKmac]),
      .modulus_index_o(modulus_index[UnitKmac]), .modulus_q_i(q[UnitKmac]), .modulus_k_i(k[UnitKmac]),
      .modulus_shift_i(move[UnitKmac]),
      .x_re_o(kmac_re), .x_buffer_o(kmac_buffer), .x_row_o(kmac_row), .x_i(kmac_x),
      .acc_re_o(kmac_acc_re), .acc_pair_o(kmac_acc_pair), .acc_part_o(kmac_acc_part), .acc_row_o(kmac_acc_row),
      .acc_i(kmac_acc), .acc_we_o(acc_we), .acc_wpair_o(acc_wpair), .acc_wpart_o(acc_wpart), .acc_wrow_o(acc_wrow),
      .acc_data_o(acc_data), .x_we_o(kmac_we), .x_wbuffer_o(kmac_wbuffer), .x_wrow_o(kmac_wrow), .x_data_o(kmac_data),
      .rd_valid_o(ask_valid[ReadKmac]), .rd_ready_i(ask_ready[ReadKmac]), .rd_addr_o(ask_addr[ReadKmac]),
      .rd_rows_o(ask_rows[ReadKmac]), .row_valid_i(in_valid[ReadKmac]), .row_ready_o(in_ready[ReadKmac]),
      .row_i(in_row[ReadKmac]),
      .key_valid_o(ask_valid[ReadKeys]), .key_ready_i(ask_ready[ReadKeys]), .key_addr_o(ask_addr[ReadKeys]),
      .key_rows_o(ask_rows[ReadKeys]), .key_row_valid_i(in_valid[ReadKeys]), .key_row_ready_o(in_ready[ReadKeys]),
      .key_row_i(in_row[ReadKeys])
  );

  omr_final #(
      .W(W), .Lanes(Lanes), .Ways(Ways), .Buffers(Buffers), .MaxLogN(MaxLogN), .Kind(Kind), .Twin(Twin)
  ) u_final (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitFinal]), .cmd_ready_o(cmd_ready_o[UnitFinal]),
      .cmd_i(cmd_i[UnitFinal]), .done_o(done_o[UnitFinal]), .busy_o(busy_o[UnitFinal]),
      .modulus_index_o(modulus_index[UnitFinal]), .modulus_q_i(q[UnitFinal]), .modulus_k_i(k[UnitFinal]),
      .modulus_shift_i(move[UnitFinal]), .constant_index_o(constant_index[2]), .constant_i(constant[2]),
      .x_re_o(final_re), .x_buffer_o(final_buffer), .x_row_o(final_row), .x_i(final_x),
      .acc_re_o(final_acc_re), .acc_pair_o(final_acc_pair), .acc_part_o(final_acc_part), .acc_row_o(final_acc_row),
      .acc_i(final_acc), .x_we_o(final_we), .x_wbuffer_o(final_wbuffer), .x_wrow_o(final_wrow), .x_data_o(final_data),
      .rd_valid_o(ask_valid[ReadFinal]), .rd_ready_i(ask_ready[ReadFinal]), .rd_addr_o(ask_addr[ReadFinal]),
      .rd_rows_o(ask_rows[ReadFinal]), .row_valid_i(in_valid[ReadFinal]), .row_ready_o(in_ready[ReadFinal]),
      .row_i(in_row[ReadFinal])
  );

  omr_store #(
      .W(W), .Lanes(Lanes), .Ways(Ways), .MaxLogN(MaxLogN)
  ) u_store (
      .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(cmd_valid_i[UnitStore]), .cmd_ready_o(cmd_ready_o[UnitStore]),
      .cmd_i(cmd_i[UnitStore]), .done_o(done_o[UnitStore]), .modulus_index_o(modulus_index[UnitStore]),
      .q_i(q[UnitStore]), .shift_i(move[UnitStore]), .x_re_o(store_re), .buffer_o(store_buffer),
      .x_raddr_o(store_row), .x_rdata_i(store_x), .rd_valid_o(ask_valid[ReadStore]),
      .rd_ready_i(ask_ready[ReadStore]), .rd_addr_o(ask_addr[ReadStore]), .rd_rows_o(ask_rows[ReadStore]),
      .row_valid_i(in_valid[ReadStore]), .row_ready_o(in_ready[ReadStore]), .row_i(in_row[ReadStore]), .wr_valid_o,
      .wr_ready_i, .wr_addr_o, .wr_rows_o, .wr_row_valid_o, .wr_row_ready_i, .wr_row_o, .wr_acked_i
  );
endmodule
