"""Five hundred random filters and questions: each number that a surface prints is what plain SQL counts.

Two tenants hold other records under the same ids; there are old revisions, deleted and restored records, records of
several themes, of several passages, without a date, without a voice, and twice the same.
"""

from __future__ import annotations

import json
import random
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from answering.domain.claims import query_id_of
from answering.measures import store_queries
from answering.services import ask
from core.tenant_session import tenant_session
from feedback.services.clustering import cluster_waiting
from feedback.services.deletion import delete_document, restore_document
from tenants.caller import operator
from tests.answering.counting import (
    ACCOUNTS,
    ENGLISH,
    FAMILIES,
    FIRST_DAY,
    SOURCES,
    Expected,
    Ledger,
    documents,
    five,
    random_filters,
    random_query,
)
from tests.factories import NOW

RECORDS = 400
QUERIES, BREAKDOWNS, QUESTIONS = 280, 120, 100


@pytest.fixture
def ledger(corpus, other_corpus, ingest) -> Ledger:
    """Store both tenants' records with a history of edits, new metadata, deletions and restorations."""
    for place, (into, seed) in enumerate(((corpus, 1), (other_corpus, 2))):
        sent = documents(seed, RECORDS - 150 * place)
        assert ingest(*sent, into=into, now=NOW).rejected == 0
        edited = [
            {**record, "text": other["text"], "language": other["language"]}
            for record, other in zip(sent[:40], sent[100:], strict=False)
        ]
        filed = [{**record, "themes": ["Staff"], "account": ACCOUNTS[0]} for record in sent[40:70]]
        ingest(*edited, *filed, into=into, now=NOW + timedelta(days=1))
        for number in range(70, 110):
            later = NOW + timedelta(days=2)
            delete_document(caller=operator(into.tenant), corpus=into, external_id=f"r{number:03}", now=later)
            if number >= 100:
                restore_document(caller=operator(into.tenant), corpus=into, external_id=f"r{number:03}", now=later)
        cluster_waiting(tenant=into.tenant, corpus=into)
    return Ledger(corpus)


def check(counted: dict[str, Any], expected: Expected, asked: object) -> None:
    found = (counted["value"], counted["people"], counted["accounts"], counted["undated"])
    assert found == (expected.value, expected.people, expected.accounts, expected.undated), asked


def test_a_ledger_without_traps_would_prove_nothing(ledger):
    everything = ledger.count({})
    by_theme = ledger.groups({}, "theme")

    assert everything.value == RECORDS - 30
    assert sum(group.value for group in by_theme.values()) > everything.value
    assert everything.undated > 20
    assert everything.people < everything.value
    (rows,) = ledger.select(
        "SELECT count(*) FILTER (WHERE k.revision > 1), (SELECT count(*) FROM feedback_passage p"
        " WHERE p.tenant_id = k.tenant_id AND p.ordinal > 0) FROM feedback_documentkey k"
        " WHERE k.tenant_id = %s AND k.corpus_id = %s GROUP BY k.tenant_id",
        [],
    )
    assert min(rows) > 15


def test_a_stored_query_counts_and_lists_what_sql_does(ledger, client_of, api_key, member):
    rng = random.Random(20)
    queries = [random_query(rng) for _ in range(QUERIES - 20)]
    queries += [{"ids": sorted(rng.sample([f"r{n:03}" for n in range(RECORDS)], 12))} for _ in range(20)]
    with tenant_session(ledger.corpus.tenant):
        store_queries(corpus=ledger.corpus, queries={query_id_of(query): query for query in queries}, now=FIRST_DAY)
    program, browser = client_of(api_key), client_of(member)
    expectations = ledger.counts(queries)
    denominators = ledger.counts({"filters": query.get("filters", {})} for query in queries)
    assert sum(bool(expected.value) for expected in expectations) > QUERIES / 2

    for number, (query, expected, admitted) in enumerate(zip(queries, expectations, denominators, strict=True)):
        address = f"measures/{query_id_of(query)}"
        counted = program.get(f"/api/v1/{address}", {"limit": 1000}).json()

        check(counted, expected, query)
        assert counted["doc_ids"] == expected.doc_ids, query
        assert counted["denominator"] == (None if "ids" in query else admitted.value), query
        if number % 6 == 0:
            _check_page(browser.get(f"/{address}").content.decode(), counted, expected)


