// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Integer product cut into tiles that fit a DSP slice, complete or one half of it only, added to or subtracted from c.
//
// Function: p = c + P or c - P (Subtract) modulo 2^(Hi-Lo), where P is the sum of the tiles' bits Lo to Hi-1.
//   Lo = 0: P = a * b exactly, modulo 2^Hi.
//   Lo > 0: floor(a * b / 2^Lo) - Loss <= P <= floor(a * b / 2^Lo): a tile that lies below bit Lo is left out, and so
//   are the bits below Lo of each row of tiles. Each of them is less than one unit of P, so Loss is less than their
//   number, which is at most NA * NB + NA + NB - 1.
// Latency 3, throughput one product per lane and clock; en_i low holds the pipeline. c_i is taken at the third clock
// edge, that is two clocks after a_i and b_i.
//
// Operand a is cut every TileA bits and b every TileB bits, from the top if FromTop, so that the short tiles are the
// least significant ones, else from the bottom. 26 x 17 unsigned bits fit the 27 x 18 signed multiplier of a DSP48E2. A
// tile of at most LutBits bits on one side is a sum of AND gates. Tiles on one diagonal do not overlap and form one
// row.
//
// Stages: 1 tiles, 2 sums of two rows, 3 sum of all.

module rf_mul_tiled #(
  parameter int unsigned WA = 54,
  parameter int unsigned WB = 54,
  parameter int unsigned Lo = 0,
  parameter int unsigned Hi = WA + WB,
  parameter int unsigned Lanes = 1,
  parameter int unsigned TileA = 26,
  parameter int unsigned TileB = 17,
  parameter int unsigned LutBits = 3,
  parameter bit          FromTop = 1'b0,
  parameter bit          Subtract = 1'b0
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [WA-1:0]    a_i [Lanes],
  input  logic [WB-1:0]    b_i [Lanes],
  input  logic [Hi-Lo-1:0] c_i [Lanes],
  output logic [Hi-Lo-1:0] p_o [Lanes]
);
  localparam int unsigned NA = (WA + TileA - 1) / TileA;
  localparam int unsigned NB = (WB + TileB - 1) / TileB;
  localparam int unsigned Rows = NA + NB - 1;
  localparam int unsigned Pairs = (Rows + 1) / 2;
  localparam int unsigned Span = Hi - Lo;
  localparam int unsigned Wide = WA + WB > TileA + TileB ? WA + WB : TileA + TileB;

  if (WA < 1 || WB < 1 || Lanes < 1 || TileA < 1 || TileB < 1 || Hi <= Lo) begin : g_check
    $error("rf_mul_tiled: widths, tiles and Lanes must be at least 1, Hi above Lo");
  end

  // First bit and end of the i-th slice of a word.
  function automatic int unsigned first(int unsigned i, int unsigned width, int unsigned tile);
    if (!FromTop) return i * tile;
    return (i + 1) * tile < width ? width - (i + 1) * tile : 0;
  endfunction

  function automatic int unsigned last(int unsigned i, int unsigned width, int unsigned tile);
    if (FromTop) return width - i * tile;
    return (i + 1) * tile < width ? (i + 1) * tile : width;
  endfunction

  function automatic int unsigned place(int unsigned i, int unsigned j);
    return first(i, WA, TileA) + first(j, WB, TileB);
  endfunction

  function automatic bit used(int unsigned i, int unsigned j);
    return place(i, j) < Hi && last(i, WA, TileA) + last(j, WB, TileB) > Lo;
  endfunction

  // A tile at its place within bits Lo to Hi-1.
  function automatic logic [Span-1:0] placed(logic [TileA+TileB-1:0] product, int unsigned at);
    return Span'((Wide'(product) << at) >> Lo);
  endfunction

  logic [TileA+TileB-1:0] tiles_q [NA][NB][Lanes];
  logic [Span-1:0]        pairs_q [Pairs][Lanes];

  for (genvar i = 0; i < int'(NA); i++) begin : g_a
    for (genvar j = 0; j < int'(NB); j++) begin : g_b
      localparam int unsigned FirstA = first(i, WA, TileA);
      localparam int unsigned FirstB = first(j, WB, TileB);
      localparam int unsigned SizeA = last(i, WA, TileA) - FirstA;
      localparam int unsigned SizeB = last(j, WB, TileB) - FirstB;

      if (!used(i, j)) begin : g_none
        for (genvar l = 0; l < int'(Lanes); l++) begin : g_lane
          assign tiles_q[i][j][l] = '0;
        end
      end else if (SizeA <= LutBits || SizeB <= LutBits) begin : g_lut
        localparam int unsigned Short = SizeA < SizeB ? SizeA : SizeB;
        localparam int unsigned Long = SizeA < SizeB ? SizeB : SizeA;

        // Partial products of the short side's bits.
        function automatic logic [TileA+TileB-1:0] multiply(logic [SizeA-1:0] a, logic [SizeB-1:0] b);
          logic [Short-1:0] bits = SizeA < SizeB ? Short'(a) : Short'(b);
          logic [Long-1:0] number = SizeA < SizeB ? Long'(b) : Long'(a);
          logic [TileA+TileB-1:0] sum = '0;
          for (int k = 0; k < int'(Short); k++) begin
            sum = sum + (bits[k] ? (TileA+TileB)'(number) << k : '0);
          end
          return sum;
        endfunction

        always_ff @(posedge clk_i) begin
          if (en_i) begin
            /* verilator unroll_disable */
            for (int unsigned l = 0; l < Lanes; l++) begin
              tiles_q[i][j][l] <= multiply(a_i[l][FirstA+:SizeA], b_i[l][FirstB+:SizeB]);
            end
          end
        end
      end else begin : g_dsp
        always_ff @(posedge clk_i) begin
          if (en_i) begin
            /* verilator unroll_disable */
            for (int unsigned l = 0; l < Lanes; l++) begin
              tiles_q[i][j][l] <= (TileA+TileB)'(a_i[l][FirstA+:SizeA]) * (TileA+TileB)'(b_i[l][FirstB+:SizeB]);
            end
          end
        end
      end
    end
  end

  for (genvar k = 0; k < int'(Pairs); k++) begin : g_pair
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        /* verilator unroll_disable */
        for (int unsigned l = 0; l < Lanes; l++) begin
          automatic logic [Span-1:0] row0 = '0;
          automatic logic [Span-1:0] row1 = '0;
          for (int i = 0; i < int'(NA); i++) begin
            for (int j = 0; j < int'(NB); j++) begin
              if (used(i, j) && j - i + int'(NA) - 1 == 2 * k) row0 = row0 | placed(tiles_q[i][j][l], place(i, j));
              if (used(i, j) && j - i + int'(NA) - 1 == 2 * k + 1) row1 = row1 | placed(tiles_q[i][j][l], place(i, j));
            end
          end
          pairs_q[k][l] <= row0 + row1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      /* verilator unroll_disable */
      for (int unsigned l = 0; l < Lanes; l++) begin
        automatic logic [Span-1:0] sum = '0;
        for (int k = 0; k < int'(Pairs); k++) sum = sum + pairs_q[k][l];
        p_o[l] <= Subtract ? c_i[l] - sum : c_i[l] + sum;
      end
    end
  end
endmodule
