"""Parts of a cocotb test bench for designs of stepgen; they need cocotb and numpy alone."""
