"""Facts of reassemble: chunks of several streams become one, by selector.

Ports
-----
x_0, x_1, …, sel -> y

Parameters
----------
level : int
    Wire level of a chunk (tiles: 2 + rank), the wire rank of every x. Level k of `sel` becomes
    level ``level + 1 + k`` of `y`.
order : str
    ``"index"``: the selected inputs in ascending order. ``"arrival"``: whose chunk is there first.
"""
