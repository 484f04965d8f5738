"""Make a corpus of any size from real texts, by recombining their sentences.

    python benchmarks/generated_corpus.py COUNT [--from FILE.jsonl …] [--seed N] > documents.jsonl

A record gets one to four sentences drawn from the given records (nhs_fft and banking77 where `../shared/data` is
there, else the demo corpus), so words keep their frequencies and texts their lengths. One in twenty also bears an
order number or an error code, one in fifty repeats an earlier text. Sources, themes, accounts and dates (over 36
months) are drawn at random. The same seed and count give the same file; a smaller corpus is the beginning of a larger.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from feedback.domain.text import sentences  # noqa: E402  # the project is not installed as a package

SHARED = ROOT.parent / "shared" / "data" / "feedback"
REAL = (SHARED / "nhs_fft.jsonl", SHARED / "banking77.jsonl")
DEMO = ROOT / "feedback" / "fixtures" / "demo" / "feedback.jsonl"
SOURCES = ("support_ticket", "app_review", "survey", "complaint", "social", "call")
THEMES = 80
FIRST_DAY = date(2023, 1, 1)
DAYS = 1_096


def real_files() -> list[Path]:
    """Return the files that sentences are drawn from."""
    return [path for path in REAL if path.exists()] or [DEMO]


def read_sentences(files: Sequence[Path]) -> list[str]:
    """Return the sentences of the files' records, in order; each file weighs by its number of sentences."""
    found = []
    for path in files:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                if line.strip():
                    text = json.loads(line)["text"]
                    found += [text[span.start : span.end] for span in sentences(text)]
    return found


def generate(count: int, *, pool: Sequence[str], seed: int = 1337) -> Iterator[dict[str, Any]]:
    """Yield `count` documents as NDJSON takes them."""
    rng = random.Random(seed)
    recent: list[str] = []
    for number in range(count):
        if recent and rng.random() < 0.02:
            text = rng.choice(recent)
        else:
            text = " ".join(rng.choice(pool) for _ in range(rng.choice((1, 1, 2, 2, 3, 4))))
            if rng.random() < 0.05:
                text += f" {rng.choice(('Order', 'Ticket', 'Error'))} {rng.choice('ABCDEFGH')}-{rng.randrange(10**5, 10**6)}."
        if len(recent) < 1_000:
            recent.append(text)
        else:
            recent[rng.randrange(1_000)] = text
        yield {
            "id": f"g-{number}",
            "text": text,
            "source": rng.choice(SOURCES),
            # A few themes are frequent and most are rare, as in real corpora.
            "themes": sorted({f"theme-{int(rng.paretovariate(0.8)) % THEMES}" for _ in range(rng.choice((1, 1, 2)))}),
            "account": f"account-{int(rng.paretovariate(0.5)) % 5_000}",
            "occurred_at": (FIRST_DAY + timedelta(days=rng.randrange(DAYS))).isoformat(),
            "plan": rng.choice(("free", "team", "enterprise")),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--from", dest="files", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=1337)
    options = parser.parse_args()
    for document in generate(options.count, pool=read_sentences(options.files or real_files()), seed=options.seed):
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
