"""Count again what the statistics say, from the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings
from django.db import connection

from core.tenant_session import tenant_session
from feedback.domain.partitions import shard_of
from feedback.selectors.corpora import list_corpora
from feedback.services.lexical_index import WEIGHT, newest_dated, weight_parameters

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant

_EXAMPLES = 5
# Two ways to compute one weight may differ by this share.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Difference:
    """A number that the statistics have wrong, or rows that should not be; `examples` names up to five of them."""

    corpus: str
    what: str
    stored: Any
    counted: Any
    examples: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it for `check_index --json`."""
        return {
            "corpus": self.corpus,
            "what": self.what,
            "stored": self.stored,
            "counted": self.counted,
            "examples": list(self.examples),
        }


def check_index(*, tenant: Tenant) -> list[Difference]:
    """Recount every corpus of a tenant; an empty list is right.

    One snapshot a tenant: what is written meanwhile is not held against it.
    """
    with tenant_session(tenant):
        with connection.cursor() as cursor:
            if not connection.savepoint_ids:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SET LOCAL statement_timeout = 0")
        return [difference for corpus in list_corpora(tenant=tenant) for difference in _check_corpus(corpus)]


def _check_corpus(corpus: Corpus) -> Iterator[Difference]:
    yield from _check_statistics(corpus)
    yield from _check_frequencies(corpus)
    yield from _check_bounds(corpus)
    yield from _check_rows(corpus)


def _check_statistics(corpus: Corpus) -> Iterator[Difference]:
    scope = [corpus.tenant_id, corpus.id]
    shard = shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT documents, passages, total_length, newest_at, vectors FROM feedback_corpusstatistics"
            " WHERE tenant_id = %s AND corpus_id = %s",
            scope,
        )
        row = cursor.fetchone()
        cursor.execute(
            "SELECT count(*), coalesce(sum(length), 0) FROM feedback_passage WHERE tenant_id = %s AND corpus_id = %s",
            scope,
        )
        passages, length = cursor.fetchone()
        cursor.execute(
            "SELECT count(*) FROM feedback_documentkey WHERE tenant_id = %s AND corpus_id = %s AND deleted_at IS NULL",
            scope,
        )
        (documents,) = cursor.fetchone()
        cursor.execute(
            "SELECT embedder, count(*) FROM feedback_passagevector"
            " WHERE tenant_id = %s AND shard = %s AND corpus_id = %s GROUP BY embedder",
            [corpus.tenant_id, shard, corpus.id],
        )
        vectors = dict(cursor.fetchall())
    if row is None:
        yield Difference(corpus.slug, "statistics", None, documents)
        return
    counted = (documents, passages, int(length), newest_dated(corpus))
    for what, stored, found in zip(
        ("documents", "passages", "total_length", "newest_at"), row[:4], counted, strict=True
    ):
        if stored != found:
            yield Difference(corpus.slug, what, stored, found)
    held = orjson.loads(row[4]) if isinstance(row[4], str) else row[4]
    for name in sorted({*held, *vectors}):
        if held.get(name, 0) != vectors.get(name, 0):
            yield Difference(corpus.slug, f"vectors of {name}", held.get(name, 0), vectors.get(name, 0))


def _check_frequencies(corpus: Corpus) -> Iterator[Difference]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(t.lexeme, '#' || h.term), coalesce(t.document_frequency, 0), coalesce(h.held, 0)"
            "  FROM (SELECT lexeme, term_id, document_frequency FROM feedback_term"
            "         WHERE tenant_id = %s AND corpus_id = %s) t"
            "  FULL JOIN (SELECT u.term, count(*) AS held FROM feedback_passage, unnest(terms) AS u(term)"
            "         WHERE tenant_id = %s AND corpus_id = %s GROUP BY 1) h ON h.term = t.term_id"
            " WHERE coalesce(t.document_frequency, 0) <> coalesce(h.held, 0) ORDER BY 1",
            [corpus.tenant_id, corpus.id, corpus.tenant_id, corpus.id],
        )
        wrong = cursor.fetchall()
    if wrong:
        yield Difference(
            corpus.slug,
            "document frequencies",
            sum(row[1] for row in wrong),
            sum(row[2] for row in wrong),
            tuple(f"{lexeme}: {stored}, counted {held}" for lexeme, stored, held in wrong[:_EXAMPLES]),
        )


