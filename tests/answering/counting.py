"""A corpus with everything in it that could be counted wrongly, and counts of it in SQL of their own.

What a record mentions is told from its stored text by lists of word forms that are written out here. Nothing of the
application's counting is used: no selector, no function of the database, no stemmer, no table of the index.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connection

from core.tenant_session import session_tenant_id, tenant_session

if TYPE_CHECKING:
    from feedback.models import Corpus

# What is asked for, the lexeme that stands for it in a stored query, and every form that counts. Those after "!" look
# alike and are other words.
_FORMS = """
    delivery  deliveri   delivery deliveries         ! deliver delivered
    refund    refund     refund refunds refunded     ! fund refurbish
    parking   park       parking park parked parks   ! spark parkour
    kettle    kettl      kettle kettles              ! nettle
    invoice   invoic     invoice invoices invoiced   ! voice
    charger   charger    charger chargers            ! charge charged
    SAVE20    save20     save20                      ! save200
    Lieferung liefer     lieferung lieferungen       ! liefern
"""
GERMAN = "Lieferung"


@dataclass(frozen=True)
class Family:
    """A word that is asked for, with its lexeme, its forms, and words that only look like one."""

    word: str
    lexeme: str
    forms: tuple[str, ...]
    decoys: tuple[str, ...]


def _families() -> dict[str, Family]:
    found = {}
    for line in _FORMS.strip().splitlines():
        counted, decoys = line.split("!")
        word, lexeme, *forms = counted.split()
        found[word] = Family(word, lexeme, tuple(forms), tuple(decoys.split()))
    return found


FAMILIES = _families()
ENGLISH = tuple(word for word in FAMILIES if word != GERMAN)
_BY_LEXEME = {family.lexeme: family for family in FAMILIES.values()} | {"=save20": FAMILIES["SAVE20"]}

SOURCES = ("survey", "support_ticket", "app_review", "complaint")
THEMES = ("Pricing", "Delivery times", "Staff", "Rooms and beds")
ACCOUNTS = ("Harbour Cafe", "Mill Lane Hotel", "Nolan's Deli", "Studio 54")
AUTHORS = ("ann", "bob", "Harbour Cafe", "eve")
REGIONS = ("north", "south", "5")
_FILLER = "we the staff came early morning with a blue box and some paper on Monday near a quiet corner of town".split()
_GERMAN_FILLER = "wir haben gestern im Laden einen blauen Karton mit etwas Papier gesehen und nichts gesagt".split()
FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def documents(seed: int, count: int) -> list[dict[str, Any]]:
    """Return records r000, r001, … as a customer sends them."""
    rng = random.Random(seed)
    found: list[dict[str, Any]] = []
    for number in range(count):
        language = "de" if rng.random() < 0.12 else "en"
        twin = rng.choice(found) if found and rng.random() < 0.1 else None
        record: dict[str, Any] = {
            "id": f"r{number:03}",
            "text": twin["text"] if twin else _text(rng, language),
            "language": twin["language"] if twin else language,
            "source": rng.choice(SOURCES),
            "themes": rng.sample(THEMES, rng.choice((0, 1, 1, 2, 3))),
            "region": rng.choice(REGIONS),
            "plan": rng.sample(["basic", "plus", "pro"], rng.choice((1, 2))),
        }
        if rng.random() < 0.6:
            record["account"] = rng.choice((*ACCOUNTS, "", "  "))
        if rng.random() < 0.6:
            record["author"] = rng.choice(AUTHORS)
        if rng.random() < 0.15:
            record["title"] = _words(rng, rng.choice(ENGLISH), "en")
        if rng.random() < 0.88:
            record["occurred_at"] = _moment(rng)
        if rng.random() < 0.3:
            record["rating"] = rng.randint(1, 5)
        found.append(record)
    return found


def _moment(rng: random.Random) -> str:
    day = FIRST_DAY + timedelta(days=rng.randrange(405))
    if rng.random() < 0.1:
        # The last hour of a month somewhere else is the next month in UTC.
        last = (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        return f"{last:%Y-%m-%d}T23:30:00-05:00"
    return f"{day:%Y-%m-%d}" if rng.random() < 0.5 else f"{day:%Y-%m-%d}T{rng.randrange(24):02}:15:00Z"


def _text(rng: random.Random, language: str) -> str:
    words = (GERMAN,) if language == "de" else ENGLISH
    said = [_words(rng, rng.choice(words), language) for _ in range(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.06:
        # Several passages, each with words of its own.
        filler = " ".join(_FILLER if language == "en" else _GERMAN_FILLER) + ". "
        return "\n\n".join(f"{words} {filler * 12}" for words in said)
    return " ".join(said)


def _words(rng: random.Random, word: str, language: str) -> str:
    family = FAMILIES[word]
    form = rng.choice(family.forms if rng.random() < 0.7 else family.decoys)
    form = rng.choice((form, form.capitalize(), form.upper() if word == "SAVE20" else form))
    filler = rng.sample(_GERMAN_FILLER if language == "de" else _FILLER, rng.randint(4, 8))
    filler.insert(rng.randrange(len(filler)), form)
    return " ".join(filler).capitalize() + rng.choice((".", "!", ", sadly."))


def words_of(title: str, text: str) -> frozenset[str]:
    """Return the words of a record as they are written, in lower case."""
    return frozenset(re.findall(r"\w+", f"{title}\n{text}".casefold()))


def mentions(lexeme: str, held: frozenset[str]) -> bool:
    """Tell whether a record's words hold a form of what a lexeme stands for."""
    family = _BY_LEXEME.get(lexeme)
    if family is None:
        # A word from outside of the lists: no record may hold anything like it.
        assert not any(word.startswith(lexeme[:4]) for word in held), f"{lexeme} is not in the lists of forms"
        return False
    return any(word in family.forms for word in held)


