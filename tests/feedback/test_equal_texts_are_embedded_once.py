"""A vector belongs to the content of a passage: what has one is never embedded again."""

from __future__ import annotations

import pytest
from django.db import connection

from core.tenant_session import tenant_session
from feedback.selectors.corpora import corpus_state, embedding_lag
from feedback.selectors.retrieval import serving_embedder
from feedback.services.deletion import delete_document
from feedback.services.vectors import embed_missing
from tests.factories import NOW, make_corpus, make_document
from tests.feedback.recount import differences
from tests.feedback.side_by_side import at_once

LONG = [f"Paragraph {n}. " + "The courier was late again. " * 30 for n in range(6)]


def _lag(corpus):
    with tenant_session(corpus.tenant):
        return embedding_lag(corpus=corpus)


def _serving(corpus):
    with tenant_session(corpus.tenant):
        return serving_embedder(corpus, corpus_state(corpus=corpus))


def test_a_delivery_embeds_an_equal_text_once(corpus, ingest, embedded):
    ingest(*(make_document(f"doc-{n}", "The very same words.") for n in range(10)))

    assert embedded() == ["The very same words."]
    assert differences(corpus) == []


def test_a_later_delivery_embeds_only_what_is_new(corpus, ingest, embedded):
    ingest(make_document("a", "Known words."))

    ingest(make_document("b", "Known words."), make_document("c", "New words."))

    assert embedded() == ["Known words.", "New words."]


def test_another_corpus_of_the_tenant_uses_the_vectors_that_are_there(tenant, corpus, ingest, embedded):
    second = make_corpus(tenant=tenant, slug="second")
    ingest(make_document("a", "Known words."))

    ingest(make_document("a", "Known words."), into=second)

    assert embedded() == ["Known words."]
    assert differences(second) == []


def test_another_tenant_does_not(corpus, other_corpus, ingest, embedded):
    ingest(make_document("a", "Known words."))

    ingest(make_document("a", "Known words."), into=other_corpus)

    assert embedded() == ["Known words.", "Known words."]


def test_an_edit_of_one_paragraph_embeds_one_passage(corpus, ingest, embedded):
    ingest(make_document("a", "\n\n".join(LONG)))
    before = len(embedded())

    ingest(make_document("a", "\n\n".join([*LONG[:-1], LONG[-1].replace("late", "early")])))

    assert before == len(LONG)
    assert len(embedded()) == before + 1
    assert differences(corpus) == []


def test_a_title_belongs_to_the_content(corpus, ingest, embedded):
    ingest(make_document("a", "It broke.", title="Kettle"), make_document("b", "It broke.", title="Toaster"))

    assert embedded() == ["Kettle\nIt broke.", "Toaster\nIt broke."]


def test_the_slow_embedder_runs_behind_and_takes_over_when_it_is_complete(with_both_embedders, embedders, ingest):
    corpus = with_both_embedders
    ingest(*(make_document(f"doc-{n}", f"Complaint {n}.") for n in range(3)))
    assert embedders["minilm"].calls == []
    assert (_lag(corpus), _serving(corpus)) == (3, ("static", 3))

    result = embed_missing(tenant=corpus.tenant, corpus=corpus)

    assert (result.embedded, result.lag) == (3, 0)
    assert _serving(corpus) == ("minilm", 0)
    assert differences(corpus) == []


def test_what_is_embedded_behind_is_embedded_once(with_both_embedders, embedders, ingest):
    corpus = with_both_embedders
    ingest(make_document("a", "Equal."), make_document("b", "Equal."), make_document("c", "Other."))
    embed_missing(tenant=corpus.tenant, corpus=corpus)

    ingest(make_document("d", "Equal."), make_document("a", "Equal.", source="complaint"))
    again = embed_missing(tenant=corpus.tenant, corpus=corpus)

    assert sorted(text for call in embedders["minilm"].calls for text in call) == ["Equal.", "Other."]
    assert (again.embedded, again.lag) == (0, 0)
    assert differences(corpus) == []


def test_the_texts_behind_are_those_that_were_embedded_in_front(with_both_embedders, embedders, ingest):
    corpus = with_both_embedders
    ingest(
        make_document("a", "\n\n".join(LONG), title="Courier"), make_document("b", "e\u0301 👩‍👩‍👧 \U0001d54f" * 300)
    )

    embed_missing(tenant=corpus.tenant, corpus=corpus)

    in_front, behind = ([text for call in each.calls for text in call] for each in embedders.values())
    assert sorted(in_front) == sorted(behind)
    assert _lag(corpus) == 0


