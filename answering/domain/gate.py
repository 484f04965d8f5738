"""Decide at gate 1 whether the evidence discusses the question, and if not, what it is that the records lack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from answering.domain.outcome import Gate, RefusalReason

# How far the best record within the filters must bear out what the best of the corpus does. Found on questions about
# segments of one public survey (benchmarks/hard_questions.py, seeds 100 to 103, which are not reported).
LEAST_SHARE: Final = 0.35
# A subject that the corpus itself bears out no further than this is not one that filters keep away.
_BORNE_OUT: Final = 0.15
# The share of a question's words, by idf, that the corpus holds when the question is about its world at all.
_OF_THIS_WORLD: Final = 0.2


@dataclass(frozen=True, slots=True)
class Discussion:
    """How far the records discuss a question, all measures in [0, 1].

    `relevance` is that of the evidence, `anywhere` that of the best records without any filter, `borne_out` how far
    these bear out what is asked about (`bearing`), and `share` what part of that the evidence does; without filters
    there is no difference. `holds_names`: the corpus holds what the question names. `supposes`: the question takes an
    event for granted. `known` is the share of its words that any record holds.
    """

    relevance: float
    anywhere: float
    borne_out: float
    share: float
    holds_names: bool = False
    supposes: bool = False
    known: float = 0.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """What stopped a question at gate 1, and by how much. `is_scope`: the filters do; else it is a premise or the topic."""

    reason: RefusalReason
    gate: Gate
    value: float
    floor: float
    is_scope: bool


def judge(found: Discussion, *, floor: float) -> Stopped | None:
    """Return what stops a question, None when nothing does.

    Off topic is what the corpus as a whole does not discuss. Where it does, but not within the filters, or where it
    holds what the question names and nothing of what is said of it, the evidence is insufficient.
    """
    is_elsewhere = found.anywhere >= floor or found.borne_out >= _BORNE_OUT
    is_scope = found.share < LEAST_SHARE and is_elsewhere
    if found.relevance >= floor:
        if not is_scope:
            return None
        return Stopped(RefusalReason.INSUFFICIENT_EVIDENCE, Gate.SCOPE, round(found.share, 4), LEAST_SHARE, True)
    is_scope = is_scope or found.anywhere >= floor
    is_premise = found.holds_names or (found.supposes and found.known >= _OF_THIS_WORLD)
    reason = RefusalReason.INSUFFICIENT_EVIDENCE if is_scope or is_premise else RefusalReason.OFF_TOPIC
    return Stopped(reason, Gate.EVIDENCE_RELEVANCE, found.relevance, floor, is_scope)
