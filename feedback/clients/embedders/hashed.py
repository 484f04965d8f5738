"""Embed by hashing character n-grams: no model, the same vectors on every machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from zlib import crc32

import numpy as np

from feedback.clients.embedders.protocol import Vectors, unit_rows

_WHITE_SPACE: Final = re.compile(r"\s+")
_BATCH: Final = 256


class HashedEmbedder:
    """For reproducible tests: near in spelling is near in space, and nothing more.

    Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009 (signed hashing).
    """

    name = "hashed"

    def __init__(self, *, dimensions: int = 128, seed: int = 1337, ngram_size: int = 4) -> None:
        if dimensions < 1 or ngram_size < 1:
            raise ValueError("dimensions and ngram_size must be at least 1")
        self.dimensions = dimensions
        self.version = f"crc32-{ngram_size}grams-{dimensions}d-seed{seed}"
        self._seed = seed & 0xFFFF_FFFF
        self._ngram_size = ngram_size

    def reads(self, text: str) -> bool:
        """Say yes: spelling is spelling in any script."""
        return True

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text."""
        rows = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH):
            rows[start : start + _BATCH] = self._counts(texts[start : start + _BATCH])
        return unit_rows(rows)

    def encode_query(self, text: str) -> Vectors:
        """Return the question's unit vector."""
        vector: Vectors = self.encode_passages([text])[0]
        return vector

    def _counts(self, texts: Sequence[str]) -> Vectors:
        hashes: list[int] = []
        lengths: list[int] = []
        for text in texts:
            mine = [crc32(gram.encode(errors="replace"), self._seed) for gram in self._grams(text)]
            hashes += mine
            lengths.append(len(mine))
        hashed = np.array(hashes, np.int64)
        cells = np.repeat(np.arange(len(texts)), lengths) * self.dimensions + hashed % self.dimensions
        # A bit that the bucket doesn't depend on gives the sign: collisions cancel out on average.
        signs = np.where(hashed >> 31 & 1, 1.0, -1.0)
        counts = np.bincount(cells, weights=signs, minlength=len(texts) * self.dimensions)
        return counts.reshape(len(texts), self.dimensions).astype(np.float32)

    def _grams(self, text: str) -> list[str]:
        words = _WHITE_SPACE.sub(" ", text.casefold()).strip()
        if not words:
            return []
        padded, size = f" {words} ", self._ngram_size
        return [padded[i : i + size] for i in range(max(1, len(padded) - size + 1))]
