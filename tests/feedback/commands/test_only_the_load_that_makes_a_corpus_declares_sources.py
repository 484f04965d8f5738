"""The first load declares the sources that it finds; whoever misspells one later is told."""

from __future__ import annotations

import pytest

from feedback.services import loading
from tests.factories import make_document

pytestmark = pytest.mark.django_db

WORDS = ("--tenant", "newcomer", "--create", "--json")


def test_the_first_load_declares_and_lists_them(manage, ndjson):
    done = manage("ingest", ndjson(make_document("a", source="forum"), make_document("b", source="fax")), *WORDS)

    assert done.document["saved"] == 2
    assert done.document["new_sources"] == ["fax", "forum"]


def test_a_later_load_rejects_unknown_ones(manage, ndjson):
    manage("ingest", ndjson(make_document("a", source="forum")), *WORDS)

    done = manage("ingest", ndjson(make_document("b", source="forum"), make_document("c", source="fourm")), *WORDS)

    assert (done.document["saved"], done.document["rejected"]) == (1, 1)
    assert done.document["rejections"][0]["column"] == "source"


def test_a_first_load_that_was_stopped_goes_on_declaring(manage, ndjson, monkeypatch):
    documents = [make_document("a", source="forum"), make_document("b", source="fax")]
    ingest_documents = loading.ingest_documents

    def stop_after_one(**options):
        ingest_documents(**{**options, "rows": list(options["rows"])[:1]})
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "ingest_documents", stop_after_one)
    stopped = manage("ingest", ndjson(*documents), *WORDS)
    monkeypatch.setattr(loading, "ingest_documents", ingest_documents)

    done = manage("ingest", ndjson(*documents), *WORDS)

    assert (stopped.status, stopped.out) == (130, "")
    assert (done.document["saved"], done.document["unchanged"], done.document["rejected"]) == (1, 1, 0)


def test_without_create_nothing_is_declared(manage, ndjson, corpus):
    done = manage("ingest", ndjson(make_document("a", source="forum")), "--tenant", "acme", "--json")

    assert (done.document["saved"], done.document["rejected"]) == (0, 1)
