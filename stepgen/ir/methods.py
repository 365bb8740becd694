"""Operators as methods; for type checkers and editors there is ``methods.pyi``, generated."""


class Methods:
    """Base class of `Stream`, to which `stepgen.ir.operator.public` adds the operators."""
