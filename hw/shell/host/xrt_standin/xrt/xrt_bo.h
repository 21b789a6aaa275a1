// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Stands in for XRT's header of this name: see xrt_standin.hpp.
#include "../xrt_standin.hpp"
