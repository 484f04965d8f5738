"""A dry run resolves every row as the load would, and leaves nothing behind."""

from __future__ import annotations

import pytest

from core.tenant_session import tenant_session
from feedback.models import DocumentKey
from tenants.selectors import find_tenant
from tests.factories import make_document

pytestmark = pytest.mark.django_db

_TOLD = ("saved", "updated", "unchanged", "rejected", "indexed")


def test_a_dry_run_tells_what_the_load_then_does(manage, ndjson, corpus):
    manage("ingest", ndjson(make_document("a"), make_document("b")), "--tenant", "acme")
    path = ndjson(make_document("a"), make_document("b", "Changed."), make_document("c"), make_document("d", ""))

    tried = manage("ingest", path, "--tenant", "acme", "--dry-run", "--json").document
    loaded = manage("ingest", path, "--tenant", "acme", "--json").document

    assert [tried[name] for name in _TOLD] == [loaded[name] for name in _TOLD] == [1, 1, 1, 1, 2]
    assert tried["rejections"] == loaded["rejections"]


def test_documents_stay_as_they_were(manage, ndjson, tenant, corpus):
    manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--dry-run")

    with tenant_session(tenant):
        assert not DocumentKey.objects.for_tenant(tenant).exists()


def test_a_tenant_that_would_be_made_is_not(manage, ndjson):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "newcomer", "--create", "--dry-run", "--json")

    assert done.document["saved"] == 1
    assert find_tenant(slug="newcomer") is None


def test_an_unknown_tenant_is_refused_in_a_dry_run_too(manage, ndjson):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "newcomer", "--dry-run")

    assert done.status == 2
    assert "--create" in done.complaint
