`define PAYLOAD (2 + STOP_BITS + 8 * LANES)
