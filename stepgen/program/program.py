"""Programs by name: ``path.py:function``, a saved graph, a design folder, a model, an example."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from stepgen.ir import text
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.where import user_line
from stepgen.program import design_folder, models
from stepgen.program.made import Program as Program
from stepgen.program.made import of_graph, of_model
from stepgen.program.routing import Routing
from stepgen.program.settings import bind, parameters
from stepgen.program.traces import Lengths
from stepgen.tools.shipped import shipped

if TYPE_CHECKING:
    from stepgen.frontend.model import Model

PREFIX = "stepgen_program_"
"""Of the names of modules that are users' files."""


def examples() -> dict[str, Path]:
    """The shipped examples by name."""
    return {p.stem: p for p in sorted(shipped("examples").glob("*.py")) if p.stem[0] != "_"}


def example(name: str) -> Callable[..., Any]:
    """A shipped example as a function, which returns a graph, or a graph and its inputs.

    Parameters
    ----------
    name : str
        As for commands: ``"moe"``, or a function of its file, ``"moe:NAME"``.

    Returns
    -------
    callable

    Raises
    ------
    StepError
        If there is no such example.

    Examples
    --------
    >>> graph, inputs = example("moe")(tokens=16)
    >>> graph.name
    'moe_dynamic'
    """
    place, _, function = name.partition(":") if isinstance(name, str) else ("", "", "")
    if place not in examples():
        near = get_close_matches(place, examples(), 1) or [*examples()]
        raise StepError(
            f"example at {user_line()}: there is no example {shown(name)}, there is "
            f"{', '.join(near)}"
        )
    path = examples()[place]
    return _function(_import(path), path, function or place)


def load(
    spec: str,
    settings: Mapping[str, str] | None = None,
    *,
    routing: Routing | None = None,
    lengths: Lengths | None = None,
    inputs: Path | None = None,
    imports: Iterable[Path] = (),
    seed: int = 0,
    dims: Mapping[str, str] | None = None,
    draw: bool = True,
    tensors: bool = True,
    made: tuple[Any, str, dict[str, str], dict[str, Any]] | None = None,
) -> Program:
    """Find a program, build it, and complete its inputs.

    Parameters
    ----------
    spec : str
        ``path.py:function``, a ``.json`` file that ``stepgen show --json`` wrote, a design folder
        that ``stepgen verilog`` wrote, a ``.stepgen`` file that ``stepgen import`` wrote, or an
        example.
    settings : mapping of str to str
        Parameters of the function, as texts.
    routing : int array of shape [tokens, top], optional
        For a function with a parameter of this name.
    lengths : int array of shape [requests], optional
        For a function with a parameter of this name.
    inputs : Path, optional
        An ``.npz`` file with inputs; they replace those that the function returns.
    imports : iterable of Path
        Python files that define functions, operators and units of a saved graph or design.
    seed : int
        Seed of drawn inputs; passed to a function with a parameter of this name.
    dims : mapping of str to str, optional
        Extents of dynamic dims of drawn inputs, as texts.
    draw : bool
        Whether to draw the inputs that are missing.
    tensors : bool
        Whether the contents of tensors are used: else they are not drawn, and a function with a
        parameter ``data`` gets False.
    made : tuple, optional
        What `called` gave for this function, so that it is not called again.

    Returns
    -------
    Program

    Raises
    ------
    StepError
        If there is no such program, or it can't be built.
    """
    both = {"routing": routing, "lengths": lengths}
    traces: dict[str, Any] = {what: trace for what, trace in both.items() if trace is not None}

    more: Any = {"inputs": inputs, "seed": seed, "dims": dims, "draw": draw, "tensors": tensors}
    with contextlib.redirect_stdout(sys.stderr):  # stdout belongs to the command
        import_files(imports)
    place = folder_of(spec)
    if place is not None:
        _take_nothing(spec, "design", settings or {}, traces)
        folder = design_folder.read(place)
        return of_graph(folder.graph, folder.inputs, spec, design=folder.manifest.design, **more)
    if models.is_model(spec):
        model = models.load(spec)
        return of_model(model, Path(spec).name, settings, spec=spec, **traces, **more)
    if spec.endswith(".json"):
        _take_nothing(spec, "graph", settings or {}, traces)
        return of_graph(text.load(spec), {}, Path(spec).name, **more)
    found, name, others, left = made or called(
        spec, settings or {}, traces, models.settings(), seed=seed, data=tensors
    )
    if models.is_made(found):
        return of_model(found, name, others, **left, **more)
    graph, own = _split(found, name)
    return of_graph(graph, own, name, **more)


