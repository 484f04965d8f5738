"""Measure an installation at sizes that matter: load, search, answers, changes, and memory over many questions.

    make bench-large      or   .venv/bin/python benchmarks/large.py [--sizes 10000,100000,1000000] [--keep DIR]

Each size is an installation of its own with one tenant and one generated corpus; its state folder is removed at the
end, or kept below --keep and used again. Prints figures beside the bars; asserts none.

Searches and questions are all different from one another as far as they go: real ones, then made ones whose words
have the frequencies of the corpus. Memory is the server process's resident set, read every thousand questions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import (  # the project is not installed, the path comes first
    Bench,
    ask_over_http,
    bench,
    machine,
    quantile,
    varied_questions,
    write,
)
from benchmarks.generated_corpus import generate, read_sentences, real_files

TENANT = "bench"
TOP = 40
# What a question asks for, of the usual ten hits each arm gives forty candidates.
USUAL_TOP = 10
INGEST_BAR = 1_500
READ_EVERY = 1_000
WARM_UP_SEARCHES = 20
# Caches of words and questions fill at first; what comes after them is a leak.
WARM_UP_QUESTIONS = 2_000
# Ten thousand questions may cost ten megabytes; a real leak of one small object a question is above it.
FLAT_MEGABYTES = 1.0


@dataclass(frozen=True)
class Bars:
    """What p50 is to stay below, in milliseconds, up to a number of documents."""

    documents: int
    hybrid: float
    ask: float


BARS = (Bars(10_000, 10, 40), Bars(100_000, 20, 60), Bars(1_000_000, 60, 120))


@dataclass(frozen=True)
class Growth:
    """How a process's memory went: megabytes per thousand questions after the warm-up, and whether that is flat."""

    slope: float
    is_flat: bool


def bars_of(documents: int) -> Bars | None:
    """Return the bars that hold for a corpus of that size; None above the largest."""
    return next((bars for bars in BARS if documents <= bars.documents), None)


def judge_memory(readings: Sequence[tuple[int, float]]) -> Growth | None:
    """Lay a line through (questions asked, megabytes) after the warm-up; None with fewer than three readings.

    Flat is a slope below FLAT_MEGABYTES per thousand questions.
    """
    after = [(asked / 1_000, megabytes) for asked, megabytes in readings if asked >= WARM_UP_QUESTIONS]
    if len(after) < 3:
        return None
    slope = statistics.linear_regression(*zip(*after, strict=True)).slope
    return Growth(slope, slope < FLAT_MEGABYTES)


def load(own: Bench, size: int, sentences: Sequence[str]) -> dict[str, Any]:
    """Load the corpus and build its vector index; return the figures, those of the first time if it is loaded."""
    kept = own.folder / "loaded.json"
    if kept.exists():
        figures: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return {**figures, "reused": True}
    file = write(own.folder / "documents.jsonl", generate(size, pool=sentences))
    # The tables are made before; the load isn't billed for them.
    own.manage("partitions")
    loaded, _ = own.manage("ingest", str(file), "--tenant", TENANT, "--create")
    embedded, _ = own.manage("embed", "--tenant", TENANT)
    file.unlink()
    # Else the server's workers would do it while questions are asked.
    clustered, _ = own.manage("duplicates", "--tenant", TENANT)
    indexes = own.probe("vector_indexes")
    own.probe("vacuum")
    megabytes = sum(row[2] for row in own.probe("sizes")) / 2**20
    figures = {
        "saved": loaded["saved"],
        "seconds": loaded["seconds"],
        "embedded": embedded["embedded"],
        "index_seconds": embedded["index_seconds"],
        "cluster_seconds": clustered["seconds"],
        "indexes": indexes,
        "megabytes": megabytes,
    }
    kept.write_text(json.dumps(figures), encoding="utf-8")
    return {**figures, "reused": False}


def print_load(figures: dict[str, Any]) -> None:
    """Print what loading took."""
    rate = figures["saved"] / figures["seconds"]
    built = f"{figures['index_seconds']:.1f} s" if figures["indexes"] else "0 s: no vector index is built"
    note = "   (of the load that is reused)" if figures["reused"] else ""
    print(f"  ingest until searchable in both arms  {rate:9,.0f} documents/s   bar ≥ {INGEST_BAR:,}{note}")
    print(f"  then the vector index                 {built}")
    print(f"  then near-duplicate clusters          {figures['cluster_seconds']:.1f} s")
    print(
        f"  on disk                               {figures['megabytes']:9,.0f} MB"
        f"   {figures['megabytes'] * 2**20 / figures['saved']:,.0f} bytes a document"
    )


def print_times(name: str, seconds: Sequence[float], bar: float | None = None) -> None:
    """Print p50 and p95, and the bar for p50."""
    p50, p95 = quantile(seconds, 0.5) * 1e3, quantile(seconds, 0.95) * 1e3
    beside = f"   bar p50 < {bar:g} ms: {'met' if p50 < bar else 'MISSED'}" if bar else ""
    print(f"  {name:38}p50 {p50:8.1f} ms   p95 {p95:8.1f} ms   n {len(seconds):,}{beside}", flush=True)


