"""Make each reranker once per process."""

from __future__ import annotations

import threading
from typing import Final

from core.errors import InvalidInput
from feedback.clients.rerankers.protocol import Reranker

OFF: Final = "off"
RERANKERS: Final = ("cross-encoder",)

_lock = threading.Lock()
_made: dict[tuple[str, int], Reranker] = {}


def check_reranker(name: str) -> str:
    """Return the name of a reranker, or "off". Raises: InvalidInput for any other."""
    if name not in (OFF, *RERANKERS):
        raise InvalidInput(
            f"There is no reranker {name!r}; use one of {', '.join((OFF, *RERANKERS))}.",
            field="reranker",
            detail={"rerankers": [OFF, *RERANKERS]},
        )
    return name


def get_reranker(name: str, *, threads: int = 1) -> Reranker:
    """Return the process's one reranker of this name; its model loads on first use.

    Raises: InvalidInput for a name that is none of RERANKERS.
    """
    if name not in RERANKERS:
        raise InvalidInput(f"There is no reranker {name!r}; use one of {', '.join(RERANKERS)}.", field="reranker")
    with _lock:
        if (name, threads) not in _made:
            # onnxruntime is not free: it is imported by whoever uses the model.
            from feedback.clients.rerankers.cross_encoder import CrossEncoderReranker

            _made[name, threads] = CrossEncoderReranker(threads=threads)
        return _made[name, threads]
