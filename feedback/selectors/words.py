"""Tell which words mean nearly the same, by the vectors of the bundled static model."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Final

import numpy as np

from feedback.clients.embedders.protocol import Vectors
from feedback.clients.embedders.registry import get_embedder

_FAR: Final = 0.3
_MOST_KEPT: Final = 20_000
_vectors: dict[str, Vectors] = {}
_lock: Final = Lock()


def near_words(words: Sequence[str], others: Sequence[str]) -> list[dict[str, float]]:
    """Return, for each word, the others whose cosine with it is at least 0.3.

    Vectors of words are kept, up to 20,000 of 256 numbers. The model knows English best.
    """
    if not words or not others:
        return [{} for _ in words]
    rows = _rows([*words, *others])
    cosines = rows[: len(words)] @ rows[len(words) :].T
    return [{others[int(i)]: float(row[i]) for i in np.flatnonzero(row >= _FAR)} for row in cosines]


def _rows(words: Sequence[str]) -> Vectors:
    with _lock:
        if len(_vectors) > _MOST_KEPT:
            _vectors.clear()
        missing = [word for word in dict.fromkeys(words) if word not in _vectors]
        if missing:
            _vectors.update(zip(missing, get_embedder("static").encode_passages(missing), strict=True))
        return np.stack([_vectors[word] for word in words])
