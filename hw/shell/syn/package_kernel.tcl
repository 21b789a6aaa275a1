# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Packages a kernel as an IP and as an XO, for Vivado. `ringforge hw package` copies this file and writes package.tcl,
# which sets the variables below and reads it.
# NEVER BUILT: no tool of the vendor has read this file.
#
#   kernel     name of the kernel and of its top module
#   masters    its AXI masters
#   clocks     its clocks, the first of which all AXI interfaces belong to
#   registers  name, offset, bits and access of each register of s_axi_control, and the master whose pointer it is or {}

set here [file dirname [file normalize [info script]]]
set ip $here/build/ip

create_project -force $kernel $here/build/project
add_files -norecurse [glob $here/rtl/*.sv $here/rtl/*.v]
set_property top $kernel [current_fileset]
set constraints [glob -nocomplain $here/$kernel.xdc]
if {[llength $constraints]} {
  add_files -fileset constrs_1 -norecurse $constraints
  set_property processing_order LATE [get_files $constraints]
}
update_compile_order -fileset sources_1

ipx::package_project -root_dir $ip -vendor ringforge -library kernel -taxonomy /KernelIP -import_files -set_current false
ipx::unload_core $ip/component.xml
ipx::edit_ip_in_project -upgrade true -name packaging -directory $ip $ip/component.xml
set core [ipx::current_core]
foreach parameter [ipx::get_user_parameters -of_objects $core] {
  ipx::remove_user_parameter [get_property NAME $parameter] $core
}

# Interfaces are inferred from the names of the ports; all belong to the first clock.
foreach clock $clocks {
  ipx::infer_bus_interface $clock xilinx.com:signal:clock_rtl:1.0 $core
}
ipx::infer_bus_interface ap_rst_n xilinx.com:signal:reset_rtl:1.0 $core
ipx::infer_bus_interface interrupt xilinx.com:signal:interrupt_rtl:1.0 $core
ipx::associate_bus_interfaces -clock [lindex $clocks 0] -reset ap_rst_n $core
foreach interface [concat s_axi_control $masters] {
  ipx::associate_bus_interfaces -busif $interface -clock [lindex $clocks 0] $core
}
foreach master $masters {
  set interface [ipx::get_bus_interfaces $master -of_objects $core]
  # Whole words, incrementing bursts.
  foreach {name value} {HAS_BURST 0 SUPPORTS_NARROW_BURST 0} {
    set_property value $value [ipx::add_bus_parameter $name $interface]
  }
}

set map [ipx::add_memory_map s_axi_control $core]
set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]
set block [ipx::add_address_block reg0 $map]
set_property range 8192 $block
foreach {name offset bits access master} $registers {
  set register [ipx::add_register $name $block]
  set_property address_offset $offset $register
  set_property size $bits $register
  set_property access $access $register
  if {$master ne {}} {
    set_property value $master [ipx::add_register_parameter ASSOCIATED_BUSIF $register]
  }
}

set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property ipi_drc {ignore_freq_hz true} $core
set_property vitis_drc {ctrl_protocol user_managed} $core
set_property supported_families {} $core
set_property auto_family_support_level level_2 $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project -delete

package_xo -force -xo_path $here/build/$kernel.xo -kernel_name $kernel -ip_directory $ip -kernel_xml $here/kernel.xml
