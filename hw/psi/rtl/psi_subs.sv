// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The map X -> X^element on the last stage of an inverse transform, four words a cycle: word i goes to place
// i * element mod N, negated where i * element mod 2N is N or more.
//
// Latency 1, throughput four words per cycle.
//
// Input is the c-th group of the last stage: words i = 2c and i + 1, then i + N/2 and i + 1 + N/2; groups come in
// order, c = 0 with first_i. Since the element is odd, the image of i is even and that of i + 1 odd, and images of i
// and i + N/2 differ by N/2. So a row of the even bank holds the words 2r and 2r + N/2, a row of the odd bank the words
// 2r + 1 and 2r + 1 + N/2, and a group is one row of each. Those four words of one row r are what the first stage of
// the forward transform reads in its r-th cycle.
//
// Ranges: x_i < q_i; element_i < 2N, odd. N = 2^LogN if long_i, else half of it.

module psi_subs #(
  parameter int unsigned W = 54,
  parameter int unsigned LogN = 11
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            long_i,
  input  logic [W-1:0]    q_i,
  input  logic [LogN:1]   element_i,   // without its lowest bit
  input  logic            valid_i,
  input  logic            first_i,
  input  logic [W-1:0]    x_i [4],
  output logic            we_o,
  output logic [LogN-3:0] row_o [2],   // of the even and of the odd bank
  output logic [W-1:0]    even_o [2],
  output logic [W-1:0]    odd_o [2]
);
  if (LogN < 4) begin : g_check
    $error("psi_subs: LogN must be at least 4");
  end

  logic [LogN:0] element;
  logic [LogN:0] next_q;     // i * element, modulo 2^(LogN + 1), of the group to come
  logic [LogN:0] place [4];  // i * element modulo 2N, of the four words
  logic [W-1:0]  value [4];
  logic          high [4];

  assign element = {element_i, 1'b1};

  always_comb begin
    place[0] = first_i ? '0 : next_q;
    place[1] = place[0] + element;
    place[2] = place[0] + (long_i ? element << (LogN - 1) : element << (LogN - 2));
    place[3] = place[1] + (long_i ? element << (LogN - 1) : element << (LogN - 2));
    for (int unsigned w = 0; w < 4; w++) begin
      automatic logic negative = long_i ? place[w][LogN] : place[w][LogN-1];
      high[w] = long_i ? place[w][LogN-1] : place[w][LogN-2];
      value[w] = negative && x_i[w] != '0 ? q_i - x_i[w] : x_i[w];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) we_o <= 1'b0;
    else we_o <= valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      next_q <= place[0] + (element << 1);
      for (int unsigned b = 0; b < 2; b++) row_o[b] <= long_i ? place[b][LogN-2:1] : {1'b0, place[b][LogN-3:1]};
      for (int unsigned h = 0; h < 2; h++) begin
        // Of words w and w + 2 the one whose image lies in the upper half of the polynomial goes second.
        even_o[h] <= high[0] == 1'(h) ? value[0] : value[2];
        odd_o[h] <= high[1] == 1'(h) ? value[1] : value[3];
      end
    end
  end
endmodule
