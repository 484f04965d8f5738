"""`/health` touches nothing, `/ready` counts or says that it can't, `/metrics` goes on without the database."""

from __future__ import annotations

import pytest
from django.db.utils import InterfaceError, OperationalError
from django.test import Client

from tests.factories import make_document
from wisdom_project import ops

_TOLD = {"status", "corpus", "documents", "vocabulary", "vectors", "traces", "shard_balance", "fusion_strategy"}


@pytest.fixture
def database_away(monkeypatch):
    def refuse():
        raise OperationalError("connection refused: host=db.internal password=hunter2")

    monkeypatch.setattr(ops, "installation_totals", refuse)


def test_health_needs_no_database():
    # Without the database fixture a query would raise.
    answer = Client().get("/health")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_an_empty_installation_is_ready():
    answer = Client().get("/ready")

    assert answer.status_code == 200
    assert answer.json().keys() >= _TOLD
    assert (answer.json()["documents"], answer.json()["traces"]) == (0, 0)


@pytest.mark.django_db
def test_ready_counts_over_all_tenants(corpus, other_corpus, ingest):
    ingest(make_document("a", "Late parcel."), into=corpus)
    ingest(make_document("a", "Late parcel."), into=other_corpus)

    told = Client().get("/ready").json()

    assert (told["corpus"], told["documents"], told["vectors"]) == (2, 2, 2)
    assert told["vocabulary"] == 4
    assert told["fusion_strategy"] == "adaptive"


def test_without_the_database_it_is_not_ready_and_tells_no_secret(database_away):
    answer = Client().get("/ready")

    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
    assert "hunter2" not in answer.content.decode()


def test_a_broken_connection_is_not_ready_either(monkeypatch):
    def refuse():
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(ops, "installation_totals", refuse)

    assert Client().get("/ready").status_code == 503


@pytest.mark.django_db
def test_metrics_have_gauges_and_counters(corpus, ingest):
    ingest(make_document("a", "Late parcel."))

    text = Client().get("/metrics").content.decode()

    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    assert float(lines["wa_corpus_documents"]) == 1
    assert float(lines["wa_corpus_terms"]) == 2
    assert {"wa_shard_balance", "wa_embedding_lag_documents", "wa_outbox_lag_seconds"} <= lines.keys()
    assert float(lines["wa_documents_indexed_total"]) >= 1


def test_no_family_is_exposed_twice(database_away):
    text = Client().get("/metrics").content.decode()

    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))


def test_metrics_go_on_without_the_database(database_away):
    answer = Client().get("/metrics")

    assert answer.status_code == 200
    assert b"wa_corpus_documents" not in answer.content
    assert b"hunter2" not in answer.content


@pytest.mark.parametrize("path", ["/health", "/ready", "/metrics"])
def test_they_are_read_only(path):
    assert Client().post(path).status_code == 405
