// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// How large a modulus may be: the published limits that parameters of every scheme are held against.
#pragma once

namespace ringforge::rlwe {

/// log2(QP) limit for 128 bits of classical security with a ternary secret, degree 2^log_n; 0 if unknown.
double max_log_qp(unsigned log_n) noexcept;
/// The publication the limits come from.
const char* security_source() noexcept;

}  // namespace ringforge::rlwe
