"""Circuits that are nothing but parts and the nets between them.

Such a circuit is described once, as data. It becomes a component of Amaranth, for simulations and
for designs of one's own, or a module in RTLIL. A design has thousands of parts;
of each only the connections are written, which would take Amaranth milliseconds.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Shape, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Netlist", "Placed", "flat"]

Net = str | int | tuple[str, ...]
"""The name of a net; a constant; or the names of several as wide as each other, that of the lowest
bits first."""


@dataclass(frozen=True)
class Placed:
    """A part in its place.

    Parameters
    ----------
    name : str
        Of the instance.
    make : callable
        Makes the part, a component.
    kind : str
        For the name of its module.
    identity : JSON value
        Everything that its circuit depends on.
    nets : dict of str to Net
        By port; for that of an interface see `flat`.
    reset : str, optional
        The net of its reset; by default the global one.
    """

    name: str
    make: Callable[[], wiring.Component]
    kind: str
    identity: object
    nets: Mapping[str, Net]
    reset: str | None = None


class Netlist(wiring.Component):
    """A circuit of parts; a net with the name of one of its own ports is that port.

    Attributes
    ----------
    part : callable
        How a part becomes one of the component: `inline`, or as an instance from a `Library`.
    """

    @abstractmethod
    def _parts(self, platform) -> Iterator[Placed]:
        """The parts. A net is as wide as every port at it, and one of them drives it."""

    def elaborate(self, platform):
        m = Module()
        nets = {flat(path): value for path, _, value in self.signature.flatten(self)}
        joined = []
        for placed in self._parts(platform):
            part = placed.make()
            for path, member, value in part.signature.flatten(part):
                net = placed.nets[flat(path)]
                if isinstance(net, tuple):
                    joined.append((member.flow, value, net))
                elif isinstance(net, int):
                    m.d.comb += value.eq(net)
                elif net in nets:  # one signal: fewer wires to elaborate, and no assignment
                    _put(part, path, nets[net])
                else:
                    nets[net] = value
            reset = placed.reset
            if reset is not None and reset not in nets:
                nets[reset] = Signal(name=reset)
            m.submodules[placed.name] = self.part(
                part, placed.kind, placed.identity, nets.get(reset)
            )
        for flow, value, names in joined:
            whole = Cat(nets[name] for name in names)
            m.d.comb += value.eq(whole) if flow == In else whole.eq(value)
        return m

    def submodule(self, name: str, module, platform) -> tuple[str, dict[str, int]]:
        """A module in RTLIL that others instantiate, and the bits of its ports.

        Parameters
        ----------
        name : str
        module : callable
            The name of the module of a `Placed`, and the bits of its ports.
        platform : Device
        """
        ports = {"clk": ("input", 1), "rst": ("input", 1)}
        for path, member, _ in self.signature.flatten(self):
            direction = "input" if member.flow == In else "output"
            ports[flat(path)] = direction, Shape.cast(member.shape).width
        ports = {port: found for port, found in ports.items() if found[1]}
        wires = {port: width for port, (_, width) in ports.items()}
        cells = []
        for placed in self._parts(platform):
            kind, widths = module(placed)
            nets = {**placed.nets, "clk": "clk", "rst": placed.reset or "rst"}
            cells.append(f"  cell \\{kind} \\{placed.name}")
            for port, width in widths.items():
                net = nets[port]
                if isinstance(net, tuple):
                    # Nothing else may be at them: parts without registers have no reset.
                    for one in net:
                        wires.setdefault(one, width // len(net))
                elif isinstance(net, str) and wires.setdefault(net, width) != width:
                    raise ValueError(
                        f"{port} of {placed.name} has {width} bits, its net {net} {wires[net]}"
                    )
                cells.append(f"    connect \\{port} {_connected(net, width)}")
            cells.append("  end")
        declared = [
            f"  wire width {width} {direction} {number} \\{port}"
            for number, (port, (direction, width)) in enumerate(ports.items(), 1)
        ]
        declared += [f"  wire width {wires[net]} \\{net}" for net in wires if net not in ports]
        lines = [f"module \\{name}", *declared, *cells, "end", ""]
        return "\n".join(lines), {port: width for port, (_, width) in ports.items()}


def flat(path: Sequence[str | int]) -> str:
    """The name of a port of an interface: its members, with two underscores between them."""
    return "__".join(map(str, path))


def _put(part, path, value) -> None:
    """Take a signal as a port of a part."""
    for name in path[:-1]:
        part = getattr(part, name)
    setattr(part, path[-1], value)


def _connected(net: Net, width: int) -> str:
    """What is at a port, in RTLIL."""
    if isinstance(net, int):
        return f"{width}'{net:0{width}b}"
    if isinstance(net, str):
        return f"\\{net}"
    names = " ".join(f"\\{one}" for one in reversed(net))
    return f"{{ {names} }}"
