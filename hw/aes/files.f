rtl/aes_pkg.sv
rtl/aes_twiddles.sv
rtl/aes_fast.sv
