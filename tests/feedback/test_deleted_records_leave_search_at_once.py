"""A deleted record is out of every index in the commit that deletes it, and comes back exactly as it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import Conflict, NotFound
from core.models import OutboxEvent
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.aggregates import Selection, count_matching
from feedback.selectors.corpora import corpus_state
from feedback.selectors.records import get_record
from feedback.services.deletion import RESTORABLE, delete_document, restore_document
from tenants.caller import operator
from tenants.models import AuditEntry
from tests.factories import NOW, make_document
from tests.feedback.recount import differences

KETTLE = make_document(
    "a", "The kettle broke.", title="Kettle", themes=["quality"], account="Acme", author="ann", region="north"
)


@pytest.fixture
def stored(corpus, ingest):
    ingest(KETTLE, make_document("b", "The kettle is fine."))


@pytest.fixture
def delete(corpus, caller):
    return lambda doc_id="a", now=NOW: delete_document(caller=caller, corpus=corpus, external_id=doc_id, now=now)


@pytest.fixture
def restore(corpus, caller):
    return lambda doc_id="a", now=NOW: restore_document(caller=caller, corpus=corpus, external_id=doc_id, now=now)


def _state(corpus):
    with tenant_session(corpus.tenant):
        return corpus_state(corpus=corpus)


@pytest.mark.parametrize("mode", Mode)
def test_it_is_found_no_longer(corpus, stored, delete, search, mode):
    assert set(search("kettle broke", mode=mode)) == {"a", "b"}

    delete()

    assert search("kettle broke", mode=mode) == ["b"]
    assert search("kettle", mode=mode, filters=FilterSet(ids=("a",))) == []


def test_it_is_neither_read_nor_counted(corpus, stored, delete):
    delete()

    with tenant_session(corpus.tenant):
        with pytest.raises(NotFound):
            get_record(corpus=corpus, doc_id="a")
        assert count_matching(corpus=corpus, selection=Selection()).doc_ids == ("b",)
    assert _state(corpus).documents == 1
    assert differences(corpus) == []


def test_deleting_twice_is_not_found(stored, delete):
    delete()

    with pytest.raises(NotFound):
        delete()


def test_what_another_tenant_holds_is_not_found_and_stays(corpus, other_corpus, ingest, caller, search):
    ingest(make_document("theirs", "The kettle broke."), into=other_corpus)
    told = []
    for doc_id in ("theirs", "nobody-has-this"):
        with pytest.raises(NotFound) as raised:
            delete_document(caller=caller, corpus=corpus, external_id=doc_id, now=NOW)
        told.append((raised.value.message, raised.value.detail))

    assert told[0] == told[1]
    assert search("kettle", into=other_corpus) == ["theirs"]


def test_deleting_by_anothers_corpus_is_not_found(other_corpus, ingest, caller, search):
    ingest(make_document("theirs", "The kettle broke."), into=other_corpus)

    with pytest.raises((NotFound, RuntimeError)):
        delete_document(caller=caller, corpus=other_corpus, external_id="theirs", now=NOW)

    assert search("kettle", into=other_corpus) == ["theirs"]


def test_both_tenants_hold_the_id_and_one_deletes_it(corpus, other_corpus, ingest, delete, search):
    for each in (corpus, other_corpus):
        ingest(KETTLE, into=each)

    delete()

    assert search("kettle") == []
    assert search("kettle", into=other_corpus) == ["a"]
    assert differences(other_corpus) == []


def test_it_comes_back_exactly_as_it_was(corpus, stored, delete, restore, search):
    with tenant_session(corpus.tenant):
        before = get_record(corpus=corpus, doc_id="a")
    state = _state(corpus)

    delete()
    restore(now=NOW + timedelta(days=29))

    with tenant_session(corpus.tenant):
        assert get_record(corpus=corpus, doc_id="a") == before
    assert _state(corpus) == state
    assert search("kettle broke", filters=FilterSet(theme=("quality",), facets={"region": ("north",)})) == ["a"]
    assert search("kettle broke", mode=Mode.VECTOR, filters=FilterSet(account=("Acme",))) == ["a"]
    assert differences(corpus) == []


def test_a_record_of_several_revisions_comes_back_with_its_last(corpus, stored, delete, restore, ingest, search):
    ingest(make_document("a", "The toaster broke."))
    delete()

    restore()

    assert search("toaster") == ["a"]
    assert search("kettle") == ["b"]
    assert differences(corpus) == []


def test_after_thirty_days_it_is_too_late(stored, delete, restore):
    delete()
    restore(now=NOW + RESTORABLE)
    delete()

    with pytest.raises(Conflict) as raised:
        restore(now=NOW + RESTORABLE + timedelta(seconds=1))

    assert raised.value.error_code == "too_late"


def test_what_is_not_deleted_cant_be_restored(stored, restore):
    with pytest.raises(Conflict) as raised:
        restore()

    assert raised.value.error_code == "not_deleted"


def test_what_never_was_cant_be_restored(stored, restore):
    with pytest.raises(NotFound):
        restore("nobody-has-this")


def test_a_deleted_id_that_is_sent_again_is_saved_again(corpus, stored, delete, ingest, search):
    delete()

    result = ingest(KETTLE)

    assert (result.saved, result.updated, result.unchanged, result.indexed) == (1, 0, 0, 1)
    assert result.corpus_size == 2
    assert set(search("kettle")) == {"a", "b"}
    assert differences(corpus) == []


def test_a_deleted_id_that_is_sent_again_with_another_text_keeps_the_old_one_quotable(corpus, stored, delete, ingest):
    delete()

    ingest(make_document("a", "The toaster broke.", occurred_at="2025-11-01"))

    with tenant_session(corpus.tenant):
        record = get_record(corpus=corpus, doc_id="a")
    assert [revision.text for revision in record.revisions] == ["The toaster broke.", "The kettle broke."]
    assert differences(corpus) == []


def test_the_newest_record_of_the_corpus_is_told_without_it(corpus, ingest, delete, restore):
    ingest(make_document("old", occurred_at="2026-01-01"), make_document("a", occurred_at="2026-03-01"))

    delete()
    assert _state(corpus).as_of.month == 1

    restore()
    assert _state(corpus).as_of.month == 3


def test_an_empty_corpus_has_no_newest_record(corpus, ingest, delete):
    ingest(make_document("a"))

    delete()

    assert (_state(corpus).documents, _state(corpus).as_of) == (0, None)
    assert differences(corpus) == []


def test_what_was_done_is_told_and_on_record(tenant, stored, delete, restore):
    delete()
    restore()

    with tenant_session(tenant):
        told = list(OutboxEvent.objects.for_tenant(tenant).order_by("id").values_list("type", "data__documents"))
        on_record = set(AuditEntry.objects.for_tenant(tenant).values_list("action", "subject"))
    assert told[1:] == [("documents.deleted", ["a"]), ("documents.indexed", ["a"])]
    assert {("document.deleted", "feedback/a"), ("document.restored", "feedback/a")} <= on_record


def test_a_deletion_that_fails_at_its_end_deletes_nothing(corpus, stored, caller, search, monkeypatch):
    def fail(**_):
        raise OSError("the disk is full")

    monkeypatch.setattr("feedback.services.deletion.audit", fail)

    with pytest.raises(OSError, match="disk"):
        delete_document(caller=operator(corpus.tenant), corpus=corpus, external_id="a", now=NOW)

    assert set(search("kettle")) == {"a", "b"}
    assert differences(corpus) == []
