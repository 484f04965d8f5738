"""A reranker that answers what a test wrote down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class ScriptedReranker:
    """Gives each known passage its score and every other 0; `fault` is raised instead.

    `calls` holds the question and the passages of each call; `before_each` is called with each passage.
    """

    name = "cross-encoder"

    def __init__(
        self,
        scores: Mapping[str, float] | None = None,
        *,
        version: str = "scripted",
        languages: Sequence[str] = ("en", "und"),
        fault: Exception | None = None,
        before_each: Callable[[str], None] | None = None,
    ) -> None:
        self.version = version
        self.fault = fault
        self.calls: list[tuple[str, list[str]]] = []
        self._scores = dict(scores or {})
        self._languages = frozenset(languages)
        self._before_each = before_each

    def reads(self, language: str) -> bool:
        """Say yes to the scripted languages."""
        return language in self._languages

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return the scripted scores."""
        self.calls.append((question, list(passages)))
        if self.fault is not None:
            raise self.fault
        if self._before_each is not None:
            for passage in passages:
                self._before_each(passage)
        return [self._scores.get(passage, 0.0) for passage in passages]
