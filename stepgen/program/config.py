"""Settings of runs as a file, ``stepgen.toml``: those that all runs share, and named ones."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from stepgen.ir.errors import StepError

SUFFIX = ".toml"
FILE = f"stepgen{SUFFIX}"
"""Where settings are looked for."""

ALONE = ("config", "json", "help")
"""Options that only the command line has."""

SHOWN = 8
"""Names that a message lists."""


@dataclass(frozen=True)
class Key:
    """What an option takes in the file.

    Attributes
    ----------
    pairs : bool
        Names with values: a table.
    many : bool
        A list.
    flag : bool
        True or false.
    file : bool
        A path.
    place : bool
        A name or a path.
    endings : frozenset of str
        Of files that some commands write there, where others write a folder.
    """

    pairs: bool = False
    many: bool = False
    flag: bool = False
    file: bool = False
    place: bool = False
    endings: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Config:
    """The settings of a run.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        Which of its settings; empty for those that all runs share.
    values : mapping of str to object
        By option, without its dashes. Paths are relative to the current folder.
    text : str
        The whole file.
    files : frozenset of str
        Those options whose values are files by their endings, and so not for what writes a folder.
    """

    path: Path
    name: str
    values: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    files: frozenset[str] = field(default=frozenset(), repr=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.name}" if self.name else str(self.path)

    def place(self, key: str) -> str:
        """``stepgen.toml:12``, where a key is written."""
        line = _line(self.text, self.name, key) or _line(self.text, "", key)
        return f"{self.path}:{line}" if line else str(self.path)


def read(text: str, beside: str | None, keys: Mapping[str, Key]) -> Config:
    """Read settings.

    Parameters
    ----------
    text : str
        The name of settings in `FILE`, a file that ends in ``.toml``, or both: ``FILE.toml:NAME``.
    beside : str, optional
        The program in whose folder the file is looked for if no file is named; by default the
        current folder.
    keys : mapping of str to Key
        All options that there are.

    Raises
    ------
    StepError
        If there is no such file or name, or a key or a value does not fit.
    """
    path, name = _located(text, beside)
    try:
        source = path.read_text(encoding="utf-8-sig")  # editors of Windows begin with a mark
        written = tomllib.loads(source)
    except FileNotFoundError:
        raise StepError(f"there is no file {path}, which --config {text} needs") from None
    except OSError as error:
        raise StepError(f"can't read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # also of bytes that are not UTF-8
        raise StepError(f"{path} can't be read as TOML: {error}") from None
    shared, named = _split(written, keys)
    for section, values in {"": shared, **named}.items():
        _check(path, source, section, values, keys)
    if name and name not in named:
        near = get_close_matches(name, named, 1) or [*named][:SHOWN]
        rest = " …" if len(near) < len(named) and len(near) == SHOWN else ""
        hint = f"it has {', '.join(near)}{rest}" if near else "it has none with a name"
        raise StepError(f"{path} has no settings {name!r}, {hint}")
    merged = dict(shared)
    for key, value in named.get(name, {}).items():
        both = keys[key].pairs and key in merged
        merged[key] = {**merged[key], **value} if both else value
    values = {k: _from(path, keys[k], v) for k, v in merged.items()}
    files = {k for k, v in values.items() if keys[k].endings & {Path(str(v)).suffix}}
    return Config(path, name, values, source, frozenset(files))


def as_text(value: Any) -> str:
    """A value as the command line has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value))
    return str(value)


def _located(text: str, beside: str | None) -> tuple[Path, str]:
    """The file and the name that a text means."""
    if text.endswith(SUFFIX):
        return Path(text), ""
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(SUFFIX) and name:
        return Path(file), name
    if not re.fullmatch(r"[\w-]+", text):
        raise StepError(f"--config takes a name, FILE.toml or FILE.toml:NAME, not {text!r}")
    place = Path((beside or "").rpartition(":")[0] or beside or "")
    return (place.parent if place.is_file() else Path()) / FILE, text


def _split(
    written: Mapping[str, Any], keys: Mapping[str, Key]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What all runs share, and what the named ones have; names with dots are joined again."""
    shared, named = {}, {}
    for key, value in written.items():
        if isinstance(value, dict) and not (key in keys and keys[key].pairs):
            named[key] = value
        else:
            shared[key] = value
    return _flat(shared, keys), {name: _flat(one, keys) for name, one in named.items()}


def _flat(values: Mapping[str, Any], keys: Mapping[str, Key]) -> dict[str, Any]:
    """Tables within the tables of pairs as names with dots: ``mem.r``."""
    return {
        key: dict(_dotted(value))
        if key in keys and keys[key].pairs and isinstance(value, dict)
        else value
        for key, value in values.items()
    }


def _dotted(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _check(
    path: Path, source: str, section: str, values: Mapping[str, Any], keys: Mapping[str, Key]
) -> None:
    for key, value in values.items():
        if key in ALONE:
            wrong = f"{key} is for the command line alone"
        elif key not in keys:
            near, positive = get_close_matches(key, keys, 1), key.removeprefix("no-")
            hint = f"did you mean {near[0]}?" if near else "its keys are the options of commands"
            if positive != key and positive in keys and keys[positive].flag:
                hint = f"write {positive} = false"
            wrong = f"there is no option {key!r}, {hint}"
        elif wanted := _unfit(keys[key], value):
            wrong = f"{key} takes {wanted}, not {value!r}"
        else:
            continue
        line = _line(source, section, key)
        raise StepError(f"{path}:{line}: {wrong}" if line else f"{path}: {wrong}")


def _unfit(key: Key, value: Any) -> str:
    """What a key takes; nothing if the value is so."""
    if key.pairs:
        fits = isinstance(value, dict) and all(map(_simple, _items([*value.values()])))
        return "" if fits else "a table of names with values"
    if key.flag:
        return "" if isinstance(value, bool) else "true or false"
    if key.many and isinstance(value, list):
        return "" if all(map(_plain, value)) else "texts or numbers"
    return "" if _plain(value) else "a text or a number" + ", or a list of them" * key.many


def _items(values: Sequence[Any]) -> list[Any]:
    """The values, and those of lists among them."""
    return [one for v in values for one in (v if isinstance(v, list) else [v])]


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _simple(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _from(path: Path, key: Key, value: Any) -> Any:
    """A value whose paths, in the file relative to it, are relative to the current folder."""
    if isinstance(value, list):
        return [_from(path, key, one) for one in value]
    if not isinstance(value, str) or not (key.file or key.place):
        return value
    there = path.parent / value
    place = Path(value.rpartition(":")[0] or value)
    looks = place.suffix in (".py", ".json", SUFFIX, ".stepgen")
    return str(there) if key.file or looks or (path.parent / place).exists() else value


def _line(text: str, section: str, key: str) -> int:
    """The line on which a key of a section stands; 0 if that is not to be seen."""
    now, own = "", re.escape(key)
    inside = f"{section}.{key}" if section else key
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            now = header[1].replace('"', "").replace("'", "")
            if now == inside or now.startswith(f"{inside}."):
                return number
        elif now == section and re.match(rf"\s*([\"']?){own}\1\s*[=.]", line):
            return number
    return 0
