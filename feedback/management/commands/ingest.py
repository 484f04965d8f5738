"""Load a file of feedback."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from core.clock import utc_now
from core.commands import WisdomCommand, readable_text
from feedback.clients.embedders.registry import EMBEDDER_CHOICES
from feedback.importers.mapping import parse_pairs
from feedback.importers.registry import STANDARD_INPUT, open_file
from feedback.importers.rejected import RejectedRows
from feedback.models import Corpus
from feedback.services.jobs import embed_in_background
from feedback.services.loading import Destination, Loaded, load
from feedback.services.vectors import embed_missing

# Rejections that are told to a person; all are in --json and in the file of --rejects.
_TOLD_REJECTIONS = 5


class Command(WisdomCommand):
    help = (
        "Load feedback from NDJSON, JSON, CSV, TSV or an export of another tool. Loading a file twice changes nothing."
    )
    after_interrupt = "Stopped: what was loaded stays, and the same command loads the rest."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=readable_text, help="the file, or - for NDJSON from standard input"
        )
        parser.add_argument(
            "--create", action="store_true", help="make the tenant and the corpus where they are missing"
        )
        parser.add_argument(
            "--corpus", default="feedback", type=readable_text, help="which corpus; feedback if not given"
        )
        parser.add_argument(
            "--kind", choices=Corpus.Kind.values, help="the kind of a new corpus; feedback if not given"
        )
        parser.add_argument(
            "--embedder",
            choices=EMBEDDER_CHOICES,
            help="what a new corpus's vectors are made by; the installation's choice if not given",
        )
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            type=readable_text,
            metavar="COLUMN=FIELD",
            help="which column is which field, where the guess is wrong; may be repeated",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would happen to each row and write nothing"
        )
        parser.add_argument("--rejects", type=Path, metavar="FILE", help="write the refused rows there, to be fixed")
        parser.add_argument("--wait", action="store_true", help="compute the better vectors, too, before ending")

    def handle(self, *args: Any, **options: Any) -> None:
        destination = Destination(
            tenant=options["tenant"],
            corpus=options["corpus"],
            kind=options["kind"],
            creates=options["create"],
            embedder=options["embedder"],
        )
        loaded = self._load(destination, options)
        answer = loaded.result.as_json()
        if not options["dry_run"]:
            answer["lag"] = self._embed(loaded) if options["wait"] else embed_in_background(corpus=loaded.corpus)
        if self.as_json:
            self.document(answer)
        else:
            self._tell(loaded, answer, is_dry_run=options["dry_run"])

    def _load(self, destination: Destination, options: dict[str, Any]) -> Loaded:
        progress = self.progress("rows")
        path: str | None = options["file"]
        with ExitStack() as stack:
            original: Path | BinaryIO = Path(path or "")
            if path == STANDARD_INPUT:
                original = sys.stdin.buffer
                if options["rejects"]:
                    # A pipe can't be read again for the lines that were refused.
                    original = stack.enter_context(tempfile.TemporaryFile())
                    shutil.copyfileobj(sys.stdin.buffer, original)
                    original.seek(0)
            name = STANDARD_INPUT if path == STANDARD_INPUT else None
            stream = stack.enter_context(open_file(original, mapping=parse_pairs(options["map"]), name=name))
            rejects = None
            if options["rejects"]:
                rejects = stack.enter_context(RejectedRows(options["rejects"], original=original))
                rejects.of(stream)
            try:
                return load(
                    stream=stream,
                    destination=destination,
                    now=utc_now(),
                    dry_run=options["dry_run"],
                    rejects=rejects,
                    progress=progress.update,
                )
            finally:
                progress.finish()

    def _embed(self, loaded: Loaded) -> int:
        progress = self.progress("vectors")
        try:
            return embed_missing(tenant=loaded.tenant, corpus=loaded.corpus, progress=progress.update).lag
        finally:
            progress.finish()

    def _tell(self, loaded: Loaded, answer: dict[str, Any], *, is_dry_run: bool) -> None:
        result = loaded.result
        read = result.saved + result.updated + result.unchanged + result.rejected
        rate = f", {read / result.seconds:,.0f} rows a second" if result.seconds > 0 else ""
        would = "Nothing was written; a load would give: " if is_dry_run else ""
        self.say(
            f"{would}{result.saved:,} saved, {result.updated:,} updated, {result.unchanged:,} unchanged,"
            f" {result.rejected:,} rejected, {result.indexed:,} indexed{rate}."
        )
        if result.new_sources:
            self.say(f"New sources: {', '.join(result.new_sources)}.")
        for rejection in result.rejections[:_TOLD_REJECTIONS]:
            self.say(f"Row {rejection.row}, {rejection.column or 'row'} {rejection.value!r}: {rejection.message}")
        if result.rejected > _TOLD_REJECTIONS:
            self.say(f"… and {result.rejected - _TOLD_REJECTIONS:,} more; --rejects FILE keeps them all, to be fixed.")
        if not is_dry_run:
            lag = f"; better vectors are still missing for {answer['lag']:,}" if answer["lag"] else ""
            self.say(f"{loaded.tenant.slug}/{loaded.corpus.slug} holds {result.corpus_size:,} documents{lag}.")
