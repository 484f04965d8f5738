"""What judges a claim beside a text looks like, whichever model is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from answering.domain.entailment import EntailmentVerdict, Pair
from core.errors import UpstreamUnavailable


class EntailmentUnavailable(UpstreamUnavailable):
    """The model is not there, is not one that judges entailment, or failed."""

    code = "entailment_unavailable"


class Entailment(Protocol):
    """Says how likely a text bears a claim out; a pair's verdict doesn't depend on the pairs beside it."""

    @property
    def name(self) -> str:
        """Return what answers call it."""
        ...

    def tokens_for(self, pair: Pair) -> int:
        """Return about how many tokens of a run's budget a verdict costs; 0 on this machine."""
        ...

    def judge(self, pairs: Sequence[Pair], *, seconds: float) -> list[EntailmentVerdict | None]:
        """Return a verdict for each pair, in their order; None where there is none within the time or at all.

        Raises: EntailmentUnavailable when it can judge nothing.
        """
        ...
