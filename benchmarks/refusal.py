"""Measure whether refusals are right, through the public commands.

    make bench-refusal     or   .venv/bin/python benchmarks/refusal.py [--sets NAME …] [--seeds 0,1,2,3,4] [--keep DIR]
                                                       [--check] [--show]

| set | asks | right |
|---|---|---|
| demo | the 40 questions of the demo's eval set | refused for the reason expected, or answered from an expected record |
| hard | 60 questions a seed on nhs_fft about a wrong segment, period or premise, and as many right ones | refused with `insufficient_evidence` or `no_records`, or answered from records of the segment only |
| clapnq | questions on passages that answer them, or only look so | balanced accuracy |
| banking77 | questions on the corpus, far from it, and out of its scope | shares refused and answered |

No threshold is fitted on the demo's questions or on the seeds that are reported. clapnq and banking77 take part in the fit
of gate 1 (`fit_relevance.py`, which prints their cross-fitted figures too). `--check` fails below a bar; `--show` lists what is wrong. A set
whose data is absent is skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import hard_questions  # the project is not installed, the path comes first
from benchmarks.environment import DEMO, DEMO_QUESTIONS, NHS, SHARED, Bench, bench, read, write

REFUSAL = SHARED / "refusal"
BARS: Mapping[str, float] = {
    "demo refused for the right reason": 1.0,
    "demo answered": 23 / 25,
    "hard right, mean of the seeds": 0.90,
    "clapnq balanced accuracy": 0.78,
    "banking77 far refused": 0.98,
    "banking77 oos refused": 0.98,
    "banking77 in answered": 0.95,
}
NOT_THERE = {"insufficient_evidence", "no_records"}


@dataclass
class Table:
    """What was measured, in order."""

    check: bool
    show: bool
    missed: list[str] = field(default_factory=list)

    def share(self, name: str, right: Sequence[bool]) -> None:
        """Print a share beside its bar."""
        self.figure(name, sum(right) / len(right), f"{sum(right)} of {len(right)}")

    def figure(self, name: str, value: float, note: str = "") -> None:
        """Print a figure between 0 and 1 beside its bar."""
        bar = BARS.get(name)
        is_missed = bar is not None and value < bar - 1e-9
        if is_missed:
            self.missed.append(name)
        wanted = "" if bar is None else f"  bar {bar:.3f}{'  MISSED' if is_missed else ''}"
        print(f"  {name:42} {value:.3f}  {note:14}{wanted}", flush=True)

    def wrong(self, text: str) -> None:
        """Show a question that went wrong, where that is wanted."""
        if self.show:
            print(f"    {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=["demo", "hard", "clapnq", "banking77"])
    parser.add_argument("--seeds", default="0,1,2,3,4", help="of the hard questions")
    parser.add_argument(
        "--keep", type=Path, help="a folder to keep the database in, so that a second run loads nothing"
    )
    parser.add_argument("--check", action="store_true", help="end with 1 below a bar")
    parser.add_argument("--show", action="store_true", help="list the questions that went wrong")
    options = parser.parse_args()
    table = Table(options.check, options.show)
    measured = {
        "demo": demo, "clapnq": clapnq, "banking77": banking77,
        "hard": lambda installation, table: hard(installation, table, [int(seed) for seed in options.seeds.split(",")]),
    }  # fmt: skip
    needed = {"demo": DEMO, "hard": NHS, "clapnq": REFUSAL / "clapnq.jsonl", "banking77": REFUSAL / "banking77.jsonl"}
    with bench(keep=options.keep) as installation:
        installation.run([sys.executable, "manage.py", "migrate", "-v0"])
        for name in options.sets:
            print(name)
            if needed[name].exists():
                measured[name](installation, table)
            else:
                print(f"  skipped: {needed[name].name} is not there")
    if table.missed:
        print(f"below the bar: {', '.join(table.missed)}")
        sys.exit(1 if options.check else 0)


def demo(installation: Bench, table: Table) -> None:
    """Ask the demo's questions."""
    load(installation, "refusal-demo", read(DEMO))
    cases = read(DEMO_QUESTIONS)
    answers = ask(installation, "refusal-demo", cases)
    refused, answered = [], []
    for case in cases:
        answer, expected = answers[case["id"]], case["expected"]
        reason = (answer["refusal"] or {}).get("reason")
        if expected["outcome"] == "refused":
            refused.append(reason == expected["reason"])
        else:
            cited = {citation["doc_id"] for citation in answer["citations"]}
            answered.append(bool(cited & set(expected["doc_ids"])))
        if not (refused if expected["outcome"] == "refused" else answered)[-1]:
            table.wrong(f"{case['id']} {case['kind']}: {answer['outcome']} {reason or ''}: {case['question']}")
    table.share("demo refused for the right reason", refused)
    table.share("demo answered", answered)


