"""Make questions on the right corpus about the wrong segment, period or premise, and say by SQL which can be answered.

    .venv/bin/python -m benchmarks.hard_questions FILE [--seed N] [--count N]

Topics are put to segments of the records in eleven sorts of question. What is true is counted in SQLite from the file of
the records, in SQL that shares nothing with the application: a question can be answered where at least ENOUGH records
of its segment mention the topic in the words of the question, and can't be where no record of the segment mentions it
in any of the words that people use for it, though the corpus does elsewhere. What lies between is not asked.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise, product
from pathlib import Path
from typing import Any

ENOUGH = 3
ACCOUNTS = ("NEAS", "NHFT")
MONTHS = tuple(
    date(year, month, 1) for year in (2021, 2022) for month in range(1, 13) if (2021, 5) < (year, month) < (2022, 10)
)


@dataclass(frozen=True)
class Topic:
    """A topic as it is asked for, the words that a record then surely holds, and all words that people use for it."""

    name: str
    own: str
    wide: str


def _topic(name: str, own: str, *others: str) -> Topic:
    return Topic(name, own, "|".join((own, *others)))


TOPICS = (
    _topic("the driver", "drivers?", "driv\\w+", "drove"),
    _topic("the ambulance crew", "crews?", "paramedics?", "ambulance m[ae]n", "team"),
    _topic("paramedics", "paramedics?", "crews?"),
    _topic("taxis", "taxis?", "cabs?"),
    _topic("food", "foods?", "meals?", "lunch\\w*", "dinners?", "breakfasts?", "eat\\w*", "menus?", "snacks?"),
    _topic("coffee", "coffees?", "teas?", "drinks?", "caf\\w+"),
    _topic("activities", "activit(?:y|ies)", "gym", "hobb\\w+", "crafts?", "games?", "sports?"),
    _topic("medication", "medications?", "medicines?", "meds?", "tablets?", "drugs?", "prescri\\w+", "pills?"),
    _topic("wheelchairs", "wheelchairs?", "wheel chairs?", "chairs?"),
    _topic("the psychiatrist", "psychiatrists?", "psychiatr\\w+", "psycholog\\w+"),
    _topic("therapy", "therap(?:y|ies)", "therap\\w+", "counsel\\w+", "cbt", "treatment"),
    _topic("groups", "groups?"),
    _topic("the operator", "operators?", "handlers?", "call takers?"),
    _topic("parking", "parking", "park\\w*", "car parks?"),
    _topic("the doctor", "doctors?", "drs?", "gps?", "physicians?"),
    _topic("nurses", "nurses?", "nurs\\w+"),
    _topic("the waiting room", "waiting rooms?", "rooms?"),
    _topic("wards", "wards?"),
    _topic("appointments", "appointments?", "appts?", "app\\w*ments?"),
    _topic("the journey home", "journey\\w* home", "journeys?", "home", "return\\w*"),
    _topic("chest pain", "chest pains?", "chest", "heart"),
    _topic("pain relief", "pain relief", "pain\\w*", "gas and air", "morphine", "morphein"),
    _topic("oxygen", "oxygen", "breath\\w*"),
    _topic("stroke symptoms", "strokes?"),
    _topic("the telephone", "telephones?", "phon\\w+", "calls?", "called", "calling", "rang", "ring\\w*"),
    _topic("the website", "websites?", "web\\w*", "online", "internet", "sites?"),
    _topic("letters", "letters?", "post\\w*", "mail\\w*"),
    _topic("blood pressure", "blood pressure", "blood\\w*", "pressure"),
    _topic("blood tests", "blood tests?", "blood\\w*"),
    _topic("wound care", "wounds?", "dress\\w+", "bandag\\w+"),
    _topic("feet", "feet|foot", "podiatr\\w+", "toe\\w*", "nails?", "chiropod\\w+"),
    _topic("diabetes", "diabet\\w+", "insulin", "sugar\\w*"),
    _topic("physiotherapy", "physio\\w*", "exercis\\w+"),
    _topic("anxiety", "anxiety", "anxious\\w*", "panic\\w*", "worr\\w+", "nerv\\w+"),
    _topic("depression", "depress\\w+", "mood\\w*", "suicid\\w+"),
    _topic("sleep", "sleep\\w*", "slept", "insomnia", "nights?"),
    _topic("carers", "carers?", "care givers?", "caring for"),
    _topic("dementia", "dementia", "alzheimer\\w*", "memory"),
    _topic("Covid", "covid\\w*", "coronavirus", "pandemic", "lockdown\\w*", "virus\\w*"),
    _topic("masks", "masks?", "ppe"),
    _topic("cleanliness", "clean\\w*", "dirt\\w*", "hygien\\w+", "tidy", "filth\\w*"),
    _topic("smoking", "smok\\w+", "cigar\\w+", "vap\\w+"),
    _topic("visitors", "visitors?", "visit\\w*"),
    _topic("discharge", "discharg\\w+", "sent home", "leav\\w+"),
    _topic("the crisis team", "crisis teams?", "crisis"),
    _topic("the waiting list", "waiting lists?", "wait\\w*", "lists?"),
    _topic("dialysis", "dialysis", "kidney\\w*", "renal"),
    _topic("the stairs", "stairs?", "steps?"),
    _topic("seat belts", "seat ?belts?", "belts?", "seats?"),
    _topic("111", "111", "one one one"),
    _topic("999", "999", "emergency call\\w*"),
    _topic("A&E", "a ?& ?e", "a and e", "casualty", "emergency department"),
    _topic("Cramlington", "cramlington"),
    _topic("Sunderland", "sunderland"),
    _topic("Durham", "durham"),
    _topic("Rampton", "rampton"),
    _topic("Bassetlaw", "bassetlaw"),
    _topic("Newcastle", "newcastle"),
    _topic("Darlington", "darlington"),
    _topic("Nottingham", "nottingham"),
)
# What a thing is said to have done or been, for questions that take it for granted.
PREMISES = (
    ("{} late", "late", "late\\w*|delay\\w*|wait\\w*|slow\\w*|on time|long\\w*|hours?"),
    ("{} rude", "rude", "rude\\w*|attitude|abrupt|manner\\w*|impolite|unfriendly|disrespect\\w*"),
    ("{} cold", "cold", "cold\\w*|freez\\w*|warm\\w*|heat\\w*"),
    ("{} cancelled", "cancel\\w*", "cancel\\w*|postpon\\w*|resched\\w*|rearrang\\w*"),
    ("{} noisy", "nois\\w+", "nois\\w+|loud\\w*|quiet\\w*"),
    ("{} expensive", "expensive", "expens\\w+|cost\\w*|price\\w*|pay\\w*|paid|money|charg\\w*|cheap\\w*"),
    ("{} so helpful", "helpful", "help\\w*|assist\\w*|support\\w*"),
    ("{} friendly", "friendly", "friend\\w*|kind\\w*|nice\\w*|polite\\w*|lovely|pleasant\\w*|warm\\w*"),
    ("{} busy", "busy", "bus(?:y|ier|iest)|rush\\w*|crowd\\w*|short.?staff\\w*|understaff\\w*"),
    ("{} dirty", "dirty", "dirt\\w*|clean\\w*|filth\\w*|hygien\\w*"),
    ("{} stolen", "stolen", "st[eo]l\\w*|stole|theft\\w*|thie\\w+"),
    ("{} moved to another town", "moved", "mov\\w+|relocat\\w*|transfer\\w*"),
)
_THINGS = (
    "the driver", "the ambulance crew", "paramedics", "taxis", "food", "coffee", "activities", "medication",
    "the psychiatrist", "therapy", "groups", "the operator", "the doctor", "nurses", "wards", "appointments", "letters",
)  # fmt: skip
_ABOUT = (
    "What do patients say about {topic}{where}?",
    "What was said about {topic}{where}?",
    "How do people feel about {topic}{where}?",
    "What problems with {topic} were raised{where}?",
    "Tell me about {topic}{where}.",
)


@dataclass(frozen=True)
class Segment:
    """Some of the records: by an SQL condition, by what a question says of them, by filters."""

    condition: str
    values: tuple[Any, ...]
    said: str
    filters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HardQuestion:
    """A question, what is true of it, and the records that its answer may cite."""

    id: str
    sort: str
    question: str
    filters: Mapping[str, Any]
    answerable: bool
    records: frozenset[str]

    def as_json(self) -> dict[str, Any]:
        """Return the line of a batch."""
        return {"id": self.id, "question": self.question, **({"filters": dict(self.filters)} if self.filters else {})}


EVERYTHING = Segment("1", (), "")


class Records:
    """The records of a file in SQLite, and how many of them mention what."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.create_function("mentions", 2, _mentions, deterministic=True)
        self.database.execute(
            "CREATE TABLE record (id TEXT, said TEXT, account TEXT, day TEXT, rating INT, theme TEXT, service TEXT)"
        )
        self.database.executemany(
            "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    row["id"], row["text"], row["account"], (row["occurred_at"] or "")[:10], row["rating"], row["theme"],
                    row["service"],
                )
                for row in rows
            ],
        )  # fmt: skip
        # A record under several themes is in each of them.
        self.database.execute("CREATE TABLE filed (id TEXT, theme TEXT)")
        self.database.executemany(
            "INSERT INTO filed VALUES (?, ?)", [(row["id"], theme) for row in rows for theme in row["themes"]]
        )

    def ids(self, segment: Segment, *patterns: str) -> frozenset[str]:
        """Return the records of a segment that match every pattern."""
        conditions = " ".join("AND mentions(?, said)" for _ in patterns)
        found = self.database.execute(
            f"SELECT id FROM record WHERE ({segment.condition}) {conditions}", (*segment.values, *patterns)
        )
        return frozenset(row[0] for row in found)

    def largest(self, column: str, limit: int) -> list[Any]:
        """Return the most frequent values of a column."""
        found = self.database.execute(
            f"SELECT {column} FROM record WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT ?",
            (limit,),
        )
        return [row[0] for row in found]