def _check_bounds(corpus: Corpus) -> Iterator[Difference]:
    """Find words that weigh more in a passage than is kept: searches would leave records out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT k1, b, average_length FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s",
            [corpus.tenant_id, corpus.id],
        )
        row = cursor.fetchone()
        if row is None:
            return
        k1, b, average_length = row
        cursor.execute(
            f"SELECT t.lexeme, t.max_weight, x.weight FROM (SELECT u.term, max({WEIGHT}) AS weight"
            "   FROM feedback_passage p, unnest(p.terms, p.frequencies) AS u(term, frequency)"
            "  WHERE p.tenant_id = %(tenant)s AND p.corpus_id = %(corpus)s GROUP BY u.term) x"
            " JOIN feedback_term t ON t.tenant_id = %(tenant)s AND t.corpus_id = %(corpus)s AND t.term_id = x.term"
            f" WHERE x.weight > t.max_weight * (1 + {_ROUNDING}) ORDER BY t.lexeme",
            weight_parameters(corpus, k1=k1, b=b, average_length=average_length),
        )
        wrong = cursor.fetchall()
    if wrong:
        yield Difference(
            corpus.slug,
            "greatest weights",
            min(row[1] for row in wrong),
            max(row[2] for row in wrong),
            tuple(f"{lexeme}: {stored:.6g}, but {found:.6g}" for lexeme, stored, found in wrong[:_EXAMPLES]),
        )


# Rows that contradict each other. Each query selects their external ids.
_KEY = "k.tenant_id = %(tenant)s AND k.corpus_id = %(corpus)s"
_PASSAGE = "p.tenant_id = %(tenant)s AND p.corpus_id = %(corpus)s"
_SEGMENT = "s.tenant_id = %(tenant)s AND s.corpus_id = %(corpus)s AND s.is_serving"
_VECTOR = "v.tenant_id = %(tenant)s AND v.shard = %(shard)s AND v.corpus_id = %(corpus)s"
_MISFITS = {
    "documents without a record": "SELECT k.external_id FROM feedback_documentkey k WHERE " + _KEY + " AND NOT EXISTS"
    " (SELECT FROM feedback_document d WHERE d.tenant_id = %(tenant)s AND d.id = k.id AND d.occurred_at = k.occurred_at"
    "   AND d.revision = k.revision AND (d.deleted_at IS NULL) = (k.deleted_at IS NULL))",
    "documents without their text": "SELECT k.external_id FROM feedback_documentkey k WHERE " + _KEY + " AND NOT EXISTS"
    " (SELECT FROM feedback_documentrevision r WHERE r.tenant_id = %(tenant)s AND r.document_id = k.id"
    "   AND r.number = k.revision)",
    "documents that can't be found": "SELECT k.external_id FROM feedback_documentkey k WHERE " + _KEY +
    " AND k.deleted_at IS NULL AND NOT EXISTS (SELECT FROM feedback_passage p WHERE p.tenant_id = %(tenant)s"
    "   AND p.document_id = k.id)",
    "records without a document": "SELECT d.external_id FROM feedback_document d WHERE d.tenant_id = %(tenant)s"
    " AND d.corpus_id = %(corpus)s AND NOT EXISTS (SELECT FROM feedback_documentkey k WHERE k.tenant_id = %(tenant)s"
    "   AND k.id = d.id AND k.occurred_at = d.occurred_at)",
    "passages of no document": "SELECT p.external_id FROM feedback_passage p WHERE " + _PASSAGE + " AND NOT EXISTS"
    " (SELECT FROM feedback_documentkey k WHERE k.tenant_id = %(tenant)s AND k.id = p.document_id"
    "   AND k.deleted_at IS NULL AND k.revision = p.revision AND k.occurred_at = p.occurred_at)",
    "vectors of no passage": "SELECT v.external_id FROM feedback_passagevector v WHERE " + _VECTOR + " AND NOT EXISTS"
    " (SELECT FROM feedback_passage p WHERE p.tenant_id = %(tenant)s AND p.id = v.passage_id"
    "   AND p.index_hash = v.index_hash)",
    "vectors filed otherwise than their passage": "SELECT v.external_id FROM feedback_passagevector v"
    " JOIN feedback_passage p ON p.tenant_id = %(tenant)s AND p.id = v.passage_id WHERE " + _VECTOR +
    " AND (v.source, v.themes, v.account, v.language, v.facets, v.occurred_at) IS DISTINCT FROM"
    "  (p.source, p.themes, p.account, p.language, p.facets, p.occurred_at)",
    "records without a place among the clusters": "SELECT k.external_id FROM feedback_documentkey k WHERE " + _KEY +
    " AND (k.deleted_at IS NULL) <> EXISTS (SELECT FROM feedback_clustermember m WHERE m.tenant_id = %(tenant)s"
    "   AND m.id = k.id AND m.corpus_id = k.corpus_id)",
    "records clustered by a text that they don't say": "SELECT k.external_id FROM feedback_documentkey k"
    " JOIN feedback_clustermember m ON m.tenant_id = %(tenant)s AND m.id = k.id WHERE " + _KEY +
    " AND m.text_id IS NOT NULL AND (m.cluster_id IS NULL OR NOT EXISTS (SELECT FROM feedback_documentrevision r"
    "   JOIN feedback_distincttext t ON t.tenant_id = %(tenant)s AND t.id = m.text_id"
    "  WHERE r.tenant_id = %(tenant)s AND r.id = m.position AND r.document_id = k.id AND r.number = k.revision"
    "    AND t.position <= m.position AND (m.cluster_id IN (t.leader_id, m.id))))",
    "texts that no record says": "SELECT t.id::text AS external_id FROM feedback_distincttext t"
    " WHERE t.tenant_id = %(tenant)s AND t.corpus_id = %(corpus)s AND NOT t.is_due AND NOT EXISTS"
    " (SELECT FROM feedback_clustermember m WHERE m.tenant_id = %(tenant)s AND m.text_id = t.id AND m.position = t.position)",
    "texts whose leader follows another": "SELECT t.id::text AS external_id FROM feedback_distincttext t"
    " WHERE t.tenant_id = %(tenant)s AND t.corpus_id = %(corpus)s AND NOT EXISTS (SELECT FROM feedback_distincttext l"
    "   WHERE l.tenant_id = %(tenant)s AND l.id = t.leader_id AND l.leader_id = l.id AND l.position <= t.position)",
    "vectors that their segment lacks": "SELECT v.external_id FROM feedback_passagevector v JOIN feedback_vectorsegment s"
    " ON s.embedder = v.embedder AND v.number > s.above AND v.number <= s.upto WHERE " + _VECTOR + " AND " + _SEGMENT +
    " AND NOT EXISTS (SELECT FROM feedback_segmentvector g WHERE g.tenant_id = %(tenant)s AND g.segment_id = s.id"
    "   AND g.id = v.id)",
    "segments with deleted vectors": "SELECT g.id::text AS external_id FROM feedback_segmentvector g JOIN feedback_vectorsegment s"
    " ON s.id = g.segment_id WHERE g.tenant_id = %(tenant)s AND " + _SEGMENT + " AND NOT EXISTS"
    " (SELECT FROM feedback_passagevector v WHERE " + _VECTOR + " AND v.id = g.id)",
    "vectors with a number that is yet to be given": "SELECT v.external_id FROM feedback_passagevector v WHERE " + _VECTOR +
    " AND v.number > (SELECT c.last_vector FROM feedback_corpusstatistics c WHERE c.tenant_id = %(tenant)s"
    "   AND c.corpus_id = %(corpus)s)",
}  # fmt: skip


def _check_rows(corpus: Corpus) -> Iterator[Difference]:
    parameters: dict[str, Any] = {
        "tenant": corpus.tenant_id,
        "corpus": corpus.id,
        "shard": shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
    }
    for what, query in _MISFITS.items():
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*), (array_agg(x.external_id ORDER BY 1))[1:{_EXAMPLES}] FROM ({query}) x", parameters
            )
            count, examples = cursor.fetchone()
        if count:
            yield Difference(corpus.slug, what, 0, count, tuple(examples))
