"""Two tenants hold the same ids and the same words; neither learns anything of the other, not even by a score."""

from __future__ import annotations

import pytest

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching, list_matching
from feedback.selectors.corpora import corpus_state, list_corpora
from feedback.selectors.records import get_record
from feedback.selectors.retrieval import retrieve
from tests.factories import make_document
from tests.feedback.recount import differences

OURS = [make_document("a", "Our kettle broke."), make_document("b", "Our courier was late.", account="Acme")]
THEIRS = [
    make_document("a", "Their kettle broke, the kettle, the kettle!", account="Initech"),
    make_document("b", "Their courier was late.", source="complaint"),
    *(make_document(f"more-{n}", "Kettle after kettle.") for n in range(10)),
]


@pytest.fixture
def both(corpus, other_corpus, ingest):
    ingest(*OURS)
    ingest(*THEIRS, into=other_corpus)


def _answers(corpus):
    """Return everything that can be asked of a corpus, as far as it doesn't depend on random ids."""
    with tenant_session(corpus.tenant):
        found = [retrieve(corpus=corpus, query="the kettle broke", mode=mode) for mode in Mode]
        return (
            [
                [(hit.doc_id, hit.text, hit.fused_score, hit.lexical_score, hit.vector_score) for hit in each.hits]
                for each in found
            ],
            [[(term.lexeme, term.document_frequency, term.idf) for term in each.terms] for each in found],
            count_matching(corpus=corpus, selection=Selection()),
            list_matching(corpus=corpus, selection=Selection(), limit=100),
            group_matching(corpus=corpus, selection=Selection(), by=Grouping.ACCOUNT),
            corpus_state(corpus=corpus),
        )


def test_each_finds_its_own(both, corpus, other_corpus, search):
    assert search("kettle") == ["a"]
    assert len(search("kettle", into=other_corpus)) == 11
    with tenant_session(corpus.tenant):
        assert get_record(corpus=corpus, doc_id="a").revision().text == "Our kettle broke."


def test_no_answer_changes_when_the_other_tenant_writes(corpus, other_corpus, ingest):
    ingest(*OURS)
    before = _answers(corpus)

    ingest(*THEIRS, into=other_corpus)

    assert _answers(corpus) == before


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "filters", [FilterSet(account=("Initech",)), FilterSet(source=("complaint",)), FilterSet(ids=("more-1",))]
)
def test_a_filter_by_what_only_the_other_has_finds_nothing(both, search, mode, filters):
    assert search("kettle", mode=mode, filters=filters) == []


def test_a_corpus_of_the_other_is_empty_in_our_session(both, corpus, other_corpus):
    with tenant_session(corpus.tenant):
        assert retrieve(corpus=other_corpus, query="kettle").hits == ()
        assert corpus_state(corpus=other_corpus).documents == 0
        assert count_matching(corpus=other_corpus, selection=Selection()).value == 0


def test_each_lists_its_own_corpora(both, corpus, other_corpus):
    for each in (corpus, other_corpus):
        with tenant_session(each.tenant):
            assert list_corpora(tenant=each.tenant) == [each]


def test_a_replay_by_one_leaves_the_other_alone(both, corpus, other_corpus, ingest):
    before = _answers(other_corpus)

    again = ingest(*THEIRS)

    assert (again.saved, again.updated) == (10, 2)
    assert _answers(other_corpus) == before
    assert differences(corpus) == []
    assert differences(other_corpus) == []
