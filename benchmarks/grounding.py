"""Measure the checker: good drafts accepted, spoiled ones caught by kind, and claims that people have labelled.

    python benchmarks/grounding.py [--seed N] [--data ../shared/data] [--show KIND] [--floor F] [--check]

The drafts are those of `evals/fixtures/demo/drafts.jsonl`, spoiled by the rules of `benchmarks/mutations`. The checker
is worked on with seed 1; the table is of seed 2. Floors come from the calibrations that come with Wisdom, none of which
saw the demo corpus. `--show KIND` (or `good`) lists what went wrong, `--check` exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wisdom_project.settings")

import django  # noqa: E402 - the project is not installed, the path comes first

django.setup()

from answering.calibrations import grounding_rules  # noqa: E402 - as above
from answering.domain.claims import Claim, ClaimKind, Draft, Evidence  # noqa: E402 - as above
from answering.domain.grounding import (  # noqa: E402 - as above
    ClaimVerdict,
    Grounding,
    GroundingContext,
    GroundingRules,
    MeasureResult,
    ground,
)
from answering.management.labelled_lines import read_labelled  # noqa: E402 - as above
from answering.verification import calibrate_by  # noqa: E402 - as above
from benchmarks.mutations import RULES, Spoiled, load, mutations  # noqa: E402 - as above
from core.batch_lines import read_batch  # noqa: E402 - as above
from feedback.selectors.words import near_words  # noqa: E402 - as above

REPORTED_SEED: Final = 2
OF_WHOM: Final = "Larkbasket"
COMMENTS: Final = ROOT / "evals/fixtures/grounding/comments.jsonl"
NEVER: Final = frozenset(
    {
        "number_off_by_one",
        "negation_flipped",
        "neighbour_citation",
        "other_packet_citation",
        "other_tenant_citation",
        "unknown_id",
        "lookalike_id",
    }
)
LEAST_GOOD: Final = 0.95
MOST_SPOILED: Final = 0.03
LEAST_AUC: Final = 0.80
LEAST_BALANCED: Final = 0.70


@dataclass(frozen=True, slots=True)
class Row:
    """How a kind of spoiled draft fared: how many there were, and those that were let through, by kind of claim."""

    kind: str
    tried: int
    let_through: tuple[tuple[ClaimKind, str], ...]


def judge(
    draft: Draft,
    evidence: Sequence[Evidence],
    measures: dict[int, MeasureResult],
    rules: GroundingRules,
    spoiled: Spoiled | None = None,
) -> Grounding:
    """Check a draft as a run does."""
    context = GroundingContext(
        question=(spoiled.question or "") if spoiled else "",
        occurred_from=spoiled.occurred_from if spoiled else None,
        occurred_to=spoiled.occurred_to if spoiled else None,
        near=near_words,
        names=(OF_WHOM,),
    )
    return ground(draft, evidence, rules=rules, measure_results=measures, context=context)


def stands(verdict: ClaimVerdict) -> bool:
    """Tell whether a claim would be shown as drafted, with every citation that it was given."""
    return verdict.supported and all(citation.supports for citation in verdict.citations)


def good_claims(rules: GroundingRules) -> Iterator[tuple[str, Claim, ClaimVerdict]]:
    """Yield each claim of the good drafts with its verdict."""
    corpus = load()
    for line, built in zip(corpus.drafts, corpus.built, strict=True):
        grounding = judge(built.draft, built.evidence, built.measures, rules)
        for claim, verdict in zip(built.draft.claims, grounding.claims, strict=True):
            yield str(line["id"]), claim, verdict


def spoiled_rows(rules: GroundingRules, *, seed: int, every: int = 1) -> Iterator[Row]:
    """Yield, for each way to spoil a draft, how often it was let through; with `every` 3 a third of the drafts is tried."""
    corpus = load()
    for kind in RULES:
        tried = 0
        passed = []
        for draft_id, spoiled in islice(mutations(kind, corpus, seed=seed), 0, None, every):
            tried += 1
            grounding = judge(spoiled.draft, spoiled.evidence, spoiled.measures, rules, spoiled)
            verdict = next(v for v in grounding.claims if v.id == spoiled.claim_id)
            if stands(verdict) and not _is_caught_elsewhere(spoiled, grounding):
                passed.append((spoiled.claim.kind, f"{draft_id}: {spoiled.note} | {spoiled.claim.text}"))
        yield Row(kind, tried, tuple(passed))


def _is_caught_elsewhere(spoiled: Spoiled, grounding: Grounding) -> bool:
    """Tell whether a claim that is there twice was caught in its other copy."""
    text = spoiled.claim.text
    copies = {claim.id for claim in spoiled.draft.claims if claim.text == text and claim.id != spoiled.claim_id}
    return any(verdict.id in copies and not verdict.supported for verdict in grounding.claims)


def report_drafts(rules: GroundingRules, *, seed: int, show: str | None) -> list[str]:
    """Print the tables of the drafts; return the bars that are missed."""
    missed = []
    good = list(good_claims(rules))
    print(f"Good drafts, {len({draft for draft, _, _ in good})}; floors {rules.floors or rules.min_support}")
    for kind in ClaimKind:
        judged = [verdict for _, claim, verdict in good if claim.kind is kind]
        accepted = sum(map(stands, judged))
        print(f"  {kind.value:10} {accepted:4} of {len(judged):4} accepted  {accepted / len(judged):6.1%}")
    share = sum(stands(verdict) for _, _, verdict in good) / len(good)
    drafts: dict[str, bool] = {}
    for draft, _, verdict in good:
        drafts[draft] = drafts.get(draft, True) and stands(verdict)
    print(f"  all        {share:6.1%}; drafts accepted whole {sum(drafts.values()) / len(drafts):6.1%}")
    if share < LEAST_GOOD:
        missed.append(f"good claims accepted {share:.1%} < {LEAST_GOOD:.0%}")
    if show == "good":
        for draft, claim, verdict in good:
            if not stands(verdict):
                print(
                    f"    {draft} {verdict.support:.2f} {verdict.reason or 'a citation counts as padding'} | {claim.text}"
                )
    print(f"\nSpoiled drafts, seed {seed}")
    print("  kind                     tried  let through: quotes and measures, statements")
    rows = list(spoiled_rows(rules, seed=seed))
    for row in rows:
        exact = sum(kind is not ClaimKind.STATEMENT for kind, _ in row.let_through)
        loose = len(row.let_through) - exact
        print(f"  {row.kind:24} {row.tried:5}  {exact:5} {loose:5}  {loose / row.tried if row.tried else 0:6.1%}")
        if exact:
            missed.append(f"{row.kind}: {exact} spoiled quotes or measures accepted")
        if loose and row.kind in NEVER:
            missed.append(f"{row.kind}: {loose} accepted, none may be")
        if show == row.kind:
            for kind, note in row.let_through:
                print(f"    {kind.value}: {note}")
    passed = sum(kind is ClaimKind.STATEMENT for row in rows for kind, _ in row.let_through)
    tried = sum(row.tried for row in rows)
    print(f"  all                      {tried:5}        {passed:5}  {passed / tried:6.1%}")
    if passed / tried > MOST_SPOILED:
        missed.append(f"spoiled statements accepted {passed / tried:.1%} > {MOST_SPOILED:.0%}")
    return missed


def report_labelled(data: Path) -> list[str]:
    """Print what the checker achieves on labelled claims; return the bars that are missed."""
    missed = []
    print("\nLabelled claims          claims  supported   AUC   balanced accuracy, floor of the other half")
    for path in (COMMENTS, data / "grounding/wice.jsonl", data / "grounding/mtrag.jsonl"):
        if not path.exists():
            print(f"  {path.name:22}  skipped: {path} isn't there")
            continue
        began = time.monotonic()
        found = calibrate_by(read_batch(str(path), read_labelled), made_from=[path.name])
        print(
            f"  {path.name:22} {found.claims:6} {found.supported:9}   {found.auc:.3f}   {found.cross_fitted_balanced_accuracy:.3f}"
            f"   floor {found.floor:.3f}   {time.monotonic() - began:.1f} s"
        )
        if path.name == "wice.jsonl" and found.auc < LEAST_AUC:
            missed.append(f"wice AUC {found.auc:.3f} < {LEAST_AUC}")
        if path.name == "wice.jsonl" and found.cross_fitted_balanced_accuracy < LEAST_BALANCED:
            missed.append(f"wice balanced accuracy {found.cross_fitted_balanced_accuracy:.3f} < {LEAST_BALANCED}")
    return missed


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=REPORTED_SEED)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--show", metavar="KIND", choices=["good", *RULES])
    parser.add_argument("--floor", type=float, help="one floor for all claims instead of the calibrated ones")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rules = grounding_rules() if options.floor is None else GroundingRules(min_support=options.floor)
    missed = report_drafts(rules, seed=options.seed, show=options.show)
    if options.show is None:
        missed += report_labelled(options.data)
    for each in missed:
        print(f"missed: {each}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
