"""Measure retrieval beside what somebody would pick instead, on the same texts and questions, in one run.

    make bench-peers      or   .venv/bin/python benchmarks/peers.py [--count N] [--corpus NAME] [--passes N]

Peers by words: tantivy, bm25s and SQLite FTS5, each with its own tokeniser and its own English stemmer. By vectors:
an exact scan in memory (numpy, 32 bits) of the same vectors. Latencies are interleaved per question, each search
once unmeasured before; the vector of a question is computed before. A peer that isn't installed is named and left
out. Prints figures, asserts none.

Overlap comes twice. "own": with exact BM25 over the engine's own tokens, which says how exact its ranking is.
"ours": with exact BM25 over the tokens of our index, which also says how its tokens differ from ours.
"""

from __future__ import annotations

import argparse
import logging
import math
import re
import sqlite3
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import probe  # the project is not installed, the path comes first
from benchmarks.environment import (
    BANKING_QUESTIONS,
    NHS_QUESTIONS,
    Bench,
    bench,
    machine,
    quantile,
    questions,
    read,
    varied_questions,
    write,
)
from benchmarks.generated_corpus import generate, read_sentences, real_files
from benchmarks.reference import ExactBM25, overlap

if TYPE_CHECKING:
    import numpy.typing as npt

    from feedback.models import Corpus
    from tenants.models import Tenant

TOP = 10
REAL = {"nhs_fft": NHS_QUESTIONS, "banking77": BANKING_QUESTIONS}
_MEASURED = 200
_WORD = re.compile(r"\w+")

Rows = Sequence[Mapping[str, Any]]


class Missing(Exception):
    """The peer of this name isn't installed."""


class Peer(Protocol):
    """A search engine by words, beside ours."""

    name: str
    tokens: str
    why: str

    def build(self, rows: Rows, folder: Path) -> int:
        """Index the rows; return the bytes on disk. Raises: Missing."""
        ...

    def search(self, text: str) -> list[str]:
        """Return the ids of the best ten, best first."""
        ...

    def cut(self, texts: Sequence[str]) -> list[list[str]]:
        """Return each text's tokens, as the engine indexes them."""
        ...

    def cut_questions(self, texts: Sequence[str]) -> list[list[str]]:
        """Return each question's tokens, as the engine searches for them."""
        ...


class Tantivy:
    """The Rust library, through its Python wheel, with an index on disk."""

    name = "tantivy"
    tokens = "split at what is no letter or digit, lower case, Snowball English; no stop words"
    why = "it walks compressed, block-wise skippable postings mapped into this process"

    def __init__(self) -> None:
        try:
            import tantivy
        except ImportError:
            raise Missing(self.name) from None
        self._library = tantivy

    def build(self, rows: Rows, folder: Path) -> int:
        library = self._library
        schema = (
            library.SchemaBuilder()
            .add_text_field("id", stored=True, tokenizer_name="raw")
            .add_text_field("text", tokenizer_name="english", index_option="freq")
            .build()
        )
        self._analyser = (
            library.TextAnalyzerBuilder(library.Tokenizer.simple())
            .filter(library.Filter.remove_long(40))
            .filter(library.Filter.lowercase())
            .filter(library.Filter.stemmer("english"))
            .build()
        )
        self._index = library.Index(schema, path=str(folder))
        self._index.register_tokenizer("english", self._analyser)
        writer = self._index.writer()
        for row in rows:
            writer.add_document(library.Document(id=row["id"], text=row["text"]))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()
        return _bytes(folder)

    def search(self, text: str) -> list[str]:
        # In lower case, since AND, OR and NOT are orders.
        words = " ".join(_WORD.findall(text)).lower()
        if not words:
            return []
        query = self._index.parse_query(words, ["text"])
        searcher = self._searcher
        return [searcher.doc(address)["id"][0] for _, address in searcher.search(query, TOP).hits]

    def cut(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._analyser.analyze(text) for text in texts]

    def cut_questions(self, texts: Sequence[str]) -> list[list[str]]:
        # Its query parser drops a word that is said again.
        return [list(dict.fromkeys(tokens)) for tokens in self.cut(texts)]


