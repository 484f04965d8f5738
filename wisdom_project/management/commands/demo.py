"""Show Wisdom: sample feedback, somebody who may ask, and a server."""

from __future__ import annotations

import json
import os
import shlex
import threading
from collections.abc import Callable
from typing import Any

from django.conf import settings

from core.clock import utc_now
from core.commands import EXIT_FAULT, WisdomCommand, migrate
from core.database_roles import verify_fixed_settings
from core.embedded_postgres import ensure_running
from core.errors import InvalidInput
from feedback.services.vectors import embed_missing
from wisdom_project.demo import CORPUS, QUESTION, TENANT, Access, Demo, set_up
from wisdom_project.server import check_port, free_port, serve, url_of

_ANSWER_SECONDS = 60.0


class Command(WisdomCommand):
    help = "Set up sample feedback and serve it until Ctrl-C. --check asks one question over HTTP and ends."
    takes_tenant = False
    touches_database = False  # not before the port is known to be free
    after_interrupt = "Stopped; `make demo` goes on from here."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--check", action="store_true", help="start, ask one question, print the answer and stop")

    def handle(self, *args: Any, **options: Any) -> None:
        wisdom = settings.WISDOM
        if not wisdom.is_local:
            raise InvalidInput(
                "The demo makes an account that anybody at this terminal can use: unset WA_ENVIRONMENT to run it."
            )
        host, port = wisdom.host, wisdom.port
        if options["check"] and not os.environ.get("WA_PORT"):
            port = free_port(host)
        check_port(host=host, port=port)
        demo = self._set_up()
        url = url_of(host, port)
        if options["check"]:
            self._check(host, port, url, demo.access)
        else:
            serve(host=host, port=port, when_ready=lambda stop: self._tell(url, demo.access))

    def _set_up(self) -> Demo:
        wisdom = settings.WISDOM
        if wisdom.uses_embedded_postgres:
            server = ensure_running(wisdom.state_dir)
            self.note("PostgreSQL was running already." if server.joined else "PostgreSQL runs.")
        if "owner" in settings.DATABASES:
            migrate()
        verify_fixed_settings(wisdom)
        self.note("The database has its tables.")
        progress = self.progress("rows")
        try:
            demo = set_up(now=utc_now(), progress=progress.update)
        finally:
            progress.finish()
        result = demo.loaded.result
        self.note(
            f"The tenant {TENANT} has {result.corpus_size:,} documents in {CORPUS}: {result.saved:,} new,"
            f" {result.updated:,} updated, {result.unchanged:,} unchanged."
        )
        if result.indexed:
            self._embed(demo)
        return demo

    def _embed(self, demo: Demo) -> None:
        """Compute the first vectors now, so that the first answers are the best; later ones are the worker's."""
        progress = self.progress("vectors")
        try:
            done = embed_missing(tenant=demo.loaded.tenant, corpus=demo.loaded.corpus, progress=progress.update)
        finally:
            progress.finish()
        if done.embedded:
            self.note(f"{done.embedded:,} vectors were computed in {done.seconds:.1f} s.")

    def _tell(self, url: str, access: Access) -> None:
        self.say("", f"Wisdom serves at {url}; Ctrl-C ends it.", "", *_sign_in(access), "", _curl(url, access), "")
        self.stdout.flush()

    def _check(self, host: str, port: int, url: str, access: Access) -> None:
        asked: list[dict[str, Any] | str] = []

        def ask_and_stop(stop: Callable[[], None]) -> None:
            def work() -> None:
                try:
                    asked.append(_ask(url, access))
                finally:
                    stop()

            threading.Thread(target=work, daemon=True).start()

        serve(host=host, port=port, when_ready=ask_and_stop)
        answer = asked[0] if asked else "The server stopped before it answered."
        if isinstance(answer, str):
            self.note(answer)
            self.exit_status = EXIT_FAULT
            return
        if answer.get("outcome") not in ("answered", "downgraded") or not answer.get("claims"):
            self.note(f"The question was not answered: {answer.get('outcome')}.")
            self.exit_status = EXIT_FAULT
        if self.as_json:
            self.document(answer)
        else:
            self.say(QUESTION, "", str(answer.get("markdown") or answer.get("answer")))


def _ask(url: str, access: Access) -> dict[str, Any] | str:
    """Ask the question over HTTP; return the answer, or why there is none."""
    import httpx2

    try:
        response = httpx2.post(
            f"{url}/api/v1/ask",
            json={"question": QUESTION},
            headers={"Authorization": f"Bearer {access.api_key}"},
            timeout=_ANSWER_SECONDS,
            trust_env=False,
        )
        if response.status_code != 200:
            return f"The server answered {response.status_code}: {response.text[:500]}"
        answer: dict[str, Any] = response.json()
    except (httpx2.HTTPError, ValueError) as error:
        return f"The question could not be asked: {error}"
    return answer


def _sign_in(access: Access) -> list[str]:
    return [f"Sign in as {access.username} with the password {access.password}", "or ask from a terminal:"]


def _curl(url: str, access: Access) -> str:
    body = shlex.quote(json.dumps({"question": QUESTION}))
    return f"curl -s {url}/api/v1/ask -H 'Authorization: Bearer {access.api_key}' -H 'Content-Type: application/json' -d {body}"