def _check_page(page: str, counted: dict[str, Any], expected: Expected) -> None:
    (head,) = re.findall(r"<h1>([\d,]+) (?:of ([\d,]+) )?records?</h1>", page)
    shown = dict(re.findall(r"<dt>([^<]+)</dt><dd>([\d,]+) ", page))

    assert head == (str(expected.value), "" if counted["denominator"] is None else str(counted["denominator"]))
    assert (shown["People"], shown["Accounts"]) == (str(expected.people), str(expected.accounts))
    assert re.findall(r'aria-label="Record ([^"]+)"', page) == expected.doc_ids[:20]


def test_a_break_down_counts_what_sql_does(ledger):
    rng = random.Random(21)
    for _ in range(BREAKDOWNS):
        by = rng.choice(("theme", "source", "account", "month", "week", "quarter", "year", "day"))
        word = rng.choice((None, *FAMILIES, "zeppelin"))
        filters = random_filters(rng, may_be_many=False)
        arguments = ["aggregate", "--tenant", "acme", "--json", "--by", by, *_pairs(filters)]
        out = StringIO()
        call_command(*arguments, *(["--query", word] if word else []), stdout=out)
        counted = json.loads(out.getvalue())

        lexemes = [[FAMILIES[word].lexeme if word in FAMILIES else word]] if word else []
        query = {"filters": filters, "mentions": lexemes}
        with tenant_session(ledger.corpus.tenant):
            total, groups = ledger.count(query), ledger.groups(query, by)
            distinct = {key: _distinct(ledger, one.doc_ids) for key, one in {**groups, None: total}.items()}
        assert (counted["total"], counted["people"]) == (total.value, total.people), arguments
        assert counted["distinct"] == distinct[None], arguments
        assert {
            group["key"]: (group["count"], group["people"], group["distinct"], group["doc_ids"])
            for group in counted["groups"]
        } == {key: (one.value, one.people, distinct[key], five(one.doc_ids)) for key, one in groups.items()}, arguments


def _pairs(filters: dict[str, Any]) -> list[str]:
    plain = {name: value for name, value in filters.items() if name != "facets"} | filters.get("facets", {})
    values = [(name, each) for name, value in plain.items() for each in (value if isinstance(value, list) else [value])]
    return [part for name, value in values for part in ("--filter", f"{name}={value}")]


def _distinct(ledger: Ledger, doc_ids: list[str]) -> int:
    """Count the clusters that records belong to, one that people have not merged with another standing for itself."""
    ((count,),) = ledger.select(
        "SELECT count(DISTINCT coalesce(c.cluster_id, c.id)) FROM feedback_documentkey k"
        "  JOIN feedback_clustermember c ON c.tenant_id = k.tenant_id AND c.id = k.id"
        " WHERE k.tenant_id = %s AND k.corpus_id = %s AND k.external_id = ANY (%s)",
        [doc_ids],
    )
    return int(count)


def test_clusters_count_the_people_of_their_live_records(ledger, client_of, api_key):
    clusters = client_of(api_key).get("/api/v1/clusters", {"limit": 100}).json()["clusters"]

    rows = ledger.select(
        "SELECT coalesce(c.cluster_id, c.id)::text, count(*),"
        " count(DISTINCT coalesce(nullif(d.account, ''), nullif(d.author, ''))), count(DISTINCT nullif(d.account, '')),"
        " array_agg(d.external_id ORDER BY d.occurred_at, d.external_id)"
        "  FROM feedback_document d JOIN feedback_clustermember c ON c.tenant_id = d.tenant_id AND c.id = d.id"
        " WHERE d.tenant_id = %s AND d.corpus_id = %s AND d.deleted_at IS NULL GROUP BY 1 HAVING count(*) > 1",
        [],
    )
    assert len(rows) > 10
    assert {each["id"]: (each["records"], each["people"], each["accounts"], each["doc_ids"]) for each in clusters} == {
        identity: (records, people, accounts, five(ids)) for identity, records, people, accounts, ids in rows
    }


_FORMS = (
    "How many records mention {word}?",
    "How many people mention {word} and {other}?",
    "How did {word} develop over time?",
    "Is {word} getting worse each quarter?",
    "Compare {account} and {second} on {word}",
    "Compare {account} and {second}",
    "Tell me about {account}",
    "How many records are from {account}?",
    "What do people say about {word}?",
    "How many records mention {word} in March 2025?",
    "What are the main themes?",
    "Why do people want a zeppelin?",
    "Who mentions {word}?",
)


