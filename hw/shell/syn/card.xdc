# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Timing of kernel @KERNEL@ between its two clocks, written by `ringforge hw package` from hw/shell/syn/card.xdc.
# NEVER BUILT: no tool of the vendor has read this file.
#
# The clocks are asynchronous. Everything that crosses is either a Gray pointer into registers marked ASYNC_REG, a level
# into such registers, or a word that lies still in a FIFO while its pointer crosses. One bound holds for all of them: a
# path between the clocks takes at most @PERIOD@ ns, a period of the faster clock, so that the bits of a pointer arrive
# within a period of each other and a word before its pointer.

set_max_delay -datapath_only @PERIOD@ -from [get_clocks -of_objects [get_ports ap_clk]] -to [get_clocks -of_objects [get_ports ap_clk_2]]
set_max_delay -datapath_only @PERIOD@ -from [get_clocks -of_objects [get_ports ap_clk_2]] -to [get_clocks -of_objects [get_ports ap_clk]]
