# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Spreads the elements of a matvec machine over the dies (SLRs) of a card, as many on each; a hook before placement:
#   v++ --link ... --vivado.prop run.impl_1.STEPS.PLACE_DESIGN.TCL.PRE=syn/floorplan.tcl
# NEVER BUILT: no tool of the vendor has read this file.
#
# An element of matvec-b takes 408 DSP slices and 48 ultra RAMs, a die of the U200 has 2,280 and 320: five elements fit a die
# by both. Groups have seven elements, so a group's bus and the sum over groups cross dies whatever is placed where, as
# do the elements' ways to their ports. Only the latter hold register slices (`ringforge hw package --slices`).

set elements [lsort -dictionary [get_cells -hierarchical -filter {REF_NAME =~ vector_pe* || ORIG_REF_NAME =~ vector_pe*}]]
set dies [lsort -dictionary [get_slrs]]
set index 0
foreach element $elements {
  set die [lindex $dies [expr {$index * [llength $dies] / [llength $elements]}]]
  set_property USER_SLR_ASSIGNMENT $die [get_cells $element]
  incr index
}
puts "[llength $elements] elements on [llength $dies] dies"
