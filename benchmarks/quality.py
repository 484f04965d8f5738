"""Measure how well retrieval finds, arm by arm, on labelled questions.

    make bench-quality     or   .venv/bin/python benchmarks/quality.py [--sets FOLDER …] [--embedder NAME …] [--keep DIR]
                                                       [--set NAME=VALUE …] [--check]

A set is a folder with `corpus.jsonl` ({"id", "text", "title"?, "source"?}), `queries.jsonl` ({"id", "text"}) and
`qrels.tsv` (query-id, corpus-id, score; a header). Without --sets: those of `../shared/data/retrieval` where it is there,
and the demo corpus with its questions. Everything goes through `retrieve` and `rerank_hits` as a search does, on a
database of its own in a temporary folder.

Prints nDCG@10, recall@10 and recall@100 per arm, fused, and fused with the second stage that `WA_RERANKER` switches on
(`reranked`), the milliseconds of a search, and what the second stage gains over the fused list. Then the difference in nDCG@10 between the fused list and
the better arm, question by question, with its 95 % interval (bootstrap over questions, 10,000 draws, seed 7). `--check`
fails where that difference is below -0.01 and so is all of its interval, or where a bar of the table below is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import (  # the project is not installed, the path comes first
    DEMO,
    DEMO_QUESTIONS,
    SHARED,
    Bench,
    bench,
    read,
    write,
)

SETS = SHARED / "retrieval"
# What the fused list has to reach, by set and embedder setting (nDCG@10).
BARS: Mapping[tuple[str, str], float] = {
    ("nhs_fft", "static+minilm"): 0.60,
    ("banking77", "static+minilm"): 0.895,
    ("nhs_fft", "static"): 0.55,
    ("banking77", "static"): 0.825,
}
MAX_LOSS = 0.01
DRAWS = 10_000


@dataclass(frozen=True)
class Judged:
    """A corpus, its questions, and for each question the records that answer it."""

    name: str
    corpus: list[dict[str, Any]]
    questions: list[tuple[str, str]]
    relevant: dict[str, frozenset[str]]


def read_set(folder: Path) -> Judged:
    """Read a folder of the form above; questions without a relevant record are left out."""
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").split("\n")[1:]:
        if line.strip():
            question, record, grade = line.split("\t")
            if int(grade) > 0:
                relevant.setdefault(question, set()).add(record)
    rows = [
        {
            "id": row["id"],
            "text": f"{row.get('title', '')} {row['text']}".strip(),
            "source": row.get("source", "survey"),
            **({"language": row["language"]} if "language" in row else {}),
        }
        for row in read(folder / "corpus.jsonl")
    ]
    asked = [(str(row["id"]), row["text"]) for row in read(folder / "queries.jsonl")]
    return Judged(
        folder.name,
        rows,
        [(identity, text) for identity, text in asked if identity in relevant],
        {identity: frozenset(records) for identity, records in relevant.items()},
    )


def read_demo() -> Judged:
    """Read the demo corpus and those of its questions that name the records that answer them."""
    asked = [row for row in read(DEMO_QUESTIONS) if row["expected"].get("doc_ids")]
    return Judged(
        "demo",
        read(DEMO),
        [(row["id"], row["question"]) for row in asked],
        {row["id"]: frozenset(row["expected"]["doc_ids"]) for row in asked},
    )


def ndcg(ranked: Sequence[str], relevant: frozenset[str], k: int = 10) -> float:
    """Return the normalised discounted cumulative gain of a list with binary relevance, in [0, 1].

    Source: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """
    gain = sum(1 / math.log2(place + 2) for place, record in enumerate(ranked[:k]) if record in relevant)
    best = sum(1 / math.log2(place + 2) for place in range(min(k, len(relevant))))
    return gain / best if best else 0.0


def recall(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """Return the share of the relevant records among the first k, of at most k."""
    return len(set(ranked[:k]) & relevant) / min(k, len(relevant))


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of paired differences, by bootstrap over questions."""
    values = np.asarray(differences)
    drawn = np.random.default_rng(7).integers(0, len(values), (DRAWS, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def tell_difference(name: str, first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Print the mean of the paired differences and its interval; return the mean and the interval's upper end."""
    differences = [one - other for one, other in zip(first, second, strict=True)]
    low, high = interval(differences)
    mean = sum(differences) / len(differences)
    print(f"{'':29}{name}: {mean:+.3f}  [{low:+.3f}, {high:+.3f}], {len(differences)} questions", flush=True)
    return mean, high


def load(judged: Judged, embedder: str, own: Bench) -> str:
    """Load a corpus into a tenant of its own unless it is there; return the tenant's slug."""
    slug = f"{judged.name}-{embedder}".replace("_", "-").replace("+", "-")
    loaded = own.folder / f"{slug}.jsonl"
    if not loaded.exists():
        file = write(own.folder / f"{slug}.part", judged.corpus)
        own.manage("ingest", str(file), "--tenant", slug, "--create")
        own.manage("embed", "--tenant", slug)
        file.rename(loaded)
    return slug


def search(slug: str, questions: Sequence[tuple[str, str]], variants: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Run in a process that has the application: the first hundred of each variant, and the milliseconds."""
    import django

    django.setup()
    from core.tenant_session import tenant_session
    from feedback.domain.retrieval import Mode
    from feedback.selectors.corpora import corpus_state, get_corpus
    from feedback.selectors.retrieval import rerank_hits, retrieve, second_stage
    from tenants.selectors import get_tenant

    tenant = get_tenant(slug=slug)
    with tenant_session(tenant):
        corpus = get_corpus(tenant=tenant, slug="feedback")
        as_of = corpus_state(corpus=corpus).as_of
    found: dict[str, dict[str, Any]] = {}
    for variant in variants:
        lists = {}
        judged = 0
        reranks = variant == "reranked"
        corpus.options = {**corpus.options, "reranker": "cross-encoder" if reranks else "off"}
        started = time.perf_counter()
        for identity, text in questions:
            with tenant_session(tenant):
                retrieved = retrieve(
                    corpus=corpus, query=text, top_k=100, mode=Mode.HYBRID if reranks else Mode(variant)
                )
                retrieved = second_stage(retrieved, corpus=corpus, query=text)
            judged += retrieved.reranker is not None
            lists[identity] = [hit.doc_id for hit in rerank_hits(retrieved, top_k=100, as_of=as_of).hits]
        milliseconds = (time.perf_counter() - started) * 1000 / max(1, len(questions))
        if reranks and not judged:
            sys.exit(f"the second stage was left out: {'; '.join(retrieved.notes)}")
        found[variant] = {"lists": lists, "milliseconds": milliseconds, "judged": judged}
    return found


def measure(judged: Judged, embedder: str, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Print the rows of one corpus and embedder; return what falls short."""
    values = {
        variant: [ndcg(result["lists"][identity], judged.relevant[identity]) for identity, _ in judged.questions]
        for variant, result in found.items()
    }
    for variant, result in found.items():
        recalls = [
            sum(recall(result["lists"][identity], judged.relevant[identity], k) for identity, _ in judged.questions)
            / len(judged.questions)
            for k in (10, 100)
        ]
        mean = sum(values[variant]) / len(values[variant])
        line = f"{judged.name:14}{embedder:15}{variant:9}{mean:9.3f}{recalls[0]:11.3f}{recalls[1]:12.3f}{result['milliseconds']:8.1f}"
        print(line, flush=True)
    if "reranked" in values:
        # It reads English; a question in another language keeps its order.
        tell_difference(
            f"reranked ({found['reranked']['judged']} of them) - hybrid", values["reranked"], values["hybrid"]
        )
    better = max(("lexical", "vector"), key=lambda arm: sum(values[arm]))
    mean, high = tell_difference(f"hybrid - {better}", values["hybrid"], values[better])
    short = []
    if mean < -MAX_LOSS and high < -MAX_LOSS:
        short.append(f"{judged.name} with {embedder}: fused loses {-mean:.3f} to {better} alone")
    bar = BARS.get((judged.name, embedder))
    reached = sum(values["hybrid"]) / len(values["hybrid"])
    if bar is not None and reached < bar:
        short.append(f"{judged.name} with {embedder}: {reached:.3f} is below the bar of {bar}")
    return short


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--embedder", nargs="+", default=["static+minilm", "static"])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the database there, and use it again")
    parser.add_argument("--set", action="append", default=[], metavar="WA_X=value", help="change a setting")
    parser.add_argument("--check", action="store_true", help="end with 1 where something falls short")
    parser.add_argument("--search", metavar="TENANT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        asked = json.loads(sys.stdin.read())
        json.dump(search(options.search, asked["questions"], asked["variants"]), sys.stdout)
        return
    changed = dict(pair.split("=", 1) for pair in options.set)
    folders = options.sets or (sorted(path for path in SETS.iterdir() if path.is_dir()) if SETS.exists() else [])
    judged_sets = [read_set(folder) for folder in folders]
    if not options.sets:
        judged_sets.append(read_demo())
    short: list[str] = []
    print(f"{'corpus':14}{'embedder':15}{'list':9}{'nDCG@10':>9}{'recall@10':>11}{'recall@100':>12}{'ms':>8}")
    for embedder in options.embedder:
        with bench(keep=options.keep, WA_EMBEDDER=embedder, **changed) as own:
            for judged in judged_sets:
                sent = {"questions": judged.questions, "variants": ["lexical", "vector", "hybrid", "reranked"]}
                slug = load(judged, embedder, own)
                found = own.run([sys.executable, "-m", "benchmarks.quality", "--search", slug], json.dumps(sent))
                short += measure(judged, embedder, json.loads(found))
    for line in short:
        print(f"falls short: {line}")
    if options.check and short:
        sys.exit(1)


if __name__ == "__main__":
    main()
