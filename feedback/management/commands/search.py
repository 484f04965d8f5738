"""Search without answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.batch_lines import line_id, line_text, read_batch
from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.domain.explanation import Explanation
from feedback.domain.filter_sets import Scope, read_json_sets, read_scope
from feedback.domain.filters import FilterSet, Vocabulary
from feedback.domain.retrieval import Hit, Mode
from feedback.selectors.corpora import get_corpus, vocabulary_of
from feedback.selectors.retrieval import Pass, clamp_top_k, read_passes
from feedback.services.search import Search, explain_search, passes_json, search_corpus
from tenants.selectors import get_tenant

if TYPE_CHECKING:
    from feedback.models import Corpus

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class _Query:
    id: str | int
    text: str
    scope: Scope


class Command(WisdomCommand):
    help = "Find records by words and by meaning, with every score that ranked them."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("text", nargs="?", metavar="TEXT", type=readable_text, help="what to look for")
        parser.add_argument(
            "--batch",
            metavar="FILE",
            type=readable_text,
            help='lines of {"id", "text", "filters"?, "filter_sets"?}; or -',
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
            "--filter-set",
            action="append",
            default=[],
            type=readable_text,
            metavar="JSON",
            help="a slice with an optional name and top_k; repeat it to search several and merge them",
        )
        parser.add_argument(
            "--passes", type=readable_text, help=f"what follows the neutral search, with commas: {','.join(Pass)}"
        )
        parser.add_argument(
            "--why-not",
            type=readable_text,
            metavar="DOC",
            help="say at which stage this record was lost, or why it ranks as it does",
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
        if options["why_not"] is not None and options["batch"] is not None:
            raise InvalidInput("--why-not explains one search: leave --batch out.", field="why_not")
        clamp_top_k(options["top_k"])
        passes = read_passes(None if options["passes"] is None else options["passes"].split(","))
        tenant = get_tenant(slug=options["tenant"])
        with tenant_session(tenant):
            corpus = get_corpus(tenant=tenant, slug=options["corpus"])
            vocabulary = vocabulary_of(corpus)
            scope = _read_scope(options, vocabulary)
        if options["batch"] is not None:
            queries = read_batch(options["batch"], lambda line: _read_query(line, scope, vocabulary))
            for query in queries:
                found = _search(corpus, query.text, query.scope, passes, options)
                self.document({"id": query.id, **_answer(found, explains=options["explain"])})
                self.stdout.flush()
            return
        if options["why_not"] is not None:
            explained = explain_search(
                tenant=tenant,
                corpus=options["corpus"],
                query=options["text"],
                doc_id=options["why_not"],
                filters=scope,
                top_k=options["top_k"],
                mode=Mode(options["mode"]),
            )
            assert explained is not None
            self._explain(explained, options["text"])
            return
        found = _search(corpus, options["text"], scope, passes, options)
        if self.as_json:
            self.document(_answer(found, explains=options["explain"]))
        else:
            self._tell(found, explains=options["explain"])

    def _explain(self, explained: Explanation, query: str) -> None:
        if self.as_json:
            self.document({"query": query, **explained.as_json()})
            return
        self.say(f"{explained.doc_id}: {explained.message}")
        for name, value in explained.numbers.items():
            shown = "none" if value is None else f"{value:.4f}" if isinstance(value, float) else value
            self.say(f"  {name.replace('_', ' ')}: {shown}")
        for name, each in explained.by_set:
            self.say(f"  {name}: {each.message}")

    def _tell(self, searched: Search, *, explains: bool) -> None:
        found = searched.found
        for hit in found.hits:
            self.say(*_lines(hit, hit.rank))
            if hit.sets:
                self.say(f"     in {', '.join(f'{place.name} at {place.rank}' for place in hit.sets)}")
            if explains:
                self.say(*(f"     {line}" for line in _reasons(hit)))
        for name, hits in searched.passes.items():
            self.say("", f"{name.value.capitalize()} records:" if hits else f"No {name.value} record.")
            for rank, each in enumerate(hits, start=1):
                self.say(*_lines(each.hit, rank))
                if each.most:
                    self.say(f"     opposition {each.disagreement:.2f} to {each.against}: {each.most.reason}")
        for note in found.notes:
            self.note(note)
        if not found.hits:
            self.say("No record was found.")
        elif explains:
            self.say(
                f"{found.candidates} candidates, {found.strategy}, vectors of {found.embedder}, as of {searched.as_of}"
            )


def _lines(hit: Hit, rank: int) -> list[str]:
    text = " ".join(hit.passage_text.split())
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    account = f" · {hit.account}" if hit.account else ""
    return [f"{rank:3}  {hit.doc_id} · {hit.source}{account} · {hit.occurred_at:%Y-%m-%d}", f"     {shown}"]


def _read_scope(options: dict[str, Any], vocabulary: Vocabulary) -> Scope:
    if options["filter_set"]:
        if options["filter"]:
            raise InvalidInput("Give either --filter or --filter-set, not both.", field="filter_sets")
        return read_scope(None, read_json_sets(options["filter_set"]), vocabulary=vocabulary)
    return Scope(FilterSet.from_pairs(options["filter"], vocabulary=vocabulary))


def _read_query(line: dict[str, Any], common: Scope, vocabulary: Vocabulary) -> _Query:
    own = read_scope(line.get("filters"), line.get("filter_sets"), vocabulary=vocabulary)
    return _Query(line_id(line), line_text(line, "text"), common if own == Scope() else own)


def _search(corpus: Corpus, text: str, scope: Scope, passes: frozenset[Pass], options: dict[str, Any]) -> Search:
    with tenant_session(corpus.tenant):
        return search_corpus(
            corpus=corpus, query=text, scope=scope, top_k=options["top_k"], mode=Mode(options["mode"]), passes=passes
        )


def _answer(searched: Search, *, explains: bool) -> dict[str, Any]:
    found = searched.found
    answer: dict[str, Any] = {"hits": _hits(found.hits)}
    if found.sets:
        answer["filter_sets"] = [each.as_json() for each in found.sets]
    if searched.passes:
        answer["passes"] = passes_json(searched.passes)
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
