rtl/matvec_reduce.sv
rtl/matvec_group.sv
rtl/matvec_top.sv
