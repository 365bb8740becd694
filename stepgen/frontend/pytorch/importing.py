"""Import of a PyTorch module."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from stepgen.frontend.builder import Builder
from stepgen.frontend.drawing import drawn
from stepgen.frontend.imported import Imported
from stepgen.frontend.kind import TOKENS
from stepgen.frontend.model import Model
from stepgen.frontend.pytorch.needed import torch
from stepgen.frontend.pytorch.patching import patched
from stepgen.frontend.pytorch.quantized import linears_alone
from stepgen.frontend.pytorch.translating import Translator
from stepgen.frontend.pytorch.values import WRAPPED
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

MOST_ERROR = 1e-4
"""Largest error of an import, as a part of the largest output; else it is refused."""

MOST_IN_STEPS = 2e-2
"""The same where values are int8: a bias is rounded, and a number between two steps may be, too."""

TRACED = 12
"""Tokens of the inputs that are traced."""


def from_torch(
    module: Any,
    example: Any = None,
    dims: Mapping[str, tuple[int, int]] | None = None,
) -> Model:
    """A model from a PyTorch module.

    Modules are recognised by what they make of random input: norms, linears, functions, experts,
    and attention and RoPE of transformers. The rest is exported by `torch.export`. The module is
    not changed.

    Parameters
    ----------
    module : torch.nn.Module
        Also a model of transformers with a head for the next token: then no example is needed, and
        the inputs are ids and positions.
    example : tensor or sequence of tensors, optional
        What the module is called with: ids [T] or [1, T], rows [T, width] or [1, T, width].
    dims : dict of str to tuple of int, optional
        Least and most tokens of one run, by default ``{"T": (1, 1024)}``.

    Returns
    -------
    Model

    Raises
    ------
    StepError
        If PyTorch is missing or too old, the module has an operation that models have not, or the
        model differs from it on random input.
    """
    return imported(module, example, dims).model


def imported(
    module: Any,
    example: Any = None,
    dims: Mapping[str, tuple[int, int]] | None = None,
    origin: str = "",
) -> Imported:
    """The same, with what was recognised and the largest error."""
    t = torch()
    if not isinstance(module, t.nn.Module):
        raise StepError(f"from_torch takes a torch.nn.Module, not {shown(module)}")
    tokens = _tokens(dims)
    name = type(module).__name__.lower()
    causal = example is None
    if causal:
        if not hasattr(getattr(module, "config", None), "vocab_size"):
            raise StepError(
                f"{type(module).__name__} needs example inputs: from_torch(module, example)"
            )
        name = str(getattr(module.config, "model_type", name))
        longest = getattr(module.config, "max_position_embeddings", None)
        tokens = (tokens[0], min(tokens[1], longest or tokens[1]))
        ids = t.randint(0, module.config.vocab_size, (1, TRACED))
        args: list[Any] = [ids, t.arange(TRACED)[None]]
        inputs = [("ids", "1T"), ("positions", "1T")]
    else:
        given = [example] if isinstance(example, t.Tensor) else example
        if not isinstance(given, Sequence) or not all(isinstance(x, t.Tensor) for x in given):
            raise StepError(f"from_torch takes example tensors, not {shown(example)}")
        args, inputs = _examples(list(given))
    with ExitStack() as undo:
        undo.callback(t.random.set_rng_state, t.random.get_rng_state())
        t.manual_seed(0)
        plain, half = _plain(module, undo)
        called = _wrapped(plain, causal)
        with t.no_grad(), patched(plain) as blocks:
            exported = _export(called, args, inputs, tokens)
            quantized = linears_alone(exported)
            translator = Translator(exported, blocks, Builder(name, tokens), half=half)
            order = iter(inputs)
            model = translator.translate(lambda _: next(order))
            counts = Counter(b.kind for b in blocks.values() if b.kind != "turns" and not b.same)
        if quantized:
            called = exported.module()
        error, compared = _compared(model, called, inputs, args)
    if not error <= (MOST_IN_STEPS if quantized else MOST_ERROR):
        raise StepError(
            f"{name}: the model differs from the module by {error:.1e} of the largest output on "
            f"random input; it has an operation that was not understood"
        )
    return Imported(model, origin or type(module).__name__, dict(counts), error, compared)


def _tokens(dims: Mapping[str, tuple[int, int]] | None) -> tuple[int, int]:
    bounded = {TOKENS: (1, 1024)} if dims is None else dict(dims)
    for key in bounded:
        if key != TOKENS:
            raise StepError(f"a model has one dynamic dim, {TOKENS}, and none called {shown(key)}")
    bounds = bounded.get(TOKENS)
    try:
        least, most = (int(n) for n in bounds or ())
    except (TypeError, ValueError):
        raise StepError(
            f"dims must be as {{'T': (1, 1024)}}: the least and the most tokens, not {shown(dims)}"
        ) from None
    return least, most


def _examples(given: list[Any]) -> tuple[list[Any], list[tuple[str, str]]]:
    """Inputs of `TRACED` tokens like the examples; names, and a letter for each dim."""
    t, args, inputs = torch(), [], []
    for number, x in enumerate(given):
        ids = not x.is_floating_point()
        core = 1 if ids else 2
        dims = "T" if ids else "TD"
        if x.ndim == core + 1 and x.shape[0] == 1:
            dims = f"1{dims}"
        elif x.ndim != core:
            takes = "ids [T] or [1, T]" if ids else "rows [T, width] or [1, T, width]"
            raise StepError(
                f"example {number} must be {takes}, with {TOKENS} as the only dynamic dim, not of "
                f"shape {list(x.shape)}"
            )
        at = dims.index("T")
        index = t.arange(TRACED) % x.shape[at]
        args.append(x.float().index_select(at, index) if not ids else x.index_select(at, index))
        plain = "ids" if ids else "x"
        inputs.append((plain if number == 0 else f"{plain}{number}", dims))
    return args, inputs


def _plain(module: Any, undo: ExitStack) -> tuple[Any, bool]:
    """The module in f32 and as it is in use, and whether its weights were narrower."""
    t = torch()
    narrow = any(p.dtype != t.float32 for p in module.parameters() if p.is_floating_point())
    if narrow:
        return copy.deepcopy(module).float().eval(), True
    training = {part: part.training for part in module.modules()}

    def back() -> None:
        for part, was in training.items():
            part.training = was

    undo.callback(back)
    if isinstance(module, t.fx.GraphModule):  # an exported program has one way to run
        return module, False
    return module.eval(), False


def _wrapped(module: Any, causal: bool) -> Any:
    t = torch()

    class Wrapped(t.nn.Module):  # type: ignore[misc, name-defined]
        """A module whose inputs and outputs are tensors alone."""

        def __init__(self) -> None:
            super().__init__()
            setattr(self, WRAPPED, module)

        def forward(self, *xs: Any) -> Any:
            if causal:
                ids, positions = xs
                return module(input_ids=ids, position_ids=positions, use_cache=False).logits
            return module(*xs)

    made = Wrapped()
    made.training = False  # as the module is; an exported one refuses eval()
    return made


def _export(called: Any, args: list[Any], inputs: list[tuple[str, str]], tokens: Any) -> Any:
    t = torch()
    dim = t.export.Dim(TOKENS, min=2, max=max(tokens[1], TRACED))
    shapes = tuple({dims.index("T"): dim} for _, dims in inputs)
    given = list(zip(args, inputs, strict=True))
    try:
        return t.export.export(called, tuple(args), dynamic_shapes=(shapes,), strict=False)
    except StepError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise StepError(
            f"torch.export can't trace {type(getattr(called, WRAPPED)).__name__} for any number "
            f"{TOKENS} of tokens, with inputs {', '.join(_shown(x, d) for x, (_, d) in given)}: "
            f"{type(error).__name__}: {reason}"
        ) from None


def _shown(tensor: Any, dims: str) -> str:
    """The shape of an input, as it is understood."""
    return f"[{', '.join('T' if d == 'T' else str(n) for n, d in zip(tensor.shape, dims))}]"  # noqa: B905


def _compared(
    model: Model, called: Any, inputs: list[tuple[str, str]], args: list[Any]
) -> tuple[float, int]:
    """The largest difference on random input, as a part of the largest output."""
    t = torch()
    count = max(model.tokens[0], min(model.tokens[1], TRACED + 1))
    random = drawn(model, {"positions": np.arange(count)})
    tensors = []
    for (name, dims), example in zip(inputs, args, strict=True):
        array = np.arange(count) if name == "positions" else random[name]
        tensor = t.as_tensor(array).to(example.dtype)
        tensors.append(tensor[None] if dims[0] == "1" else tensor)
    with t.no_grad():
        made = called(*tensors)
    wants = [made] if isinstance(made, t.Tensor) else list(made)
    found = model.run(random)
    worst = 0.0
    for name, want in zip(model.outputs, wants, strict=True):
        true = want.double().numpy().reshape(found[name].shape)
        worst = max(worst, float(np.abs(found[name] - true).max() / max(np.abs(true).max(), 1e-30)))
    return worst, count
