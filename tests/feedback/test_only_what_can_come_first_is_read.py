"""A search that reads contenders alone gives the first hits of one that reads every candidate, scores and all."""

from __future__ import annotations

import random

import pytest

from core.tenant_session import tenant_session
from feedback.domain.retrieval import Mode
from feedback.selectors.retrieval import rerank_hits, retrieve
from tests import factories

WORDS = (
    "parking",
    "garage",
    "refund",
    "driver",
    "kettle",
    "broken",
    "late",
    "again",
    "Northwind",
    "SAVE20",
    "friendly",
)
QUESTIONS = (
    "parking garage",
    "What do people say about a late refund?",
    "kettle broken again",
    "Did SAVE20 work for Northwind?",
    "friendly driver late refund parking",
    "unheard of",
)


@pytest.fixture
def many(corpus, ingest):
    rng = random.Random(3)
    ingest(
        *(
            factories.make_document(f"r{number:03}", " ".join(rng.choices(WORDS, k=rng.randint(2, 9))) + ".")
            for number in range(150)
        )
    )
    return corpus


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("strategy", ["adaptive", "rrf", "weighted"])
def test_the_first_are_the_same(many, mode, strategy):
    many.options = {**many.options, "fusion_strategy": strategy}
    read = {True: 0, False: 0}
    with tenant_session(many.tenant):
        for question in QUESTIONS:
            found = {
                only: retrieve(corpus=many, query=question, top_k=5, mode=mode, only_contenders=only) for only in read
            }
            for only, each in found.items():
                read[only] += len(each.hits)
            first = [
                [(hit.doc_id, hit.rank, hit.rerank_score, hit.features) for hit in rerank_hits(each, top_k=5).hits]
                for each in found.values()
            ]
            assert first[0] == first[1], question

    assert read[True] < read[False]
