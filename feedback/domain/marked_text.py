"""Cut a text into the pieces that a page shows: plain, marked, and characters that would mislead a reader.

Offsets are code points, half-open, into the text exactly as stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

Span = tuple[int, int]

# Controls that turn the order of letters round, hide words or draw nothing. Line breaks and tabs are text, and so
# are joiners and the plain direction marks, which scripts need.
_MISLEADING: Final = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text; `control` names the character when the piece is one that must be shown by its name."""

    text: str
    is_marked: bool = False
    control: str = ""


def pieces(text: str, marks: Sequence[Span], *, within: Span | None = None) -> tuple[Piece, ...]:
    """Cut `text`, or the part of it `within` the span, at the edges of the marks and round misleading controls.

    Marks may overlap; what lies outside of the text is left out. The pieces' texts joined are the part.
    """
    first, last = within or (0, len(text))
    first, last = max(0, first), min(len(text), last)
    kept = [(max(first, start), min(last, end)) for start, end in marks if max(first, start) < min(last, end)]
    edges = sorted({first, last, *(edge for span in kept for edge in span)})
    found: list[Piece] = []
    for start, end in pairwise(edges):
        found += _named_controls(text[start:end], any(a <= start and end <= b for a, b in kept))
    return tuple(found)


def _named_controls(run: str, is_marked: bool) -> list[Piece]:
    found: list[Piece] = []
    position = 0
    for match in _MISLEADING.finditer(run):
        if match.start() > position:
            found.append(Piece(run[position : match.start()], is_marked))
        found.append(Piece(match.group(), is_marked, f"U+{ord(match.group()):04X}"))
        position = match.end()
    if position < len(run):
        found.append(Piece(run[position:], is_marked))
    return found


def excerpt(text: str, marks: Sequence[Span], *, longest: int = 480, context: int = 140) -> Span:
    """Return the part of a text to show: all of a short one, else the marks with some words round them.

    Without a mark it is the text's beginning. The edges lie between words where there are spaces.
    Raises: ValueError when `longest` is not positive.
    """
    if longest < 1:
        raise ValueError("an excerpt has at least one character")
    if len(text) <= longest:
        return 0, len(text)
    valid = [(start, end) for start, end in marks if 0 <= start < end <= len(text)]
    if not valid:
        return 0, _before_a_space(text, longest, 1)
    first, last = min(start for start, _ in valid), max(end for _, end in valid)
    start = max(0, first - context)
    end = min(len(text), last + context)
    if start:
        gap = text.find(" ", start, first)
        start = gap + 1 if gap >= 0 else start
    return start, end if end == len(text) else _before_a_space(text, end, last)


def _before_a_space(text: str, end: int, least: int) -> int:
    gap = text.rfind(" ", least, end)
    return gap if gap > 0 else end
