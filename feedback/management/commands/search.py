"""Search without answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.batch_lines import line_id, line_text, read_batch
from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet, Vocabulary
from feedback.domain.retrieval import Hit, Mode, Retrieved
from feedback.selectors.corpora import corpus_state, get_corpus, vocabulary_of
from feedback.selectors.retrieval import clamp_top_k, rerank_hits, retrieve, second_stage
from tenants.selectors import get_tenant

if TYPE_CHECKING:
    from feedback.models import Corpus

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class _Query:
    id: str | int
    text: str
    filters: FilterSet


class Command(WisdomCommand):
    help = "Find records by words and by meaning, with every score that ranked them."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("text", nargs="?", metavar="TEXT", type=readable_text, help="what to look for")
        parser.add_argument(
            "--batch", metavar="FILE", type=readable_text, help='lines of {"id", "text", "filters"?}; or -'
        )
        parser.add_argument(
            "--corpus", default="feedback", type=readable_text, help="which corpus; feedback if not given"
        )
        parser.add_argument("--top-k", type=int, metavar="K", help="how many hits")
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            type=readable_text,
            metavar="KEY=VALUE",
            help="only such records; a key is repeated for alternatives",
        )
        parser.add_argument(
            "--mode",
            choices=[mode.value for mode in Mode],
            default=Mode.HYBRID.value,
            help="which arms; hybrid if not given",
        )
        parser.add_argument("--explain", action="store_true", help="say how each hit came to its rank")

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["text"] is None) == (options["batch"] is None):
            raise InvalidInput("Give either a text to search for or --batch FILE.", field="text")
        clamp_top_k(options["top_k"])
        tenant = get_tenant(slug=options["tenant"])
        with tenant_session(tenant):
            corpus = get_corpus(tenant=tenant, slug=options["corpus"])
            vocabulary = vocabulary_of(corpus)
            filters = FilterSet.from_pairs(options["filter"], vocabulary=vocabulary)
        if options["batch"] is not None:
            queries = read_batch(options["batch"], lambda line: _read_query(line, filters, vocabulary))
            for query in queries:
                found, _ = _search(corpus, query.text, query.filters, options)
                self.document({"id": query.id, **_answer(found, explains=options["explain"])})
                self.stdout.flush()
            return
        found, as_of = _search(corpus, options["text"], filters, options)
        if self.as_json:
            self.document(_answer(found, explains=options["explain"]))
        else:
            self._tell(found, as_of, explains=options["explain"])

    def _tell(self, found: Retrieved, as_of: datetime | None, *, explains: bool) -> None:
        for hit in found.hits:
            text = " ".join(hit.passage_text.split())
            shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
            account = f" · {hit.account}" if hit.account else ""
            self.say(
                f"{hit.rank:3}  {hit.doc_id} · {hit.source}{account} · {hit.occurred_at:%Y-%m-%d}", f"     {shown}"
            )
            if explains:
                self.say(*(f"     {line}" for line in _reasons(hit)))
        for note in found.notes:
            self.note(note)
        if not found.hits:
            self.say("No record was found.")
        elif explains:
            self.say(f"{found.candidates} candidates, {found.strategy}, vectors of {found.embedder}, as of {as_of}")


def _read_query(line: dict[str, Any], common: FilterSet, vocabulary: Vocabulary) -> _Query:
    own = FilterSet.from_json(line.get("filters"), vocabulary=vocabulary)
    return _Query(line_id(line), line_text(line, "text"), common if own.is_empty else own)


def _search(
    corpus: Corpus, text: str, filters: FilterSet, options: dict[str, Any]
) -> tuple[Retrieved, datetime | None]:
    with tenant_session(corpus.tenant):
        as_of = corpus_state(corpus=corpus).as_of
        found = retrieve(corpus=corpus, query=text, filters=filters, top_k=options["top_k"], mode=Mode(options["mode"]))
    found = second_stage(found, corpus=corpus, query=text)
    return rerank_hits(found, top_k=options["top_k"], as_of=as_of), as_of


def _answer(found: Retrieved, *, explains: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"hits": _hits(found.hits)}
    if found.notes:
        answer["notes"] = list(found.notes)
    if explains:
        answer["explain"] = {
            "mode": found.mode,
            "strategy": found.strategy,
            "embedder": found.embedder,
            "lag": found.lag,
            "reranker": found.reranker,
            "candidates": found.candidates,
            "terms": [
                {"lexeme": term.lexeme, "document_frequency": term.document_frequency, "idf": term.idf}
                for term in found.terms
            ],
        }
    return answer


def _hits(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [{**hit.as_json(), "text": hit.text} for hit in hits]


def _reasons(hit: Hit) -> list[str]:
    features = ", ".join(f"{name} {value:.3f}" for name, value in hit.features.items())
    terms = ", ".join(f"{lexeme} {value:.2f}" for lexeme, value in sorted(hit.terms.items(), key=lambda item: -item[1]))
    scores = ", ".join(
        f"{name} {value:.4f}"
        for name, value in (
            ("lexical", hit.lexical_score),
            ("vector", hit.vector_score),
            ("fused", hit.fused_score),
            ("cross-encoder", hit.cross_encoder_score),
            ("rerank", hit.rerank_score),
        )
        if value is not None
    )
    return [f"scores: {scores}", f"features: {features}", *([f"words: {terms}"] if terms else [])]
