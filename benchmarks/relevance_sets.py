"""Make the labelled questions that gate 1 is fitted on and judged by.

Three corpora of `../shared/data` with questions that they can or can't answer, and sets made from them:
corpora of a few records, filters that leave only other topics, and records that bear a code or a name. The
demo corpus is held out.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from pathlib import Path

from answering.domain.planner import Vocabulary, plan
from feedback.clients.language_detector import detect
from feedback.domain.text import content_tokens

# Topics that none of the corpora discusses, put the way an analyst would.
FOREIGN_TOPICS = (
    "lunar rovers;ballet lessons;hedge trimming;the orchestra's violins;opera tickets;wedding cakes;submarine tours;"
    "beekeeping;the ski lifts;horse riding;the vineyard tour;electric guitars;the planetarium show;tropical fish;"
    "archery practice;the football stadium;movie subtitles;the hotel pool;coffee roasting;knitting patterns;"
    "volcano hikes;chess tournaments;the zoo's penguins;solar panels;lawn mowers;skateboards;the airline's legroom;"
    "baggage claim;video game graphics;makeup tutorials;dog grooming;university lectures;tractor tyres;"
    "cinema popcorn;the ferry crossing;blockchain mining;the museum's fossils;campfire stories;"
    "greenhouse tomatoes;sailing boats"
).split(";")
FRAMES = (
    "What do people like about {}?;What trouble do customers have with {}?;Why are people unhappy with {}?;"
    "What was raised about {}?;Give me an overview of {}.;Are there recurring grievances around {}?;"
    "How do users get on with {}?;What do reviewers find confusing about {}?;Who complained about {}?;"
    "Has {} improved lately?;What is the sentiment towards {}?;Do customers appreciate {}?;"
    "Which problems stand out regarding {}?;What suggestions exist for {}?;How satisfied are people with {}?"
).split(";")
# A topic and hardly a word more, as people type who are used to search boxes.
TERSE_FRAMES = "{};{}?;How is {}?;Is {} slow?;Tell me about {}.;Problems with {}".split(";")
CODE_FRAMES = (
    "Which users ran into {}?;What did customers report about {}?;Why do people see {}?;What happens with {}?;"
    "Who complained about {}?;Is {} solved?;How many people mention {}?;What is behind {}?"
).split(";")
NAME_FRAMES = (
    "What has {} raised lately?;Give me the background on {}.;What problems does {} have?;What did {} write about?;"
    "How happy is {} with us?;What is going on with {}?"
).split(";")
KNOWN_NAMES = (
    "Hollis,Brandreth,Okafor,Lindqvist,Marchetti,Peverell,Stanhope,Yamada,Delacroix,Ferreira,Novak,Thackeray,"
    "Whitcombe,Zielinski,Abernathy,Kowalczyk,Castle Rock,Blue Heron,Iron Gate,Northfield"
).split(",")
UNKNOWN_NAMES = "Quillfeather,Montague,Oyelaran,Bergstrom,Vasquez,Silver Birch,Harrowgate".split(",")
TRADES = "Bakery,Dental Practice,Logistics,Primary School,Consulting,Care Home,Foundation".split(",")
FACETS = ("plan", "region", "platform")
MARKED_RECORDS = 600

# Questions that nhs_fft's records do not discuss, though they are put like the ones that they do.
NHS_STRANGERS = (
    "What do patients say about the cryptocurrency rewards programme?",
    "How do customers rate the mobile app's dark mode?",
    "Why do users cancel their streaming subscription?",
    "What do patients think about helicopter parking?",
    "Which airline loses the most luggage?",
    "Is the battery life of the laptop getting worse?",
)


@dataclass(frozen=True)
class Case:
    """A question; `rows` are the records that may be found (None: all), the whole corpus if `alone`."""

    question: str
    answerable: bool
    group: str
    rows: tuple[int, ...] | None = None
    alone: bool = False
    language: str = "en"


@dataclass(frozen=True)
class LabelledSet:
    """Questions of one corpus; `shown` is what the gate reads of a record, when that isn't its text."""

    name: str
    texts: list[str]
    cases: list[Case]
    shown: list[str] = field(default_factory=list)


