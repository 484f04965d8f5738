"""Measure how the time of each part grows with its input.

    make bench            or   .venv/bin/python benchmarks/kernels.py [--check] [--only NAME,…] [--scale X]

Eleven kernels at four sizes each: the least-squares exponent of log time over log size, beside what is claimed of
it and the limit that `--check` holds it to (exit status 1 if one is over, after a second measurement). Times are the
best of several interleaved runs; they are printed and never judged. Everything that needs a database runs on a
server of its own in a temporary folder, on generated corpora, with the embedder that runs in line.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import bench, machine, real_questions  # the project is not installed, the path comes first
from benchmarks.generated_corpus import generate, read_sentences, real_files
from benchmarks.growth import Verdict, Word, exit_status, judge, sample

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.caller import Caller

# How much faster than its input a kernel's time may grow.
LIMIT_OF_READING = 1.35  # tokenise, embed, queries
LIMIT_OF_WRITING = 1.40  # index, ask
LIMIT_OF_VECTOR_BUILD = 1.45
LIMIT_OF_ORDERING = 1.30  # fusion, rerank, grounding

DOCUMENTS = (1_000, 3_000, 9_000, 27_000)
# All sizes are searched through a graph; by default it begins at 5,000 vectors.
GRAPH_FROM = 500
# A page of results is ten times four candidates.
POOL = 40
CITED = 4


@dataclass(frozen=True)
class Kernel:
    """A part with its claim. `prepare` gives, for a size, the run that is measured: it returns its own seconds."""

    name: str
    unit: str
    sizes: Sequence[int]
    claim: str
    limit: float
    prepare: Callable[[int], Callable[[], float]]
    needs_database: bool = False
    seconds_each: float = 1.0
    at_least: int = 3
    at_most: int = 15


@dataclass(frozen=True)
class Measured:
    """A kernel's best seconds by size, and what is said of them."""

    kernel: Kernel
    sizes: Sequence[int]
    seconds: Sequence[float]
    verdict: Verdict


def measure(kernel: Kernel, *, scale: float = 1.0) -> Measured:
    """Measure a kernel; one that is over its limit is measured again, and the best of both counts."""
    sizes = [max(2, round(size * scale)) for size in kernel.sizes]
    runs = [kernel.prepare(size) for size in sizes]
    best: list[float] = [float("inf")] * len(sizes)
    for _ in range(2):
        # What goes to the database runs as it does in production.
        with nullcontext() if kernel.needs_database else without_collections():
            again = sample(runs, seconds_each=kernel.seconds_each, at_least=kernel.at_least, at_most=kernel.at_most)
        best = [min(pair) for pair in zip(best, again, strict=True)]
        verdict = judge(sizes, best, limit=kernel.limit)
        if verdict.word is not Word.OVER:
            break
    return Measured(kernel, sizes, best, verdict)


def timed(act: Callable[[], object]) -> Callable[[], float]:
    """Return a run that measures all of `act`."""

    def run() -> float:
        started = time.perf_counter()
        act()
        return time.perf_counter() - started

    return run