class BM25S:
    """The numpy library: all scores of all terms computed ahead, in memory."""

    name = "bm25s"
    tokens = "words of two letters and more, lower case, its English stop words, Snowball English (PyStemmer)"
    why = "it adds up rows of scores that were computed ahead, in memory and in this process; nothing can be changed without building all of it anew"

    def __init__(self) -> None:
        try:
            import bm25s
        except ImportError:
            raise Missing(self.name) from None
        import Stemmer

        logging.getLogger("bm25s").setLevel(logging.WARNING)

        self._library = bm25s
        self._stemmer = Stemmer.Stemmer("english")

    def build(self, rows: Rows, folder: Path) -> int:
        self._ids = [str(row["id"]) for row in rows]
        self._engine = self._library.BM25(method="lucene", k1=1.2, b=0.75)
        self._engine.index(self.cut([row["text"] for row in rows]), show_progress=False)
        self._engine.save(str(folder))
        return _bytes(folder)

    def search(self, text: str) -> list[str]:
        words = self.cut([text])[0]
        if not words:
            return []
        found, scores = self._engine.retrieve([words], k=min(TOP, len(self._ids)), show_progress=False)
        return [self._ids[number] for number, score in zip(found[0], scores[0], strict=True) if score > 0]

    def cut(self, texts: Sequence[str]) -> list[list[str]]:
        cut: list[list[str]] = self._library.tokenize(
            list(texts), stopwords="english", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        return [[token for token in tokens if token] for tokens in cut]

    def cut_questions(self, texts: Sequence[str]) -> list[list[str]]:
        return self.cut(texts)


class FTS5:
    """SQLite's full-text index, in a file."""

    name = "SQLite FTS5"
    tokens = "unicode61, Porter's stemmer; no stop words; its own idf, without the 1 + in the logarithm"
    why = "it is a library with its file in this process's memory, with nobody to let in or to keep out"

    def build(self, rows: Rows, folder: Path) -> int:
        path = folder / "fts5.sqlite"
        self._database = sqlite3.connect(path)
        self._database.execute("CREATE VIRTUAL TABLE f USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61')")
        self._database.executemany("INSERT INTO f VALUES (?, ?)", ((row["id"], row["text"]) for row in rows))
        self._database.commit()
        return _bytes(folder)

    def search(self, text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        if not words:
            return []
        found = self._database.execute("SELECT id FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?", (words, TOP))
        return [row[0] for row in found]

    def cut(self, texts: Sequence[str]) -> list[list[str]]:
        own = sqlite3.connect(":memory:")
        own.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize = 'porter unicode61')")
        own.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, instance)")
        own.executemany("INSERT INTO f (rowid, text) VALUES (?, ?)", enumerate(texts))
        cut: list[list[str]] = [[] for _ in texts]
        for term, number in own.execute("SELECT term, doc FROM v"):
            cut[number].append(term)
        own.close()
        return cut

    def cut_questions(self, texts: Sequence[str]) -> list[list[str]]:
        return self.cut(texts)


PEERS: tuple[Callable[[], Peer], ...] = (Tantivy, BM25S, FTS5)


class Ours:
    """The application's own retrieval on a loaded corpus, in this process."""

    def __init__(self, slug: str) -> None:
        from core.tenant_session import tenant_session
        from feedback.selectors.corpora import get_corpus
        from tenants.selectors import get_tenant

        self._session = tenant_session
        self._tenant: Tenant = get_tenant(slug=slug)
        with tenant_session(self._tenant):
            self._corpus: Corpus = get_corpus(tenant=self._tenant, slug="feedback")
            self._names = self._read_names()

    def nothing(self, text: str) -> list[str]:
        """Open a session and close it: what the socket and the transaction cost."""
        with self._session(self._tenant):
            return []

    def by_words(self, text: str) -> list[str]:
        """Search by words alone, exact BM25: ids and scores."""
        from feedback.domain.filters import FilterSet
        from feedback.selectors.retrieval.arms import search_lexical
        from feedback.selectors.retrieval.question import question_terms

        with self._session(self._tenant):
            found = search_lexical(self._corpus, question_terms(corpus=self._corpus, query=text), FilterSet(), TOP)
        return [self._names[row.document_id] for row in found]

    def explained(self, text: str) -> list[str]:
        """Search by words as a user does: the best ten with texts, each word's part and features."""
        return self._whole(text, "lexical")

    def by_vector(self, text: str) -> list[str]:
        """Search by the question's vector alone."""
        from feedback.domain.filters import FilterSet
        from feedback.selectors.retrieval.arms import search_vector

        with self._session(self._tenant):
            found = search_vector(self._corpus, "static", text, FilterSet(), TOP, None)
        return [self._names[row.document_id] for row in found]

    def by_both(self, text: str) -> list[str]:
        """Search as the product does: both arms, fused, reranked, explained."""
        return self._whole(text, "hybrid")

    def exact(self) -> ExactBM25[int]:
        """Return exact BM25 over the passages as the index has them."""
        with self._session(self._tenant):
            rows = self._query(
                "SELECT external_id, terms, frequencies FROM feedback_passage WHERE tenant_id = %s AND corpus_id = %s"
            )
        return ExactBM25((name, dict(zip(terms, frequencies, strict=True))) for name, terms, frequencies in rows)

    def terms(self, text: str) -> list[int]:
        """Return the terms of a question that the index knows."""
        from feedback.selectors.retrieval.question import question_terms

        with self._session(self._tenant):
            found = question_terms(corpus=self._corpus, query=text)
        return [term.term_id for term in found if term.term_id is not None]

    def passages(self) -> list[tuple[str, str]]:
        """Return (document id, text that is embedded) of every passage."""
        from feedback.services.vectors import missing_passages

        with self._session(self._tenant):
            # Under a name that no vector is filed under, all of them are missing.
            found = missing_passages(self._corpus, "none", 10**9)
            names = dict(
                self._query("SELECT id, external_id FROM feedback_passage WHERE tenant_id = %s AND corpus_id = %s")
            )
        return [(names[identity], text) for identity, *_, text in found]

    def _whole(self, text: str, mode: str) -> list[str]:
        from feedback.domain.filter_sets import Scope
        from feedback.domain.retrieval import Mode
        from feedback.services.search import search_corpus

        with self._session(self._tenant):
            found = search_corpus(corpus=self._corpus, query=text, scope=Scope(), top_k=TOP, mode=Mode(mode)).found
            return [hit.doc_id for hit in found.hits]

    def _read_names(self) -> dict[str, str]:
        return dict(
            self._query(
                "SELECT id::text, external_id FROM feedback_documentkey WHERE tenant_id = %s AND corpus_id = %s"
            )
        )

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(statement, [self._tenant.id, self._corpus.id])
            return list(cursor.fetchall())


