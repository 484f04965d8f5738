"""Keep a run inside what it may spend; a run that has spent it ends with a typed outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

_NO_CALLS: Final[Mapping[str, int]] = MappingProxyType({})


class BudgetExhausted(Exception):
    """The run asked for more than is left; nothing of the refused charge was booked."""

    def __init__(self, *, resource: str, wanted: float, limit: float) -> None:
        super().__init__(f"the run used up its budget: {resource} {wanted:g} of {limit:g}")
        self.resource = resource
        self.wanted = wanted
        self.limit = limit


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What one run may spend."""

    steps: int = 8
    tokens: int = 8000
    wall_seconds: float = 30.0
    calls_per_tool: int = 3
    repairs: int = 1
    claims: int = 12
    evidence: int = 8


@dataclass(frozen=True, slots=True)
class Budget:
    """A run's limits and what it has spent so far.

    `started_at` and every time passed later are seconds of one monotonic clock. `rerank_pairs` is shown and not limited:
    what reads them is bounded itself, and the time that it takes counts.
    """

    limits: BudgetLimits
    started_at: float
    steps: int = 0
    tokens: int = 0
    repairs: int = 0
    claims: int = 0
    evidence: int = 0
    rerank_pairs: int = 0
    wall_seconds: float = 0.0
    tool_calls: Mapping[str, int] = field(default_factory=lambda: _NO_CALLS)

    def charge(
        self,
        *,
        at: float,
        steps: int = 0,
        tokens: int = 0,
        tool: str | None = None,
        repairs: int = 0,
        claims: int = 0,
        evidence: int = 0,
        rerank_pairs: int = 0,
    ) -> Budget:
        """Return the budget after a charge at time `at`; called with a time alone it only looks at the clock.

        Raises: BudgetExhausted for the first resource that doesn't suffice; ValueError for a negative charge.
        """
        if min(steps, tokens, repairs, claims, evidence, rerank_pairs) < 0:
            raise ValueError("a charge can't be negative")
        calls = dict(self.tool_calls)
        if tool is not None:
            calls[tool] = calls.get(tool, 0) + 1
        after = replace(
            self,
            steps=self.steps + steps,
            tokens=self.tokens + tokens,
            repairs=self.repairs + repairs,
            claims=self.claims + claims,
            evidence=self.evidence + evidence,
            rerank_pairs=self.rerank_pairs + rerank_pairs,
            wall_seconds=max(self.wall_seconds, at - self.started_at),
            tool_calls=MappingProxyType(calls),
        )
        limits = self.limits
        for resource, wanted, limit in (
            ("wall_seconds", after.wall_seconds, limits.wall_seconds),
            ("steps", after.steps, limits.steps),
            ("tokens", after.tokens, limits.tokens),
            (f"calls of {tool}", calls.get(tool, 0) if tool else 0, limits.calls_per_tool),
            ("repairs", after.repairs, limits.repairs),
            ("claims", after.claims, limits.claims),
            ("evidence", after.evidence, limits.evidence),
        ):
            if wanted > limit:
                raise BudgetExhausted(resource=resource, wanted=wanted, limit=limit)
        return after

    def calls_left(self, tool: str) -> int:
        """Return how often a tool may still be called."""
        return max(0, self.limits.calls_per_tool - self.tool_calls.get(tool, 0))

    def seconds_left(self, *, at: float) -> float:
        """Return the time that is left, never below zero: the longest timeout worth giving to a call."""
        return max(0.0, self.limits.wall_seconds - (at - self.started_at))
