"""Measure on live searches how much of the exact ranking the graphs find."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import count

import structlog
from django.conf import settings
from django.db import connection, transaction

from core.observability import metrics

log = structlog.get_logger("wisdom.retrieval")

# Scores are computed from the same half-precision numbers; only the last digits differ by the order of summing.
_EQUAL = 1e-6
_searches = count()
_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recall")
_busy = threading.Lock()


def recall(found: Sequence[float], exact: Sequence[float]) -> float:
    """Return the share of the exact ranking that was found, in [0, 1], from both lists of scores; 1 if it is empty.

    Records with equal scores stand for each other: which of them makes the list is chance.
    """
    if not exact:
        return 1.0
    least = min(exact) - _EQUAL
    return min(1.0, sum(score >= least for score in found) / len(exact))


def is_sampled(query: str, number: int, share: float) -> bool:
    """Say whether the process's search of that number is compared: by a hash, so that a replay chooses alike."""
    digest = blake2b(f"{number} {query}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) < share * 2**64


def sample(query: str, found: Sequence[float], scan: Callable[[], Sequence[float]]) -> None:
    """Compare a share of the searches by graph with the exact scan, in the background, once the caller has committed.

    `scan` opens a session of its own and returns the exact scores. Searches that were exact themselves are not
    offered: their recall is 1, and counting it would hide what the graphs miss. One comparison runs at a time; a
    search that is chosen meanwhile is not compared.
    """
    if is_sampled(query, next(_searches), settings.WISDOM.recall_sample_share):
        transaction.on_commit(lambda: _compare_later(found, scan))


def _compare_later(found: Sequence[float], scan: Callable[[], Sequence[float]]) -> None:
    if _busy.acquire(blocking=False):
        _worker.submit(_compare, found, scan)


def _compare(found: Sequence[float], scan: Callable[[], Sequence[float]]) -> None:
    try:
        metrics.RETRIEVAL_RECALL.observe(recall(found, scan()))
    except Exception:
        log.exception("recall was not measured")
    finally:
        # The thread's own connection goes back to the pool.
        connection.close()
        _busy.release()
