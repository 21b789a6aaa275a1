// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reads the rows of keys from memory ahead of their use.
//
// Function    A request names a key's address and its rows, which follow each other in memory. They are read in bursts
//             of KeyBurst beats, or of a row where that is shorter, and handed out in the order of the requests. A
//             burst is asked for when there is room for all of it; at most KeyBursts are outstanding.
// Latency     request to AR 3 cycles; R to key_o 4 cycles (an empty FIFO)
// Throughput  a beat per cycle. With Pauses a burst is followed by a cycle in which no data are taken, and a row by
//             another, as the published machine does: 261 cycles for a row of N = 1,024, 521 of 2,048.
// Ranges      log_n_i 6 ... MaxLogN and base_i do not change while requests are under way; 1 <= req_rows_i. A word's
//             bits from W on are ignored.
// Stopping    halt_i: nothing more is asked for; what was asked for still comes, and there is room for it.
module psi_keys
  import psi_pkg::*;
#(
    parameter int unsigned W = 27,
    parameter int unsigned MaxLogN = 11,
    parameter int unsigned Rows = 8,        // of the largest degree, that wait
    parameter int unsigned Requests = 8,    // that wait
    parameter bit          Pauses = 1'b0,
    localparam int unsigned RowsW = 5
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  halt_i,
    input  logic [DegreeW-1:0]    log_n_i,
    input  logic [AddrW-1:KeyUnitLog] base_i,

    input  logic                  req_valid_i,
    output logic                  req_ready_o,
    input  logic [KeyW-1:0]       req_key_i,
    input  logic [RowsW-1:0]      req_rows_i,
    output logic                  pending_o,        // a request waits or is being read

    output logic                  key_valid_o,
    input  logic                  key_ready_i,
    output logic [W-1:0]          key_o [2*Coefficients],

    output logic                  idle_o,
    output logic                  error_o,
    output logic                  beat_o,
    output logic                  wait_o,
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
  localparam int unsigned Depth = Rows << (MaxLogN - 2);
  localparam int unsigned RoomW = $clog2(Depth + 1);
  localparam int unsigned BurstLog = $clog2(KeyBurst);
  localparam int unsigned RowLog = BurstLog + 2;                    // log2 N of a row that is one whole burst
  localparam int unsigned BurstsW = RowsW + MaxLogN;                // bursts of a request
  localparam int unsigned InRowW = MaxLogN > RowLog ? MaxLogN - RowLog : 1;
  localparam int unsigned PageLog = $clog2(KeyBurst * PortW / 8);

  if (MaxLogN < 6 || MaxLogN > MostLogN) begin : g_bad_degree
    $error("psi_keys: MaxLogN %0d is outside 6..%0d", MaxLogN, MostLogN);
  end
  if (Depth < KeyBurst) begin : g_bad_rows
    $error("psi_keys: %0d rows do not hold a burst", Rows);
  end

  // ---- Requests ------------------------------------------------------------------------------------
  logic                      head_valid, head_take, active_q, ask, granted;
  logic [KeyW-1:0]           head_key;
  logic [RowsW-1:0]          head_rows;
  logic [BurstsW-1:0]        left_q;     // bursts to ask for
  logic [AddrW-1:0]          addr_q;
  logic [RoomW-1:0]          room_q;     // beats that fit besides those asked for
  logic [BurstLog:0]         burst_beats;
  logic                      long_rows;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(KeyW + RowsW), .Depth(Requests)) u_requests (
      .clk_i, .rst_ni, .valid_i(req_valid_i), .ready_o(req_ready_o), .data_i({req_key_i, req_rows_i}),
      .valid_o(head_valid), .ready_i(head_take), .data_o({head_key, head_rows}), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign long_rows = log_n_i >= DegreeW'(RowLog);
  assign burst_beats = long_rows ? (BurstLog + 1)'(KeyBurst) : (BurstLog + 1)'(1) << (log_n_i - DegreeW'(2));
  assign ask = active_q && !halt_i && room_q >= RoomW'(burst_beats);
  // The next request follows the last burst of the one before without a gap.
  assign head_take = head_valid && !halt_i && (!active_q || (granted && left_q == BurstsW'(1)));
  assign pending_o = head_valid || active_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      room_q <= RoomW'(Depth);
    end else begin
      if (head_take) active_q <= 1'b1;
      else if (granted && left_q == BurstsW'(1)) active_q <= 1'b0;
      room_q <= room_q + RoomW'(key_valid_o && key_ready_i) - (granted ? RoomW'(burst_beats) : '0);
    end
    if (head_take) begin
      left_q <= long_rows ? BurstsW'(head_rows) << (log_n_i - DegreeW'(RowLog)) : BurstsW'(head_rows);
      addr_q <= {base_i + (AddrW - KeyUnitLog)'(head_key), KeyUnitLog'(0)};
    end else if (granted) begin
      left_q <= left_q - 1'b1;
      addr_q <= addr_q + (long_rows ? AddrW'(1) << PageLog : AddrW'(PortW / 8) << (log_n_i - DegreeW'(2)));
    end
  end

  // ---- The port ------------------------------------------------------------------------------------
  logic             rsp_valid, taking;
  logic [PortW-1:0] rsp_data;
  logic             read_rready;

  rf_axi_read #(.DataW(PortW), .AddrW(AddrW), .Clients(1), .MaxBeats(KeyBurst), .Outstanding(KeyBursts)) u_read (
      .clk_i, .rst_ni, .req_valid_i(ask), .req_ready_o(granted), .req_addr_i('{addr_q}),
      .req_beats_i('{burst_beats}), .rsp_valid_o(rsp_valid), .rsp_data_o(rsp_data), .idle_o, .error_o, .beat_o, .wait_o,
      .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache, .m_axi_arprot,
      .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast,
      .m_axi_rvalid(m_axi_rvalid && taking), .m_axi_rready(read_rready)
  );
  assign m_axi_rready = read_rready && taking;

  if (Pauses) begin : g_pauses
    logic [1:0]        pause_q;
    logic [InRowW-1:0] burst_q, last;  // of the row that comes
    logic              ends, row_ends;

    assign last = long_rows ? InRowW'((32'd1 << (log_n_i - DegreeW'(RowLog))) - 32'd1) : '0;
    assign ends = m_axi_rvalid && m_axi_rready && m_axi_rlast;
    assign row_ends = ends && burst_q == last;
    assign taking = pause_q == '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        pause_q <= '0;
        burst_q <= '0;
      end else begin
        if (ends) begin
          pause_q <= row_ends ? 2'd2 : 2'd1;
          burst_q <= row_ends ? '0 : burst_q + 1'b1;
        end else if (pause_q != '0) begin
          pause_q <= pause_q - 1'b1;
        end
      end
    end
  end else begin : g_steady
    assign taking = 1'b1;
  end

  // ---- Rows ----------------------------------------------------------------------------------------
  logic [2*Coefficients*W-1:0] coming, oldest;

  always_comb
    for (int unsigned l = 0; l < 2 * Coefficients; l++) begin
      coming[W*l+:W] = rsp_data[64*l+:W];
      key_o[l] = oldest[W*l+:W];
    end

  // There is room: it was looked for before the burst was asked for.
  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(.Width(2 * Coefficients * W), .Depth(Depth)) u_rows (
      .clk_i, .rst_ni, .valid_i(rsp_valid), .ready_o(), .data_i(coming), .valid_o(key_valid_o), .ready_i(key_ready_i),
      .data_o(oldest), .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // Words are shorter than 64 bits.
  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int unsigned l = 0; l < 2 * Coefficients; l++) unused = unused ^ (^rsp_data[64*l+W+:64-W]);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      assert (!req_valid_i || req_rows_i != '0) else $error("a key of no rows");
      assert (32'(room_q) <= Depth) else $error("%0d beats of room", room_q);
    end
`endif
endmodule
