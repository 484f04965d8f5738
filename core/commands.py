"""The base of every management command: one way to be called, to answer and to fail.

Exit status: 0 done (a refusal to answer is done, too), 2 bad input with one line that says what to do, 1 a fault,
130 when stopped by Ctrl-C. Standard output has the result and nothing else.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import orjson
import structlog
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections
from django.db.utils import InterfaceError, OperationalError, ProgrammingError

from core.configuration import BadSetting
from core.database_roles import verify_fixed_settings
from core.embedded_postgres import EmbeddedPostgresError
from core.errors import Conflict, Forbidden, InvalidInput, NotAuthenticated, NotFound, WisdomError

log = structlog.get_logger("wisdom.command")

BAD_INPUT = (InvalidInput, NotFound, Conflict, Forbidden, NotAuthenticated)
EXIT_FAULT = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE
# Values of a vocabulary that a message lists of each key; a terminal is no catalogue.
_LISTED_VALUES = 40


def readable_text(value: str) -> str:
    """Read an argument as text: for argparse's `type`."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise argparse.ArgumentTypeError("this isn't valid UTF-8")
    return value


def positive_integer(value: str) -> int:
    """Read an argument as a whole number above zero: for argparse's `type`."""
    if not value.isascii() or not value.isdecimal() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no whole number above zero")
    return int(value)


