rtl/matmul_pkg.sv
rtl/matmul_read.sv
rtl/matmul_write.sv
rtl/matmul_copy.sv
rtl/matmul_memory.sv
rtl/matmul_top.sv
