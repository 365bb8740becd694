"""The claims about figures, and pages that contain them between marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepgen.ir.errors import StepError
from stepgen.study.claims import BYTES, table
from stepgen.study.figure import Figure
from stepgen.study.point import PUBLISHED, VIEWS
from stepgen.study.report import Outcome, origin, signed
from stepgen.tools.atomic import atomic_file

SUMMARY = "all"
"""Name of the claims over all figures."""

END = "<!-- end -->"

Claims = Mapping[str, Sequence[str]]
"""Lines of markdown by figure, over all figures under `SUMMARY`."""


def names(figures: Sequence[Figure], views: Sequence[str]) -> list[str]:
    """The names under which these figures have claims.

    Raises
    ------
    StepError
        If not all views are asked for.
    """
    if set(views) != set(VIEWS):
        raise StepError("claims compare the views, so they need --view both")
    compared = [f for f in figures if PUBLISHED in f.views]
    return [SUMMARY] * (len(compared) > 1) + [f.name for f in figures if f.claims is not None]


def claims(outcomes: Sequence[Outcome]) -> Claims:
    """The claims about results in both views."""
    compared = [outcome for outcome in outcomes if PUBLISHED in outcome.results]
    found = {SUMMARY: list(_summary(compared))} if len(compared) > 1 else {}
    for outcome in outcomes:
        if outcome.figure.claims is not None:
            found[outcome.figure.name] = list(outcome.figure.claims(outcome.results))
    return found


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Comparisons with published numbers, figure by figure."""
    rows = []
    for outcome in outcomes:
        results = outcome.results[PUBLISHED]
        origins = [f"{n} {what}".strip() for what, n in Counter(map(origin, results)).items()]
        same = [r.error(n) == 0 for r in results for n in BYTES if r.error(n) is not None]
        errors = [e for r in results if (e := r.error("cycles")) is not None]
        rows.append(
            (
                outcome.figure.name,
                ", ".join(origins),
                f"{sum(same)} of {len(same)}" if same else None,
                len(errors) or None,
                signed(max(errors, key=abs)) if errors else None,
            )
        )
    heads = ("figure", "points by input", "published bytes that are equal", "published cycles")
    yield from table((*heads, "largest error"), rows)


def marked(found: Claims) -> str:
    """Claims as text with marks, for a page."""
    blocks = ("\n".join([_start(name), *lines, END]) for name, lines in found.items())
    return "\n\n".join(blocks)


def _start(name: str) -> str:
    return f"<!-- stepgen figure {name} -->"


@dataclass(frozen=True)
class Page:
    """A markdown page with marks for some figures.

    Parameters
    ----------
    path : Path
    text : str
    """

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path, names: Sequence[str]) -> Page:
        """A page that has marks for all of `names`.

        Raises
        ------
        StepError
            If it can't be read, or a mark is missing or there twice.
        """
        try:
            page = cls(path, path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StepError(f"can't read the page {path}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise StepError(f"can't read the page {path}: it is not text") from None
        for name in names:
            if len(page._block(name).findall(page.text)) != 1:
                raise StepError(f"{path} needs one block from {_start(name)} to {END}")
        return page

    def lines(self, name: str) -> list[str]:
        """The lines between the marks of a figure."""
        (found,) = self._block(name).findall(self.text)
        return str(found).splitlines()

    def write(self, found: Claims) -> None:
        """Write claims between their marks, in the file too.

        Raises
        ------
        StepError
            If the file can't be written.
        """
        text = self.text
        for name, lines in found.items():
            start, end = self._block(name).search(text).span(1)  # type: ignore[union-attr]
            text = text[:start] + "".join(f"{line}\n" for line in lines) + text[end:]
        with atomic_file(self.path) as place:
            place.write_text(text, encoding="utf-8")

    @staticmethod
    def _block(name: str) -> re.Pattern[str]:
        return re.compile(f"^{re.escape(_start(name))}\n(.*?)^{END}$", re.MULTILINE | re.DOTALL)
