"""What stands around a design on a board: a serial link, stream buffers, a small memory."""
