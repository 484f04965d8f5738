"""Check claims against evidence that comes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from answering.domain.grounding import check_claim
from core.batch_lines import line_id, line_text, read_batch
from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class _Claim:
    id: str | int
    text: str
    evidence: tuple[str, ...]


class Command(WisdomCommand):
    help = "Say of each claim whether the evidence beside it supports it, and which span does."
    takes_tenant = False
    touches_database = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            type=readable_text,
            help='lines of {"id", "claim", "evidence"}, a text or a list; or -',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for claim in read_batch(options["file"], _read_claim):
            verdict = check_claim(claim.text, claim.evidence, floor=settings.WISDOM.min_support)
            span = verdict.span
            self.document(
                {
                    "id": claim.id,
                    "supported": verdict.supported,
                    "support": verdict.support,
                    "reason": verdict.reason,
                    "code": verdict.code,
                    "span": {"evidence": span.evidence, "start": span.start, "end": span.end} if span else None,
                }
            )


def _read_claim(line: dict[str, Any]) -> _Claim:
    evidence = line.get("evidence")
    texts = [evidence] if isinstance(evidence, str) else evidence
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidInput("evidence must be a text or a list of texts.", field="evidence")
    return _Claim(line_id(line), line_text(line, "claim"), tuple(texts))
