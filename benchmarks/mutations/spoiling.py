"""What the rules share: the spoiled draft, and the parts of a good one that a rule may touch."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from answering.domain.claims import Citation, Claim, ClaimKind, Draft, Evidence
from answering.domain.grounding.verdicts import MeasureResult
from benchmarks.mutations.drafts import Built, Corpus
from feedback.domain.text import content_tokens, sentences


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A draft with one claim that a strict reader rejects: which, and what was done to it.

    `question` and the window are set where only they show that the claim is wrong.
    """

    kind: str
    draft: Draft
    evidence: tuple[Evidence, ...]
    measures: dict[int, MeasureResult]
    claim_id: int
    note: str
    question: str | None = None
    occurred_from: datetime | None = None
    occurred_to: datetime | None = None

    @property
    def claim(self) -> Claim:
        """Return the claim that was spoiled."""
        return next(c for c in self.draft.claims if c.id == self.claim_id)


Item = TypeVar("Item")
Rule = Callable[[Built, Corpus, random.Random], Spoiled | None]

# Words with a capital of their own that open a sentence of the drafts.
_NAMES: Final = frozenset(
    """thistle adeyemi plus pemberton loft whitcombe pryce two harbour oakfield hargreave siddiqui marlow castellan st
    byrne mukherjee fenwick redwood okafor café cafe praxis kita hostal haushalt kowalczyk corrib imani kestrel lockhart
    drummond nolan juniper wren odd bertie tischlerei moss ballyvaughan joss femi tolland quill ord voiceover academia
    bar studio halloween larkbasket bank pip hearth tern""".split()
)
_SPOKEN: Final = frozenset(
    "seit laut auch nach bei wegen der die das ein eine den dem schon trotz im am zum für und".split()
)


def spoiled(kind: str, good: Built, claim: Claim, note: str, **changes: object) -> Spoiled:
    """Put the claim in the place of the one with its number, or at the end when none has it."""
    claims = tuple(claim if c.id == claim.id else c for c in good.draft.claims)
    if all(c.id != claim.id for c in good.draft.claims):
        claims = (*claims, claim)
    whole = Spoiled(
        kind=kind,
        draft=replace(good.draft, claims=claims),
        evidence=tuple(good.evidence),
        measures=dict(good.measures),
        claim_id=claim.id,
        note=note,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]  # the names of its fields


def reworded(kind: str, good: Built, claim: Claim, text: str, note: str | None = None) -> Spoiled:
    """Give the claim another text."""
    return spoiled(kind, good, replace(claim, text=text), note or f"{claim.text!r} -> {text!r}")


def claims_in_turn(good: Built, rng: random.Random, *kinds: ClaimKind) -> Iterator[Claim]:
    """Yield the draft's claims of these kinds (statements, unless others are named) in a random order."""
    wanted = kinds or (ClaimKind.STATEMENT,)
    found = [c for c in good.draft.claims if c.kind in wanted]
    rng.shuffle(found)
    yield from found


def evidence_by_id(good: Built) -> dict[str, Evidence]:
    """Return the draft's evidence by citation id."""
    return {e.citation_id: e for e in good.evidence}


def cited(good: Built, claim: Claim) -> list[Evidence]:
    """Return the records that the claim cites, each once."""
    by_id = evidence_by_id(good)
    return [by_id[i] for i in dict.fromkeys(c.evidence_id for c in claim.citations)]


def cited_text(claim: Claim) -> str:
    """Return the words that the claim cites."""
    return " ".join(c.quote for c in claim.citations)


def known_text(good: Built, claim: Claim) -> str:
    """Return all that the cited records say, with what is known of them: label and account."""
    return " ".join(f"{e.text} {e.label} {e.account or ''}" for e in cited(good, claim))


def language_of(good: Built, claim: Claim) -> str:
    """Return the language of the first cited record; measures are in English."""
    records = cited(good, claim)
    return records[0].language if records else "en"


def lowered(text: str, language: str = "en") -> str:
    """Make a sentence fit to stand within another: names keep their capital, in German all but small words do."""
    first = re.split(r"\W", text, maxsplit=1)[0]
    is_code = len(first) > 1 and first.isupper()
    if (first.lower() in _SPOKEN) if language == "de" else (first.lower() not in _NAMES and not is_code):
        return text[:1].lower() + text[1:]
    return text


def opened(text: str) -> str:
    """Make the first letter of a sentence a capital."""
    return text[:1].upper() + text[1:]


def without_stop(text: str) -> str:
    """Drop the full stop that ends a sentence."""
    return text.rstrip().rstrip(".")


def says(text: str, word: str) -> bool:
    """Tell whether the text holds the word as a whole, in any case."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def overlap(text: str, other: str, language: str) -> float:
    """Return the share of the first text's content words whose stems the other has."""
    stems = [t.stem for t in content_tokens(text, language)]
    held = {t.stem for t in content_tokens(other, language)}
    return sum(stem in held for stem in stems) / len(stems) if stems else 0.0


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text that are worth quoting stand."""
    return [(s.start, s.end) for s in sentences(text) if s.end - s.start >= 15]


def cut(evidence: Evidence, start: int, end: int) -> Citation:
    """Cite a span exactly."""
    return Citation(evidence.citation_id, start, end, evidence.text[start:end])


def some_span(evidence: Evidence, rng: random.Random) -> Citation:
    """Cite the whole record or one of its sentences."""
    spans = [(0, len(evidence.text)), *sentence_spans(evidence.text)]
    return cut(evidence, *rng.choice(spans))


def next_id(good: Built) -> int:
    """Return a number for a further claim."""
    return max(c.id for c in good.draft.claims) + 1


def shuffled(items: Sequence[Item], rng: random.Random) -> list[Item]:
    """Return the items in a random order."""
    return rng.sample(list(items), len(items))
