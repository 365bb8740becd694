"""What is in the modules of a design before synthesis, counted by Yosys.

Modules go through Yosys in batches, so that progress can be shown between them. What is found in
one is kept by a digest of its RTLIL: equal modules are counted once, whichever designs they are in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from stepgen.emit.modules import kept_modules
from stepgen.hw import private
from stepgen.hw.accelerator import (
    ACCELERATOR,
    channel_identity,
    parts_behind,
    unit_identity,
    unit_row,
)
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.hw.fifo import Fifo
from stepgen.hw.library import Kept, Library, module_key
from stepgen.hw.names import EPILOGUE, FIFO, RESTOP, epilogue_name, restop_name, verilog_name
from stepgen.hw.primitives import Device
from stepgen.hw.system import System
from stepgen.hw.unit import core_of
from stepgen.synth.contents import BLOCKS, FOREIGN, Counted, contents
from stepgen.tools.cache import digest
from stepgen.tools.waiting import Progress, quiet

STEP = "estimating resources"
"""What is shown as progress."""
ELABORATED = 0.4
"""Share of the work, of a design of which nothing is kept, after which its modules are there."""
BATCH = 1_500_000
"""Characters of RTLIL for one process of Yosys."""

_TOP, _PREFIX = "top", "part"
_PASSES = (
    *("proc -norom", "flatten", f"hierarchy -top {_TOP}"),
    *("opt_expr", "opt_merge", "opt_dff", "opt_expr", "opt_muxtree", "opt_merge", "opt_dff"),
    *("opt_clean", "wreduce", "opt_expr", "opt_merge", "opt_dff", "opt_clean"),
)
"""What removes registers and logic without use; nothing is mapped to any device."""
_WHOLE, _BLACK_BOX = "attribute \\keep_hierarchy 1\n", "attribute \\blackbox 1\n"
_NAME = re.compile(rf"\\({_PREFIX}_\w+?)(?=[\s.])")
_CELL = re.compile(rf"^  cell \\({_PREFIX}_\w+) \\(\S+)$", re.MULTILINE)
_PORT = re.compile(r"^  wire .*\b(?:input|output|inout) \d+ .*$", re.MULTILINE)


def counted(
    design: Design, family: str, *, kept: Kept | None = None, progress: Progress = quiet
) -> Counted:
    """Count what is in the circuits of a design, without synthesis.

    Parameters
    ----------
    design : Design
    family : str
        Of the FPGA, whose hard blocks are instantiated.
    kept : Kept, optional
        What was found in modules of earlier designs.
    progress : Progress
    """
    made = _Texts.of(design, family, progress)
    inside = _inside([made.alone(name) for name in (*made.wholes, _TOP)], kept, progress)

    def of(instance: str) -> Counter[str]:
        return inside.get(made.instances.get(instance, ""), Counter())

    return Counted(
        {unit.name: sum(map(of, _names(unit)), Counter()) for unit in design.units},
        {channel.name: of(f"fifo_{channel.name}") for channel in design.channels},
        inside[_TOP],
    )


class Parts:
    """Counts what is in units and FIFOs of many designs, in each circuit once.

    Parameters
    ----------
    family : str
        Of the FPGA, whose hard blocks are instantiated.
    kept : Kept, optional
        What was found in modules of earlier designs.
    """

    def __init__(self, family: str, kept: Kept | None = None):
        self._library = Library(_PREFIX, Device(family), kept_modules())
        self._kept = kept
        self._kinds = {FIFO, EPILOGUE, RESTOP}
        self._inside: dict[str, Counter[str]] = {}
        self._rows: dict[str, list[str]] = {}

    def of(self, design: Design) -> list[Counter[str]]:
        """What is in each unit of a design, and in the FIFO of each channel."""
        self._kinds |= {unit.kind for unit in design.units}
        made: dict[str, str] = {}
        parts = [self._unit(unit, design, made) for unit in design.units]
        parts += [[self._channel(channel, made)] for channel in design.channels]
        if made:
            texts = self._library.texts
            wholes = _marked(texts, self._kinds)
            todo = {key: _alone(name, texts) for key, name in made.items() if name in wholes}
            found = _inside([*todo.values()], self._kept, quiet)
            self._inside |= {key: found[one.name] for key, one in todo.items()}
        return [sum((self._inside[key] for key in keys), Counter()) for keys in parts]

    def _unit(self, unit: Unit, design: Design, made: dict[str, str]) -> list[str]:
        """Keys of the circuits of a unit; those of which nothing is known are made."""
        known = unit_row(unit, design)
        if known not in self._rows:
            core = core_of(unit, design.seen_by(unit))
            core.part = self._library.instance
            keys = [self._key(core, unit.kind, unit_identity(core), made)]
            for port, name in unit.outputs.items():
                behind = parts_behind(unit, core, port, design.channel[name])
                keys += [self._key(one.make(), one.kind, one.identity, made) for one in behind]
            self._rows[known] = keys
        return self._rows[known]

    def _channel(self, channel: Channel, made: dict[str, str]) -> str:
        identity = channel_identity(channel)
        key = str(module_key(FIFO, identity))
        return key if key in self._inside else self._key(Fifo(channel), FIFO, identity, made)

    def _key(self, part: Any, kind: str, identity: object, made: dict[str, str]) -> str:
        key = str(module_key(kind, identity))
        if key in self._inside:
            private.reused(part)
        else:
            made[key], _ = self._library.module(part, key)
        return key


def _names(unit: Unit) -> list[str]:
    """The instances that belong to a unit."""
    behind = [restop_name(unit, port) for port in unit.outputs]
    return [verilog_name(unit.name), epilogue_name(unit), *behind]


@dataclass(frozen=True)
class _Alone:
    """A module to be counted by itself.

    Attributes
    ----------
    name : str
    texts : dict of str to str
        RTLIL of this module and of those within it, by name.
    """

    name: str
    texts: Mapping[str, str]

    @cached_property
    def size(self) -> int:
        return sum(map(len, self.texts.values()))

    @cached_property
    def key(self) -> str:
        """A digest of the RTLIL: the numbers in the names of modules differ between designs."""
        numbers: dict[str, int] = {}
        text = "".join(self.texts.values())
        return digest(
            _NAME.sub(lambda found: f"\\%{numbers.setdefault(found[1], len(numbers))}", text)
        )


@dataclass(frozen=True)
class _Texts:
    """RTLIL of a design.

    Attributes
    ----------
    texts : dict of str to str
        By module, the top among them; each with those that it alone has.
    wholes : list of str
        Modules of units, of what stands behind them, and of FIFOs.
    instances : dict of str to str
        Modules by instance in the accelerator.
    """

    texts: Mapping[str, str]
    wholes: Collection[str]
    instances: Mapping[str, str]

    @classmethod
    def of(cls, design: Design, family: str, progress: Progress) -> _Texts:
        """Elaborate a design."""
        device = Device(family)
        kinds = {FIFO, EPILOGUE, RESTOP, *(unit.kind for unit in design.units)}
        total, number = len(design.channels) + len(design.units), count(1)

        def watch() -> None:
            progress(STEP, ELABORATED * min(1, next(number) / total))

        library = Library(_PREFIX, device, kept_modules(), watch)
        top = private.module(System(design, part=library.instance), _TOP, device)
        texts = library.texts
        wholes = _marked(texts, kinds)
        (core,) = (name for name, instance in _CELL.findall(top) if instance == ACCELERATOR)
        instances = {instance: name for name, instance in _CELL.findall(texts[core])}
        return cls({**texts, _TOP: top}, wholes, instances)

    def alone(self, name: str) -> _Alone:
        """A module with all within it; of the top without the wholes, of which it has the ports."""
        return _alone(name, self.texts, self.wholes if name == _TOP else ())


def _marked(texts: dict[str, str], kinds: Collection[str]) -> list[str]:
    """The modules of these kinds, which Yosys is now to keep whole, with what each alone has."""
    wholes = [
        name for name in texts if name.removeprefix(f"{_PREFIX}_").rpartition("_")[0] in kinds
    ]
    for name in wholes:
        head = f"\nmodule \\{name}"
        texts[name] = texts[name].replace(head, f"\n{_WHOLE}{head[1:]}")
    return wholes


def _alone(name: str, texts: Mapping[str, str], shut: Collection[str] = ()) -> _Alone:
    """A module with all within it; of those that are shut with their ports only."""
    within: dict[str, str] = {}
    todo = [name]
    while todo:
        one = todo.pop()
        if one in within or one not in texts:
            continue
        if one in shut:
            within[one] = _black_box(one, texts[one])
        else:
            within[one] = texts[one]
            todo += [module for module, _ in _CELL.findall(within[one])]
    return _Alone(name, within)


def _inside(
    todo: Sequence[_Alone], kept: Kept | None, progress: Progress
) -> dict[str, Counter[str]]:
    """What is in modules, by name: what is kept of it, else Yosys counts."""
    found = {one.key: kept.get(one.key) for one in todo} if kept else {}
    missing = {one.key: one for one in todo if found.get(one.key) is None}
    size, done = sum(one.size for one in missing.values()), 0
    for batch in _batches(missing.values()):
        progress(STEP, ELABORATED + (1 - ELABORATED) * done / size)
        done += sum(one.size for one in batch)
        for key, counts in _run(batch).items():
            found[key] = counts
            if kept:
                kept.put(key, counts)
    return {one.name: Counter(found[one.key]) for one in todo}


def _black_box(name: str, text: str) -> str:
    """A module of which only the ports are known."""
    own = text.partition(f"\nmodule \\{name}\n")[2].partition("\nend\n")[0]
    return "\n".join([f"{_BLACK_BOX}module \\{name}", *_PORT.findall(own), "end\n"])


def _batches(modules: Iterable[_Alone]) -> Iterator[list[_Alone]]:
    """Modules that go through Yosys together, and the top, the last one, by itself."""
    batch: list[_Alone] = []
    for one in modules:
        if batch and (one.name == _TOP or sum(other.size for other in batch) + one.size > BATCH):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _run(batch: list[_Alone]) -> dict[str, Counter[str]]:
    """What is in the modules of a batch, by key."""
    texts = {name: text for one in batch for name, text in one.texts.items()}
    if _TOP not in texts:
        cells = (f"  cell \\{one.name} \\u{n}\n  end\n" for n, one in enumerate(batch))
        texts[_TOP] = f"module \\{_TOP}\n{''.join(cells)}end\n"
    rtlil = "\n".join(texts.values())
    script = [f"read_rtlil <<rtlil\n{rtlil}\nrtlil", *_PASSES, "write_json"]
    modules = json.loads(private.yosys().run(["-q", "-"], "\n".join(script)))["modules"]
    if batch[0].name == _TOP:
        return {batch[0].key: contents(modules[_TOP])}
    return {one.key: _whole(one.name, modules) for one in batch}


def _whole(name: str, modules: Mapping[str, Any]) -> Counter[str]:
    """What is in a module and in those within it."""
    found = contents(modules[name])
    for cell in modules[name]["cells"].values():
        if cell["type"] in modules:
            found += _whole(cell["type"], modules)
        elif not cell["type"].startswith("$") and cell["type"] not in BLOCKS:
            found[FOREIGN] += 1
    return found
