"""Signatures of the AXI4 master and of the control registers."""

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Axi4", "Axi4Lite", "Bus"]


class Bus(wiring.Signature):
    """A bus, seen from the master."""

    def wires(self):
        """Name, width in bits and whether the master drives it, of every signal in order."""
        return [
            (name, Shape.cast(member.shape).width, member.flow == Out)
            for name, member in self.members.items()
        ]


class Axi4(Bus):
    """AXI4 without ID, lock, cache and region signals, seen from the master.

    Parameters
    ----------
    address_bits, data_bits : int
    """

    def __init__(self, address_bits: int, data_bits: int):
        self.address_bits, self.data_bits = address_bits, data_bits
        request = {"addr": address_bits, "len": 8, "size": 3, "burst": 2}
        super().__init__(
            {
                **{f"ar{name}": Out(width) for name, width in request.items()},
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(data_bits),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
                **{f"aw{name}": Out(width) for name, width in request.items()},
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(data_bits),
                "wstrb": Out(data_bits // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
            }
        )

    def __repr__(self):
        return f"Axi4({self.address_bits}, {self.data_bits})"


class Axi4Lite(Bus):
    """AXI4-Lite of 32 bits, seen from the master.

    Parameters
    ----------
    address_bits : int
    """

    def __init__(self, address_bits: int):
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )

    def __repr__(self):
        return f"Axi4Lite({self.address_bits})"
