// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// psi_keys before a memory whose words tell their address: rows come in the order of the requests and as they lie in
// memory, in so many cycles each where memory always answers; as many bursts as are allowed wait for a slow memory,
// never more; what was asked for before a halt comes, and nothing else. Four parts: N = 1,024 and N = 2,048 at full
// speed, a slow memory, and stalls on both sides with short rows and halts.
module keys_bench
  import psi_pkg::*;
#(
    parameter bit Pauses = 1'b1
) (
    input  logic clk_i,
    output logic done_o
);
  localparam int unsigned W = 27, MaxLogN = 11, Parts = 4, Requests = 24;
  localparam int unsigned Latency[Parts] = '{20, 20, 2400, 9};
  localparam int unsigned LogN[Parts] = '{10, 11, 11, 7};
  localparam logic [AddrW-1:0] Base = 48'h5_0000_0000;

  function automatic logic [31:0] mixed(logic [31:0] x);
    logic [31:0] y = (x ^ 32'h9e3779b9) * 32'h85ebca6b;
    return (y ^ (y >> 13)) * 32'hc2b2ae35;
  endfunction
  function automatic logic [19:0] key_of(int unsigned part, int unsigned r);
    return 20'(mixed(32'(part * 1000 + r)) >> 7);
  endfunction
  function automatic int unsigned rows_of(int unsigned part, int unsigned r);
    return part == 3 ? 1 + mixed(32'(r)) % 9 : 6;
  endfunction
  function automatic logic [63:0] word_at(logic [AddrW-1:0] address, int unsigned l);
    return {mixed(32'(address >> 6) * 8 + 32'(l)), mixed(32'(address >> 6) + 32'(l) * 77)};
  endfunction

  // ---- The module ----------------------------------------------------------------------------------
  logic [1:0]            part_q;
  logic [31:0]           clock_q, random;
  logic                  rst_nq, halt, idle, error, req_valid, req_ready, key_valid, key_ready, pending;
  logic [W-1:0]          key[2*Coefficients];
  logic                  arvalid, arready, rvalid, rready, rlast, rid, arid, beat, waiting;
  logic [AddrW-1:0]      araddr;
  logic [7:0]            arlen;
  logic [2:0]            arsize, arprot;
  logic [1:0]            arburst;
  logic [3:0]            arcache;
  logic [PortW-1:0]      rdata;
  int unsigned           sent_q, rows_q, row_q, beat_q;  // requests made; of the request that comes: number, row, beat
  logic                  over;

  assign random = mixed(clock_q);
  psi_keys #(.W(W), .MaxLogN(MaxLogN), .Pauses(Pauses)) u_keys (
      .clk_i, .rst_ni(rst_nq), .halt_i(halt), .log_n_i(4'(LogN[part_q])), .base_i(Base[AddrW-1:KeyUnitLog]),
      .req_valid_i(req_valid), .req_ready_o(req_ready), .req_key_i(key_of(32'(part_q), sent_q)),
      .req_rows_i(5'(rows_of(32'(part_q), sent_q))), .pending_o(pending), .key_valid_o(key_valid),
      .key_ready_i(key_ready), .key_o(key), .idle_o(idle), .error_o(error), .beat_o(beat), .wait_o(waiting),
      .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(arsize), .m_axi_arburst(arburst),
      .m_axi_arcache(arcache), .m_axi_arprot(arprot), .m_axi_arvalid(arvalid), .m_axi_arready(arready),
      .m_axi_rid(rid), .m_axi_rdata(rdata), .m_axi_rresp(2'b00), .m_axi_rlast(rlast), .m_axi_rvalid(rvalid),
      .m_axi_rready(rready)
  );
  assign req_valid = rst_nq && sent_q < Requests && (part_q != 2'd3 || random[3:0] != 4'd0);
  assign key_ready = part_q != 2'd3 || random[5:4] != 2'd0;
  // Halts of some hundred cycles: what memory owes comes, then nothing.
  assign halt = part_q == 2'd3 && clock_q[9:7] == 3'd5;

  // ---- Memory: bursts in order, each so many cycles after it was asked for at least ------------------
  logic [AddrW-1:0] at_q[64];
  logic [7:0]       len_q[64];
  logic [31:0]      since_q[64];
  int unsigned      in_q, out_q, step_q, most_q, halted_q;
  logic [AddrW-1:0] here;

  assign arready = part_q != 2'd3 || random[7:6] != 2'd0;
  assign here = at_q[out_q%64] + AddrW'(step_q) * 64;
  assign rvalid = in_q != out_q && clock_q - since_q[out_q%64] >= Latency[part_q]
                  && (part_q != 2'd3 || random[9:8] != 2'd0);
  assign rlast = step_q == 32'(len_q[out_q%64]);
  assign rid = 1'b0;
  always_comb for (int unsigned l = 0; l < 8; l++) rdata[64*l+:64] = word_at(here, l);

  always_ff @(posedge clk_i) begin
    if (!rst_nq) begin
      in_q <= 0;
      out_q <= 0;
      step_q <= 0;
      halted_q <= 0;
      most_q <= part_q == 2'd0 ? 0 : most_q;
    end else begin
      halted_q <= halt ? halted_q + 1 : 0;
      if (arvalid && arready) begin
        at_q[in_q%64] <= araddr;
        len_q[in_q%64] <= arlen;
        since_q[in_q%64] <= clock_q;
        in_q <= in_q + 1;
        // A burst granted before the halt may still go out.
        if (halted_q > 64) $fatal(1, "a burst is asked for during a halt");
        if (32'(araddr[11:0]) + 64 * (32'(arlen) + 1) > 4096) $fatal(1, "a burst crosses 4 KiB");
        if (arsize != 3'd6 || arburst != 2'd1) $fatal(1, "another kind of burst");
      end
      if (in_q - out_q > 32'(KeyBursts)) $fatal(1, "%0d bursts are outstanding", in_q - out_q);
      if (in_q - out_q > most_q) most_q <= in_q - out_q;
      if (rvalid && rready) begin
        step_q <= rlast ? 0 : step_q + 1;
        if (rlast) out_q <= out_q + 1;
      end
    end
  end

  // ---- Cycles of rows at full speed: from a row's first beat to the next one's -----------------------
  int unsigned got_q, first_q, beats, wanted;

  assign beats = 32'd1 << (LogN[part_q] - 2);
  assign wanted = Pauses ? beats + beats / 64 + 1 : beats;
  always_ff @(posedge clk_i) begin
    if (!rst_nq) begin
      got_q <= 0;
      first_q <= 0;
    end else if (rvalid && rready) begin
      got_q <= got_q + 1;
      if (got_q % beats == 0) begin
        // The consumer takes a beat each cycle, so that nothing but memory and pauses counts.
        if (part_q < 2'd2 && got_q != 0 && clock_q - first_q != wanted)
          $fatal(1, "a row of 2^%0d took %0d cycles, not %0d", LogN[part_q], clock_q - first_q, wanted);
        first_q <= clock_q;
      end
    end
  end

  // ---- What comes out ------------------------------------------------------------------------------
  logic [AddrW-1:0] expected;

  assign expected = Base + {14'd0, key_of(32'(part_q), row_q), 14'd0} + AddrW'(rows_q * beats + beat_q) * 64;
  assign over = row_q == Requests;
  always_ff @(posedge clk_i) begin
    clock_q <= clock_q + 1;
    if (!rst_nq) begin
      rst_nq <= 1'b1;
      sent_q <= 0;
      row_q <= 0;
      rows_q <= 0;
      beat_q <= 0;
    end else begin
      if (error) $fatal(1, "the port reports an error");
      if (req_valid && req_ready) sent_q <= sent_q + 1;
      if (key_valid && key_ready) begin
        if (over) $fatal(1, "more comes than was asked for");
        for (int unsigned l = 0; l < 8; l++)
          if (key[l] != W'(word_at(expected, l)))
            $fatal(1, "part %0d, request %0d, row %0d, beat %0d: word %0d is %0h", part_q, row_q, rows_q, beat_q, l, key[l]);
        beat_q <= beat_q + 1 == beats ? 0 : beat_q + 1;
        if (beat_q + 1 == beats) begin
          rows_q <= rows_q + 1 == rows_of(32'(part_q), row_q) ? 0 : rows_q + 1;
          if (rows_q + 1 == rows_of(32'(part_q), row_q)) row_q <= row_q + 1;
        end
      end
      if (over && idle && !pending) begin
        if (part_q == 2'd2 && most_q != 32'(KeyBursts)) $fatal(1, "only %0d bursts were outstanding", most_q);
        part_q <= part_q + 1'b1;
        rst_nq <= 1'b0;
      end
    end
  end
  assign done_o = over && idle && !pending && part_q == 2'd3 && rst_nq;

  logic unused;
  assign unused = &{1'b0, arid, arcache, arprot, beat, waiting, random[31:10]};
endmodule