class ExactScan:
    """Every vector in one matrix of this process: the least that an exact search can cost."""

    def __init__(self, passages: Sequence[tuple[str, str]]) -> None:
        import numpy as np

        from feedback.clients.embedders.registry import get_embedder

        self._np = np
        self._embedder = get_embedder("static")
        self._names = [name for name, _ in passages]
        self._queries: dict[str, npt.NDArray[Any]] = {}
        started = time.perf_counter()
        self.matrix = np.ascontiguousarray(
            self._embedder.encode_passages([text for _, text in passages]), dtype=np.float32
        )
        self.seconds = time.perf_counter() - started

    def search(self, text: str) -> list[str]:
        """Return the ids of the best ten documents by their best passage."""
        scores = self.matrix @ self.query(text)
        # Some documents have several passages: a few more than ten.
        best = self._np.argpartition(-scores, min(3 * TOP, len(scores) - 1))[: 3 * TOP]
        best = best[self._np.argsort(-scores[best])]
        return list(dict.fromkeys(self._names[number] for number in best))[:TOP]

    def query(self, text: str) -> npt.NDArray[Any]:
        """Return the vector of a question, computed once."""
        if text not in self._queries:
            self._queries[text] = self._embedder.encode_query(text)
        return self._queries[text]

    def scores(self, text: str) -> dict[str, float]:
        """Return every document's cosine by its best passage."""
        best: dict[str, float] = {}
        for name, score in zip(self._names, (self.matrix @ self.query(text)).tolist(), strict=True):
            best[name] = max(score, best.get(name, score))
        return best


@dataclass
class Measured:
    """Seconds and results of one way to search, in the order of the questions."""

    name: str
    seconds: list[float] = field(default_factory=list)
    found: list[list[str]] = field(default_factory=list)

    def ratio(self, other: Measured, share: float) -> float:
        """Return how many times as long this takes as the other, at a quantile."""
        return quantile(self.seconds, share) / quantile(other.seconds, share)


def race(ways: Mapping[str, Callable[[str], list[str]]], asked: Sequence[str], passes: int) -> dict[str, Measured]:
    """Search for each question by each way in turn, twice, and time the second; results are of the first pass."""
    measured = {name: Measured(name) for name in ways}
    for number in range(passes):
        for text in asked:
            for name, search in ways.items():
                search(text)
                started = time.perf_counter()
                found = search(text)
                measured[name].seconds.append(time.perf_counter() - started)
                if number == 0:
                    measured[name].found.append(found)
    return measured


