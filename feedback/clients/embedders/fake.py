"""An embedder that answers what a test wrote down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from feedback.clients.embedders.protocol import Vectors, unit_rows


class ScriptedEmbedder:
    """Gives each known text its vector and every other text the first axis; `fault` is raised instead.

    `calls` holds the texts of each call, in order.
    """

    name = "scripted"

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float]] | None = None,
        *,
        dimensions: int = 8,
        version: str = "1",
        fault: Exception | None = None,
        unread: Sequence[str] = (),
    ) -> None:
        self.dimensions = dimensions
        self.version = version
        self.fault = fault
        self.unread = frozenset(unread)
        self.calls: list[list[str]] = []
        self._vectors = dict(vectors or {})

    def reads(self, text: str) -> bool:
        """Say yes, unless the text is among `unread`."""
        return text not in self.unread

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return the scripted rows, scaled to length 1."""
        self.calls.append(list(texts))
        if self.fault is not None:
            raise self.fault
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            scripted = self._vectors.get(text, ())
            rows[row, : len(scripted)] = scripted
        return unit_rows(rows)

    def encode_query(self, text: str) -> Vectors:
        """Return the scripted vector, scaled to length 1."""
        vector: Vectors = self.encode_passages([text])[0]
        return vector
