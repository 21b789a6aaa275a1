// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Properties of aes_fill, beside a list of its commands with the rows that each asks for and writes. Surroundings: N is
// 64 and stays; tables have rows, and not more than N / 16; rows that nobody has asked for do not come.

module aes_fill_formal
  import aes_pkg::*;
#(
  parameter int unsigned MaxLogN = 6,
  parameter int unsigned Ahead = 2,
  localparam int unsigned RowW = MaxLogN - 3,
  localparam int unsigned CountW = RowW + 1,
  localparam int unsigned SizeW = $clog2(Ahead + 1),
  localparam int unsigned PtrW = $clog2(Ahead),
  localparam int unsigned ItemW = $bits(instr_t) + CountW
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [4:0]         log_n_i,
  input logic               cmd_valid_i,
  input logic               cmd_ready_o,
  input instr_t             cmd_i,
  input logic               done_o,
  input logic               rd_valid_o,
  input logic               rd_ready_i,
  input logic [AddrW-1:0]   rd_addr_o,
  input logic [CountW-1:0]  rd_rows_o,
  input logic               row_valid_i,
  input logic               row_ready_o,
  input logic               write_valid_o,
  input logic               write_ready_i,
  input instr_t             write_of_o,
  input logic [RowW-1:0]    write_row_o,
  // inside, for induction
  input logic               ask_q,
  input logic [AddrW-1:0]   addr_q,
  input logic [CountW-1:0]  rows_q,
  input logic [CountW-1:0]  at_q,
  input logic [SizeW-1:0]   fifo_count,
  input logic [PtrW-1:0]    fifo_rptr,
  input logic [PtrW-1:0]    fifo_wptr,
  input logic [ItemW-1:0]   fifo_mem [Ahead]
);
  logic started_q = 1'b0;
  logic checked, take, asked, popped, written;

  assign take = cmd_valid_i && cmd_ready_o;
  assign asked = rd_valid_o && rd_ready_i;
  assign popped = row_valid_i && row_ready_o;
  assign written = write_valid_o && write_ready_i;
  assign checked = started_q && rst_ni;

  // ---- Commands, oldest first: what they write and ask for ------------------------------------------------
  logic [CountW-1:0] rows, beats;
  logic [CountW-1:0] rows_l_q [Ahead];
  logic [Ahead-1:0]  digits_q;
  logic [3:0]        op_q [Ahead];
  logic [SizeW-1:0]  size_q;
  logic [CountW-1:0] at_l_q;          // rows written of the oldest
  logic              open_q;          // the last command has not asked
  logic [AddrW-1:0]  open_addr_q;
  logic [CountW-1:0] open_rows_q;
  logic [7:0]        owed_q;          // rows asked for and not taken

  always_comb begin
    rows = CountW'(8);
    if (cmd_i.op == OpLoadS) rows = CountW'(4);
    if (cmd_i.op == OpLoadC) rows = CountW'(1);
    if (cmd_i.op == OpLoadT) rows = cmd_i.rows[CountW-1:0];
    beats = cmd_i.op == OpLoadS && cmd_i.half ? CountW'(2) : rows;
  end

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    assume (started_q || !rst_ni);
    assume (log_n_i == 5'd6);
    assume (!cmd_valid_i || (cmd_i.op >= OpLoadS && cmd_i.op <= OpLoadC));
    assume (!cmd_valid_i || cmd_i.op != OpLoadT || (cmd_i.rows >= 32'd1 && cmd_i.rows <= 32'd4));
    assume (!row_valid_i || owed_q != '0);
    for (int unsigned i = 0; i < Ahead; i++) begin
      if (done_o && i + 1 < Ahead) begin
        rows_l_q[i] <= rows_l_q[i+1];
        digits_q[i] <= digits_q[i+1];
        op_q[i] <= op_q[i+1];
      end
      if (take && i == 32'(size_q) - 32'(done_o)) begin
        rows_l_q[i] <= rows;
        digits_q[i] <= cmd_i.op == OpLoadS && cmd_i.half;
        op_q[i] <= cmd_i.op;
      end
    end
    if (!rst_ni) begin
      size_q <= '0;
      at_l_q <= '0;
      open_q <= 1'b0;
      owed_q <= '0;
    end else begin
      size_q <= size_q + SizeW'(take) - SizeW'(done_o);
      at_l_q <= done_o ? '0 : at_l_q + CountW'(written);
      open_q <= take || (open_q && !asked);
      owed_q <= owed_q + (asked ? 8'(rd_rows_o) : '0) - 8'(popped);
    end
    if (take) begin
      open_addr_q <= cmd_i.addr;
      open_rows_q <= beats;
    end
  end

  logic stored;
  logic [7:0] due;    // rows that the commands still have to take
  always_comb begin
    stored = fifo_count == size_q && fifo_wptr == fifo_rptr + PtrW'(fifo_count) && 32'(size_q) <= Ahead;
    due = '0;
    for (int unsigned i = 0; i < Ahead; i++)
      if (i < 32'(size_q)) begin
        automatic logic [ItemW-1:0] held = fifo_mem[fifo_rptr + PtrW'(i)];
        automatic instr_t instr = instr_t'(held[ItemW-1:CountW]);
        stored &= held[CountW-1:0] == rows_l_q[i] && instr.op == op_q[i]
            && digits_q[i] == (instr.op == OpLoadS && instr.half) && rows_l_q[i] != '0 && rows_l_q[i] <= CountW'(8)
            && (!digits_q[i] || rows_l_q[i] == CountW'(4));
        due = due + (digits_q[i] ? 8'(rows_l_q[i] >> 1) : 8'(rows_l_q[i]));
        if (i == 0) due = due - (digits_q[0] ? 8'(at_l_q >> 1) : 8'(at_l_q));
      end
  end

  always_ff @(posedge clk_i) begin
    if (checked) begin
      // a row is written for the oldest command, rows in their order, and none beyond its last
      p_rows: assert (!write_valid_o || (size_q != '0 && CountW'(write_row_o) == at_l_q && at_l_q < rows_l_q[0]
          && write_of_o.op == op_q[0]));
      // a command is done with its last row
      p_done: assert (done_o == (written && at_l_q + 1'b1 == rows_l_q[0]));
      // each asks once, for its own rows
      p_asks: assert (rd_valid_o == open_q && (!open_q || (rd_addr_o == open_addr_q && rd_rows_o == open_rows_q)));
      // a row is taken when all of it is written
      p_takes: assert (!popped || (written && (!digits_q[0] || at_l_q[0])));
      // rows that commands ask for are those that they take: none is left over for the next one
      p_count: assert (owed_q + (open_q ? 8'(open_rows_q) : '0) == due);
      // its counters say so
      p_counted: assert (ask_q == open_q && (!open_q || (addr_q == open_addr_q && rows_q == open_rows_q))
          && at_q == at_l_q && (size_q != '0 ? at_l_q < rows_l_q[0] : at_l_q == '0));
      // commands stand in the FIFO
      p_stored: assert (stored);
    end
  end
endmodule

bind aes_fill aes_fill_formal #(.MaxLogN(MaxLogN), .Ahead(Ahead)) u_formal (
  .fifo_count(u_commands.count_q), .fifo_rptr(u_commands.rptr_q), .fifo_wptr(u_commands.wptr_q),
  .fifo_mem(u_commands.mem), .*
);
