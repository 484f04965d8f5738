"""Check claims against evidence that comes with them."""

from __future__ import annotations

from typing import Any

from answering.calibrations import grounding_rules
from answering.management.labelled_lines import read_claim
from answering.verification import check_all
from core.batch_lines import read_batch
from core.commands import WisdomCommand, readable_text


class Command(WisdomCommand):
    help = "Say of each claim whether the evidence beside it supports it, and which span does."
    takes_tenant = False
    touches_database = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            type=readable_text,
            help='lines of {"id", "claim", "evidence", "lang"?}, evidence a text or a list; or -',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for claim, verdict in check_all(read_batch(options["file"], read_claim), rules=grounding_rules()):
            span = verdict.span
            self.document(
                {
                    "id": claim.id,
                    "supported": verdict.supported,
                    "support": verdict.support,
                    "reason": verdict.reason,
                    "code": verdict.code,
                    "span": {"evidence": span.evidence, "start": span.start, "end": span.end} if span else None,
                    "checks": [
                        {"check": each.check.value, "agrees": each.agrees, "reason": each.detail}
                        for each in verdict.checks
                    ],
                }
            )
