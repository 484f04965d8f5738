"""Make the entailment model of the settings once per process."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from answering.clients.entailment.protocol import Entailment

if TYPE_CHECKING:
    from core.configuration import WisdomSettings

_lock = threading.Lock()
_made: dict[tuple[object, ...], Entailment] = {}


def get_entailment(wisdom: WisdomSettings) -> Entailment | None:
    """Return the process's one model of these settings, None when they switch it off; it loads on first use."""
    if wisdom.entailment == "off":
        return None
    key = (wisdom.entailment, wisdom.entailment_model, wisdom.llm_base_url, wisdom.llm_model)
    with _lock:
        if key not in _made:
            _made[key] = _make(wisdom)
        return _made[key]


def _make(wisdom: WisdomSettings) -> Entailment:
    # Neither runtime is free: each is imported by whoever uses it.
    if wisdom.entailment == "onnx":
        from answering.clients.entailment.onnx import OnnxEntailment

        assert wisdom.entailment_model is not None
        return OnnxEntailment(wisdom.entailment_model, threads=min(2, os.cpu_count() or 1))
    from answering.clients.entailment.judge import JudgeEntailment
    from core.resilience import Limits

    return JudgeEntailment(
        base_url=wisdom.llm_base_url or "",
        api_key=wisdom.llm_api_key.get_secret_value() if wisdom.llm_api_key else "",
        model=wisdom.llm_model,
        limits=Limits(
            timeout_seconds=wisdom.timeout_seconds,
            max_attempts=wisdom.retry_max_attempts,
            failure_threshold=wisdom.breaker_failure_threshold,
            open_seconds=wisdom.breaker_open_seconds,
            max_concurrent=wisdom.bulkhead_max_concurrent,
        ),
    )