def compare(own: Bench, name: str, rows: Rows, asked: Sequence[str], *, passes: int, peers: Sequence[Peer]) -> None:
    """Load one corpus everywhere, race, and print the tables."""
    asked = [text for text in asked if _WORD.search(text)]
    file = write(own.folder / f"{name}.jsonl", [dict(row) for row in rows])
    slug = name.replace("_", "-")
    loaded, _ = own.manage("ingest", str(file), "--tenant", slug, "--create")
    # Its graph, where it has as many vectors as make one.
    own.manage("embed", "--tenant", slug)
    probe.vacuum()
    built: list[tuple[Peer, float, int]] = []
    for peer in peers:
        folder = own.folder / "peers" / f"{slug}-{peer.name.replace(' ', '-')}"
        folder.mkdir(parents=True)
        started = time.perf_counter()
        size = peer.build(rows, folder)
        built.append((peer, time.perf_counter() - started, size))
    ours = Ours(slug)
    scan = ExactScan(ours.passages())
    ways: dict[str, Callable[[str], list[str]]] = {
        "session": ours.nothing,
        "words": ours.by_words,
        "explained": ours.explained,
        "vectors": ours.by_vector,
        "both": ours.by_both,
        "scan": scan.search,
        **{peer.name: peer.search for peer, _, _ in built},
    }
    times = race(ways, asked, passes)

    print(f"\n{name}: {len(rows):,} documents, {len(asked)} questions, {len(times['words'].seconds)} searches each\n")
    exact, terms = ours.exact(), [ours.terms(text) for text in asked]
    reference = [exact.scores(query) for query in terms]
    print(
        f"{'by words, top 10':38}{'p50 ms':>9}{'p95 ms':>9}{'ours / it: p50':>16}{'p95':>8}{'overlap own':>13}{'ours':>7}"
    )
    own_overlap = _mean_overlap(times["words"].found, reference)
    print(f"{'ours: ids and exact scores':38}{_times(times['words'])}{'':>24}{own_overlap:>13.3f}{own_overlap:>7.3f}")
    print(f"{'ours: explained, with texts':38}{_times(times['explained'])}")
    print(f"{'ours: an empty session':38}{_times(times['session'])}")
    for peer, _, _ in built:
        tokens = peer.cut([row["text"] for row in rows])
        exact_of_peer = ExactBM25((row["id"], Counter(cut)) for row, cut in zip(rows, tokens, strict=True))
        own_scores = [exact_of_peer.scores(query) for query in peer.cut_questions(asked)]
        found = times[peer.name].found
        ratios = [times["words"].ratio(times[peer.name], share) for share in (0.5, 0.95)]
        print(
            f"{peer.name:38}{_times(times[peer.name])}{ratios[0]:>15.1f}x{ratios[1]:>7.1f}x"
            f"{_mean_overlap(found, own_scores):>13.3f}{_mean_overlap(found, reference):>7.3f}"
        )
    print(f"\n{'by vectors, top 10':38}{'p50 ms':>9}{'p95 ms':>9}{'ours / it: p50':>16}{'p95':>8}{'overlap exact':>15}")
    cosines = [scan.scores(text) for text in asked]
    print(
        f"{'ours: 16 bits, filterable':38}{_times(times['vectors'])}{'':>24}{_mean_overlap(times['vectors'].found, cosines):>15.3f}"
    )
    ratios = [times["vectors"].ratio(times["scan"], share) for share in (0.5, 0.95)]
    print(
        f"{'exact scan in memory (numpy, 32 bits)':38}{_times(times['scan'])}{ratios[0]:>15.1f}x{ratios[1]:>7.1f}x"
        f"{_mean_overlap(times['scan'].found, cosines):>15.3f}"
    )
    print(f"{'ours: both arms, fused and explained':38}{_times(times['both'])}")
    _print_loading(loaded, rows, built, scan)
    _print_sentences(times, built)


def _print_loading(
    loaded: Mapping[str, Any], rows: Rows, built: Sequence[tuple[Peer, float, int]], scan: ExactScan
) -> None:
    print(f"\n{'loading':38}{'documents/s':>12}{'bytes/document':>16}")
    print(f"{'ours: durable, both arms, filters':38}{loaded['saved'] / loaded['seconds']:>12,.0f}{'see below':>16}")
    for peer, seconds, taken in built:
        print(f"{peer.name + ': words alone':38}{len(rows) / seconds:>12,.0f}{taken / len(rows):>16,.0f}")
    print(
        f"{'numpy: vectors alone, in memory':38}{len(rows) / scan.seconds:>12,.0f}{scan.matrix.nbytes / len(rows):>16,.0f}"
    )


