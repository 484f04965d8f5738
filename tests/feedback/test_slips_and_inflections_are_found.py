"""A typo and an inflected form still find the record; what is merely strange is left alone."""

from __future__ import annotations

import pytest

from core.tenant_session import tenant_session
from feedback.domain.retrieval import Mode
from feedback.selectors.retrieval import rerank_hits, retrieve

TEXTS = {
    "late": "The delivery was two days late and nobody told me.",
    "refund": "I am still waiting for my refund after three weeks.",
    "code": "The voucher SAVE20 was refused at checkout.",
    "crash": "Since version 4.18.0 the app crashes when I upload photographs.",
    "driver": "The driver was friendly and carried the boxes upstairs.",
    "bread": "Gluten free bread was out of stock again.",
    "wifi": "The wifi in the waiting room never works.",
    "price": "Prices rose again and the portions shrank.",
}


@pytest.fixture
def filled(corpus, ingest):
    ingest(*({"id": identity, "text": text} for identity, text in TEXTS.items()))
    return corpus


def _search(corpus, query, mode=Mode.LEXICAL):
    with tenant_session(corpus.tenant):
        return rerank_hits(retrieve(corpus=corpus, query=query, mode=mode))


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("late delivry", "late"),
        ("late delivries", "late"),
        ("refnud", "refund"),
        ("frendly drivers", "driver"),
        ("photogaphs", "crash"),
        ("What do people say about the wfii?", "wifi"),
        ("deliveries", "late"),
        ("refunded", "refund"),
        ("crashing", "crash"),
        ("SAVE20", "code"),
        ("what happens in 4.18.0", "crash"),
        ("gluten-free breads", "bread"),
    ],
)
def test_the_record_is_found_first(filled, query, wanted, mode):
    found = _search(filled, query, mode)

    assert found.hits[0].doc_id == wanted


def test_the_reading_is_told(filled):
    found = _search(filled, "late delivry")

    assert found.slips == (("delivry", "delivery"),)
    assert found.searched == "late delivery"
    assert found.notes == ("“delivry” is in no record and was read as “delivery”",)


@pytest.mark.parametrize(
    ("record", "query"),
    [
        ("I was charged a fee", "my feet hurt"),
        ("the costs that I incurred", "insurance"),
        ("I accidentally ordered two", "change your accent"),
        ("good service", "goodbye"),
        ("I lost my pin", "ping me"),
    ],
)
def test_another_word_is_no_slip(corpus, ingest, record, query):
    ingest({"id": "near", "text": record})

    assert _search(corpus, query).slips == ()


@pytest.mark.parametrize(
    "query", ["SAVE21", "version 4.18.1", "cryptocurrency", "helicopter", "who is Refnud Friendley", "xyz"]
)
def test_codes_names_and_other_topics_are_read_as_typed(filled, query):
    found = _search(filled, query)

    assert found.slips == ()


def test_a_word_that_some_record_holds_is_no_slip(filled, ingest):
    ingest({"id": "typo", "text": "my delivry never came"})

    found = _search(filled, "delivry")

    assert found.slips == ()
    assert [hit.doc_id for hit in found.hits] == ["typo"]


def test_another_tenants_words_are_no_reading(filled, other_corpus, ingest):
    ingest({"id": "only", "text": "zucchini everywhere"}, into=other_corpus)

    found = _search(filled, "zuchini")

    assert found.slips == ()
    assert found.hits == ()
