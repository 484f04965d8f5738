"""Say how the claims stand on which checker and model disagree, and write out what people decided."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from tenants.selectors import get_tenant


class Command(WisdomCommand):
    help = (
        "Count the claims that wait for a decision and how often checker and model disagree; export what was decided."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--export",
            type=readable_text,
            metavar="FILE",
            help='write what people decided as lines of {"id", "claim", "evidence", "label"}: a FILE for calibrate_grounding',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from answering.reviews import labelled_claims, review_figures

        tenant = get_tenant(slug=options["tenant"])
        with tenant_session(tenant):
            figures = review_figures(tenant=tenant)
            labelled = list(labelled_claims(tenant=tenant)) if options["export"] else []
        if options["export"]:
            _write(Path(options["export"]), labelled)
        if self.as_json:
            counted = {name: value for name, value in asdict(figures).items() if name != "states"}
            exported = {"exported": len(labelled)} if options["export"] else {}
            self.document({**figures.states, **counted, "disagreement": figures.disagreement, **exported})
            return
        waiting = figures.states["open"]
        self.say(
            f"{waiting:,} {'claim waits' if waiting == 1 else 'claims wait'} for a decision; decided: "
            + ", ".join(f"{number:,} {state}" for state, number in figures.states.items() if state != "open")
            + "."
        )
        share = (
            "no claim has both verdicts"
            if figures.disagreement is None
            else f"they differ on {figures.disagreement:.1%}"
        )
        self.say(
            f"The model was asked about {figures.judged:,} claims and gave no verdict on {figures.missing:,}; {share}."
        )
        if options["export"]:
            self.say(f"{len(labelled):,} labelled claims are in {options['export']}.")


def _write(path: Path, claims: list[dict[str, Any]]) -> None:
    try:
        path.write_bytes(b"".join(orjson.dumps(claim) + b"\n" for claim in claims))
    except OSError as error:
        raise InvalidInput(
            f"{path} can't be written: {(error.strerror or 'unwritable').lower()}.", field="export"
        ) from None
