// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Changes the width of a valid/ready stream: items of InW bits are laid end to end, lowest bits first, and cut into
// items of OutW bits. Any widths, in any ratio. See rf_pack and rf_unpack, which say what the items are.
//
// A stream ends with what remains of its bits: less than an item of the output, or bits that the reader knows to be
// filling.
//   Pad = 0   end_i, given while an item is shown, says that it is the last of its stream: what lies behind it is
//             dropped when it is taken, and the next item that comes in begins a new stream. last_i has no effect.
//   Pad = 1   last_i marks the last item that goes in: what remains is filled up with zeros, and last_o marks the item
//             that it makes. end_i has no effect.
//
// Latency     1 cycle from the item that completes one of the output to that one
// Throughput  one item per cycle of the narrower side, as long as the other one does not wait
// Ranges      InW, OutW at least 1. ready_o follows ready_i and end_i in the same cycle (rf_skid cuts that path)
//
// Widths are counted in units of their greatest common divisor: A units come in, B go out. The buffer's first B units
// are the output. An item goes to the place behind what remains, so it is turned by that place modulo A (multiplexers
// over InW bits, as many stages as the smaller of A and B has bits), and each unit of the buffer has one unit of the
// turned item to choose.

module rf_gearbox #(
  parameter int unsigned InW = 64,
  parameter int unsigned OutW = 96,
  parameter bit          Pad = 1'b0
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            valid_i,
  output logic            ready_o,
  input  logic [InW-1:0]  data_i,
  input  logic            last_i,
  output logic            valid_o,
  input  logic            ready_i,
  input  logic            end_i,
  output logic [OutW-1:0] data_o,
  output logic            last_o
);
  if (InW < 1 || OutW < 1) begin : g_width
    $error("rf_gearbox: InW and OutW must be at least 1");
  end

  function automatic int unsigned gcd(int unsigned x, int unsigned y);
    int unsigned a = x;
    int unsigned b = y;
    while (b != 0) begin
      int unsigned r;
      r = a % b;
      a = b;
      b = r;
    end
    return a;
  endfunction

  localparam int unsigned Unit = gcd(InW, OutW);
  localparam int unsigned A = InW / Unit;
  localparam int unsigned B = OutW / Unit;
  localparam int unsigned Size = A + B - 1;
  localparam int unsigned FillW = $clog2(Size + B + 1);
  localparam int unsigned TurnW = A > 1 ? $clog2(A) : 1;

  // What decides where a unit goes is in registers, so that little lies before the multiplexers: synthesis for speed
  // would copy it into each of them.
  logic [Unit-1:0]  buffer_q [Size];
  logic [FillW-1:0] fill_q;    // units in the buffer
  logic [TurnW-1:0] turn_q;    // the same modulo A
  logic             whole_q;   // an item in the buffer, complete
  logic             least_q;   // not more than that
  logic [FillW-1:0] rest_q;    // units behind that item
  logic [TurnW-1:0] back_q;    // the same modulo A
  logic             ending_q;  // the stream's last item is in the buffer (Pad)
  logic             load, take;
  logic             fits;
  logic [FillW-1:0] place;     // where an item goes that is loaded now
  logic [TurnW-1:0] turn;
  logic [FillW-1:0] next_fill;
  logic [InW-1:0]   turned;

  assign valid_o = whole_q || (Pad && ending_q);
  assign last_o = Pad ? ending_q && least_q : whole_q && end_i;
  assign take = valid_o && ready_i;

  // An item is loaded only if none waits in the buffer after this cycle, so if one is shown now, it is being taken.
  assign place = last_o ? '0 : whole_q ? rest_q : fill_q;
  assign turn = last_o ? '0 : whole_q ? back_q : turn_q;
  assign fits = place < FillW'(B) && (!ending_q || last_o);
  assign ready_o = (!valid_o || ready_i) && fits;
  assign load = valid_i && ready_o;
  assign next_fill = load ? place + FillW'(A) : place;

  always_comb begin
    turned = data_i;
    for (int unsigned i = 0; (1 << i) < A && (1 << i) < B; i++) begin
      if (turn[i]) turned = (turned << (Unit << i)) | (turned >> (InW - (Unit << i)));
    end
  end

  function automatic logic [TurnW-1:0] behind(logic [TurnW-1:0] units);
    logic [TurnW:0] sum = {1'b0, units} + (TurnW+1)'(A - B % A);
    return TurnW'(sum >= (TurnW+1)'(A) ? sum - (TurnW+1)'(A) : sum);
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      turn_q <= '0;
      rest_q <= '0;
      back_q <= '0;
      whole_q <= 1'b0;
      least_q <= 1'b1;
      ending_q <= 1'b0;
    end else if (load || take) begin
      fill_q <= next_fill;
      turn_q <= turn;
      rest_q <= next_fill - FillW'(B);
      back_q <= behind(turn);
      whole_q <= next_fill >= FillW'(B);
      least_q <= next_fill <= FillW'(B);
      if (load || last_o) ending_q <= Pad && load && last_i;
    end
  end

  // An item that is loaded goes to a place below B. With Pad, all units behind the last one are zero.
  for (genvar u = 0; u < int'(Size); u++) begin : g_unit
    logic            kept;   // of what remains when an item is loaded
    logic            clear;
    logic [Unit-1:0] next;

    assign kept = u + 1 < int'(B) && FillW'(u) < place;
    assign clear = Pad && (load ? !kept && u >= int'(A) && FillW'(u) >= place + FillW'(A) : u + int'(B) >= int'(Size));

    if (u + int'(B) < int'(Size)) begin : g_moved
      logic enters;
      assign enters = valid_i && fits && !kept;
      assign next = enters ? turned[(u%int'(A))*Unit+:Unit] : buffer_q[u+int'(B)];
    end else begin : g_last
      assign next = turned[(u%int'(A))*Unit+:Unit];
    end

    always_ff @(posedge clk_i) begin
      if (load ? !kept || whole_q : take) buffer_q[u] <= clear ? '0 : next;
    end
  end

  always_comb begin
    for (int unsigned u = 0; u < B; u++) data_o[u*Unit+:Unit] = buffer_q[u];
  end

  logic unused;
  assign unused = Pad ? end_i : last_i;
endmodule
