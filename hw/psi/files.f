rtl/psi_pkg.sv
rtl/psi_keys.sv
rtl/psi_fifo.sv
rtl/psi_rob.sv
rtl/psi_core.sv
