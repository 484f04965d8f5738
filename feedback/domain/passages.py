"""Cut a text into the passages that are indexed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from feedback.domain.text import Span, sentences

DEFAULT_MAX_CHARACTERS: Final = 1_200

_PARAGRAPH_BREAK: Final = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+|\r\n[^\S\n]*(?:\r\n[^\S\n]*)+|\u2029")


def split(text: str, *, max_characters: int = DEFAULT_MAX_CHARACTERS) -> list[Span]:
    """Cut at paragraphs, then sentences, then words.

    The spans are in order, are disjoint and cover all that isn't blank. A text that fits is one span over
    all of it; a blank one has none. No span is longer than `max_characters`, and none begins or ends with
    white space unless it is the whole text.

    Raises: ValueError if max_characters < 1.
    """
    if max_characters < 1:
        raise ValueError("max_characters must be at least 1")
    if not text or text.isspace():
        return []
    if len(text) <= max_characters:
        return [Span(0, len(text))]
    return list(_packed(text, max_characters))


def index_hash(title: str, passage_text: str) -> bytes:
    """Return what a passage's vector is keyed by: SHA-256 over title, NUL and text."""
    return sha256(title.encode() + b"\0" + passage_text.encode()).digest()


def _packed(text: str, limit: int) -> Iterator[Span]:
    """Fill passages with whole paragraphs while they fit; a passage that is a third full ends with one."""
    start = end = -1
    for paragraph in _paragraphs(text):
        fits = start >= 0 and paragraph.end - start <= limit
        if start >= 0 and not fits and end - start >= limit // 3:
            yield Span(start, end)
            start = -1
        for piece in _pieces(text, paragraph, limit):
            if start >= 0 and piece.end - start > limit:
                yield Span(start, end)
                start = -1
            if start < 0:
                start = piece.start
            end = piece.end
    if start >= 0:
        yield Span(start, end)


def _paragraphs(text: str) -> Iterator[Span]:
    position = 0
    for gap in _PARAGRAPH_BREAK.finditer(text):
        yield from _trimmed(text, position, gap.start())
        position = gap.end()
    yield from _trimmed(text, position, len(text))


def _pieces(text: str, paragraph: Span, limit: int) -> Iterator[Span]:
    if paragraph.end - paragraph.start <= limit:
        yield paragraph
        return
    position = 0
    body = text[paragraph.start : paragraph.end]
    # Sentences may leave characters out; each piece therefore runs from the end of the one before it.
    for sentence in [*sentences(body), Span(len(body), len(body))]:
        end = max(sentence.end, position)
        for piece in _trimmed(text, paragraph.start + position, paragraph.start + end):
            yield from _words(text, piece, limit)
        position = end


def _words(text: str, piece: Span, limit: int) -> Iterator[Span]:
    start = piece.start
    while piece.end - start > limit:
        end = start + limit
        if not text[end].isspace():
            # A single word may fill a passage: then it is cut where the passage is full.
            end = next((i for i in range(end, start + limit // 2, -1) if text[i - 1].isspace()), end)
        yield from _trimmed(text, start, end)
        start = end
        while start < piece.end and text[start].isspace():
            start += 1
    yield from _trimmed(text, start, piece.end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Span(start, end)
