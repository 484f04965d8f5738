"""A hard question's truth is that of its records, and equal seeds make equal questions."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.hard_questions import SORTS, TOPICS, make


def rows() -> list[dict[str, Any]]:
    said = (
        "The driver was late.",
        "The food was cold.",
        "The nurses were friendly.",
        "Parking is hard.",
        "A taxi came.",
    )
    made = []
    for number in range(600):
        account = ("NEAS", "NHFT")[number % 2]
        # Drivers are of one account only.
        text = said[1 + number % 4] if account == "NHFT" else said[number % 5]
        made.append(
            {
                "id": f"f{number}", "text": text, "account": account, "rating": 1 + number % 5, "theme": "Care",
                "themes": ["Care"], "service": "111",
                "occurred_at": f"2022-{1 + number // 75:02}-10T00:00:00",
            }
        )  # fmt: skip
    return made


def test_what_can_be_answered_is_mentioned_in_the_segment_and_what_cannot_is_not() -> None:
    records = {row["id"]: row for row in rows()}
    asked = [each for each in make(rows(), seed=1) if each.sort in ("account named", "account filter")]
    assert {each.answerable for each in asked} == {True, False}

    for each in asked:
        topic = next(topic for topic in TOPICS if re.search(rf"\b{topic.name}\b", each.question))
        account = each.filters.get("account", [next((a for a in ("NEAS", "NHFT") if a in each.question), "")])[0]
        mentions = [
            row
            for row in records.values()
            if row["account"] == account and re.search(rf"\b(?:{topic.own})\b", row["text"], re.IGNORECASE)
        ]
        assert (len(mentions) >= 3) is each.answerable
        assert all(records[doc_id]["account"] == account for doc_id in each.records)


def test_a_seed_decides_everything() -> None:
    one, again, other = (make(rows(), seed=seed) for seed in (3, 3, 4))

    assert one == again != other
    assert {each.sort for each in one} <= set(SORTS)
