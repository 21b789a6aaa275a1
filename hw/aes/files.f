rtl/aes_pkg.sv
rtl/aes_twiddles.sv
rtl/aes_butterfly.sv
rtl/aes_fast.sv
