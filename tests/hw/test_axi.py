"""The signals of the buses, as the AXI4 specification has them."""

import pytest

from stepgen.hw.axi import Axi4, Axi4Lite

FIELDS = {"len": 8, "size": 3, "burst": 2, "resp": 2, "last": 1, "valid": 1, "ready": 1}
REQUESTS, RESPONSES = ("ar", "aw", "w"), ("r", "b")


@pytest.mark.parametrize(
    ("kind", "address_bits", "data_bits"),
    [(Axi4, 32, 32), (Axi4, 40, 256), (Axi4Lite, 13, 32)],
)
def test_widths_and_directions(kind, address_bits, data_bits):
    bus = kind(address_bits) if kind is Axi4Lite else kind(address_bits, data_bits)
    widths = FIELDS | {"addr": address_bits, "data": data_bits, "strb": data_bits // 8}
    seen = set()
    for name, width, driven in bus.wires():
        channel = next(c for c in (*REQUESTS, *RESPONSES) if name.removeprefix(c) in widths)
        field = name.removeprefix(channel)
        assert width == widths[field], name
        assert driven == ((channel in REQUESTS) != (field == "ready")), name
        seen.add((channel, field))
    handshakes = {(c, f) for c in (*REQUESTS, *RESPONSES) for f in ("valid", "ready")}
    assert handshakes | {("w", "strb"), ("r", "data"), ("b", "resp")} <= seen