def read_sets(data: Path) -> Iterator[LabelledSet]:
    rng = random.Random(3)
    asked = read_jsonl(data / "refusal" / "banking77.jsonl")
    records = read_jsonl(data / "retrieval" / "banking77" / "corpus.jsonl")
    searched = read_jsonl(data / "retrieval" / "banking77" / "queries.jsonl")  # all of them are among `asked`
    nhs_searched = read_jsonl(data / "retrieval" / "nhs_fft" / "queries.jsonl")
    texts = [r["text"] for r in records]
    strangers = [Case(r["question"], False, r["group"]) for r in asked if r["group"] != "in"]
    crossed = [Case(r["text"], False, "cross") for r in nhs_searched]
    foreign = [Case(FRAMES[i % len(FRAMES)].format(t), False, "framed") for i, t in enumerate(FOREIGN_TOPICS)]
    themes = sorted({r["theme"] for r in records})
    framed = {t: FRAMES[i % len(FRAMES)].format(t.replace("_", " ").rstrip("?")) for i, t in enumerate(themes)}
    inside = [Case(r["question"], True, "in") for r in asked if r["answerable"]]
    inside += [Case(question, True, "framed") for question in framed.values()]
    inside += terse(frequent_words(texts), answerable=True)
    foreign += terse(FOREIGN_TOPICS, answerable=False)
    yield LabelledSet("banking77", texts, inside + strangers + crossed + foreign)

    rows = read_jsonl(data / "refusal" / "clapnq.jsonl")
    yield LabelledSet(
        "clapnq", [r["context"] for r in rows], [Case(r["question"], r["answerable"], "all") for r in rows]
    )

    nhs = [r["text"] for r in read_jsonl(data / "feedback" / "nhs_fft.jsonl")]
    cases = [Case(r["text"], True, "in") for r in nhs_searched]
    subjects = enumerate(sorted({r["theme"].lower() for r in nhs_searched}))
    cases += [
        Case(FRAMES[(4 * i + k) % len(FRAMES)].format(t), True, "framed") for (i, t), k in product(subjects, (0, 1))
    ]
    cases += terse(frequent_words(nhs), answerable=True)
    cases += [*strangers[::3], *(Case(q, False, "near") for q in NHS_STRANGERS), *foreign]
    yield LabelledSet("nhs_fft", nhs, cases + [Case(r["text"], False, "cross") for r in searched])

    by_theme = {t: [i for i, r in enumerate(records) if r["theme"] == t] for t in themes}
    tiny: list[Case] = []
    filtered: list[Case] = []
    for query in searched:
        theme = query["theme"]
        others = rng.sample([t for t in themes if t != theme], 8)
        admitted = [row for t in others[:7] for row in by_theme[t]]
        filtered.append(Case(query["text"], True, "in", tuple(admitted + by_theme[theme])))
        filtered.append(Case(query["text"], False, "filtered", tuple(admitted + by_theme[others[7]])))
        few = rng.sample(by_theme[theme], rng.randint(1, 4))
        few += [rng.choice(by_theme[t]) for t in others[: rng.randint(0, 5)]]
        tiny.append(Case(query["text"], True, "in", tuple(few), alone=True))
        tiny.append(Case(framed[theme], True, "framed", tuple(few), alone=True))
        for stranger in (*rng.sample(strangers, 2), rng.choice(foreign), *rng.sample(crossed, rng.random() < 0.25)):
            group = "far" if stranger.group == "oos" else stranger.group
            tiny.append(Case(stranger.question, False, group, tuple(few), alone=True))
    yield LabelledSet("tiny", texts, tiny)
    yield LabelledSet("filtered", texts, filtered)
    yield marked("marked-b77", texts, rng)
    yield marked("marked-nhs", nhs, rng)


def terse(topics: Sequence[str], *, answerable: bool) -> list[Case]:
    """Ask for topics in few words."""
    return [
        Case(TERSE_FRAMES[i % len(TERSE_FRAMES)].format(topic), answerable, "terse") for i, topic in enumerate(topics)
    ]