def call(
    spec: str,
    settings: Mapping[str, str],
    traces: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    data: bool = True,
) -> tuple[Any, str]:
    """Call the function that a text names, and give what it returns, and its name.

    Parameters
    ----------
    spec : str
        ``path.py:function``, or an example.
    settings : mapping of str to str
        Parameters of the function, as texts.
    traces : mapping of str to array, optional
        Arguments that the function must have a parameter for.
    seed : int
        For a function with a parameter of this name.
    data : bool
        A function with a parameter of this name gets False if this is so.

    Raises
    ------
    StepError
        If there is no such function, or it fails.
    """
    made, name, *_ = called(spec, settings, traces or {}, (), seed=seed, data=data)
    return made, name


def model_of(
    spec: str,
    settings: Mapping[str, str],
    *,
    seed: int = 0,
    what: str = "--ids and --golden are",
) -> tuple[Model, dict[str, str]]:
    """The model that a text names, a file or a function that returns one.

    Parameters
    ----------
    spec : str
        As for `load`.
    settings : mapping of str to str
        Parameters of the function and of the model's program, as texts.
    seed : int
        For a function with a parameter of this name.
    what : str
        What needs a model, for messages.

    Returns
    -------
    model : Model
    settings : dict of str to str
        Those that are left for its program.

    Raises
    ------
    StepError
        If there is none.
    """
    if models.is_model(spec):
        return models.load(spec), dict(settings)
    if folder_of(spec) is None and not spec.endswith(".json"):
        made, name, others, _ = called(spec, settings, {}, models.settings(), seed=seed)
        if models.is_made(made):
            return made, others
        spec = f"{name}, which returns {type(made).__name__}"
    raise StepError(
        f"{what} for models, files that stepgen import writes or functions that "
        f"return one, not for {spec}"
    )


def called(
    spec: str,
    settings: Mapping[str, str],
    traces: Mapping[str, Any],
    others: Collection[str],
    *,
    seed: int = 0,
    data: bool = True,
) -> tuple[Any, str, dict[str, str], dict[str, Any]]:
    """As `call`; settings of these other names, and traces, are left for the program of a model."""
    path, function_name = _locate(spec)
    name = f"{path.name}:{function_name}"
    with contextlib.redirect_stdout(sys.stderr):
        function = _function(_import(path), path, function_name)
        given: dict[str, Any] = {}
        known = parameters(function)
        if "seed" in known:
            given["seed"] = seed
        if "data" in known and not data:
            given["data"] = False
        for what in traces:
            if what in settings:
                raise StepError(f"{name} is given {what} twice, by --{what} and by --set {what}")
        given |= {what: trace for what, trace in traces.items() if what in known}
        unknown = {what: trace for what, trace in traces.items() if what not in known}
        if unknown and not others:
            raise _takes_no(name, unknown)
        left = {k: text for k, text in settings.items() if k in others and k not in known}
        own = {k: text for k, text in settings.items() if k not in left}
        arguments = bind(function, own, given, name)
        try:
            made = function(**arguments)
        except StepError:
            raise
        except (Exception, SystemExit) as error:
            raise _failure(error, path, f"{name} can't be built") from error
    if not models.is_made(made):
        if unknown:
            raise _takes_no(name, unknown)
        if left:
            bind(function, left, arguments, name)
    return made, name, left, unknown


def _takes_no(name: str, traces: Collection[str]) -> StepError:
    what = next(iter(traces))
    return StepError(f"{name} takes no {what}: it has no parameter of that name")


def find(spec: str) -> Callable[..., Any]:
    """The function of a program, to be called directly.

    Parameters
    ----------
    spec : str
        ``path.py:function``, the name of an example, or ``example:function``.

    Raises
    ------
    StepError
        If there is no such function.
    """
    path, function_name = _locate(spec)
    return _function(_import(path), path, function_name)


