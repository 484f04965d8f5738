"""Questions to begin with: about the largest themes and accounts, and only such as the gates let through today."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from django.core.cache import cache

from answering.calibrations import grounding_rules
from answering.domain.budget import Budget, BudgetLimits
from answering.drafters.extractive import DraftLimits
from answering.presentation import ACCOUNT_FORM, THEME_FORMS, question_about
from answering.saga import Progress, Request, plan_step, rerank_step, retrieve_step
from feedback.domain.filters import FilterSet
from feedback.selectors.aggregates import Grouping, Selection, group_matching
from feedback.selectors.corpora import CorpusState

if TYPE_CHECKING:
    from feedback.models import Corpus

OFFERED: Final = 4
_TRIED: Final = 12
_KEPT_SECONDS: Final = 24 * 3600


def suggested_questions(*, corpus: Corpus, state: CorpusState, now: datetime) -> list[str]:
    """Return up to four questions that the corpus can answer; tried out once for each state of the corpus."""
    if not state.documents:
        return []
    # A vector more can change what passes the gates, as a record can.
    key = f"suggested:{corpus.id}:{state.documents}:{state.passages}:{sum(state.vectors.values())}"
    found: list[str] | None = cache.get(key)
    if found is None:
        tried = (text for text in islice(_candidates(corpus), _TRIED) if passes(corpus=corpus, question=text, now=now))
        found = list(islice(tried, OFFERED))
        cache.set(key, found, _KEPT_SECONDS)
    return found


def passes(*, corpus: Corpus, question: str, now: datetime) -> bool:
    """Say whether a question gets past the gates on records, retrieval and relevance; no run is stored."""
    request = Request(
        corpus=corpus,
        question=question,
        filters=FilterSet(),
        top_k=None,
        rules=grounding_rules(corpus),
        limits=DraftLimits(),
    )
    run = Progress(request=request, budget=Budget(BudgetLimits(), started_at=time.monotonic()), now=now)
    for step in (plan_step, retrieve_step, rerank_step):
        step(run)
        # A question that finds something only with a part of it given up is none to offer.
        if run.refusal or run.to_relax:
            return False
    return True


def _candidates(corpus: Corpus) -> Iterator[str]:
    """Offer a question about each of the largest themes, then the other forms of it, then the largest accounts."""
    everything = Selection()
    themes = [group.key for group in group_matching(corpus=corpus, selection=everything, by=Grouping.THEME, limit=5)]
    yield from chain.from_iterable((question_about(theme, form) for theme in themes) for form in THEME_FORMS)
    for group in group_matching(corpus=corpus, selection=everything, by=Grouping.ACCOUNT, limit=2):
        yield ACCOUNT_FORM.format(group.key)