def frequent_words(texts: Sequence[str]) -> list[str]:
    """Return forty words that one in a hundred to one in six of the texts hold: what such a corpus is about."""
    held = Counter(word for text in texts for word in {t.surface.lower(): t.stem for t in content_tokens(text)})
    common = sorted(w for w, n in held.items() if len(w) > 4 and len(texts) / 100 <= n <= len(texts) / 6)
    return common[:: max(1, len(common) // 40)][:40]


def marked(name: str, texts: Sequence[str], rng: random.Random) -> LabelledSet:
    """Put codes and names into a few records each, and ask for them and for others of their kind."""
    records = rng.sample([t for t in texts if len(t) > 25], MARKED_RECORDS)
    cases: list[Case] = []

    def put(sentence: str, most: int) -> None:
        for row in rng.sample(range(len(records)), rng.randint(1, most)):
            records[row] += sentence

    for _ in range(36):
        code, other = invented_code(rng), invented_code(rng)
        put(rng.choice((" It says {}.", " I saw {} again.", " ({})", " The code was {}.")).format(code), 4)
        asked = code
        if rng.random() < 0.25:
            put(f" It says {other}.", 3)
            asked = f"{code} and {other}"
        cases.append(Case(rng.choice(CODE_FRAMES).format(asked), True, "code"))
        cases.append(Case(rng.choice(CODE_FRAMES).format(invented_code(rng)), False, "code"))
    for known in KNOWN_NAMES:
        account = f"{known} {rng.choice(TRADES)}"
        for row in rng.sample(range(len(records)), rng.randint(1, 6)):
            records[row] = f"{account}\n{records[row]}"
        cases.append(Case(rng.choice(NAME_FRAMES).format(account), True, "name"))
    for unknown, trade in product(UNKNOWN_NAMES, TRADES[:3]):
        cases.append(Case(rng.choice(NAME_FRAMES).format(f"{unknown} {trade}"), False, "name"))
    return LabelledSet(name, records, cases)


def invented_code(rng: random.Random) -> str:
    letters = "ABCDEFGHJKLMNPRSTVWXZ"
    return rng.choice(
        (
            "ERR_" + "".join(rng.choices("0123456789abcdef", k=6)),
            f"{rng.choice(letters)}{rng.randint(1000, 9999)}",
            rng.choice(("OFFER", "GIFT", "WIN", "SPRING", "NEW")) + str(rng.randint(10, 99)),
            f"{rng.choice(letters)}{rng.choice(letters)}-{rng.randint(10000, 99999)}",
            f"{rng.randint(1, 9)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}",
        )
    )


def read_demo(root: Path) -> LabelledSet:
    """Read the demo corpus and its questions, each with the records that its filters admit."""
    records = read_jsonl(root / "feedback" / "fixtures" / "demo" / "feedback.jsonl")
    newest = date.fromisoformat(max(r["occurred_at"] for r in records)[:10])
    shown = []
    for record in records:
        filed = (record.get("title"), record.get("account"), *record.get("themes", ()), *map(record.get, FACETS))
        shown.append("\n".join([*(str(f) for f in filed if f), record["text"]]))
    cases = []
    for row in read_jsonl(root / "evals" / "fixtures" / "demo" / "questions.jsonl"):
        admitted = tuple(i for i, r in enumerate(records) if admits(row.get("filters", {}), r))
        language = detect(row["question"], hint="en")
        topic = plan(row["question"], vocabulary=Vocabulary(language=language), as_of=newest).topic
        answerable = row["expected"]["outcome"] == "answered"
        cases.append(Case(topic or row["question"], answerable, row["kind"], admitted, language=language))
    return LabelledSet("demo", [r["text"] for r in records], cases, shown)


def admits(filters: dict, record: dict) -> bool:
    return (
        all(record.get(key) in filters[key] for key in ("source", "account") if key in filters)
        and all(record.get(key) in values for key, values in filters.get("facets", {}).items())
        and filters.get("occurred_from", "") <= record["occurred_at"]
        and (record["occurred_at"] < filters["occurred_to"] if "occurred_to" in filters else True)
    )


def read_jsonl(path: Path) -> list[dict]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines if line.strip()]
