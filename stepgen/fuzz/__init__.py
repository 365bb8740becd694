"""The fuzzer: drawn programs on drawn circuits, all faces against each other, failures shrunk."""
