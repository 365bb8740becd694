"""Weights of experts, which checkpoints have one by one or as one array."""

from __future__ import annotations

from stepgen.frontend.families.llama import Llama
from stepgen.frontend.weight import Weight, stacked


def experts(
    family: Llama, count: int, hidden: int, names: tuple[str, str, str]
) -> tuple[Weight, Weight, Weight, Weight]:
    """The router, and the matrices gate, up and down of all experts, in the builder's scope.

    Parameters
    ----------
    family : Llama
    count, hidden : int
        Experts, and their inner width.
    names : tuple of str
        Of gate, up and down of one expert.
    """
    width = family.width
    router = family.take("gate.weight", count, width).T
    if family.source.has(family.b.path("experts.gate_up_proj")):
        both = family.take("experts.gate_up_proj", count, 2 * hidden, width).T
        shape = (count, width, hidden)
        gate = both.moved(shape, lambda a: a[..., :hidden])
        up = both.moved(shape, lambda a: a[..., hidden:])
        return router, gate, up, family.take("experts.down_proj", count, width, hidden).T
    shapes = ((hidden, width), (hidden, width), (width, hidden))
    gate, up, down = (
        stacked([family.take(f"experts.{e}.{name}.weight", *shape).T for e in range(count)])
        for name, shape in zip(names, shapes, strict=True)
    )
    return router, gate, up, down
