// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Pi for angles of transforms. libc++ rounds std::numbers::pi_v<long double> to a double, and encodings would depend on
// the C++ library.
#pragma once

namespace ringforge {

inline constexpr long double kPi = 3.14159265358979323846264338327950288L;

}  // namespace ringforge
