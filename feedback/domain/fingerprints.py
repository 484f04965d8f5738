"""Reduce texts to what a whole corpus is searched for near-duplicates by: an identity, hashed shingles, band keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from uuid import UUID

import numpy as np
from rensa import RMinHash

from feedback.domain.near_duplicates import SHORT_TOKENS

# Two texts share a key of 16 bands of 5 rows with probability 1 - (1 - s^5)^16 at similarity s: 0.998 at 0.8, 0.4 at 0.5.
BANDS: Final = 16
BAND_ROWS: Final = 5

_SEED: Final = 1337


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A text as a corpus compares it.

    `identity` is equal for equal words and differs between corpora. `shingles` are 64-bit hashes, ascending, and
    `bands` the 32-bit keys by which similar texts are found; both are empty for a text that only its equals are like.
    """

    identity: UUID
    shingles: tuple[int, ...]
    bands: tuple[int, ...]


def fingerprints(texts: Sequence[Sequence[str]], *, salts: Sequence[bytes], corpus: UUID) -> list[Fingerprint]:
    """Return the fingerprint of each text, given as its words.

    A text without words is like no other: its salt, which no other text has, stands for it. Signatures are R-MinHash's.

    Source: Dahlgaard, Knudsen and Thorup, Fast similarity sketching, FOCS 2017.
    """
    compared = [number for number, text in enumerate(texts) if len(text) > SHORT_TOKENS]
    hashed = dict(zip(compared, _shingle_hashes([texts[number] for number in compared]), strict=True))
    keys = dict(zip(compared, _band_keys(list(hashed.values()), corpus), strict=True))
    return [
        Fingerprint(_identity(text, salt, corpus), hashed.get(number, ()), keys.get(number, ()))
        for number, (text, salt) in enumerate(zip(texts, salts, strict=True))
    ]


def _identity(text: Sequence[str], salt: bytes, corpus: UUID) -> UUID:
    # No text holds a NUL.
    said = "\0".join(text).encode() if text else b"\0" + salt
    return UUID(bytes=blake2b(said, digest_size=16, key=corpus.bytes).digest())


@lru_cache(maxsize=200_000)
def _word_hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _shingle_hashes(texts: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Hash the runs of two words of each text, all at once; a run counts once, and the order of its words matters."""
    flat = np.array([_word_hash(word) for text in texts for word in text], dtype=np.uint64)
    # Fibonacci hashing of the first word, the second turned by 31 bits.
    mixed = flat[:-1] * np.uint64(0x9E3779B97F4A7C15) ^ (flat[1:] << np.uint64(31) | flat[1:] >> np.uint64(33))
    runs = mixed.view(np.int64).tolist()
    found, start = [], 0
    for text in texts:
        found.append(tuple(sorted(set(runs[start : start + len(text) - 1]))))
        start += len(text)
    return found


def _band_keys(sets: Sequence[tuple[int, ...]], corpus: UUID) -> list[tuple[int, ...]]:
    """Return the keys of each set's bands, as 32-bit integers that differ between bands, corpora and algorithms."""
    if not sets:
        return []
    flat = [value % (1 << 64) for each in sets for value in each]
    offsets = np.cumsum([0, *map(len, sets)]).tolist()
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(flat, offsets, BANDS * BAND_ROWS, _SEED)
    signatures = np.array(matrix.to_rows(), dtype=np.uint64).reshape(len(sets), BANDS, BAND_ROWS)
    salt = corpus.int % (1 << 64) ^ RMinHash.ALGORITHM_VERSION
    keys = np.arange(BANDS, dtype=np.uint64)[None, :] + np.uint64(salt)
    for row in range(BAND_ROWS):
        keys = (keys ^ signatures[:, :, row]) * np.uint64(0xBF58476D1CE4E5B9)
        keys ^= keys >> np.uint64(29)
    return [tuple(row) for row in (keys >> np.uint64(32)).astype(np.uint32).view(np.int32).tolist()]
