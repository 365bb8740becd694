"""Facts of reshape: the innermost dim in chunks, short groups padded.

Ports
-----
x -> y [, padding]; `padding` has one beat (1 lane of 1 bit) per element of `y`, of wire rank
``rank of y - level``.

Parameters
----------
level : int
    Wire level that closes an element: 2 for tiles, 0 for selectors and flags.
chunk : int
    Extent of the new innermost dim.
rows, slices : int
    Rows of a padding element and beats of one of its rows; 1 and 1 where elements are no tiles.
    0 rows: the padding element is an empty tile.
pad : int
    Bits of one lane of the padding, negative numbers in two's complement.
"""
