"""The queue of claims on which the checker and the entailment model disagree: fill it, read it, decide.

What people decided leaves as labelled claims, from which the checker is calibrated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Count

from answering.domain.entailment import Agreement, Compared, opinion_json
from answering.models import ClaimReview
from core.errors import Conflict, InvalidInput, NotFound
from core.ids import new_id
from core.tenant_session import tenant_session
from feedback.selectors.corpora import list_corpora
from feedback.selectors.records import list_texts
from tenants.domain.access import Role, Scope
from tenants.services import audit

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.caller import Caller
    from tenants.models import Tenant

MAX_NOTE: Final = 2_000
OPEN: Final = ClaimReview.State.OPEN.value
DECISIONS: Final = tuple(state.value for state in ClaimReview.State if state is not ClaimReview.State.OPEN)
_LABELS: Final = {ClaimReview.State.SUPPORTED.value: 1, ClaimReview.State.UNSUPPORTED.value: 0}
_EXPORTED_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class CitedText:
    """A cited span in the text of its revision; `text` is None when the record is gone."""

    doc_id: str
    revision: int
    start: int
    end: int
    text: str | None

    @property
    def words(self) -> str | None:
        """Return the cited words."""
        return None if self.text is None else self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Review:
    """A disagreement with what it is about. `claim` is None when a record is gone whose words it repeats or rests on."""

    id: UUID
    corpus: str
    run_id: UUID
    number: int
    is_quote: bool
    claim: str | None
    cited: tuple[CitedText, ...]
    checker: dict[str, Any]
    model: dict[str, Any]
    state: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewFigures:
    """How many reviews stand where, and how often the two disagreed over all stored runs."""

    states: dict[str, int]
    judged: int
    disagreed: int
    missing: int

    @property
    def disagreement(self) -> float | None:
        """Return the share of the claims with both verdicts on which they differ; None without any."""
        compared = self.judged - self.missing
        return round(self.disagreed / compared, 4) if compared else None


def record_reviews(*, corpus: Corpus, run_id: UUID, compared: Sequence[Compared], model: str, now: datetime) -> None:
    """Put a run's disagreements into the queue, in the transaction that stores the run."""
    rows = [
        ClaimReview(
            id=new_id(),
            tenant_id=corpus.tenant_id,
            corpus_id=corpus.id,
            run_id=run_id,
            claim=each.checker.id,
            created_at=now,
            text="" if question.words else question.text,
            words=question.words.as_json() if question.words else None,
            spans=[span.as_json() for span in question.spans],
            checker={"supported": each.supported, "support": each.checker.support, "reason": each.checker.reason},
            model=opinion_json(each, model) or {},
        )
        for each in compared
        for question in (each.opinion.question,)
        if each.agreement is Agreement.DISAGREE
    ]
    if rows:
        ClaimReview.objects.for_tenant(corpus.tenant).bulk_create(rows)


def list_open_reviews(*, tenant: Tenant, limit: int, offset: int = 0) -> list[Review]:
    """Return the open disagreements of a tenant with their texts as they are now, newest first."""
    return _list_reviews(tenant, (OPEN,), limit=limit, offset=offset)


def count_open_reviews(*, tenant: Tenant) -> int:
    """Return how many disagreements wait for a decision."""
    return ClaimReview.objects.for_tenant(tenant).filter(state=OPEN).count()


def decide_review(*, caller: Caller, review_id: UUID, decision: str, now: datetime, note: str = "") -> None:
    """Say whether the cited text bears a claim out, or that the question is of no use.

    Raises: Forbidden below a curator; InvalidInput for an unknown decision or a long note; NotFound; Conflict when
    somebody has decided already.
    """
    caller.require(role=Role.CURATOR, scope=Scope.EVALS)
    if decision not in DECISIONS:
        raise InvalidInput(f"decision is one of {', '.join(DECISIONS)}.", field="decision")
    if len(note) > MAX_NOTE or "\x00" in note:
        raise InvalidInput(f"A note is a text of at most {MAX_NOTE:,} characters.", field="note")
    with tenant_session(caller.tenant):
        reviews = ClaimReview.objects.for_tenant(caller.tenant).filter(pk=review_id)
        decided = reviews.filter(state=OPEN).update(
            state=decision, decided_by=caller.label, decided_at=now, note=note.strip()
        )
        if not decided:
            if not reviews.exists():
                raise NotFound
            raise Conflict("Somebody has decided about this claim already.", code="already_decided")
        detail = {"decision": decision, **({"note": note.strip()} if note.strip() else {})}
        audit(caller=caller, action="review.decided", subject=f"review {review_id}", now=now, detail=detail)


