"""Units whose circuit is a Verilog module that a user has written."""
