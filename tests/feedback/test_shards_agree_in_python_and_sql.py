"""A tenant's shard is one number, whether Python or SQL computes it."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.ids import new_id
from feedback.domain.partitions import shard_of, shard_sql
from feedback.selectors.corpora import installation_totals
from tests.factories import make_corpus, make_document, make_tenant


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.lists(st.uuids(), min_size=1, max_size=50), shards=st.integers(1, 256))
def test_shard_of_is_the_expression_in_sql(db, ids, shards):
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {shard_sql('x', shards)} FROM unnest(%s::uuid[]) WITH ORDINALITY u(x, n) ORDER BY n".replace(
                f"% {shards}", f"%% {shards}"
            ),
            [ids],
        )
        by_sql = [row[0] for row in cursor.fetchall()]

    assert by_sql == [shard_of(identity, shards) for identity in ids]
    assert all(0 <= shard < shards for shard in by_sql)


def test_ids_made_one_after_the_other_are_spread():
    counts = [0] * 4
    for _ in range(4_000):
        counts[shard_of(new_id(), 4)] += 1

    assert min(counts) > 800


@pytest.mark.parametrize("shards", [0, -1])
def test_no_shards_are_refused(shards):
    with pytest.raises(ValueError, match="at least 1"):
        shard_of(new_id(), shards)


def test_the_installations_totals_count_documents_by_shard(db, ingest):
    expected = [0] * settings.WISDOM.tenant_shards
    for n in range(6):
        corpus = make_corpus(tenant=make_tenant(slug=f"tenant-{n}"))
        ingest(*(make_document(f"doc-{m}") for m in range(n)), into=corpus)
        expected[shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards)] += n

    totals = installation_totals()

    assert totals.documents_by_shard == tuple(expected)
    assert (totals.corpora, totals.documents, totals.passages) == (6, 15, 15)
    assert totals.shard_balance == pytest.approx(15 / len(expected) / max(expected))


def test_an_empty_installation_is_in_balance(db):
    assert installation_totals().shard_balance == 1.0


def test_one_tenant_on_four_shards_is_a_quarter(corpus, ingest):
    ingest(make_document("a"))

    assert installation_totals().shard_balance == 0.25
