"""Jobs that run as a process of an installation that is measured: `Bench.probe` starts them.

    python -m benchmarks.probe JOB < arguments.json > result.json

They are processes of their own, so that one benchmark can measure several installations.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant


def key(*, tenant: str) -> str:
    """Make an API key that may do everything; return its secret."""
    from core.clock import utc_now
    from tenants.domain.access import Scope
    from tenants.selectors import get_tenant
    from tenants.services import create_api_key

    return str(create_api_key(tenant=get_tenant(slug=tenant), name="bench", scopes=Scope, now=utc_now())[1])


def search(
    *, tenant: str, questions: list[str], modes: list[str], top_k: int, warm_up: list[str] | None = None
) -> dict[str, list[float]]:
    """Search for each question by each mode, interleaved; return seconds by mode.

    A search is the whole of it: session, both arms, fusion, rerank, hits with their texts and scores. Without a
    `warm_up` each search is made once unmeasured before; with one, its questions are, and every measured question
    is a new one. The mode that goes first changes with each question, since it reads the pages for the others.
    """
    from core.tenant_session import tenant_session
    from feedback.domain.filter_sets import Scope
    from feedback.domain.retrieval import Mode
    from feedback.services.search import search_corpus

    body, corpus = _corpus(tenant)
    times: dict[str, list[float]] = {mode: [] for mode in modes}

    def run(text: str, mode: str) -> float:
        started = time.perf_counter()
        with tenant_session(body):
            search_corpus(corpus=corpus, query=text, scope=Scope(), top_k=top_k, mode=Mode(mode))
        return time.perf_counter() - started

    for text in warm_up or ():
        for mode in modes:
            run(text, mode)
    for number, text in enumerate(questions):
        first = number % len(modes)
        for mode in modes[first:] + modes[:first]:
            if warm_up is None:
                run(text, mode)
            times[mode].append(run(text, mode))
    return times


def change(*, tenant: str, documents: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Edit each document's text and delete it, each in its own commit; restore all of it. Return seconds by kind.

    The corpus is as large afterwards as it was; the documents have another revision.
    """
    from core.clock import utc_now
    from feedback.services.deletion import delete_document, restore_document
    from feedback.services.ingest import ingest_documents
    from tenants.caller import operator

    body, corpus = _corpus(tenant)
    caller = operator(body)
    times: dict[str, list[float]] = {"edit": [], "delete": [], "restore": []}

    def timed(kind: str, act: Callable[[], object]) -> None:
        started = time.perf_counter()
        act()
        times[kind].append(time.perf_counter() - started)

    for row in documents:
        edited = {**row, "text": f"{row['text']} Edited at {time.time_ns()}."}
        timed("edit", lambda: ingest_documents(caller=caller, corpus=corpus, rows=[(1, edited)], now=utc_now()))  # noqa: B023  # called at once
        timed("delete", lambda: delete_document(caller=caller, corpus=corpus, external_id=row["id"], now=utc_now()))  # noqa: B023  # likewise
        timed("restore", lambda: restore_document(caller=caller, corpus=corpus, external_id=row["id"], now=utc_now()))  # noqa: B023  # likewise
    return times


def sizes() -> list[list[Any]]:
    """Return the bytes of tables and indexes: (table without its partition, kind of storage, bytes), largest first."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE root AS (SELECT c.oid, c.relname::text AS name FROM pg_class c"
            "   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
            "  UNION ALL SELECT i.inhrelid, root.name FROM root JOIN pg_inherits i ON i.inhparent = root.oid)"
            " SELECT name, kind, sum(bytes)::bigint FROM ("
            "   SELECT name, 'rows' AS kind, pg_table_size(oid) AS bytes FROM root"
            "   UNION ALL SELECT root.name, am.amname::text, pg_relation_size(x.indexrelid) FROM root"
            "     JOIN pg_index x ON x.indrelid = root.oid JOIN pg_class c ON c.oid = x.indexrelid"
            "     JOIN pg_am am ON am.oid = c.relam) parts"
            " GROUP BY name, kind HAVING sum(bytes) > 0 ORDER BY sum(bytes) DESC, name, kind"
        )
        return [list(row) for row in cursor.fetchall()]


def vacuum() -> bool:
    """Do at once what autovacuum does within the minute, so that runs are alike."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE")
    return True


def vector_indexes() -> int:
    """Return how many vector indexes exist."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_am am ON am.oid = c.relam"
            " WHERE c.relkind = 'i' AND am.amname IN ('hnsw', 'ivfflat')"
        )
        return int(cursor.fetchone()[0])


def _corpus(slug: str) -> tuple[Tenant, Corpus]:
    from core.tenant_session import tenant_session
    from feedback.selectors.corpora import get_corpus
    from tenants.selectors import get_tenant

    tenant = get_tenant(slug=slug)
    with tenant_session(tenant):
        return tenant, get_corpus(tenant=tenant, slug="feedback")


JOBS: dict[str, Callable[..., Any]] = {
    job.__name__: job for job in (key, search, change, sizes, vacuum, vector_indexes)
}


def main() -> None:
    arguments = json.loads(sys.stdin.read() or "{}")
    import django

    django.setup()
    print(json.dumps(JOBS[sys.argv[1]](**arguments)))


if __name__ == "__main__":
    main()
