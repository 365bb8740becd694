"""Notebooks of the tutorials, with what their commands print.

``python -m stepgen.pages.notebooks FOLDER`` writes one for each page of docs/tutorials. It needs
nbformat and nbclient with a kernel of Python: ``pip install 'stepgen[docs]'``.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from stepgen.tools import waiting

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"[Ss]ave this as `([\w.]+)`[^`]*\Z")
_LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:)[^)]*\)")


def notebook(text: str) -> Any:
    """A page as a notebook that was not run.

    Parameters
    ----------
    text : str
        Markdown. Files to save, blocks of Python and commands become cells of code; what a command
        prints is left out, since the cell prints it. Links to other pages become their texts.

    Returns
    -------
    NotebookNode
        Of nbformat.
    """
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    make = {"code": new_code_cell, "markdown": new_markdown_cell}
    cells = [make[kind](source) for kind, source in _cells(text)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same each time
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def run(
    made: Any,
    folder: Path,
    *,
    seconds: int = 1800,
    progress: Callable[[float], None] = lambda share: None,
) -> Any:
    """Run a notebook.

    Parameters
    ----------
    made : NotebookNode
    folder : Path
        Where it runs; commands are those of this Python.
    seconds : int
        Limit of a cell.
    progress : callable
        Called with the share of the cells that have been run.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell raises an exception.
    """
    from nbclient import NotebookClient

    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    client = NotebookClient(
        made,
        timeout=seconds,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,
        on_cell_start=lambda cell, cell_index: progress(cell_index / len(made.cells)),
    )
    # As wide as the pages, whose lines a terminal of 80 columns would fold.
    return client.execute(env={**os.environ, "PATH": path, "COLUMNS": "160"})


def _cells(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and contents of cells."""
    at = 0
    for block in _BLOCK.finditer(text):
        before = text[at : block.start()]
        language, body = block.groups()
        cell = _code(language, body, before)
        if cell is None:
            continue
        if prose := _LINK.sub(r"\1", before).strip():
            yield "markdown", prose
        yield "code", cell
        at = block.end()
    if prose := _LINK.sub(r"\1", text[at:]).strip():
        yield "markdown", prose


def _code(language: str, body: str, before: str) -> str | None:
    """A block as code; None if it is to be read only."""
    saved = _SAVED.search(before)
    if saved:
        return f"%%writefile {saved[1]}\n{body.rstrip()}"
    if language == "python":
        return body.rstrip()
    commands = re.findall(r"^\$ (.*)$", body, re.MULTILINE)
    if language != "console" or any(command.startswith("make ") for command in commands):
        return None
    return "\n".join(f"!{command}" for command in commands)


def main(arguments: list[str]) -> None:
    """Write the notebooks of all tutorials into a folder."""
    import nbformat

    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit("usage: python -m stepgen.pages.notebooks FOLDER")
    if not TUTORIALS.is_dir():
        sys.exit(f"there is no {TUTORIALS}: the tutorials come with the sources of stepgen")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    with waiting.progress() as progress:
        for page in sorted(TUTORIALS.glob("*.md")):
            with tempfile.TemporaryDirectory() as place:
                made = run(
                    notebook(page.read_text(encoding="utf-8")),
                    Path(place),
                    progress=partial(progress, f"running {page.stem}"),
                )
            nbformat.write(made, folder / f"{page.stem}.ipynb")
            print(f"written to {folder / page.stem}.ipynb", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
