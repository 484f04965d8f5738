"""What turns texts into vectors looks like, whichever model is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from core.errors import UpstreamUnavailable

Vectors: TypeAlias = npt.NDArray[np.float32]


class EmbedderUnavailable(UpstreamUnavailable):
    """The model is not installed, not the one that was tested, or not reachable."""

    code = "embedder_unavailable"


class Embedder(Protocol):
    """Turns texts into unit vectors; a text's vector does not depend on the texts beside it."""

    @property
    def name(self) -> str:
        """Return what the setting calls it."""
        ...

    @property
    def version(self) -> str:
        """Return a text that changes whenever the same text could get another vector."""
        ...

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        ...

    def reads(self, text: str) -> bool:
        """Tell whether the model knows the script of a text; the vector of one that it doesn't know means nothing."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, shape (len(texts), dimensions); see `unit_rows` for a blank text.

        Raises: EmbedderUnavailable, UpstreamTimedOut.
        """
        ...

    def encode_query(self, text: str) -> Vectors:
        """Return the question's unit vector, shape (dimensions,). Raises as `encode_passages`."""
        ...


def unit_rows(rows: npt.NDArray[np.floating]) -> Vectors:
    """Scale each row to length 1; a row of zeros becomes the first axis.

    A blank text has to have some direction: the cosine of a zero vector is undefined, and an index leaves
    such a vector out.
    """
    scaled = np.array(rows, dtype=np.float32)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    blank = ~(norms[:, 0] > 1e-12)
    scaled /= np.where(blank[:, None], 1, norms)
    scaled[blank] = 0
    scaled[blank, 0] = 1
    return scaled
