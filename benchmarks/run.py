"""Measure the main job on this machine: ingest, search, ask through HTTP, with SQLite FTS5 beside it as a peer.

    make bench            or   .venv/bin/python benchmarks/run.py [--file FILE.jsonl] [--questions FILE.jsonl] [--ask N]

Everything runs on a database server of its own in a temporary folder, through the public commands and HTTP.
Without a file the demo corpus is loaded ten times over under other ids. Prints figures, asserts none.
"""

from __future__ import annotations

import argparse
import re
import resource
import sqlite3
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import (  # the project is not installed, the path comes first
    ask_over_http,
    bench,
    documents,
    machine,
    quantiles,
    questions,
    write,
)


def peer(rows: list[dict[str, Any]], asked: list[str]) -> tuple[float, list[float]]:
    """Index the same texts in SQLite FTS5 (porter stemmer, bm25) and search them; seconds to load, and per query."""
    started = time.perf_counter()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE f USING fts5(id UNINDEXED, text, tokenize='porter unicode61')")
    database.executemany("INSERT INTO f VALUES (?, ?)", ((row["id"], row["text"]) for row in rows))
    database.commit()
    loaded = time.perf_counter() - started
    times = []
    for text in asked:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        if not words:
            continue
        for measured in (False, True):
            started = time.perf_counter()
            database.execute("SELECT id, bm25(f) FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT 10", (words,)).fetchall()
            if measured:
                times.append(time.perf_counter() - started)
    return loaded, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--ask", type=int, default=200, metavar="N", help="how many questions to ask over HTTP")
    options = parser.parse_args()
    name, rows = documents(options.file)
    asked = questions(options.questions)
    print(f"{len(rows):,} documents ({name}), {len(asked)} questions; {machine()}")
    with bench() as own:
        file = write(own.folder / "documents.jsonl", rows)
        own.manage("ingest", str(file), "--tenant", "warm-up", "--create", "--dry-run")
        loaded, whole = own.manage("ingest", str(file), "--tenant", "bench", "--create")
        rate = loaded["saved"] / loaded["seconds"]
        print(
            f"ingest until searchable in both arms {rate:10,.0f} documents/s   ({loaded['seconds']:.1f} s, whole process {whole:.1f} s)"
        )
        again, _ = own.manage("ingest", str(file), "--tenant", "bench")
        print(
            f"the same file again                  {len(rows) / again['seconds']:10,.0f} documents/s   saved {again['saved']}, indexed {again['indexed']}"
        )
        embedded, _ = own.manage("embed", "--tenant", "bench")
        if embedded["embedded"]:
            print(
                f"better vectors behind                {embedded['embedded'] / embedded['seconds']:10,.0f} passages/s    lag {embedded['lag']}"
            )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _, cold = own.manage("ask", asked[0], "--tenant", "bench")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"one question from the command line   {cpu:10.1f} s of CPU ({cold:.1f} s in all)")
        times = own.probe("search", tenant="bench", questions=asked, modes=["lexical", "hybrid"], top_k=10)
        print(f"search, words                        {quantiles(times['lexical'])}")
        print(f"search, words and vectors            {quantiles(times['hybrid'])}")
        built, peer_times = peer(rows, asked)
        ratio = statistics.median(times["lexical"]) / statistics.median(peer_times)
        print(
            f"peer: SQLite FTS5 in memory          {quantiles(peer_times)}   loads {len(rows) / built:,.0f} documents/s"
        )
        print(
            f"      words: ours / peer             {ratio:10.1f} x (ours over a socket, with policies, explained and durable)"
        )
        key = own.probe("key", tenant="bench")
        repeated = [asked[number % len(asked)] for number in range(options.ask)]
        with own.serving() as (url, _):
            print(f"ask over HTTP, warm                  {quantiles(list(ask_over_http(url, key, repeated)))}")


if __name__ == "__main__":
    main()
