rtl/rf_shell_pkg.sv
rtl/rf_skid.sv
rtl/rf_axil_regs.sv
rtl/rf_axi_read.sv
rtl/rf_axi_write.sv