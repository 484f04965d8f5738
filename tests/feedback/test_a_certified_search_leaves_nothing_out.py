"""A search that stops early finds what scoring every passage finds: the same records, scores and order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count

import pytest
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.tenant_session import tenant_session
from feedback.models import Passage, Term
from feedback.selectors.retrieval.question import question_terms
from feedback.services.deletion import delete_document
from feedback.services.index_check import check_index
from feedback.services.ingest import ingest_documents
from feedback.services.upkeep import reweight_if_due
from tenants.caller import operator
from tests.factories import NOW, make_corpus, make_document, rows

# Few words, most of them frequent, so that records tie and the most that a word can add is often reached.
WORDS = ["kettle"] * 8 + ["courier"] * 6 + ["refund"] * 4 + ["parcel"] * 3 + ["lid", "voucher"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
QUERIES = st.sets(st.sampled_from(sorted(set(WORDS))), min_size=1).map(lambda words: " ".join(sorted(words)))
SOURCES = ["survey", "complaint", "call"]
DAYS = [f"2026-{month:02d}-{day:02d}" for month in (1, 2, 3) for day in (1, 10)]
DOCUMENTS = st.tuples(TEXTS, st.sampled_from(SOURCES), st.sampled_from(DAYS))
FILTERS = st.sampled_from(
    [
        "{}",
        '{"source": ["survey"]}',
        '{"source": ["call", "complaint"], "language": ["en"]}',
        '{"occurred_from": "2026-02-01T00:00:00Z"}',
        '{"occurred_from": "2026-02-01T00:00:00Z", "occurred_to": "2026-03-01T00:00:00Z", "source": ["survey"]}',
        '{"ids": ["doc-01", "doc-03", "doc-04", "doc-11"]}',
        '{"facets": {"plan": ["team"]}}',
    ]
)
_names = count()


@dataclass(frozen=True)
class Searched:
    """What a search found, best first as (external id, score), and how it came there."""

    found: list[tuple[str, float]]
    words_taken: int
    words: int
    narrowed: int
    statements: tuple[str, ...] = ()


def _search(corpus, query, *, k, budget, filters="{}"):
    """Search by the function itself: from outside nobody can set what it may read at once."""
    told: list[str] = []
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        terms = [term for term in question_terms(corpus=corpus, query=query, language="en") if term.term_id is not None]
        cursor.execute("SET LOCAL client_min_messages = debug1")
        hear = lambda diagnostic: told.append(diagnostic.message_primary)  # noqa: E731  # removed by identity below
        connection.connection.add_notice_handler(hear)
        try:
            cursor.execute(
                "SELECT document_id, score FROM feedback_search_lexical(%s, %s, %s, %s::jsonb, %s, %s)",
                [corpus.id, [term.term_id for term in terms], [term.idf for term in terms], filters, k, budget],
            )
            found = cursor.fetchall()
        finally:
            connection.connection.remove_notice_handler(hear)
        names = dict(
            Passage.objects.for_tenant(corpus.tenant)
            .filter(document_id__in=[identity for identity, _ in found])
            .values_list("document_id", "external_id")
        )
    told = [line.removeprefix("lexical search: ") for line in told if line.startswith("lexical search: ")]
    taken, words, narrowed = 0, 0, 0
    if told:
        taken, words, narrowed = map(
            int, re.fullmatch(r"(\d+) of (\d+) words in \d+ steps, (\d+) of them narrowed", told[-1]).groups()
        )
    return Searched([(names[identity], score) for identity, score in found], taken, words, narrowed, tuple(told[:-1]))


def _score_all(corpus, query, *, k, condition="true"):
    """Score every passage of the corpus; return the k best records by their best passage, ties by id."""
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        terms = [term for term in question_terms(corpus=corpus, query=query, language="en") if term.term_id is not None]
        literal = ",".join(f"{term.term_id}:{term.idf!r}" for term in sorted(terms, key=lambda term: term.term_id))
        cursor.execute(
            "SELECT external_id, max(-(weights <#> %s::sparsevec)) FROM feedback_passage"
            f" WHERE tenant_id = %s AND corpus_id = %s AND {condition} GROUP BY external_id",
            [f"{{{literal}}}/1000000000", corpus.tenant_id, corpus.id],
        )
        scored = [row for row in cursor.fetchall() if row[1] > 0]
    return sorted(scored, key=lambda row: (-row[1], row[0]))[:k]


# The filters of FILTERS once more, as conditions that were written by hand.
CONDITIONS = {
    "{}": "true",
    '{"source": ["survey"]}': "source = 'survey'",
    '{"source": ["call", "complaint"], "language": ["en"]}': "source <> 'survey'",
    '{"occurred_from": "2026-02-01T00:00:00Z"}': "occurred_at >= '2026-02-01Z'",
    '{"occurred_from": "2026-02-01T00:00:00Z", "occurred_to": "2026-03-01T00:00:00Z", "source": ["survey"]}': (
        "source = 'survey' AND occurred_at >= '2026-02-01Z' AND occurred_at < '2026-03-01Z'"
    ),
    '{"ids": ["doc-01", "doc-03", "doc-04", "doc-11"]}': "external_id IN ('doc-01', 'doc-03', 'doc-04', 'doc-11')",
    '{"facets": {"plan": ["team"]}}': "facets->>'plan' = 'team'",
}


def _store(corpus, documents):
    sent = [
        make_document(identity, text, source=source, occurred_at=day, plan="team" if len(text) % 2 else "free")
        for identity, (text, source, day) in documents.items()
    ]
    ingest_documents(caller=operator(corpus.tenant), corpus=corpus, rows=rows(*sent), now=NOW)


def _numbered(documents):
    return {f"doc-{n:02d}": document for n, document in enumerate(documents)}


MANY = [(f"kettle courier {'refund' if n % 3 else 'parcel parcel'}", "survey", DAYS[n % 6]) for n in range(24)]
RARE_LEADS = [("voucher lid kettle", "call", DAYS[0])] * 3 + [("kettle", "survey", DAYS[1])] * 20
FREQUENT_PAIRS = [("voucher courier", "call", DAYS[0])] + [("kettle courier refund", "survey", DAYS[2])] * 9 + [
    ("kettle", "survey", DAYS[1])
] * 9  # fmt: skip

# The rare word stands in long records and weighs little: either frequent word alone stays below it, both together may not.
LONG_LEADS = (
    [("voucher parcel refund parcel refund lid lid parcel refund", "call", DAYS[0])] * 6
    + [("kettle courier", "survey", DAYS[1])] * 14
    + [("kettle", "survey", DAYS[2])] * 6
    + [("courier", "complaint", DAYS[3])] * 4
)


def test_what_was_ruled_out_would_not_have_been_found(tenant, settings_of_bm25):
    seen = set()

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(
        documents=st.lists(DOCUMENTS, min_size=1, max_size=16),
        edited=st.dictionaries(st.integers(0, 15), DOCUMENTS, max_size=3),
        removed=st.sets(st.integers(0, 15), max_size=3),
        weights=st.sampled_from([(1.2, 0.75), (1.2, 0.75), (2.0, 0.1), (0.4, 1.0)]),
        searches=st.lists(
            st.tuples(QUERIES, st.sampled_from([1, 2, 3, 5, 40]), st.sampled_from([1, 4, 2000]), FILTERS),
            min_size=1,
            max_size=6,
        ),
    )
    @example(MANY, {}, set(), (1.2, 0.75), [("kettle courier refund parcel", 3, 1, "{}")])
    @example(RARE_LEADS, {}, set(), (1.2, 0.75), [("kettle lid voucher", 2, 1, "{}"), ("kettle lid", 3, 1, "{}")])
    @example(LONG_LEADS, {}, {1}, (1.2, 0.75), [("voucher kettle courier", k, 1, "{}") for k in (1, 3, 7)])
    @example(
        LONG_LEADS,
        {},
        {1},
        (1.2, 0.75),
        [("voucher kettle courier", 1, 1, '{"occurred_from": "2026-02-01T00:00:00Z"}')],
    )
    @example(
        LONG_LEADS,
        {2: ("voucher voucher", "call", DAYS[4])},
        set(),
        (1.2, 0.75),
        [("voucher kettle courier", 2, 1, "{}")],
    )
    @example(FREQUENT_PAIRS, {}, {0}, (1.2, 0.75), [("voucher kettle courier refund", 1, 1, "{}")])
    @example(FREQUENT_PAIRS, {}, set(), (1.2, 0.75), [("voucher kettle courier refund", 5, 1, "{}")])
    def holds(documents, edited, removed, weights, searches):
        corpus = make_corpus(tenant=tenant, slug=f"corpus-{next(_names)}")
        stored = _numbered(documents)
        _store(corpus, stored)
        _store(corpus, {f"doc-{n:02d}": document for n, document in edited.items() if n < len(documents)})
        for n in removed & set(range(len(documents))):
            delete_document(caller=operator(tenant), corpus=corpus, external_id=f"doc-{n:02d}", now=NOW)
        settings_of_bm25(*weights)
        reweight_if_due(corpus=corpus)

        for query, k, budget, filters in searches:
            searched = _search(corpus, query, k=k, budget=budget, filters=filters)
            expected = _score_all(corpus, query, k=k, condition=CONDITIONS[filters])

            assert searched.found == expected
            if searched.words_taken < searched.words:
                seen.add("stopped early")
            if searched.words and searched.words_taken == searched.words:
                seen.add("took every word")
            if searched.narrowed:
                seen.add("narrowed")

    holds()

    assert seen == {"stopped early", "took every word", "narrowed"}


@pytest.fixture
def settings_of_bm25(settings):
    """Give the function that sets k1 and b."""

    def change(k1, b):
        settings.WISDOM = settings.WISDOM.model_copy(update={"bm25_k1": k1, "bm25_b": b})

    return change


def test_a_record_that_ties_with_the_last_is_not_ruled_out(corpus):
    # The frequent word alone is worth as much as the rare one alone: each stands in half of the records.
    texts = {f"doc-{n:02d}": ("kettle" if n % 2 else "courier", "survey", DAYS[0]) for n in range(20)}
    _store(corpus, texts)

    for k in (1, 2, 7, 19, 20, 21):
        searched = _search(corpus, "kettle courier", k=k, budget=1)
        assert [identity for identity, _ in searched.found] == sorted(texts)[:k]


def test_a_record_of_many_passages_takes_one_place(corpus):
    best = "\n\n".join("kettle kettle kettle lid " * 60 for _ in range(12))
    others = {f"doc-{n:02d}": ("kettle and a long story about the courier", "survey", DAYS[0]) for n in range(8)}
    _store(corpus, {"long": (best, "survey", DAYS[1]), **others})
    with tenant_session(corpus.tenant):
        assert Passage.objects.for_tenant(corpus.tenant).filter(external_id="long").count() > 9

    for k in (1, 2, 3, 8, 9, 40):
        assert _search(corpus, "kettle lid", k=k, budget=1).found == _score_all(corpus, "kettle lid", k=k)


def test_a_bound_is_never_below_a_weight_that_came_later(corpus):
    _store(corpus, {"a": ("kettle courier courier parcel refund lid", "survey", DAYS[0])})
    with tenant_session(corpus.tenant):
        before = Term.objects.for_tenant(corpus.tenant).get(corpus=corpus, lexeme="kettl").max_weight

    _store(corpus, {"b": ("kettle kettle kettle kettle kettle kettle", "survey", DAYS[1])})

    with tenant_session(corpus.tenant):
        after = Term.objects.for_tenant(corpus.tenant).get(corpus=corpus, lexeme="kettl").max_weight
    assert after > before
    assert check_index(tenant=corpus.tenant) == []


def test_a_bound_that_is_too_small_is_found_by_the_check(corpus):
    _store(corpus, _numbered(MANY))
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_term SET max_weight = max_weight * 0.9 WHERE tenant_id = %s AND lexeme = 'kettl'",
            [corpus.tenant_id],
        )

    found = check_index(tenant=corpus.tenant)

    assert [(difference.what, len(difference.examples)) for difference in found] == [("greatest weights", 1)]
    assert "kettl" in found[0].examples[0]


def test_a_bound_that_is_too_large_is_no_fault(corpus):
    _store(corpus, {"a": ("kettle kettle kettle", "survey", DAYS[0]), "b": ("kettle courier", "survey", DAYS[0])})

    delete_document(caller=operator(corpus.tenant), corpus=corpus, external_id="a", now=NOW)

    assert check_index(tenant=corpus.tenant) == []
    assert _search(corpus, "kettle courier", k=1, budget=1).found == _score_all(corpus, "kettle courier", k=1)


@pytest.mark.parametrize("k", [0, -1])
def test_nothing_is_asked_for_and_nothing_is_found(corpus, k):
    _store(corpus, {"a": ("kettle", "survey", DAYS[0])})

    assert _search(corpus, "kettle", k=k, budget=1).found == []


def test_another_tenants_corpus_holds_nothing(corpus, other_corpus):
    _store(other_corpus, {"a": ("kettle", "survey", DAYS[0])})
    with tenant_session(other_corpus.tenant):
        terms = [term.term_id for term in question_terms(corpus=other_corpus, query="kettle", language="en")]

    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id FROM feedback_search_lexical(%s, %s, %s, '{}'::jsonb, 10)",
            [other_corpus.id, terms, [1.0]],
        )
        assert cursor.fetchall() == []


def test_a_window_reads_the_partitions_of_its_months_only(corpus):
    _store(corpus, _numbered((text, source, DAYS[n % 6]) for n, (text, source, _) in enumerate(MANY)))
    february = '{"occurred_from": "2026-02-01T00:00:00Z", "occurred_to": "2026-03-01T00:00:00Z"}'
    searched = _search(corpus, "kettle courier refund parcel", k=1, budget=1, filters=february)

    plans = [_plan(corpus, statement) for statement in searched.statements]

    assert plans
    for plan in plans:
        assert set(re.findall(r"on (feedback_passage_(?:y\d{4}m\d\d|default))", plan)) == {"feedback_passage_y2026m02"}


def test_an_open_window_reads_no_partition_before_it(corpus):
    _store(corpus, _numbered((text, source, DAYS[n % 6]) for n, (text, source, _) in enumerate(MANY)))
    filters = '{"occurred_to": "2026-02-01T00:00:00Z", "source": ["survey"]}'
    searched = _search(corpus, "kettle courier", k=3, budget=1, filters=filters)

    assert searched.statements
    for statement in searched.statements:
        plan = _plan(corpus, statement)
        assert "feedback_passage_y2026m01" in plan
        assert not re.search(r"feedback_passage_y2026m0[23]", plan)


def _plan(corpus, statement):
    """Explain a statement that the search has run: the months here are seen by this transaction only."""
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (GENERIC_PLAN) {statement}")
        return "\n".join(line for (line,) in cursor.fetchall())
