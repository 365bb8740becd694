"""The operators as methods; type checkers and editors read ``methods.pyi``, which is generated."""


class Methods:
    """What `Stream` derives from: `stepgen.ir.operator.public` puts the operators here."""