def labelled_claims(*, tenant: Tenant) -> Iterator[dict[str, Any]]:
    """Return what people decided as labelled claims, the oldest decision first; 1 is supported.

    Left out are dismissed ones and those whose records are gone.
    """
    offset = 0
    while found := _list_reviews(tenant, tuple(_LABELS), limit=_EXPORTED_AT_ONCE, offset=offset, by="decided_at"):
        offset += len(found)
        for review in found:
            evidence = [cited.words for cited in review.cited]
            if review.claim is not None and all(evidence):
                yield {
                    "id": str(review.id),
                    "claim": review.claim,
                    "evidence": evidence,
                    "label": _LABELS[review.state],
                }


def review_figures(*, tenant: Tenant) -> ReviewFigures:
    """Return how the queue stands, and what the stored runs say of disagreement."""
    rows = (
        ClaimReview.objects.for_tenant(tenant)
        .values("state")
        .annotate(number=Count("id"))
        .values_list("state", "number")
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum((said ->> 'judged')::int), 0), coalesce(sum((said ->> 'disagreed')::int), 0),"
            " coalesce(sum((said ->> 'missing')::int), 0)"
            " FROM (SELECT answer #> '{grounding,model}' AS said FROM answering_run WHERE tenant_id = %s) AS runs"
            " WHERE said IS NOT NULL",
            [tenant.id],
        )
        judged, disagreed, missing = cursor.fetchone()
    counted = dict(rows)
    return ReviewFigures(
        {state.value: counted.get(state.value, 0) for state in ClaimReview.State}, judged, disagreed, missing
    )


def _list_reviews(
    tenant: Tenant, states: Sequence[str], *, limit: int, offset: int, by: str = "-created_at"
) -> list[Review]:
    rows = list(
        ClaimReview.objects.for_tenant(tenant)
        .filter(state__in=states)
        .order_by(by, "run_id", "claim")[offset : offset + limit]
    )
    corpora = {corpus.id: corpus for corpus in list_corpora(tenant=tenant)}
    texts = {
        identity: list_texts(corpus=corpora[identity], wanted=[_place(span) for row in of for span in _spans(row)])
        for identity, of in _by_corpus(rows).items()
        if identity in corpora
    }
    return [
        _review(row, corpora[row.corpus_id].slug if row.corpus_id in corpora else "", texts.get(row.corpus_id, {}))
        for row in rows
    ]


def _by_corpus(rows: Sequence[ClaimReview]) -> dict[UUID, list[ClaimReview]]:
    found: dict[UUID, list[ClaimReview]] = {}
    for row in rows:
        found.setdefault(row.corpus_id, []).append(row)
    return found


def _spans(row: ClaimReview) -> list[dict[str, Any]]:
    return [*row.spans, *([row.words] if row.words else [])]


def _place(span: dict[str, Any]) -> tuple[str, int]:
    return span["doc_id"], span["revision"]


def _review(row: ClaimReview, corpus: str, texts: dict[tuple[str, int], str]) -> Review:
    cited = tuple(_cited(span, texts) for span in row.spans)
    said = row.text if row.words is None else _cited(row.words, texts).words
    if any(each.text is None for each in cited):
        said = None
    return Review(
        id=row.id,
        corpus=corpus,
        run_id=row.run_id,
        number=row.claim,
        is_quote=row.words is not None,
        claim=said,
        cited=cited,
        checker=row.checker,
        model=row.model,
        state=row.state,
        created_at=row.created_at,
    )


def _cited(span: dict[str, Any], texts: dict[tuple[str, int], str]) -> CitedText:
    return CitedText(span["doc_id"], span["revision"], span["start"], span["end"], texts.get(_place(span)))
