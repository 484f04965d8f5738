"""Recount the statistics of the search index."""

from __future__ import annotations

from typing import Any

from core.commands import EXIT_FAULT, WisdomCommand
from feedback.services.index_check import check_index
from tenants.selectors import get_tenant


class Command(WisdomCommand):
    help = "Count documents, words and vectors anew and compare them with the statistics; exits 1 on a difference."

    def handle(self, *args: Any, **options: Any) -> None:
        differences = check_index(tenant=get_tenant(slug=options["tenant"]))
        if differences:
            self.exit_status = EXIT_FAULT
        if self.as_json:
            self.document({"differences": [difference.as_json() for difference in differences]})
            return
        for found in differences:
            examples = f" ({'; '.join(found.examples)})" if found.examples else ""
            self.say(f"{found.corpus}: {found.what}: stored {found.stored}, counted {found.counted}{examples}")
        if not differences:
            self.say("Every number is right.")
