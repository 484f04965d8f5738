"""Find the values of a corpus's vocabulary that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from answering.domain.planner.words import (
    APOSTROPHES,
    SOURCE_PATTERNS,
)
from feedback.domain.facets import Scalar, facet_text, normalised
from feedback.domain.filters import FacetVocabulary


def named(question: str, values: Iterable[str]) -> tuple[str, ...]:
    """List the values that a question names as whole words; short ones only as they are written."""
    question = question.translate(APOSTROPHES)
    lowered = question.casefold()
    found: list[tuple[int, str]] = []
    listed = list(values)
    if not listed:
        return ()
    # Thousands of accounts are compared with each question: all at once, and no stored value holds a NUL.
    joined = "\0".join(listed).translate(APOSTROPHES)
    for value, written, folded in zip(listed, joined.split("\0"), joined.casefold().split("\0"), strict=True):
        if len(value) < 2 or folded not in lowered:
            continue
        loose = len(value) > 4 or any(c.isdigit() for c in value)
        match = re.search(rf"(?<!\w){re.escape(written)}(?!\w)", question, re.IGNORECASE if loose else 0)
        if match:
            found.append((match.start(), value))
    longest = [v for at, v in sorted(found) if not any(v != w and v.casefold() in w.casefold() for _, w in found)]
    return tuple(longest)


def named_sources(question: str, declared: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Find the sources that a question is confined to ("in reviews"); "complaints about x" confines to none."""
    found: list[str] = []
    spans: list[tuple[int, int]] = []
    for source in declared:
        pattern = SOURCE_PATTERNS.get(source)
        match = pattern.search(question) if pattern else None
        if match and not (
            source == "complaint" and re.match(r"\s+(?:about|regarding|on|über|sobre)\b", question[match.end() :])
        ):
            found.append(source)
            spans.append(match.span())
    return (tuple(found), spans) if len(declared) > 1 else ((), [])


def named_themes(question: str, declared: Sequence[str]) -> tuple[str, ...]:
    """Find the themes that a question names as themes: theme "Timeliness of care"."""
    if not re.search(r"\b(?:theme|topic|category|thema|kategorie|tema|categoría|thème)\b", question, re.IGNORECASE):
        return ()
    return named(question, declared)


_FISCAL_YEAR: Final = re.compile(
    r"\b(?:FY|fiscal(?:\s+year)?)\s*[-’']?\s*(?P<named>\d{4}|\d{2})\b|\b(?P<bare>(?:19|20)\d{2})\b", re.IGNORECASE
)
_FISCAL_QUARTER: Final = re.compile(
    r"\b(?:fiscal\s+)?(?:Q(?P<digit>[1-4])|(?P<word>first|second|third|fourth)\s+(?:fiscal\s+)?quarter)\b",
    re.IGNORECASE,
)
_QUARTERS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_FORM: Final = re.compile(r"\b(?:10-[KQ]|8-K|20-F|6-K)(?:/A)?(?=s?\b)")


def named_in_grid(
    question: str, declared: Mapping[str, FacetVocabulary]
) -> tuple[dict[str, tuple[Scalar, ...]], list[tuple[int, int]]]:
    """Find the values of the corpus's grid that a question names, and the stretches that say when.

    Names of companies and forms stay in what is searched for: records hold them too.
    """
    found: dict[str, tuple[Scalar, ...]] = {}
    spans: list[tuple[int, int]] = []
    for name, facet in declared.items():
        if facet.normaliser == "fiscal_year":
            years = list(_FISCAL_YEAR.finditer(question))
            values: list[Scalar] = [normalised(match["named"] or match["bare"], "fiscal_year") for match in years]
            spans += [match.span() for match in years]
        elif facet.normaliser == "fiscal_quarter":
            quarters = list(_FISCAL_QUARTER.finditer(question))
            values = [int(match["digit"] or _QUARTERS[match["word"].lower()]) for match in quarters]
            spans += [match.span() for match in quarters]
        elif facet.values is not None:
            values = list(named(question, facet.values))
        elif name == "content_type":
            values = [match.group() for match in _FORM.finditer(question)]
        else:
            values = []
        allowed = [value for value in values if facet.values is None or facet_text(value) in facet.values]
        if allowed:
            found[name] = tuple(dict.fromkeys(allowed))
    return found, spans
