"""Import of a checkpoint's folder or a config: a model of a known family, without PyTorch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from stepgen.frontend.checkpoint import Checkpoint, Config, Source, config_of
from stepgen.frontend.drawn import Drawn
from stepgen.frontend.families.family import Family
from stepgen.frontend.model import Model
from stepgen.ir import registry
from stepgen.ir.arguments import checked, shown
from stepgen.ir.errors import StepError
from stepgen.ir.records import parsed
from stepgen.ir.where import placed

CHARACTERS = "characters.json"
"""A file beside a config: the characters that ids stand for."""

IGNORED = (".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq")
"""Endings of weights that say what is known: masks, and frequencies that follow from the config."""


def families() -> dict[str, type[Family]]:
    """The known families by the ``model_type`` of their configs."""
    found = {}
    for module in registry.modules("stepgen.frontend.families").values():
        for kind in vars(module).values():
            own = isinstance(kind, type) and issubclass(kind, Family)
            if own and kind.__module__ == module.__name__ and hasattr(kind, "model_type"):
                found[kind.model_type] = kind
    return dict(sorted(found.items()))


@checked
def from_checkpoint(folder: str | Path) -> Model:
    """A model from a folder with config.json and files of safetensors.

    Nothing in the folder is executed. Weights keep their numbers and their element types; those of
    f16 become f32. Where there is a ``characters.json``, a list of the characters that ids stand
    for, the model takes texts.

    Parameters
    ----------
    folder : str or Path

    Raises
    ------
    StepError
        If the family is not known, a file or a weight is missing, or weights and config do not
        agree.
    """
    checkpoint = Checkpoint(Path(folder))
    model = placed(str(folder), lambda: family_of(checkpoint))
    checkpoint.check_used(*IGNORED)
    return replace(model, characters=_characters(Path(folder)))


def _characters(folder: Path) -> str:
    """Those that ids stand for, or none."""
    path = folder / CHARACTERS
    if not path.exists():
        return ""
    try:
        found = parsed(path.read_text(encoding="utf-8"), f"{path} is no JSON")
    except (OSError, ValueError) as error:
        raise StepError(f"{path} can't be read: {error}") from None
    if not isinstance(found, list) or not all(isinstance(c, str) and len(c) == 1 for c in found):
        raise StepError(f"{path} must be a list of characters, one for each id from 0 on")
    return "".join(found)


@checked
def from_config(config: str | Path | dict[str, Any], seed: int = 0) -> Model:
    """A model with random weights, from its config alone, as Hugging Face's config.json.

    Weights are made when they are read, so a model of gigabytes is there at once. They are of bf16,
    or of what the config says, and do not depend on each other: a layer of a model with more layers
    has the same ones.

    Parameters
    ----------
    config : str or Path or dict
        The file, or what it says.
    seed : int

    Raises
    ------
    StepError
        If the family is not known, or the config lacks something.
    """
    if isinstance(config, dict):
        return family_of(Drawn(Config(config, "the config"), seed))
    found = Drawn(config_of(Path(config)), seed)
    return placed(str(config), lambda: family_of(found))


def family_of(source: Source) -> Model:
    """The model of a config, by its family."""
    config, known = source.config, families()
    kind = config.data.get("model_type")
    if not isinstance(kind, str) or kind not in known:
        raise StepError(
            f"{config.place}: models of type {shown(kind)} are not known, model_type must be one "
            f"of {', '.join(known)}; sg.frontend.from_torch imports modules"
        )
    return known[kind](source).build()