def _print_sentences(times: Mapping[str, Measured], built: Sequence[tuple[Peer, float, int]]) -> None:
    """Say in words who is faster, and why."""
    print()
    faster = False
    for name, shown, why, mine in [
        *((peer.name, peer.name, peer.why, "words") for peer, _, _ in built),
        ("scan", "The scan in memory", "it is one multiplication over a matrix of this process", "vectors"),
    ]:
        ratio = times[mine].ratio(times[name], 0.5)
        faster |= ratio > 1
        if ratio > 1:
            print(f"{shown} is {ratio:.1f} times as fast as ours at the median: {why}.")
        else:
            print(f"Ours is {1 / ratio:.1f} times as fast as {shown.replace('The', 'the')} at the median.")
    if faster:
        session = quantile(times["session"].seconds, 0.5)
        print(
            f"What is faster gives up what ours does: it goes over a socket to a server ({session * 1e3:.1f} ms for an"
            " empty session), past row-level security, sees each commit at once and keeps it through a crash, holds"
            " any filter without losing results, and each score can be shown word by word."
        )


def print_sizes(documents: int) -> None:
    """Print what our tables and indexes take, by arm, over all corpora loaded."""
    arms = {
        "feedback_passage": "lexical arm, with filters",
        "feedback_term": "lexical arm: dictionary",
        "feedback_passagevector": "vector arm, with filters",
        "feedback_documentrevision": "texts as they were sent",
        "feedback_document": "records",
        "feedback_documentkey": "identities",
        "core_outboxevent": "events",
    }
    rows = probe.sizes()
    print(f"\nours on disk, {documents:,} documents in all{'':14}{'MB':>8}{'bytes/document':>16}")
    total = 0
    for table, kind, size in rows:
        total += size
        if table in arms and size >= 2**16:
            print(f"  {f'{arms[table]} ({table})':54}{kind:8}{size / 2**20:>8.1f}{size / documents:>12,.0f}")
    print(f"  {'everything in the database':62}{total / 2**20:>8.1f}{total / documents:>12,.0f}")


def _times(measured: Measured) -> str:
    return f"{quantile(measured.seconds, 0.5) * 1e3:>9.2f}{quantile(measured.seconds, 0.95) * 1e3:>9.2f}"


def _mean_overlap(found: Sequence[list[str]], scores: Sequence[Mapping[str, float]]) -> float:
    shares = [
        share for ids, exact in zip(found, scores, strict=True) if (share := overlap(ids, exact, k=TOP)) is not None
    ]
    return statistics.fmean(shares) if shares else math.nan


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def installed() -> list[Callable[[], Peer]]:
    """Return the makers of the peers that are there, with a line about each; name those that aren't."""
    found: list[Callable[[], Peer]] = []
    for make in PEERS:
        try:
            peer = make()
        except Missing as missing:
            print(f"{missing} isn't installed and is left out: `make bench-peers` installs it.")
        else:
            print(f"{peer.name:12} tokens: {peer.tokens}")
            found.append(make)
    print(f"{'ours':12} tokens: the Postgres parser, Snowball English, its stop words; codes and numbers whole")
    return found


def corpora(options: argparse.Namespace) -> list[tuple[str, list[dict[str, Any]], list[str]]]:
    """Return (name, documents, questions) of what is compared on."""
    real = {name: path for name, path in REAL.items() if path.exists() and options.corpus in (None, name)}
    if options.count is None and real:
        return [(name, read(path.parent / "corpus.jsonl"), questions(path)) for name, path in real.items()]
    sentences = read_sentences(real_files())
    rows = list(generate(options.count or 10_000, pool=sentences))
    return [("generated", rows, varied_questions(_MEASURED, sentences=sentences))]


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, metavar="N", help="compare on a generated corpus of N documents")
    parser.add_argument("--corpus", choices=sorted(REAL), help="compare on this one of the real corpora")
    parser.add_argument(
        "--passes", type=int, metavar="N", help=f"ask everything N times; enough for {_MEASURED} by default"
    )
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Compare and print."""
    parser = arguments()
    options = parser.parse_args(words)
    if any(value is not None and value < 1 for value in (options.count, options.passes)):
        parser.error("--count and --passes are whole numbers above zero")
    print(f"peers; {machine()}")
    chosen = corpora(options)
    makers = installed()
    with bench(WA_EMBEDDER="static") as own:
        own.enter()
        for name, rows, asked in chosen:
            passes = options.passes or math.ceil(_MEASURED / len(asked))
            compare(own, name, rows, asked, passes=passes, peers=[make() for make in makers])
        print_sizes(sum(len(rows) for _, rows, _ in chosen))
        from django.db import connections

        connections.close_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
