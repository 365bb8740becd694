"""From programs to designs: transforms, lowering, sizes of FIFOs, the memory map."""
