"""Exact rankings to hold a search engine against: BM25 over its own tokens, and how much of the top it found."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from feedback.domain.bm25 import idf, term_weight  # the project is not installed, the path comes first

Term = TypeVar("Term", bound=Hashable)

# Engines keep weights in 32 bits, or less: records whose scores differ by less than this are level.
LEVEL = 1e-4


class ExactBM25(Generic[Term]):
    """Scores every unit of text by the formula of `feedback.domain.bm25` in double precision.

    A unit is a document, or a passage of one: the document then scores its best passage. Numbers and mean length
    count units.
    """

    def __init__(self, units: Iterable[tuple[str, Mapping[Term, int]]]) -> None:
        """Take (document id, frequency of each term) of every unit."""
        self._documents: list[str] = []
        self._lengths: list[int] = []
        self._postings: dict[Term, list[tuple[int, int]]] = defaultdict(list)
        for number, (document, frequencies) in enumerate(units):
            self._documents.append(document)
            self._lengths.append(sum(frequencies.values()))
            for term, frequency in frequencies.items():
                self._postings[term].append((number, frequency))
        self._mean = sum(self._lengths) / len(self._lengths) if self._lengths else 0.0

    def scores(self, query: Iterable[Term]) -> dict[str, float]:
        """Return the score of each document that holds a term of the query; a repeated term counts as often."""
        units: dict[int, float] = defaultdict(float)
        for term, repeats in Counter(query).items():
            postings = self._postings.get(term, ())
            weight = repeats * idf(len(self._documents), len(postings))
            for number, frequency in postings:
                units[number] += weight * term_weight(frequency, self._lengths[number], self._mean)
        best: dict[str, float] = {}
        for number, score in units.items():
            document = self._documents[number]
            best[document] = max(score, best.get(document, score))
        return best


def overlap(found: Sequence[str], scores: Mapping[str, float], *, k: int = 10) -> float | None:
    """Return the share of the exact top k that was found, in [0, 1]; None where the exact list is empty.

    A record that is level with the k-th counts as one of the top: among equal scores each engine has its own
    order. A record that was found twice counts once.
    """
    ranked = sorted((score for score in scores.values() if score > 0), reverse=True)[:k]
    if not ranked:
        return None
    floor = ranked[-1] * (1 - LEVEL)
    right = sum(scores.get(key, 0.0) >= floor for key in dict.fromkeys(found[:k]))
    return min(right, len(ranked)) / len(ranked)
