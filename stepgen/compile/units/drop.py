"""Facts of drop: a filter for elements that are flagged.

Ports
-----
x, flags -> y; x is a stream of tiles, `flags` has one beat (1 lane of 1 bit) per element of x, 1
drops it. The stops of `flags`, its bare beats included, mean nothing.

Parameters
----------
hold : bool
    Whether groups close at wire level 3 and above, so that the last kept element of a group must
    wait for what follows. Not needed for a stream of rank 0.
"""
