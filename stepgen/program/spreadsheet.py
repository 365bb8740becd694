"""Tables of numbers from ``.csv`` files, as spreadsheets and numpy write them."""

from __future__ import annotations

import codecs
import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stepgen.ir.arguments import shown

DELIMITERS = ("\t", ";", ",")
"""Between the columns; spreadsheets take the semicolon where the comma is in numbers."""

_BEGINS = frozenset("0123456789+-.")
"""What a number begins with, and a name does not."""


def read(path: Path) -> npt.NDArray[np.float64]:
    """The numbers of a file, row by row.

    A byte order mark, empty lines, rows and columns without contents, what follows a ``#``, and one
    line of names at the top are passed over.

    Parameters
    ----------
    path : Path
        Columns are separated by commas, semicolons or tabs.

    Returns
    -------
    float64 array of shape [rows, columns]

    Raises
    ------
    OSError
        If the file can't be read.
    ValueError
        If it holds no table; the message is a sentence that names the line and the column.
    """
    rows = _rows(_text(path.read_bytes()))
    if rows and not any(cell[:1] in _BEGINS for cell in rows[0][1]):
        del rows[0]
    if not rows:
        raise ValueError("it holds no numbers")
    first, columns = rows[0][0], len(rows[0][1])
    numbers = np.empty((len(rows), columns))
    for row, (line, cells) in enumerate(rows):
        if len(cells) != columns:
            raise ValueError(
                f"line {line} has {_columns(len(cells))}, but line {first} has {columns}"
            )
        for column, cell in enumerate(cells):
            number = _number(cell)
            if number is None:
                what = f"{shown(cell)}, which is not a number" if cell else "no number"
                raise ValueError(f"line {line}, column {column + 1} holds {what}")
            numbers[row, column] = number
    return numbers


def _text(data: bytes) -> str:
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """The cells of each line that has any, without empty ones at its end, by number of the line."""
    lines = [line.partition("#")[0] for line in text.splitlines()]
    last = next((line for line in reversed(lines) if line.strip(" \t;,")), "")
    delimiter = next((d for d in DELIMITERS if d in last), ",")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    rows = []
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            while cells and not cells[-1]:
                del cells[-1]
            if cells:
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    return rows


def _number(cell: str) -> float | None:
    if not cell.isascii() or "_" in cell:  # which Python takes, but no other reader
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _columns(count: int) -> str:
    return f"{count} column" if count == 1 else f"{count} columns"
