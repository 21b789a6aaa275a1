// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Constants that the modules of the published engine share.

package aes_pass_pkg;
  /* verilator lint_off UNUSEDPARAM */  // no module uses all of them
  localparam logic [1:0] PassAdd = 2'd0;
  localparam logic [1:0] PassTwist = 2'd1;
  localparam logic [1:0] PassWords = 2'd2;

  // Cycles from a step to its write.
  localparam int unsigned AddLatency = 8;
  localparam int unsigned MulLatency = 28;

  // With fewer rows than 2^LogMany a pass waits for all writes of the one before.
  localparam int unsigned LogMany = 5;
  /* verilator lint_on UNUSEDPARAM */
endpackage
