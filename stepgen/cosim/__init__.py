"""Co-simulation: Verilator, cocotb, the scoreboard."""