def test_a_vector_for_a_record_that_went_meanwhile_is_dropped(with_both_embedders, embedders, ingest, caller):
    corpus = with_both_embedders
    ingest(make_document("a", "Stays."), make_document("b", "Goes."))
    embed = embedders["minilm"].encode_passages

    def embed_while_the_record_is_deleted(texts):
        if "Goes." in texts:
            delete_document(caller=caller, corpus=corpus, external_id="b", now=NOW)
        return embed(texts)

    embedders["minilm"].encode_passages = embed_while_the_record_is_deleted

    result = embed_missing(tenant=corpus.tenant, corpus=corpus)

    assert (result.embedded, result.lag) == (1, 0)
    assert differences(corpus) == []


def test_an_embedder_that_fails_leaves_what_was_done_and_can_go_on(with_both_embedders, embedders, ingest):
    corpus = with_both_embedders
    ingest(make_document("a"))
    embedders["minilm"].fault = OSError("gone")
    with pytest.raises(OSError, match="gone"):
        embed_missing(tenant=corpus.tenant, corpus=corpus)
    assert _serving(corpus) == ("static", 1)

    embedders["minilm"].fault = None
    result = embed_missing(tenant=corpus.tenant, corpus=corpus)

    assert result.lag == 0


def test_a_failing_embedder_in_front_stores_nothing(corpus, embedders, ingest, search):
    embedders["static"].fault = OSError("gone")

    with pytest.raises(OSError, match="gone"):
        ingest(make_document("a", "The kettle broke."))

    assert search("kettle") == []
    assert differences(corpus) == []


def test_no_time_is_no_embedding(with_both_embedders, embedders, ingest):
    ingest(make_document("a"))

    result = embed_missing(tenant=with_both_embedders.tenant, corpus=with_both_embedders, time_limit_seconds=0)

    assert (result.embedded, result.lag) == (0, 1)
    assert embedders["minilm"].calls == []


def test_another_version_of_a_model_makes_its_own_vectors(corpus, embedders, ingest):
    ingest(make_document("a", "Some words."))
    embedders["static"].version = "2"
    assert _lag(corpus) == 1

    embed_missing(tenant=corpus.tenant, corpus=corpus)

    assert _lag(corpus) == 0
    assert embedders["static"].calls == [["Some words."], ["Some words."]]


@pytest.mark.django_db(transaction=True)
def test_two_that_embed_at_once_store_each_vector_once(with_both_embedders, embedders, ingest):
    corpus = with_both_embedders
    ingest(*(make_document(f"doc-{n}", f"Complaint {n}.") for n in range(40)))

    results = at_once([lambda: embed_missing(tenant=corpus.tenant, corpus=corpus) for _ in range(3)])

    assert sum(result.embedded for result in results) == 40
    assert _lag(corpus) == 0
    assert differences(corpus) == []


@pytest.mark.django_db(transaction=True)
def test_embedding_and_editing_at_once_leaves_no_vector_of_an_old_text(with_both_embedders, embedders, ingest):
    corpus = with_both_embedders
    ingest(*(make_document(f"doc-{n}", f"Complaint {n}.") for n in range(20)))

    at_once(
        [
            lambda: embed_missing(tenant=corpus.tenant, corpus=corpus),
            lambda: [ingest(make_document(f"doc-{n}", f"Praise {n}.")) for n in range(0, 20, 4)],
        ]
    )
    embed_missing(tenant=corpus.tenant, corpus=corpus)

    assert _lag(corpus) == 0
    assert differences(corpus) == []


def test_vectors_lie_in_their_tenants_shard(corpus, other_corpus, ingest, embedders):
    from django.conf import settings

    from feedback.domain.partitions import shard_of

    for each in (corpus, other_corpus):
        ingest(make_document("a"), into=each)
        with tenant_session(each.tenant), connection.cursor() as cursor:
            cursor.execute(
                "SELECT tableoid::regclass::text FROM feedback_passagevector WHERE tenant_id = %s", [each.tenant_id]
            )
            shard = shard_of(each.tenant_id, settings.WISDOM.tenant_shards)

            assert cursor.fetchall() == [(f"feedback_passagevector_s{shard:03d}",)]