def hard(installation: Bench, table: Table, seeds: Sequence[int]) -> None:
    """Ask about segments, periods and premises that the records bear out, and that they don't."""
    rows = read(NHS)
    load(installation, "refusal-nhs", rows)
    shares: list[float] = []
    by_sort: dict[str, list[bool]] = defaultdict(list)
    by_truth: dict[bool, list[bool]] = defaultdict(list)
    for seed in seeds:
        questions = hard_questions.make(rows, seed=seed)
        answers = ask(installation, "refusal-nhs", [each.as_json() for each in questions])
        verdicts = [is_right(each, answers[each.id]) for each in questions]
        shares.append(sum(verdicts) / len(verdicts))
        for each, right in zip(questions, verdicts, strict=True):
            by_sort[each.sort].append(right)
            by_truth[each.answerable].append(right)
            if not right:
                answer = answers[each.id]
                reason = (answer["refusal"] or {}).get("reason", "")
                truth = "can be answered" if each.answerable else "can't be answered"
                table.wrong(
                    f"{each.id} {each.sort}: {truth}, {answer['outcome']} {reason}"
                    f" ({answer['matching']['relevance']:.2f}): {each.question} {dict(each.filters) or ''}"
                )
    table.figure("hard right, mean of the seeds", sum(shares) / len(shares), f"worst {min(shares):.3f}")
    for truth, right in sorted(by_truth.items()):
        table.share("hard " + ("answered from the segment" if truth else "refused as not there"), right)
    for sort, right in by_sort.items():
        table.share(f"  {sort}", right)


def is_right(question: hard_questions.HardQuestion, answer: Mapping[str, Any]) -> bool:
    """Tell whether a question was refused as not there, or answered from records of its segment only."""
    if not question.answerable:
        return (answer["refusal"] or {}).get("reason") in NOT_THERE
    cited = {citation["doc_id"] for citation in answer["citations"]}
    return answer["outcome"] != "refused" and bool(answer["claims"]) and cited <= question.records


def clapnq(installation: Bench, table: Table) -> None:
    """Ask questions whose passages answer them, or only look as if they did."""
    rows = read(REFUSAL / "clapnq.jsonl")
    load(installation, "refusal-clapnq", [{"id": r["id"], "text": r["context"], "source": "survey"} for r in rows])
    answers = ask(installation, "refusal-clapnq", rows)
    right = {truth: [judged(answers, row) for row in rows if row["answerable"] is truth] for truth in (True, False)}
    balanced = sum(sum(each) / len(each) for each in right.values()) / 2
    table.figure("clapnq balanced accuracy", balanced)
    table.share("clapnq answered", right[True])
    table.share("clapnq refused", right[False])


def banking77(installation: Bench, table: Table) -> None:
    """Ask customers' questions of the corpus, of other trades, and of none."""
    load(installation, "refusal-banking77", read(SHARED / "retrieval" / "banking77" / "corpus.jsonl"))
    rows = read(REFUSAL / "banking77.jsonl")
    answers = ask(installation, "refusal-banking77", rows)
    for group in ("in", "far", "oos"):
        part = [row for row in rows if row["group"] == group]
        table.share(
            f"banking77 {group} {'answered' if group == 'in' else 'refused'}", [judged(answers, row) for row in part]
        )
        for row in part:
            if not judged(answers, row):
                table.wrong(f"{group} {answers[str(row['id'])]['matching']['relevance']:.2f}: {row['question']}")


def judged(answers: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Tell whether a question was answered exactly if it can be."""
    return (answers[str(row["id"])]["outcome"] != "refused") is bool(row["answerable"])


def load(installation: Bench, tenant: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Load records for a tenant, with their vectors."""
    path = write(installation.folder / f"{tenant}.jsonl", map(dict, rows))
    installation.manage("ingest", str(path), "--tenant", tenant, "--create")
    installation.manage("embed", "--tenant", tenant)


def ask(installation: Bench, tenant: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Ask a batch; return the answers by id."""
    asked = [{key: row[key] for key in ("id", "question", "filters") if key in row} for row in rows]
    path = write(installation.folder / "batch.jsonl", asked)
    output = installation.run([sys.executable, "manage.py", "ask", "--tenant", tenant, "--batch", str(path), "--json"])
    answers = [json.loads(line) for line in output.split("\n") if line.startswith("{")]
    return {str(answer["id"]): answer for answer in answers}


if __name__ == "__main__":
    main()
