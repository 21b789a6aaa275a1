# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Clock of the toy machine: that of its configurations. Never built by a vendor's tools.
create_clock -name clk -period 5.000 [get_ports clk_i]
