"""Routings and lengths of the paper's runs, from a folder of data or drawn."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.program import traces
from stepgen.program.routing import Routing, read
from stepgen.study import published
from stepgen.study.point import Trace, Value

VARIABLE = "STEPGEN_DATA"
"""Environment variable that names the folder where the command line does not."""

MEAN_LENGTH = 1100
"""Of drawn batches: about the mean of the batches in the folder."""

LONGEST = {16: 4672, 64: 6464, 80: 6528}
"""By batch: room of a request in the KV cache of the paper's runs, in tokens."""


@dataclass(frozen=True)
class Model:
    """A mixture-of-experts model.

    Parameters
    ----------
    name : str
        As the workloads call it.
    title : str
        Its title in reports.
    file : str
        Beginning of the name of its routings in a folder of data.
    sizes : mapping of str to int
        Experts, experts per token, width of a token and inner width of an expert.
    """

    name: str
    title: str
    file: str
    sizes: Mapping[str, int]

    @property
    def options(self) -> dict[str, Value]:
        """Sizes as options of a workload."""
        return dict(self.sizes)


def _model(name: str, title: str, file: str, **sizes: int) -> Model:
    return Model(name, title, file, MappingProxyType(sizes))


MODELS = (
    _model("mixtral", "Mixtral-8x7B", "mixtral8x7b", experts=8, top=2, width=4096, inner=14336),
    _model("qwen", "Qwen3-30B-A3B", "qwen3_30b_a3b", experts=128, top=8, width=2048, inner=768),
)

ROUTED = (64, 1024)
"""Tokens of the batches that figures route."""

FOLDERS = ("routing", "kv_lengths")
SUFFIXES = (".npz", ".npy", ".csv")
"""What looks like a trace lies in one of these folders, or ends like this."""


def routing_name(model: Model, tokens: int) -> str:
    """Of a model's routing of a batch, without its suffix."""
    return f"{model.file}_batch{tokens}"


def lengths_name(batch: int, stdev: int, first: int) -> str:
    """Of a batch's lengths, without its suffix: their deviation, the first and last request."""
    return f"azure_batch{batch}_stdev{stdev:04}_{first:04}_{first + batch - 1:04}"


def names() -> list[str]:
    """All traces that figures read, as paths in a folder of data."""
    routings = [f"routing/{routing_name(m, n)}.npz" for n in ROUTED for m in MODELS]
    return routings + [f"kv_lengths/{lengths_name(*b)}.npy" for b in published.ATTENTION]


SMALL = (
    _model("mixtral", "Mixtral, small", "", experts=4, top=2, width=32, inner=192),
    _model("qwen", "Qwen, small", "", experts=8, top=2, width=16, inner=192),
)
"""In place of the models, for tests."""