def _mentions(pattern: str, text: str) -> bool:
    return re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE) is not None


def make(rows: Sequence[Mapping[str, Any]], *, seed: int, count: int = 60) -> list[HardQuestion]:
    """Return questions of eleven sorts, of each as many that can be answered as such that can't, where there are."""
    records, rng = Records(rows), random.Random(seed)
    sorts = {name: list(_candidates(name, records, rng)) for name in SORTS}
    found: list[HardQuestion] = []
    for candidates in sorts.values():
        rng.shuffle(candidates)
        for truth in (True, False):
            found += [each for each in candidates if each.answerable is truth][: -(-count // len(SORTS) // 2)]
    while len(found) > count:
        found.pop(rng.randrange(len(found)))
    return [
        HardQuestion(f"h{seed}-{number}", each.sort, each.question, each.filters, each.answerable, each.records)
        for number, each in enumerate(found, 1)
    ]


def _candidates(sort: str, records: Records, rng: random.Random) -> Iterator[HardQuestion]:
    topics = [topic for topic in TOPICS if len(records.ids(EVERYTHING, topic.own)) >= ENOUGH]
    rng.shuffle(topics)
    if sort == "premise":
        yield from _premises(records, rng)
    elif sort.startswith("compared"):
        for topic in topics:
            yield from _comparisons(sort, records, topic, rng)
    else:
        for topic in topics:
            segments = _segments(sort, records)
            for segment in rng.sample(segments, min(6, len(segments))):
                form = rng.choice(_ABOUT) if sort != "counted" else "How many patients mention {topic}{where}?"
                question = form.format(topic=topic.name, where=segment.said)
                yield from _judged(sort, records, segment, topic, question)


def _judged(sort: str, records: Records, segment: Segment, topic: Topic, question: str) -> Iterator[HardQuestion]:
    if len(records.ids(segment, topic.own)) >= ENOUGH:
        yield HardQuestion("", sort, question, segment.filters, True, records.ids(segment))
    elif not records.ids(segment, topic.wide):
        yield HardQuestion("", sort, question, segment.filters, False, frozenset())


def _premises(records: Records, rng: random.Random) -> Iterator[HardQuestion]:
    """Take for granted that a thing was so: true where records say it in one breath, false where none mentions both."""
    by_name = {topic.name: topic for topic in TOPICS}
    for name, (claim, own, wide) in product(_THINGS, PREMISES):
        topic, segment = by_name[name], rng.choice((EVERYTHING, *_segments("account named", records)))
        be = "were" if name.endswith("s") else "was"
        question = f"Why {be} {claim.format(name)}{segment.said}?"
        together = rf"(?:{topic.own})\b[^.!?]{{0,30}}\b(?:{own})|(?:{own})\b[^.!?]{{0,15}}\b(?:{topic.own})"
        if len(records.ids(segment, together)) >= ENOUGH:
            yield HardQuestion("", "premise", question, {}, True, records.ids(segment))
        elif not records.ids(segment, topic.wide, wide):
            yield HardQuestion("", "premise", question, {}, False, frozenset())


def _comparisons(sort: str, records: Records, topic: Topic, rng: random.Random) -> Iterator[HardQuestion]:
    if sort == "compared accounts":
        pairs = [(_of_account(ACCOUNTS[0]), _of_account(ACCOUNTS[1]))]
        within: Sequence[Segment] = [EVERYTHING, *rng.sample(_segments("period filter", records), 5)]
    else:
        pairs = rng.sample(list(pairwise(map(_of_month, MONTHS))), 5)
        within = [EVERYTHING]
    for (one, other), part in product(pairs, within):
        sides = [
            Segment(f"({each.condition}) AND ({part.condition})", (*each.values, *part.values), "")
            for each in (one, other)
        ]
        if sort == "compared accounts":
            question = f"Compare what patients of {ACCOUNTS[0]} and {ACCOUNTS[1]} say about {topic.name}."
        else:
            question = f"Do people say more about {topic.name}{other.said} than{one.said}?"
        own = [len(records.ids(side, topic.own)) for side in sides]
        if min(own) >= ENOUGH:
            cited = records.ids(sides[0]) | records.ids(sides[1])
            yield HardQuestion("", sort, question, part.filters, True, cited)
        elif not any(records.ids(side, topic.wide) for side in sides):
            yield HardQuestion("", sort, question, part.filters, False, frozenset())


def _segments(sort: str, records: Records) -> list[Segment]:
    if sort == "account named":
        return [Segment(each.condition, each.values, each.said) for each in map(_of_account, ACCOUNTS)]
    if sort == "account filter":
        return [
            Segment(each.condition, each.values, "", {"account": [name]})
            for name, each in zip(ACCOUNTS, map(_of_account, ACCOUNTS), strict=True)
        ]
    if sort == "period named":
        return [_of_month(month) for month in MONTHS]
    if sort == "period filter":
        return [
            Segment(
                each.condition, each.values, "", {"occurred_from": each.values[0], "occurred_to": each.values[1]}
            )
            for each in map(_of_month, MONTHS)
        ]  # fmt: skip
    if sort == "theme filter":
        return [
            Segment("id IN (SELECT id FROM filed WHERE theme = ?)", (theme,), "", {"theme": [theme]})
            for theme in records.largest("theme", 12)
        ]
    if sort == "rating filter":
        return [Segment("rating = ?", (rating,), "", {"facets": {"rating": [rating]}}) for rating in (1, 2, 3, 4, 5)]
    # Two at once, one of them or both in the question's own words.
    return [
        Segment(f"{a.condition} AND {m.condition}", (*a.values, *m.values), a.said + m.said)
        for a, m in product(map(_of_account, ACCOUNTS), map(_of_month, MONTHS))
    ]


def _of_account(name: str) -> Segment:
    return Segment("account = ?", (name,), f" at {name}")


def _of_month(first: date) -> Segment:
    end = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return Segment("day >= ? AND day < ?", (first.isoformat(), end.isoformat()), f" in {first:%B %Y}")


SORTS = (
    "account named", "account filter", "period named", "period filter", "theme filter", "rating filter",
    "account and period", "counted", "compared accounts", "compared periods", "premise",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, help="the records, as NDJSON")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.file.read_text(encoding="utf-8").split("\n") if line.strip()]
    for each in make(rows, seed=options.seed, count=options.count):
        print(json.dumps({**each.as_json(), "sort": each.sort, "answerable": each.answerable}, ensure_ascii=False))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