class WisdomCommand(BaseCommand):
    """A command with `--json` and, where a tenant is meant, `--tenant`."""

    takes_tenant = True
    tenant_default: str | None = ""
    touches_database = True
    after_interrupt = "Stopped."
    requires_system_checks: list[str] = []  # Django's own type; the checks cost seconds of CPU

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.exit_status = 0
        self.as_json = False

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Add what all commands have after what this one has."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        if self.takes_tenant:
            default = settings.WISDOM.default_tenant if self.tenant_default == "" else self.tenant_default
            shown = default or "all of them"
            parser.add_argument(
                "--tenant",
                metavar="SLUG",
                type=readable_text,
                default=default,
                help=f"whose data; {shown} if not given",
            )
        parser.add_argument("--json", action="store_true", help="write the result as JSON to standard output")
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Check that the database fits the settings, then do the work."""
        self.as_json = bool(options.get("json"))
        if self.touches_database:
            self.prepare_database()
        return super().execute(*args, **options)

    def prepare_database(self) -> None:
        """Refuse settings that the stored data contradicts; make the tables of a new embedded database."""
        try:
            verify_fixed_settings(settings.WISDOM)
        except BadSetting as error:
            if not isinstance(error.__cause__, ProgrammingError) or not settings.WISDOM.uses_embedded_postgres:
                raise
            self.note("Making the tables of the new database …")
            migrate()
            verify_fixed_settings(settings.WISDOM)

    def run_from_argv(self, argv: list[str]) -> None:
        """Run as from a shell: every failure becomes an exit status and one line."""
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(encoding="utf-8", errors="backslashreplace")
        status = self._run(argv)
        if status:
            sys.exit(status)

    def _run(self, argv: list[str]) -> int:
        try:
            super().run_from_argv(argv)
            sys.stdout.flush()
        except BAD_INPUT as error:
            return self._fail(EXIT_BAD_INPUT, one_line(error))
        except (WisdomError, EmbeddedPostgresError) as error:
            return self._fail(EXIT_FAULT, str(error))
        except (OperationalError, InterfaceError) as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            return self._fail(EXIT_FAULT, f"The database can't do this now: {reason}")
        except KeyboardInterrupt:
            return self._fail(EXIT_INTERRUPTED, self.after_interrupt)
        except BrokenPipeError:
            # Whoever read our output has gone; Python would complain once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_BROKEN_PIPE
        except BadSetting:
            raise
        except Exception as error:
            log.exception("command failed", command=argv[1] if len(argv) > 1 else "")
            return self._fail(
                EXIT_FAULT, f"{type(error).__name__}: this is a fault of Wisdom; the log above has it all."
            )
        return self.exit_status

    def _fail(self, status: int, message: str) -> int:
        self.note(message)
        return status

    def note(self, message: str) -> None:
        """Tell the person at the terminal, on standard error."""
        self.stderr.write(message, _plain)
        self.stderr.flush()

    def document(self, value: Any) -> None:
        """Write one JSON document, on one line."""
        self.stdout.write(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())

    def say(self, *lines: str) -> None:
        """Write lines for people."""
        for line in lines:
            self.stdout.write(line)

    def progress(self, noun: str, *, total: int | None = None) -> Progress:
        """Return a display on standard error of how far the work is."""
        return Progress(self.stderr, noun, total=total)


class Progress:
    """How far a long piece of work is, and how fast: a line that is redrawn, or in a log a line now and then."""

    _REDRAWN_SECONDS = 0.2
    _LOGGED_SECONDS = 5.0

    def __init__(self, stream: Any, noun: str, *, total: int | None = None) -> None:
        self._stream = stream
        self._noun = noun
        self._total = total
        self._started = self._shown = time.monotonic()
        self._is_terminal = stream.isatty()
        self._is_drawn = False

    def update(self, count: int) -> None:
        """Show the count if it is time to."""
        now = time.monotonic()
        if now - self._shown < (self._REDRAWN_SECONDS if self._is_terminal else self._LOGGED_SECONDS):
            return
        self._shown = now
        self._show(count, now)

    def finish(self) -> None:
        """End the line that was being redrawn."""
        if self._is_terminal and self._is_drawn:
            self._stream.write("\r\033[K", _plain, ending="")
            self._stream.flush()

    def _show(self, count: int, now: float) -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        rate = count / max(now - self._started, 1e-9)
        line = f"{count:,}{of} {self._noun}, {rate:,.0f} a second"
        if self._is_terminal:
            self._stream.write(f"\r{line}\033[K", _plain, ending="")
        else:
            self._stream.write(line, _plain)
        self._stream.flush()
        self._is_drawn = True


def _plain(text: str) -> str:
    """Leave a line uncoloured: Django paints standard error red, and progress is no error."""
    return text


def one_line(error: WisdomError) -> str:
    """Return the message of an error with the vocabulary that it carries, if any."""
    message = " ".join(error.message.split())
    vocabulary = error.detail.get("vocabulary")
    if not isinstance(vocabulary, Mapping):
        return message
    known = [
        f"{key}: {_listed(values)}"
        for key, values in (
            ("keys", [*vocabulary.get("keys", ()), *vocabulary.get("facets", {})]),
            ("source", vocabulary.get("sources", ())),
            ("theme", vocabulary.get("themes", ())),
            ("language", vocabulary.get("languages", ())),
        )
        if values
    ]
    for name, facet in vocabulary.get("facets", {}).items():
        known.append(
            f"{name}: {_listed(facet['values']) if facet.get('values') else 'any value' if facet['type'] == 'any' else 'any ' + facet['type']}"
        )
    return f"{message} There are: {'; '.join(known)}."


def _listed(values: Any) -> str:
    shown = [str(value) for value in values]
    rest = len(shown) - _LISTED_VALUES
    return ", ".join(shown[:_LISTED_VALUES]) + (f" and {rest} more" if rest > 0 else "")


def migrate() -> None:
    """Bring the schema up to date; a second process waits and finds it done."""
    with _migration_lock():
        if _is_behind():
            call_command("migrate", interactive=False, verbosity=0)


def _is_behind() -> bool:
    """Say whether a migration is missing; `migrate` itself takes a second to find nothing to do."""
    from django.db.migrations.executor import MigrationExecutor  # for those who serve, not for every command

    executor = MigrationExecutor(connections["owner"])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def _migration_lock() -> Iterator[None]:
    state = settings.WISDOM.state_dir
    state.mkdir(parents=True, exist_ok=True)
    lock: IO[str]
    with (state / "migrate.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