# The records of the cluster that a live record is in; people have merged no clusters here.
_LIKE = (
    "SELECT c.id FROM feedback_clustermember c WHERE c.tenant_id = %s AND c.corpus_id = %s"
    "  AND coalesce(c.cluster_id, c.id) IN (SELECT coalesce(o.cluster_id, o.id) FROM feedback_clustermember o"
    "    JOIN feedback_document e ON e.tenant_id = o.tenant_id AND e.id = o.id"
    "    WHERE e.tenant_id = %s AND e.corpus_id = %s AND e.external_id = %s AND e.deleted_at IS NULL)"
)


@dataclass(frozen=True)
class Expected:
    """What a query counts, by SQL: the ids are all of them, newest first."""

    value: int
    people: int
    accounts: int
    undated: int
    doc_ids: list[str]


class Ledger:
    """Counts of one corpus straight from the tables of its documents."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        rows = self.select(
            "SELECT d.external_id, r.title, r.text FROM feedback_document d"
            "  JOIN feedback_documentrevision r"
            "    ON r.tenant_id = d.tenant_id AND r.document_id = d.id AND r.number = d.revision"
            " WHERE d.tenant_id = %s AND d.corpus_id = %s AND d.deleted_at IS NULL",
            [],
        )
        self.words = {identity: words_of(title, text) for identity, title, text in rows}

    def select(self, statement: str, values: list[Any]) -> list[Any]:
        """Run a statement whose first values are the tenant and the corpus, in the session if one is open."""
        session = nullcontext() if session_tenant_id() else tenant_session(self.corpus.tenant)
        with session, connection.cursor() as cursor:
            cursor.execute(statement, [self.corpus.tenant_id, self.corpus.id, *values])
            return list(cursor.fetchall())

    def counts(self, queries: Iterable[Mapping[str, Any]]) -> list[Expected]:
        """Count several queries in one session."""
        with tenant_session(self.corpus.tenant):
            return [self.count(query) for query in queries]

    def count(self, query: Mapping[str, Any]) -> Expected:
        """Count what a stored query says, in its published JSON form."""
        where, values = self.where(query)
        (row,) = self.select(
            "SELECT count(*), count(DISTINCT coalesce(nullif(d.account, ''), nullif(d.author, ''))),"
            " count(DISTINCT nullif(d.account, '')), count(*) FILTER (WHERE NOT d.has_date),"
            " coalesce(array_agg(d.external_id ORDER BY d.occurred_at DESC, d.external_id), '{}')"
            f" FROM feedback_document d WHERE d.tenant_id = %s AND d.corpus_id = %s AND {where}",
            values,
        )
        return Expected(*row)

    def groups(self, query: Mapping[str, Any], by: str) -> dict[str, Expected]:
        """Count by group; the keys of intervals are their first days."""
        where, values = self.where(query)
        key = {"theme": "t.theme", "source": "d.source", "account": "nullif(d.account, '')"}.get(
            by, f"to_char(date_trunc('{by}', d.occurred_at AT TIME ZONE 'UTC'), 'YYYY-MM-DD')"
        )
        dated = "" if by in ("theme", "source", "account") else " AND d.has_date"
        rows = self.select(
            f"SELECT {key}, count(*), count(DISTINCT coalesce(nullif(d.account, ''), nullif(d.author, ''))),"
            " count(DISTINCT nullif(d.account, '')), count(*) FILTER (WHERE NOT d.has_date),"
            " array_agg(d.external_id ORDER BY d.occurred_at DESC, d.external_id) FROM feedback_document d"
            + (" CROSS JOIN LATERAL unnest(d.themes) t(theme)" if by == "theme" else "")
            + f" WHERE d.tenant_id = %s AND d.corpus_id = %s AND {where}{dated} GROUP BY 1",
            values,
        )
        return {name: Expected(*rest) for name, *rest in rows if name is not None}

    def where(self, query: Mapping[str, Any]) -> tuple[str, list[Any]]:
        if "ids" in query:
            return "d.deleted_at IS NULL AND d.external_id = ANY (%s)", [query["ids"]]
        conditions, values = ["d.deleted_at IS NULL"], []
        for group in query.get("mentions", ()):
            holding = [
                identity for identity, held in self.words.items() if any(mentions(lexeme, held) for lexeme in group)
            ]
            conditions.append("d.external_id = ANY (%s)")
            values.append(holding)
        filters = query.get("filters") or {}
        slices = [self._slice(part) for part in filters.get("any_of", [filters])]
        conditions.append("(" + " OR ".join(f"({condition})" for condition, _ in slices) + ")")
        values += [value for _, found in slices for value in found]
        if "near_duplicates_of" in query:
            conditions.append("d.id IN (" + _LIKE + ")")
            values += [self.corpus.tenant_id, self.corpus.id, self.corpus.tenant_id, self.corpus.id]
            values.append(query["near_duplicates_of"])
        within = query.get("within")
        if within and within["by"] == "theme":
            conditions.append("d.themes @> ARRAY[%s]")
            values.append(within["key"])
        elif within and within["by"] in ("source", "account"):
            conditions.append(f"d.{within['by']} = %s")
            values.append(within["key"])
        elif within:
            conditions.append(
                f"d.has_date AND date_trunc('{within['by']}', d.occurred_at AT TIME ZONE 'UTC') = %s::timestamp"
            )
            values.append(within["key"])
        return " AND ".join(conditions), values

    def _slice(self, filters: Mapping[str, Any]) -> tuple[str, list[Any]]:
        conditions, values = ["true"], []
        for name, value in filters.items():
            if name == "ids":
                return "d.external_id = ANY (%s)", [value]
            if name == "theme":
                conditions.append("d.themes && %s::text[]")
            elif name in ("source", "account", "language"):
                conditions.append(f"d.{name} = ANY (%s)")
            elif name in ("occurred_from", "occurred_to"):
                conditions.append(f"d.occurred_at {'>=' if name == 'occurred_from' else '<'} %s::timestamptz")
            else:
                assert name == "facets", name
                for facet, wanted in value.items():
                    assert set(facet) <= set(string.ascii_letters)
                    conditions.append(
                        f"EXISTS (SELECT FROM jsonb_path_query(d.facets, '$.{facet}[*]') v"
                        " WHERE v #>> '{}' = ANY (%s))"
                    )
                    values.append([str(each) for each in wanted])
                continue
            values.append(value)
        return " AND ".join(conditions), values


def random_filters(rng: random.Random, *, may_be_many: bool = True) -> dict[str, Any]:
    """Return filters in their JSON form; now and then several slices, or none."""
    if may_be_many and rng.random() < 0.15:
        return {"any_of": [random_filters(rng, may_be_many=False) for _ in range(rng.choice((2, 3)))]}
    filters: dict[str, Any] = {}
    for name in rng.sample(
        ("source", "theme", "account", "language", "period", "facets", "ids"), rng.choice((0, 1, 1, 2))
    ):
        if name == "source":
            filters[name] = rng.sample(SOURCES, rng.choice((1, 2)))
        elif name == "theme":
            filters[name] = rng.sample(THEMES, rng.choice((1, 2)))
        elif name == "account":
            filters[name] = rng.sample((*ACCOUNTS, "Nobody Ltd"), rng.choice((1, 2)))
        elif name == "language":
            filters[name] = [rng.choice(("en", "de"))]
        elif name == "period":
            filters |= _period(rng)
        elif name == "facets":
            filters[name] = rng.choice(
                ({"region": rng.sample(REGIONS, 1)}, {"plan": ["pro", "plus"]}, {"rating": [5, 1]})
            )
        elif not filters:
            filters[name] = [f"r{rng.randrange(400):03}" for _ in range(rng.randint(1, 30))]
    return filters


def _period(rng: random.Random) -> dict[str, str]:
    first = FIRST_DAY + timedelta(days=rng.randrange(400))
    last = first + timedelta(days=rng.choice((1, 28, 31, 90, 365)))
    both = {"occurred_from": f"{first:%Y-%m-%dT00:00:00Z}", "occurred_to": f"{last:%Y-%m-%dT00:00:00Z}"}
    return {name: both[name] for name in rng.choice((tuple(both), ("occurred_from",), ("occurred_to",)))}


def random_query(rng: random.Random) -> dict[str, Any]:
    """Return a stored query: filters, up to two mentions, and at times one group of a break-down."""
    words = rng.sample(sorted(FAMILIES), rng.choice((0, 1, 1, 1, 2)))
    query: dict[str, Any] = {
        "count": "records",
        "mentions": [[FAMILIES[word].lexeme] for word in words],
        "filters": random_filters(rng),
    }
    if len(words) == 2 and rng.random() < 0.3:
        query["mentions"] = [[lexeme for (lexeme,) in query["mentions"]]]
    if rng.random() < 0.35:
        by, key = rng.choice(
            (
                ("theme", rng.choice(THEMES)),
                ("source", rng.choice(SOURCES)),
                ("account", rng.choice(ACCOUNTS)),
                ("month", f"2025-{rng.randint(1, 12):02}-01"),
                ("quarter", rng.choice(("2025-01-01", "2025-04-01", "2026-01-01"))),
                ("week", rng.choice(("2025-03-31", "2025-06-30"))),
                ("year", "2025-01-01"),
            )
        )
        query["within"] = {"by": by, "key": key}
    return query


def five(expected: Iterable[str]) -> list[str]:
    """Return the first five, as every count lists them."""
    return list(expected)[:5]
