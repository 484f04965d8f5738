"""The passes after the neutral one: records that name whose they are, and records that disagree with what was found.

They read the neutral ranking and never touch it: what they find comes in lists of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from core.errors import InvalidInput
from feedback.domain.facets import FacetRule
from feedback.domain.filter_sets import Scope
from feedback.domain.opposition import LEAST_OPPOSITION, Opposition, Voice, disagreement, opposition
from feedback.domain.partitions import shard_of
from feedback.domain.retrieval import Hit, Mode, Retrieved
from feedback.domain.text import content_tokens
from feedback.embedding import stored_name
from feedback.selectors.corpora import rules_of
from feedback.selectors.retrieval.filter_sets import retrieve_scope
from feedback.selectors.retrieval.search import rerank_hits

if TYPE_CHECKING:
    from feedback.models import Corpus

# The neutral records that stand for the result, and how many candidates are held against them.
STANDING_FOR = 5
DEPTH = 100
SHOWN = 5
_RATINGS = ("rating", "sentiment", "stars")


class Pass(StrEnum):
    """A pass that can follow the neutral one."""

    ATTRIBUTED = "attributed"
    CONTRASTING = "contrasting"


@dataclass(frozen=True, slots=True)
class PassHit:
    """A record of a later pass; `neutral_rank` is its place among the neutral hits, None beyond them.

    A contrasting one carries how far it disagrees, `disagreement` with the result and `most` with the record `against`.
    """

    hit: Hit
    neutral_rank: int | None
    disagreement: float | None = None
    most: Opposition | None = None
    against: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the hit with what the pass says of it."""
        said: dict[str, Any] = {
            **self.hit.as_json(),
            "attribution": self.hit.attribution,
            "text": self.hit.passage_text,
        }
        said["neutral_rank"] = self.neutral_rank
        if self.most is not None:
            said["opposition"] = {
                "score": round(self.disagreement or 0.0, 4),
                "topic": round(self.most.topic, 4),
                "polarity": round(self.most.polarity, 4),
                "against": self.against,
                "reason": self.most.reason,
            }
        return said


Passes = dict[Pass, tuple[PassHit, ...]]


def read_passes(names: Iterable[str] | None) -> frozenset[Pass]:
    """Read which passes follow the neutral one; None is the setting's, `neutral` is always made and adds none.

    Raises: InvalidInput for an unknown name.
    """
    chosen = set()
    for name in settings.WISDOM.passes if names is None else names:
        if not isinstance(name, str) or name.strip() not in ("", "neutral", *Pass):
            raise InvalidInput(
                f"There is no pass {name!r}: use any of neutral, {', '.join(Pass)}.",
                field="passes",
                detail={"passes": ["neutral", *Pass]},
            )
        if name.strip() not in ("", "neutral"):
            chosen.add(Pass(name.strip()))
    return frozenset(chosen)


