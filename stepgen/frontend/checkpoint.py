"""Checkpoints: folders with config.json and files of safetensors, as Hugging Face lays them out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from stepgen.frontend import narrow
from stepgen.frontend.kind import shape_text
from stepgen.frontend.narrow import Narrow
from stepgen.frontend.tensors import TensorFile
from stepgen.frontend.weight import Weight
from stepgen.ir.arguments import Unfit, fit, shown
from stepgen.ir.errors import StepError
from stepgen.ir.records import parsed

T = TypeVar("T")

CONFIG = "config.json"
WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

_DTYPES = {"float32": "f32", "bfloat16": "bf16", "float64": "f64", "float16": "f32"}
"""Element types of weights by their names in a config."""


class Config:
    """A config.json: what it says, with its type checked.

    Parameters
    ----------
    data : dict
    place : str
        The file, for messages.
    """

    def __init__(self, data: Mapping[str, Any], place: str) -> None:
        self.data, self.place = data, place

    def take(self, key: str, kind: type[T], *default: T) -> T:
        """One field; a field that is missing or null is the default.

        Raises
        ------
        StepError
            If it is of another type, or missing without a default.
        """
        value = self.data.get(key)
        if value is None:
            if default:
                return default[0]
            raise StepError(f"{self.place} lacks {key!r}")
        try:
            found: T = fit(value, kind)
        except Unfit as unfit:
            raise StepError(f"{self.place}: {key} must be {unfit}, not {shown(value)}") from None
        return found

    def size(self, key: str, *default: int) -> int:
        """An extent, which is at least 1."""
        found = self.take(key, int, *default)
        if found < 1:
            raise StepError(f"{self.place}: {key} must be at least 1, not {found}")
        return found

    def divided(self, key: str, number: int, by: str, parts: int) -> int:
        """What a field is of each of the parts that another one counts.

        Raises
        ------
        StepError
            If their number does not divide it.
        """
        if number % parts:
            raise StepError(
                f"{self.place}: {key} must be a multiple of {by}, and {number} is not one of "
                f"{parts}"
            )
        return number // parts

    def first(self, *keys: str) -> str:
        """The name that a field has here, of those that it has in some versions."""
        return next((key for key in keys if self.data.get(key) is not None), keys[0])

    def only(self, **allowed: Any) -> None:
        """Check that fields which change what a model computes have the only value that is known.

        Raises
        ------
        StepError
            If one has another value.
        """
        for key, value in allowed.items():
            found = self.data.get(key)
            if found not in (None, value):
                raise StepError(
                    f"{self.place} has {key} {shown(found)}; only {shown(value)} can be imported"
                )

    def table(self, key: str) -> Mapping[str, Any]:
        """A nested object; empty if it is missing or null."""
        return self.take(key, dict, {})


class Source(ABC):
    """Where the weights of a config come from.

    Attributes
    ----------
    config : Config
    """

    config: Config

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such a weight."""

    @abstractmethod
    def take(self, name: str, *shape: int) -> Weight:
        """One weight."""

    def narrow(self, name: str, cols: int, rows: int) -> Narrow | None:
        """A weight [cols, rows] as integers with scales, if it is stored so."""
        return None

    def maybe(self, name: str, *shape: int) -> Weight | None:
        """One weight, if it is there."""
        return self.take(name, *shape) if self.has(name) else None


