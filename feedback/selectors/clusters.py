"""Read clusters of near-duplicates: what is like a record, which clusters are largest, how much waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection

from core.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from feedback.models import Corpus

LISTED = 5
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Cluster:
    """Records that say the same, counted in rows and in the distinct people and accounts that they name.

    `doc_ids` are up to five of them, the oldest first; `text` is the beginning of what the oldest says.
    """

    id: UUID
    records: int
    people: int
    accounts: int
    doc_ids: tuple[str, ...]
    text: str

    def as_json(self) -> dict[str, Any]:
        """Return it as the API and the command show it."""
        return {
            "id": str(self.id),
            "records": self.records,
            "people": self.people,
            "accounts": self.accounts,
            "doc_ids": list(self.doc_ids),
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class ClusterTotals:
    """Live records of a corpus, how many different things they say, and how many aren't clustered yet."""

    records: int
    distinct: int
    clusters: int
    lag: int


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A record of a cluster."""

    doc_id: str
    account: str | None
    author: str | None
    source: str
    occurred_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The cluster of a record with a page of its other records, and what people decided of the record."""

    doc_id: str
    cluster: Cluster
    others: tuple[NearDuplicate, ...]
    is_waiting: bool
    is_apart: bool
    is_merged: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        return {
            "doc_id": self.doc_id,
            "cluster": self.cluster.as_json(),
            "others": [
                {
                    "doc_id": other.doc_id,
                    "account": other.account,
                    "author": other.author,
                    "source": other.source,
                    "occurred_at": other.occurred_at.isoformat().replace("+00:00", "Z"),
                    "text": other.text,
                }
                for other in self.others
            ],
            "is_waiting": self.is_waiting,
            "is_apart": self.is_apart,
            "is_merged": self.is_merged,
        }


def clustering_lag(*, corpus: Corpus) -> int:
    """Return how many records aren't clustered yet, with the texts that have to be looked at again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM feedback_clustermember WHERE tenant_id = %s AND corpus_id = %s AND text_id IS NULL)"
            " + (SELECT count(*) FROM feedback_distincttext WHERE tenant_id = %s AND corpus_id = %s AND is_due)",
            [corpus.tenant_id, corpus.id] * 2,
        )
        return int(cursor.fetchone()[0])


# Every record with the id of its cluster, as merged: it begins a statement whose first values are these, in this order.
_MEMBERS = (
    "WITH member AS (SELECT m.id, coalesce(j.merged_id, m.cluster_id, m.id) AS cluster FROM feedback_clustermember m"
    " LEFT JOIN feedback_mergedcluster j ON j.tenant_id = %s AND j.id = coalesce(m.cluster_id, m.id)"
    " WHERE m.tenant_id = %s AND m.corpus_id = %s)"
)


def _members(corpus: Corpus) -> list[UUID]:
    return [corpus.tenant_id, corpus.tenant_id, corpus.id]


def cluster_totals(*, corpus: Corpus) -> ClusterTotals:
    """Count a corpus in records and in distinct texts; `clusters` are those of more than one record."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_MEMBERS} SELECT coalesce(sum(s.n), 0), count(*), count(*) FILTER (WHERE s.n > 1)"
            " FROM (SELECT count(*) AS n FROM member GROUP BY cluster) s",
            _members(corpus),
        )
        records, distinct, clusters = cursor.fetchone()
    return ClusterTotals(int(records), distinct, clusters, clustering_lag(corpus=corpus))


def list_clusters(*, corpus: Corpus, limit: int, offset: int = 0) -> list[Cluster]:
    """Return the clusters of more than one record, the largest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_MEMBERS} SELECT cluster FROM member GROUP BY cluster HAVING count(*) > 1"
            " ORDER BY count(*) DESC, cluster LIMIT %s OFFSET %s",
            [*_members(corpus), limit, offset],
        )
        ids = [row[0] for row in cursor.fetchall()]
    found = {cluster.id: cluster for cluster in _clusters(corpus, ids)}
    return [found[identity] for identity in ids]


def get_duplicates(*, corpus: Corpus, doc_id: str, limit: int = 20, offset: int = 0) -> Duplicates:
    """Return the cluster of a record, and the others in it, the oldest first. Raises: NotFound, also when deleted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.id, coalesce(j.merged_id, m.cluster_id, m.id), m.text_id IS NULL,"
            "       coalesce(d.is_apart, false), d.merge_id IS NOT NULL"
            "  FROM feedback_documentkey k"
            "  JOIN feedback_clustermember m ON m.tenant_id = %s AND m.id = k.id"
            "  LEFT JOIN feedback_mergedcluster j ON j.tenant_id = %s AND j.id = coalesce(m.cluster_id, m.id)"
            "  LEFT JOIN feedback_clusterdecision d ON d.tenant_id = %s AND d.id = k.id"
            " WHERE k.tenant_id = %s AND k.corpus_id = %s AND k.external_id = %s AND k.deleted_at IS NULL",
            [*[corpus.tenant_id] * 4, corpus.id, doc_id],
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    identity, cluster_id, is_waiting, is_apart, is_merged = row
    (cluster,) = _clusters(corpus, [cluster_id])
    others = (
        _list_records(corpus, cluster_id, besides=identity, limit=limit, offset=offset) if cluster.records > 1 else []
    )
    return Duplicates(doc_id, cluster, tuple(others), is_waiting, is_apart, is_merged)