def test_an_answer_and_a_refusal_count_what_sql_does(ledger, caller, now, client_of, api_key):
    rng = random.Random(22)
    program = client_of(api_key)
    kinds: dict[str, int] = {}
    for number in range(QUESTIONS):
        account, second = rng.sample(ACCOUNTS, 2)
        word, other = rng.sample(ENGLISH, 2)
        form = _FORMS[number % len(_FORMS)]
        question = form.format(word=word, other=other, account=account, second=second)
        scope = _scope(rng)

        answer = ask(caller=caller, question=question, include=["hits"], now=now, **scope)

        asked = (question, scope)
        kinds[answer["outcome"]] = kinds.get(answer["outcome"], 0) + 1
        for measure in (claim["measure"] for claim in answer["claims"] if claim["measure"]):
            for kind in ("measure", *measure["components"], *(measure["query"].keys() & {"near_duplicates_of"})):
                kinds[kind] = kinds.get(kind, 0) + 1
            _check_measure(ledger, measure, asked)
        matching = answer["matching"]
        admitted = program.get(f"/api/v1/measures/{matching['query_id']}").json()
        assert matching["records"] == admitted["value"] == ledger.count(admitted["query"]).value, asked
        for kind in ("nearest_topics", "suggestions") if answer["refusal"] else ():
            for counted in answer["refusal"][kind]:
                kinds[kind] = kinds.get(kind, 0) + 1
                listed = program.get(f"/api/v1/measures/{counted['query_id']}", {"limit": 1000}).json()
                expected = ledger.count(listed["query"])
                assert counted["count"] == listed["value"] == expected.value, asked
                assert counted["doc_ids"] == five(expected.doc_ids), asked
        _check_lead(ledger, form, word, scope, answer)

    assert kinds["measure"] > QUESTIONS / 2
    assert min(kinds["of"], kinds["recent"], kinds["account_1"], kinds["first_of"]) > 2
    assert kinds["near_duplicates_of"] > 0
    assert kinds["nearest_topics"] > 20
    assert kinds["suggestions"] > 2
    assert min(kinds["answered"], kinds["refused"]) > 10


def _scope(rng: random.Random) -> dict[str, Any]:
    choice = rng.random()
    if choice < 0.35:
        return {}
    if choice < 0.45:
        # Nothing is there; without the account something is.
        return {"filters": {"account": ["Nobody Ltd"], "source": rng.sample(SOURCES, 2)}}
    if choice < 0.75:
        return {"filters": random_filters(rng, may_be_many=False)}
    return {"filter_sets": [random_filters(rng, may_be_many=False) for _ in range(rng.choice((2, 3)))]}


def _check_measure(ledger: Ledger, measure: dict[str, Any], asked: object) -> None:
    query = measure["query"]
    expected = ledger.count(query)
    assert measure["value"] == expected.value, asked
    assert sorted(measure["doc_ids"]) == sorted(five(expected.doc_ids)) or "ids" in query, asked
    assert set(measure["doc_ids"]) <= set(expected.doc_ids), asked
    if "ids" in query:
        # Of a joined quote people are counted only where every record names somebody.
        assert measure["people"] in (None, expected.people), asked
        assert (measure["accounts"] or 0) == expected.accounts, asked
        return
    check(measure, expected, asked)
    if measure["denominator"] is not None:
        assert measure["denominator"] == ledger.count({"filters": query["filters"]}).value, asked
    for name, value in measure["components"].items():
        assert value == ledger.count(query["parts"][name]).value, (asked, name)


def _check_lead(ledger: Ledger, form: str, word: str, scope: dict[str, Any], answer: dict[str, Any]) -> None:
    """What is asked for in so many words is counted as asked, whatever the planner made of it."""
    if form != _FORMS[0] or answer["outcome"] != "answered":
        return
    sets = scope.get("filter_sets")
    filters = {"any_of": sets} if sets else scope.get("filters", {})
    lexemes = [[FAMILIES[word].lexeme]]
    stated = re.match(r"([\d,]+) of ([\d,]+) records", answer["claims"][0]["text"])
    assert stated is not None, answer["claims"][0]["text"]
    assert stated.groups() == (
        f"{ledger.count({'filters': filters, 'mentions': lexemes}).value:,}",
        f"{ledger.count({'filters': filters}).value:,}",
    )
