"""Operators as methods; for type checkers and editors there is ``methods.pyi``, generated."""

from typing import Any


class Methods:
    """Base class of `Stream`, to which `stepgen.ir.operator.public` adds the operators."""

    def __getattr__(self, name: str) -> Any:
        # Both are made with streams.
        from stepgen.ir.absent import remedy
        from stepgen.ir.operator import functions

        loaded = functions()
        if name in loaded and hasattr(type(self), name):
            # The first stream of a process may come before the operators, as a feedback does.
            return getattr(self, name)
        here = dir(self)
        there = [f"sg.{operator}" for operator in loaded if operator not in here]
        hint = "" if name.startswith("_") else remedy(name, [*here, *there])
        raise AttributeError(f"a stream has no attribute {name!r}{hint}")
