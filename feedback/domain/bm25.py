"""Score by Okapi BM25: the formula of the lexical arm, and a brute-force ranking to check it against.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the idf is
the variant that is never negative (as in Lucene).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

DEFAULT_K1 = 1.2
DEFAULT_B = 0.75


def idf(n: int, df: int) -> float:
    """Return ln(1 + (n - df + 0.5) / (df + 0.5)) for a term in `df` of `n` documents; it is positive.

    Raises: ValueError unless 0 <= df <= n.
    """
    if not 0 <= df <= n:
        raise ValueError("df must lie between 0 and n")
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def term_weight(tf: int, length: int, average_length: float, *, k1: float = DEFAULT_K1, b: float = DEFAULT_B) -> float:
    """Return the saturated, length-normalised frequency of a term, in [0, k1 + 1).

    Lengths count terms. An average of 0 means no normalisation.
    """
    if tf <= 0:
        return 0.0
    relative_length = length / average_length if average_length > 0 else 1.0
    return tf * (k1 + 1) / (tf + k1 * (1 - b + b * relative_length))


def contributions(
    query: Sequence[str],
    document: Sequence[str],
    *,
    document_frequencies: Mapping[str, int],
    n: int,
    average_length: float,
    k1: float = DEFAULT_K1,
    b: float = DEFAULT_B,
) -> dict[str, float]:
    """Return what each term of the query adds to one document's score; absent terms are left out.

    A term that the query repeats counts as often. The sum is the score.
    """
    frequencies = Counter(document)
    return {
        term: repeats
        * idf(n, document_frequencies[term])
        * term_weight(frequencies[term], len(document), average_length, k1=k1, b=b)
        for term, repeats in Counter(query).items()
        if frequencies[term] and term in document_frequencies
    }


def score_all(
    query: Sequence[str],
    documents: Mapping[Key, Sequence[str]],
    *,
    k1: float = DEFAULT_K1,
    b: float = DEFAULT_B,
) -> list[tuple[Key, float]]:
    """Score every document and return those above zero, best first; ties keep the mapping's order."""
    frequencies = Counter(term for tokens in documents.values() for term in set(tokens))
    total = sum(len(tokens) for tokens in documents.values())
    average_length = total / len(documents) if documents else 0.0
    scored = [
        (
            key,
            math.fsum(
                contributions(
                    query,
                    tokens,
                    document_frequencies=frequencies,
                    n=len(documents),
                    average_length=average_length,
                    k1=k1,
                    b=b,
                ).values()
            ),
        )
        for key, tokens in documents.items()
    ]
    return sorted(((key, score) for key, score in scored if score > 0), key=lambda pair: -pair[1])
