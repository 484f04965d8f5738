"""Measure what finds near-duplicates against all exact pairs: recall, precision, texts a second.

    .venv/bin/python benchmarks/near_duplicates.py [--file FILE.jsonl …] [--planted COUNT] [--seed N]

Without files: nhs_fft and banking77 where `../shared/data` is there, else the demo corpus; and COUNT generated records
with planted edits (one to three words of a copy are replaced, put in or left out). The exact pairs come from an
inverted index over all shingles: a pair that shares none has a similarity of 0. Everything runs in memory;
`manage.py duplicates --anew --json` says how long a stored corpus takes. Prints figures, asserts none.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from uuid import UUID

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.generated_corpus import generate, read_sentences, real_files  # noqa: E402  # the project is not installed
from feedback.domain.fingerprints import Fingerprint, fingerprints  # noqa: E402  # likewise
from feedback.domain.leaders import Leaders, Text  # noqa: E402  # likewise
from feedback.domain.near_duplicates import THRESHOLD, is_near_duplicate, shingles, words  # noqa: E402  # likewise

CORPUS = UUID(int=1)
Pairs = set[tuple[int, int]]


class NothingStored:
    """A corpus that is clustered for the first time."""

    def leaders(self, bands: Iterable[int]) -> list[Text]:
        return []

    def sharing(self, bands: Iterable[int]) -> list[Text]:
        return []

    def followers(self, leaders: Iterable[UUID]) -> list[Text]:
        return []

    def last_position(self) -> None:
        return None


def exact_pairs(said: Sequence[list[str]]) -> Pairs:
    """Return every pair of near-duplicates, by the definition."""
    holding: defaultdict[object, list[int]] = defaultdict(list)
    equal: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    found: Pairs = set()
    for number, text in enumerate(said):
        mine = shingles(text)
        shared: Counter[int] = Counter()
        for shingle in mine:
            shared.update(holding[shingle])
            holding[shingle].append(number)
        for other, count in shared.items():
            # What two near-duplicates share is at least this part of either.
            if count >= THRESHOLD * len(mine) and is_near_duplicate(said[other], text):
                found.add((other, number))
        for other in equal[tuple(text)] if text else ():
            found.add((other, number))
        equal[tuple(text)].append(number)
    return found


def candidate_pairs(prints: Sequence[Fingerprint]) -> Pairs:
    """Return the pairs that are equal or share a band key."""
    buckets: defaultdict[object, list[int]] = defaultdict(list)
    for number, each in enumerate(prints):
        for key in (each.identity, *each.bands):
            buckets[key].append(number)
    return {pair for bucket in buckets.values() for pair in combinations(bucket, 2)}


def planted(count: int, seed: int) -> list[str]:
    """Return generated texts, every other one followed by an edited copy."""
    rng = random.Random(seed)
    texts: list[str] = []
    for document in generate(count // 2, pool=read_sentences(real_files()), seed=seed):
        copy = document["text"].split()
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(copy))
            copy[place : place + rng.randint(0, 1)] = rng.choices(copy, k=rng.randint(0, 1))
            copy = copy or ["nothing"]
        texts += [document["text"], " ".join(copy)]
    return texts


def measure(name: str, texts: Sequence[str]) -> None:
    started = time.perf_counter()
    said = [words(text) for text in texts]
    prints = fingerprints(said, salts=[str(n).encode() for n in range(len(texts))], corpus=CORPUS)
    printed = time.perf_counter()
    leaders = Leaders(NothingStored())
    placed: set[UUID] = set()
    for number, each in enumerate(prints):
        if each.identity not in placed:
            placed.add(each.identity)
            leaders.place(Text(each.identity, UUID(int=number), frozenset(each.shingles), each.bands))
    followed = {text.id: text.leader for text in leaders.settle()}
    clustered = time.perf_counter()
    exact = exact_pairs(said)
    candidates = candidate_pairs(prints)
    found = {pair for pair in candidates if is_near_duplicate(said[pair[0]], said[pair[1]])}
    edited = {pair for pair in exact if said[pair[0]] != said[pair[1]]}
    sizes = Counter(followed[each.identity] for each in prints)
    print(
        f"{name:<16}{len(texts):>8,}{len(texts) / (printed - started):>10,.0f}{len(texts) / (clustered - started):>10,.0f}"
        f"{len(exact):>10,}{len(edited):>9,}{len(candidates):>12,}"
        f"{len(found & exact) / max(1, len(exact)):>8.4f}{len(found & edited) / max(1, len(edited)):>8.4f}"
        f"{len(found & exact) / max(1, len(found)):>8.4f}{len(sizes):>10,}{max(sizes.values(), default=0):>8,}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", action="append", type=Path, default=[])
    parser.add_argument("--planted", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1337)
    options = parser.parse_args()
    print(
        f"{'corpus':<16}{'texts':>8}{'prints/s':>10}{'texts/s':>10}{'pairs':>10}{'edited':>9}{'candidates':>12}"
        f"{'recall':>8}{'of ed.':>8}{'prec.':>8}{'distinct':>10}{'largest':>8}"
    )
    for path in options.file or real_files():
        with path.open(encoding="utf-8", newline="\n") as lines:
            measure(path.stem, [json.loads(line)["text"] for line in lines if line.strip()])
    if options.planted:
        measure("planted edits", planted(options.planted, options.seed))


if __name__ == "__main__":
    main()
