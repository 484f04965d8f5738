"""Measure the main job on this machine: ingest, search, ask through HTTP, with SQLite FTS5 beside it as a peer.

    make bench            or   .venv/bin/python benchmarks/run.py [--file FILE.jsonl] [--questions FILE.jsonl] [--ask N]

Everything runs on a database server of its own in a temporary folder, through the public commands and HTTP.
Without a file the demo corpus is loaded ten times over under other ids. Prints figures, asserts none.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
NHS = SHARED / "feedback" / "nhs_fft.jsonl"
NHS_QUESTIONS = SHARED / "retrieval" / "nhs_fft" / "queries.jsonl"
DEMO = ROOT / "feedback" / "fixtures" / "demo" / "feedback.jsonl"
DEMO_QUESTIONS = ROOT / "evals" / "fixtures" / "demo" / "questions.jsonl"

KEY = """
import django; django.setup()
from core.clock import utc_now
from tenants.domain.access import Scope
from tenants.selectors import get_tenant
from tenants.services import create_api_key
print(create_api_key(tenant=get_tenant(slug="bench"), name="bench", scopes=Scope, now=utc_now())[1])
"""

# Searches in one process: the arm of words alone, as the peer has, and both arms.
SEARCH = """
import json, sys, time
import django; django.setup()
from core.tenant_session import tenant_session
from feedback.domain.retrieval import Mode
from feedback.selectors.corpora import get_corpus
from feedback.selectors.retrieval import rerank_hits, retrieve
from tenants.selectors import get_tenant
tenant = get_tenant(slug="bench")
with tenant_session(tenant):
    corpus = get_corpus(tenant=tenant, slug="feedback")
times = {"lexical": [], "hybrid": []}
for text in json.loads(sys.stdin.read()):
    for mode in times:
        for measured in (False, True):
            started = time.perf_counter()
            with tenant_session(tenant):
                rerank_hits(retrieve(corpus=corpus, query=text, top_k=10, mode=Mode(mode)), top_k=10)
            if measured:
                times[mode].append(time.perf_counter() - started)
print(json.dumps(times))
"""


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an NDJSON file."""
    with path.open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file if line.strip()]


def documents(path: Path | None) -> tuple[str, list[dict[str, Any]]]:
    """Return the name and the documents to load."""
    if path is not None:
        return path.name, read(path)
    if NHS.exists():
        return NHS.name, read(NHS)
    rows = read(DEMO)
    return "the demo corpus, ten times", [{**row, "id": f"{row['id']}-{copy}"} for copy in range(10) for row in rows]


def questions(path: Path | None) -> list[str]:
    """Return what to ask."""
    rows = read(path or (NHS_QUESTIONS if NHS_QUESTIONS.exists() else DEMO_QUESTIONS))
    return [row.get("question") or row["text"] for row in rows]


class Bench:
    """A state folder of its own, and the commands run in it."""

    def __init__(self, folder: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WA_")}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.environment = {
            **kept,
            "WA_STATE_DIR": str(folder / "state"),
            "WA_PORT": str(self.port),
            "WA_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "wisdom_project.settings",
        }

    def manage(self, *arguments: str) -> tuple[dict[str, Any], float]:
        """Run a command; return its JSON and the seconds of the whole process."""
        started = time.perf_counter()
        output = self.run([sys.executable, "manage.py", *arguments, "--json"])
        return json.loads(output), time.perf_counter() - started

    def run(self, command: list[str], text: str | None = None) -> str:
        """Run a process in the project's folder and return what it printed."""
        done = subprocess.run(command, cwd=ROOT, env=self.environment, input=text, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command[:4])} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve on a free port for the block."""
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        url = f"http://127.0.0.1:{self.port}"
        try:
            for _ in range(300):
                try:
                    if httpx2.get(f"{url}/ready", timeout=2).status_code == 200:
                        break
                except httpx2.HTTPError:
                    time.sleep(0.1)
            yield url
        finally:
            server.terminate()
            server.wait(30)


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


def quantiles(seconds: list[float]) -> str:
    """Return p50 and p95 in milliseconds."""
    ordered = sorted(seconds)
    return f"p50 {statistics.median(ordered) * 1e3:8.1f} ms   p95 {ordered[int(len(ordered) * 0.95)] * 1e3:8.1f} ms"


def ask_over_http(url: str, key: str, asked: list[str], count: int) -> list[float]:
    """Ask one question after another on one connection; return the seconds of each, after a warm-up."""
    times = []
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for number in range(-min(20, len(asked)), count):
            started = time.perf_counter()
            client.post("/api/v1/ask", json={"question": asked[number % len(asked)]}).raise_for_status()
            if number >= 0:
                times.append(time.perf_counter() - started)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--ask", type=int, default=200, metavar="N", help="how many questions to ask over HTTP")
    options = parser.parse_args()
    name, rows = documents(options.file)
    asked = questions(options.questions)
    folder = Path(tempfile.mkdtemp(prefix="wisdom-bench-"))
    bench = Bench(folder)
    print(
        f"{len(rows):,} documents ({name}), {len(asked)} questions; Python {platform.python_version()}, {os.cpu_count()} cores"
    )
    try:
        file = folder / "documents.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        bench.manage("ingest", str(file), "--tenant", "warm-up", "--create", "--dry-run")
        loaded, whole = bench.manage("ingest", str(file), "--tenant", "bench", "--create")
        rate = loaded["saved"] / loaded["seconds"]
        print(
            f"ingest until searchable in both arms {rate:10,.0f} documents/s   ({loaded['seconds']:.1f} s, whole process {whole:.1f} s)"
        )
        again, _ = bench.manage("ingest", str(file), "--tenant", "bench")
        print(
            f"the same file again                  {len(rows) / again['seconds']:10,.0f} documents/s   saved {again['saved']}, indexed {again['indexed']}"
        )
        embedded, _ = bench.manage("embed", "--tenant", "bench")
        if embedded["embedded"]:
            print(
                f"better vectors behind                {embedded['embedded'] / embedded['seconds']:10,.0f} passages/s    lag {embedded['lag']}"
            )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _, cold = bench.manage("ask", asked[0], "--tenant", "bench")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"one question from the command line   {cpu:10.1f} s of CPU ({cold:.1f} s in all)")
        times = json.loads(bench.run([sys.executable, "-c", SEARCH], json.dumps(asked)))
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
        key = bench.run([sys.executable, "-c", KEY]).strip()
        with bench.serving() as url:
            print(f"ask over HTTP, warm                  {quantiles(ask_over_http(url, key, asked, options.ask))}")
    finally:
        subprocess.run(
            [sys.executable, "-m", "core.embedded_postgres", "stop"],
            cwd=ROOT,
            env=bench.environment,
            capture_output=True,
        )
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
