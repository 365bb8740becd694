"""FIFO depths with which a design can't deadlock, derived from its table (docs/fifo-depths.md)."""
