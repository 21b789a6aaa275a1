// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Progress callbacks from Python for calls that run without the interpreter's lock.
#pragma once

#include <functional>
#include <optional>

#include "bindings.hpp"

namespace bindings {

/// Takes the fraction done, or is not there. A result of False cancels, where the call can be cancelled.
using ProgressCallback = std::optional<std::function<nb::object(double)>>;

/// The callback under the interpreter's lock; empty when there is none. `callback` must outlive the result.
inline std::function<bool(double)> with_gil(const ProgressCallback& callback) {
  if (!callback) return {};
  return [&callback](double done) {
    const nb::gil_scoped_acquire lock;
    return !(*callback)(done).is(nb::handle(Py_False));
  };
}

}  // namespace bindings
