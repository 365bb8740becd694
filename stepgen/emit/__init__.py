"""A design as files: Verilog, interface, C header, waivers, design folders."""
