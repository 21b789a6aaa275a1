rtl/omr_pkg.sv
