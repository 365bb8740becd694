from __future__ import annotations

import pytest

from stepgen.emit.interface import Interface, MemoryPort, StreamPort
from stepgen.ir.errors import StepError

X = StreamPort("x", "in", 4, 8, 3, 32)
Y = StreamPort("y", "out", 1, 3, 2, 3, "bool")


WINDOWS = ((0, 64), (1 << 39, 1 << 24))


def test_comes_back_from_text() -> None:
    for interface in (
        Interface("d", (X, Y), ("a", "b"), MemoryPort(128, 40, WINDOWS), csr_bits=20),
        Interface("unit", (X,), control=False),
    ):
        assert Interface.from_json(interface.to_json()) == interface


def test_recorded_names_follow_the_bits() -> None:
    interface = Interface("d", (X, Y), ("a", "b"), MemoryPort())
    memory = ("mem.ar", "mem.r", "mem.aw", "mem.w", "mem.b")
    assert interface.recorded == ("a", "b", "port:x", "port:y", *memory)
    assert Interface("d", (X,)).recorded == ("port:x",)
    assert (X.width, X.payload_bytes, Y.width, Y.payload_bytes) == (37, 5, 7, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ports": (X, X)}, "design d: two ports are called x"),
        (
            {"ports": (StreamPort("a b", "in", 1, 1, 0, 1),)},
            "must be an ASCII identifier .* not 'a b'",
        ),
        ({"ports": (StreamPort("x", "up", 1, 1, 0, 1),)}, "must be 'in' or 'out', not 'up'"),
        ({"channels": ("a", "b", "a")}, "design d: two channels are called a"),
        ({"channels": tuple(map(str, range(4000)))}, "16 address bits do not reach"),
    ],
)
def test_mistakes(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(StepError, match=said):
        Interface("d", **arguments)  # type: ignore[arg-type]


def test_memory_ports_are_powers_of_two_and_whole_words() -> None:
    with pytest.raises(StepError, match="a power of two of bits, not 48"):
        MemoryPort(48)
    with pytest.raises(StepError, match="a multiple of 8 bytes, not 1001"):
        MemoryPort(64, 32, ((0, 1001),))
    with pytest.raises(StepError, match="64 bytes from 4294967264 on does not lie between"):
        MemoryPort(64, 32, (((1 << 32) - 32, 64),))
    with pytest.raises(StepError, match="8 bytes from 8 on does not lie between"):
        MemoryPort(64, 32, ((0, 16), (8, 8)))
    with pytest.raises(StepError, match="holds 1 to 1073741824 bytes, not 2147483648"):
        MemoryPort(64, 32, ((0, 1 << 31),))
