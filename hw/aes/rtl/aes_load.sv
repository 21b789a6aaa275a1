// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LOAD unit: polynomials, digits, keys, tables and constants from memory, over a channel (aes_fill) for each port.
//
// Function    A command goes to its port's channel; channels work side by side, and a channel in order. done_o comes once
//             for each command in the order in which they were taken, when it and all before it have been written. Where
//             both channels write X, or S, or K, or tables, port 0 goes first.
// Latency     memory's, and 2 cycles from a row to its write; done_o 2 cycles after the last write was offered
// Throughput  a row a cycle and port
// Ranges      cmd_i is taken in the cycle with cmd_valid_i and cmd_ready_o; cmd_i.port < Ports

module aes_load
  import aes_pkg::*;
#(
    parameter int unsigned Ports = 2,
    parameter int unsigned MaxLogN = 16,
    localparam int unsigned RowW = MaxLogN - $clog2(NarrowWords),
    localparam int unsigned CountW = RowW + 1
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [4:0]                    log_n_i,
    input  logic                          cmd_valid_i,
    output logic                          cmd_ready_o,
    input  instr_t                        cmd_i,
    output logic                          done_o,
    output logic                          busy_o,

    output logic [Ports-1:0]              rd_valid_o,
    input  logic [Ports-1:0]              rd_ready_i,
    output logic [Ports-1:0][AddrW-1:0]   rd_addr_o,
    output logic [Ports-1:0][CountW-1:0]  rd_rows_o,
    input  logic [Ports-1:0]              row_valid_i,
    output logic [Ports-1:0]              row_ready_o,
    input  logic [Ports-1:0][NarrowW-1:0] row_i,

    output logic                          s_we_o,
    output logic [1:0]                    s_slot_o,
    output logic [RowW-2:0]               s_row_o,
    output logic [WordW-1:0]              s_wdata_o [NarrowWords],
    output logic                          x_we_o,
    output logic [1:0]                    x_buf_o,
    output logic [RowW-1:0]               x_row_o,
    output logic [WordW-1:0]              x_wdata_o [NarrowWords],
    output logic                          k_we_o,
    output logic                          k_slot_o,
    output logic [RowW-1:0]               k_row_o,
    output logic [WordW-1:0]              k_wdata_o [NarrowWords],
    output logic                          t_we_o,
    output logic                          c_we_o,
    output logic                          t_set_o,
    output logic                          t_inverse_o,
    output logic [RowW-2:0]               t_index_o,
    output logic [WordW-1:0]              t_wdata_o [NarrowWords]
);
  localparam int unsigned Ahead = 2;                   // commands of a channel
  localparam int unsigned Most = 8;                    // of all, that are not done
  localparam int unsigned DoneW = $clog2(Most + 1);
  localparam int unsigned PortW = Ports > 1 ? $clog2(Ports) : 1;
  localparam int unsigned Targets = 4;
  localparam int unsigned TargetS = 0, TargetX = 1, TargetK = 2, TargetT = 3;

  // ---- Channels ------------------------------------------------------------------------------------
  logic [Ports-1:0]        cmd_ready, done, write_valid, write_ready;
  logic [PortW-1:0]        port;
  logic                    order_ready, take;
  /* verilator lint_off UNUSEDSIGNAL */  // an instruction has fields of all units
  instr_t                  write_of [Ports];
  /* verilator lint_on UNUSEDSIGNAL */
  logic [RowW-1:0]         write_row [Ports];
  logic [WordW-1:0]        write_data [Ports][NarrowWords];
  logic [Targets-1:0]      target [Ports];

  assign port = PortW'(cmd_i.port);
  assign cmd_ready_o = order_ready && cmd_ready[port];
  assign take = cmd_valid_i && cmd_ready_o;

  for (genvar p = 0; p < Ports; p++) begin : g_port
    aes_fill #(
        .MaxLogN(MaxLogN), .Ahead(Ahead)
    ) u_fill (
        .clk_i, .rst_ni, .log_n_i, .cmd_valid_i(take && port == PortW'(p)), .cmd_ready_o(cmd_ready[p]), .cmd_i,
        .done_o(done[p]), .rd_valid_o(rd_valid_o[p]), .rd_ready_i(rd_ready_i[p]), .rd_addr_o(rd_addr_o[p]),
        .rd_rows_o(rd_rows_o[p]), .row_valid_i(row_valid_i[p]), .row_ready_o(row_ready_o[p]), .row_i(row_i[p]),
        .write_valid_o(write_valid[p]), .write_ready_i(write_ready[p]), .write_of_o(write_of[p]),
        .write_row_o(write_row[p]), .write_data_o(write_data[p])
    );

    always_comb begin
      target[p] = '0;
      if (write_valid[p])
        case (write_of[p].op)
          OpLoadS: target[p][TargetS] = 1'b1;
          OpLoadX: target[p][TargetX] = 1'b1;
          OpLoadK: target[p][TargetK] = 1'b1;
          default: target[p][TargetT] = 1'b1;
        endcase
    end

    if (p == 0) begin : g_first
      assign write_ready[p] = 1'b1;
    end else begin : g_second
      assign write_ready[p] = (target[p] & target[0]) == '0;
    end
  end

  // ---- Writes --------------------------------------------------------------------------------------
  // Which channel writes a target: the last one, if the first does not.
  logic [PortW-1:0]   who    [Targets];
  logic [Targets-1:0] writes;

  always_comb
    for (int unsigned t = 0; t < Targets; t++) begin
      who[t] = target[0][t] ? '0 : PortW'(Ports - 1);
      writes[t] = target[0][t] || target[Ports-1][t];
    end

  always_ff @(posedge clk_i) begin
    s_we_o <= rst_ni && writes[TargetS];
    x_we_o <= rst_ni && writes[TargetX];
    k_we_o <= rst_ni && writes[TargetK];
    t_we_o <= rst_ni && writes[TargetT] && write_of[who[TargetT]].op == OpLoadT;
    c_we_o <= rst_ni && writes[TargetT] && write_of[who[TargetT]].op == OpLoadC;
    s_slot_o <= write_of[who[TargetS]].dst[1:0];
    s_row_o <= write_row[who[TargetS]][RowW-2:0];
    s_wdata_o <= write_data[who[TargetS]];
    x_buf_o <= write_of[who[TargetX]].dst[1:0];
    x_row_o <= write_row[who[TargetX]];
    x_wdata_o <= write_data[who[TargetX]];
    k_slot_o <= write_of[who[TargetK]].dst[0];
    k_row_o <= write_row[who[TargetK]];
    k_wdata_o <= write_data[who[TargetK]];
    t_set_o <= write_of[who[TargetT]].set;
    t_inverse_o <= write_of[who[TargetT]].inverse;
    t_index_o <= write_row[who[TargetT]][RowW-2:0];
    t_wdata_o <= write_data[who[TargetT]];
  end

  // ---- Completion in order -------------------------------------------------------------------------
  logic [DoneW-1:0] open_q [Ports];    // completed, and not told yet
  logic [PortW-1:0] first;
  logic             waiting;

  /* verilator lint_off PINCONNECTEMPTY */
  rf_fifo #(
      .Width(PortW),
      .Depth(Most)
  ) u_order (
      .clk_i,
      .rst_ni,
      .valid_i(take),
      .ready_o(order_ready),
      .data_i(port),
      .valid_o(waiting),
      .ready_i(done_o),
      .data_o(first),
      .count_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign done_o = waiting && open_q[first] != '0;
  assign busy_o = waiting;

  always_ff @(posedge clk_i)
    for (int unsigned p = 0; p < Ports; p++)
      if (!rst_ni) open_q[p] <= '0;
      else open_q[p] <= open_q[p] + DoneW'(done[p]) - DoneW'(done_o && first == PortW'(p));
endmodule
