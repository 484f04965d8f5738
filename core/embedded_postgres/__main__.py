"""Start, stop or look at the embedded server by hand: `python -m core.embedded_postgres start`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from core.embedded_postgres import EmbeddedPostgresError, ensure_running, is_running, stop


def main(words: list[str]) -> int:
    """Do what the command line says; 0 is done or running, 3 not running, 1 a fault told in one line."""
    parser = argparse.ArgumentParser(prog="python -m core.embedded_postgres", description=__doc__)
    parser.add_argument("action", choices=["start", "stop", "status", "url"])
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=Path(os.environ.get("WA_STATE_DIR") or ".wisdom"),
        help="the state folder; WA_STATE_DIR or .wisdom if not given",
    )
    arguments = parser.parse_args(words)
    try:
        return _act(arguments.action, arguments.state_dir)
    except EmbeddedPostgresError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _act(action: str, state_directory: Path) -> int:
    if action == "start":
        server = ensure_running(state_directory)
        word = "was running already" if server.joined else "is running"
        sys.stdout.write(f"PostgreSQL {word}: {server.app_dsn()}\n")
    elif action == "stop":
        sys.stdout.write("PostgreSQL stopped\n" if stop(state_directory) else "PostgreSQL was not running\n")
    elif action == "url":
        sys.stdout.write(f"{ensure_running(state_directory).app_dsn()}\n")
    elif not is_running(state_directory):
        sys.stdout.write("PostgreSQL is not running\n")
        return 3
    else:
        sys.stdout.write("PostgreSQL is running\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
