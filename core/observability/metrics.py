"""The collectors, on one private registry. A label is a route template or a use-case name, never an id.

Processes share a folder of memory-mapped files (`PROMETHEUS_MULTIPROC_DIR`): a count made by a process
that was killed a moment later is not lost, and `/metrics` adds up the server and its workers.
"""

from __future__ import annotations

import os
import sys

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REGISTRY = CollectorRegistry()
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(name, text, labels, registry=REGISTRY)


def _histogram(name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
    return Histogram(name, text, labels, registry=REGISTRY, buckets=buckets)


# A graph over vectors takes minutes where a batch of documents takes a second.
_LONG_SECONDS = (*_SECONDS, 60.0, 120.0, 300.0, 600.0, 1200.0)


REQUESTS = _counter("wa_requests", "HTTP requests", "operation", "outcome")
REQUEST_DURATION = _histogram("wa_request_duration_seconds", "Time to answer a request", "operation")

DOCUMENTS_INDEXED = _counter("wa_documents_indexed", "Documents made searchable")
DOCUMENTS_REJECTED = _counter("wa_documents_rejected", "Documents refused at ingest", "reason")
INDEX_BUILD = _histogram(
    "wa_index_build_seconds", "Time to index a batch, or to build a graph over vectors", buckets=_LONG_SECONDS
)

SEARCHES = _counter("wa_searches", "Searches run", "strategy")
SEARCH_HITS = _histogram("wa_search_hits", "Hits that a search returned", buckets=(0, 1, 2, 5, 10, 20, 50, 100))
RETRIEVAL_RECALL = _histogram(
    "wa_retrieval_recall_sample",
    "Share of the exact vector ranking that a sampled search by graph found",
    buckets=(0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 1.0),
)

QUESTIONS = _counter("wa_questions", "Questions asked", "outcome")
REFUSALS = _counter("wa_refusals", "Questions refused", "reason")
GROUNDEDNESS = _histogram("wa_groundedness_score", "Share of drafted claims that hold", buckets=_SHARES)
CITATION_PRECISION = _histogram("wa_citation_precision", "Share of cited spans that support", buckets=_SHARES)
VERIFIER_CHECKS = _counter("wa_verifier_checks", "Claims that a model judged beside the checker", "agreement")
UNSUPPORTED_CLAIMS = _counter("wa_unsupported_claims", "Drafted claims that did not hold")
REPAIRS = _counter("wa_repairs", "Repairs of a draft", "outcome")
AGENT_STEPS = _histogram("wa_agent_steps", "Steps of a run", buckets=(1, 2, 4, 6, 7, 8, 12, 16, 30))
AGENT_TOKENS = _histogram("wa_agent_tokens", "Tokens of a run", buckets=(0, 100, 1000, 2000, 4000, 8000))
TOOL_CALLS = _counter("wa_tool_calls", "Tool calls", "tool", "outcome")
TOOL_DURATION = _histogram("wa_tool_duration_seconds", "Time of a tool call", "tool")
RETRIES = _counter("wa_retries", "Further attempts after one that failed", "dependency")
SAGA_STEPS = _counter("wa_saga_steps", "Steps in the trace of a run, by what became of them", "step", "outcome")


def exposition() -> bytes:
    """Return every collector in the text format, added up over the processes that share the folder."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library has no types here
        return bytes(generate_latest(registry))
    return bytes(generate_latest(REGISTRY))


def is_multiprocess() -> bool:
    """Say whether counts outlive this process."""
    return "prometheus_client" in sys.modules and bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
