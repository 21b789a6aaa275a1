// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Whether the machine can do what an instruction says: the error code, ErrorNone if it can. Combinational.
//
// Ranges      as README.md: ErrorOperation for an operation that the engine does not have; ErrorPlace for a buffer, slot
//             or port that there is not, and for operands that do not go together; ErrorRows for a table of no rows or of
//             more than N / 16. The first of these that holds, in this order.

module aes_check
  import aes_pkg::*;
#(
    parameter int unsigned Engine = EngineFast,
    parameter int unsigned Ports = 2
) (
    input  logic [4:0] log_n_i,
    /* verilator lint_off UNUSEDSIGNAL */  // addresses are not checked: programs are trusted as the host is
    input  instr_t     instr_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [7:0] error_o
);
  localparam bit Paper = Engine == EnginePaper;

  logic             known, dst, src, src2, slot, port, place, rows;
  logic [RowsW-1:0] most;

  always_comb begin
    dst = 32'(instr_i.dst) < Buffers;
    src = 32'(instr_i.src) < Buffers;
    slot = 32'(instr_i.src) < Slots;
    src2 = 32'(instr_i.src2) < (instr_i.key ? Keys : Buffers);
    port = 32'(instr_i.port) < Ports;
    most = RowsW'(1) << (log_n_i - 5'd4);

    known = 1'b1;
    place = 1'b1;
    rows = 1'b1;
    case (instr_i.op)
      OpLoadS: place = port && 32'(instr_i.dst) < Slots;
      OpLoadX: place = port && dst;
      OpLoadK: place = port && 32'(instr_i.dst) < Keys;
      OpLoadT: begin
        place = port;
        rows = instr_i.rows != '0 && instr_i.rows <= most;
      end
      OpLoadC: place = port;
      OpRevS: begin
        known = Paper;
        place = dst && slot;
      end
      OpRevX: begin
        known = Paper;
        place = dst && src && instr_i.dst != instr_i.src;
      end
      OpNtt: place = dst && (instr_i.half && !instr_i.inverse ? slot : src) &&
          (!Paper || (instr_i.src == instr_i.dst && !instr_i.half));
      OpMul: place = dst && src && src2 &&
          (instr_i.init || (instr_i.dst != instr_i.src && (instr_i.key || instr_i.dst != instr_i.src2)));
      OpScale: place = dst && src;
      OpStore: place = port && src;
      default: known = 1'b0;
    endcase

    error_o = ErrorNone;
    if (!rows) error_o = ErrorRows;
    if (!place) error_o = ErrorPlace;
    if (!known) error_o = ErrorOperation;
  end
endmodule