def later_passes(
    *,
    corpus: Corpus,
    query: str,
    scope: Scope,
    neutral: Retrieved,
    chosen: Collection[Pass],
    mode: Mode = Mode.HYBRID,
    language: str | None = None,
    as_of: datetime | None = None,
) -> Passes:
    """Return up to five records for each chosen pass, beside the ranked hits of the neutral one.

    Candidates are the best of a deeper search with the same question and the same filters.
    """
    if not chosen:
        return {}
    if not neutral.hits:
        return {each: () for each in Pass if each in chosen}
    depth = max(1, DEPTH // settings.WISDOM.candidate_multiplier // max(1, len(scope.sets)))
    deeper = retrieve_scope(
        corpus=corpus,
        query=query,
        scope=scope,
        top_k=min(depth, settings.WISDOM.max_top_k),
        mode=mode,
        language=language,
        as_of=as_of,
    )
    if not deeper.sets:
        deeper = rerank_hits(deeper, as_of=as_of, cuts=False)
    ranks = {hit.document_id: hit.rank for hit in neutral.hits}
    found: Passes = {}
    if Pass.ATTRIBUTED in chosen:
        named = _named_sources(corpus, query)
        found[Pass.ATTRIBUTED] = tuple(
            PassHit(hit, ranks.get(hit.document_id))
            for hit in deeper.hits
            if hit.attribution is not None or hit.source in named
        )[:SHOWN]
    if Pass.CONTRASTING in chosen:
        found[Pass.CONTRASTING] = tuple(_contrasting(corpus, query, neutral, deeper, ranks))[:SHOWN]
    return found


def _named_sources(corpus: Corpus, query: str) -> set[str]:
    """Return the declared sources that a question names by their words, in the singular or with an s."""
    asked = query.casefold()
    return {
        source
        for source in corpus.sources
        if re.search(rf"(?<!\w){re.escape(source.replace('_', ' ').casefold())}s?(?!\w)", asked)
    }


def _contrasting(
    corpus: Corpus, query: str, neutral: Retrieved, deeper: Retrieved, ranks: dict[UUID, int]
) -> list[PassHit]:
    standing = neutral.hits[:STANDING_FOR]
    known = {hit.document_id for hit in standing}
    candidates = [hit for hit in deeper.hits if hit.document_id not in known]
    if not candidates:
        return []
    rule = next((rule for rule in rules_of(corpus).facets if rule.name in _RATINGS and _is_numeric(rule)), None)
    scale = _scale(rule, [*standing, *candidates]) if rule else None
    cosines = _cosines(corpus, neutral.embedder, candidates, standing)
    voices = [(hit, _voice(hit, rule)) for hit in standing]
    about = frozenset(token.stem for token in content_tokens(query, standing[0].language))
    found = []
    for hit in candidates:
        voice = _voice(hit, rule)
        measured = [
            (measure, other.doc_id)
            for other, held in voices
            if (
                measure := opposition(
                    voice, held, cosine=cosines.get((hit.passage_id, other.passage_id)), scale=scale, about=about
                )
            )
        ]
        score = disagreement([measure for measure, _ in measured], of=len(standing))
        if score >= LEAST_OPPOSITION:
            most, against = max(measured, key=lambda pair: pair[0].score)
            found.append(PassHit(hit, ranks.get(hit.document_id), score, most, against))
    # Ties keep the neutral order.
    return sorted(found, key=lambda each: -round(each.disagreement or 0.0, 6))


def _is_numeric(rule: FacetRule) -> bool:
    return rule.type in ("integer", "number")


def _voice(hit: Hit, rule: FacetRule | None) -> Voice:
    rating = hit.facets.get(rule.name) if rule else None
    is_number = isinstance(rating, int | float) and not isinstance(rating, bool)
    return Voice(
        hit.passage_text, language=hit.language, rating=float(rating) if is_number and rating is not None else None
    )


def _scale(rule: FacetRule, hits: Sequence[Hit]) -> tuple[float, float] | None:
    """Return the ends of a rating's scale: of its declared values, else of those that the records have."""
    given = rule.values if rule.values is not None else [hit.facets.get(rule.name) for hit in hits]
    numbers = [float(value) for value in given if value is not None and not isinstance(value, bool | list)]
    return (min(numbers), max(numbers)) if numbers and min(numbers) < max(numbers) else None


def _cosines(
    corpus: Corpus, embedder: str | None, some: Sequence[Hit], others: Sequence[Hit]
) -> dict[tuple[UUID, UUID], float]:
    """Return the cosines between passages that have a vector; none where the search used none."""
    if embedder is None:
        return {}
    shard = shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards)
    name = stored_name(embedder)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.passage_id, b.passage_id, -(a.vector <#> b.vector)"
            "  FROM feedback_passagevector a, feedback_passagevector b"
            " WHERE a.tenant_id = %s AND a.shard = %s AND a.embedder = %s AND a.document_id = ANY (%s) AND a.passage_id = ANY (%s)"
            "   AND b.tenant_id = %s AND b.shard = %s AND b.embedder = %s AND b.document_id = ANY (%s) AND b.passage_id = ANY (%s)",
            [
                *(corpus.tenant_id, shard, name, [hit.document_id for hit in some], [hit.passage_id for hit in some]),
                *(
                    corpus.tenant_id,
                    shard,
                    name,
                    [hit.document_id for hit in others],
                    [hit.passage_id for hit in others],
                ),
            ],
        )
        return {(one, other): cosine for one, other, cosine in cursor.fetchall()}
