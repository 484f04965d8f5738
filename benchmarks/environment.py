"""What the benchmarks share: an installation of their own to measure, texts and questions, and quantiles.

Nothing here touches the state folder that the application itself uses.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
NHS = SHARED / "feedback" / "nhs_fft.jsonl"
NHS_QUESTIONS = SHARED / "retrieval" / "nhs_fft" / "queries.jsonl"
BANKING = SHARED / "feedback" / "banking77.jsonl"
BANKING_QUESTIONS = SHARED / "retrieval" / "banking77" / "queries.jsonl"
DEMO = ROOT / "feedback" / "fixtures" / "demo" / "feedback.jsonl"
DEMO_QUESTIONS = ROOT / "evals" / "fixtures" / "demo" / "questions.jsonl"

_START_SECONDS = 120.0


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an NDJSON file."""
    with path.open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file if line.strip()]


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write an NDJSON file; return its path."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def documents(path: Path | None) -> tuple[str, list[dict[str, Any]]]:
    """Return the name and the documents to load: the file's, else the real survey's, else the demo's, repeated."""
    if path is not None:
        return path.name, read(path)
    if NHS.exists():
        return NHS.name, read(NHS)
    rows = read(DEMO)
    return "the demo corpus, ten times", [{**row, "id": f"{row['id']}-{copy}"} for copy in range(10) for row in rows]


def questions(path: Path | None = None) -> list[str]:
    """Return what to ask: the file's questions, else those of the real survey, else of the demo."""
    rows = read(path or (NHS_QUESTIONS if NHS_QUESTIONS.exists() else DEMO_QUESTIONS))
    return [row.get("question") or row["text"] for row in rows]


def real_questions() -> list[str]:
    """Return the questions of every real set that is there, else the demo's."""
    found = [text for path in (NHS_QUESTIONS, BANKING_QUESTIONS) if path.exists() for text in questions(path)]
    return found or questions(DEMO_QUESTIONS)


# What people ask, with a gap for what they ask about.
_ASKED = (
    "What do people say about {topic}?",
    "Why do customers complain about {topic}?",
    "How many records mention {topic}?",
    "Has {topic} become better or worse?",
    "Is there a problem with {topic}?",
    "Who was affected by {topic}?",
    "{topic}",
    "Do people like {topic} more than {other}?",
)
_TOPIC_WORD = re.compile(r"[^\W\d_]{3,}")


def varied_questions(count: int, *, sentences: Sequence[str], seed: int = 1337, real: bool = True) -> list[str]:
    """Return `count` questions for a load that no cache can hide: real ones first if wanted, then made ones.

    A made question puts two to four neighbouring words of a random sentence into a template, so that its words
    have the frequencies of the corpus. Few are equal; `len(set(...))` says how many aren't.
    """
    rng = random.Random(seed)
    pool = [words for sentence in sentences if len(words := _TOPIC_WORD.findall(sentence)) >= 4]

    def topic() -> str:
        words = rng.choice(pool)
        length = rng.randint(2, 4)
        first = rng.randint(0, len(words) - length)
        return " ".join(words[first : first + length]).lower()

    asked = real_questions()[:count] if real else []
    while len(asked) < count:
        asked.append(rng.choice(_ASKED).format(topic=topic(), other=topic()))
    return asked


class Bench:
    """A state folder of its own below `folder`, with a database server of its own, and the commands run in it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """Choose a free port; `settings` are WA_ variables on top."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WA_", "PROMETHEUS_"))}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.environment = {
            **kept,
            "WA_STATE_DIR": str(folder / "state"),
            "WA_PORT": str(self.port),
            "WA_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "wisdom_project.settings",
            "PYTHONPATH": str(ROOT),
            **settings,
        }

    def manage(self, *arguments: str) -> tuple[dict[str, Any], float]:
        """Run a command; return its JSON and the seconds of the whole process."""
        started = time.perf_counter()
        output = self.run([sys.executable, "manage.py", *arguments, "--json"])
        return json.loads(output), time.perf_counter() - started

    def probe(self, job: str, **arguments: Any) -> Any:
        """Run a job of `benchmarks/probe.py` as a process of this installation; return its JSON."""
        return json.loads(self.run([sys.executable, "-m", "benchmarks.probe", job], json.dumps(arguments)))

    def run(self, command: list[str], text: str | None = None) -> str:
        """Run a process in the project's folder and return what it printed; end with its complaint if it fails."""
        done = subprocess.run(command, cwd=ROOT, env=self.environment, input=text, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command[1:4])} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[tuple[str, int]]:
        """Serve for the block; give the address and the server's process id."""
        import httpx2  # not needed by benchmarks that only import texts and quantiles

        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        url = f"http://127.0.0.1:{self.port}"
        try:
            until = time.monotonic() + _START_SECONDS
            while True:
                try:
                    if httpx2.get(f"{url}/ready", timeout=2).status_code == 200:
                        break
                except httpx2.HTTPError:
                    pass
                if server.poll() is not None or time.monotonic() > until:
                    sys.exit("the server did not become ready")
                time.sleep(0.1)
            yield url, server.pid
        finally:
            server.terminate()
            server.wait(30)

    def enter(self) -> None:
        """Become a process of this installation: set up Django on its database, which is made if need be."""
        for name in [name for name in os.environ if name.startswith(("WA_", "PROMETHEUS_"))]:
            del os.environ[name]
        os.environ.update(self.environment)
        import django

        django.setup()
        from core.commands import migrate

        migrate()

    def stop(self) -> None:
        """Stop the database server."""
        subprocess.run(
            [sys.executable, "-m", "core.embedded_postgres", "stop"],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
        )


@contextmanager
def bench(*, keep: Path | None = None, **settings: str) -> Iterator[Bench]:
    """Give an installation in a temporary folder that is removed afterwards, or in `keep`, which stays.

    Its database server is stopped either way, also when the benchmark is told to end.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    folder = keep or Path(tempfile.mkdtemp(prefix="wisdom-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    installation = Bench(folder.resolve(), **settings)
    try:
        yield installation
    finally:
        installation.stop()
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def ask_over_http(url: str, key: str, asked: Sequence[str], *, warm_up: int = 20) -> Iterator[float]:
    """Ask each question on one connection; yield the seconds of each, after a warm-up with the last ones."""
    import httpx2

    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for number in range(-min(warm_up, len(asked)), len(asked)):
            started = time.perf_counter()
            client.post("/api/v1/ask", json={"question": asked[number]}).raise_for_status()
            if number >= 0:
                yield time.perf_counter() - started


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values don't exceed; the median is the middle of the middle two."""
    ordered = sorted(values)
    if share == 0.5:
        return statistics.median(ordered)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def quantiles(seconds: Sequence[float]) -> str:
    """Return p50 and p95 in milliseconds."""
    return f"p50 {quantile(seconds, 0.5) * 1e3:8.1f} ms   p95 {quantile(seconds, 0.95) * 1e3:8.1f} ms"


def machine() -> str:
    """Describe what is measured on, in one line without names or paths."""
    import platform

    model = "unknown processor"
    memory = 0.0
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = next((int(line.split()[1]) / 2**20 for line in file if line.startswith("MemTotal")), memory)
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores ({model}), {memory:.0f} GB;"
        f" load average at the start {load:.1f}; two million steps of a loop take {_loop_seconds() * 1e3:.0f} ms"
    )


def _loop_seconds() -> float:
    """Return what a loop that is always the same takes: a virtual machine is not as fast at all times."""
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        total = 0
        for number in range(2_000_000):
            total += number * number % 7
        best = min(best, time.perf_counter() - started)
    return best
