// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Whether the machine can do what an instruction says: the error code, ErrorNone if it can. Combinational.
//
// Ranges      as README.md: ErrorOperation for an unknown operation; ErrorPlace for a buffer, table, bank, entry, way or
//             row that there is not, or none, or a result over an operand that is still read; ErrorOperand for a count
//             of 0 or beyond a table, an even element or one above 2N. The first of these that holds, in this order.

module omr_check
  import omr_pkg::*;
#(
    parameter int unsigned Ways = 1,
    parameter int unsigned Rows = 1,
    parameter int unsigned Buffers = 6,
    parameter int unsigned Banks = 39,
    parameter int unsigned LogW = 5
) (
    input  logic [LogW-1:0] log_n_i,
    /* verilator lint_off UNUSEDSIGNAL */  // addresses are not checked: programs are trusted as the host is
    input  instr_t          instr_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [7:0]      error_o
);
  logic        ways, dst, next, src, bank, entry, part, constant, constants;
  logic        place, operand;
  logic [16:0] last_k;      // the constant behind the last
  logic [16:0] last_entry;
  logic [16:0] last_bank;
  logic [2:0]  top_way;     // the highest active one

  always_comb begin
    top_way = '0;
    for (int unsigned v = 0; v < 4; v++) if (instr_i.ways[v]) top_way = 3'(v);

    ways = instr_i.ways != '0 && 32'(top_way) < Ways;
    dst = 32'(instr_i.dst) < Buffers;
    next = 32'(instr_i.dst) + 1 < Buffers;
    src = 32'(instr_i.src) < Buffers;
    bank = instr_i.bank < 8'(Accumulators);
    part = instr_i.part < 4'd2;
    entry = 32'(instr_i.mod) < Moduli;
    constant = 32'(instr_i.k) < Constants;
    last_k = {1'b0, instr_i.k} + {1'b0, instr_i.count};
    last_entry = 17'(instr_i.mod) + {1'b0, instr_i.count};
    last_bank = 17'(instr_i.bank) + {1'b0, instr_i.count};
    constants = instr_i.count != '0 && 32'(last_k) <= Constants;

    place = 1'b1;
    operand = 1'b1;
    case (instr_i.op)
      OpLoadX: place = ways && dst;
      OpLoadT: place = ways && instr_i.dst < 8'(Twiddles);
      OpLoadC: begin
        place = 32'(instr_i.src) < Ways;
        operand = constants;
      end
      OpLoadM: begin
        place = 32'(instr_i.src) < Ways;
        operand = instr_i.count != '0 && 32'(last_entry) <= Moduli;
      end
      OpNtt, OpIntt: place = ways && dst && src && entry && instr_i.bank < 8'(Twiddles);
      OpAuto: begin
        place = ways && dst && src && instr_i.dst != instr_i.src;
        operand = instr_i.element[0] && (32'(instr_i.element) >> log_n_i) < 32'd2;
      end
      OpScale: begin
        place = ways && src && entry && instr_i.dst < 8'(Quotients) && 32'(instr_i.bank) + 32'(top_way) < Banks;
        operand = 32'(instr_i.k) + 1 < Constants;
      end
      OpConv: begin
        place = ways && dst && entry && instr_i.src < 8'(Quotients) && 32'(last_bank) <= Banks;
        operand = instr_i.count != '0 && 32'(last_k) < Constants;
      end
      OpKmac:
        // To X, part 0 goes where part 1 would still read an operand that is there.
        place = ways && entry && bank && part && (src || instr_i.from_memory)
              && (!instr_i.to_x || (next && (instr_i.from_memory || instr_i.dst != instr_i.src)));
      OpFinal: begin
        place = ways && dst && src && entry && bank && part;
        operand = constant;
      end
      OpStore: place = ways && src && (entry || !instr_i.add);
      OpSum: begin
        place = entry && instr_i.src != '0 && 32'(instr_i.src) <= Rows;
        operand = instr_i.count != '0;
      end
      default: ;
    endcase

    error_o = ErrorNone;
    if (!operand) error_o = ErrorOperand;
    if (!place) error_o = ErrorPlace;
    if (instr_i.op == OpNone || instr_i.op > OpSum) error_o = ErrorOperation;
  end
endmodule
