rtl/psi_pkg.sv
