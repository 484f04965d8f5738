"""Run things at once, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

Result = TypeVar("Result")


def at_once(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Start all at one moment; return their results in order, or raise what one of them raised."""
    ready = threading.Barrier(len(tasks), timeout=20)

    def run(task: Callable[[], Result]) -> Result:
        try:
            connection.ensure_connection()
            ready.wait()
            return task()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(run, task) for task in tasks]]
