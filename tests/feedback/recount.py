"""Count a corpus again from its rows, in SQL of its own, and compare with what the application keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import connection

from core.tenant_session import tenant_session
from feedback.services.lexical_index import MAX_DRIFT

if TYPE_CHECKING:
    from feedback.models import Corpus

_SCOPE = "tenant_id = %(tenant)s AND corpus_id = %(corpus)s"

# Each selects what is wrong; no row is right.
_FAULTS = {
    "a term's frequency": f"""
        SELECT lexeme, document_frequency, held FROM (
          SELECT t.lexeme, t.document_frequency,
                 (SELECT count(*) FROM feedback_passage p
                   WHERE p.tenant_id = %(tenant)s AND p.corpus_id = %(corpus)s AND t.term_id = ANY (p.terms)) AS held
            FROM feedback_term t WHERE t.{_SCOPE.replace(" AND ", " AND t.")}) x
         WHERE document_frequency <> held""",
    "a passage's term that has no number": f"""
        SELECT external_id, u.term FROM feedback_passage, unnest(terms) AS u(term)
         WHERE {_SCOPE} AND u.term NOT IN (SELECT term_id FROM feedback_term WHERE {_SCOPE})""",
    "terms in order, once, with their frequencies": f"""
        SELECT external_id FROM feedback_passage WHERE {_SCOPE}
           AND (terms <> ARRAY(SELECT DISTINCT u FROM unnest(terms) u ORDER BY u)
             OR cardinality(terms) <> cardinality(frequencies)
             OR length <> (SELECT coalesce(sum(f), 0) FROM unnest(frequencies) f))""",
    "a weight": """
        SELECT p.external_id, u.term, w.weight, expected FROM feedback_passage p
          JOIN feedback_corpusstatistics s ON s.tenant_id = %(tenant)s AND s.corpus_id = %(corpus)s
         CROSS JOIN unnest(p.terms, p.frequencies) AS u(term, frequency)
          LEFT JOIN LATERAL (
            SELECT split_part(pair, ':', 2)::float AS weight
              FROM regexp_split_to_table(split_part(trim(leading '{' from p.weights::text), '}', 1), ',') pair
             WHERE split_part(pair, ':', 1) = u.term::text) w ON true
         CROSS JOIN LATERAL (SELECT u.frequency * (s.k1 + 1)
           / (u.frequency + s.k1 * (1 - s.b + s.b * p.length / s.average_length)) AS expected) e
         WHERE p.tenant_id = %(tenant)s AND p.corpus_id = %(corpus)s
           AND (w.weight IS NULL OR abs(w.weight - expected) > 1e-5 * expected)""",
    "a key without its record": f"""
        SELECT k.external_id FROM feedback_documentkey k
          LEFT JOIN feedback_document d ON d.tenant_id = %(tenant)s AND d.id = k.id
           AND (d.corpus_id, d.external_id, d.occurred_at, d.revision) = (k.corpus_id, k.external_id, k.occurred_at, k.revision)
           AND d.deleted_at IS NOT DISTINCT FROM k.deleted_at
         WHERE k.{_SCOPE.replace(" AND ", " AND k.")} AND d.id IS NULL""",
    "a record that is there twice or has no key": f"""
        SELECT external_id, count(*) FROM feedback_document d WHERE {_SCOPE} GROUP BY external_id, d.id
        HAVING count(*) > 1 OR NOT EXISTS (SELECT FROM feedback_documentkey k WHERE k.tenant_id = %(tenant)s AND k.id = d.id)""",
    "a revision missing or too many": f"""
        SELECT k.external_id FROM feedback_documentkey k WHERE {_SCOPE} AND ARRAY(
          SELECT r.number FROM feedback_documentrevision r WHERE r.tenant_id = %(tenant)s AND r.document_id = k.id ORDER BY 1
        ) <> ARRAY(SELECT generate_series(1, k.revision))""",
    "a live record that isn't indexed, or a deleted one that is": f"""
        SELECT k.external_id FROM feedback_documentkey k WHERE {_SCOPE} AND (k.deleted_at IS NULL) <> EXISTS (
          SELECT FROM feedback_passage p WHERE p.tenant_id = %(tenant)s AND p.document_id = k.id)""",
    "a passage filed otherwise than its record": f"""
        SELECT p.external_id FROM feedback_passage p
          LEFT JOIN feedback_document d ON d.tenant_id = %(tenant)s AND d.id = p.document_id AND d.deleted_at IS NULL
           AND (d.corpus_id, d.external_id, d.revision, d.source, d.themes, d.language, d.facets, d.occurred_at)
             = (p.corpus_id, p.external_id, p.revision, p.source, p.themes, p.language, p.facets, p.occurred_at)
           AND d.account IS NOT DISTINCT FROM p.account AND coalesce(d.account, d.author) IS NOT DISTINCT FROM p.person
         WHERE p.{_SCOPE.replace(" AND ", " AND p.")} AND d.id IS NULL""",
    "a vector filed otherwise than its passage": f"""
        SELECT v.external_id FROM feedback_passagevector v
          LEFT JOIN feedback_passage p ON p.tenant_id = %(tenant)s AND p.id = v.passage_id
           AND (p.corpus_id, p.document_id, p.external_id, p.source, p.themes, p.language, p.facets, p.occurred_at, p.index_hash)
             = (v.corpus_id, v.document_id, v.external_id, v.source, v.themes, v.language, v.facets, v.occurred_at, v.index_hash)
           AND p.account IS NOT DISTINCT FROM v.account
         WHERE v.{_SCOPE.replace(" AND ", " AND v.")} AND p.id IS NULL""",
    "a passage with two vectors of one embedder": f"""
        SELECT passage_id FROM feedback_passagevector WHERE {_SCOPE} GROUP BY passage_id, embedder HAVING count(*) > 1""",
}


def differences(corpus: Corpus) -> list[str]:
    """Return what is kept otherwise than it is counted; an empty list is right."""
    parameters = {"tenant": corpus.tenant_id, "corpus": corpus.id}
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        kept = _one(
            cursor,
            "SELECT documents, passages, total_length, terms, newest_at, average_length, vectors"
            f" FROM feedback_corpusstatistics WHERE {_SCOPE}",
            parameters,
        )
        counted = _one(
            cursor,
            f"SELECT (SELECT count(*) FROM feedback_documentkey WHERE {_SCOPE} AND deleted_at IS NULL), count(*),"
            f" coalesce(sum(length), 0)::bigint, (SELECT count(*) FROM feedback_term WHERE {_SCOPE}), max(occurred_at)"
            f" FROM feedback_passage WHERE {_SCOPE}",
            parameters,
        )
        cursor.execute(
            f"SELECT embedder, count(*) FROM feedback_passagevector WHERE {_SCOPE} GROUP BY embedder", parameters
        )
        vectors = dict(cursor.fetchall())
        found = [
            f"{name}: kept {ours}, counted {theirs}"
            for name, ours, theirs in zip(
                ("documents", "passages", "length", "terms", "newest"), kept[:5], counted, strict=True
            )
            if ours != theirs
        ]
        kept_vectors = json.loads(kept[6]) if isinstance(kept[6], str) else kept[6]
        if {name: count for name, count in kept_vectors.items() if count} != vectors:
            found.append(f"vectors: kept {kept_vectors}, counted {vectors}")
        if counted[1] and not abs(counted[2] / counted[1] - kept[5]) <= MAX_DRIFT * kept[5] + 1e-9:
            found.append(f"mean length: kept {kept[5]}, counted {counted[2] / counted[1]}")
        for name, query in _FAULTS.items():
            cursor.execute(query, parameters)
            found += [f"{name}: {row}" for row in cursor.fetchall()]
    return found


def _one(cursor: Any, query: str, parameters: dict[str, Any]) -> tuple[Any, ...]:
    cursor.execute(query, parameters)
    row: tuple[Any, ...] = cursor.fetchone()
    return row