class Checkpoint(Source):
    """A folder with config.json and weights.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    StepError
        If a file is missing or damaged, or has weights of another type than the config says.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / CONFIG).is_file():
            raise StepError(f"{folder} is not a checkpoint: it has no {CONFIG}")
        self.config = config_of(folder / CONFIG)
        config = self.config.table(narrow.CONFIG)
        self.quantization = narrow.Quantization(config, self.config.place) if config else None
        self.tensors = _tensors(folder)
        self.used: set[str] = set()
        self._check_elements()

    def _check_elements(self) -> None:
        said = self.config.data.get("dtype") or self.config.data.get("torch_dtype")
        want = _DTYPES.get(str(said))
        for name, weight in self.tensors.items():
            beside = name.endswith((*narrow.ENDINGS, *narrow.UNKNOWN, *narrow.INPUTS))
            self._check_scaled(name, weight)
            if self.quantization and (beside or self._stored_narrow(name)):
                continue
            if want is not None and weight.element not in (want, "int32"):
                raise StepError(
                    f"{self.config.place} says {said}, but {name} has numbers of {weight.element}"
                )

    def _check_scaled(self, name: str, weight: Weight) -> None:
        """Integers stand for nothing without their scale."""
        whole = name.removesuffix("_packed")
        if whole == name and (weight.element != "int8" or not name.endswith("weight")):
            return
        if self.quantization is None:
            raise StepError(
                f"{self.folder}: {name} has numbers of {weight.element}, and {CONFIG} has no "
                f"{narrow.CONFIG} that says what they stand for"
            )
        if not self._stored_narrow(whole):
            raise StepError(
                f"{self.folder}: {name} has numbers of {weight.element}, but {whole}_scale is "
                f"missing"
            )

    def _stored_narrow(self, name: str) -> bool:
        return self.quantization is not None and f"{name}_scale" in self.tensors

    def has(self, name: str) -> bool:
        """Whether there is such a weight."""
        return name in self.tensors or self._stored_narrow(name)

    def narrow(self, name: str, cols: int, rows: int) -> Narrow | None:
        """A weight [cols, rows] as integers with scales, if it is stored so.

        Raises
        ------
        StepError
            If it can't be imported.
        """
        if self.quantization is None or not self._stored_narrow(name):
            return None
        found = self.quantization.narrow(self.tensors, name, cols, rows)
        if found.weight.shape != (rows, cols):
            self._misfit(name, found.weight.shape[::-1], (cols, rows))
        self.used |= {name, *(f"{name}{ending}" for ending in narrow.ENDINGS)}
        self.used |= {*narrow.inputs_of(name)}
        return found

    def _misfit(self, name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> NoReturn:
        raise StepError(
            f"{self.folder}: {name} is of {shape_text(found)}, but by {CONFIG} it is of "
            f"{shape_text(wanted)}"
        )

    def take(self, name: str, *shape: int) -> Weight:
        """One weight; of one that is stored as integers with scales, real numbers.

        Raises
        ------
        StepError
            If there is none, or it has another shape than follows from the config.
        """
        stored = self.narrow(name, shape[0], shape[1]) if len(shape) == 2 else None
        if stored is not None:
            return stored.real
        if name not in self.tensors:
            raise StepError(f"{self.folder} lacks the weight {name}")
        found = self.tensors[name]
        if found.shape != shape:
            self._misfit(name, found.shape, shape)
        if found.element.startswith("int"):
            raise StepError(
                f"{self.folder}: {name} has numbers of {found.element} without scales, and weights "
                "are real numbers: bf16, f16 or f32"
            )
        self.used.add(name)
        return found

    def check_used(self, *ignored: str) -> None:
        """Check that all weights were taken, but for those with an ending that says nothing.

        Raises
        ------
        StepError
            If one was not: then the model computes something else than what was built.
        """
        left = [n for n in self.tensors if n not in self.used and not n.endswith(ignored)]
        if left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            raise StepError(
                f"{self.folder}: a model of {self.config.data.get('model_type')} has no weight "
                f"{left[0]}{more}"
            )


def config_of(path: Path) -> Config:
    """The config in a file.

    Raises
    ------
    StepError
        If it can't be read.
    """
    return Config(_read(path), str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StepError(f"{path} can't be read: {error}") from None
    data = parsed(text, f"{path} is no JSON", infinite=True)
    if not isinstance(data, dict):
        raise StepError(f"{path} must be an object, not {shown(data)}")
    return data


def _tensors(folder: Path) -> dict[str, Weight]:
    """The weights of one file, or of those that the index names."""
    if (folder / WHOLE).is_file():
        return TensorFile(folder / WHOLE).weights
    if not (folder / INDEX).is_file():
        pickled = sorted(p.name for p in folder.glob("*.bin"))
        why = f"; {pickled[0]} may run code when it is read, so it is not" if pickled else ""
        raise StepError(f"{folder} has neither {WHOLE} nor {INDEX}{why}")
    places = _read(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(p, str) for p in places.values()):
        raise StepError(f"{folder / INDEX} has no 'weight_map' from weights to files")
    files = {}
    for name in sorted(set(places.values())):
        if Path(name).name != name:
            raise StepError(f"{folder / INDEX} names {shown(name)}, which is not beside it")
        if not (folder / name).is_file():
            count = sum(place == name for place in places.values())
            raise StepError(
                f"{folder} lacks {name}, which has {count} of its {len(places)} weights"
            )
        files[name] = TensorFile(folder / name).weights
    found = {}
    for weight, name in places.items():
        if weight not in files[name]:
            raise StepError(f"{folder / name} lacks the weight {weight}, which {INDEX} puts there")
        found[weight] = files[name][weight]
    return found
