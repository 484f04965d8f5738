"""Rows are judged one by one: what is wrong is listed with its reason, the rest is stored."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import NotFound
from core.models import OutboxEvent
from core.tenant_session import tenant_session
from feedback.selectors.corpora import find_corpus, list_corpora
from feedback.services import ingest as ingest_module
from feedback.services.corpora import create_corpus
from tests.factories import NOW, make_document
from tests.feedback.recount import differences

BAD = [
    ({"id": "blank", "text": " \u200b\n "}, "blank_text", "text"),
    ({"id": "", "text": "no id"}, "bad_id", "id"),
    ({"text": "no id"}, "bad_id", "id"),
    (make_document("source", source="telepathy"), "unknown_source", "source"),
    (make_document("date", occurred_at="soon"), "bad_date", "occurred_at"),
    (make_document("future", occurred_at="2099-01-01"), "date_out_of_range", "occurred_at"),
    (make_document("past", occurred_at="1066-10-14"), "date_out_of_range", "occurred_at"),
    (make_document("long", "x" * 100_001), "too_long", "text"),
    (make_document("nul", "a\x00b"), "bad_character", "text"),
    (make_document("half", "a\ud800b"), "bad_character", "text"),
    (make_document("link", url="javascript:alert(1)"), "bad_url", "url"),
    (make_document("kind", text=7), "bad_type", "text"),
    ("not an object", "not_an_object", ""),
]


@pytest.mark.parametrize(("row", "code", "column"), BAD, ids=[code + "-" + column for _, code, column in BAD])
def test_a_bad_row_is_listed_and_the_others_are_stored(corpus, ingest, row, code, column):
    result = ingest(make_document("first"), row, make_document("last"))

    (rejection,) = result.rejections
    assert (result.saved, result.rejected) == (2, 1)
    assert (rejection.row, rejection.code, rejection.column) == (2, code, column)
    assert rejection.message


def test_all_bad_rows_are_listed_and_counted(corpus, ingest):
    result = ingest(*(row for row, _, _ in BAD), make_document("good"))

    assert (result.saved, result.rejected) == (1, len(BAD))
    assert [rejection.code for rejection in result.rejections] == [code for _, code, _ in BAD]
    assert differences(corpus) == []


def test_only_bad_rows_store_nothing_and_tell_nobody(tenant, corpus, ingest):
    result = ingest(*(row for row, _, _ in BAD))

    assert (result.saved, result.corpus_size) == (0, 0)
    with tenant_session(tenant):
        assert not OutboxEvent.objects.for_tenant(tenant).exists()


def test_no_rows_are_no_fault(corpus, ingest):
    assert ingest().as_json()["saved"] == 0


def test_a_bad_row_leaves_the_stored_record_of_its_id(corpus, ingest, search):
    ingest(make_document("a", "The kettle broke."))

    ingest(make_document("a", "The toaster broke.", occurred_at="soon"))

    assert search("kettle") == ["a"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 1000])
def test_an_id_twice_in_a_delivery_is_told_wherever_the_chunks_end(corpus, ingest, monkeypatch, search, chunk):
    monkeypatch.setattr(ingest_module, "CHUNK", chunk)

    result = ingest(
        make_document("a", "first words"),
        make_document("b"),
        make_document("b"),
        make_document("a", "other words"),
    )

    assert (result.saved, result.updated, result.rejected) == (2, 0, 1)
    assert (result.rejections[0].row, result.rejections[0].code) == (4, "duplicate_id")
    assert search("first") == ["a"]
    assert differences(corpus) == []


def test_listed_rejections_are_bounded_and_counted_without_bound(corpus, ingest, monkeypatch):
    monkeypatch.setattr(ingest_module, "MAX_LISTED_REJECTIONS", 5)

    result = ingest(*({"id": str(n)} for n in range(12)))

    assert (result.rejected, len(result.rejections)) == (12, 5)


def test_the_result_has_the_shape_of_the_contract(corpus, ingest):
    told = ingest(make_document("a"), {"id": "b"}).as_json()

    assert {"saved", "updated", "unchanged", "rejected", "indexed", "corpus_size", "rejections"} <= told.keys()
    assert set(told["rejections"][0]) == {"row", "column", "value", "code", "message"}


def test_a_dry_run_judges_every_row_and_writes_nothing(tenant, corpus, ingest):
    ingest(make_document("old"), make_document("edited", "before"))
    rows = [make_document("old"), make_document("edited", "after"), make_document("new"), {"id": "bad"}]

    tried = ingest(*rows, dry_run=True)
    after_trial = ingest(make_document("old")).corpus_size
    done = ingest(*rows)

    counts = ("saved", "updated", "unchanged", "rejected", "indexed")
    assert [getattr(tried, name) for name in counts] == [getattr(done, name) for name in counts] == [1, 1, 1, 1, 2]
    assert (after_trial, done.corpus_size) == (2, 3)
    assert differences(corpus) == []


def test_a_dry_run_embeds_nothing(corpus, ingest, embedded):
    ingest(make_document("a"), dry_run=True)

    assert embedded() == []


def test_a_load_that_declares_sources_takes_new_ones_and_lists_them(tenant, corpus, ingest):
    result = ingest(make_document("a", source="fax"), make_document("b", source="survey"), declares_sources=True)

    with tenant_session(tenant):
        known = find_corpus(tenant=tenant, slug=corpus.slug)
    assert (result.saved, result.new_sources) == (2, ["fax"])
    assert "fax" in known.sources
    assert ingest(make_document("c", source="fax"), into=known).saved == 1


def test_an_unknown_source_is_refused_by_later_loads(corpus, ingest):
    ingest(make_document("a", source="fax"), declares_sources=True)

    assert ingest(make_document("b", source="pigeon")).rejections[0].code == "unknown_source"


def test_now_decides_what_lies_in_the_future(corpus, ingest):
    tomorrow = (NOW + timedelta(days=3)).isoformat()

    assert ingest(make_document("a", occurred_at=tomorrow)).rejected == 1
    assert ingest(make_document("a", occurred_at=tomorrow), now=NOW + timedelta(days=4)).saved == 1


def test_a_corpus_that_has_gone_meanwhile_is_not_found(tenant, corpus, ingest):
    with tenant_session(tenant):
        corpus.delete()

    with pytest.raises(NotFound):
        ingest(make_document("a"))


@pytest.mark.parametrize("slug", ["", "Feedback", "a b", "x" * 64, "a\n"])
def test_a_corpus_needs_a_name_that_fits_an_address(tenant, slug):
    from core.errors import InvalidInput

    with pytest.raises(InvalidInput):
        create_corpus(tenant=tenant, slug=slug, now=NOW)


def test_a_corpus_is_there_once_by_its_name(tenant, corpus, other_tenant):
    from core.errors import Conflict

    with pytest.raises(Conflict, match="feedback already"):
        create_corpus(tenant=tenant, now=NOW)
    create_corpus(tenant=other_tenant, now=NOW)

    with tenant_session(tenant):
        assert list_corpora(tenant=tenant) == [corpus]
