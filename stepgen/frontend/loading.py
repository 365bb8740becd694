"""Import of a checkpoint's folder: a model of a known family, without PyTorch."""

from __future__ import annotations

from pathlib import Path

from ..ir import registry
from ..ir.arguments import checked, shown
from ..ir.errors import StepError
from .checkpoint import Checkpoint
from .families.family import Family
from .model import Model

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
    f16 become f32.

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
    told = checkpoint.config.data.get("model_type")
    known = families()
    if not isinstance(told, str) or told not in known:
        raise StepError(
            f"{checkpoint.config.place}: models of type {shown(told)} are not known, those are "
            f"{', '.join(known)}; sg.frontend.from_torch imports modules"
        )
    model = known[told](checkpoint).build()
    checkpoint.check_used(*IGNORED)
    return model
