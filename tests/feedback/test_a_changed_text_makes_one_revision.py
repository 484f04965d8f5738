"""A text that was stored can be quoted for ever; search knows the newest."""

from __future__ import annotations

import pytest

from core.errors import NotFound
from core.tenant_session import tenant_session
from feedback.domain.retrieval import Mode
from feedback.selectors.records import get_record
from tests.factories import NOW, make_document
from tests.feedback.recount import differences


def _record(corpus, doc_id="a"):
    with tenant_session(corpus.tenant):
        return get_record(corpus=corpus, doc_id=doc_id)


def test_a_changed_text_is_a_second_revision_and_the_first_stays_readable(corpus, ingest):
    ingest(make_document("a", "The kettle broke."))

    result = ingest(make_document("a", "The kettle was mended."), now=NOW.replace(day=16))

    record = _record(corpus)
    assert (result.saved, result.updated, result.indexed) == (0, 1, 1)
    assert [revision.number for revision in record.revisions] == [2, 1]
    assert record.revision().text == "The kettle was mended."
    assert record.revision(1).text == "The kettle broke."
    assert record.revision(1).created_at == NOW
    assert differences(corpus) == []


def test_search_finds_the_new_words_and_no_longer_the_old(corpus, ingest, search):
    ingest(make_document("a", "The kettle broke."))

    ingest(make_document("a", "The toaster sparkled."))

    assert search("toaster") == ["a"]
    assert search("kettle") == []


@pytest.mark.parametrize("mode", Mode)
def test_an_edited_record_is_found_once(corpus, ingest, search, mode):
    for text in ("The kettle broke.", "The kettle broke again.", "The kettle broke for good."):
        ingest(make_document("a", text))

    assert search("kettle", mode=mode) == ["a"]


def test_a_changed_title_is_a_revision(corpus, ingest, search):
    ingest(make_document("a", "It broke.", title="Kettle"))

    result = ingest(make_document("a", "It broke.", title="Toaster"))

    assert result.updated == result.indexed == 1
    assert [revision.title for revision in _record(corpus).revisions] == ["Toaster", "Kettle"]
    assert search("toaster") == ["a"]
    assert search("kettle") == []


@pytest.mark.parametrize(
    "text",
    [
        "  leading and trailing \n",
        "line\r\nline\rline\n\n\n",
        "tab\tand\u00a0no-break and \u2028separator",
        "e\u0301 is not \u00e9",
        "👩‍👩‍👧 and \U0001f3f4\U000e0067\U000e0062\U000e007f",
        "zero\u200bwidth, soft\u00adhyphen, \ufeffbom",
        "'; DROP TABLE feedback_document; -- \\ %s {} \"",
        "\x01\x02\x1f control",
        "x" * 50_000,
    ],
)
def test_a_text_is_stored_exactly_as_it_was_sent(corpus, ingest, text):
    ingest(make_document("a", text))

    assert _record(corpus).revision().text == text


def test_a_difference_in_white_space_is_a_revision(corpus, ingest):
    ingest(make_document("a", "two words"))

    result = ingest(make_document("a", "two  words"))

    assert result.updated == 1
    assert _record(corpus).current == 2


def test_a_revision_that_never_was_is_not_found(corpus, ingest):
    ingest(make_document("a"))

    with pytest.raises(NotFound):
        _record(corpus).revision(2)


def test_another_tenants_record_is_answered_like_none(corpus, other_corpus, ingest):
    ingest(make_document("theirs"), into=other_corpus)
    told = []
    for doc_id in ("theirs", "nobody-has-this"):
        with pytest.raises(NotFound) as raised:
            _record(corpus, doc_id)
        told.append((raised.value.message, raised.value.error_code, raised.value.detail))

    assert told[0] == told[1]
