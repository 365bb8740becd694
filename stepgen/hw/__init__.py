"""The hardware library: the design table, units, FIFOs, crossbars, buses, control."""
