"""What judges a question beside a record looks like, whichever model is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core.errors import UpstreamUnavailable


class RerankerUnavailable(UpstreamUnavailable):
    """The model is not installed, not the one that was tested, or it failed."""

    code = "reranker_unavailable"


class Reranker(Protocol):
    """Reads a question and a passage together; a pair's score doesn't depend on the pairs beside it."""

    @property
    def name(self) -> str:
        """Return what the setting calls it."""
        ...

    @property
    def version(self) -> str:
        """Return a text that changes whenever the same pair could get another score."""
        ...

    def reads(self, language: str) -> bool:
        """Tell whether the model knows a language, given as ISO 639-1."""
        ...

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers the question, from 0 to 1, in their order.

        Raises: RerankerUnavailable.
        """
        ...
