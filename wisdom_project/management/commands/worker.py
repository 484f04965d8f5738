"""Run background tasks."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from typing import Any

from core.commands import WisdomCommand, positive_integer
from wisdom_project.server import WORKER_GRACE_SECONDS

_PR_SET_PDEATHSIG = 1


class Command(WisdomCommand):
    help = (
        "Run background tasks until Ctrl-C or SIGTERM: large deliveries, vectors, upkeep. `serve` starts one by itself."
    )
    takes_tenant = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--parent", type=positive_integer, metavar="PID", help="end when this process, our parent, does"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["parent"]:
            _die_with(options["parent"], signal.SIGTERM)
        _chain_children_to_us()
        cluster = _cluster()
        cluster.start()
        # It has gone when it was told to end before it had begun.
        if cluster.sentinel is not None:
            cluster.sentinel.join()
            if cluster.sentinel.exitcode:
                self.exit_status = 1


def _cluster() -> Any:
    from django_q.cluster import Cluster

    class ClusterThatEndsInTime(Cluster):  # type: ignore[misc]  # the package has no types
        """django-q's, which would wait for the tasks at work however long they take."""

        def sig_handler(self, signum: int, frame: Any) -> None:
            limit = threading.Timer(WORKER_GRACE_SECONDS, os.kill, (os.getpid(), signal.SIGKILL))
            limit.daemon = True
            limit.start()
            super().sig_handler(signum, frame)

    return ClusterThatEndsInTime()


def _die_with(parent: int, how: signal.Signals) -> None:
    """Have the kernel send us a signal when our parent dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(how))
    if os.getppid() != parent:  # it died before it could be asked
        sys.exit(0)


def _chain_children_to_us() -> None:
    """Have every process below us die with the one that made it: no kill leaves an orphan."""
    maker = [os.getpid()]

    def remember() -> None:
        maker[0] = os.getpid()

    os.register_at_fork(before=remember, after_in_child=lambda: _die_with(maker[0], signal.SIGKILL))
