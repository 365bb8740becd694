"""Facts of group: a dim of static extent in chunks, nothing to pad (Reshape of an outer dim).

Ports
-----
x -> y

Parameters
----------
level : int
    Wire level that closes an item of the dim: ``base level + dim``.
chunk : int
    Items of a group; the extent of the dim is a multiple of it.
"""
