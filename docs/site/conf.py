"""Settings of the site that `make docs` builds, with Sphinx, from the pages of this repository."""

from __future__ import annotations

import inspect
import posixpath
import pydoc
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]

project = "stepgen"
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**.md", "benchmarks/*.md"]
exclude_patterns = [".*", "build"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_heading_anchors = 4
myst_heading_slug_func = "stepgen.pages.data.anchor"
napoleon_google_docstring = False
autodoc_typehints = "none"  # Docstrings say types, with shapes.
autodoc_member_order = "bysource"

default_role = "code"  # What docstrings quote with one backtick.

html_title = "stepgen"
html_copy_source = False
html_theme = "furo"
html_show_copyright = False
html_show_search_summary = False  # a browser reads no other files of a folder
html_extra_path = ["index.html"]
html_static_path = ["wide.css"]
html_css_files = ["wide.css"]


def contents(overview: str) -> str:
    """The tree of pages: a part for each heading of the overview with links to pages."""
    _, *parts = re.split(r"^## (.*)$", overview, flags=re.MULTILINE)
    found = "\n```{toctree}\n:hidden:\ndocs/README.md\n```\n"
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        links = re.findall(r"\]\(([\w./-]+\.md)\)", body)
        if not links:  # such as to examples
            continue
        pages = "\n".join(posixpath.normpath(f"docs/{link}") for link in links)
        found += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n{pages}\n```\n"
    return found


def documented(line: re.Match[str]) -> str:
    """An entry of the list of names, as its documentation."""
    name = line[1]
    thing = pydoc.locate(name)
    if thing is None:
        raise ValueError(f"docs/api.md names {name}, which there is not")
    kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
    members = ["   :members:"] if kind == "class" else []
    lines = (f".. auto{kind}:: {name}", *members)
    return "\n".join(("```{eval-rst}", *lines, "```\n"))


def read(app: Sphinx, page: str, text: list[str]) -> None:
    """What the site has beyond the pages: the tree of contents, and docstrings."""
    if page == root_doc:
        text[0] += contents((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    if page == "docs/api":
        text[0] = re.sub(r"^- `(stepgen[\w.]+)`$", documented, text[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