# The records of given clusters. First the parts that were merged into them: an index has their records.
_IN_CLUSTERS = (
    "WITH part AS (SELECT id, merged_id AS cluster FROM feedback_mergedcluster"
    "    WHERE tenant_id = %s AND corpus_id = %s AND merged_id = ANY (%s)"
    "  UNION SELECT x.id, x.id FROM unnest(%s::uuid[]) AS x(id)),"
    " member AS (SELECT m.id, p.cluster FROM part p"
    "    JOIN feedback_clustermember m ON m.tenant_id = %s AND m.corpus_id = %s AND m.cluster_id = p.id"
    "  UNION SELECT m.id, p.cluster FROM part p"
    "    JOIN feedback_clustermember m ON m.tenant_id = %s AND m.id = p.id AND m.cluster_id IS NULL),"
    " record AS (SELECT m.cluster, d.* FROM member m"
    "    JOIN feedback_documentkey k ON k.tenant_id = %s AND k.id = m.id"
    "    JOIN feedback_document d ON d.tenant_id = %s AND d.occurred_at = k.occurred_at AND d.id = k.id)"
)


def _in_clusters(corpus: Corpus, ids: Sequence[UUID]) -> list[Any]:
    tenant = corpus.tenant_id
    return [tenant, corpus.id, list(ids), list(ids), tenant, corpus.id, tenant, tenant, tenant]


def list_clusters_of(*, corpus: Corpus, doc_ids: Sequence[str]) -> dict[str, tuple[UUID, int]]:
    """Return, by id, the cluster of each of some records and how many it has; a record that waits is one by itself."""
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH mine AS (SELECT k.external_id, coalesce(j.merged_id, m.cluster_id, m.id) AS cluster"
            "    FROM feedback_documentkey k JOIN feedback_clustermember m ON m.tenant_id = %s AND m.id = k.id"
            "    LEFT JOIN feedback_mergedcluster j ON j.tenant_id = %s AND j.id = coalesce(m.cluster_id, m.id)"
            "   WHERE k.tenant_id = %s AND k.corpus_id = %s AND k.external_id = ANY (%s) AND k.deleted_at IS NULL),"
            " part AS (SELECT id, merged_id AS cluster FROM feedback_mergedcluster WHERE tenant_id = %s AND corpus_id = %s"
            "     AND merged_id IN (SELECT cluster FROM mine) UNION SELECT cluster, cluster FROM mine),"
            " sized AS (SELECT x.cluster, count(*) AS records FROM (SELECT m.id, p.cluster FROM part p JOIN feedback_clustermember m"
            "      ON m.tenant_id = %s AND m.corpus_id = %s AND m.cluster_id = p.id"
            "    UNION SELECT m.id, p.cluster FROM part p JOIN feedback_clustermember m"
            "      ON m.tenant_id = %s AND m.id = p.id AND m.cluster_id IS NULL) x GROUP BY x.cluster)"
            " SELECT mine.external_id, mine.cluster, sized.records FROM mine JOIN sized USING (cluster)",
            [
                *[corpus.tenant_id] * 3,
                corpus.id,
                list(doc_ids),
                *(corpus.tenant_id, corpus.id) * 2,
                corpus.tenant_id,
            ],
        )
        return {row[0]: (row[1], row[2]) for row in cursor.fetchall()}


def list_ids_like(*, corpus: Corpus, doc_id: str) -> list[str]:
    """Return the ids of a record's cluster, its own among them; none for a record that is gone."""
    cluster = list_clusters_of(corpus=corpus, doc_ids=[doc_id]).get(doc_id)
    if cluster is None:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_IN_CLUSTERS} SELECT external_id FROM record ORDER BY external_id", _in_clusters(corpus, [cluster[0]])
        )
        return [row[0] for row in cursor.fetchall()]


def _clusters(corpus: Corpus, ids: Sequence[UUID]) -> list[Cluster]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_IN_CLUSTERS}, sized AS (SELECT cluster, count(*) AS records,"
            "   count(DISTINCT coalesce(account, author)) AS people, count(DISTINCT account) AS accounts,"
            f"  (array_agg(external_id ORDER BY occurred_at, external_id))[1:{LISTED}] AS doc_ids,"
            "   (array_agg(id ORDER BY occurred_at, external_id))[1] AS first,"
            "   (array_agg(revision ORDER BY occurred_at, external_id))[1] AS revision FROM record GROUP BY cluster)"
            f" SELECT s.cluster, s.records, s.people, s.accounts, s.doc_ids, left(r.text, {SHOWN_CHARACTERS}) FROM sized s"
            "   JOIN feedback_documentrevision r ON r.tenant_id = %s AND r.document_id = s.first AND r.number = s.revision",
            [*_in_clusters(corpus, ids), corpus.tenant_id],
        )
        return [Cluster(row[0], row[1], row[2], row[3], tuple(row[4]), row[5]) for row in cursor.fetchall()]


def _list_records(corpus: Corpus, cluster: UUID, *, besides: UUID, limit: int, offset: int) -> list[NearDuplicate]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_IN_CLUSTERS}, page AS (SELECT * FROM record WHERE id <> %s ORDER BY occurred_at, external_id LIMIT %s OFFSET %s)"
            f" SELECT p.external_id, p.account, p.author, p.source, p.occurred_at, left(r.text, {SHOWN_CHARACTERS}) FROM page p"
            "   JOIN feedback_documentrevision r ON r.tenant_id = %s AND r.document_id = p.id AND r.number = p.revision"
            "  ORDER BY p.occurred_at, p.external_id",
            [*_in_clusters(corpus, [cluster]), besides, limit, offset, corpus.tenant_id],
        )
        return [NearDuplicate(*row) for row in cursor.fetchall()]
