"""Serve pages and APIs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings

from core.commands import WisdomCommand, migrate
from core.database_roles import verify_fixed_settings
from wisdom_project.server import check_port, serve, url_of


class Command(WisdomCommand):
    help = "Serve pages and APIs, with the background tasks as a child process, until Ctrl-C."
    takes_tenant = False
    touches_database = False  # not before the port is known to be free

    def handle(self, *args: Any, **options: Any) -> None:
        wisdom = settings.WISDOM
        check_port(host=wisdom.host, port=wisdom.port)
        if "owner" in settings.DATABASES:
            migrate()
        verify_fixed_settings(wisdom)

        def tell(stop: Callable[[], None]) -> None:
            self.say(f"Wisdom serves at {url_of(wisdom.host, wisdom.port)}; Ctrl-C ends it.")
            self.stdout.flush()

        serve(host=wisdom.host, port=wisdom.port, when_ready=tell)
