"""Print what each embedder costs: processor seconds to load it, and texts per processor second.

    python benchmarks/embedders.py [--texts FILE.jsonl] [--count N] [--threads T]

Each embedder is measured in a process of its own at the lowest priority. Processor time, not wall-clock time:
the figures hold on a loaded machine, and other threads' work is counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_TEXTS = ROOT.parent / "shared" / "data" / "feedback" / "nhs_fft.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=Path, default=DEFAULT_TEXTS, help="NDJSON with a text member")
    parser.add_argument("--count", type=int, default=0, help="texts to embed; 0 chooses per embedder")
    parser.add_argument("--threads", type=int, default=1, help="threads of one minilm call")
    parser.add_argument("--embedder", choices=("static", "minilm", "hashed"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.embedder:
        measure(options.embedder, options.texts, options.count, options.threads)
        return
    print(f"{'embedder':10}{'load, CPU s':>13}{'texts':>8}{'texts per CPU s':>17}{'one query, ms':>15}{'MB':>6}")
    for name in ("static", "minilm", "hashed"):
        arguments = [
            "--embedder", name, "--texts", str(options.texts), "--count", str(options.count),
            "--threads", str(options.threads),
        ]  # fmt: skip
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, __file__, *arguments], check=True, env=environment)


def measure(name: str, path: Path, count: int, threads: int) -> None:
    """Load one embedder and embed; print one line of the table."""
    os.nice(10)
    count = count or (300 if name == "minilm" else 6_000)
    with path.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(count), strict=False)]

    started = time.process_time()
    from feedback.clients.embedders.registry import EmbedderOptions, get_embedder

    embedder = get_embedder(name, EmbedderOptions(threads=threads))
    embedder.encode_query("warm up")
    loaded = time.process_time()
    embedder.encode_passages(texts)
    embedded = time.process_time()
    for text in texts[:50]:
        embedder.encode_query(text)
    queried = time.process_time()

    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    rate = len(texts) / (embedded - loaded)
    one_query = (queried - embedded) / min(50, len(texts)) * 1000
    print(f"{name:10}{loaded - started:13.2f}{len(texts):8}{rate:17.0f}{one_query:15.2f}{megabytes:6}")


if __name__ == "__main__":
    main()
