"""An entailment model that answers what a test wrote down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from answering.domain.entailment import EntailmentVerdict, Pair


class ScriptedEntailment:
    """Gives each known claim its probability, and every other `default`; None is no verdict. `fault` is raised instead.

    `calls` holds the pairs of each call, `before` is called at each.
    """

    def __init__(
        self,
        probabilities: Mapping[str, float | None] | None = None,
        *,
        default: float | None = 1.0,
        name: str = "scripted",
        tokens: int = 0,
        fault: Exception | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.calls: list[list[Pair]] = []
        self._probabilities = dict(probabilities or {})
        self._default = default
        self._tokens = tokens
        self._fault = fault
        self._before = before

    def tokens_for(self, pair: Pair) -> int:
        """Return the scripted cost."""
        return self._tokens

    def judge(self, pairs: Sequence[Pair], *, seconds: float) -> list[EntailmentVerdict | None]:
        """Return the scripted verdicts."""
        self.calls.append(list(pairs))
        if self._before is not None:
            self._before()
        if self._fault is not None:
            raise self._fault
        said = [self._probabilities.get(pair.claim, self._default) for pair in pairs]
        return [None if chance is None else EntailmentVerdict(chance, tokens=self._tokens) for chance in said]