def resident(process: int) -> float:
    """Return a process's resident set in megabytes."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def ask_many(own: Bench, asked: Sequence[str], *, bar: float | None, memory: bool) -> None:
    """Ask every question over HTTP on one connection; print latencies and, where asked for, memory."""
    key = own.probe("key", tenant=TENANT)
    seconds: list[float] = []
    readings: list[tuple[int, float]] = []
    with own.serving() as (url, process):
        for took in ask_over_http(url, key, asked):
            seconds.append(took)
            if memory and len(seconds) % READ_EVERY == 0:
                readings.append((len(seconds), resident(process)))
                print(f"    {len(seconds):7,} questions: {readings[-1][1]:7.1f} MB resident", flush=True)
    print_times("ask over HTTP", seconds, bar)
    if not memory:
        return
    growth = judge_memory(readings)
    if growth is None:
        print(f"  memory: too few readings to tell; ask at least {WARM_UP_QUESTIONS + 2 * READ_EVERY:,} questions")
    else:
        print(
            f"  memory: {'flat' if growth.is_flat else 'GROWING'}, {growth.slope:+.2f} MB per 1,000 questions after the"
            f" first {WARM_UP_QUESTIONS:,} (flat is below {FLAT_MEGABYTES:g})"
        )


def measure(size: int, options: argparse.Namespace, sentences: Sequence[str], *, memory: bool) -> dict[str, float]:
    """Measure one size; return the medians of changes, in seconds."""
    print(f"\n{size:,} documents", flush=True)
    keep = options.keep / str(size) if options.keep else None
    bars = bars_of(size)
    with bench(keep=keep, WA_EMBEDDER=options.embedder) as own:
        print_load(load(own, size, sentences))
        asked = varied_questions(options.searches, sentences=sentences, seed=size)
        warm_up = varied_questions(WARM_UP_SEARCHES, sentences=sentences, seed=size + 2, real=False)
        print(f"  searches: {len(set(asked)):,} of {len(asked):,} questions are distinct")
        started = time.perf_counter()
        usual = own.probe("search", tenant=TENANT, questions=asked, modes=["hybrid"], top_k=USUAL_TOP, warm_up=warm_up)
        print_times(f"hybrid top-{USUAL_TOP}", usual["hybrid"])
        modes = ["hybrid", "lexical", "vector"]
        times = own.probe("search", tenant=TENANT, questions=asked, modes=modes, top_k=TOP, warm_up=warm_up)
        print_times(f"hybrid top-{TOP}", times["hybrid"], bars.hybrid if bars else None)
        print_times(f"words alone, top-{TOP}", times["lexical"])
        print_times(f"vectors alone, top-{TOP}", times["vector"])
        changed = own.probe("change", tenant=TENANT, documents=list(generate(options.changes, pool=sentences)))
        for kind, seconds in changed.items():
            print_times(f"{kind} one document", seconds)
        count = options.questions if memory else min(options.questions, options.asked)
        questions = varied_questions(count, sentences=sentences, seed=size + 1)
        print(f"  questions: {len(set(questions)):,} of {len(questions):,} are distinct")
        ask_many(own, questions, bar=bars.ask if bars else None, memory=memory)
        print(f"  ({time.perf_counter() - started:,.0f} s after loading)")
    return {kind: statistics.median(seconds) for kind, seconds in changed.items()}


def sizes_of(text: str) -> list[int]:
    """Read a list of sizes. Raises: argparse.ArgumentTypeError."""
    words = [word.strip().replace("_", "") for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of sizes such as 10000,100000")
    return sorted({int(word) for word in words})


def positive(text: str) -> int:
    """Read a whole number above zero. Raises: argparse.ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above zero")
    return int(text)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=sizes_of, default=[10_000, 100_000], metavar="N,N", help="documents")
    parser.add_argument(
        "--questions", type=positive, default=10_000, metavar="N", help="to ask over HTTP at the first size, for memory"
    )
    parser.add_argument(
        "--asked", type=positive, default=500, metavar="N", help="to ask over HTTP at the other sizes, at most"
    )
    parser.add_argument("--searches", type=positive, default=300, metavar="N", help="questions to search for")
    parser.add_argument("--changes", type=positive, default=50, metavar="N", help="documents to edit, delete, restore")
    parser.add_argument(
        "--embedder", default="static", help="WA_EMBEDDER; MiniLM behind takes an hour for each million (static)"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the installations there, and use those that are")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Measure each size and print."""
    options = arguments().parse_args(words)
    sentences = read_sentences(real_files())
    print(f"large; {machine()}")
    changes = {size: measure(size, options, sentences, memory=number == 0) for number, size in enumerate(options.sizes)}
    first, last = options.sizes[0], options.sizes[-1]
    if last > first:
        print(f"\nchanges at {last:,} documents cost, against {first:,}:")
        for kind in changes[first]:
            print(
                f"  {kind:8} {changes[last][kind] / changes[first][kind]:6.1f} times (1 is: as the document is large)"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
