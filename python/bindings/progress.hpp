// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Progress callbacks from Python for calls that run without the interpreter's lock.
#pragma once

#include <functional>
#include <optional>

#include "bindings.hpp"

namespace bindings {

/// Takes the fraction done; a result of False cancels, None goes on.
using ProgressCallback = std::function<nb::object(double)>;

/// The callback under the interpreter's lock; empty when there is none. `callback` must outlive the result.
inline std::function<bool(double)> with_gil(std::optional<ProgressCallback>& callback) {
  if (!callback) return {};
  return [&callback](double done) {
    nb::gil_scoped_acquire lock;
    const nb::object more = (*callback)(done);
    return more.is_none() || nb::cast<bool>(more);
  };
}

/// The same for callbacks that cannot cancel.
inline std::function<void(double)> with_gil(const std::optional<std::function<void(double)>>& callback) {
  if (!callback) return {};
  return [&callback](double done) {
    const nb::gil_scoped_acquire lock;
    (*callback)(done);
  };
}

}  // namespace bindings
