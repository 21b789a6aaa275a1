rtl/aes_pkg.sv