def golden_of(spec: str) -> Path | None:
    """The file that computes in plain numpy what a program does, if there is one.

    It is ``golden/<function>.py`` beside the file of the program.

    Parameters
    ----------
    spec : str
        As for `load`.
    """
    if folder_of(spec) is not None or spec.endswith((".json", models.SUFFIX)):
        return None
    path, function = _locate(spec)
    golden = path.parent / "golden" / f"{function}.py"
    return golden if golden.is_file() else None


def import_files(paths: Iterable[Path]) -> None:
    """Import the files of functions and operators of users' own.

    Raises
    ------
    StepError
        If one is missing or fails.
    """
    for path in paths:
        if not path.is_file():
            raise StepError(f"there is no file {path}")
        _import(path)


def folder_of(spec: str) -> Path | None:
    """The design folder that a text means, if it means one; examples go first."""
    return Path(spec) if os.path.isdir(spec) and spec not in examples() else None


def is_users(frame: FrameType) -> bool:
    """Whether the code of a frame is of a program, or of a file beside one, which it imports."""
    if str(frame.f_globals.get("__name__")).startswith(PREFIX):
        return True
    files = [m.__file__ for name, m in sys.modules.items() if name.startswith(PREFIX)]
    folder = os.path.dirname(frame.f_code.co_filename)
    return folder in {os.path.dirname(file) for file in files if file}


def _take_nothing(
    spec: str, kind: str, settings: Mapping[str, str], traces: Mapping[str, Any]
) -> None:
    for what, value in {"parameters": settings, **traces}.items():
        if len(value):
            raise StepError(f"{spec} is a finished {kind} and takes no {what}")


def _locate(spec: str) -> tuple[Path, str]:
    """The file and the name of the function that a text names."""
    place, colon, function = spec.rpartition(":")
    if not colon:
        place, function = spec, ""
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            raise StepError(f"there is no file {place}")
        return path, function
    known = examples()
    if place not in known:
        raise StepError(
            f"there is no program {spec!r}: give path.py:function, a design folder, or one of the "
            f"examples {', '.join(known)}"
        )
    return known[place], function or place


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{PREFIX}{path.stem}", path.resolve())
    if spec is None or spec.loader is None:
        raise StepError(f"{path} can't be read as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # A program may import its neighbours, as it may when Python runs it.
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # Python takes code that it has kept for that of a file that was saved again in the same second.
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except StepError:
        raise
    except SyntaxError as error:
        where = f"{Path(error.filename or path).name}:{error.lineno}"
        raise StepError(f"{where} can't be read as Python: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise _failure(error, path, f"{path} can't be imported") from error
    finally:
        sys.dont_write_bytecode = kept
    return module


def _function(module: ModuleType, path: Path, name: str) -> Callable[..., Any]:
    own = [
        key
        for key, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not key.startswith("_")
    ]
    found = getattr(module, name, None) if name else None
    if callable(found):
        return found  # type: ignore[no-any-return]
    choice = f"it has {', '.join(own)}" if own else "it has none"
    if not name:
        raise StepError(f"{path} needs the name of a function, as in {path}:{(own or ['main'])[0]}")
    raise StepError(f"{path} has no function {name!r}, {choice}")


def _failure(error: BaseException, path: Path, what: str) -> StepError:
    """The user's error with the innermost line of their own file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename) == path.resolve()]
    where = f" at {path.name}:{lines[-1]}" if lines else ""
    said = " ".join(str(error).split())
    kind = type(error).__name__
    return StepError(f"{what}: {kind}{where}{': ' + said if said else ''}")


def _split(made: Any, name: str) -> tuple[Graph, Mapping[str, Any]]:
    if isinstance(made, Graph):
        return made, {}
    if isinstance(made, tuple) and len(made) == 2:
        graph, inputs = made
        if isinstance(graph, Graph) and isinstance(inputs, Mapping):
            return graph, inputs
    if inspect.iscoroutine(made):
        made.close()  # else Python warns that nobody awaits it
        raise StepError(f"{name} is an async function, which is not called here: write def")
    raise StepError(
        f"{name} must return a Graph, a Graph and a dict of its inputs, or a model, "
        f"not {type(made).__name__}"
    )
