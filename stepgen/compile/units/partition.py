"""Facts of partition: one stream to several outputs, by selector.

Ports
-----
x, sel -> o_0, o_1, …

Parameters
----------
level : int
    Wire level of `x` that closes a chunk (tiles: 2 + rank). Level ``level + k`` of `x`
    corresponds to level k of `sel`; the outputs have wire rank `level`.
surplus : bool
    Whether selectors may be left when `x` has ended: they are dropped. On a cycle they are, since
    the loop goes on naming consumers until it hears of the end.
"""
