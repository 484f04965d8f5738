"""Ask a question, or a file of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from core.clock import utc_now
from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from tenants.caller import Caller, operator
from tenants.selectors import get_tenant


class Command(WisdomCommand):
    help = "Answer a question with checked, cited claims, or refuse and say why. A refusal exits 0, too."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("question", nargs="?", type=readable_text, help="the question, in plain language")
        parser.add_argument(
            "--corpus", default="feedback", type=readable_text, help="which corpus; feedback if not given"
        )
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            type=readable_text,
            metavar="KEY=VALUE",
            help="confine the answer to a slice; repeat a key for alternatives",
        )
        parser.add_argument(
            "--filter-set",
            action="append",
            default=[],
            type=readable_text,
            metavar="JSON",
            help="a slice with an optional name and top_k; repeat it to search several and merge them",
        )
        parser.add_argument("--top-k", type=int, help="how many records to rank, of each filter set; 10 if not given")
        parser.add_argument(
            "--passes", type=readable_text, help="what follows the neutral search, with commas: attributed,contrasting"
        )
        parser.add_argument(
            "--include",
            default="grounding",
            help="projections, with commas: grounding,hits,documents,trace,rerank,passes",
        )
        parser.add_argument("--loop", action="store_true", help="search again for what the first search left open")
        parser.add_argument("--session", type=readable_text, help="a name for the conversation that this belongs to")
        parser.add_argument(
            "--batch",
            type=Path,
            metavar="FILE",
            help='lines of {"id", "question", "filters"?, "filter_sets"?}; one answer a line',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        caller = operator(get_tenant(slug=options["tenant"]))
        if options["batch"]:
            if options["question"]:
                raise InvalidInput("Give a question or --batch FILE, not both.")
            self._batch(caller, options)
            return
        if options["question"] is None:
            raise InvalidInput('Ask something: manage.py ask "How long do deliveries take?", or --batch FILE.')
        answer = self._ask(caller, options, options["question"], self._slices(caller, options))
        if self.as_json:
            self.document(answer)
        else:
            from answering.domain.render import terminal

            self.say(*terminal(answer))

    def _ask(self, caller: Caller, options: dict[str, Any], question: str, slices: dict[str, Any]) -> dict[str, Any]:
        from answering.services import ask

        return ask(
            caller=caller,
            question=question,
            corpus=options["corpus"],
            **slices,
            top_k=options["top_k"],
            passes=None if options["passes"] is None else options["passes"].split(","),
            include=options["include"].split(","),
            loops=options["loop"],
            session=options["session"],
            now=utc_now(),
        )

    def _slices(self, caller: Caller, options: dict[str, Any]) -> dict[str, Any]:
        if options["filter"] and options["filter_set"]:
            raise InvalidInput("Give either --filter or --filter-set, not both.", field="filter_sets")
        if options["filter_set"]:
            from feedback.domain.filter_sets import read_json_sets

            return {"filter_sets": read_json_sets(options["filter_set"])}
        if not options["filter"]:
            return {}
        from feedback.domain.filters import FilterSet
        from feedback.selectors.corpora import get_corpus, vocabulary_of

        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=options["corpus"])
        return {"filters": FilterSet.from_pairs(options["filter"], vocabulary=vocabulary_of(corpus)).as_json()}

    def _batch(self, caller: Caller, options: dict[str, Any]) -> None:
        common = self._slices(caller, options)
        for asked in _lines(options["batch"]):
            own: dict[str, Any] = {name: asked[name] for name in ("filters", "filter_sets") if name in asked}
            self.document({"id": asked["id"], **self._ask(caller, options, asked["question"], own or common)})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read questions, a line each; the whole file is checked before the first is asked."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}.", field="batch") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            asked = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{path}, line {number} is no JSON: {error}.", field="batch") from error
        if not isinstance(asked, dict) or "id" not in asked or not isinstance(asked.get("question"), str):
            raise InvalidInput(
                f'{path}, line {number}: write {{"id": …, "question": "…"}}, with "filters" where needed.',
                field="batch",
            )
        found.append(asked)
    yield from found
