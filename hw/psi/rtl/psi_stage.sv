// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// One stage of the pipelined forward transform: butterflies of words at distance 2^LogT, with its own twiddles and its
// own output buffer of two polynomials.
//
// Function: reads a polynomial from the buffer before it, four words a cycle: lines l and l + 2^LogT / 2 (of two
// words), or at LogT = 0 the lines 2c and 2c + 1; writes the results to the same places of its own buffer.
// Latency     ReadLatency + ButterflyLatency from read to write
// Throughput  one polynomial in N/4 + drain_i cycles, if the buffers before and after it keep up
// Ranges      N = 2^LogN if long_i, else half of it, N at least 128; drain_i is 0, or at least 13
//
// A polynomial starts when the buffer before offers one, a place in the buffer after is free, and the last start was
// N/4 + drain_i cycles ago. The place is free when the reader's last read has been issued, since the first write comes
// much later. The next stage is offered a polynomial when all of it is written, or with drain_i = 0, when half of it
// is: what a stage reads in its c-th cycle has been written in the (c + N/8)-th of the stage before, or earlier.
//
// Table: entry m + i (psi^brv(m + i)) with m = N / 2^(LogT + 1); writes of other entries are ignored.
// Reader: as psi_source, with the numbers of the two lines.

module psi_stage #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11,
  parameter int unsigned LogT = 0,
  parameter int unsigned ReadLatency = rf_pkg::BankLatency,
  parameter int unsigned MetaW = 8,
  parameter int unsigned Kind = rf_pkg::MulBarrett,
  parameter int unsigned Word = rf_pkg::MontgomeryWord,
  parameter bit          Twin = 1'b0
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                long_i,
  input  logic [psi_core_pkg::ShiftWidth-1:0] shift_i,
  input  logic [W-1:0]                        q_i,
  input  logic [63:0]                         k_i,
  input  logic [4:0]                          drain_i,
  input  logic                                tw_we_i,
  input  logic [LogN-1:0]                     tw_addr_i,
  input  logic [W-1:0]                        tw_data_i,
  // The buffer before.
  input  logic                                up_avail_i,
  input  logic [MetaW-1:0]                    up_meta_i,
  output logic                                up_start_o,
  output logic                                up_re_o,
  output logic [LogN-3:0]                     up_group_o,
  output logic [LogN-2:0]                     up_line_o [2],
  output logic                                up_done_o,
  input  logic [W-1:0]                        up_x_i [4],
  // The reader of this stage's buffer.
  output logic                                avail_o,
  output logic [MetaW-1:0]                    meta_o,
  input  logic                                start_i,
  input  logic                                re_i,
  input  logic [LogN-2:0]                     line_i [2],
  input  logic                                done_i,
  output logic [W-1:0]                        x_o [4],
  output logic                                busy_o
);
  if (LogN < 8 || LogN > 15 || LogT >= LogN || ReadLatency < rf_pkg::BankLatency || MetaW < 1) begin : g_check
    $error("psi_stage: LogN must be 8 to 15, LogT less, ReadLatency at least BankLatency, MetaW at least 1");
  end

  localparam int unsigned LineW = LogN - 1;
  localparam int unsigned GroupW = LogN - 2;
  localparam int unsigned Latency = ReadLatency + rf_pkg::ButterflyLatency;
  localparam int unsigned Apart = LogT > 0 ? LogT - 1 : 0;  // log2 of the distance of the lines

  function automatic logic [LineW-1:0] first_line(logic [GroupW-1:0] group);
    logic [LineW-1:0] below = ~({LineW{1'b1}} << Apart);
    return (({1'b0, group} & ~below) << 1) | ({1'b0, group} & below);
  endfunction

  logic [GroupW-1:0] group_last, group_offer;
  logic [LogN-1:0]   wait_q;      // cycles to the next start
  logic              issue_q;     // reading
  logic [GroupW-1:0] group_q;
  logic              sslot_q;     // place of the next polynomial that starts
  logic [1:0]        used_q;      // places taken
  logic [1:0]        full_q;      // polynomials offered
  logic [MetaW-1:0]  meta_q [2];
  logic [Latency-1:0] valid_q;
  logic [LineW-1:0]  rline;
  logic              write, offer;
  logic [GroupW-1:0] wgroup_q;
  logic              wslot_q;
  logic              rslot_q;     // place of the next polynomial that the reader starts
  logic              rcur_q;      // place of the one it reads

  assign group_last = long_i ? '1 : {1'b0, {(GroupW - 1){1'b1}}};
  assign group_offer = drain_i == '0 ? (group_last >> 1) + 1'b1 : group_last;

  assign up_start_o = up_avail_i && wait_q == '0 && !used_q[1];
  assign up_re_o = issue_q;
  assign up_group_o = group_q;
  assign up_done_o = issue_q && group_q == group_last;
  assign rline = first_line(group_q);
  assign up_line_o = '{rline, rline | LineW'(1 << Apart)};

  assign write = valid_q[Latency-1];
  assign offer = write && wgroup_q == group_offer;
  assign avail_o = full_q != '0;
  assign meta_o = meta_q[rslot_q];
  assign busy_o = used_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wait_q <= '0;
      issue_q <= 1'b0;
      group_q <= '0;
      sslot_q <= 1'b0;
      used_q <= '0;
      full_q <= '0;
      valid_q <= '0;
      wgroup_q <= '0;
      wslot_q <= 1'b0;
      rslot_q <= 1'b0;
      rcur_q <= 1'b0;
    end else begin
      if (up_start_o) wait_q <= LogN'(group_last) + LogN'(drain_i);
      else if (wait_q != '0) wait_q <= wait_q - 1'b1;
      if (up_start_o) issue_q <= 1'b1;
      else if (up_done_o) issue_q <= 1'b0;
      if (issue_q) group_q <= up_done_o ? '0 : group_q + 1'b1;
      if (up_start_o) sslot_q <= !sslot_q;
      used_q <= used_q + 2'(up_start_o) - 2'(done_i);
      full_q <= full_q + 2'(offer) - 2'(start_i);
      valid_q <= {valid_q[Latency-2:0], issue_q};
      if (write) begin
        wgroup_q <= wgroup_q == group_last ? '0 : wgroup_q + 1'b1;
        if (wgroup_q == group_last) wslot_q <= !wslot_q;
      end
      if (start_i) begin
        rslot_q <= !rslot_q;
        rcur_q <= rslot_q;
      end
    end
  end

  always_ff @(posedge clk_i) if (up_start_o) meta_q[sslot_q] <= up_meta_i;

  // Twiddles: read so that they come with the words.
  localparam int unsigned Entries = LogN - 1 - LogT;  // log2 of the table's length at the largest N
  logic [W-1:0] w [2];

  if (LogT == LogN - 1) begin : g_single
    // Only at the largest N, and always the same.
    logic [W-1:0] w_q;
    always_ff @(posedge clk_i) if (tw_we_i && tw_addr_i == LogN'(1)) w_q <= tw_data_i;
    assign w = '{w_q, w_q};
  end else begin : g_table
    localparam int unsigned Wait = ReadLatency - rf_pkg::BankLatency;
    logic [LogN-1:0]    level;  // the number of entries
    logic               mine;
    logic [Entries-1:0] windex;
    logic [LineW-1:0]   line;
    logic               re;
    logic [W-1:0]       data [1];

    assign level = long_i ? LogN'(1 << Entries) : LogN'(1 << (Entries - 1));
    assign mine = tw_we_i && (tw_addr_i & ~(level - 1'b1)) == level;
    assign windex = Entries'(tw_addr_i & (level - 1'b1));
    assign data[0] = tw_data_i;

    if (Wait > 0) begin : g_wait
      logic             re_q [Wait];
      logic [LineW-1:0] line_q [Wait];
      always_ff @(posedge clk_i) begin
        re_q[0] <= issue_q;
        line_q[0] <= rline;
        for (int unsigned d = 1; d < Wait; d++) begin
          re_q[d] <= re_q[d-1];
          line_q[d] <= line_q[d-1];
        end
      end
      assign re = re_q[Wait-1];
      assign line = line_q[Wait-1];
    end else begin : g_direct
      assign re = issue_q;
      assign line = rline;
    end

    if (LogT == 0) begin : g_pair
      // Lines 2c and 2c + 1 have entries of their own, side by side.
      logic [W-1:0] even [1], odd [1];
      rf_bank #(.W(W), .Lanes(1), .Rows(1 << (Entries - 1))) u_even (
        .clk_i, .re_i(re), .raddr_i((Entries-1)'(line >> 1)), .rdata_o(even),
        .we_i(mine && !windex[0]), .waddr_i(windex[Entries-1:1]), .wdata_i(data)
      );
      rf_bank #(.W(W), .Lanes(1), .Rows(1 << (Entries - 1))) u_odd (
        .clk_i, .re_i(re), .raddr_i((Entries-1)'(line >> 1)), .rdata_o(odd),
        .we_i(mine && windex[0]), .waddr_i(windex[Entries-1:1]), .wdata_i(data)
      );
      assign w = '{even[0], odd[0]};
    end else begin : g_one
      logic [W-1:0] entry [1];
      rf_bank #(.W(W), .Lanes(1), .Rows(1 << Entries)) u_table (
        .clk_i, .re_i(re), .raddr_i(Entries'(line >> LogT)), .rdata_o(entry),
        .we_i(mine), .waddr_i(windex), .wdata_i(data)
      );
      assign w = '{entry[0], entry[0]};
    end
  end

  logic [W-1:0]     x0 [2], x1 [2], y0 [2], y1 [2];
  logic [W-1:0]     result [4];
  logic [LineW-1:0] wline [2];

  always_comb begin
    if (LogT == 0) begin
      x0 = '{up_x_i[0], up_x_i[2]};
      x1 = '{up_x_i[1], up_x_i[3]};
      result = '{y0[0], y1[0], y0[1], y1[1]};
    end else begin
      x0 = '{up_x_i[0], up_x_i[1]};
      x1 = '{up_x_i[2], up_x_i[3]};
      result = '{y0[0], y0[1], y1[0], y1[1]};
    end
    wline[0] = first_line(wgroup_q);
    wline[1] = wline[0] | LineW'(1 << Apart);
  end

  rf_butterfly #(
    .W(W), .Lanes(2), .Kind(Kind), .Twin(Twin), .ShiftWidth(psi_core_pkg::ShiftWidth), .Word(Word)
  ) u_butterfly (
    .clk_i, .en_i(1'b1), .inverse_i(1'b0), .shift_i, .q_i, .k_i, .x0_i(x0), .x1_i(x1), .w_i(w), .y0_o(y0), .y1_o(y1)
  );

  psi_buffer #(.W(W), .LogN(LogN), .Slots(2)) u_buffer (
    .clk_i, .re_i, .rslot_i(rcur_q), .rline_i(line_i), .x_o,
    .we_i(write), .wslot_i(wslot_q), .wline_i(wline), .x_i(result)
  );
endmodule