@dataclass(frozen=True)
class Traces:
    """Source of the inputs of figures.

    Parameters
    ----------
    data : Path or None
        Folder with ``routing/*.npz`` and ``kv_lengths/*.npy``; by default everything is drawn.
    small : bool
        Small models, batches and lengths, for tests.
    seed : int
        Seed of everything that is drawn.
    """

    data: Path | None = None
    small: bool = False
    seed: int = 0

    def model(self, name: str) -> Model:
        """A model by its name."""
        return next(m for m in (SMALL if self.small else MODELS) if m.name == name)

    def batch(self, size: int) -> int:
        """Requests or tokens of a batch."""
        return min(size, 8) if self.small else size

    def routing(self, model: Model, batch: int) -> Trace:
        """Experts chosen for each token of a batch.

        Raises
        ------
        StepError
            If the file in the folder is not a routing of the model.
        """
        name = routing_name(model, batch)
        path = self._file(f"routing/{name}.npz")
        if path is not None:
            routing = read(path)
            _check(path, "routing", routing.shape, (batch, model.sizes["top"]))
            if routing.max() >= model.sizes["experts"]:
                raise StepError(
                    f"{path} is not a routing of {model.title}: it names expert {routing.max()}, "
                    f"the last one is {model.sizes['experts'] - 1}"
                )
            return Trace.of(name, "published", routing)
        counts = published.COUNTS.get((model.name, batch))
        if counts is not None and not self.small:
            made = with_counts(counts, batch, model.sizes["top"], seed=self.seed)
            return Trace.of(name, "counts", made)
        spread, idle = traces.SKEWS[model.name]
        sizes = model.sizes
        drawn = traces.draw_routing(
            self.batch(batch), sizes["experts"], sizes["top"], spread=spread, idle=idle,
            seed=self.seed,
        )  # fmt: skip
        return Trace.of(name, "drawn", drawn)

    def lengths(self, batch: int, stdev: int, first: int) -> Trace:
        """Lengths of the KV caches of a batch.

        Parameters
        ----------
        batch : int
        stdev : int
            Of its lengths.
        first : int
            Its first request in the trace.

        Raises
        ------
        StepError
            If the file in the folder is not such a batch.
        """
        name = lengths_name(batch, stdev, first)
        path = self._file(f"kv_lengths/{name}.npy")
        if path is not None:
            lengths = traces.load_lengths(path)
            _check(path, "batch", lengths.shape, (batch,))
            return Trace.of(name, "published", lengths)
        if self.small:
            drawn = traces.draw_lengths(self.batch(batch), 40, stdev / 50, most=200, seed=first)
        else:
            drawn = traces.draw_lengths(
                batch, MEAN_LENGTH, stdev, most=LONGEST[batch], seed=self.seed + first
            )
        return Trace.of(name, "drawn", drawn)

    def unused(self) -> Iterator[str]:
        """A warning for every file of the folder that looks like a trace and is not used."""
        if self.data is None:
            return
        some = [p for depth in ("*", "*/*", "*/*/*") for p in self.data.glob(depth) if p.is_file()]
        there = {path.relative_to(self.data) for path in some if not path.name.startswith(".")}
        missing = [name for name in names() if Path(name) not in there]
        for path in sorted(there.difference(map(Path, names()))):
            if path.parts[0] in FOLDERS or path.suffix.lower() in SUFFIXES:
                meant = difflib.get_close_matches(path.as_posix(), missing, 1)
                hint = f"; {meant[0]} is not there" if meant else ""
                yield f"no figure uses {path} of {self.data}{hint}"

    def _file(self, name: str) -> Path | None:
        if self.data is None or self.small:
            return None
        path = self.data / name
        return path if path.is_file() else None


def _check(path: Path, what: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape != wanted:
        raise StepError(
            f"{path} is not the {what} of the figure: it has the shape {list(shape)}, not "
            f"{list(wanted)}"
        )


def with_counts(counts: Sequence[int], tokens: int, top: int, *, seed: int = 0) -> Routing:
    """Draw a routing in which every expert gets a given number of tokens.

    Parameters
    ----------
    counts : sequence of int
        Tokens of each expert, `tokens` x `top` in all and none more than `tokens`.
    tokens, top : int
    seed : int

    Returns
    -------
    int64 array of shape [tokens, top]
    """
    rng = np.random.default_rng(seed)
    left = np.array(counts, np.int64)
    rows = np.empty((tokens, top), np.int64)
    for token in rng.permutation(tokens):
        # Whoever has most left goes first: otherwise a token might find too few experts in the end.
        chosen = np.lexsort((rng.random(len(left)), -left))[:top]
        left[chosen] -= 1
        rows[token] = chosen
    return rows


def found(data: Path | None, *, small: bool = False) -> Traces:
    """The traces of a folder, by default of the one that the environment names, or small ones.

    Raises
    ------
    StepError
        If there is no such folder, it holds no traces, or small ones are wanted of a folder.
    """
    if small:
        if data is not None:
            raise StepError(f"small programs have drawn traces, none from the folder {data}")
        return Traces(small=True)
    if data is None:
        named = os.environ.get(VARIABLE)
        if not named:
            return Traces()
        data = Path(named)
    if not data.is_dir():
        raise StepError(f"there is no folder {data} of routings and KV lengths")
    if not any(any(data.glob(files)) for files in ("routing/*.npz", "kv_lengths/*.npy")):
        raise StepError(f"{data} holds no traces: neither routing/*.npz nor kv_lengths/*.npy")
    return Traces(data)
