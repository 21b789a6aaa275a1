// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Cuts a burst of rows into AXI bursts of words.
//
// Function    A request is an address and a number of rows. It becomes one burst or several, in the order of their
//             addresses, none longer than MaxWords words and none across a 4 KiB border. final_o marks the last of them.
// Latency     1 cycle to the first burst
// Throughput  one burst per cycle, requests without a gap
// Ranges      RowBytes is a multiple of WordBytes, WordBytes a power of two up to 4096, MaxWords in 1..256; addr_i is a
//             multiple of WordBytes (the bits below are dropped). rows_i is the number of rows less 1, words_o the number
//             of words less 1, as AxLEN.

module rf_axi_split #(
    parameter int unsigned AddrW = 48,
    parameter int unsigned RowBytes = 128,
    parameter int unsigned WordBytes = 64,
    parameter int unsigned MaxWords = 256
) (
    input  logic             clk_i,
    input  logic             rst_ni,

    input  logic             valid_i,
    output logic             ready_o,
    input  logic [AddrW-1:0] addr_i,
    input  logic [7:0]       rows_i,

    output logic             valid_o,
    input  logic             ready_i,
    output logic [AddrW-1:0] addr_o,
    output logic [7:0]       words_o,
    output logic             final_o
);

  localparam int unsigned Ratio = RowBytes / WordBytes;
  localparam int unsigned WordLog = $clog2(WordBytes);
  localparam int unsigned PageLog = 12 - WordLog;  // words of a page of 4 KiB
  localparam int unsigned LongestLog = $clog2(256 * Ratio);
  localparam int unsigned CountW = ((LongestLog > PageLog) ? LongestLog : PageLog) + 1;

  if (RowBytes % WordBytes != 0 || WordBytes > 4096 || WordBytes != 1 << WordLog) begin : g_bad_width
    $error("rows of %0d bytes are no multiple of words of %0d bytes, a power of two up to 4096", RowBytes, WordBytes);
  end
  if (MaxWords < 1 || MaxWords > 256) begin : g_bad_length
    $error("MaxWords %0d is outside 1..256", MaxWords);
  end

  logic                     busy_q, accept, give;
  logic [AddrW-WordLog-1:0] word_q;  // address, in words
  logic [CountW-1:0]        left_q, room, take;

  // Words up to the next page: what is in the page less the place in it.
  if (PageLog > 0) begin : g_room
    assign room = CountW'(1 << PageLog) - CountW'(word_q[PageLog-1:0]);
  end else begin : g_whole
    assign room = CountW'(1);
  end

  always_comb begin
    take = left_q;
    if (room < take) take = room;
    if (CountW'(MaxWords) < take) take = CountW'(MaxWords);
  end

  assign final_o = take == left_q;
  assign give = busy_q && ready_i;
  assign ready_o = !busy_q || (give && final_o);
  assign accept = valid_i && ready_o;
  assign valid_o = busy_q;
  assign addr_o = {word_q, WordLog'(0)};
  assign words_o = 8'(take - 1'b1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (accept) busy_q <= 1'b1;
    else if (give && final_o) busy_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (accept) begin
      word_q <= addr_i[AddrW-1:WordLog];
      left_q <= CountW'((32'(rows_i) + 1) * Ratio);
    end else if (give) begin
      word_q <= word_q + (AddrW - WordLog)'(take);
      left_q <= left_q - take;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && accept) begin
      assert ((32'(addr_i[11:0]) & (WordBytes - 1)) == '0) else $error("burst at unaligned address %h", addr_i);
    end
  end
`endif

endmodule