@contextmanager
def without_collections() -> Iterator[None]:
    """Switch Python's collector off, as `timeit` does: a collection costs what else the process holds."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Texts:
    """Generated texts, made once and cut to any size; a smaller set is the beginning of a larger."""

    def __init__(self) -> None:
        self._made: list[dict[str, Any]] = []
        self._source: Iterator[dict[str, Any]] | None = None

    def documents(self, count: int) -> list[dict[str, Any]]:
        """Return the first `count` documents."""
        if self._source is None:
            self._source = generate(10**9, pool=read_sentences(real_files()))
        self._made.extend(islice(self._source, max(0, count - len(self._made))))
        return self._made[:count]

    def of_length(self, characters: int) -> str:
        """Return one text of that many characters."""
        lines: list[str] = []
        length = number = 0
        while length < characters:
            number += 1
            lines.append(self.documents(number)[-1]["text"])
            length += len(lines[-1]) + 1
        return "\n".join(lines)[:characters]


# Kernels that need no database.


def tokenise(texts: Texts) -> Callable[[int], Callable[[], float]]:
    """Cut one text into sentences and terms, with all that ingest and grounding read of it in Python."""
    from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text
    from feedback.domain.text import content_tokens, sentences

    def prepare(size: int) -> Callable[[], float]:
        text = texts.of_length(size)
        return timed(
            lambda: (sentences(text), content_tokens(text), lexical_text(text), exact_tokens(text), cjk_bigrams(text))
        )

    return prepare


def embed(texts: Texts, name: str) -> Callable[[int], Callable[[], float]]:
    """Encode that many texts in one call."""
    from feedback.clients.embedders.registry import get_embedder

    def prepare(size: int) -> Callable[[], float]:
        rows = [row["text"] for row in texts.documents(size)]
        embedder = get_embedder(name)
        embedder.encode_query("warm up")
        return timed(lambda: embedder.encode_passages(rows))

    return prepare


def _ranking(size: int, *, arm: int) -> list[int]:
    """Return keys in a scrambled order; half of the keys of two arms are the same."""
    step = 7_919  # a prime: every key comes once
    return [arm * size // 2 + (position * step) % size for position in range(size)]


def reciprocal_rank(size: int) -> Callable[[], float]:
    """Fuse two lists of that length by reciprocal rank."""
    from feedback.domain.fusion import reciprocal_rank_fusion

    lexical, semantic = _ranking(size, arm=0), _ranking(size, arm=1)
    return timed(lambda: reciprocal_rank_fusion(lexical, semantic))


def weighted(size: int) -> Callable[[], float]:
    """Fuse two scored lists of that length by a weighted sum."""
    from feedback.domain.fusion import weighted_fusion

    lexical = {key: 20.0 / (1 + rank) for rank, key in enumerate(_ranking(size, arm=0))}
    semantic = {key: 1 - rank / size for rank, key in enumerate(_ranking(size, arm=1))}
    return timed(lambda: weighted_fusion(lexical, semantic))


def reranked(size: int) -> Callable[[], float]:
    """Order that many candidates by their features, coverage of a question of eight words among them."""
    from datetime import UTC, datetime, timedelta

    from feedback.domain.rerank import Candidate, RerankRules, coverage, rerank

    as_of = datetime(2026, 1, 1, tzinfo=UTC)
    words = [f"word{number}" for number in range(8)]
    idf = {word: 1.0 + number for number, word in enumerate(words)}
    found = [
        (key, rank, frozenset(words[key % 8 :]), as_of - timedelta(days=key % 700))
        for rank, key in enumerate(_ranking(size, arm=0))
    ]
    rules = RerankRules(recency=0.1, source=0.1)

    def act() -> None:
        rerank(
            [
                Candidate(
                    key=key,
                    relevance=1 / (1 + rank),
                    coverage=coverage(terms, idf),
                    source="survey",
                    occurred_at=moment,
                )
                for key, rank, terms, moment in found
            ],
            rules=rules,
            as_of=as_of,
        )

    return timed(act)


def grounding(texts: Texts) -> Callable[[int], Callable[[], float]]:
    """Check a draft of that many (claim, cited record) pairs: statements of two records, each citing four."""
    from answering.domain.claims import Citation, Claim, ClaimKind, Draft, Evidence
    from answering.domain.grounding import ground
    from feedback.domain.text import sentences

    def prepare(size: int) -> Callable[[], float]:
        rows = [row for row in texts.documents(200) if len(row["text"]) > 120][:8]
        evidence = [
            Evidence(f"C{number}", row["id"], 1, f"p{number}", row["text"], 0, len(row["text"]), "survey", "survey")
            for number, row in enumerate(rows, start=1)
        ]
        firsts = [row["text"][: sentences(row["text"])[0].end] for row in rows]
        claims = []
        for number in range(max(1, size // CITED)):
            cited = [evidence[(number + offset * (1 + number // 8)) % 8] for offset in range(CITED)]
            text = f"{firsts[number % 8]} {firsts[(number * 3 + 1) % 8]}"
            citations = tuple(Citation(e.citation_id, 0, len(e.text), e.text) for e in dict.fromkeys(cited))
            claims.append(Claim(number + 1, ClaimKind.STATEMENT, text, citations))
        draft = Draft(tuple(claims), "extractive")
        return timed(lambda: ground(draft, evidence))

    return prepare


# Kernels on corpora of the ladder.


@dataclass
class Ladder:
    """Corpora of growing size, each a tenant's own; the first one that is loaded of a size serves the queries."""

    texts: Texts
    serving: dict[int, tuple[Caller, Corpus]] = field(default_factory=dict)
    _questions: list[str] = field(default_factory=list)

    @property
    def questions(self) -> list[str]:
        """Return the dozen questions that are asked of every corpus, drawn evenly from the real ones."""
        if not self._questions:
            found = real_questions()
            self._questions = found[:: max(1, len(found) // 12)][:12]
        return self._questions

    def corpus(self, size: int) -> tuple[Caller, Corpus]:
        """Return the corpus of that size, loaded if it isn't yet."""
        if size not in self.serving:
            self.load(size)
        return self.serving[size]

    def load(self, size: int) -> float:
        """Store that many documents in a new corpus; return the seconds until they are searchable in both arms."""
        from core.clock import utc_now
        from feedback.services.corpora import create_corpus
        from feedback.services.ingest import ingest_documents
        from tenants.caller import operator
        from tenants.services import create_tenant

        rows = list(enumerate(self.texts.documents(size), start=1))
        slug = f"ladder-{size}-{uuid.uuid4().hex[:8]}"
        caller = operator(create_tenant(slug=slug, name=slug, now=utc_now()))
        corpus = create_corpus(tenant=caller.tenant, now=utc_now())
        started = time.perf_counter()
        result = ingest_documents(caller=caller, corpus=corpus, rows=rows, now=utc_now())
        seconds = time.perf_counter() - started
        if result.saved != size:
            sys.exit(f"{result.saved} of {size} documents were stored: {result.rejections[:1]}")
        self.serving.setdefault(size, (caller, corpus))
        return seconds

    def index(self, size: int) -> Callable[[], float]:
        """Load a corpus of that size."""
        return lambda: self.load(size)

    def vector_build(self, size: int) -> Callable[[], float]:
        """Compute and store every vector of a corpus anew, and what is built over them."""
        from core.tenant_session import tenant_session

        caller, corpus = self.corpus(size)

        def run() -> float:
            with tenant_session(caller.tenant):
                _forget_vectors(corpus)
            _vacuum("feedback_passagevector")
            started = time.perf_counter()
            for step in VECTOR_BUILD_STEPS:
                step(caller, corpus)
            return time.perf_counter() - started

        return run

    def lexical_query(self, size: int) -> Callable[[], float]:
        """Analyse each question and search by its words."""
        from core.tenant_session import tenant_session
        from feedback.domain.filters import FilterSet
        from feedback.selectors.retrieval.arms import search_lexical
        from feedback.selectors.retrieval.question import question_terms

        caller, corpus = self.corpus(size)

        def ask(question: str) -> None:
            with tenant_session(caller.tenant):
                search_lexical(corpus, question_terms(corpus=corpus, query=question), FilterSet(), POOL)

        return self._each(ask)

    def vector_query(self, size: int) -> Callable[[], float]:
        """Search by each question's vector, which is computed before."""
        from core.tenant_session import tenant_session
        from feedback.domain.filters import FilterSet
        from feedback.selectors.retrieval.arms import search_vector

        caller, corpus = self.corpus(size)

        def ask(question: str) -> None:
            with tenant_session(caller.tenant):
                search_vector(corpus, "static", question, FilterSet(), POOL, None)

        return self._each(ask)

    def full_ask(self, size: int) -> Callable[[], float]:
        """Answer each question, journal and stored run included."""
        from answering.services import ask
        from core.clock import utc_now

        caller, _ = self.corpus(size)
        return self._each(lambda question: ask(caller=caller, question=question, now=utc_now()))

    def _each(self, act: Callable[[str], object]) -> Callable[[], float]:
        """Return a run over all questions that measures the mean of one; they are asked once before."""
        for question in self.questions:
            act(question)

        def run() -> float:
            started = time.perf_counter()
            for question in self.questions:
                act(question)
            return (time.perf_counter() - started) / len(self.questions)

        return run


def compute_vectors(caller: Caller, corpus: Corpus) -> None:
    """Compute and store what vectors are missing."""
    from feedback.services.vectors import embed_missing

    embed_missing(tenant=caller.tenant, corpus=corpus)


def build_graphs(caller: Caller, corpus: Corpus) -> None:
    """Build the graph over a corpus's vectors, at every size of the ladder: else it would begin with a step."""
    from core.clock import utc_now
    from feedback.domain import segments
    from feedback.services.segments import index_vectors

    segments.MIN_WAITING = 1
    result = index_vectors(corpus=corpus, now=utc_now())
    if not result.indexed:
        sys.exit("no graph was built over the vectors")


# All that has to be done until vector queries are as fast as they get.
VECTOR_BUILD_STEPS: tuple[Callable[[Any, Any], None], ...] = (compute_vectors, build_graphs)


def _forget_vectors(corpus: Corpus) -> None:
    """Remove a corpus's vectors, as if it had been loaded without an embedder in line."""
    from django.db import connection

    from feedback.embedding import stored_name
    from feedback.services.lexical_index import count_vectors, lock_statistics

    lock_statistics(corpus)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM feedback_passagevector WHERE tenant_id = %s AND corpus_id = %s", [corpus.tenant_id, corpus.id]
        )
        count_vectors(corpus, {stored_name("static"): -cursor.rowcount})
        cursor.execute(
            "UPDATE feedback_vectorsegment SET is_serving = false, retired_at = now() - interval '1 hour' WHERE tenant_id = %s AND corpus_id = %s",
            [corpus.tenant_id, corpus.id],
        )


def _vacuum(*tables: str) -> None:
    """Do at once what autovacuum does within the minute, so that runs are alike."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {', '.join(tables)}")


def kernels(texts: Texts) -> list[Kernel]:
    """Return the kernels in the order of the work; those on corpora use what `index` has loaded."""
    ladder = Ladder(texts)
    # An arm hands over at most 400 candidates; the ladder goes on above, to see the growth.
    lists = (100, 400, 1_600, 6_400)
    return [
        Kernel(
            "tokenise", "characters", (10_000, 40_000, 160_000, 640_000), "linear", LIMIT_OF_READING,
            tokenise(texts),
        ),
        Kernel(
            "index", "documents", DOCUMENTS, "linear", LIMIT_OF_WRITING, ladder.index, needs_database=True,
            seconds_each=6, at_least=1, at_most=3,
        ),
        Kernel(
            "vector build", "documents", DOCUMENTS, "linear", LIMIT_OF_VECTOR_BUILD, ladder.vector_build,
            needs_database=True, seconds_each=4, at_least=1, at_most=3,
        ),
        Kernel(
            "lexical query", "documents", DOCUMENTS, "at most linear", LIMIT_OF_READING, ladder.lexical_query,
            needs_database=True, seconds_each=2,
        ),
        Kernel(
            "vector query", "documents", DOCUMENTS, "at most linear", LIMIT_OF_READING, ladder.vector_query,
            needs_database=True, seconds_each=2,
        ),
        Kernel("embed", "texts", (250, 1_000, 4_000, 16_000), "linear", LIMIT_OF_READING, embed(texts, "static")),
        Kernel(
            "embed MiniLM", "texts", (8, 24, 72, 216), "linear", LIMIT_OF_READING, embed(texts, "minilm"),
            at_most=5,
        ),
        Kernel("RRF", "keys an arm", lists, "n log n", LIMIT_OF_ORDERING, reciprocal_rank),
        Kernel("weighted fusion", "keys an arm", lists, "n log n", LIMIT_OF_ORDERING, weighted),
        Kernel("rerank", "candidates", lists, "n log n", LIMIT_OF_ORDERING, reranked),
        Kernel(
            "grounding", "claim-record pairs", (16, 64, 256, 1_024), "linear", LIMIT_OF_ORDERING, grounding(texts),
        ),
        Kernel(
            "full ask", "documents", DOCUMENTS, "at most linear", LIMIT_OF_WRITING, ladder.full_ask,
            needs_database=True, seconds_each=3,
        ),
    ]  # fmt: skip


def line(measured: Measured) -> str:
    """Return a kernel's line of the table."""
    kernel, verdict = measured.kernel, measured.verdict
    steps = "  ".join(
        f"{size:>7,} {seconds * 1e3:>9,.2f}" for size, seconds in zip(measured.sizes, measured.seconds, strict=True)
    )
    if verdict.fit is None:
        growth = "     –      –      –"
    else:
        growth = f"{verdict.fit.exponent:6.2f} {verdict.fit.last:6.2f} {verdict.fit.r_squared:6.2f}"
    said = f"{verdict.word}{f': {verdict.reason}' if verdict.reason else ''}"
    return f"{kernel.name:16}{kernel.unit:20}{steps}  {growth} {kernel.limit:6.2f}  {kernel.claim:15} {said}"


HEADING = (
    f"{'kernel':16}{'sizes in':20}{'size and best time in ms, four times':74}{'exp.':>4} {'last':>6} {'R²':>6} {'limit':>6}"
    f"  {'claim':15} verdict"
)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 when an exponent is over its limit")
    parser.add_argument("--only", metavar="NAME,…", help="these kernels")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="multiply every size")
    options = parser.parse_args(words)
    if not 0 < options.scale <= 100:
        parser.error("--scale lies between 0 and 100")
    chosen = kernels(Texts())
    if options.only:
        wanted = [name.strip() for name in options.only.split(",")]
        unknown = sorted(set(wanted) - {kernel.name for kernel in chosen})
        if unknown:
            parser.error(f"there is no kernel {unknown[0]!r}: use {', '.join(kernel.name for kernel in chosen)}")
        chosen = [kernel for kernel in chosen if kernel.name in wanted]
    started = time.monotonic()
    print(f"kernels; {machine()}")
    print(HEADING)
    verdicts = []
    with ExitStack() as stack:
        if any(kernel.needs_database for kernel in chosen):
            own = stack.enter_context(bench(WA_EMBEDDER="static", WA_VECTOR_EXACT_LIMIT=str(GRAPH_FROM)))
            own.enter()
            stack.callback(_close_connections)
        for kernel in chosen:
            if kernel.name == "lexical query":
                _vacuum()
            measured = measure(kernel, scale=options.scale)
            verdicts.append(measured.verdict)
            print(line(measured), flush=True)
    print(
        f"last: the exponent of the last step alone. NOISE: below 0.05 ms, the input doesn't vary, or R² below 0.8"
        f" within the limit. {time.monotonic() - started:.0f} s."
    )
    return exit_status(verdicts) if options.check else 0


def _close_connections() -> None:
    from django.db import connections

    connections.close_all()


if __name__ == "__main__":
    sys.exit(main())
