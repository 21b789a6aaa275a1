// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Clocks a self-checking bench: a top with an input clk_i and an output done_o. The bench reports a failure by $fatal,
// which ends the program with an error; so does a bench that takes longer than the limit.

#include "Vtop.h"
#include "verilated.h"

int main(int argc, char** argv) {
  VerilatedContext context;
  context.commandArgs(argc, argv);
  Vtop top(&context);
  for (long clock = 0; clock < 10'000'000 && !context.gotFinish(); ++clock) {
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    if (top.done_o) return 0;
  }
  return 1;
}
