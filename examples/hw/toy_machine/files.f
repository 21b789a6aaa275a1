rtl/toy_adder.sv
rtl/toy_top.sv
