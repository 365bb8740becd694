"""Loads of one shape become readers of one loader, where their consumers report what they used up.

The FIFOs of words, the ports to the memory and the address generators of all but one vanish.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.units.axi.params import raw_channel, words
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader, unshared
from stepgen.hw.units.matmul.params import Matmul

Port = tuple[str, str]
"""The channels of requests and of words between a load and the arbiter."""


def share(
    units: Sequence[Unit],
    channels: Mapping[str, Channel],
    fused: Mapping[str, str],
    loads: Sequence[Port],
    bus: Bus,
    kept: Collection[str],
    names: Container[str],
    lanes_at: dict[str, int],
) -> tuple[list[Unit], dict[str, Channel], dict[str, str], list[Port]]:
    """Join loads of weights of one shape.

    A loader sends a beat per cycle. So that the bus can move a word in every cycle there are as
    many loaders as a word has beats, and one more for when one has nothing to read, if each has two
    loads at least. The loads are dealt out to them. One whose channels stay keeps its own unit, and
    the others' loaders are the same as without, so depths of all channels can be asked for at once.

    Parameters
    ----------
    units : sequence of Unit
        Connected.
    channels : mapping of str to Channel
        By name.
    fused : mapping of str to str
        By operator that is part of another's unit, the name of that unit.
    loads : sequence of Port
    bus : Bus
    kept : collection of str
        Channels that stay.
    names : container of str
        Names that new channels and units can't have.
    lanes_at : dict of str to int
        Lanes of the beats of each unit; gets those of loaders.

    Returns
    -------
    list of Unit
        A loader has the place of its first load.
    dict of str to Channel
    dict of str to str
        Which operators are part of another's unit now.
    list of Port
    """
    consumers = {c: unit for unit in units for c in unit.inputs.values()}
    alike = _alike(units, consumers, channels, bus)
    rows, left, into = {unit.name: unit for unit in units}, dict(channels), dict[str, str]()
    for loaders in alike:
        apart = _number(loaders, bus)
        for n in range(apart):
            group = [unit for unit in loaders[n::apart] if not {*_port(unit)} & {*kept}]
            if len(group) > 1:
                name = _free(f"{group[0].name}_loader", rows, names)
                rows[group[0].name] = _joined(name, group, consumers, rows, left, names)
                lanes_at[name] = lanes_at[group[0].name]
                into |= {unit.name: name for unit in group}
    parts = {operator: into.get(of, of) for operator, of in fused.items()}
    parts |= {unit.origin: into[unit.name] for unit in units if unit.name in into}
    found = [row for name, row in rows.items() if name not in into or row.name != name]
    stay = [(req, data) for req, data in loads if req in left]
    stay += [(u.outputs["req"], u.inputs["data"]) for u in found if isinstance(u.params, Loader)]
    return found, left, parts, stay


def unshared_in(design: Design) -> str:
    """Why no loads of a design share a loader, and what to do.

    Parameters
    ----------
    design : Design
        Without loaders.
    """
    bus, leave = design.bus, "leave it out"
    consumers = {c: unit for unit in design.units for c in unit.inputs.values()}
    most = max(_alike(design.units, consumers, design.channel, bus), key=len, default=[])
    if len(most) > 1:
        loaders = _number(most, bus)
        if len(most) > loaders:
            return f"loads of which --depth names a channel have their own units; {leave}, or those"
        return (
            f"its {len(most)} loads of tiles of one shape would get {loaders} loaders, one for "
            f"each beat of a bus word; {leave}, or take more lanes or a narrower bus"
        )
    apart = [
        why
        for unit, load in design.rows_of(Load)
        if _of_weights(unit, consumers.get(unit.outputs["out"])) and (why := unshared(load, bus))
    ]
    if len(apart) > 1:
        return f"{apart[0]}; {leave}"
    return f"it has no two loads that read tiles of one shape, each for a matrix unit; {leave}"


def _number(group: Sequence[Unit], bus: Bus) -> int:
    """Loaders for loads of one shape."""
    load = group[0].params
    assert isinstance(load, Load)
    beats = load.word_parts(bus) // load.gear.full
    return max(beats, min(beats + 1, len(group) // 2))


def _alike(
    units: Sequence[Unit],
    consumers: Mapping[str, Unit],
    channels: Mapping[str, Channel],
    bus: Bus,
) -> list[list[Unit]]:
    """Loads that may share loaders, those of one shape together."""
    alike: dict[Any, list[Unit]] = {}
    for unit in units:
        taker = consumers.get(unit.outputs.get("out", ""))
        if taker is not None and _of_weights(unit, taker) and _may_share(unit, bus):
            alike.setdefault(_shape(unit, taker, channels), []).append(unit)
    return [*alike.values()]


def _of_weights(unit: Unit, taker: Unit | None) -> bool:
    """Whether a unit loads weights of a matrix unit."""
    return (
        isinstance(unit.params, Load)
        and taker is not None
        and isinstance(taker.params, Matmul)
        and taker.inputs[taker.params.weights] == unit.outputs["out"]
    )


def _may_share(unit: Unit, bus: Bus) -> bool:
    """Whether a load can be one of several."""
    assert isinstance(unit.params, Load)
    return not unit.epilogue and unshared(unit.params, bus) is None


def _port(unit: Unit) -> Port:
    return unit.outputs["req"], unit.inputs["data"]


def _shape(unit: Unit, taker: Unit, channels: Mapping[str, Channel]) -> Any:
    """What loads that share a loader have in common."""
    assert isinstance(unit.params, Load)
    assert isinstance(taker.params, Matmul)
    load = replace(unit.params, region="", base=0, offset=0)
    out, ref = channels[unit.outputs["out"]], channels[unit.inputs["ref"]]
    return load, taker.params.buffers, out.lanes, out.bits, ref.rank


def _free(name: str, taken: Container[str], names: Container[str]) -> str:
    """A name for a new row, if possible `name`."""
    while name in taken or name in names:
        name += "_"
    return name


def _joined(
    name: str,
    group: Sequence[Unit],
    consumers: Mapping[str, Unit],
    rows: dict[str, Unit],
    channels: dict[str, Channel],
    names: Container[str],
) -> Unit:
    """A loader in place of several loads; the channels change, and the units that take tiles."""
    first, loads = group[0], [unit.params for unit in group if isinstance(unit.params, Load)]
    takers = [consumers[unit.outputs["out"]] for unit in group]
    one, taker = loads[0], takers[0].params
    assert isinstance(taker, Matmul)
    assert one.ref_level is not None
    inputs, outputs = dict[str, str](), dict[str, str]()
    for port, side in (("data", inputs), ("req", outputs)):
        old = [{**unit.inputs, **unit.outputs}[port] for unit in group]
        side[port] = _free(f"{name}_{port}", channels, names)
        deepest = max((channels.pop(channel) for channel in old), key=lambda c: c.depth)
        channels[side[port]] = replace(deepest, name=side[port])
    for n, (unit, used) in enumerate(zip(group, takers, strict=True)):
        free = _free(f"{used.name}_free", channels, names)
        channels[free] = raw_channel(free, words(1))
        inputs |= {f"ref_{n}": unit.inputs["ref"], f"free_{n}": free}
        outputs[f"out_{n}"] = unit.outputs["out"]
        row = rows[used.name]
        assert isinstance(row.params, Matmul)
        counted = replace(row.params, credits=True)
        rows[used.name] = replace(row, params=counted, outputs={**row.outputs, "free": free})
    params = Loader(
        regions=tuple(load.region for load in loads),
        bases=tuple(load.base for load in loads),
        offsets=tuple(load.offset for load in loads),
        tile_bytes=one.tile_bytes,
        rows=one.rows,
        beat_parts=one.beat_parts,
        shape=one.shape,
        stride=one.stride,
        ref_level=one.ref_level,
        buffers=taker.buffers,
        ahead=one.ahead,
        packed=one.packed,
        whole=one.whole,
    )
    restops = tuple(
        replace(restop, port=f"out_{n}") for n, unit in enumerate(group) for restop in unit.restops
    )
    return replace(first, name=name, params=params, inputs=inputs, outputs=outputs, restops=restops)
