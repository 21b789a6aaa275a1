// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The source banks D: SCALE writes one for each way, CONV reads the rows of Sources banks that follow each other.
//
// Function    source s of a read is bank rbank_i + s. Banks stand in Sources classes, b in class b mod Sources: a read
//             takes one bank of each class, and the words turn to their places. That is a multiplexer of
//             Banks / Sources words and one of Sources words for each source, not one of Banks words.
// Latency     reads rf_bank's 2 cycles; data hold until the next read arrives
// Throughput  one read of Sources rows and one write of a row for each way a cycle
// Ranges      banks below Banks where re_i, we_i are high; a read has some bit of re_i set

module omr_sources #(
    parameter int unsigned W = 60,
    parameter int unsigned Lanes = 16,
    parameter int unsigned Rows = 4096,
    parameter int unsigned Banks = 39,
    parameter int unsigned Sources = 1,
    parameter int unsigned Ways = 1,
    parameter bit Packed = 1'b1,
    localparam int unsigned AddrW = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned BankW = Banks > 1 ? $clog2(Banks) : 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [Sources-1:0] re_i,
    input  logic [BankW-1:0]   rbank_i,
    input  logic [AddrW-1:0]   raddr_i,
    output logic [W-1:0]       rdata_o [Sources][Lanes],
    input  logic [Ways-1:0]    we_i,
    input  logic [BankW-1:0]   wbank_i,      // of way 0
    input  logic [AddrW-1:0]   waddr_i,
    input  logic [W-1:0]       wdata_i [Ways][Lanes]
);
  localparam int unsigned Depth = (Banks + Sources - 1) / Sources;   // banks of a class
  localparam int unsigned PlaceW = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned ClassW = Sources > 1 ? $clog2(Sources) : 1;
  localparam int unsigned WayBits = Ways > 1 ? $clog2(Ways) : 1;

  // Class and place of the first bank, and of each class whether its bank is of the next place.
  logic [ClassW-1:0] first, first_q, turn_q;
  logic [PlaceW-1:0] place;
  logic              read_q;

  assign first = ClassW'(32'(rbank_i) % Sources);
  assign place = PlaceW'(32'(rbank_i) / Sources);

  always_ff @(posedge clk_i) begin
    read_q <= re_i != '0;
    if (re_i != '0) first_q <= first;
    if (read_q) turn_q <= first_q;
  end

  logic [W-1:0] of_class [Sources][Lanes];

  for (genvar c = 0; c < Sources; c++) begin : g_class
    logic [PlaceW-1:0] at, at_q, pick_q;
    logic [W-1:0]      rdata [Depth][Lanes];
    logic              read;
    logic [ClassW-1:0] source;

    always_comb begin
      source = ClassW'((c + Sources - 32'(first)) % Sources);
      at = 32'(first) > c ? place + 1'b1 : place;
      read = re_i[source];
    end

    always_ff @(posedge clk_i) begin
      if (re_i != '0) at_q <= at;
      if (read_q) pick_q <= at_q;
    end
    assign of_class[c] = rdata[pick_q];

    for (genvar d = 0; d < Depth; d++) begin : g_bank
      localparam int unsigned Bank = d * Sources + c;
      if (Bank < Banks) begin : g_there
        logic [Ways-1:0]    writes;
        logic [WayBits-1:0] writer;

        always_comb begin
          writer = '0;
          for (int unsigned v = 0; v < Ways; v++) begin
            writes[v] = we_i[v] && 32'(wbank_i) + v == Bank;
            if (writes[v]) writer = WayBits'(v);
          end
        end

        rf_bank #(
            .W(W), .Lanes(Lanes), .Rows(Rows), .Packed(Packed)
        ) u_bank (
            .clk_i, .re_i(read && at == PlaceW'(d)), .raddr_i(raddr_i), .rdata_o(rdata[d]),
            .we_i(writes != '0), .waddr_i(waddr_i), .wdata_i(wdata_i[writer])
        );
      end else begin : g_absent
        assign rdata[d] = '{default: '0};
      end
    end
  end

  for (genvar s = 0; s < Sources; s++) begin : g_source
    logic [ClassW-1:0] from;
    always_comb from = ClassW'(32'(turn_q) + s >= Sources ? 32'(turn_q) + s - Sources : 32'(turn_q) + s);
    assign rdata_o[s] = of_class[from];
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i)
    if (rst_ni) begin
      for (int unsigned s = 0; s < Sources; s++)
        assert (!re_i[s] || 32'(rbank_i) + s < Banks) else $error("source %0d behind bank %0d", s, rbank_i);
      for (int unsigned v = 0; v < Ways; v++)
        assert (!we_i[v] || 32'(wbank_i) + v < Banks) else $error("way %0d behind bank %0d", v, wbank_i);
    end
`endif
endmodule
