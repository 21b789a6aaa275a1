// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Explicit multi-threading: every parallel loop names its thread count, and results never depend on it.
#pragma once

#include <cstddef>
#include <functional>

namespace ringforge {

/// Runs body(i) for all i in [0, count), on at most `threads` threads (the caller's included). Iterations
/// must be independent. A loop started inside another loop runs on its caller's thread alone. The first
/// exception thrown by a body is rethrown here once all started bodies have ended.
/// Loops of several callers run at once and share the pool's workers: a caller always works on its own loop and waits
/// for nothing but bodies of it that workers have begun. What bodies count (counters.hpp) is counted for the caller.
/// A forked child starts workers of its own. @throws Error in a child that was forked inside a body while workers ran
/// others, when the loop ends.
void parallel_for(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& body);

/// Called now and then, every tenth of a second at most, by threads that run loops of their own, between two bodies,
/// not by the pool's workers. What it throws ends the loop as what a body throws does. One for the process; null: none.
/// Interactive front ends look for signals in it, so that every long computation can be ended.
void set_interruption(void (*check)()) noexcept;

/// Number of hardware threads, at least 1.
unsigned hardware_threads() noexcept;

}  // namespace ringforge
